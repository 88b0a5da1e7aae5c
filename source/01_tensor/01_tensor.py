# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 01 · Tensor
#
# Today you build `Tensor`, the one object that everything else in this course is made of: an array of numbers that
# knows its shape, its precision and its cost.
#
# | | |
# |---|---|
# | **Needs** | Python and a little NumPy; no earlier module |
# | **Time** | 4 to 6 hours |
# | **Points** | 100: visible checks 50, hidden tests 25, systems 20, one written answer 5 |
# | **Becomes** | `tinytorch_ref/tensor.py`, imported by every later module |
#
# ```
#   01 tensor ─► 02 activations ─► 03 layers ─► 04 losses ─► 05 data
#   ▲ you are here     │               │            │
#                      └───────────────┴────────────┴──► 06 autograd ─► 07 optimizers ─► …
# ```
#
# Work from top to bottom. Where a cell says `# YOUR CODE HERE`, replace that line and the one below it; then run the
# cells that follow. A *check* tells you at once what it expected, what came and what usually causes the difference.
# Hidden tests run when your work is graded: they try the same behaviour on other shapes, other types and odd corners.

# %% nbgrader={"grade": false, "grade_id": "tensor_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import time

import matplotlib.pyplot as plt
import numpy as np

from autograder import checks as check
from autograder.counters import count, peak_memory
from autograder.figures import figure, show

# %% [markdown]
# ## Why not plain Python?
#
# A neural network is, for the most part, products of matrices. Here is one in plain Python: rows of numbers in lists.
# Run it and look at the time.


# %%
def product_of_lists(a, b):
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


size = 80
rng = np.random.default_rng(0)
left, right = rng.normal(size=(size, size)), rng.normal(size=(size, size))

start = time.perf_counter()
product_of_lists(left.tolist(), right.tolist())
with_lists = time.perf_counter() - start

start = time.perf_counter()
left @ right
with_numpy = time.perf_counter() - start
print(
    f"lists {with_lists * 1e3:.1f} ms, NumPy {with_numpy * 1e3:.2f} ms, the same {2 * size**3:,} FLOPs"
)

# %% [markdown]
# The same arithmetic, hundreds of times slower: every number in a list is an object of its own, and Python looks at each
# one before it multiplies. NumPy keeps the numbers side by side in one block of memory and runs over them in compiled code.
#
# So why not NumPy alone? Try two things that a framework must not do.

# %%
pixels = np.array([0.0, 0.5, 1.0], dtype=np.float32)
scale = np.array([2.0])  # one careless constant
print(
    "float32 pixels times a constant:", (pixels * scale).dtype, "- twice the bytes, without a word"
)
print("a NumPy array knows its gradient:", hasattr(pixels, "grad"))

# %% [markdown]
# `Tensor` will be a thin shell around one NumPy array that keeps single precision unless you ask otherwise, that sends
# every operation through one door (so that module 06 can later watch what passes), and that can say what it costs.

# %% tags=["export"]
"""Tensor: an array that keeps its precision, knows its cost and sends every operation through one door."""

import math

import numpy as np

# %% [markdown]
# ## 1 · An array that keeps its word
#
# A tensor is an array of numbers of one type, its *dtype*, with a *shape*: the length of each axis. A batch of 32 grey
# images of 28 by 28 pixels has shape `(32, 28, 28)`: 3 axes (`ndim`), 25,088 numbers (`size`).
#
# The constructor decides two things that later cause the most puzzling bugs if they are left to chance:
#
# 1. **Precision.** Real numbers become `float32`, whatever they were before, unless the caller names a `dtype`.
#    Integers and booleans stay what they are: they are indices and masks. Half the bytes of `float64` means half the
#    memory traffic, and networks do not need the other digits.
# 2. **Ownership.** The tensor copies what it is given. If it merely kept a reference, changing the caller's array later
#    would change the tensor too.
#
# ```
#   Tensor([[1, 2], [3, 4]])            int64     stays integer
#   Tensor([[1.0, 2.0], [3.0, 4.0]])    float32   real numbers, 4 bytes each
#   Tensor(x, dtype=np.float64)         float64   because you said so
# ```
#
# The class below is complete but for two methods. Its operators are one line each: they hand their operands to functions
# that you write in the exercises to come. `requires_grad`, `grad` and `node` sleep until module 06.
#
# Write `__init__` and `nbytes`.


# %% jupyter={"source_hidden": true} tags=["export"]
class Operations:
    """What can be done with a Tensor: each operator and method hands its operands to a function below."""

    __slots__ = ()

    # Arithmetic, with broadcasting
    def __add__(self, other):
        return binary(add, self, other)

    def __radd__(self, other):
        return binary(add, other, self)

    def __sub__(self, other):
        return binary(subtract, self, other)

    def __rsub__(self, other):
        return binary(subtract, other, self)

    def __mul__(self, other):
        return binary(multiply, self, other)

    def __rmul__(self, other):
        return binary(multiply, other, self)

    def __truediv__(self, other):
        return binary(divide, self, other)

    def __rtruediv__(self, other):
        return binary(divide, other, self)

    def __matmul__(self, other):
        return apply(matmul, self, as_tensor(other, self))

    def __rmatmul__(self, other):
        return apply(matmul, as_tensor(other, self), self)

    def __pow__(self, exponent):
        if isinstance(exponent, (int, float)):
            return apply(scalar_power, self, exponent=exponent)
        return binary(power, self, exponent)

    def __rpow__(self, base):
        return binary(power, base, self)

    def __neg__(self):
        return apply(negative, self)

    def __abs__(self):
        return apply(absolute, self)

    abs = __abs__

    def exp(self):
        """e to the power of each element."""
        return apply(exp, self)

    def log(self):
        """Natural logarithm of each element."""
        return apply(log, self)

    def sqrt(self):
        """Square root of each element."""
        return apply(sqrt, self)

    # Comparison: tensors of booleans, element by element
    def __eq__(self, other):
        return binary(equal, self, other)

    def __ne__(self, other):
        return binary(not_equal, self, other)

    def __lt__(self, other):
        return binary(less, self, other)

    def __le__(self, other):
        return binary(less_equal, self, other)

    def __gt__(self, other):
        return binary(greater, self, other)

    def __ge__(self, other):
        return binary(greater_equal, self, other)

    __hash__ = object.__hash__  # by identity, since == answers element by element

    # Reductions
    def sum(self, axis=None, keepdims=False):
        """Sum over `axis`: None for all, an int, or a tuple of ints."""
        return apply(reduce_sum, self, axis=axis, keepdims=keepdims)

    def mean(self, axis=None, keepdims=False):
        """Mean over `axis`: None for all, an int, or a tuple of ints."""
        return apply(reduce_mean, self, axis=axis, keepdims=keepdims)

    def max(self, axis=None, keepdims=False):
        """Largest element over `axis`: None for all, an int, or a tuple of ints."""
        return apply(reduce_max, self, axis=axis, keepdims=keepdims)

    def argmax(self, axis=None):
        """Index of the largest element; integers carry no gradient."""
        return Tensor.wrap(np.argmax(self.data, axis=axis))

    # Shape
    def reshape(self, *shape):
        """The same elements in another shape; one length may be -1."""
        return apply(reshape, self, shape=one_or_many(shape))

    def permute(self, *axes):
        """The axes in another order."""
        return apply(permute, self, axes=one_or_many(axes))

    def transpose(self, axis0, axis1):
        """The tensor with two of its axes exchanged."""
        axes = list(range(self.ndim))
        axes[axis0], axes[axis1] = axes[axis1], axes[axis0]
        return self.permute(*axes)

    def to(self, dtype):
        """The elements in another precision."""
        return apply(cast, self, dtype=np.dtype(dtype))

    def __getitem__(self, key):
        return apply(index, self, key=plain_key(key))

    def __setitem__(self, key, value):
        if isinstance(value, Tensor):
            if value.requires_grad:
                raise RuntimeError("this would lose the gradient of the value; assign value.data on purpose")
            value = value.data
        self.data[plain_key(key)] = value
        self.version += 1


# %% nbgrader={"grade": false, "grade_id": "tensor_class", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
class Tensor(Operations):
    """An n-dimensional array of numbers of one dtype.

    Parameters
    ----------
    data : number, nested list, numpy.ndarray or Tensor
        The values, of any shape; they are copied.
    dtype : dtype, optional
        Precision. By default real numbers become float32; integers and booleans keep their type.
    requires_grad : bool
        Whether module 06 shall compute a gradient for this tensor.

    Attributes
    ----------
    data : numpy.ndarray
        The values.
    grad : numpy.ndarray or None
        The gradient, of the shape and dtype of `data`, once there is one.
    node : object or None
        The operation that made this tensor, where one was recorded.
    version : int
        How often the values were changed in place, such as by `tensor[key] = value`.

    Raises
    ------
    TypeError
        If `data` does not hold numbers.
    """

    __slots__ = ("data", "grad", "requires_grad", "node", "_version", "__weakref__")
    __array_ufunc__ = None  # so that array * tensor asks the tensor, not NumPy

    def __init__(self, data, dtype=None, requires_grad=False):
        if isinstance(data, Tensor):
            data = data.data
        # Hints: `np.array(..., dtype=...)` always copies. `array.dtype.kind` is "f" for real numbers,
        # "i", "u" or "b" for integers and booleans, something else for text and objects: those
        # deserve a TypeError that says so.
        ### BEGIN SOLUTION
        array = np.array(data, dtype=dtype)
        if array.dtype.kind not in "fiub":
            raise TypeError(
                f"a Tensor holds numbers, but this data has dtype {array.dtype}: {data!r:.60}"
            )
        if dtype is None and array.dtype.kind == "f":
            array = array.astype(np.float32, copy=False)
        self.data = array
        ### END SOLUTION
        self.grad = None
        self.requires_grad = requires_grad
        self.node = None
        self._version = 0

    @classmethod
    def wrap(cls, array):
        """A tensor around `array` itself: no copy, no change of dtype. NumPy scalars become 0-d arrays."""
        tensor = cls.__new__(cls)
        tensor.data = array if isinstance(array, np.ndarray) else np.asarray(array)
        tensor.grad = None
        tensor.requires_grad = False
        tensor.node = None
        tensor._version = 0
        return tensor

    # What it is
    @property
    def shape(self):
        """Length of each axis, a tuple of ints."""
        return self.data.shape

    @property
    def ndim(self):
        """Number of axes."""
        return self.data.ndim

    @property
    def size(self):
        """Number of elements."""
        return self.data.size

    @property
    def dtype(self):
        """Type of the elements, a numpy.dtype."""
        return self.data.dtype

    @property
    def nbytes(self):
        """Bytes that the elements take: their number times the bytes of one."""
        ### BEGIN SOLUTION
        return self.size * self.dtype.itemsize
        ### END SOLUTION

    @property
    def T(self):
        """The tensor with its axes reversed, a view."""
        return self.permute(*reversed(range(self.ndim)))

    def memory_footprint(self):
        """Bytes of the data and, once there is one, of the gradient."""
        return memory_footprint(self)

    def item(self):
        """The only element, as a Python number. Raises ValueError if there are more."""
        return self.data.item()

    def numpy(self):
        """The values as an array, not a copy. Raises RuntimeError on a tensor that wants a gradient."""
        if self.requires_grad:
            raise RuntimeError(
                "this tensor requires a gradient, and NumPy would lose it; use tensor.data on purpose"
            )
        return self.data

    def __array__(self, dtype=None, copy=None):
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __len__(self):
        if not self.ndim:
            raise TypeError("a 0-d tensor has no length")
        return len(self.data)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __bool__(self):
        return bool(self.data)

    def __float__(self):
        return float(self.data)

    def __repr__(self):
        values = np.array2string(
            self.data, separator=", ", prefix="Tensor(", threshold=20, precision=4
        )
        grad = ", requires_grad=True" if self.requires_grad else ""
        return f"Tensor({values}, dtype={self.dtype}{grad})"

    # Gradients
    @property
    def version(self):
        """How often the values were changed in place; whoever changes them adds 1, and a recorder is told."""
        return self._version

    @version.setter
    def version(self, count):
        self._version = count
        if Recorder.current is not None:
            Recorder.current.changed(self)

    def backward(self, gradient=None, retain_graph=False):
        """Gradients of this tensor with respect to all that it was made from; module 06 brings them.

        Raises
        ------
        RuntimeError
            While nothing records operations.
        """
        if Recorder.current is None:
            raise RuntimeError(
                "backward() comes with module 06 (autograd): until then nothing records what was computed"
            )
        Recorder.current.backward(self, gradient, retain_graph)


# %%
# Try it: what do these become? Change the values and see.
for value in (3, [1, 2, 3], [0.5, 1.5], np.zeros((2, 3)), [True, False]):
    tensor = Tensor(value)
    print(f"{tensor!r:50} shape {tensor.shape}, {tensor.nbytes} bytes")


# %% nbgrader={"grade": false, "grade_id": "tensor_class_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: a tensor whose maker changes the array afterwards, and one that shows every other
# row of an array.
def changed_afterwards(array, dtype=None):
    tensor = Tensor(array, dtype=dtype)
    array[...] = 7
    return tensor


def every_other_row(array):
    return Tensor.wrap(array[::2])


# %% nbgrader={"grade": true, "grade_id": "tensor_class_check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
# Check (8 points): precision, shape, bytes, and whose memory it is.
x = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
check.close(x, np.array([[1, 2, 3], [4, 5, 6]]), because="the values should arrive unchanged")
check.same_dtype(x, np.float32, because="real numbers become float32 unless a dtype is asked for")
check.same_dtype(Tensor([1, 2, 3]), np.int64, because="integers are indices: they keep their type")
check.same_dtype(
    Tensor([1.0], dtype=np.float64), np.float64, because="a dtype that the caller names wins"
)
check.equal((x.shape, x.ndim, x.size), ((2, 3), 2, 6), because="two rows of three numbers")
check.equal(x.nbytes, 24, because="6 numbers of 4 bytes each; 48 would mean float64")
y = changed_afterwards(np.zeros(3, dtype=np.float32))
check.close(
    y,
    np.zeros(3),
    because="it should copy; np.asarray keeps the caller's array when the dtype fits",
)

# %% nbgrader={"grade": true, "grade_id": "tensor_class_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): scalars, empty tensors, booleans, other precisions, data that is not numbers.
### BEGIN HIDDEN TESTS
check.equal(Tensor(3.5).shape, (), because="one number is a tensor without axes")
check.equal(Tensor(3.5).nbytes, 4, because="one number of 4 bytes; `len` knows no tensor without axes")
check.equal(
    (Tensor(np.zeros((0, 4))).size, Tensor(np.zeros((0, 4))).nbytes),
    (0, 0),
    because="an empty tensor holds nothing",
)
check.same_dtype(Tensor([True, False]), np.bool_, because="booleans are masks and stay booleans")
check.same_dtype(
    Tensor(np.zeros(2, dtype=np.float16)),
    np.float32,
    because="every real number type becomes float32",
)
check.same_dtype(
    Tensor([1, 2], dtype=np.float32),
    np.float32,
    because="a dtype that is asked for applies to integers too",
)
check.equal(
    Tensor(np.zeros((5, 1, 7)), dtype=np.float64).nbytes, 280, because="35 numbers of 8 bytes"
)
check.equal(Tensor(np.zeros(6, dtype=np.int8)).nbytes, 6, because="an int8 takes one byte")
check.equal(
    every_other_row(np.zeros((8, 8), np.float32)).nbytes,
    128,
    because="a view counts the 32 numbers it shows, not the buffer behind it",
)
first = Tensor([1.0, 2.0])
second = Tensor(first)
check.own_memory(second, first, because="a tensor made from a tensor copies as well")
check.close(changed_afterwards(np.arange(4)), np.arange(4), because="integers are copied too")
check.close(
    changed_afterwards(np.arange(4.0), dtype=np.float64),
    np.arange(4.0),
    because="it should copy also when the array has the dtype that is asked for",
)
with check.raises(
    TypeError,
    because="text is not a number, and an error now is kinder than one three modules later",
):
    Tensor(["a", "b"])
with check.raises(
    TypeError, because="a list with a None in it makes an array of objects, not of numbers"
):
    Tensor([1.0, None])
### END HIDDEN TESTS

# %% [markdown]
# ## 2 · What does a tensor cost?
#
# A tensor of shape `(N, D)` holds `N · D` numbers, and each takes a fixed count of bytes: 4 for `float32`, 8 for
# `float64`. Training doubles that: every parameter will keep a *gradient* of its own shape beside it. Engineers do this
# sum before they run anything. A layer that maps 4,096 features to 4,096 features holds
#
# $$4096 \cdot 4096 \cdot 4\ \text{B} = 64\ \text{MiB},$$
#
# and twice that once it trains. Whether the next model fits your laptop is a question you can answer on paper.
#
# Write `memory_footprint`, which does the sum for one tensor.


# %% nbgrader={"grade": false, "grade_id": "tensor_memory", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def memory_footprint(tensor):
    """Bytes that a tensor's values take and, once there is one, its gradient.

    Parameters
    ----------
    tensor : Tensor
        Of any shape and dtype.

    Returns
    -------
    int
        Bytes. A view counts what it shows, not the buffer behind it.

    Examples
    --------
    >>> memory_footprint(Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    24

    Hints: NumPy knows the bytes of an array. A gradient that is None costs nothing.
    """
    ### BEGIN SOLUTION
    gradient = 0 if tensor.grad is None else tensor.grad.nbytes
    return tensor.data.nbytes + gradient
    ### END SOLUTION


# %%
# Try it: which costs more, a (1000, 1000) tensor in float32 or a (700, 700) one in float64?
(
    memory_footprint(Tensor(np.zeros((1000, 1000)))),
    memory_footprint(Tensor(np.zeros((700, 700)), dtype=np.float64)),
)

# %% nbgrader={"grade": true, "grade_id": "tensor_memory_check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Check (4 points): bytes of the values, then of values and gradient.
x = Tensor(np.zeros((2, 3)))
check.equal(memory_footprint(x), 24, because="2 · 3 numbers of 4 bytes each")
x.grad = np.zeros((2, 3), dtype=np.float32)
check.equal(
    memory_footprint(x),
    48,
    because="the gradient has the shape and dtype of the values: as many bytes again",
)
check.equal(x.memory_footprint(), 48, because="the method answers what the function answers")

# %% nbgrader={"grade": true, "grade_id": "tensor_memory_hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (2 points): other precisions, empty tensors, views.
### BEGIN HIDDEN TESTS
x = Tensor(np.zeros((5, 1, 7)), dtype=np.float64)
check.equal(memory_footprint(x), 280, because="float64 takes 8 bytes a number")
x.grad = np.zeros((5, 1, 7))
check.equal(memory_footprint(x), 560, because="so does its gradient")
check.equal(memory_footprint(Tensor(np.zeros((0, 9)))), 0, because="an empty tensor costs nothing")
check.equal(
    memory_footprint(every_other_row(np.zeros((8, 8), np.float32))),
    128,
    because="a view counts the 32 numbers it shows",
)
### END HIDDEN TESTS

# %% [markdown]
# ## 3 · Broadcasting
#
# A batch of activations has shape `(N, D)`, a bias `(D,)`. Their sum makes sense: the same bias for every row. NumPy calls
# this *broadcasting*, and so does every framework. The rule has three parts:
#
# 1. Line the shapes up **from the right**. The shorter one gets ones in front.
# 2. On each axis, equal lengths fit; and a length of 1 fits any other and is stretched to it.
# 3. Anything else is an error.
#
# ```
#     (32, 10)           (3,)            (2, 3)
#   +     (10,)      +  (3, 1)       +   (2,)
#   ──────────       ─────────       ─────────
#     (32, 10)         (3, 3)  (!)     error: 3 against 2
# ```
#
# Look twice at the middle one: a row plus a column makes a square. It is legal and often not what was meant, a classic
# reason for a loss that is computed from `(N, N)` numbers instead of `N`. Nothing is copied by stretching: NumPy reads the
# same number again.
#
# Write `broadcast_shape`, the rule itself. It will speak when two shapes do not fit.


# %% nbgrader={"grade": false, "grade_id": "tensor_broadcast", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def broadcast_shape(first, second):
    """Shape of an elementwise operation on two shapes.

    Parameters
    ----------
    first, second : tuple of int
        Shapes of the two operands.

    Returns
    -------
    tuple of int

    Raises
    ------
    ValueError
        If the shapes do not fit; the message names both shapes and the two lengths that clash.

    Examples
    --------
    >>> broadcast_shape((32, 10), (10,))
    (32, 10)
    >>> broadcast_shape((3,), (3, 1))
    (3, 3)

    Hints: pad the shorter shape with ones on the left, then go through both with zip.
    A length of 1 takes the other's length, even if that is 0.
    """
    ### BEGIN SOLUTION
    ndim = max(len(first), len(second))
    padded_first = (1,) * (ndim - len(first)) + tuple(first)
    padded_second = (1,) * (ndim - len(second)) + tuple(second)
    shape = []
    for m, n in zip(padded_first, padded_second):
        if m != n and 1 not in (m, n):
            raise ValueError(
                f"shapes {tuple(first)} and {tuple(second)} do not fit: aligned from the right, "
                f"one axis has length {m} and {n}; lengths must be equal, or one of them 1"
            )
        shape.append(n if m == 1 else m)
    return tuple(shape)
    ### END SOLUTION


# %%
# Try it: which of these fit? Predict before you run, then add your own.
for first, second in [((32, 10), (10,)), ((3,), (3, 1)), ((2, 1, 4), (5, 1)), ((2, 3), (2,))]:
    try:
        print(first, "with", second, "->", broadcast_shape(first, second))
    except ValueError as error:
        print(first, "with", second, "->", error)

# %% nbgrader={"grade": true, "grade_id": "tensor_broadcast_check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
# Check (8 points): shapes that fit, and shapes that do not.
check.equal(broadcast_shape((2, 3), (2, 3)), (2, 3), because="equal shapes stay as they are")
check.equal(
    broadcast_shape((32, 10), (10,)),
    (32, 10),
    because="the shorter shape is padded on the left, not on the right",
)
check.equal(
    broadcast_shape((10,), (32, 10)), (32, 10), because="the order of the operands does not matter"
)
check.equal(
    broadcast_shape((4, 1), (1, 5)), (4, 5), because="each operand may stretch on its own axis"
)
with check.raises(
    ValueError,
    mentions=["(2, 3)", "(2,)"],
    because="3 against 2 does not fit, and the message should name both shapes",
):
    broadcast_shape((2, 3), (2,))

# %% nbgrader={"grade": true, "grade_id": "tensor_broadcast_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): a row with a column, scalars, empty axes, many axes, errors, the message.
### BEGIN HIDDEN TESTS
parts = check.partial(4)
with parts.part(3, "shapes"):
    check.equal(broadcast_shape((3,), (3, 1)), (3, 3), because="a row with a column makes a square")
    check.equal(broadcast_shape((), (2, 2)), (2, 2), because="a 0-d operand fits everything")
    check.equal(broadcast_shape((), ()), (), because="two numbers make a number")
    check.equal(
        broadcast_shape((1,), (0,)),
        (0,),
        because="a length of 1 stretches to 0 as well: max(1, 0) is wrong here",
    )
    check.equal(
        broadcast_shape((2, 1, 4), (5, 1)), (2, 5, 4), because="padding and stretching work together"
    )
    check.equal(broadcast_shape((1, 1, 1, 6), (7, 1, 1)), (1, 7, 1, 6), because="any number of axes")
    for first, second in [((2, 3), (3, 3)), ((4, 1, 2), (3, 1, 2)), ((4,), (2,)), ((0,), (2,))]:
        with check.raises(ValueError, because="two different lengths, neither of them 1, never fit"):
            broadcast_shape(first, second)
    rng = np.random.default_rng(5)
    for _ in range(20):
        shape = tuple(int(n) for n in rng.integers(1, 4, size=4))
        other = tuple(1 if rng.random() < 0.4 else n for n in shape)[int(rng.integers(0, 4)) :]
        check.equal(
            broadcast_shape(shape, other),
            np.broadcast_shapes(shape, other),
            because="NumPy broadcasts by the same rule",
        )
with parts.part(1, "the message"):
    message = "no error"
    try:
        broadcast_shape((6, 41), (29,))
    except Exception as error:
        message = str(error).replace("(6, 41)", "").replace("(29,)", "")
    check.equal(
        ["41" in message, "29" in message],
        [True, True],
        because="beside the two shapes, the message should name the two lengths that clash, 41 and 29",
    )
parts.score()
### END HIDDEN TESTS

# %% [markdown]
# ## 4 · One door for every operation
#
# `x + y`, `x.sum()`, `x @ w`: each operation takes the arrays out of its tensors, computes, and puts the result into a new
# tensor. You write that once, as `apply(primitive, *inputs, **params)`: the *door*. A *primitive* is a plain function on
# arrays, and NumPy's own functions will do.
#
# ```
#   x + 2 ──► binary(add, x, 2) ──► as_tensor(2, like=x)
#                                        │
#                                        ▼
#                                   apply(add, x, 2): arrays ─► add ─► array ─► Tensor
#                                        ▲
#                                        └─ module 06 will stand here and note what passes
# ```
#
# Why one door? Because in module 06 a *recorder* will note every operation that passes, to run it backwards. With one
# door there is one place to watch, and no operation can slip by.
#
# The door also guards precision. The next cell, complete, holds the primitives and the guard: a result is `float64` only
# if an input was.

# %% tags=["export"]
# Primitives on arrays, element by element: NumPy's functions as they are.
add, subtract, multiply, divide, power = np.add, np.subtract, np.multiply, np.divide, np.power
negative, absolute, exp, log, sqrt = np.negative, np.absolute, np.exp, np.log, np.sqrt
equal, not_equal, less, less_equal = np.equal, np.not_equal, np.less, np.less_equal
greater, greater_equal = np.greater, np.greater_equal


def scalar_power(a, exponent):
    """`a` to the power of one Python number; squares and cubes as products, which are far faster."""
    if exponent == 2:
        return a * a
    if exponent == 3:
        return a * a * a
    return a**exponent


def cast(a, dtype):
    """The elements of `a` in another precision."""
    return a.astype(dtype)


FLOAT64 = np.dtype(np.float64)


def keep_precision(result, arrays):
    """`result`, in float32 if it became float64 although no input was, as integers do when divided."""
    if result.dtype == FLOAT64 and not any(array.dtype == FLOAT64 for array in arrays):
        return result.astype(np.float32)
    return result


class Recorder:
    """Where module 06 plugs in.

    While `current` is None nothing is recorded. A recorder has three methods:
    `record(output, primitive, inputs, saved, params)`, called for every operation that passes the door,
    `changed(tensor)`, called when values were changed in place, and `backward(tensor, gradient, retain_graph)`.
    """

    current = None


# %% [markdown]
# Now the three functions of the door. `as_tensor` makes a tensor of a plain number, list or array that meets a tensor in
# an operation; it follows the tensor's precision, so that `2.0 * x` stays what `x` is. `binary` does that for either side:
# in `1 - x` the number stands on the left.


# %% nbgrader={"grade": false, "grade_id": "tensor_door", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def as_tensor(value, like):
    """`value` as a tensor that can meet the tensor `like`.

    Parameters
    ----------
    value : Tensor, number, list or numpy.ndarray
        A Tensor is returned as it is.
    like : Tensor
        If it holds real numbers, a plain value takes its dtype; otherwise `Tensor(value)` decides.

    Returns
    -------
    Tensor

    Hints: `like.dtype.kind == "f"` says that `like` holds real numbers.
    """
    ### BEGIN SOLUTION
    if isinstance(value, Tensor):
        return value
    if like.dtype.kind == "f":
        return Tensor.wrap(np.asarray(value, dtype=like.dtype))
    return Tensor(value)
    ### END SOLUTION


def apply(primitive, *inputs, **params):
    """The one door: run a primitive on the arrays of `inputs` and wrap what it returns.

    Parameters
    ----------
    primitive : function
        Takes one array an input, and `params`; returns an array, or a tuple `(array, saved)` where `saved` is
        whatever its gradient rule will want again.
    *inputs : Tensor
        The operands.
    **params
        Plain values, such as an axis.

    Returns
    -------
    Tensor
        Of the precision of the inputs: float64 only if an input is.

    Hints: four lines. Take the arrays out; run the primitive; split `saved` off if the result is a
    tuple (else it is None); guard the precision with `keep_precision` and wrap with `Tensor.wrap`.
    """
    ### BEGIN SOLUTION
    arrays = [tensor.data for tensor in inputs]
    result = primitive(*arrays, **params)
    result, saved = result if isinstance(result, tuple) else (result, None)
    output = Tensor.wrap(keep_precision(result, arrays))
    ### END SOLUTION
    recorder = Recorder.current
    if recorder is not None:
        recorder.record(output, primitive, inputs, saved, params)
    return output


def binary(primitive, left, right):
    """Apply a primitive to two operands, of which either may be a plain number, list or array.

    Raises
    ------
    ValueError
        If their shapes do not broadcast.

    Hints: find out which operand is the tensor, then make a tensor of the other one, like it.
    """
    ### BEGIN SOLUTION
    if not isinstance(right, Tensor):
        right = as_tensor(right, left)
    elif not isinstance(left, Tensor):
        left = as_tensor(left, right)
    ### END SOLUTION
    try:
        return apply(primitive, left, right)
    except ValueError:
        broadcast_shape(left.shape, right.shape)  # if the shapes are to blame, this says so clearly
        raise


# %%
# Try it: every operator of the class now works. What are the dtypes of Tensor([1, 2]) / 2
# and of 2 * Tensor([1, 2])?
x = Tensor([[1.0, 2.0], [3.0, 4.0]])
1 - x / 2, x**2 > 3


# %% nbgrader={"grade": false, "grade_id": "tensor_door_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Three primitives for the checks: one also returns what a gradient rule would want again, one
# returns a NumPy scalar, one a view. And a recorder that looks on, as the one of module 06 will.
def scale_and_remember(a, factor):
    return a * factor, factor


def total(a):
    return a.sum()


def first_row(a):
    return a[0]


def what_a_recorder_is_told(primitive, tensor, **params):
    class Witness:
        def record(self, output, primitive, inputs, saved, params):
            self.told = saved, params

    Recorder.current = witness = Witness()
    try:
        apply(primitive, tensor, **params)
    finally:
        Recorder.current = None
    return witness.told


def comes_back_itself(tensor, like):
    return as_tensor(tensor, like) is tensor


# %% nbgrader={"grade": true, "grade_id": "tensor_door_check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
# Check (8 points): values, precision, either side, and the messages.
x = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
bias = Tensor([10.0, 20.0, 30.0])
check.close(
    x + bias, np.array([[11, 22, 33], [14, 25, 36]]), because="the bias is added to every row"
)
check.close(
    x * 2.0, np.array([[2, 4, 6], [8, 10, 12]]), because="a plain number may stand on the right"
)
check.close(
    1 - x,
    np.array([[0, -1, -2], [-3, -4, -5]]),
    because="in 1 - x the number is the left operand, not the right",
)
check.same_dtype(
    x * np.array([1.0, 2.0, 3.0]),
    np.float32,
    because="a float64 array that meets a float32 tensor takes its dtype",
)
check.same_dtype(
    Tensor([1, 2]) / 2,
    np.float32,
    because="NumPy divides integers in float64; the door brings that back",
)
double = Tensor([1.0, 2.0], dtype=np.float64)
check.same_dtype(2 * double, np.float64, because="float64 was asked for and stays")
with check.raises(
    ValueError, mentions=["(2, 3)", "(2,)"], because="broadcast_shape should explain the clash"
):
    x + Tensor([1.0, 2.0])

# %% nbgrader={"grade": true, "grade_id": "tensor_door_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): reflected operators, mixed precision, arrays on the left, saved values, views.
### BEGIN HIDDEN TESTS
x = Tensor([[1.0, 2.0], [4.0, 8.0]])
check.close(8.0 / x, np.array([[8, 4], [2, 1]]), because="8 / x divides by x")
check.close(2.0**x, np.array([[2, 4], [16, 256]]), because="2 ** x raises to the power of x")
check.close(
    np.array([1.0, 2.0]) - x, np.array([[0, 0], [-3, -6]]), because="an array may stand on the left"
)
check.close([1.0, 2.0] + x, np.array([[2, 4], [5, 10]]), because="a list may stand on the left")
check.same_dtype(
    np.array([1.0, 2.0]) * x, np.float32, because="precision does not depend on the side"
)
check.same_dtype(
    2 * Tensor([1.0], dtype=np.float64), np.float64, because="a number follows a float64 tensor"
)
check.close(
    Tensor([1.0], dtype=np.float64) * 0.1,
    [0.1],
    because="a number that meets a float64 tensor must not lose digits in float32 on the way",
    rtol=1e-12,
    atol=0,
)
check.same_dtype(
    x + Tensor([1.0, 2.0], dtype=np.float64),
    np.float64,
    because="a float64 tensor makes the result float64",
)
check.equal(
    comes_back_itself(x, Tensor([1.0], dtype=np.float64)),
    True,
    because="as_tensor returns a Tensor as it is: a copy would have lost its gradient in module 06",
)
check.same_dtype(Tensor([1, 2]) + 1, np.int64, because="integers and an integer stay integers")
check.same_dtype(
    Tensor([1, 2]) * 0.5, np.float32, because="integers times a real number are float32"
)
check.same_dtype(x > 2, np.bool_, because="a comparison answers in booleans")
check.close(-x + x * 3 - x**2, np.array([[1, 0], [-8, -48]]), because="operators combine")
check.close(
    apply(scale_and_remember, x, factor=3.0),
    3 * np.array([[1, 2], [4, 8]]),
    because="a primitive may return (array, saved), and has params",
)
check.equal(
    what_a_recorder_is_told(scale_and_remember, x, factor=3.0),
    (3.0, {"factor": 3.0}),
    because="saved is the second part of the tuple, and module 06 will want it",
)
check.equal(
    what_a_recorder_is_told(total, x),
    (None, {}),
    because="a primitive that returns an array only has saved nothing: saved is None",
)
check.equal(apply(total, x).shape, (), because="a NumPy scalar becomes a 0-d tensor")
check.shares_memory(
    apply(first_row, x), x, because="Tensor.wrap takes the result itself, Tensor(...) copies it"
)
check.close(Tensor(np.zeros((0, 3))) + 1.0, np.zeros((0, 3)), because="empty tensors pass as well")
with check.unchanged(x, because="an operation must not change what it is given"):
    x + 1.0
### END HIDDEN TESTS

# %% [markdown]
# ## 5 · The product of two matrices, number by number
#
# Most of the time that a network runs, it multiplies matrices. The product of `(M, K)` with `(K, N)` is `(M, N)`:
#
# $$c_{ij} = \sum_{k=1}^{K} a_{ik}\, b_{kj}$$
#
# ```
#            k →                j                    j
#        ┌─────────┐         ┌─────┐              ┌─────┐
#     i  │ ■ ■ ■ ■ │    k ↓  │   ■ │      =    i  │   ● │     ● = ■·■ + ■·■ + ■·■ + ■·■
#        └─────────┘         │   ■ │              └─────┘
#          (M, K)            │   ■ │               (M, N)
#                            │   ■ │
#                            └─────┘ (K, N)
# ```
#
# Write it as the formula reads, with three loops and one number at a time. It will be slow, and that is the point: every
# multiplication and every addition stands before your eyes, so you can count them.


# %% nbgrader={"grade": false, "grade_id": "tensor_matmul_loops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def matmul_loops(a, b):
    """Product of two matrices, with three loops over single numbers.

    Parameters
    ----------
    a : numpy.ndarray of shape (M, K)
    b : numpy.ndarray of shape (K, N)

    Returns
    -------
    numpy.ndarray of shape (M, N), of the dtype of `a`

    Examples
    --------
    >>> matmul_loops(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))
    array([[11.]])

    Hints: start from zeros. Loop over i, j and k. Use neither `@` nor `np.dot`, `np.matmul`, `np.einsum` and
    their like, and multiply no whole rows.
    """
    ### BEGIN SOLUTION
    (M, K), N = a.shape, b.shape[1]
    c = np.zeros((M, N), dtype=a.dtype)
    for i in range(M):
        for j in range(N):
            for k in range(K):
                c[i, j] += a[i, k] * b[k, j]
    return c
    ### END SOLUTION


# %%
# Try it: double the size and watch the time grow about eightfold.
for size in (8, 16, 32):
    square = np.ones((size, size), dtype=np.float32)
    start = time.perf_counter()
    matmul_loops(square, square)
    print(f"{size:3} x {size}: {(time.perf_counter() - start) * 1e3:7.1f} ms")


# %% nbgrader={"grade": false, "grade_id": "tensor_matmul_loops_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: whether a product leaves its operands as they were.
def operands_survive(product, a, b):
    before = a.copy(), b.copy()
    product(a, b)
    return bool((a == before[0]).all() and (b == before[1]).all())


# %% nbgrader={"grade": true, "grade_id": "tensor_matmul_loops_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): the values, and that the loops are yours.
a = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=np.float32)
b = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=np.float32)
check.close(
    matmul_loops(a, b),
    np.array([[4, 5], [10, 11]]),
    because="c[i, j] starts from 0 and sums a[i, k] * b[k, j] over k",
)
check.same_dtype(
    matmul_loops(a, b), np.float32, because="np.zeros makes float64 unless it is given a dtype"
)
check.avoids(
    matmul_loops,
    "@",
    "dot",
    "matmul",
    "einsum",
    "inner",
    "outer",
    "vdot",
    "vecdot",
    "tensordot",
    because="the loops are the exercise",
)

# %% nbgrader={"grade": true, "grade_id": "tensor_matmul_loops_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): rectangular matrices, a single row, an inner length of zero, the work done.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(11)
for M, K, N in [(3, 4, 2), (1, 5, 3), (4, 1, 1), (2, 0, 3)]:
    a, b = rng.normal(size=(M, K)), rng.normal(size=(K, N))
    check.close(
        matmul_loops(a, b),
        a @ b,
        because="every length may differ, and the sum over no numbers is 0",
    )
a, b = rng.normal(size=(3, 4)).astype(np.float32), rng.normal(size=(4, 5)).astype(np.float32)
check.equal(
    operands_survive(matmul_loops, a, b), True, because="the operands are not scratch space"
)
for dtype in (np.float64, np.int64):
    check.same_dtype(
        matmul_loops(a.astype(dtype), b.astype(dtype)), dtype, because="the result has the dtype of a"
    )
with count() as counted:
    matmul_loops(a, b)
check.counts(
    counted,
    flops=2 * 3 * 4 * 5,
    because="one multiplication and one addition for each triple (i, j, k)",
)
check.counts(
    counted,
    arrays=range(1, 6),
    because="one number at a time: a product of whole rows makes an array each time",
)
### END HIDDEN TESTS

# %% [markdown]
# ## 6 · The product as a primitive
#
# NumPy's `np.matmul` does the same arithmetic in compiled code that uses the processor's vector units and caches. It also
# knows two more forms, and so will your tensors:
#
# - **1-d operands.** `(K,) @ (K, N)` is `(N,)`, `(M, K) @ (K,)` is `(M,)`, and `(K,) @ (K,)` is one number.
# - **Batches.** With more than two axes the last two are matrices and the rest are a batch that broadcasts:
#   `(B, M, K) @ (B, K, N)` is `(B, M, N)`, and `(B, M, K) @ (K, N)` uses the same right matrix for the whole batch.
#
# A mismatch of inner lengths will be the error you meet most often in this course, so let it speak: the message should
# hold both shapes and the two lengths that differ.


# %% nbgrader={"grade": false, "grade_id": "tensor_matmul", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def matmul(a, b):
    """Matrix product of two arrays, as `np.matmul` defines it.

    Parameters
    ----------
    a : numpy.ndarray of shape (..., M, K) or (K,)
    b : numpy.ndarray of shape (..., K, N) or (K,)

    Returns
    -------
    numpy.ndarray of shape (..., M, N), without M or N where an operand has one axis

    Raises
    ------
    ValueError
        If an operand has no axis, or the inner lengths differ; the message names both shapes.

    Hints: the inner length of `b` is its last but one, or its only one. Check first, then let NumPy work.
    """
    ### BEGIN SOLUTION
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(
            f"matmul of shapes {a.shape} and {b.shape}: a single number is multiplied with *, not with @"
        )
    inner_a, inner_b = a.shape[-1], b.shape[-2:][0]
    if inner_a != inner_b:
        raise ValueError(
            f"matmul of shapes {a.shape} and {b.shape}: the inner lengths {inner_a} and {inner_b} differ"
        )
    return np.matmul(a, b)
    ### END SOLUTION


# %%
# Try it: the same product, three ways, with the same arithmetic. Only the time differs.
size = 48
a = np.random.default_rng(0).normal(size=(size, size)).astype(np.float32)
x = Tensor(a)
for name, product in [
    ("loops", lambda: matmul_loops(a, a)),
    ("rows", lambda: np.stack([row @ a for row in a])),
    ("x @ x", lambda: x @ x),
]:
    start = time.perf_counter()
    product()
    print(f"{name:6} {(time.perf_counter() - start) * 1e3:8.2f} ms")

# %% nbgrader={"grade": true, "grade_id": "tensor_matmul_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): matrices, vectors, a batch, and the message.
rng = np.random.default_rng(3)
a, b = rng.normal(size=(2, 3)), rng.normal(size=(3, 4))
check.close(Tensor(a) @ Tensor(b), a @ b, because="(2, 3) @ (3, 4) is (2, 4)")
check.close(
    Tensor(a) @ Tensor(b[:, 0]),
    a @ b[:, 0],
    because="a matrix times a vector is a vector: no axis of length 1 stays",
)
batch = rng.normal(size=(5, 2, 3))
check.close(
    Tensor(batch) @ Tensor(b),
    batch @ b,
    because="the last two axes are matrices, the first is a batch",
)
check.same_dtype(
    Tensor(a) @ Tensor(b), np.float32, because="a product of float32 tensors is float32"
)
with check.raises(
    ValueError, mentions=["(2, 3)", "(4, 5)"], because="the message should name both shapes"
):
    Tensor(a) @ Tensor(np.ones((4, 5)))

# %% nbgrader={"grade": true, "grade_id": "tensor_matmul_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): vectors, batches that broadcast, empty and 0-d operands, precision.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(4)
shapes = [
    ((3,), (3, 4)),
    ((3,), (3,)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((3,), (5, 3, 2)),
    ((5, 2, 3), (3,)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
]
for first, second in shapes:
    a, b = rng.normal(size=first), rng.normal(size=second)
    check.close(Tensor(a) @ Tensor(b), a @ b, because=f"{first} @ {second} as in NumPy")
check.close(
    np.ones((2, 3)) @ Tensor(np.ones((3, 1))),
    np.full((2, 1), 3.0),
    because="a plain array may stand on the left, and a result of one column keeps its axis",
)
double = Tensor(np.ones((2, 2)), dtype=np.float64)
check.same_dtype(double @ double, np.float64, because="float64 stays float64")
with check.raises(ValueError, because="@ with a single number is an error"):
    Tensor(np.ones((2, 2))) @ 3.0
with check.raises(
    ValueError, mentions=["(3,)", "(4, 3)"], because="the inner length of (4, 3) is 4"
):
    Tensor(np.ones(3)) @ Tensor(np.ones((4, 3)))
with count() as counted:
    Tensor(np.ones((4, 3))) @ Tensor(np.ones((3, 2)))
check.counts(counted, flops=2 * 4 * 3 * 2, because="no more work than the definition asks for")
### END HIDDEN TESTS

# %% [markdown]
# ## 7 · Reductions
#
# A *reduction* folds an axis away: the sum over the classes, the mean over a batch, the largest logit of a row. Two
# parameters say how:
#
# - `axis`: which axes go. None means all, an int one, a tuple several. `(N, C, H, W)` reduced over `(0, 2, 3)` leaves `(C,)`.
# - `keepdims`: whether a reduced axis stays with length 1, so that the result still broadcasts against the input:
#   `x - x.max(axis=1, keepdims=True)` works for `(N, D)`; without it you would subtract `(N,)` from `(N, D)`.
#
# The mean is the sum over the number of elements *that were folded*, not of all elements, nor of the last axis:
#
# $$\text{mean}(x)_{c} = \frac{1}{N H W} \sum_{n,h,w} x_{nchw}$$


# %% nbgrader={"grade": false, "grade_id": "tensor_reductions", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def reduce_sum(a, axis=None, keepdims=False):
    """Sum of an array over `axis` (None: all; an int; a tuple of ints)."""
    return a.sum(axis=axis, keepdims=keepdims)


def reduce_max(a, axis=None, keepdims=False):
    """Largest element over `axis`. Raises ValueError if there is none to choose from."""
    ### BEGIN SOLUTION
    return a.max(axis=axis, keepdims=keepdims)
    ### END SOLUTION


def reduce_mean(a, axis=None, keepdims=False):
    """Mean of an array over `axis`.

    Parameters
    ----------
    a : numpy.ndarray
    axis : None, int or tuple of int
        The axes that go; negative numbers count from the end.
    keepdims : bool
        Whether they stay with length 1.

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> reduce_mean(np.array([[1.0, 2.0], [3.0, 6.0]]), axis=0)
    array([2., 4.])

    Hints: divide the sum by the product of the lengths that were folded. `math.prod` multiplies; an
    axis may be None, an int or a tuple.
    """
    ### BEGIN SOLUTION
    if axis is None:
        axis = tuple(range(a.ndim))
    axes = (axis,) if isinstance(axis, int) else axis
    return reduce_sum(a, axis, keepdims) / math.prod(a.shape[i] for i in axes)
    ### END SOLUTION


# %%
# Try it: what is left of (4, 3, 2, 2) after each of these?
x = Tensor(np.arange(48.0).reshape(4, 3, 2, 2))
for axis, keepdims in [(None, False), (1, False), (1, True), ((0, 2, 3), False), (-1, False)]:
    print(
        f"axis {axis!s:10} keepdims {keepdims!s:5} -> {x.mean(axis=axis, keepdims=keepdims).shape}"
    )

# %% nbgrader={"grade": true, "grade_id": "tensor_reductions_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): each axis, kept or not.
values = np.arange(24.0).reshape(2, 3, 4)
x = Tensor(values)
check.close(x.mean(), values.mean(), because="without an axis everything is folded")
check.close(
    x.mean(axis=1), values.mean(axis=1), because="the mean over axis 1 divides by its length, 3"
)
check.close(
    x.max(axis=-1, keepdims=True),
    values.max(axis=-1, keepdims=True),
    because="keepdims leaves an axis of length 1",
)
check.close(x.sum(axis=(0, 2)), values.sum(axis=(0, 2)), because="a tuple folds several axes")
check.close(
    x.mean(axis=0), values.mean(axis=0), because="0 is an axis too: `if not axis` takes it for None"
)
check.same_dtype(x.mean(axis=0), np.float32, because="a mean of float32 is float32")

# %% nbgrader={"grade": true, "grade_id": "tensor_reductions_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): a mean over several axes, negative axes, integers, negative values, empty tensors.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(6)
values = rng.normal(size=(2, 3, 4, 5)) - 10
x = Tensor(values, dtype=np.float64)
for axis in [0, (0, 2, 3), (1, 3), (-1, 0), -2, 2, None]:
    for keepdims in (False, True):
        check.close(
            x.mean(axis=axis, keepdims=keepdims),
            values.mean(axis=axis, keepdims=keepdims),
            because=f"axis {axis}: divide by all lengths that were folded",
        )
        check.close(
            x.max(axis=axis, keepdims=keepdims),
            values.max(axis=axis, keepdims=keepdims),
            because=f"axis {axis}; all values are negative: a start from 0 shows",
        )
check.same_dtype(x.mean(axis=(0, 1)), np.float64, because="float64 stays")
check.same_dtype(
    Tensor([1, 2, 4]).mean(), np.float32, because="a mean of integers is a real number, in float32"
)
check.close(Tensor([1, 2, 4]).mean(), 7 / 3, because="a mean of integers is not rounded")
check.close(Tensor(np.zeros((0, 3))).sum(axis=0), np.zeros(3), because="the sum of nothing is 0")
with check.raises(ValueError, because="nothing has no largest element"):
    Tensor(np.zeros((0, 3))).max()
check.close(Tensor(2.5).mean(), 2.5, because="the mean of one number is that number")
### END HIDDEN TESTS

# %% [markdown]
# ## 8 · New shapes, same memory
#
# An array is two things: a flat *buffer* of numbers, and a description of how to walk it, the shape and the *strides*
# (how many bytes to step on each axis). Many operations need only a new description:
#
# ```
#   buffer          1 2 3 4 5 6
#   shape (2, 3)    strides (12, 4)      1 2 3 / 4 5 6
#   reshape (3, 2)  strides (8, 4)       1 2 / 3 4 / 5 6        the same buffer: a view
#   transpose       strides (4, 12)      1 4 / 2 5 / 3 6        the same buffer: a view
#   [:, ::2]        strides (12, 8)      1 3 / 4 6              the same buffer: a view
#   [[1, 0, 1]]     no stride can say it 4 5 6 / 1 2 3 / 4 5 6  a copy
# ```
#
# A *view* costs a few bytes, whatever the size; a copy costs the size. In return a view shares its fate with the
# original: write into one and the other changes.
#
# Write the three primitives so that they make views wherever NumPy can.


# %% nbgrader={"grade": false, "grade_id": "tensor_views", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def reshape(a, shape):
    """The elements of `a` in another shape; one length may be -1. A view where the memory layout allows.

    Raises
    ------
    ValueError
        If the number of elements does not fit.

    Hints: NumPy raises a ValueError of its own: let it pass.
    """
    ### BEGIN SOLUTION
    return a.reshape(shape)
    ### END SOLUTION


def permute(a, axes):
    """The axes of `a` in another order, a view: `permute(a, (1, 0))` transposes a matrix.

    Hints: NumPy calls this `transpose`.
    """
    ### BEGIN SOLUTION
    return a.transpose(axes)
    ### END SOLUTION


def index(a, key):
    """The part of `a` that `key` selects: a view for slices and integers, a copy for lists and masks.

    Parameters
    ----------
    a : numpy.ndarray
    key : int, slice, None, Ellipsis, list, numpy.ndarray, or a tuple of these
    """
    ### BEGIN SOLUTION
    return a[key]
    ### END SOLUTION


# %% tags=["export"]
def plain_key(key):
    """An index in which tensors have become arrays."""
    if isinstance(key, tuple):
        return tuple(plain_key(part) for part in key)
    return key.data if isinstance(key, Tensor) else key


def one_or_many(values):
    """`(2, 3)` for the arguments 2, 3 as well as for one argument (2, 3)."""
    return tuple(values[0]) if len(values) == 1 and isinstance(values[0], (tuple, list)) else values


# %%
# Try it: write into a view and look at the original. Then replace `[:, 0]` by `[:, [0]]`.
x = Tensor([[1.0, 2.0], [3.0, 4.0]])
column = x[:, 0]
column[0] = 100.0
x

# %% nbgrader={"grade": true, "grade_id": "tensor_views_check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Check (4 points): the values, and whether memory is shared.
values = np.arange(6.0).reshape(2, 3)
x = Tensor(values)
check.close(x.reshape(3, 2), values.reshape(3, 2), because="row by row, in the order of memory")
check.close(x.T, values.T, because="rows become columns")
check.close(x[1, ::2], values[1, ::2], because="row 1, every other column")
check.shares_memory(x.reshape(3, 2), x, because="a reshape of contiguous memory needs no copy")
check.shares_memory(x.transpose(0, 1), x, because="a transpose only exchanges strides")
check.shares_memory(x[1:], x, because="a slice is a view")

# %% nbgrader={"grade": true, "grade_id": "tensor_views_hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (2 points): -1, many axes, masks and repeated indices, 0-d results, shapes that do not fit.
### BEGIN HIDDEN TESTS
values = np.arange(24.0).reshape(2, 3, 4)
x = Tensor(values)
check.close(x.reshape(-1, 4), values.reshape(-1, 4), because="-1 stands for what is left")
check.close(
    x.reshape((4, 6)), values.reshape(4, 6), because="a tuple is as good as separate lengths"
)
check.close(x.permute(2, 0, 1), values.transpose(2, 0, 1), because="axis 2 comes first")
check.close(x.transpose(-1, 0), values.swapaxes(-1, 0), because="negative axes count from the end")
check.close(x[:, [0, 0, 2]], values[:, [0, 0, 2]], because="an index may be repeated")
check.close(
    x[[1, 0]], values[[1, 0]], because="a list takes rows 1 and 0; a tuple would be one element"
)
check.close(x[x > 11.0], values[values > 11], because="a mask of booleans selects")
check.close(
    x[..., None, -1],
    values[..., None, -1],
    because="Ellipsis, None and negative numbers are indices too",
)
check.equal(x[0, 0, 0].shape, (), because="one element is a 0-d tensor")
check.own_memory(x[:, [0, 1]], x, because="a list of indices makes a copy")
check.own_memory(x.T.reshape(-1), x, because="a transposed array can't be flattened without a copy")
check.shares_memory(x[..., 0], x, because="taking a part along the last axis is still a view")
with check.raises(ValueError, because="24 numbers do not fit into (5, 5)"):
    x.reshape(5, 5)
### END HIDDEN TESTS

# %% [markdown]
# ## Systems 1 · How much work?
#
# A *FLOP* is one floating-point operation. The convention of this course: an addition, a multiplication, a division each
# count 1, so a multiply-add counts 2; a reduction of `n` elements counts `n`; moving and comparing numbers counts 0.
#
# Predict before you measure. Write three functions that return the FLOPs of
#
# 1. `x + y` for two shapes that broadcast,
# 2. `x.mean(axis=0)` of a tensor of shape `(N, D)`: mind the division,
# 3. a batched product `(B, M, K) @ (B, K, N)`.


# %% nbgrader={"grade": false, "grade_id": "flops_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_add_flops(first, second):
    """FLOPs of x + y for operands of shapes `first` and `second` that broadcast."""
    ### BEGIN SOLUTION
    return math.prod(broadcast_shape(first, second))
    ### END SOLUTION


def predict_mean_flops(N, D):
    """FLOPs of the mean over axis 0 of a tensor of shape (N, D)."""
    ### BEGIN SOLUTION
    return N * D + D
    ### END SOLUTION


def predict_matmul_flops(B, M, K, N):
    """FLOPs of (B, M, K) @ (B, K, N), a multiply-add counted as 2."""
    ### BEGIN SOLUTION
    return 2 * B * M * K * N
    ### END SOLUTION


# %%
# Measure: `count()` counts what NumPy really executes inside the block, however the code is written.
x, y = Tensor(np.ones((32, 100))), Tensor(np.ones((100, 10)))
with count() as counted:
    x @ y
print(
    f"predicted {predict_matmul_flops(1, 32, 100, 10):,}, counted {counted.flops:,}: {counted.by_kind}"
)

# %% nbgrader={"grade": true, "grade_id": "flops_check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
# Check (8 points): each prediction against what your own tensors execute.
parts = check.partial(8)
with parts.part(2, "addition"):
    for first, second in [((4, 5), (5,)), ((3,), (3, 1)), ((2, 1, 4), (5, 1))]:
        with count() as counted:
            Tensor(np.ones(first)) + Tensor(np.ones(second))
        check.counts(
            counted,
            flops=math.prod(np.broadcast_shapes(first, second)),
            because="one addition for each element of the result",
        )
        check.close(
            predict_add_flops(first, second),
            counted.flops,
            because="the result has the broadcast shape",
        )
with parts.part(3, "mean"):
    for N, D in [(8, 3), (5, 1)]:
        with count() as counted:
            Tensor(np.ones((N, D))).mean(axis=0)
        check.counts(
            counted, flops=N * D + D, because="N additions and one division for each of D columns"
        )
        check.close(
            predict_mean_flops(N, D),
            counted.flops,
            because="a reduction of n elements counts n, and each mean divides once",
        )
with parts.part(3, "batched product"):
    for B, M, K, N in [(1, 2, 3, 4), (3, 7, 5, 1)]:
        with count() as counted:
            Tensor(np.ones((B, M, K))) @ Tensor(np.ones((B, K, N)))
        check.counts(
            counted,
            flops=2 * B * M * K * N,
            because="your product should do no more than the definition asks for",
        )
        check.close(
            predict_matmul_flops(B, M, K, N),
            counted.flops,
            because="count both the multiplication and the addition",
        )
parts.score()

# %% [markdown]
# *What you just measured.* The loops of exercise 5 and `np.matmul` do the same number of operations; the check of the loops
# counted them. What differs is what each operation costs: a trip through the interpreter, or a slot in a vector unit.

# %% [markdown]
# ## Systems 2 · View or copy?
#
# For a contiguous tensor `x` of shape `(100, 200)`, decide for each expression whether its result is a view or a copy.
# Then the check counts the arrays that your tensors really allocate.

# %% nbgrader={"grade": false, "grade_id": "views_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
# For each expression: "view" or "copy".
view_or_copy = {
    "x.reshape(200, 100)": None,
    "x.T": None,
    "x[10:20]": None,
    "x[[1, 2, 3]]": None,
    "x.T.reshape(-1)": None,
}
### BEGIN SOLUTION
view_or_copy = {
    "x.reshape(200, 100)": "view",
    "x.T": "view",
    "x[10:20]": "view",
    "x[[1, 2, 3]]": "copy",
    "x.T.reshape(-1)": "copy",
}
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "views_check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Check (5 points): one point for each expression, against the arrays that it allocates.
x = Tensor(np.zeros((100, 200)))
expressions = {
    "x.reshape(200, 100)": lambda: x.reshape(200, 100),
    "x.T": lambda: x.T,
    "x[10:20]": lambda: x[10:20],
    "x[[1, 2, 3]]": lambda: x[[1, 2, 3]],
    "x.T.reshape(-1)": lambda: x.T.reshape(-1),
}
parts = check.partial(5)
for text, expression in expressions.items():
    with parts.part(1, text):
        with count() as counted:
            expression()
        measured = "view" if counted.arrays == 0 else "copy"
        check.equal(
            view_or_copy[text],
            measured,
            because="measured on your own tensors: a view allocates no array",
        )
parts.score()

# %% [markdown]
# ## Systems 3 · How many bytes for a FLOP?
#
# A processor can do about ten times as many operations in a second as it can fetch numbers from memory. So what matters is
# the *arithmetic intensity*: FLOPs for each byte moved, counting each operand read once and the result written once.
#
# For two `float32` matrices of shape `(n, n)`, write the intensity of their sum and of their product as functions of `n`.


# %% nbgrader={"grade": false, "grade_id": "intensity_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def intensity_of_add(n):
    """FLOPs per byte of x + y for two float32 tensors of shape (n, n)."""
    ### BEGIN SOLUTION
    return n * n / (3 * n * n * 4)
    ### END SOLUTION


def intensity_of_matmul(n):
    """FLOPs per byte of x @ y for two float32 tensors of shape (n, n)."""
    ### BEGIN SOLUTION
    return 2 * n**3 / (3 * n * n * 4)
    ### END SOLUTION


# %%
# Measure: intensity against size, for both.
sizes = [16, 32, 64, 128, 256]
measured = {"x + y": [], "x @ y": []}
for n in sizes:
    x = Tensor(np.ones((n, n)))
    for name, operation in [("x + y", lambda: x + x), ("x @ y", lambda: x @ x)]:
        with count() as counted:
            operation()
        measured[name].append(counted.flops / counted.bytes_moved)
fig, axes = figure()
for name, values in measured.items():
    axes.loglog(sizes, values, marker="o", label=name, base=2)
axes.set(xlabel="n (tensors of n x n)", ylabel="FLOPs per byte")
axes.legend()
show(
    fig,
    alt="FLOPs per byte against n, log-log: flat near 0.08 for the sum, rising for the product.",
)

# %% [markdown]
# *The figure:* arithmetic intensity against size on logarithmic axes. The sum stays near 0.08 FLOPs per byte whatever the
# size; the product rises in proportion to n.

# %% nbgrader={"grade": true, "grade_id": "intensity_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): the prediction against FLOPs and bytes as counted.
parts = check.partial(7)
with parts.part(3, "the sum"):
    for n in (8, 20):
        with count() as counted:
            Tensor(np.ones((n, n), np.float32)) + Tensor(np.ones((n, n), np.float32))
        check.counts(counted, flops=n * n, because="one addition an element")
        check.close(
            intensity_of_add(n),
            1 / 12,
            because="n² additions; 2·n² numbers read and n² written, 4 bytes each",
        )
with parts.part(4, "the product"):
    for n in (8, 20):
        x, y = Tensor(np.ones((n, n))), Tensor(np.ones((n, n)))
        with count() as counted:
            x @ y
        check.close(
            intensity_of_matmul(n),
            counted.flops / counted.bytes_moved,
            because="2·n³ operations on the same 12·n² bytes",
        )
parts.score()

# %% [markdown]
# ## Explain
#
# On one laptop, adding two `(1024, 1024)` tensors runs at 1 GFLOP/s and multiplying them at 60 GFLOP/s. Both use the same
# processor and the same two tensors. Explain the difference in two to five sentences, with numbers from above. Then say
# which of the two would gain if the tensors were `float16` on a processor whose memory is the limit, and why.

# %% [markdown] nbgrader={"grade": true, "grade_id": "tensor_explain", "locked": false, "points": 5, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Rubric (5 points).**
#
# - 2: names memory traffic as the limit of the addition and gives its intensity: 1 FLOP per 12 bytes, whatever n is.
# - 2: says that the product does 2·1024 operations for every number it writes, about 171 FLOPs per byte, so that numbers
#   fetched once are used many times (from cache) and the arithmetic units are the limit.
# - 1: the addition would gain, since half the bytes pass for the same work; the product would not, as memory is not its limit.
#
# *A good answer.* "The sum reads 8 MB and writes 4 MB for 1 million additions, 0.08 FLOPs per byte, so the processor waits
# for memory. The product reads the same 8 MB but does 2.1 billion operations: each number is used 1,024 times, 171 FLOPs
# per byte, so the arithmetic is the limit. Half precision halves the bytes: the sum could run twice as fast, the product
# hardly." All three points are made, with numbers. 5 points.
#
# *A weak answer.* "Matrix multiplication is optimised with BLAS and uses all cores, addition is not optimised." True in
# part, but both run in compiled vector code; the answer has no bytes in it, so it can't say what float16 changes. 1 point.
# ### END SOLUTION

# %% [markdown]
# ## What can go wrong
#
# **`ValueError: shapes (32, 10) and (32,) do not fit: … one axis has length 10 and 32`**: a reduction without `keepdims` met
# the tensor it came from. Reduce with `keepdims=True`, or reshape to `(32, 1)`.
#
# **`ValueError: matmul of shapes (32, 784) and (10, 784): the inner lengths 784 and 10 differ`**: the right operand is
# stored as (outputs, inputs). Write `x @ w.T`.
#
# **`TypeError: operand 'Tensor' does not support ufuncs`**: a NumPy function such as `np.exp(x)` was called on a tensor. It
# would lose the gradient in module 06, so it is refused; call `x.exp()`.
#
# **A loss that is a little too large, and a shape `(N, N)` where `(N,)` was meant**: `(N,)` met `(N, 1)` and broadcast to a
# square. No error is raised. Print shapes before you print values.
#
# **A tensor that changes although nobody assigned to it**: it is a view, and somebody wrote into the original. Copy with
# `Tensor(x)` where you mean to change one of them.

# %% [markdown]
# ## Recap
#
# | You built | Costs | PyTorch's name | One true difference |
# |---|---|---|---|
# | `Tensor(data)` | 4 bytes a number, copied | `torch.tensor(data)` | PyTorch keeps float64 arrays in float64; yours makes them float32 |
# | `x + y` | 1 FLOP and 12 bytes an element | `torch.add` | PyTorch splits large sums over threads |
# | `x @ y` | 2·M·K·N FLOPs | `torch.matmul` | the same BLAS underneath; PyTorch can also choose GPU kernels |
# | `x.mean(axis)` | N FLOPs, 1 division | `torch.mean(dim=)` | PyTorch refuses the mean of integers; yours answers in float32 |
# | `x.max(axis)` | N comparisons | `torch.amax(dim=)` | `torch.max(dim=)` returns the indices as well |
# | `x.reshape`, `x.T`, slices | a view: no bytes | `torch.reshape`, `.T` | `.T` of more than two axes is deprecated in PyTorch |
# | `apply` | one Python call | the dispatcher | PyTorch's chooses by device, dtype and autograd in C++ |
#
# Everything you build from here on goes through your door. In module 02 you add the functions that make a network more
# than a linear map: the activations.
