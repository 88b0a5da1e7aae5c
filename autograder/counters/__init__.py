"""Count the arithmetic that NumPy executes in a block, and the bytes it touches.

    with count() as c:
        y = x @ w
    c.flops, c.by_kind, c.bytes_read, c.bytes_written, c.arrays, c.complete, c.why

    with peak_memory() as m:
        y = x @ w
    m.peak_bytes, m.kept_bytes, m.arrays_left

A count is a figure about the algorithm, not about the way it is written: three loops over Python numbers, a
broadcast product that is summed, ``einsum`` and ``@`` all count ``2 * M * K * N`` for a product of ``(M, K)``
with ``(K, N)``.


How it works
------------
Inside the block, arrays are `Counted`: a subclass of ``ndarray`` that is a window on a plain array (its
``base``) and reports, through NumPy's protocols ``__array_ufunc__`` and ``__array_function__``, what is done
with it. An element of such an array is a `Number`: it holds a NumPy scalar or a Python float, behaves as that
scalar does (promotion, hash, ``isinstance``) and counts its own arithmetic. ``item()`` and ``tolist()`` give
Numbers too, so loops over Python floats count.

Arrays made before the block are found by a walk. It starts at the caller's local and global names, follows
dicts, lists, tuples, attributes and slots of objects, bound methods, closures, defaults and globals of
functions, and does not enter the standard library or installed packages (``tinytorch_ref`` and
``my_tinytorch`` excepted). Each array is exchanged for one window on the same memory; nothing is copied.
While the block runs, names of NumPy (``np.zeros``, ``np.exp``, ``np.random.default_rng`` ...), of `math`, and
``float`` as the walked namespaces see it, are stand-ins that keep results counted. References to those
functions that were bound earlier (``from numpy import zeros``) are exchanged as well. At the end of the
block, also after an exception, a second walk puts the plain arrays back (the very same objects) and the
originals return to their places. Outside a block nothing is patched and nothing costs anything.


Convention for FLOPs
--------------------
* A multiply-add is 2: one "multiply" and one "add".
* Elementwise arithmetic costs 1 per element of the result: add, subtract, multiply, divide, negative,
  absolute, square, maximum, minimum, power, remainder, floor ... So does every function: exp, log, sqrt,
  tanh, sin ... Each is its own entry in ``by_kind``, under NumPy's name. ``clip`` with two bounds is a
  maximum and a minimum.
* A reduction of n elements costs n (not n - 1), so does an accumulation. A loop that starts from ``s = 0.0``
  does just that, which is why loops and reductions agree. A loop that starts from the first term really does
  one addition less per output, and counts so.
* ``mean`` is n adds and a divide per output; ``var`` is 4n + 2k for k outputs (mean, subtract, multiply, sum,
  divide); ``std`` adds k square roots.
* ``matmul``, ``dot``, ``inner``, ``vdot``, ``vecdot``, ``matvec``, ``vecmat``, ``tensordot``: 2 * (outputs) *
  (summed length). ``outer`` has nothing to sum: 1 an output.
* ``einsum``, with P the product of all index ranges: P multiplies for each operand after the first, and P
  adds if any index is summed. Three operands or more with ``optimize`` follow the path that
  `numpy.einsum_path` reports.
* ``convolve`` and ``correlate``: a multiply-add for each pair of overlapping elements.
* FFT of length n: 5 n log2 n complex, 2.5 n log2 n real (the figure by which FFTW's benchmarks normalise; an
  estimate, rounded).
* Complex numbers: add, subtract, negative 2; multiply 6; divide 11; absolute 4; other functions 1.
* Listed apart, not in ``flops``: "compare" (<, ==, isnan ..., argmax n, sorting n elements n * ceil(log2 n),
  searching), "logic" (and, or, not, shifts) and "integer" (all arithmetic in which no floating-point number
  takes part, such as index computations). Python's ``max(a, b)`` compares; ``np.maximum`` is counted as
  arithmetic.
* Moving is free in FLOPs: copies, casts, indexing, ``where``, ``concatenate``, ``transpose``, and constants
  (``zeros``, ``arange``, ``linspace``, random draws).


Convention for bytes and arrays
-------------------------------
* ``bytes_read``: for each operation, the bytes of its array operands; ``bytes_written``: those of its array
  results. An operand used twice is read twice; a broadcast operand is read at the size it holds, not the size
  it is stretched to. Python numbers and NumPy scalars are free; reading one element of an array reads its
  itemsize.
* A view reads and writes nothing. Indexing by an array reads what it fetches and the index. ``zeros``,
  ``empty`` and the like write their result.
* ``arrays``: results that own new memory. Views and ``out=`` make none.
* Functions that NumPy writes in C are one operation; buffers inside them (BLAS, casts) are not seen.
  Functions that NumPy writes in Python count the operations that they call, temporaries included.


What can't be seen
------------------
Wherever a value is known to leave for where its arithmetic can't be followed, ``complete`` turns False and
``why`` says how: ``float()`` in a module that is not walked, a NumPy scalar type called on a number
(``np.float32(s)``), ``"%f" % s`` (an f-string is fine), `math.hypot` and `math.dist`, and what has no exact
count: LAPACK (``solve``, ``svd`` ...), ``interp``, ``place``, ``putmask``. Integers from ``int()``,
``item()`` and ``tolist()`` are plain: integer work is not in FLOPs.

Not noticed: operators on plain arrays that no walked name reaches (made by compiled libraries, or held by
iterators made before the block) unless the other operand is counted; masked arrays and matrices; arithmetic
on Python floats that never were in an array; the bytes of a copy made by a type call on an array
(``np.float32(a)``). ``type(s) is float`` is False for a Number: use ``isinstance``. A value handed out by
``return`` inside the block stays a window; what is computed from it afterwards is plain. Since Python 3.12,
``sum`` corrects the rounding of Python floats; that of Numbers is plain, so the last digit may differ.

All threads count while a block is open. Blocks may be nested: each counts.
"""

from autograder.counters.memory import peak_memory
from autograder.counters.session import count

__all__ = ["count", "peak_memory"]
