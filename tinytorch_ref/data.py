# Built from source/05_data/05_data.py by `tinytorch build`; change it there.
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

__all__ = [
    "Dataset", "as_batch", "TensorDataset", "default_collate", "epoch_order", "split_batches", "fetch_batch",
    "in_turn", "DataLoader", "Compose", "Normalize", "shift", "Shifted", "Subset", "save_in_pieces",
    "MemoryMappedDataset", "in_threads", "WorkerProcess", "run_worker", "portable", "serve_batches",
    "in_processes", "BUNDLED", "MNIST_URL", "MNIST_MD5", "FASHION_URL", "FASHION_MD5", "read_idx",
    "load_mnist", "load_fashion_mnist", "last_of_each_class", "load_digits", "Text", "load_austen",
]


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
        arrays = [array.data if isinstance(array, Tensor) else np.asarray(array) for array in arrays]
        lengths = [len(array) for array in arrays]
        if len(set(lengths)) != 1:
            raise ValueError(f"a data set needs arrays of one length, these have {lengths}")
        self.arrays = arrays
        self.transform = transform
        self.name = name

    def __len__(self):
        return len(self.arrays[0])

    def __getitem__(self, i):
        """Sample `i`: a tuple with one row of each array, the first one transformed."""
        return self.transformed([array[i] for array in self.arrays])

    def batch(self, indices):
        """The rows of these numbers: a tuple with one tensor of length B for each array."""
        return tuple(as_batch(rows) for rows in self.transformed([array[indices] for array in self.arrays]))

    def transformed(self, rows):
        """The rows as a tuple, the first one prepared by the transform."""
        first, *others = rows
        return (first if self.transform is None else self.transform(first), *others)


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
    """
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
    """
    if not shuffle:
        return np.arange(count)
    return np.random.default_rng([seed, epoch]).permutation(count)


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
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    if drop_last and batches and len(batches[-1]) < batch_size:
        batches.pop()
    return batches


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
    """
    if collate_fn is None and isinstance(dataset, Dataset):
        return dataset.batch(indices)
    samples = [dataset[int(i)] for i in indices]
    return default_collate(samples) if collate_fn is None else collate_fn(samples)


def in_turn(fetch, batches):
    """Generator of `fetch(indices)` for each of `batches`, one after another, each only when it is wanted."""
    for indices in batches:
        yield fetch(indices)


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
        full, rest = divmod(len(self.dataset), self.batch_size)
        return full + (rest > 0 and not self.drop_last)

    def __iter__(self):
        """Begin an epoch: an iterator of its batches."""
        order = epoch_order(len(self.dataset), self.shuffle, self.seed, self.epoch)
        self.epoch += 1
        return self.deliver(split_batches(order, self.batch_size, self.drop_last))

    def deliver(self, batches):
        """An iterator of the batches with these numbers, fetched by whoever shall fetch them."""
        fetch = functools.partial(fetch_batch, self.dataset, collate_fn=self.collate_fn)
        if not self.num_workers:
            return in_turn(fetch, batches)
        fetch_ahead = in_threads if self.workers == "thread" else in_processes
        return fetch_ahead(fetch, batches, self.num_workers, self.num_workers * self.prefetch)


class Compose:
    """Several transforms as one: the first is applied first.

    Parameters
    ----------
    transforms : list of callable
    """

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x


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
        return (x.astype(np.float32) - self.mean) / self.std


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
    """
    H, W = images.shape[-2:]
    down, up, right, left = max(rows, 0), max(-rows, 0), max(columns, 0), max(-columns, 0)
    moved = np.zeros_like(images)
    moved[..., down : H - up, right : W - left] = images[..., up : H - down, left : W - right]
    return moved


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
    """
    array, row = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape), 0
    for piece in pieces:
        if row + len(piece) > len(array):
            raise ValueError(f"the pieces have more than the {len(array)} rows announced")
        array[row : row + len(piece)] = piece
        row += len(piece)
    if row != len(array):
        raise ValueError(f"the pieces have {row} rows, but {len(array)} were announced")
    array.flush()


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
        self.paths = paths
        super().__init__(*[np.load(path, mmap_mode="r") for path in paths], transform=transform, name=name)

    def __getstate__(self):
        """What is sent to another process: `(paths, transform, name)`, but no numbers."""
        return self.paths, self.transform, self.name

    def __setstate__(self, state):
        """Open the files again, at the other end."""
        paths, transform, name = state
        self.__init__(*paths, transform=transform, name=name)


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
    """
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


def serve_batches(pipe, fetch, batches):
    """In a worker: one pair through the pipe for each batch, when asked.

    Parameters
    ----------
    pipe : multiprocessing.connection.Connection
        `pipe.recv()` waits until asked; `pipe.send(pair)` answers.
    fetch : callable
    batches : list of numpy.ndarray
    """
    for indices in batches:
        pipe.recv()
        try:
            answer = fetch(indices), None
        except Exception as error:
            answer = None, portable(error)
        pipe.send(answer)


def in_processes(fetch, batches, num_workers, ahead):
    """Generator of `fetch(indices)` for each of `batches`, in order, fetched ahead by processes.

    Parameters and errors are those of `in_threads`; a process that dies is a RuntimeError.
    """
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
