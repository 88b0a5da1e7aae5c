"""The language between the two sides of grading: a JSON header and raw array bytes, never a pickle.

A frame is two lengths, a JSON header, and the bytes of the arrays in the order in which the header names
them. What arrives is always plain: a subclass of int, list or ndarray loses its methods on the way, so
nothing that a submission sends can carry behaviour. Whatever is not plain stays where it lives and travels as
a *handle*, a number.

In the header, None, bool, str and int stand for themselves; everything else is an object with one key:

=====  =====================================  =====  ======================================
``f``  float, as hexadecimal text             ``a``  array: dtype, shape, whether a scalar
``c``  complex, two floats                    ``b``  bytes, their length
``l``  list                                   ``y``  numpy.dtype
``t``  tuple                                  ``k``  built-in or NumPy scalar type, by name
``d``  dict, as pairs                         ``h``  handle: number, type name, callable
``s``  slice                                  ``e``  Ellipsis
=====  =====================================  =====  ======================================
"""

import builtins
import json
import struct

import numpy as np
from numpy import (
    asarray,
    frombuffer,
    generic,
    ndarray,
    str_,
)  # ours to keep: counters exchange those in np while they count

HEADER_BYTES = 8 << 20
BODY_BYTES = 128 << 20
DEPTH = 16
ITEMS = 200_000
INT_BITS = 4096
LENGTHS = struct.Struct(">II")

DTYPES = tuple(np.dtype(code) for code in "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split())
_BY_NAME = {dtype.name: dtype for dtype in DTYPES}
_KINDS = {kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, list, tuple, dict)}
_KINDS |= {"np." + dtype.name: dtype.type for dtype in DTYPES}
_KINDS |= {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Exception)
}
_KIND_NAMES = {kind: name for name, kind in _KINDS.items()}


class WireError(Exception):
    """A value that cannot travel, or bytes that are not this language."""


def encode(value, handle):
    """Header and body of a value.

    Parameters
    ----------
    value : object
        A plain value; `handle` is asked about every part that is not.
    handle : callable
        ``handle(object) -> [number, type name, callable]`` keeps an object and names it, or raises TypeError.

    Returns
    -------
    tuple
        ``(header, buffers)``: something for `json.dumps`, and a list of bytes.

    Raises
    ------
    WireError
        If the value is too deep or too large.
    """
    buffers = []
    return _encode(value, handle, buffers, DEPTH), buffers


def _encode(value, handle, buffers, depth):
    if depth == 0:
        raise WireError(f"a value nested more than {DEPTH} deep does not travel")
    if value is None or value is True or value is False:
        return value
    if isinstance(value, generic | ndarray):
        return _encode_array(value, handle, buffers)
    if isinstance(value, int):
        return _encode_int(int(value))
    if isinstance(value, float):
        return {"f": float.hex(value)}
    if isinstance(value, str):
        return str.encode(value, "utf-8", "replace").decode()
    if isinstance(value, list | tuple):
        return {"l" if isinstance(value, list) else "t": _encode_all(value, handle, buffers, depth)}
    if isinstance(value, dict) and all(isinstance(key, str | int) for key in dict.keys(value)):
        return {"d": [_encode_all(pair, handle, buffers, depth) for pair in dict.items(value)]}
    return _encode_rare(value, handle, buffers, depth)


def _encode_rare(value, handle, buffers, depth):
    if isinstance(value, complex):
        return {"c": [value.real.hex(), value.imag.hex()]}
    if isinstance(value, bytes):
        buffers.append(bytes(value))
        return {"b": len(value)}
    if isinstance(value, slice):
        return {"s": _encode_all((value.start, value.stop, value.step), handle, buffers, depth)}
    if value is Ellipsis:
        return {"e": 0}
    if isinstance(value, np.dtype) and value in DTYPES:
        return {"y": value.name}
    if isinstance(value, type) and value in _KIND_NAMES:
        return {"k": _KIND_NAMES[value]}
    return {"h": handle(value)}


def _encode_all(values, handle, buffers, depth):
    if len(values) > ITEMS:
        raise WireError(f"a collection of {len(values)} items is too long to travel")
    return [_encode(value, handle, buffers, depth - 1) for value in values]


def _encode_int(value):
    if value.bit_length() > INT_BITS:
        raise WireError(f"an int of {value.bit_length()} bits is too long to travel")
    return value


def _encode_array(value, handle, buffers):
    if isinstance(value, str_):
        return _encode(str(value), handle, buffers, 1)
    plain = asarray(value).view(ndarray)
    dtype = plain.dtype.newbyteorder("=")
    if dtype not in DTYPES:
        return {"h": handle(value)}
    if plain.nbytes > BODY_BYTES:
        raise WireError(f"an array of {plain.nbytes} bytes is too large to travel")
    buffers.append(plain.astype(dtype, copy=False).tobytes())
    return {"a": [dtype.name, list(plain.shape), isinstance(value, generic)]}


def decode(header, body, resolve):
    """The value of a header and a body; the inverse of `encode`.

    Parameters
    ----------
    header : object
        What `json.loads` gave.
    body : bytes
    resolve : callable
        ``resolve([number, type name, callable])`` gives the object, or the proxy, for a handle.

    Returns
    -------
    object
        Arrays are fresh, writable, C-contiguous.

    Raises
    ------
    WireError
        On anything that `encode` would not have written.
    """
    reader = _Reader(body, resolve)
    try:
        value = reader.value(header, DEPTH)
    except WireError:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise WireError(f"malformed value: {type(error).__name__}") from None
    if reader.position != len(body):
        raise WireError("bytes left over")
    return value


class _Reader:
    """Walks a header, taking array bytes from the body in order."""

    def __init__(self, body, resolve):
        self.body, self.resolve = body, resolve
        self.position = self.items = 0

    def value(self, node, depth):
        self.items += 1
        if depth == 0 or self.items > 2 * ITEMS:
            raise WireError("too deep or too many items")
        if node is None or type(node) in (bool, str):
            return node
        if type(node) is int:
            return _encode_int(node)
        if type(node) is not dict or len(node) != 1:
            raise WireError("malformed value")
        ((tag, content),) = node.items()
        return self.tagged(tag, content, depth)

    def tagged(self, tag, content, depth):
        if tag == "f":
            return float.fromhex(content)
        if tag in ("l", "t", "s"):
            parts = [self.value(part, depth - 1) for part in _typed(content, list)]
            return {"l": list, "t": tuple, "s": _slice}[tag](parts)
        if tag == "a":
            return self.array(*content)
        if tag == "h":
            return self.resolve(_checked_handle(content))
        if tag == "d":
            return {self.key(key): self.value(part, depth - 1) for key, part in _typed(content, list)}
        if tag == "c":
            real, imaginary = content
            return complex(float.fromhex(real), float.fromhex(imaginary))
        if tag == "b":
            return self.take(content)
        simple = {"y": _BY_NAME, "k": _KINDS, "e": {0: Ellipsis}}
        return simple[tag][content]

    def key(self, node):
        if type(node) in (bool, str, int):
            return node
        raise WireError("a key is neither text nor int")

    def take(self, count):
        if type(count) is not int or not 0 <= count <= len(self.body) - self.position:
            raise WireError("fewer bytes than announced")
        self.position += count
        return self.body[self.position - count : self.position]

    def array(self, name, shape, scalar):
        dtype, count = _BY_NAME[name], 1
        if len(_typed(shape, list)) > 32:
            raise WireError("too many axes")
        for side in shape:
            if type(side) is not int or side < 0:
                raise WireError("malformed shape")
            count *= side
        array = frombuffer(self.take(count * dtype.itemsize), dtype).reshape(shape).copy()
        return array[()] if scalar is True else array


def _slice(ends):
    start, stop, step = ends
    return slice(start, stop, step)


def _typed(value, kind):
    if type(value) is not kind:
        raise WireError("malformed value")
    return value


def _checked_handle(content):
    number, name, can_call = _typed(content, list)
    if type(number) is not int or type(name) is not str or type(can_call) is not bool:
        raise WireError("malformed handle")
    return [number, name[:80], can_call]


class Channel:
    """Frames over a stream socket.

    Parameters
    ----------
    sock : socket.socket
    wait : callable, optional
        Called before each read; returns once bytes are there, or raises.
    """

    def __init__(self, sock, wait=None):
        self.sock, self.wait = sock, wait

    def send(self, header, buffers=()):
        """Write one frame."""
        text = json.dumps(header).encode()
        size = sum(map(len, buffers))
        if len(text) > HEADER_BYTES or size > BODY_BYTES:
            raise WireError("a message is too large to travel")
        self.sock.sendall(LENGTHS.pack(len(text), size) + text)
        for buffer in buffers:
            self.sock.sendall(buffer)

    def receive(self):
        """Read one frame: ``(header, body)``.

        Raises
        ------
        EOFError
            If the other side has gone.
        WireError
            If the bytes are not a frame.
        """
        head, size = LENGTHS.unpack(self._read(LENGTHS.size))
        if head > HEADER_BYTES or size > BODY_BYTES:
            raise WireError("a frame is larger than allowed")
        try:
            header = json.loads(self._read(head))
        except (ValueError, RecursionError):
            raise WireError("a header is not JSON") from None
        return header, self._read(size)

    def _read(self, count):
        chunks = bytearray()
        while len(chunks) < count:
            if self.wait:
                self.wait()
            chunk = self.sock.recv(min(1 << 20, count - len(chunks)))
            if not chunk:
                raise EOFError("the other side has gone")
            chunks += chunk
        return bytes(chunks)
