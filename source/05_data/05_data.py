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
# # 05 · Data
#
# Today you build what feeds a network: data sets that hand out samples, and a `DataLoader` that shuffles them, packs them
# into batches and fetches the next ones while the network is still busy with the last.
#
# | | |
# |---|---|
# | **Needs** | Module 01 |
# | **Time** | 5 to 7 hours |
# | **Points** | 100: visible checks 50, hidden tests 25, systems 20, one written answer 5 |
# | **Becomes** | `tinytorch_ref/data.py` |
#
# ```
#   01 tensor ─► 02 activations ─► 03 layers ─► 04 losses ─► 05 data
#       │              │               │            │        ▲ you are here
#       └──────────────┴───────────────┴────────────┴──► 06 autograd ─► 07 …
# ```

# %% nbgrader={"grade": false, "grade_id": "data_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import mmap
import multiprocessing
import os
import pickle
import tempfile
import threading
import time
import traceback

import matplotlib.pyplot as plt
import numpy as np

from autograder import checks as check
from autograder.counters import count, peak_memory
from autograder.figures import figure, show

# %% tags=["export"]
"""Data: samples by number, batches in a seeded order, workers that fetch ahead; digits, clothes, a novel."""

import functools
import gzip
import hashlib
import lzma
import multiprocessing
import os
import pickle
import signal
import traceback
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import tinytorch_ref
from tinytorch_ref.tensor import Tensor

# %% [markdown]
# ## A network that waits
#
# Here is a loop as one first writes it. The samples lie on a disk that takes 1 ms for each; the network is one product of
# matrices. Run it; three things are wrong.


# %%
# Measure: how many samples are seen, and how long does the processor wait for them?
def read_from_slow_disk(i):
    time.sleep(0.001)
    return np.full(256, i, dtype=np.float32)


weight = Tensor(np.ones((256, 256)))
reading = computing = seen = 0
for first in range(0, 100 - 32, 32):
    start = time.perf_counter()
    batch = Tensor(np.stack([read_from_slow_disk(i) for i in range(first, first + 32)]))
    middle = time.perf_counter()
    batch @ weight
    reading, computing = reading + middle - start, computing + time.perf_counter() - middle
    seen += len(batch)
share = reading / (reading + computing)
print(f"{seen} of 100 samples were seen; the processor waited for data {share:.0%} of the time")

# %% [markdown]
# Four samples were never seen, since the last batch is not full. The samples come in the same order every time, so if they
# are sorted by class, the network learns one class after another and forgets the first. And most of the time nothing is
# computed, although the next batch could be read while this one is at work. By the end of today all three are mended.

# %% [markdown]
# ## 1 · Samples by number
#
# A *data set* is anything that answers two questions: how many samples are there (`len`), and what is sample `i`
# (`dataset[i]`)? What stands behind is its own affair: an array, a folder of pictures, a formula.
#
# ```
#   dataset[i]           one sample: (image, label)       (28, 28), 7
#   dataset.batch([…])   several, packed as tensors       (B, 28, 28), (B,)
# ```
#
# The second method is for speed. Fetching 64 samples one by one and stacking them costs 64 trips through Python; a data set
# that lies in arrays can take all 64 rows in one indexing. The base class, complete below, falls back on one by one.
#
# Write `TensorDataset`: arrays whose rows belong together. Row `i` of each makes sample `i`. They must be equally long; a
# label too few would shift every pairing after it, without an error. The arrays are kept, not copied: a data set may be most
# of your memory.
#
# `transform`, if there is one, is a function that prepares the first array's rows, such as your `Normalize` of exercise 5.
# It must do the same for one row and for a batch of them.


# %% tags=["export"]
class Dataset:
    """Samples by number. A subclass has `__len__` and `__getitem__`.

    Attributes
    ----------
    name : str
        Which data these are, where that is known: `MNIST (10k, bundled)`.
    """

    name = ""

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} has no length: write __len__")

    def __getitem__(self, i):
        raise NotImplementedError(f"{type(self).__name__} has no samples: write __getitem__")

    def batch(self, indices):
        """The samples of these numbers, packed as tensors. A subclass may have a faster way."""
        return default_collate([self[int(i)] for i in indices])

    def __repr__(self):
        return f"{self.name or type(self).__name__}: {len(self):,} samples"


def as_batch(array):
    """An array as a tensor: real numbers in float32, others as they are; copied only if the dtype changes."""
    return Tensor.wrap(array.astype(np.float32, copy=False) if array.dtype.kind == "f" else array)


# %% nbgrader={"grade": false, "grade_id": "data_tensor_dataset", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
class TensorDataset(Dataset):
    """Arrays whose rows belong together: sample i is the tuple of their rows i.

    Parameters
    ----------
    *arrays : numpy.ndarray, Tensor or list
        Each of shape (N, ...). They are kept, not copied.
    transform : callable, optional
        Prepares rows of the first array, one of shape (...) or a batch of shape (B, ...).
    name : str

    Raises
    ------
    ValueError
        If there is no array, or their lengths differ; the message names the lengths.

    Examples
    --------
    >>> dataset = TensorDataset(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1]))
    >>> dataset[1]
    (array([3., 4.]), np.int64(1))
    >>> dataset.batch([1, 0])[1]
    Tensor([1, 0], dtype=int64)
    """

    def __init__(self, *arrays, transform=None, name=""):
        # Hints: `array.data` of a Tensor is its array; np.asarray makes arrays of lists and copies no array.
        ### BEGIN SOLUTION
        arrays = [array.data if isinstance(array, Tensor) else np.asarray(array) for array in arrays]
        lengths = [len(array) for array in arrays]
        if len(set(lengths)) != 1:
            raise ValueError(f"a data set needs arrays of one length, these have {lengths}")
        self.arrays = arrays
        ### END SOLUTION
        self.transform = transform
        self.name = name

    def __len__(self):
        ### BEGIN SOLUTION
        return len(self.arrays[0])
        ### END SOLUTION

    def __getitem__(self, i):
        """Sample `i`: a tuple with one row of each array, the first one transformed."""
        ### BEGIN SOLUTION
        return self.transformed([array[i] for array in self.arrays])
        ### END SOLUTION

    def batch(self, indices):
        """The rows of these numbers: a tuple with one tensor of length B for each array.

        Hints: `array[indices]` takes many rows at once. `as_batch` makes the tensors.
        """
        ### BEGIN SOLUTION
        return tuple(as_batch(rows) for rows in self.transformed([array[indices] for array in self.arrays]))
        ### END SOLUTION

    def transformed(self, rows):
        """The rows as a tuple, the first one prepared by the transform."""
        first, *others = rows
        return (first if self.transform is None else self.transform(first), *others)


# %%
# Try it: what is in a sample, what in a batch? Then make the labels one too short.
dataset = TensorDataset(np.arange(12.0).reshape(4, 3), np.array([0, 1, 1, 0]))
print(dataset)
print(dataset[2])
print(dataset.batch([2, 2, 0]))


# %% nbgrader={"grade": false, "grade_id": "data_tensor_dataset_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: a transform, whether the arrays are kept or copied, and a plain `for` over a data set.
def tenfold(rows):
    if isinstance(rows, Tensor):
        raise TypeError("a transform gets rows of an array: make the tensor afterwards")
    return rows * 10


def keeps_its_arrays(*arrays):
    return all(kept is array for kept, array in zip(TensorDataset(*arrays).arrays, arrays))


def walk(dataset, limit=100):
    return [sample[0] for sample, _ in zip(dataset, range(limit))]


# %% nbgrader={"grade": true, "grade_id": "data_tensor_dataset_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): length, samples, batches, the transform, and lengths that differ.
x, y = np.arange(12.0).reshape(4, 3), np.array([5, 6, 7, 8])
dataset = TensorDataset(x, y)
check.equal(len(dataset), 4, because="as many samples as the arrays have rows")
image, label = dataset[2]
check.close(image, x[2], because="sample 2 is row 2 of each array")
check.equal(label, 7, because="sample 2 is row 2 of each array, the label too")
images, labels = dataset.batch([3, 0])
check.close(images, x[[3, 0]], because="the rows in the order in which they are asked for")
check.close(labels, y[[3, 0]], because="images and labels must stay together")
check.same_dtype(images, np.float32, because="as_batch makes float32 of real numbers")
prepared = TensorDataset(x, y, transform=tenfold)
check.close(prepared[1][0], 10 * x[1], because="the transform prepares a sample")
check.equal(prepared[1][1], 6, because="the transform is for the first array, the label stays")
check.close(prepared.batch([1, 2])[0], 10 * x[[1, 2]], because="the transform prepares a batch as well")
check.close(prepared.batch([1, 2])[1], y[[1, 2]], because="the transform is for the first array only")
with check.raises(ValueError, mentions=["4", "3"], because="a label too few, and all pairs would be wrong"):
    TensorDataset(x, y[:3])

# %% nbgrader={"grade": true, "grade_id": "data_tensor_dataset_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): one array, three, none, lists and tensors, no copies, the end of the data, bytes.
### BEGIN HIDDEN TESTS
x = np.arange(10.0).reshape(5, 2)
(alone,) = TensorDataset(x)[4]
check.close(alone, x[4], because="a data set of one array hands out tuples of one")
check.equal(isinstance(TensorDataset(x, x)[0], tuple), True, because="a sample is a tuple")
check.equal(len(TensorDataset(x).batch([0, 1])), 1, because="a batch of one array is a tuple of one tensor")
third = TensorDataset(x, x + 1, x + 2).batch(np.array([1, 3]))[2]
check.close(third, x[[1, 3]] + 2, because="any number of arrays; indices may be an array")
check.equal(keeps_its_arrays(x, np.arange(5)), True, because="a copy would double the memory")
images, labels = TensorDataset(Tensor(x), [1, 2, 3, 4, 5]).batch([4])
check.close(images, x[[4]], because="a Tensor serves as well as an array")
check.close(labels, np.array([5]), because="a list serves as well")
check.equal(len(walk(TensorDataset(x))), 5, because="past the end an IndexError ends a plain for loop")
check.close(TensorDataset(x)[-1][0], x[-1], because="-1 is the last sample, as in a list")
small = TensorDataset(x.astype(np.uint8), np.arange(5)).batch([2])
check.same_dtype(small[0], np.uint8, because="pixels stay bytes until a transform makes numbers of them")
check.same_dtype(small[1], np.int64, because="labels are indices and stay integers")
check.equal(len(TensorDataset(np.zeros((0, 2)), np.zeros(0))), 0, because="an empty data set has no samples")
with check.raises(ValueError, because="without an array there is no length"):
    TensorDataset()
with check.raises(ValueError, mentions="3", because="the third array may be the wrong one"):
    TensorDataset(x, x, x[:3])
### END HIDDEN TESTS

# %% [markdown]
# ## 2 · From samples to a batch
#
# Not every data set lies in arrays. One that reads pictures hands out samples one at a time, and somebody must pack a list of
# them into one batch. That is called to *collate*:
#
# ```
#   [(image 0, 7), (image 1, 2)]          ─► (Tensor (2, 28, 28), Tensor (2,))
#   [{"x": …, "y": …}, {"x": …, "y": …}]  ─► {"x": Tensor (2, …), "y": …}
# ```
#
# A list of tuples becomes a tuple of batches, a list of dicts a dict of batches, and so on inwards, until what is left are
# arrays, tensors or numbers: those are stacked on a new first axis. That is a recursion of a few lines.
#
# Two pictures of different sizes can't be stacked. NumPy's error says only that; yours should name the shapes, since they
# help to find the wrong one among 60,000 files.


# %% nbgrader={"grade": false, "grade_id": "data_collate", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def default_collate(samples):
    """Pack samples of one structure into a batch.

    Parameters
    ----------
    samples : list
        Of tuples or lists, of dicts, or of arrays, Tensors or numbers of one shape (...); not empty.

    Returns
    -------
    tuple, dict or Tensor
        A tuple or dict of batches, or a Tensor of shape (B, ...): float32 for real numbers.

    Raises
    ------
    ValueError
        If shapes differ (the message names them), or tuples have different lengths.

    Examples
    --------
    >>> default_collate([(0.5, 1), (1.5, 0)])
    (Tensor([0.5, 1.5], dtype=float32), Tensor([1, 0], dtype=int64))

    Hints: the first sample tells which of the three cases it is. `zip(*samples, strict=True)` turns B tuples
    of two into two tuples of B. At the bottom: make arrays, compare shapes, `np.stack`, `as_batch`.
    """
    ### BEGIN SOLUTION
    first = samples[0]
    if isinstance(first, dict):
        return {key: default_collate([sample[key] for sample in samples]) for key in first}
    if isinstance(first, (tuple, list)):
        return tuple(default_collate(field) for field in zip(*samples, strict=True))
    rows = [sample.data if isinstance(sample, Tensor) else np.asarray(sample) for sample in samples]
    shapes = sorted({row.shape for row in rows})
    if len(shapes) > 1:
        raise ValueError(f"samples of one batch must have one shape, these have {shapes}")
    return as_batch(np.stack(rows))
    ### END SOLUTION


# %%
# Try it: tuples, dicts, a tuple in a dict. What becomes of a batch of one?
default_collate([{"x": np.ones(2), "boxes": (1, True)}, {"x": np.zeros(2), "boxes": (2, False)}])

# %% nbgrader={"grade": true, "grade_id": "data_collate_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): tuples, dicts, dtypes, and shapes that differ.
images = [np.full((2, 2), i, dtype=np.float64) for i in range(3)]
x, y = default_collate([(images[0], 7), (images[1], 2), (images[2], 7)])
check.close(x, np.stack(images), because="the images are stacked on a new first axis")
check.close(y, np.array([7, 2, 7]), because="second fields make the second batch")
check.same_dtype(x, np.float32, because="a batch holds real numbers in float32")
check.same_dtype(y, np.int64, because="labels stay integers")
pairs = default_collate([(1, 2), (3, 4)])
check.equal(isinstance(pairs, tuple), True, because="a list of tuples becomes a tuple of batches")
batch = default_collate([{"x": 1.0, "y": 3}, {"x": 2.0, "y": 4}])
check.equal(sorted(batch), ["x", "y"], because="dicts become a dict with the same keys")
check.close(batch["y"], np.array([3, 4]), because="each key has its batch")
with check.raises(
    ValueError, mentions=["(2,)", "(3,)"], because="name the shapes, so that they can be found"
):
    default_collate([np.ones(2), np.ones(2), np.ones(3)])

# %% nbgrader={"grade": true, "grade_id": "data_collate_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): nesting, tensors, booleans, a batch of one, shapes that broadcast, short tuples.
### BEGIN HIDDEN TESTS
nested = default_collate([{"a": (1, [2.0, True])}, {"a": (3, [4.0, False])}])
check.close(nested["a"][1][0], np.array([2.0, 4.0]), because="structures within structures: a recursion")
check.same_dtype(nested["a"][1][1], np.bool_, because="booleans are masks and stay so")
check.close(
    default_collate([Tensor([1.0, 2.0]), Tensor([3.0, 4.0])]),
    np.array([[1, 2], [3, 4]]),
    because="tensors are stacked like arrays",
)
check.same_shape(
    default_collate([np.ones((1, 3))]), (1, 1, 3), because="a batch of one has an axis of length 1"
)
check.same_shape(default_collate([1.5, 2.5]), (2,), because="numbers make a batch of shape (B,)")
check.same_dtype(default_collate([np.uint8(3), np.uint8(4)]), np.uint8, because="bytes stay bytes")
for wrong, shapes in [([np.ones((1, 3)), np.ones((3, 1))], ["(1, 3)", "(3, 1)"]),
                      ([np.ones(3), 1.0], ["(3,)", "()"])]:
    with check.raises(ValueError, mentions=shapes, because="the shapes differ, though they would broadcast"):
        default_collate(wrong)
with check.raises(
    ValueError, because="zip without strict=True drops a field that one sample lacks, in silence"
):
    default_collate([(1, 2), (3,)])
### END HIDDEN TESTS

# %% [markdown]
# ## 3 · An order for each epoch
#
# An *epoch* is one pass through the data, each sample once. Its order should be random, or the network learns the order.
# It should also be reproducible: when a run fails in epoch 7, you want epoch 7 again, without the six before it.
#
# Both at once: let the order be a function of two numbers, the seed and the number of the epoch.
#
# $$\text{order} = \text{permutation}_N(\text{seed}, \text{epoch})$$
#
# The obvious way, `default_rng(seed + epoch)`, has a flaw: epoch 1 of seed 0 is epoch 0 of seed 1. Two runs that should be
# independent see the same orders, one epoch apart. NumPy takes a *list* of numbers as a seed and mixes them well:
# `np.random.default_rng([seed, epoch])`.
#
# The order is then cut into batches. If `N` is no multiple of the batch size, the last batch is smaller. Normally it stays,
# or samples would be lost; `drop_last=True` leaves it out, for code that needs equal batches.
#
# ```
#   N = 10, batch size 4     4 7 0 2 │ 9 1 3 8 │ 5 6
#   with drop_last           4 7 0 2 │ 9 1 3 8          5 and 6 are left out
# ```


# %% nbgrader={"grade": false, "grade_id": "data_order", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def epoch_order(count, shuffle, seed, epoch):
    """The numbers of all samples, in the order of one epoch.

    Parameters
    ----------
    count : int
        N, how many samples there are.
    shuffle : bool
        If False, the order is 0, 1, 2, ...
    seed, epoch : int
        The same two always give the same order; another epoch, or another seed, an unrelated one.

    Returns
    -------
    numpy.ndarray of shape (N,), int64

    Hints: use a generator of your own; NumPy's global one belongs to everybody.
    """
    ### BEGIN SOLUTION
    if not shuffle:
        return np.arange(count)
    return np.random.default_rng([seed, epoch]).permutation(count)
    ### END SOLUTION


def split_batches(order, batch_size, drop_last=False):
    """Cut an order into batches.

    Parameters
    ----------
    order : numpy.ndarray of shape (N,)
    batch_size : int
    drop_last : bool
        Whether to leave out a last batch that is not full.

    Returns
    -------
    list of numpy.ndarray of shape (batch_size,), the last perhaps shorter

    Examples
    --------
    >>> split_batches(np.array([4, 0, 3, 1, 2]), 2)
    [array([4, 0]), array([3, 1]), array([2])]
    """
    ### BEGIN SOLUTION
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    if drop_last and batches and len(batches[-1]) < batch_size:
        batches.pop()
    return batches
    ### END SOLUTION


# %%
# Try it: three epochs of one seed, then the first of them again. Change the seed.
for epoch in (0, 1, 2, 0):
    print(epoch, epoch_order(10, True, 42, epoch))


# %% nbgrader={"grade": false, "grade_id": "data_order_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: whether a function leaves NumPy's global generator as it was, and does without it.
def global_generator_is_left_alone(function, *args):
    np.random.seed(1)
    first, state = function(*args), np.random.get_state()[2]
    np.random.seed(2)
    untouched = np.random.get_state()[2]
    second = function(*args)
    return bool(np.array_equal(first, second) and np.random.get_state()[2] == untouched == state)


# %% nbgrader={"grade": true, "grade_id": "data_order_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): each sample once, the same again, another epoch, another seed; and the batches.
order = np.array(epoch_order(50, True, 3, 0))
check.close(np.sort(order), np.arange(50), because="an epoch has every sample exactly once")
check.equal(bool((order == np.arange(50)).all()), False, because="shuffle=True should change the order")
check.close(epoch_order(50, True, 3, 0), order, because="the same seed and epoch give the same order")
for seed, epoch in [(3, 1), (3, 2), (4, 0)]:
    other = np.array(epoch_order(50, True, seed, epoch))
    check.equal(bool((other == order).all()), False, because="another epoch or seed gives another order")
check.close(epoch_order(5, False, 3, 2), np.arange(5), because="without shuffling: 0, 1, 2, ...")
batches = split_batches(np.arange(10, 20), 4)
check.equal([len(batch) for batch in batches], [4, 4, 2], because="the last batch holds the rest")
check.close(
    np.concatenate(list(batches)), np.arange(10, 20), because="the batches follow the order, none is lost"
)
check.equal(
    [len(batch) for batch in split_batches(np.arange(10), 4, True)],
    [4, 4],
    because="drop_last leaves out the batch that is not full",
)
check.equal(
    [len(batch) for batch in split_batches(np.arange(8), 4, True)],
    [4, 4],
    because="drop_last must keep a last batch that is full",
)

# %% nbgrader={"grade": true, "grade_id": "data_order_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): seeds and epochs that must not meet, the global generator, all positions, edges.
### BEGIN HIDDEN TESTS
orders = {
    tuple(np.array(epoch_order(30, True, seed, epoch)).tolist()) for seed in range(5) for epoch in range(5)
}
check.equal(len(orders), 25, because="seed + epoch makes epoch 1 of seed 0 the same as epoch 0 of seed 1")
check.equal(
    global_generator_is_left_alone(epoch_order, 20, True, 1, 1),
    True,
    because="np.random.shuffle uses, and moves, the generator that everybody shares",
)
firsts = np.array([np.array(epoch_order(4, True, 0, epoch)) for epoch in range(200)])
for position in range(4):
    seen = np.bincount(firsts[:, position], minlength=4)
    check.equal(
        bool(seen.min() > 25), True, because="each sample should come to each place about equally often"
    )
check.equal(np.array(epoch_order(0, True, 0, 0)).shape, (0,), because="no samples, no order")
check.equal(len(split_batches(np.arange(0), 4)), 0, because="no samples, no batches")
check.equal(len(split_batches(np.arange(0), 4, True)), 0, because="no samples, no last batch to drop")
check.equal(
    [len(b) for b in split_batches(np.arange(3), 8)], [3], because="fewer samples than a batch: one batch"
)
check.equal(len(split_batches(np.arange(3), 8, True)), 0, because="or none, with drop_last")
check.equal(len(split_batches(np.arange(5), 1, True)), 5, because="batches of one are always full")
shuffled = np.array([4, 0, 3, 1, 2])
check.close(
    split_batches(shuffled, 2)[2], np.array([2]), because="the batches follow the order, not the numbers"
)
### END HIDDEN TESTS

# %% [markdown]
# ## 4 · The loader
#
# Now the three parts come together. A `DataLoader` is made once; each `for batch in loader` is one epoch.
#
# ```
#   epoch_order ──► split_batches ──► for each batch: fetch_batch ──► you
#   (seed, epoch)                     dataset.batch, or collate_fn of samples
# ```
#
# - `fetch_batch` turns numbers into a batch. If the caller brought a `collate_fn`, it gets the list of single samples, and what
#   it returns is the batch. Otherwise a `Dataset` packs its own batch, and anything else that has `len` and `[i]`, even a
#   list, goes through `default_collate`.
# - `in_turn` fetches one batch after another. It is a *generator*: `yield` hands out a batch and waits there until the next
#   one is wanted.
# - `__iter__` starts an epoch: it takes the order of `self.epoch`, moves `self.epoch` on **at once**, and returns
#   `self.deliver(batches)`. To repeat epoch 7, set `loader.epoch = 7`.
#
# Why a generator and not `map(fetch, batches)`? In Python, `StopIteration` says that an iteration is over. If a data set
# raises it by mistake, `map` takes it for the end and the epoch is cut short without a word. A generator turns it into an error.


# %% nbgrader={"grade": false, "grade_id": "data_loader", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def fetch_batch(dataset, indices, collate_fn=None):
    """The batch of the samples of these numbers.

    Parameters
    ----------
    dataset : Dataset, or anything with `len` and `[i]`
    indices : numpy.ndarray of shape (B,)
    collate_fn : callable, optional
        Gets the list of B samples; what it returns is the batch.

    Returns
    -------
    tuple, dict or Tensor; or what `collate_fn` returns

    Hints: a sample is asked for with a plain `int(i)`. `isinstance(dataset, Dataset)`.
    """
    ### BEGIN SOLUTION
    if collate_fn is None and isinstance(dataset, Dataset):
        return dataset.batch(indices)
    samples = [dataset[int(i)] for i in indices]
    return default_collate(samples) if collate_fn is None else collate_fn(samples)
    ### END SOLUTION


def in_turn(fetch, batches):
    """Generator of `fetch(indices)` for each of `batches`, one after another, each only when it is wanted."""
    ### BEGIN SOLUTION
    for indices in batches:
        yield fetch(indices)
    ### END SOLUTION


class DataLoader:
    """Batches of a data set, in a new order each epoch.

    Parameters
    ----------
    dataset : Dataset, or anything with `len` and `[i]`
    batch_size : int
    shuffle : bool
    seed : int or None
        With the epoch it decides the order; None takes a fresh one.
    drop_last : bool
        Whether to leave out a last batch that is not full.
    collate_fn : callable, optional
        Packs a list of samples into a batch, in place of `default_collate`.
    num_workers : int
        How many threads or processes fetch ahead; 0 fetches when a batch is wanted.
    workers : {"thread", "process"}
    prefetch : int
        How many batches each worker may be ahead.

    Attributes
    ----------
    epoch : int
        Which epoch the next `for` begins; set it to repeat or to resume one.

    Raises
    ------
    ValueError
        If a number is too small, or `workers` is neither of the two.
    """

    def __init__(self, dataset, batch_size=1, shuffle=False, seed=0, drop_last=False, collate_fn=None,
                 num_workers=0, workers="thread", prefetch=2):
        if batch_size < 1 or num_workers < 0 or prefetch < 1:
            numbers = f"batch_size={batch_size}, num_workers={num_workers}, prefetch={prefetch}"
            raise ValueError(f"{numbers}: the least are 1, 0 and 1")
        if workers not in ("thread", "process"):
            raise ValueError(f'workers is {workers!r}, but must be "thread" or "process"')
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last
        self.seed = np.random.SeedSequence().entropy if seed is None else seed
        self.collate_fn = collate_fn
        self.num_workers, self.workers, self.prefetch = num_workers, workers, prefetch
        self.epoch = 0

    def __len__(self):
        """How many batches an epoch has."""
        ### BEGIN SOLUTION
        full, rest = divmod(len(self.dataset), self.batch_size)
        return full + (rest > 0 and not self.drop_last)
        ### END SOLUTION

    def __iter__(self):
        """Begin an epoch: an iterator of its batches."""
        ### BEGIN SOLUTION
        order = epoch_order(len(self.dataset), self.shuffle, self.seed, self.epoch)
        self.epoch += 1
        return self.deliver(split_batches(order, self.batch_size, self.drop_last))
        ### END SOLUTION

    def deliver(self, batches):
        """An iterator of the batches with these numbers, fetched by whoever shall fetch them."""
        fetch = functools.partial(fetch_batch, self.dataset, collate_fn=self.collate_fn)
        if not self.num_workers:
            return in_turn(fetch, batches)
        fetch_ahead = in_threads if self.workers == "thread" else in_processes
        return fetch_ahead(fetch, batches, self.num_workers, self.num_workers * self.prefetch)


# %%
# Try it: two epochs of ten samples. Then give the loader `collate_fn=list`, or a plain list as its data set.
loader = DataLoader(TensorDataset(np.arange(10.0)), batch_size=4, shuffle=True, seed=1)
for epoch in range(2):
    print(epoch, [batch.data for (batch,) in loader])


# %% nbgrader={"grade": false, "grade_id": "data_loader_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: a data set that remembers what it was asked for, one with a mistake, what an epoch brings.
class Squares(Dataset):
    def __init__(self, count):
        self.count, self.asked = count, []

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        self.asked.append(i)
        return i, i * i


class StopsAtSeven(Squares):
    def __getitem__(self, i):
        if i == 7:
            raise StopIteration
        return i, i * i


def numbers(loader):
    return [[int(i) for i in batch[0].data] for batch in loader]


class PacksItself(Squares):
    def batch(self, indices):
        return -len(indices)


def epochs_side_by_side(loader):
    pairs = zip(iter(loader), iter(loader))
    return [[int(batch[0].data[0]) for batch in batches] for batches in zip(*pairs)]


def types_asked(dataset):
    return sorted({type(i).__name__ for i in dataset.asked})


def total(samples):
    return sum(sample[0] for sample in samples)


# %% nbgrader={"grade": true, "grade_id": "data_loader_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): batches, epochs, lengths, and other ways to pack.
dataset = Squares(10)
check.equal(
    numbers(DataLoader(dataset, batch_size=4)),
    [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]],
    because="in order, the last batch with what is left",
)
check.equal(
    [len(DataLoader(dataset, batch_size=size)) for size in (4, 5, 20)],
    [3, 2, 1],
    because="10 samples are 2.5 batches of 4: three",
)
check.equal(
    [len(DataLoader(dataset, batch_size=size, drop_last=True)) for size in (4, 5, 20)],
    [2, 2, 0],
    because="with drop_last only full batches count",
)
loader = DataLoader(dataset, batch_size=4, shuffle=True, seed=5)
first, second = numbers(loader), numbers(loader)
check.equal(first == second, False, because="each epoch has an order of its own: does self.epoch move on?")
order = [int(i) for i in epoch_order(10, True, 5, 0)]
check.equal(sum(first, []), order, because="take the order of epoch 0 first, then move self.epoch on")
for epoch in (first, second):
    check.equal(sorted(sum(epoch, [])), list(range(10)), because="each sample once an epoch")
again = DataLoader(dataset, batch_size=4, shuffle=True, seed=5)
check.equal([numbers(again), numbers(again)], [first, second], because="the seed decides all epochs")
again.epoch = 1
check.equal(numbers(again), second, because="loader.epoch = 1 begins with epoch 1")
check.equal(
    list(DataLoader(dataset, batch_size=4, collate_fn=total)),
    [6, 22, 17],
    because="collate_fn gets the list of samples, and what it returns is the batch",
)
plain = DataLoader([10, 11, 12], batch_size=2)
check.close(
    next(iter(plain)), np.array([10, 11]), because="a list is a data set too: default_collate packs it"
)

# %% nbgrader={"grade": true, "grade_id": "data_loader_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): laziness, two epochs at once, an untimely StopIteration, plain ints, fast batches.
### BEGIN HIDDEN TESTS
dataset = Squares(12)
iterator = iter(DataLoader(dataset, batch_size=4))
check.equal(len(dataset.asked), 0, because="nothing is fetched before it is wanted")
next(iterator)
check.equal(len(dataset.asked), 4, because="without workers one batch is fetched at a time")
dataset = Squares(4)
list(DataLoader(dataset, batch_size=2, collate_fn=total))
check.equal(types_asked(dataset), ["int"], because="a data set is asked with plain ints: dataset[int(i)]")
with check.raises(
    RuntimeError, because="a StopIteration in a data set must not pass for the end of the epoch"
):
    numbers(DataLoader(StopsAtSeven(10), batch_size=2))
one, other = epochs_side_by_side(DataLoader(Squares(12), batch_size=1, shuffle=True))
check.equal(one == other, False, because="the epoch moves on when it begins, not when it ends")
check.equal((sorted(one), sorted(other)), (list(range(12)), list(range(12))), because="both epochs are whole")
check.equal(numbers(DataLoader(Squares(0), batch_size=4)), [], because="no samples, no batches")
check.equal(len(DataLoader(Squares(0), batch_size=4)), 0, because="no samples, no batches")
check.equal(type(len(DataLoader(Squares(5), batch_size=2))).__name__, "int", because="a length is an int")
check.equal(
    list(DataLoader(PacksItself(5), batch_size=2)),
    [-2, -2, -1],
    because="a Dataset packs its own batches, often in one indexing: ask dataset.batch, not sample by sample",
)
taken = DataLoader(Squares(5), batch_size=2, drop_last=True)
check.equal(sum(len(batch) for batch in numbers(taken)), 4, because="the fifth sample is dropped")
### END HIDDEN TESTS

# %% [markdown]
# ## 5 · Transforms
#
# Pixels come as bytes from 0 to 255. Networks like numbers around 0, of size about 1:
#
# $$z = \frac{x - \text{mean}}{\text{std}}$$
#
# with the mean and the standard deviation of the **training** set, also for the test set: nothing about the test set may
# enter what you train.
#
# Mind the type. In `uint8` there is nothing below 0: `image - 33` turns a black pixel into 223. Go to `float32` first. And keep it:
# a byte that meets a Python float becomes `float64`.
#
# `shift` makes more data out of what there is: a digit moved by one pixel is the same digit, but to the network it is a new
# picture. What comes in at the border is 0. (`np.roll` would let the left edge come in on the right.)
#
# ```
#   1 2 3                      0 0 0
#   4 5 6   shift(…, 1, -1)    2 3 0     one row down, one column to the left
#   7 8 9                      5 6 0
# ```
#
# It works on the last two axes only, so that it takes one picture `(H, W)` as well as a batch `(B, H, W)`. `Normalize` works
# on each number, whatever the shape. `Compose` makes one transform of several.


# %% nbgrader={"grade": false, "grade_id": "data_transforms", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
class Compose:
    """Several transforms as one: the first is applied first.

    Parameters
    ----------
    transforms : list of callable
    """

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, x):
        ### BEGIN SOLUTION
        for transform in self.transforms:
            x = transform(x)
        return x
        ### END SOLUTION


class Normalize:
    """(x - mean) / std, in float32.

    Parameters
    ----------
    mean, std : float or numpy.ndarray
        In the units of x; arrays broadcast, such as (C, 1, 1) for channels.
    """

    def __init__(self, mean, std):
        self.mean, self.std = np.float32(mean), np.float32(std)

    def __call__(self, x):
        """Numbers of any dtype and shape, normalised into a new float32 array."""
        ### BEGIN SOLUTION
        return (x.astype(np.float32) - self.mean) / self.std
        ### END SOLUTION


def shift(images, rows, columns):
    """Pictures moved down by `rows` and to the right by `columns`; negative numbers move up and left.

    Parameters
    ----------
    images : numpy.ndarray of shape (..., H, W)
    rows, columns : int
        From -H to H and from -W to W.

    Returns
    -------
    numpy.ndarray
        A new array of the same shape and dtype; what comes in at the border is 0.

    Examples
    --------
    >>> shift(np.array([[1, 2], [3, 4]]), 1, 0)
    array([[0, 0],
           [1, 2]])

    Hints: start from np.zeros_like. Moved down by r > 0, rows r to H are the old rows 0 to H - r; for r < 0
    it is the other way round. max(r, 0) and max(-r, 0) say both in one.
    """
    ### BEGIN SOLUTION
    H, W = images.shape[-2:]
    down, up, right, left = max(rows, 0), max(-rows, 0), max(columns, 0), max(-columns, 0)
    moved = np.zeros_like(images)
    moved[..., down : H - up, right : W - left] = images[..., up : H - down, left : W - right]
    return moved
    ### END SOLUTION


# %% [markdown]
# With `shift` one data set becomes five: each picture in its place and moved by a pixel in four directions. `Shifted` is
# complete: it makes the moved pictures when they are asked for, so it costs no memory. It has a transform of its own, because
# black is 0 only *before* pixels are normalised. `Subset` picks some of the samples of a data set, to hold some back for
# validation, say.


# %% tags=["export"]
class Shifted(Dataset):
    """A data set of (image, ...) samples five times: in place, moved by a pixel down, up, right and left.

    Parameters
    ----------
    dataset : Dataset
        Of pixels as they are, since what comes in at the border is 0.
    transform : callable, optional
        Prepares the moved images, one of shape (H, W) or a batch of shape (B, H, W).
    """

    MOVES = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))

    def __init__(self, dataset, transform=None):
        self.dataset, self.transform = dataset, transform or Compose([])
        self.name = f"{dataset.name}, shifted by a pixel".lstrip(", ")

    def __len__(self):
        return len(self.MOVES) * len(self.dataset)

    def __getitem__(self, i):
        if not -len(self) <= i < len(self):
            raise IndexError(f"sample {i} of {len(self)}")
        move, i = divmod(i % len(self), len(self.dataset))
        image, *others = self.dataset[i]
        return self.transform(shift(image, *self.MOVES[move])), *others

    def batch(self, indices):
        moves, rows = np.divmod(np.asarray(indices) % len(self), len(self.dataset))
        images, *others = self.dataset.batch(rows)
        moved = np.empty_like(images.data)
        for number, move in enumerate(self.MOVES):
            moved[moves == number] = shift(images.data[moves == number], *move)
        return as_batch(self.transform(moved)), *others


class Subset(Dataset):
    """The samples of a data set that have these numbers.

    Parameters
    ----------
    dataset : Dataset
    indices : array_like of int
    """

    def __init__(self, dataset, indices):
        self.dataset, self.indices, self.name = dataset, np.asarray(indices), dataset.name

    def __len__(self):
        return len(self.indices)

    def __getitem__(self, i):
        return self.dataset[int(self.indices[i])]

    def batch(self, indices):
        return self.dataset.batch(self.indices[indices])


# %%
# Try it: a small picture in five places. What would a shift by two pixels do to it?
cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], dtype=np.uint8)
fig, axes = figure(height=1.8)
strip = np.full((3, 19), 0.5)
for n, (image, _) in enumerate(Shifted(TensorDataset(cross[None], np.array([7])))):
    strip[:, 4 * n : 4 * n + 3] = image
axes.imshow(strip, cmap="gray")
axes.set(xticks=[1, 5, 9, 13, 17], xticklabels=["in place", "down", "up", "right", "left"], yticks=[])
axes.grid(False)
show(
    fig, alt="A white cross of three by three pixels, in place and moved by a pixel down, up, right and left."
)

# %% [markdown]
# *The figure:* a cross of three by three pixels, five times. Each move pushes one row or column out and lets zeros come in.


# %% nbgrader={"grade": false, "grade_id": "data_transforms_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: whether a transform leaves its input as it was, and shares no memory with it.
def shift_down(images):
    return shift(images, 1, 0)


def shift_by_nothing(images):
    return shift(images, 0, 0)


def normalize(images):
    return Normalize(1.0, 2.0)(images)


def leaves_its_input_alone(function, dtype):
    images = np.arange(1, 13).reshape(3, 2, 2).astype(dtype)
    before = images.copy()
    result = function(images)
    return bool(np.array_equal(images, before) and not np.shares_memory(result, images))


# %% nbgrader={"grade": true, "grade_id": "data_transforms_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): normalised bytes, moved pictures, and one after the other.
pixels = np.array([[0, 255], [33, 100]], dtype=np.uint8)
z = Normalize(33, 50)(pixels)
check.close(
    z, np.array([[-0.66, 4.44], [0, 1.34]]), because="bytes have nothing below 0: make float32 of them first"
)
check.same_dtype(z, np.float32, because="uint8 and a float make float64 unless you go to float32 first")
picture = np.arange(1, 10).reshape(3, 3)
check.close(
    shift(picture, 1, -1), np.array([[0, 0, 0], [2, 3, 0], [5, 6, 0]]), because="one down, one to the left"
)
check.close(
    shift(picture, -1, 0), np.array([[4, 5, 6], [7, 8, 9], [0, 0, 0]]), because="one up; zeros come in below"
)
check.close(
    shift(picture, 0, 1),
    np.array([[0, 1, 2], [0, 4, 5], [0, 7, 8]]),
    because="one to the right; what leaves on one side does not come back on the other",
)
check.close(shift(picture, 0, 0), picture, because="no move changes nothing: a slice [:-0] would be empty")
both = Compose([Normalize(1, 2), Normalize(10, 1)])
check.close(both(np.array([[5, 7]])), np.array([[-8, -7]]), because="the second gets what the first returns")

# %% nbgrader={"grade": true, "grade_id": "data_transforms_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): batches, pictures that are not square, far moves, untouched inputs, channels.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(2)
batch = rng.integers(1, 255, size=(3, 4, 6), dtype=np.uint8)
for rows, columns in [(1, 0), (-1, 2), (3, -5), (0, 6), (-4, 0), (0, 0)]:
    padded = np.pad(batch, ((0, 0), (4, 4), (6, 6)))
    expected = padded[:, 4 - rows : 8 - rows, 6 - columns : 12 - columns]
    check.close(
        shift(batch, rows, columns),
        expected,
        because="batches of pictures that are not square, moved by any amount",
    )
    check.close(shift(batch[1], rows, columns), expected[1], because="a picture alone is moved as in a batch")
check.same_dtype(shift(batch, 1, 0), np.uint8, because="bytes stay bytes")
for function in (shift_down, shift_by_nothing, normalize):
    for dtype in ("uint8", "float32"):
        check.equal(
            leaves_its_input_alone(function, dtype),
            True,
            because="the data set keeps its pictures: return a new array, do not work in place",
        )
channels = Normalize(np.array([1.0, 2.0]).reshape(2, 1, 1), np.array([1.0, 4.0]).reshape(2, 1, 1))
check.close(
    channels(np.full((5, 2, 3, 3), 6.0))[0, :, 0, 0],
    np.array([5, 1]),
    because="a mean for each channel broadcasts",
)
check.same_dtype(channels(np.ones((2, 1, 1))), np.float32, because="float64 pictures become float32")
check.close(Compose([])(batch), batch, because="no transforms change nothing")
### END HIDDEN TESTS

# %% [markdown]
# ## 6 · More data than memory
#
# The pictures of ImageNet take about 150 GB on disk; your laptop has 8 or 16 GB of memory. But a batch is small, and only the
# batch must be in memory.
#
# A *memory map* makes a file look like an array. Opening it reads nothing but the header. When you touch a row, the operating
# system fetches the pages (mostly of 4 kB) on which it lies, and keeps them as long as nobody needs the space more urgently.
# Those pages belong to the system, and several processes that map one file share them.
#
# ```
#   np.load("x.npy")                  the whole file, copied into memory
#   np.load("x.npy", mmap_mode="r")   a window on the file: rows when touched
# ```
#
# Write `save_in_pieces`, which makes such a file from pieces, one at a time, so that the whole is never in memory; then
# `MemoryMappedDataset`, a `TensorDataset` over mapped files. It inherits everything but its `__init__` and its pickling.
#
# One trap: a mapped array that is sent to another process is *pickled*, and its pickle holds all the numbers. So the data set
# says by itself what to send: its paths. `__getstate__` returns what is pickled, `__setstate__` gets it at the other end.


# %% nbgrader={"grade": false, "grade_id": "data_memory_map", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def save_in_pieces(path, pieces, shape, dtype=np.float32):
    """Write an array to a .npy file piece by piece; never more than one piece is in memory.

    Parameters
    ----------
    path : str or Path
    pieces : iterable of numpy.ndarray of shape (n, ...)
        Some rows each, in order.
    shape : tuple of int
        Of the whole, (N, ...).
    dtype : dtype

    Raises
    ------
    ValueError
        If the pieces have more or fewer rows than N; the message names N.

    Hints: `np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)` is an array that is a file.
    Its `flush()` writes what is still on the way. Remember where the next piece begins.
    """
    ### BEGIN SOLUTION
    array, row = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape), 0
    for piece in pieces:
        if row + len(piece) > len(array):
            raise ValueError(f"the pieces have more than the {len(array)} rows announced")
        array[row : row + len(piece)] = piece
        row += len(piece)
    if row != len(array):
        raise ValueError(f"the pieces have {row} rows, but {len(array)} were announced")
    array.flush()
    ### END SOLUTION


class MemoryMappedDataset(TensorDataset):
    """A TensorDataset over .npy files, of which only the rows that are asked for come into memory.

    Parameters
    ----------
    *paths : str or Path
        Of .npy files with equally many rows.
    transform : callable, optional
    name : str
    """

    def __init__(self, *paths, transform=None, name=""):
        # Hints: np.load with mmap_mode="r". super().__init__ wants the arrays.
        ### BEGIN SOLUTION
        self.paths = paths
        super().__init__(*[np.load(path, mmap_mode="r") for path in paths], transform=transform, name=name)
        ### END SOLUTION

    def __getstate__(self):
        """What is sent to another process: `(paths, transform, name)`, but no numbers."""
        ### BEGIN SOLUTION
        return self.paths, self.transform, self.name
        ### END SOLUTION

    def __setstate__(self, state):
        """Open the files again, at the other end."""
        ### BEGIN SOLUTION
        paths, transform, name = state
        self.__init__(*paths, transform=transform, name=name)
        ### END SOLUTION


# %% jupyter={"source_hidden": true} nbgrader={"grade": false, "grade_id": "data_memory_map_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: a temporary folder, files in it, pieces to write, a trip through pickle.
folder = tempfile.TemporaryDirectory(prefix="tinytorch-")


def in_folder(name):
    return os.path.join(folder.name, name)


def rows_by_tens(count, width):
    for first in range(0, count, 10):
        rows = np.arange(first, min(first + 10, count), dtype=np.float32)
        yield np.repeat(rows[:, None], width, axis=1)


def save_rows(name, count, width, announced=None):
    save_in_pieces(in_folder(name), rows_by_tens(count, width), (announced or count, width))
    return in_folder(name)


def save_labels(name, count):
    np.save(in_folder(name), np.arange(count) % 10)
    return in_folder(name)


def load_whole(path):
    return np.load(path)


def read_whole(path):
    return TensorDataset(np.load(path))


def pickled_bytes(dataset):
    return len(pickle.dumps(dataset))


def through_pickle(dataset):
    return pickle.loads(pickle.dumps(dataset))


# %%
# Try it: 20 MB on disk. What does it cost to open them, and what to read the whole file?
path = save_rows("try.npy", 5000, 1000)
with peak_memory() as measured:
    mapped = MemoryMappedDataset(path)
print(f"file {os.path.getsize(path):,} bytes, opened: {measured.peak_bytes:,} bytes of memory")
with peak_memory() as measured:
    whole = TensorDataset(np.load(path))
print(f"read whole: {measured.peak_bytes:,} bytes of memory")

# %% nbgrader={"grade": true, "grade_id": "data_memory_map_check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Check (5 points): what was written can be read, in any order, and is not in memory.
path = save_rows("check.npy", 1000, 100)
check.close(load_whole(path)[:, 0], np.arange(1000), because="the pieces follow one another in the file")
check.same_dtype(load_whole(path), np.float32, because="the file has the dtype that was asked for")
labels = save_labels("labels.npy", 1000)
dataset = MemoryMappedDataset(path, labels, transform=tenfold)
check.equal(len(dataset), 1000, because="as many samples as the file has rows")
images, targets = dataset.batch([999, 3])
check.close(np.array(images.data)[:, 5], np.array([9990, 30]), because="rows of the file, transformed")
check.close(targets, np.array([9, 3]), because="the second file holds the labels")
with peak_memory() as measured:
    opened = MemoryMappedDataset(path)
check.counts(
    measured,
    peak_bytes=range(0, 100_000),
    because="opening a map reads the header only; np.load without mmap_mode reads 400,000 bytes",
)
check.equal(pickled_bytes(dataset) < 2000, True, because="the paths should be sent, not the numbers")
with check.raises(
    ValueError, mentions="20", because="fewer rows than announced: the rest of the file would be zeros"
):
    save_rows("short.npy", 10, 3, announced=20)

# %% nbgrader={"grade": true, "grade_id": "data_memory_map_hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (2 points): memory while writing and reading, pickling, too many rows, unequal files.
### BEGIN HIDDEN TESTS
with peak_memory() as measured:
    path = save_rows("large.npy", 2000, 500)
check.counts(
    measured, peak_bytes=range(0, 400_000), because="one piece at a time: the whole would be 4,000,000 bytes"
)
check.close(load_whole(path)[1234], np.full(500, 1234.0), because="each piece is in its place")
dataset = MemoryMappedDataset(path, save_labels("more.npy", 2000), transform=tenfold, name="rows")
with peak_memory() as measured:
    copy = through_pickle(dataset)
check.counts(
    measured, peak_bytes=range(0, 400_000), because="the other end should map the files again, not read them"
)
check.close(
    np.array(copy.batch([7])[0].data)[0, 0], 70, because="files and transform are there again after pickling"
)
check.equal((len(copy), copy.name), (2000, "rows"), because="and the name")
with peak_memory() as measured:
    batch = copy.batch(np.arange(0, 2000, 100))
check.counts(
    measured, peak_bytes=range(40_000, 130_000), because="a batch costs what its rows cost, not the file"
)
with check.raises(ValueError, because="more rows than announced must not be cut off in silence"):
    save_rows("long.npy", 30, 3, announced=20)
with check.raises(ValueError, because="2,000 rows and 5 labels do not belong together"):
    MemoryMappedDataset(path, save_labels("few.npy", 5))
### END HIDDEN TESTS

# %% [markdown]
# ## 7 · Threads that fetch ahead
#
# While the network computes batch `n`, somebody else could fetch batch `n + 1`:
#
# ```
#   in turn   fetch 0 │ compute 0 │ fetch 1 │ compute 1 │ fetch 2 │ compute 2
#   ahead     fetch 0 │ fetch 1   │ fetch 2   │
#                     │ compute 0 │ compute 1 │ compute 2
# ```
#
# That somebody is a *thread*: it executes functions of the same program, in the same memory, beside the loop that you see.
# Python lets only one thread at a time execute Python code (the *global interpreter lock*), but a thread that waits for a
# disk, or computes inside NumPy, lets the others go on. So threads suit the reading of files.
#
# `ThreadPoolExecutor` keeps a few threads; `pool.submit(f, x)` gives one of them a job and returns a *future* at once. Its
# `.result()` waits for the job, and returns what it returned **or raises what it raised**. So an error in a thread comes to
# whoever asks for the batch.
#
# Four things can go wrong with this simple plan:
#
# 1. **Too far ahead.** If all batches are submitted at once, all of the data will be in memory. At most `ahead` batches may be
#    waiting while the caller holds one.
# 2. **Out of order.** Threads finish as they like. Batches must come in *their* order: keep the futures in a queue.
# 3. **A `break`.** The caller leaves after three batches. Python then closes the generator: it raises `GeneratorExit` at the
#    `yield`, and only what stands in a `finally` still runs. What is submitted but not begun must be cancelled.
# 4. **An error.** It too leaves by the `finally`.


# %% nbgrader={"grade": false, "grade_id": "data_threads", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def in_threads(fetch, batches, num_workers, ahead):
    """Generator of `fetch(indices)` for each of `batches`, in order, fetched ahead by threads.

    Parameters
    ----------
    fetch : callable
        Turns the numbers of samples into a batch.
    batches : list of numpy.ndarray
    num_workers : int
        How many threads.
    ahead : int
        How many batches are being fetched, or lie ready, while the caller holds one.

    Raises
    ------
    Exception
        What `fetch` raised, when its batch is due. The threads have ended then, as after a `break`.

    Hints: a deque of futures: submit on the right; when there are more than `ahead`, yield the result of the
    one on the left. After the last submit, yield the rest. `pool.shutdown(cancel_futures=True)` drops what
    has not begun.
    """
    ### BEGIN SOLUTION
    pool, waiting = ThreadPoolExecutor(num_workers), deque()
    try:
        for indices in batches:
            waiting.append(pool.submit(fetch, indices))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
    ### END SOLUTION


# %% jupyter={"source_hidden": true} nbgrader={"grade": false, "grade_id": "data_threads_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: data sets that are slow, broken, or wait; what comes, and what is left after a break.
class SlowDisk(Squares):
    def __getitem__(self, i):
        time.sleep(0.002)
        return super().__getitem__(i)


class UnevenDisk(Squares):
    def __getitem__(self, i):
        time.sleep(0.02 if i % 3 == 0 else 0)
        return super().__getitem__(i)


class Broken(Squares):
    def __getitem__(self, i):
        return self.read_the_disk(i), i

    def read_the_disk(self, i):
        if i == 7:
            raise ValueError(f"sample {i} can't be read")
        return i


class TwoAtOnce(Squares):
    def __init__(self, count):
        super().__init__(count)
        self.barrier = threading.Barrier(2)

    def __getitem__(self, i):
        self.barrier.wait(3)  # goes on only when two threads have come here
        return super().__getitem__(i)


class Gated(Squares):
    def __init__(self, count):
        super().__init__(count)
        self.gate = threading.Event()

    def __getitem__(self, i):
        sample = super().__getitem__(i)
        if i > 0:
            self.gate.wait(20)
        return sample


def what_comes(loader):
    told = {"batches": 0, "error": "", "message": "", "text": ""}
    try:
        for _ in loader:
            told["batches"] += 1
    except Exception as error:
        told |= {"error": type(error).__name__, "message": str(error), "text": traceback.format_exc()}
    return told


def patience(condition, seconds=3):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def fetched_while_holding(loader, dataset, taken, expected):
    iterator = iter(loader)
    for _ in range(taken):
        next(iterator)
    patience(lambda: len(dataset.asked) >= expected)
    if expected < len(dataset):
        time.sleep(0.1)  # would there be more?
    return len(dataset.asked)


def threads_left_after(loader, batches):
    before = threading.active_count()
    for n, _ in enumerate(loader, 1):
        if n == batches:
            break
    patience(lambda: threading.active_count() <= before)
    return max(0, threading.active_count() - before)


def fetched_after_break(loader, dataset):
    iterator = iter(loader)
    next(iterator)
    patience(lambda: len(dataset.asked) >= 2)
    threading.Timer(0.3, dataset.gate.set).start()
    iterator.close()  # what a `break` does
    dataset.gate.wait(5)
    time.sleep(0.1)  # would there be more?
    return len(dataset.asked)


# %%
# Try it: a slow disk and a slow network. What do two threads gain, what does a fifth?
for workers in (0, 1, 2, 5):
    start = time.perf_counter()
    for batch in DataLoader(SlowDisk(64), batch_size=8, num_workers=workers):
        time.sleep(0.008)  # the network at work
    print(f"{workers} threads: {time.perf_counter() - start:.2f} s")

# %% nbgrader={"grade": true, "grade_id": "data_threads_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): the same batches, how far ahead, an error, and a break.
check.equal(
    numbers(DataLoader(UnevenDisk(10), batch_size=2, num_workers=3)),
    [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]],
    because="all batches, in their order, whichever thread is ready first",
)
dataset = Squares(100)
loader = DataLoader(dataset, batch_size=1, num_workers=2, prefetch=3)
check.equal(
    fetched_while_holding(loader, dataset, 1, 7),
    7,
    because="one batch is held, and 2 · 3 are fetched ahead: no more, no fewer",
)
told = what_comes(DataLoader(Broken(12), batch_size=2, num_workers=2))
check.equal(
    (told["batches"], told["error"], told["message"]),
    (3, "ValueError", "sample 7 can't be read"),
    because="three good batches, then the error of the fourth, at the caller's loop",
)
check.equal(
    "read_the_disk" in told["text"], True, because="the traceback should lead to the line in the thread"
)
check.equal(
    threads_left_after(DataLoader(SlowDisk(50), batch_size=2, num_workers=3), 2),
    0,
    because="a break closes the generator: end the threads in a `finally`",
)

# %% nbgrader={"grade": true, "grade_id": "data_threads_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): really side by side, cancelled work, the lead later on, errors, short epochs.
### BEGIN HIDDEN TESTS
check.equal(
    what_comes(DataLoader(TwoAtOnce(8), batch_size=1, num_workers=2))["batches"],
    8,
    because="two threads must be fetching at the same time",
)
dataset = Gated(50)
loader = DataLoader(dataset, batch_size=1, num_workers=1, prefetch=8)
check.equal(
    fetched_after_break(loader, dataset),
    2,
    because="after a break the running fetch may end; the eight that wait are to be cancelled",
)
for taken, expected in [(3, 7), (9, 10), (10, 10)]:
    dataset = Squares(10)
    loader = DataLoader(dataset, batch_size=1, num_workers=2)
    check.equal(
        fetched_while_holding(loader, dataset, taken, expected),
        expected,
        because="the lead stays the same all along, and ends with the data",
    )
told = what_comes(DataLoader(StopsAtSeven(10), batch_size=2, num_workers=2))
check.equal(
    (told["batches"], told["error"]),
    (3, "RuntimeError"),
    because="a StopIteration in a thread must not pass for the end of the epoch",
)
check.equal(
    threads_left_after(DataLoader(Squares(6), batch_size=4, num_workers=3), 99),
    0,
    because="at the end of the epoch the threads end as well",
)
check.equal(
    numbers(DataLoader(Squares(3), batch_size=2, num_workers=8)),
    [[0, 1], [2]],
    because="more threads than batches",
)
check.equal(numbers(DataLoader(Squares(0), batch_size=2, num_workers=2)), [], because="no data, no batches")
shuffled = [DataLoader(Squares(20), batch_size=3, shuffle=True, seed=4, num_workers=n) for n in (0, 2)]
check.equal(numbers(shuffled[1]), numbers(shuffled[0]), because="workers must not change the order")
### END HIDDEN TESTS

# %% [markdown]
# ## 8 · Processes, where the work is Python
#
# If fetching a sample is itself Python code (parsing text, say), threads gain nothing: there is one lock, and whoever holds it
# keeps the network's thread from its work as well. A *process* has an interpreter and a lock of its own. It also has a memory of
# its own, so every batch must be sent: turned into bytes, through a *pipe*, and back.
#
# ```
#   your process           worker 0                  worker 1
#   ask 0, ask 1     ──►   fetch batch 0             fetch batch 1
#   answer of 0      ◄──   send it, wait for asking
#   ask 0            ──►   fetch batch 2
#   answer of 1      ◄──                             send it, wait for asking
# ```
#
# Worker `k` of `W` is told at its start that batches `k`, `k + W`, `k + 2W`, … are its own. Then it fetches one whenever it is
# *asked*. The answers come in the order of the batches, since each pipe keeps its order and you turn from one to the next.
#
# `WorkerProcess`, complete (a click on the folded cell opens it), holds the process and your end of the pipe: `ask()`,
# `answer()`, `stop()`. `answer()` raises the error that was sent, or says that the process died. Look at two details. Errors
# travel with a *note* that holds the traceback's text, since a traceback itself can't be sent. And `fork`, where there is
# one, copies the running process, so data sets defined in a notebook are known to the worker; Windows must start a new
# process, which knows only what is in files.


# %% jupyter={"source_hidden": true} tags=["export"]
class WorkerProcess:
    """A process that fetches its batches in order, one each time it is asked, and your end of the pipe to it.

    Parameters
    ----------
    fetch : callable
    batches : list of numpy.ndarray
    """

    METHOD = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"

    def __init__(self, fetch, batches):
        context = multiprocessing.get_context(self.METHOD)
        self.pipe, theirs = context.Pipe()
        inherited = self.pipe if self.METHOD == "fork" else None
        arguments = (theirs, inherited, fetch, batches)
        self.process = context.Process(target=run_worker, args=arguments, daemon=True)
        self.process.start()
        theirs.close()  # so that the worker's end is open in the worker alone, and its death shows

    def ask(self):
        """Let the worker fetch one more batch; returns at once."""
        try:
            self.pipe.send(None)
        except OSError:
            pass  # it has died: `answer` will say so

    def answer(self):
        """Wait for the next batch that was asked for.

        Raises
        ------
        Exception
            What the worker's `fetch` raised; its notes hold the traceback there.
        RuntimeError
            If the process died.
        """
        try:
            batch, error = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode
            raise RuntimeError(f"a worker process died while it fetched a batch (exit code {code})") from None
        if error is not None:
            raise error
        return batch

    def stop(self):
        """End the process, whatever it is doing."""
        self.pipe.close()
        self.process.terminate()
        self.process.join(1)
        self.process.kill()
        self.process.join()
        self.process.close()


def run_worker(pipe, inherited, fetch, batches):
    """What a worker process runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the parent, which stops its workers
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if inherited is not None:
        inherited.close()  # or this process would keep its own pipe alive after its parent's death
    try:
        serve_batches(pipe, fetch, batches)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # nobody waits any longer
    except Exception as error:  # a batch that can't be sent
        pipe.send((None, portable(error)))


def portable(error):
    """An exception that can be sent to another process, its traceback as text in its notes."""
    text = "".join(traceback.format_exception(error))
    try:
        copy = pickle.loads(pickle.dumps(error))
    except Exception:
        copy = RuntimeError(f"{type(error).__name__}: {error}")
    copy.add_note(f"It was raised in a worker process:\n{text}")
    return copy


# %% [markdown]
# Write the two halves. `serve_batches` runs in the worker: for each of its batches, wait until asked, fetch, send a pair, either
# `(batch, None)` or `(None, error)`. An error must not end it: the parent decides.
#
# `in_processes` runs in yours: start the workers, ask for the first `ahead` batches; then, for each batch in order, ask for the
# one that is `ahead` batches later (if there is one) and yield the answer. And stop the workers, however the epoch ends.


# %% nbgrader={"grade": false, "grade_id": "data_processes", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def serve_batches(pipe, fetch, batches):
    """In a worker: one pair through the pipe for each batch, when asked.

    Parameters
    ----------
    pipe : multiprocessing.connection.Connection
        `pipe.recv()` waits until asked; `pipe.send(pair)` answers.
    fetch : callable
    batches : list of numpy.ndarray

    Hints: `except Exception as error`, and send `portable(error)`. Let errors of the pipe itself pass.
    """
    ### BEGIN SOLUTION
    for indices in batches:
        pipe.recv()
        try:
            answer = fetch(indices), None
        except Exception as error:
            answer = None, portable(error)
        pipe.send(answer)
    ### END SOLUTION


def in_processes(fetch, batches, num_workers, ahead):
    """Generator of `fetch(indices)` for each of `batches`, in order, fetched ahead by processes.

    Parameters and errors are those of `in_threads`; a process that dies is a RuntimeError.

    Hints: `batches[k::W]` are the batches of worker k of W. Start the workers inside the `try`, so that the
    `finally` stops those that have started.
    """
    ### BEGIN SOLUTION
    count, workers = min(num_workers, len(batches)), []
    try:
        for k in range(count):
            workers.append(WorkerProcess(fetch, batches[k::count]))
        turns = [workers[n % count] for n in range(len(batches))]
        for worker in turns[:ahead]:
            worker.ask()
        for n, worker in enumerate(turns):
            if n + ahead < len(turns):
                turns[n + ahead].ask()
            yield worker.answer()
    finally:
        for worker in workers:
            worker.stop()
    ### END SOLUTION


# %% jupyter={"source_hidden": true} nbgrader={"grade": false, "grade_id": "data_processes_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: samples that tell which process made them, or that are the death of it; what is left over.
class WhoMadeIt(Squares):
    def __getitem__(self, i):
        return i, os.getpid()


class Sleeper(Squares):
    def __getitem__(self, i):
        if i > 0:
            time.sleep(60)
        return i, i


class BrokenSleeper(Sleeper):
    def __getitem__(self, i):
        if i == 0:
            raise ValueError("sample 0 can't be read")
        return super().__getitem__(i)


class Deadly(Squares):
    def __getitem__(self, i):
        if i == 5:
            os._exit(3)
        return i, i


class Unsendable(Squares):
    def __getitem__(self, i):
        class Strange(Exception):
            pass

        raise Strange(f"sample {i} is strange")


class Watched(Squares):
    def __init__(self, count):
        super().__init__(count)
        self.seen = mmap.mmap(-1, count)  # memory that forked processes share

    def __getitem__(self, i):
        self.seen[i] = 1
        return i, i


def makers(loader):
    return [int(pid) for batch in loader for pid in batch[1].data]


def seen_while_holding(loader, dataset, taken, expected):
    iterator = iter(loader)
    for _ in range(taken):
        next(iterator)
    patience(lambda: sum(dataset.seen[:]) >= expected)
    time.sleep(0.1)
    return sum(dataset.seen[:])


def processes_left_after(loader, batches):
    try:
        for n, _ in enumerate(loader, 1):
            if n == batches:
                break
    except Exception:
        pass
    patience(lambda: not multiprocessing.active_children(), 1)
    return len(multiprocessing.active_children())


# %%
# Try it: samples made by a Python loop. Threads take turns; what do two processes gain on your machine?
class PythonWork(Squares):
    def __getitem__(self, i):
        return i, sum(n % 7 for n in range(60_000))


for workers, kind in [(0, "thread"), (2, "thread"), (2, "process")]:
    start = time.perf_counter()
    numbers(DataLoader(PythonWork(32), batch_size=4, num_workers=workers, workers=kind))
    print(f"{workers} workers ({kind}): {time.perf_counter() - start:.2f} s")

# %% nbgrader={"grade": true, "grade_id": "data_processes_check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Check (5 points): the same batches, made elsewhere; an error with its traceback; nothing left after a break.
check.equal(
    numbers(DataLoader(UnevenDisk(10), batch_size=2, num_workers=3, workers="process")),
    [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]],
    because="all batches, in their order",
)
pids = makers(DataLoader(WhoMadeIt(8), batch_size=1, num_workers=2, workers="process"))
check.equal(len(set(pids)), 2, because="two workers share the work, batch by batch")
told = what_comes(DataLoader(Broken(12), batch_size=2, num_workers=2, workers="process"))
check.equal(
    (told["batches"], told["error"], told["message"]),
    (3, "ValueError", "sample 7 can't be read"),
    because="three good batches, then the error of the fourth, of its own type",
)
check.equal("read_the_disk" in told["text"], True, because="portable(error) keeps the text of the traceback")
check.equal(
    processes_left_after(DataLoader(Sleeper(9), num_workers=2, workers="process"), 1),
    0,
    because="after a break the workers must be stopped, even in the middle of a fetch",
)

# %% nbgrader={"grade": true, "grade_id": "data_processes_hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (2 points): the lead, dead processes, errors that can't be sent, short epochs, large batches.
### BEGIN HIDDEN TESTS
for taken, expected in [(1, 5), (4, 8)]:
    dataset = Watched(30)
    loader = DataLoader(dataset, batch_size=1, num_workers=2, prefetch=2, workers="process")
    check.equal(
        seen_while_holding(loader, dataset, taken, expected),
        expected,
        because="one batch is handed out at a time, and 2 · 2 are asked for ahead",
    )
told = what_comes(DataLoader(Deadly(9), batch_size=1, num_workers=2, workers="process"))
check.equal(
    (told["batches"], told["error"]), (5, "RuntimeError"), because="a dead worker is an error, not a wait"
)
told = what_comes(DataLoader(Unsendable(4), batch_size=1, num_workers=2, workers="process"))
check.equal(
    "sample 0 is strange" in told["message"], True, because="portable(error) finds a way to send any error"
)
check.equal(
    processes_left_after(DataLoader(BrokenSleeper(9), num_workers=2, workers="process"), 99),
    0,
    because="after an error the workers must be stopped as well, even in the middle of a fetch",
)
check.equal(
    numbers(DataLoader(Squares(3), batch_size=2, num_workers=4, workers="process")),
    [[0, 1], [2]],
    because="more workers than batches",
)
check.equal(
    numbers(DataLoader(Squares(0), num_workers=2, workers="process")), [], because="no data, no batches"
)
large = TensorDataset(np.ones((6, 300_000), np.float32))
first, *_ = [batch[0] for batch in DataLoader(large, batch_size=2, num_workers=2, workers="process")]
check.same_shape(
    first, (2, 300_000), because="a batch that is larger than a pipe holds must still come through"
)
### END HIDDEN TESTS

# %% [markdown]
# ## The data
#
# From here to the systems cells everything is complete; run it, and keep it for the modules to come. Four sets come with
# the course, so that nothing must be downloaded:
#
# | call | what |
# |---|---|
# | `load_mnist(train=True)` | handwritten digits, 28x28: 8,000 to train, 2,000 to test |
# | `load_fashion_mnist(train=True)` | clothes, 28x28: 5,000 and 1,000 |
# | `load_digits(train=True)` | small digits, 8x8 |
# | `load_austen()` | *Pride and Prejudice*, 684,768 characters |
#
# If you have the full sets on disk, these functions find them. They look in the folder `root=` if you name one; otherwise in
# the folder that the environment variable `TINYTORCH_DATA` names, then in the user's cache, and last they take what is
# bundled. The full MNIST is recognised by its four files (`train-images-idx3-ubyte.gz` and so on). Nothing is downloaded
# unless you say `download=True`. And the result says which set it is, because an accuracy without the name of the data means
# nothing.


# %% jupyter={"source_hidden": true} tags=["export"]
BUNDLED = Path(tinytorch_ref.__file__).with_name("datasets")
_SPLITS = {True: "train", False: "test"}

_IDX_NAMES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
# md5 of the labels, unpacked: by them MNIST is told from other sets with files of the same names.
_MNIST_LABELS = {"train": "a25bea736e30d166cdddb491f175f624", "test": "27ae3e4e09519cfbb04c329615203637"}

MNIST_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"
MNIST_MD5 = {
    "train-images-idx3-ubyte": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte": "ec29112dd5afa0611ce80d1b7f02629c",
}
FASHION_URL = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
FASHION_MD5 = {
    "train-images-idx3-ubyte": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte": "bb300cfdad3c16e7a12a480ee83cd310",
}


def _cache_folder():
    """Where downloads go unless `root` says otherwise."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tinytorch"


def _places(root):
    """Folders to look in before the bundle: `root` alone if there is one, else environment and cache."""
    if root is not None:
        return [Path(root)]
    named = os.environ.get("TINYTORCH_DATA")
    return [*([Path(named)] if named else []), _cache_folder()]


def _find_file(name, root):
    """The first of root, environment variable, cache and bundle that has the file, as a path.

    Raises
    ------
    FileNotFoundError
        If a `root` was named and it is not there.
    """
    for folder in [*_places(root), *([BUNDLED] if root is None else [])]:
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(f"{name} is not in {root if root is not None else BUNDLED}")


def _where_from(path):
    """`bundled`, or the folder."""
    return "bundled" if path.parent == BUNDLED else f"from {path.parent}"


def read_idx(path):
    """The array in a file of the idx format, packed by gzip or not.

    Two zero bytes, the type (8 for bytes), the number of axes, the length of each as a big-endian int32, and
    the numbers.

    Raises
    ------
    ValueError
        If it is no such file, or cut short.
    """
    content = Path(path).read_bytes()
    content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    if content[:3] != b"\0\0\x08":
        raise ValueError(f"{path} is not an idx file of bytes")
    ndim = content[3]
    shape = np.frombuffer(content, ">i4", ndim, offset=4).tolist()
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * ndim)
    if values.size != np.prod(shape):
        raise ValueError(f"{path} should hold {shape} bytes, but has {values.size}: it was cut short")
    return values.reshape(shape)


def _idx_pair(folder, split):
    """Paths of images and labels in a folder, or None; packed or not."""
    choices = [[folder / f"{name}.gz", folder / name] for name in _IDX_NAMES[split]]
    found = [next(filter(Path.is_file, paths), None) for paths in choices]
    return found if all(found) else None


def _download_idx(folder, url, sums):
    """Download the four packed files that are not there yet, each checked before it takes its name.

    Raises
    ------
    OSError
        If a download fails, or its md5 is wrong.
    """
    from urllib.request import urlopen

    folder.mkdir(parents=True, exist_ok=True)
    for name, expected in sums.items():
        target = folder / f"{name}.gz"
        if target.exists() or (folder / name).exists():
            continue
        with urlopen(url + target.name, timeout=60) as response:
            content = response.read()
        if (found := hashlib.md5(content).hexdigest()) != expected:
            raise OSError(f"{url}{target.name}: its md5 is {found}, not {expected}; nothing was saved")
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        part.write_bytes(content)
        os.replace(part, target)


def _image_set(name, images, labels, train, transform):
    """A TensorDataset of bytes and int64 labels that knows its name and split."""
    dataset = TensorDataset(images, labels.astype(np.int64), transform=transform, name=name)
    dataset.train = train
    return dataset


def _idx_set(train, root, download, url, sums, folders, known):
    """Folder, images and labels of a set in idx files, or None. Without a `root` only a known set counts."""
    pairs = [_idx_pair(place / folder, _SPLITS[train]) for place in _places(root) for folder in folders]
    pairs = [pair for pair in pairs if pair and (root is not None or known(read_idx(pair[1]), train))]
    if not pairs and download:
        target = Path(root) if root is not None else _cache_folder() / folders[0]
        _download_idx(target, url, sums)
        pairs = [_idx_pair(target, _SPLITS[train])]
    if not pairs:
        return None
    images, labels = map(read_idx, pairs[0])
    folder = pairs[0][0].parent
    if len(images) != len(labels):
        raise ValueError(f"{folder}: {len(images)} images, but {len(labels)} labels")
    return folder, images, labels


def _is_mnist(labels, train):
    """Whether these are the labels of the full MNIST."""
    header = b"\0\0\x08\x01" + len(labels).to_bytes(4, "big")
    return hashlib.md5(header + labels.tobytes()).hexdigest() == _MNIST_LABELS[_SPLITS[train]]


def _may_be_fashion(labels, train):
    """Whether these are as many labels as Fashion-MNIST has, and not those of MNIST."""
    return len(labels) == (60_000 if train else 10_000) and not _is_mnist(labels, train)


def _bundled_set(name, file, train, root, transform):
    """A split of an .npz file with x_train, y_train, x_test, y_test."""
    path = _find_file(file, root)
    with np.load(path, allow_pickle=False) as arrays:
        images, labels = arrays[f"x_{_SPLITS[train]}"], arrays[f"y_{_SPLITS[train]}"]
    return _image_set(f"{name}, {_where_from(path)})", images, labels, train, transform)


def load_mnist(train=True, root=None, download=False, transform=None):
    """Handwritten digits: images of shape (28, 28) in uint8, labels 0 to 9.

    Parameters
    ----------
    train : bool
        The training part, or the test part.
    root : str or Path, optional
        A folder with the four idx files of the full MNIST (60,000 and 10,000), packed or not, or with
        `mnist10k.npz`. Without it: the folder in the environment variable TINYTORCH_DATA, then the user's
        cache (in each, the folder itself, `mnist` and `MNIST/raw`), then the bundled 8,000 and 2,000.
    download : bool
        Whether to download the full set (11 MB), to `root` or the cache, if it is not there.
    transform : callable, optional

    Returns
    -------
    TensorDataset
        Its `name` says which set it is: `MNIST (60k)` or `MNIST (10k, bundled)`.

    Raises
    ------
    FileNotFoundError
        If a `root` is named that has neither.
    """
    folders = ("mnist", "MNIST/raw", ".")
    found = _idx_set(train, root, download, MNIST_URL, MNIST_MD5, folders, _is_mnist)
    if found is None:
        return _bundled_set("MNIST (10k", "mnist10k.npz", train, root, transform)
    folder, images, labels = found
    other = f"{len(labels):,} images in the form of MNIST, from {folder}"
    name = "MNIST (60k)" if _is_mnist(labels, train) else other
    return _image_set(name, images, labels, train, transform)


def load_fashion_mnist(train=True, root=None, download=False, transform=None):
    """Articles of clothing: as `load_mnist`, but in the folders `fashion_mnist` and `FashionMNIST/raw`; 5,000
    and 1,000 are bundled.

    Raises
    ------
    FileNotFoundError
        If a `root` is named that has neither.
    ValueError
        If the files are those of MNIST, which bear the same names.
    """
    folders = ("fashion_mnist", "FashionMNIST/raw", ".")
    found = _idx_set(train, root, download, FASHION_URL, FASHION_MD5, folders, _may_be_fashion)
    if found is None:
        return _bundled_set("Fashion-MNIST (6k", "fashion6k.npz", train, root, transform)
    folder, images, labels = found
    if _is_mnist(labels, train):
        raise ValueError(f"the files in {folder} are MNIST's, not Fashion-MNIST's: both use these names")
    other = f"{len(labels):,} images in the form of Fashion-MNIST, from {folder}"
    name = "Fashion-MNIST (60k)" if _may_be_fashion(labels, train) else other
    return _image_set(name, images, labels, train, transform)


def last_of_each_class(labels, share=0.2):
    """Mask of the last samples of each class, in the order in which they stand.

    Parameters
    ----------
    labels : numpy.ndarray of shape (N,), int
    share : float
        How much of each class, from 0 to 1, rounded.

    Returns
    -------
    numpy.ndarray of shape (N,), bool
    """
    last = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        last[rows[len(rows) - round(share * len(rows)) :]] = True
    return last


def load_digits(train=True, root=None, transform=None):
    """1,797 small written digits of shape (8, 8), values 0 to 16; to test, the last 20 % of each class."""
    path = _find_file("digits8x8.npz", root)
    with np.load(path, allow_pickle=False) as arrays:
        images, labels = arrays["x"], arrays["y"]
    part = last_of_each_class(labels) != train
    return _image_set(f"digits 8x8 ({_where_from(path)})", images[part], labels[part], train, transform)


class Text(str):
    """A text that knows its name."""

    name = ""


def load_austen(root=None):
    """*Pride and Prejudice* by Jane Austen: 684,768 characters, 75 different ones; a str with a `name`."""
    path = _find_file("austen_pride_and_prejudice.txt.xz", root)
    text = Text(lzma.decompress(path.read_bytes()).decode("ascii"))
    text.name = f"Pride and Prejudice ({_where_from(path)})"
    return text


# %%
# Try it: look before you train. Twelve digits, their labels, and how many there are of each.
train = load_mnist()
images, labels = train.batch(np.arange(12))
fig, axes = figure(height=1.4)
axes.imshow(np.concatenate(list(images.data), axis=1), cmap="gray")
axes.set(xticks=14 + 28 * np.arange(12), xticklabels=labels.data, yticks=[])
axes.grid(False)
show(fig, alt="Twelve handwritten digits in a row, each with its label below.")
print(train, "of each class:", np.bincount(train.arrays[1]))

# %% [markdown]
# *The figure:* the first twelve training digits with their labels below: 9, 1, 8, 7, 4 and so on.

# %% [markdown]
# ### A split that can be trusted
#
# To know how good a network is, test it on samples that it has not seen. So shuffle, and put 20 % aside? Try it, with the
# simplest classifier there is: take the label of the *nearest neighbour*, the training image with the least squared distance.


# %%
# Measure: the share of test digits that get the right label, for the two ways to split.
def nearest_neighbour(x, y, test_x, test_y):
    x, test_x = x.reshape(len(x), -1).astype(np.float64), test_x.reshape(len(test_x), -1).astype(np.float64)
    distances = (x**2).sum(axis=1) - 2 * test_x @ x.T  # up to a constant for each test image
    return (y[distances.argmin(axis=1)] == test_y).mean()


parts = [load_digits(train=True), load_digits(train=False)]
in_order = nearest_neighbour(*parts[0].arrays, *parts[1].arrays)
x, y = (np.concatenate(arrays) for arrays in zip(*(part.arrays for part in parts)))
cut, by_chance = len(parts[0]), []
for seed in range(5):
    rows = np.random.default_rng(seed).permutation(len(x))
    by_chance.append(nearest_neighbour(x[rows[:cut]], y[rows[:cut]], x[rows[cut:]], y[rows[cut:]]))
print(f"last 20 % of each class: {in_order:.1%}; random 20 %: {min(by_chance):.1%} to {max(by_chance):.1%}")

# %% [markdown]
# The same data, the same method, and about three points between them. The digits stand in the order in which people wrote
# them. A random split puts some of each person's digits into the training part and others into the test part, so for a test
# digit there is another one *by the same hand* to compare with. The last 20 %, in order, are by people (nearly all of them)
# of whom the method has seen nothing, and that is the question: will it read *your* handwriting?
#
# So the test parts of this course are the last 20 % of each class, in order. Keep to them. And when you split data of your
# own, ask first what belongs together (a person, a patient, a street, a day) and keep it on one side.

# %% [markdown]
# ## Systems 1 · What passes in an epoch?
#
# An MNIST loader with `Normalize` delivers images as `float32` and labels as `int64`. Predict, for `N` images of `H` by `W`:
# the number of batches, the bytes of one sample *as delivered*, and the bytes that one epoch delivers.


# %% nbgrader={"grade": false, "grade_id": "data_epoch_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_batches(N, batch_size, drop_last):
    """Batches in an epoch of N samples."""
    ### BEGIN SOLUTION
    return N // batch_size if drop_last else math.ceil(N / batch_size)
    ### END SOLUTION


def predict_sample_bytes(H, W):
    """Bytes of one delivered sample: a normalised image of shape (H, W) and its label."""
    ### BEGIN SOLUTION
    return 4 * H * W + 8
    ### END SOLUTION


def predict_epoch_bytes(N, H, W, batch_size, drop_last):
    """Bytes of all batches of an epoch."""
    ### BEGIN SOLUTION
    delivered = N // batch_size * batch_size if drop_last else N
    return delivered * predict_sample_bytes(H, W)
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "data_epoch_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the check: how many batches an epoch delivers, and their bytes.
def delivered(loader):
    sizes = [sum(part.nbytes for part in batch) for batch in loader]
    return len(sizes), sum(sizes)


# %%
# Measure: MNIST as it lies in memory, and as it is delivered.
train = load_mnist(transform=Normalize(33.3, 78.6))
stored = sum(array.nbytes for array in train.arrays)
for batch_size, drop_last in [(60, False), (60, True), (3000, True)]:
    batches, passed = delivered(DataLoader(train, batch_size=batch_size, drop_last=drop_last))
    predicted = predict_epoch_bytes(len(train), 28, 28, batch_size, drop_last)
    print(f"batches of {batch_size}: {batches}, {passed:,} bytes, predicted {predicted:,}; {stored:,} stored")

# %% nbgrader={"grade": true, "grade_id": "data_epoch_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): the predictions against what your loader delivers.
parts = check.partial(6)
cases = [
    (100, 8, 8, 32, False),
    (100, 8, 8, 32, True),
    (96, 2, 2, 32, False),
    (96, 5, 3, 32, True),
    (7, 28, 28, 10, False),
    (7, 4, 4, 10, True),
]
measured = {}
for N, H, W, size, drop in cases:
    dataset = TensorDataset(
        np.zeros((N, H, W), np.uint8), np.zeros(N, np.int64), transform=Normalize(33.3, 78.6)
    )
    measured[N, H, W, size, drop] = delivered(DataLoader(dataset, batch_size=size, drop_last=drop))
with parts.part(2, "batches"):
    for N, H, W, size, drop in cases:
        check.equal(
            predict_batches(N, size, drop),
            measured[N, H, W, size, drop][0],
            because="a last batch that is not full counts, unless it is dropped; only if there is one",
        )
with parts.part(2, "a sample"):
    for N, H, W, size, drop in cases:
        check.equal(
            predict_sample_bytes(H, W),
            4 * H * W + 8,
            because="normalised pixels take 4 bytes each, not 1, and a label 8",
        )
with parts.part(2, "an epoch"):
    for N, H, W, size, drop in cases:
        check.equal(
            predict_epoch_bytes(N, H, W, size, drop),
            measured[N, H, W, size, drop][1],
            because="each delivered sample once; a dropped batch delivers nothing",
        )
parts.score()

# %% [markdown]
# *What you just measured.* MNIST lies in memory as bytes and is delivered as `float32`: 25 MB an epoch from 6 MB. That is why
# the transform runs on each batch and not once on everything. For a worker *process* it matters where it runs: after the
# transform four times as many bytes go through the pipe.

# %% [markdown]
# ## Systems 2 · What stays in memory?
#
# A set lies in a file: `N` rows, each of `D` numbers in `float32`. How many bytes of your process's memory are held when it is
# read whole, and how many rows can it have before `M` bytes of memory are full? With a memory map, how many bytes are held by
# a batch of `B` rows?


# %% nbgrader={"grade": false, "grade_id": "data_resident_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_whole_bytes(N, D):
    """Bytes held by a set of N rows of D float32 numbers, read whole."""
    ### BEGIN SOLUTION
    return 4 * N * D
    ### END SOLUTION


def predict_mapped_bytes(N, D, B):
    """Bytes held by one batch of B rows of that set, when it is memory-mapped."""
    ### BEGIN SOLUTION
    return 4 * B * D
    ### END SOLUTION


def largest_whole_set(M, D):
    """How many rows of D float32 numbers fit into M bytes of memory, read whole."""
    ### BEGIN SOLUTION
    return M // (4 * D)
    ### END SOLUTION


# %%
# Measure: 1,000 rows, twice and four times as many, read whole and mapped. What grows?
for rows in (1000, 2000, 4000):
    path = save_rows("measured.npy", rows, 500)
    with peak_memory() as whole:
        held = read_whole(path)
    with peak_memory() as mapped:
        held = MemoryMappedDataset(path).batch(np.arange(64))
    print(f"{rows} rows: read whole {whole.kept_bytes:,} bytes, a batch of a map {mapped.kept_bytes:,} bytes")

# %% nbgrader={"grade": true, "grade_id": "data_resident_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): predictions against bytes held, which may be a few kB more: objects around the numbers.
parts = check.partial(7)
with parts.part(2, "read whole"):
    for N, D in [(500, 300), (1000, 200)]:
        path = save_rows(f"whole{N}.npy", N, D)
        with peak_memory() as measured:
            held = read_whole(path)
        check.counts(
            measured,
            kept_bytes=range(4 * N * D, 4 * N * D + 20_000),
            because="the cell that reads was changed",
        )
        check.equal(predict_whole_bytes(N, D), 4 * N * D, because="every row is in memory, 4 bytes a number")
with parts.part(3, "mapped"):
    for N, D, B in [(500, 300, 50), (2000, 300, 50), (500, 300, 200)]:
        path = save_rows(f"mapped{N}.npy", N, D)
        with peak_memory() as measured:
            dataset = MemoryMappedDataset(path)
            held = dataset.batch(np.arange(B))
        check.counts(
            measured,
            kept_bytes=range(4 * B * D, 4 * B * D + 40_000),
            because="your data set should hold the rows of the batch, and no others",
        )
        check.equal(predict_mapped_bytes(N, D, B), 4 * B * D, because="only the batch: N does not matter")
with parts.part(2, "the limit"):
    for M, D in [(8_000_000_000, 150_528), (1000, 3)]:
        check.equal(largest_whole_set(M, D), M // (4 * D), because="whole rows of 4 · D bytes each")
parts.score()

# %% [markdown]
# *What you just measured.* Read whole, memory grows with the file; mapped, with the batch. ImageNet's pictures, cut to
# 224 x 224 x 3 in `float32`, take 602 kB each: 8 GB hold 13,286 of 1.28 million. What the figures leave out is the operating
# system's page cache. It fills with pages of the file while there is room, which makes the second epoch faster, and gives
# them up when there is none.

# %% [markdown]
# ## Systems 3 · How far ahead, at what price?
#
# A loader with `W` workers and `prefetch = P`, over `total` batches, has handed out `taken` of them (at least one), and the
# caller holds the last. If it takes its time, how many batches have been fetched in all? How many bytes do the batches take
# that are held or lie ready? And if fetching a batch takes `f` seconds and computing it `c`, how long does an epoch of `n`
# batches take, in turn and with one worker ahead?


# %% nbgrader={"grade": false, "grade_id": "data_prefetch_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_fetched(taken, total, W, P):
    """Batches fetched when `taken` of `total` have been handed out and the workers have caught up."""
    ### BEGIN SOLUTION
    return min(total, taken + W * P)
    ### END SOLUTION


def predict_held_bytes(taken, total, W, P, batch_bytes):
    """Bytes of the batch that the caller holds and of those that lie ready."""
    ### BEGIN SOLUTION
    return (predict_fetched(taken, total, W, P) - taken + 1) * batch_bytes
    ### END SOLUTION


def predict_epoch_seconds(n, f, c, ahead):
    """Seconds for n batches, each fetched in f and computed in c: in turn, or with one worker ahead."""
    ### BEGIN SOLUTION
    return f + (n - 1) * max(f, c) + c if ahead else n * (f + c)
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "data_prefetch_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the measurement and the check: wide rows, what a waiting loader holds, and a timeline.
class WideRows(Squares):
    def __getitem__(self, i):
        row = np.full(25_000, i, dtype=np.float32)  # 100,000 bytes
        self.asked.append(i)
        return row, i


def hold(loader, dataset, taken, expected):
    iterator = iter(loader)
    for _ in range(taken):
        batch = next(iterator)
    patience(lambda: len(dataset.asked) >= expected * loader.batch_size)
    time.sleep(0.1)
    return iterator, batch


class Timed(Squares):
    def __init__(self, count):
        super().__init__(count)
        self.spans = []

    def __getitem__(self, i):
        start = time.perf_counter()
        time.sleep(0.02)
        self.spans.append((start, time.perf_counter()))
        return i, i


def timeline(workers):
    dataset, computing, start = Timed(8), [], time.perf_counter()
    for batch in DataLoader(dataset, num_workers=workers):
        begin = time.perf_counter()
        time.sleep(0.025)  # the network at work
        computing.append((begin, time.perf_counter()))
    return [[(a - start, b - a) for a, b in spans] for spans in (dataset.spans, computing)]


# %%
# Measure: when was each of eight batches fetched (20 ms), when was it computed (25 ms)?
fig, axes = figure()
for row, workers in [(1, 0), (0, 1)]:
    fetching, computing = timeline(workers)
    for height, spans, colour, label in [
        (0.2, fetching, "#0072B2", "fetch"),
        (-0.2, computing, "#D55E00", "compute"),
    ]:
        axes.barh(
            [row + height] * 8,
            [1e3 * d for _, d in spans],
            0.35,
            left=[1e3 * s for s, _ in spans],
            color=colour,
            edgecolor="white",
            label=label if row else None,
        )
axes.set(xlabel="milliseconds", xlim=(0, None), yticks=[0, 1], yticklabels=["one thread ahead", "in turn"])
axes.legend()
show(fig, alt="Bars over time: in turn, fetching and computing alternate; with a thread ahead, they overlap.")
print(
    [round(predict_epoch_seconds(8, 0.020, 0.025, ahead), 3) for ahead in (False, True)], "seconds predicted"
)

# %% [markdown]
# *The figure:* eight batches on a time line. In turn, fetching and computing alternate and take about 360 ms. With one thread
# ahead they overlap, and only the first fetch is waited for: about 220 ms.

# %% nbgrader={"grade": true, "grade_id": "data_prefetch_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): predictions against batches counted and bytes held; the clock is not asked.
parts = check.partial(7)
cases = [(1, 30, 2, 2), (4, 30, 1, 3), (29, 30, 2, 2)]
with parts.part(3, "batches fetched"):
    for taken, count_of_batches, W, P in cases:
        dataset, expected = Squares(count_of_batches), min(count_of_batches, taken + W * P)
        loader = DataLoader(dataset, num_workers=W, prefetch=P)
        check.equal(
            fetched_while_holding(loader, dataset, taken, expected),
            expected,
            because="your loader should be W · P batches ahead, no more and no fewer",
        )
        check.equal(
            predict_fetched(taken, count_of_batches, W, P),
            expected,
            because="those handed out, W · P more, and never more than there are",
        )
with parts.part(2, "bytes held"):
    for taken, count_of_batches, W, P in cases:
        dataset, expected = WideRows(2 * count_of_batches), min(count_of_batches, taken + W * P)
        loader = DataLoader(dataset, batch_size=2, num_workers=W, prefetch=P)
        with peak_memory() as measured:
            kept = hold(loader, dataset, taken, expected)
        wanted = (expected - taken + 1) * 200_000
        check.counts(
            measured,
            kept_bytes=range(wanted, wanted + 150_000),
            because="your loader should hold what lies ready, and let go of what was handed out",
        )
        check.equal(
            predict_held_bytes(taken, count_of_batches, W, P, 200_000),
            wanted,
            because="the batch in the caller's hands and those ahead of it; earlier ones are gone",
        )
        del kept
with parts.part(2, "seconds"):
    for n, f, c in [(10, 2.0, 3.0), (10, 3.0, 2.0), (1, 2.0, 3.0), (100, 0.5, 0.5)]:
        check.close(predict_epoch_seconds(n, f, c, False), n * (f + c), because="in turn, nothing overlaps")
        check.close(
            predict_epoch_seconds(n, f, c, True),
            f + (n - 1) * max(f, c) + c,
            because="the first fetch and the last computation stand alone; between, the slower one counts",
        )
parts.score()

# %% [markdown]
# *What you just measured.* Prefetching replaces `f + c` by the larger of the two: at best a factor of two with one worker. More
# workers divide `f`, which helps until it is less than `c`. A longer lead does not make anything faster; it only evens out
# fetches that take unequal time, and each batch of it costs memory.

# %% [markdown]
# ## Explain
#
# Computing one batch takes 30 ms. Fetching one takes 80 ms, nearly all of it in Python code that decodes pictures. A batch is
# 64 pictures of 224 x 224 x 3 in `float32`. In two to five sentences, with numbers: threads or processes, and how many, so that
# the network hardly waits? How much memory do the batches take with `prefetch=2`? Would `prefetch=20` make it faster?

# %% [markdown] nbgrader={"grade": true, "grade_id": "data_explain", "locked": false, "points": 5, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Rubric (5 points).**
#
# - 1: processes, because decoding in Python holds the interpreter's lock: threads would take turns, with each other and with
#   the loop that trains.
# - 1: three of them: 80 / 30 = 2.67, so two deliver a batch every 40 ms, three every 27 ms (given as many free cores).
# - 2: a batch is 64 · 224 · 224 · 3 · 4 B = 38.5 MB; 3 · 2 lie ready and one is held, 7 · 38.5 = 270 MB. (One point if the
#   batch is right and the number of batches is not. The 231 MB of six batches are right if it is said that the one in use is
#   not counted.)
# - 1: no: the rate is limited by the workers, not by the lead; a longer lead only evens out irregular fetches, and 61 batches
#   would take 2.35 GB.
#
# *A good answer.* "Decoding is Python, so threads would queue for one lock: processes. Each brings a batch per 80 ms, I need
# one per 30 ms, so three (27 ms). A batch has 9.6 million floats, 38.5 MB; six ready and one in use are 270 MB. With prefetch=20
# the same three workers make the same batches per second; I would only hold 61 of them, 2.35 GB." All points, with numbers. 5
# points.
#
# *A weak answer.* "Use many workers and a high prefetch so that data is always available; processes are better than threads
# in Python because of the GIL." The choice of processes is right and has its reason; nothing is computed, and the belief that
# a longer lead helps a loader that is too slow is the mistake that the question is about. 1 point.
# ### END SOLUTION

# %% [markdown]
# ## What can go wrong
#
# **`ValueError: a data set needs arrays of one length, these have [4, 3]`**: images and labels don't belong together. Look
# whether one of them comes from the other split.
#
# **`ValueError: samples of one batch must have one shape, these have [(28, 28), (28, 29)]`**: pictures or texts of different sizes.
# Cut or pad them in `__getitem__`, or write a `collate_fn` that does.
#
# **`RuntimeError: generator raised StopIteration`**: a data set called `next()` on an iterator that was at its end. Give
# `next` a default, or catch it.
#
# **`RuntimeError: a worker process died while it fetched a batch (exit code -9)`**: the system stopped it, most often for lack of
# memory. Fewer workers, a smaller `prefetch`, or a memory map. Exit code 1 on Windows: its data set was defined in the notebook,
# and a fresh process can't know it; put the class into a file, or use threads.
#
# **The same "random" crops from every worker, in every epoch**: each process was forked with a copy of one generator in one state.
# Make the randomness a function of seed, epoch and sample, as `epoch_order` does, or of the sample's number, as `Shifted` does.
#
# **A test accuracy that is too good**: the split leaks. See "A split that can be trusted".

# %% [markdown]
# ## Recap
#
# | You built | Costs | PyTorch's name | One true difference |
# |---|---|---|---|
# | `TensorDataset` | no copy | `torch.utils.data.TensorDataset` | samples there are tensors, here rows of arrays; batches are tensors in both |
# | `dataset.batch(indices)` | one indexing | `__getitems__` | there it returns a list of samples, which is collated still |
# | `default_collate` | one copy of the batch | `default_collate` | float64 stays float64 there |
# | `DataLoader(shuffle, seed)` | 8 bytes a sample for the order | `DataLoader(generator=)` | there the order depends on how often the generator was used; here on seed and epoch alone |
# | … `num_workers` | (W · P + 1) batches | `num_workers`, `prefetch_factor` | always processes there, and batches pass through shared memory, not through a pipe |
# | `Normalize` | a new batch | `torchvision.transforms.Normalize` | there for pictures already scaled to 0 to 1 |
# | `MemoryMappedDataset` | one batch | `torch.from_file`, `numpy.memmap` | PyTorch has no such data set |
#
# A network, a loss and now data. What is missing is the direction: which way must each of 100,000 parameters move, so that
# the loss gets smaller? Module 06 builds that.
