"""From a plain value to its counted form and back; the classes of the counted forms register here."""

import numpy as np
from numpy import ndarray

NUMERIC = "biufc"
_plain = {}                             # type of a counted form -> function that gives the plain value
_counted = {}                           # type of a plain value -> function that gives the counted form
scalar_types = [kind for kind in np.sctypeDict.values() if np.dtype(kind).kind in NUMERIC]


def register(form, plain, kinds=(), counted=None):
    """Tell how a counted form is opened, and for which types it is made (by default by calling it)."""
    _plain[form] = plain
    for kind in kinds:
        _counted[kind] = counted or form


def bare(value):
    """The plain value behind a counted one; lists and tuples are searched."""
    plain = _plain.get(type(value))
    return value if plain is None else plain(value)


def bare_kwargs(kwargs):
    return {name: bare(value) for name, value in kwargs.items()} if kwargs else kwargs


def wrap(value):
    """Counted form of what NumPy returned: arrays, scalars, tuples and lists of them. Others pass."""
    counted = _counted.get(type(value))
    if counted is not None:
        return counted(value)
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(map(wrap, value))
    return value


def wrap_python(value):
    """As `wrap`, but Python's floats count too: for `item`, `tolist` and random draws."""
    if type(value) is float or type(value) is complex:
        return _counted[np.float64](value)
    return [wrap_python(item) for item in value] if type(value) is list else wrap(value)


def is_counted(value):
    return type(value) in _plain and type(value) not in (list, tuple)


def as_objects(array):
    """Object array whose floats count, so that what np.vectorize calls still counts."""
    objects = array.astype(object)
    for index, item in enumerate(objects.flat):
        objects.flat[index] = wrap_python(item)
    return objects


def floats(value):
    """Whether a value is an array of floating-point numbers."""
    return isinstance(value, ndarray) and value.dtype.kind in "fc"


register(list, lambda values: [bare(v) for v in values], [list], lambda values: [wrap(v) for v in values])
register(tuple, lambda values: tuple([bare(v) for v in values]), [tuple],
         lambda values: tuple([wrap(v) for v in values]))
