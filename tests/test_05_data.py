"""Properties of tinytorch_ref/data.py: order, workers that end, the search for data, and PyTorch's values."""

import gzip
import hashlib
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import tomllib
import traceback
from pathlib import Path

import numpy as np
import pytest
from course import catalog, handout
from course.layout import Course
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.counters import peak_memory
from tinytorch_ref import data
from tinytorch_ref.data import (
    Compose,
    DataLoader,
    Dataset,
    MemoryMappedDataset,
    Normalize,
    Shifted,
    Subset,
    TensorDataset,
    WorkerProcess,
    default_collate,
    epoch_order,
    in_processes,
    last_of_each_class,
    load_austen,
    load_digits,
    load_fashion_mnist,
    load_mnist,
    read_idx,
    save_in_pieces,
    shift,
    split_batches,
)
from tinytorch_ref.tensor import Tensor

REPO = Path(__file__).resolve().parents[1]
FULL_MNIST = os.environ.get("TINYTORCH_TEST_MNIST", "")  # a folder with the four idx files
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs fork and /proc")
BOTH = pytest.mark.parametrize("workers", ["thread", pytest.param("process", marks=linux)])


class Numbers(Dataset):
    """Sample i is i; one of them may be broken, deadly or slow."""

    def __init__(self, count, broken=None, deadly=None, slow=None):
        self.count, self.broken, self.deadly, self.slow = count, broken, deadly, slow

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if i == self.broken:
            raise KeyError(f"sample {i}")
        if i == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        if i == self.slow:
            time.sleep(60)
        return i


def values(loader):
    return [batch.data.tolist() for batch in loader]


def nothing_left(seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if threading.active_count() == 1 and not multiprocessing.active_children():
            return True
        time.sleep(0.02)
    return False


# --- Order --------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(0, 40),
    size=st.integers(1, 12),
    shuffle=st.booleans(),
    drop=st.booleans(),
    seed=st.integers(0, 2**40),
)
def test_an_epoch_has_each_sample_once_and_len_tells_how_many_batches(count, size, shuffle, drop, seed):
    loader = DataLoader(Numbers(count), size, shuffle=shuffle, drop_last=drop, seed=seed)
    batches = values(loader)
    assert len(batches) == len(loader)
    flat = sum(batches, [])
    assert len(set(flat)) == len(flat) == (count // size * size if drop else count)
    assert all(len(batch) == size for batch in batches[: None if drop else -1])


def test_orders_of_all_seeds_and_epochs_are_unrelated():
    orders = np.array([epoch_order(1000, True, seed, epoch) for seed in range(6) for epoch in range(6)])
    ranks = (orders - orders.mean()) / orders.std()
    correlation = ranks @ ranks.T / 1000
    assert abs(correlation - np.eye(36)).max() < 0.2


def test_a_loader_without_a_seed_differs_from_run_to_run():
    loaders = [DataLoader(Numbers(50), 50, shuffle=True, seed=None) for _ in range(2)]
    assert values(loaders[0]) != values(loaders[1])


def test_batches_are_views_of_the_order():
    order = epoch_order(10, True, 0, 0)
    assert all(np.shares_memory(batch, order) for batch in split_batches(order, 3))


@pytest.mark.parametrize(
    "wrong", [{"batch_size": 0}, {"num_workers": -1}, {"prefetch": 0}, {"workers": "threads"}]
)
def test_a_loader_refuses_nonsense(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DataLoader(Numbers(3), **wrong)


# --- Data sets ----------------------------------------------------------------------------------------------


def test_a_batch_is_what_its_collated_samples_are():
    rng = np.random.default_rng(0)
    arrays = rng.normal(size=(9, 3)), rng.integers(0, 5, 9), rng.random(9) > 0.5
    dataset = TensorDataset(*arrays, transform=Compose([Normalize(1, 2)]))
    rows = [4, 4, 0]
    for one, other in zip(dataset.batch(rows), Dataset.batch(dataset, rows), strict=True):
        assert isinstance(one, Tensor) and one.dtype == other.dtype and one.dtype != np.float64
        np.testing.assert_array_equal(one.data, other.data)


def test_a_subset_and_a_shifted_set_hand_out_what_they_should():
    images = np.arange(2 * 9, dtype=np.uint8).reshape(2, 3, 3)
    dataset = TensorDataset(images, np.array([3, 4]), name="tiny")
    part = Subset(dataset, [1])
    assert len(part) == 1 and part[0][1] == 4 and part.batch(np.array([0]))[1].data.tolist() == [4]
    five = Shifted(dataset)
    assert repr(five) == "tiny, shifted by a pixel: 10 samples"
    assert [label for _, label in five] == [3, 4] * 5
    np.testing.assert_array_equal(five[5][0], shift(images[1], -1, 0))
    np.testing.assert_array_equal(five[-1][0], five[9][0])
    ready, rows = Shifted(dataset, transform=Normalize(2, 3)), np.array([9, 0, 3, 3, 6])
    for one, other in zip(ready.batch(rows), Dataset.batch(ready, rows), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one.data, other.data)


@settings(max_examples=50, deadline=None)
@given(size=st.tuples(st.integers(1, 6), st.integers(1, 6)), picks=st.data())
def test_a_shift_forth_and_back_loses_only_the_border(size, picks):
    H, W = size
    rows, columns = picks.draw(st.integers(-H, H)), picks.draw(st.integers(-W, W))
    image = np.arange(1, H * W + 1).reshape(H, W)
    there = shift(shift(image, rows, columns), -rows, -columns)
    inside = shift(shift(np.ones_like(image), rows, columns), -rows, -columns) == 1
    np.testing.assert_array_equal(there, np.where(inside, image, 0))
    assert inside.sum() == (H - abs(rows)) * (W - abs(columns))


def test_collate_has_pytorchs_values():
    torch = pytest.importorskip("torch")
    from torch.utils.data import default_collate as theirs

    samples = [{"x": np.full((2, 2), i, np.float32), "y": (i, bool(i % 2))} for i in range(3)]
    ours, expected = default_collate(samples), theirs(samples)
    pairs = [(ours["x"], expected["x"]), *zip(ours["y"], expected["y"], strict=True)]
    for one, other in pairs:
        assert torch.equal(torch.from_numpy(np.array(one.data)), other)


def test_loader_has_pytorchs_batches():
    torch = pytest.importorskip("torch")
    for size, drop in [(4, False), (4, True), (5, True), (20, False)]:
        theirs = torch.utils.data.DataLoader(list(range(10)), batch_size=size, drop_last=drop)
        ours = DataLoader(list(range(10)), batch_size=size, drop_last=drop)
        assert len(ours) == len(theirs) and values(ours) == [batch.tolist() for batch in theirs]


# --- Memory maps --------------------------------------------------------------------------------------------


def test_a_memory_map_holds_a_batch_and_sends_its_paths(tmp_path):
    path, labels = tmp_path / "x.npy", tmp_path / "y.npy"
    save_in_pieces(path, (np.full((100, 1000), i) for i in range(20)), (2000, 1000))
    np.save(labels, np.arange(2000))
    with peak_memory() as measured:
        dataset = MemoryMappedDataset(path, labels)
        batch = dataset.batch(np.arange(0, 2000, 200))
    assert 40_000 < measured.peak_bytes < 120_000 and os.path.getsize(path) > 8_000_000
    assert batch[0].data[:, 0].tolist() == list(range(0, 20, 2))
    sent = pickle.dumps(dataset)
    assert len(sent) < 2000
    np.testing.assert_array_equal(pickle.loads(sent).batch([1999])[0].data, np.full((1, 1000), 19))
    with pytest.raises(ValueError, match="read-only"):
        dataset[0][0][0] = 1


@BOTH
def test_workers_read_a_memory_map(tmp_path, workers):
    np.save(tmp_path / "x.npy", np.arange(40.0).reshape(20, 2))
    loader = DataLoader(MemoryMappedDataset(tmp_path / "x.npy"), 5, num_workers=2, workers=workers)
    np.testing.assert_array_equal(np.concatenate([x.data for (x,) in loader]).ravel(), np.arange(40))


# --- Workers ------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    "count, size, num_workers, prefetch", [(23, 4, 3, 2), (3, 2, 5, 1), (0, 2, 2, 2), (9, 1, 1, 20)]
)
def test_workers_change_nothing_but_the_time(workers, count, size, num_workers, prefetch):
    plain = DataLoader(Numbers(count), size, shuffle=True, seed=3)
    helped = DataLoader(
        Numbers(count), size, True, 3, num_workers=num_workers, workers=workers, prefetch=prefetch
    )
    for _ in range(2):
        assert values(helped) == values(plain)
    assert nothing_left()


@BOTH
def test_an_error_in_a_worker_reaches_the_caller_with_its_traceback(workers):
    loader = DataLoader(Numbers(20, broken=7), 2, num_workers=2, workers=workers)
    seen = []
    with pytest.raises(KeyError, match="sample 7") as caught:
        for batch in loader:
            seen += batch.data.tolist()
    assert seen == [0, 1, 2, 3, 4, 5]
    assert "in __getitem__" in "".join(traceback.format_exception(caught.value))
    del caught
    assert nothing_left()


@BOTH
def test_a_break_leaves_nothing_behind(workers):
    for batch in DataLoader(Numbers(1000), 2, num_workers=3, workers=workers):
        if 6 in batch.data:
            break
    assert nothing_left()
    iterator = iter(DataLoader(Numbers(1000), 2, num_workers=2, workers=workers))
    next(iterator)
    del iterator
    assert nothing_left()
    iter(DataLoader(Numbers(1000), 2, num_workers=2, workers=workers))  # never asked: nothing is started
    assert nothing_left(0.1)


@linux
def test_a_worker_in_the_middle_of_a_fetch_is_stopped():
    start = time.monotonic()
    for _ in DataLoader(Numbers(9, slow=1), num_workers=2, workers="process"):
        break
    assert nothing_left() and time.monotonic() - start < 20


@linux
def test_a_worker_that_is_killed_is_an_error():
    with pytest.raises(RuntimeError, match="exit code -9"):
        list(DataLoader(Numbers(9, deadly=4), num_workers=2, workers="process"))
    assert nothing_left()


def refuse(_):
    raise LookupError("no", threading.Lock())  # can't be pickled


def lock(_):
    return threading.Lock()


@linux
def test_what_cannot_be_sent_is_an_error_and_not_a_wait():
    with pytest.raises(RuntimeError, match="LookupError"):
        list(in_processes(refuse, [np.arange(1)], 1, 1))
    with pytest.raises(TypeError, match="pickle"):
        list(in_processes(lock, [np.arange(1)], 1, 1))
    assert nothing_left()


@linux
def test_two_loaders_at_once_do_not_disturb_each_other():
    first = iter(DataLoader(Numbers(50), 2, num_workers=2, workers="process"))
    next(first)
    assert len(values(DataLoader(Numbers(50), 2, num_workers=2, workers="process"))) == 25
    assert len(list(first)) == 24
    assert nothing_left()


def test_a_fresh_process_can_serve_where_there_is_no_fork(monkeypatch):
    monkeypatch.setattr(WorkerProcess, "METHOD", "spawn")
    loader = DataLoader(TensorDataset(np.arange(6.0)), 2, num_workers=1, workers="process")
    assert [x.data.tolist() for (x,) in loader] == [[0, 1], [2, 3], [4, 5]]
    assert nothing_left()


ORPHANS = """
import os, signal, sys
from tinytorch_ref.data import DataLoader
loader = iter(DataLoader(list(range(100)), num_workers=3, workers="process"))
next(loader)
import multiprocessing
print(*[child.pid for child in multiprocessing.active_children()], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@linux
def test_workers_end_when_their_parent_is_killed():
    told = subprocess.run(
        [sys.executable, "-c", ORPHANS], cwd=REPO, stdout=subprocess.PIPE, text=True, timeout=60
    )
    pids = [int(pid) for pid in told.stdout.split()]
    assert len(pids) == 3
    end = time.monotonic() + 10
    while any(map(runs, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(runs, pids))


def runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


# --- Bundled data and the search for more -------------------------------------------------------------------


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path_factory):
    """No environment variable, an empty cache."""
    monkeypatch.delenv("TINYTORCH_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def write_idx(folder, count=6, packed=True, split="train", label=0):
    """Two files in the form of MNIST, with invented content."""
    folder.mkdir(parents=True, exist_ok=True)
    images = np.arange(count * 4, dtype=np.uint8).reshape(count, 2, 2)
    labels = np.full(count, label, np.uint8)
    for array, word, axes in [(images, "images", 3), (labels, "labels", 1)]:
        name = f"{'train' if split == 'train' else 't10k'}-{word}-idx{axes}-ubyte"
        lengths = b"".join(n.to_bytes(4, "big") for n in array.shape)
        content = b"\0\0\x08" + bytes([axes]) + lengths + array.tobytes()
        (folder / (name + ".gz" * packed)).write_bytes(gzip.compress(content) if packed else content)
    return images, labels


@pytest.mark.parametrize(
    "load, name, shape, counts",
    [
        (load_mnist, "MNIST (10k, bundled)", (28, 28), (8000, 2000)),
        (load_fashion_mnist, "Fashion-MNIST (6k, bundled)", (28, 28), (5000, 1000)),
        (load_digits, "digits 8x8 (bundled)", (8, 8), (1438, 359)),
    ],
)
def test_the_bundled_sets(load, name, shape, counts):
    parts = [load(train=True), load(train=False)]
    assert tuple(len(part) for part in parts) == counts
    for part, train in zip(parts, (True, False), strict=True):
        images, labels = part.arrays
        assert part.name == name and part.train is train and name in repr(part)
        assert images.shape[1:] == shape and images.dtype == np.uint8 and labels.dtype == np.int64
        assert sorted(set(labels.tolist())) == list(range(10))
    twins = set(map(bytes, parts[0].arrays[0])) & set(map(bytes, parts[1].arrays[0]))
    assert not twins, "an image of the test part is in the training part"


def test_the_novel():
    text = load_austen()
    assert isinstance(text, str) and text.name == "Pride and Prejudice (bundled)"
    assert len(text) == 684_768 and len(set(text)) == 75 and text.isascii()
    assert "It is a truth universally acknowledged" in text


def test_a_folder_is_searched_before_the_environment_the_cache_and_the_bundle(monkeypatch, tmp_path):
    cache = Path(os.environ["XDG_CACHE_HOME"]) / "tinytorch"
    for place, text in [("root", b"r"), ("env", b"e"), ("cache", b"c")]:
        folder = cache if place == "cache" else tmp_path / place
        folder.mkdir(exist_ok=True)
        (folder / "austen_pride_and_prejudice.txt.xz").write_bytes(data.lzma.compress(text))
    monkeypatch.setenv("TINYTORCH_DATA", str(tmp_path / "env"))
    assert load_austen(root=tmp_path / "root") == "r"
    assert load_austen() == "e" and load_austen().name == f"Pride and Prejudice (from {tmp_path / 'env'})"
    monkeypatch.setenv("TINYTORCH_DATA", str(tmp_path / "nothing here"))
    assert load_austen() == "c"
    (cache / "austen_pride_and_prejudice.txt.xz").unlink()
    assert load_austen().name.endswith("(bundled)")


@pytest.mark.parametrize("load", [load_mnist, load_fashion_mnist, load_digits, load_austen])
def test_a_root_that_lacks_the_data_is_an_error(load, tmp_path):
    with pytest.raises(FileNotFoundError, match="is not in"):
        load(root=tmp_path)


@pytest.mark.parametrize("folder", [".", "mnist", "MNIST/raw"])
@pytest.mark.parametrize("packed", [True, False])
def test_idx_files_in_a_root_are_read_and_named_for_what_they_are(tmp_path, folder, packed):
    images, labels = write_idx(tmp_path / folder, packed=packed, label=4)
    found = load_mnist(root=tmp_path)
    np.testing.assert_array_equal(found.arrays[0], images)
    assert found.name.startswith("6 images in the form of MNIST, from ") and set(found.arrays[1]) == {4}
    with pytest.raises(FileNotFoundError):
        load_mnist(train=False, root=tmp_path)


def test_unknown_idx_files_in_the_environment_do_not_pass_for_a_set(monkeypatch, tmp_path):
    write_idx(tmp_path)
    monkeypatch.setenv("TINYTORCH_DATA", str(tmp_path))
    assert load_mnist().name == "MNIST (10k, bundled)"
    assert load_fashion_mnist().name == "Fashion-MNIST (6k, bundled)"


@pytest.mark.parametrize(
    "content, message",
    [
        (b"PK\3\4 something else", "not an idx file"),
        (b"\0\0\x08\x01\0\0\0\x05abc", "cut short"),
        (b"\0\0\x0d\x01\0\0\0\x01abcd", "not an idx file of bytes"),
    ],
)
def test_a_wrong_file_is_named(tmp_path, content, message):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_idx(tmp_path / "file")


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A place to download an invented MNIST from, by URLs of files, and the sums of its files."""
    there = tmp_path / "server"
    write_idx(there), write_idx(there, split="test")
    sums = {path.stem: hashlib.md5(path.read_bytes()).hexdigest() for path in there.iterdir()}
    monkeypatch.setattr(data, "MNIST_URL", there.as_uri() + "/")
    monkeypatch.setattr(data, "MNIST_MD5", sums)
    return there


def test_nothing_is_downloaded_unless_asked(server):
    assert load_mnist().name == "MNIST (10k, bundled)"


def test_a_download_goes_to_the_root_or_the_cache_once(server, tmp_path):
    assert len(load_mnist(root=tmp_path / "new", download=True)) == 6
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(
        p.name for p in server.iterdir()
    )
    load_mnist(download=True)
    cache = Path(os.environ["XDG_CACHE_HOME"]) / "tinytorch" / "mnist"
    assert len(list(cache.iterdir())) == 4
    for path in server.iterdir():
        path.unlink()
    assert len(load_mnist(train=False, root=tmp_path / "new", download=True)) == 6  # it is there already


def test_a_damaged_download_leaves_nothing(server, tmp_path):
    damaged = server / "train-labels-idx1-ubyte.gz"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.raises(OSError, match="md5"):
        load_mnist(root=tmp_path / "new", download=True)
    left = [path.name for path in (tmp_path / "new").iterdir()]
    assert damaged.name not in left and not [name for name in left if name.endswith(".part")]


@pytest.mark.skipif(not FULL_MNIST, reason="TINYTORCH_TEST_MNIST names no folder with the full MNIST")
def test_the_full_mnist_is_recognised(monkeypatch):
    for train, count in [(True, 60_000), (False, 10_000)]:
        found = load_mnist(train=train, root=FULL_MNIST)
        assert found.name == "MNIST (60k)" and found.arrays[0].shape == (count, 28, 28)
    monkeypatch.setenv("TINYTORCH_DATA", FULL_MNIST)
    assert load_mnist().name == "MNIST (60k)"
    assert load_fashion_mnist().name == "Fashion-MNIST (6k, bundled)"
    with pytest.raises(ValueError, match="are MNIST's"):
        load_fashion_mnist(root=FULL_MNIST)
    first = load_mnist(root=FULL_MNIST).arrays[0][:10_000]
    known = set(map(bytes, first))
    bundled = np.concatenate(
        [part.arrays[0] for part in (load_mnist(True, data.BUNDLED), load_mnist(False, data.BUNDLED))]
    )
    assert all(bytes(image) in known for image in bundled)


@settings(max_examples=50, deadline=None)
@given(labels=st.lists(st.integers(0, 3), max_size=40), share=st.sampled_from([0.0, 0.2, 0.5, 1.0]))
def test_the_test_part_is_the_end_of_each_class(labels, share):
    labels = np.array(labels, dtype=int)
    last = last_of_each_class(labels, share)
    for label in set(labels.tolist()):
        mask = last[labels == label]
        assert mask.sum() == round(share * len(mask)) and not np.any(mask[:-1] > mask[1:])


# --- What is shipped ----------------------------------------------------------------------------------------


def test_each_bundled_file_has_its_notice():
    notices = (data.BUNDLED / "NOTICES.md").read_text(encoding="utf-8")
    for path in data.BUNDLED.iterdir():
        assert path.name == "NOTICES.md" or f"`{path.name}`" in notices, path.name
    for path in data.BUNDLED.glob("*.npz"):
        with np.load(path, allow_pickle=False) as arrays:
            assert all(arrays[name].dtype == np.uint8 for name in arrays)


def test_the_installed_package_has_the_data():
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
    assert "datasets/*" in project["tool"]["setuptools"]["package-data"]["tinytorch_ref"]


@pytest.mark.parametrize("word, shipped", [("04", False), ("05", True), ("06", True), ("1958", True)])
def test_hand_outs_have_the_data_from_module_05_on(tmp_path, word, shipped):
    item, course = catalog.find(word), Course(tmp_path)
    course.release(item).parent.mkdir(parents=True)
    for name in ("pyproject.toml", "requirements.lock"):
        (tmp_path / name).write_bytes((REPO / name).read_bytes())
    (tmp_path / "tinytorch_ref" / "datasets").mkdir(parents=True)
    (tmp_path / "tinytorch_ref" / "datasets" / "set.npz").write_bytes(b"bytes")
    for name in ["__init__", *(module.file for module in course.modules_before(item))]:
        (tmp_path / "tinytorch_ref" / f"{name}.py").write_text("")
    assert ("tinytorch_ref/datasets/set.npz" in handout.contents(course, item)) == shipped
