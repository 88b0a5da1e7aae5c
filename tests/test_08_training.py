"""Properties of tinytorch_ref/training.py: accumulation, evaluation, reports, checkpoints and the whole loop."""

import itertools
import json
import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.counters import peak_memory
from tinytorch_ref import training
from tinytorch_ref.data import DataLoader, TensorDataset, load_digits
from tinytorch_ref.layers import Dropout, Linear, ReLU, Sequential
from tinytorch_ref.losses import cross_entropy, mse_loss
from tinytorch_ref.optimizers import SGD, Adam, CosineAnnealingLR, StepLR
from tinytorch_ref.tensor import Tensor
from tinytorch_ref.training import (
    EarlyStopping,
    accuracy,
    compute_gradients,
    evaluate,
    fit,
    gradient_report,
    load_checkpoint,
    progress,
    save_checkpoint,
    train_epoch,
)


def mlp(*sizes, seed=0, dropout=None):
    rng = np.random.default_rng(seed)
    layers = []
    for m, n in itertools.pairwise(sizes):
        layers += [Linear(m, n, rng=rng), ReLU()] + ([Dropout(0.2, rng=dropout)] if dropout else [])
    return Sequential(*layers[: -3 if dropout else -1], *layers[-3:-2] if dropout else [])


def classes(rows, features=4, kinds=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, features)).astype(np.float32)
    return TensorDataset(x, np.argmax(x[:, :kinds], axis=1))


def gradients(model):
    return np.concatenate([p.grad.ravel() for p in model.parameters()])


@settings(max_examples=40, deadline=None)
@given(rows=st.integers(1, 12), parts=st.integers(1, 15))
def test_gradients_in_parts_are_those_of_the_whole(rows, parts):
    x, y = classes(rows).batch(np.arange(rows))
    whole, cut = mlp(4, 8, 3), mlp(4, 8, 3)
    loss = compute_gradients(whole, x, y, cross_entropy)
    assert compute_gradients(cut, x, y, cross_entropy, parts) == pytest.approx(loss, rel=1e-5)
    np.testing.assert_allclose(gradients(cut), gradients(whole), rtol=1e-4, atol=1e-6)


def test_peak_falls_with_the_number_of_parts():
    model, rng = mlp(16, 128, 128, 128, 10), np.random.default_rng(0)
    x, y = Tensor(rng.normal(size=(2048, 16))), Tensor(rng.integers(10, size=2048))
    peaks = []
    for parts in (1, 1, 2, 4, 8):  # the first time makes the gradients
        with peak_memory() as measured:
            compute_gradients(model, x, y, cross_entropy, parts)
        peaks.append(measured.peak_bytes)
    ratios = [peak / peaks[1] for peak in peaks[1:]]
    assert ratios == pytest.approx([1, 1 / 2, 1 / 4, 1 / 8], abs=0.05)


@settings(max_examples=30, deadline=None)
@given(rows=st.integers(1, 20), batch_size=st.integers(1, 8))
def test_means_do_not_depend_on_the_batches(rows, batch_size):
    dataset, model = classes(rows), mlp(4, 8, 3)
    x, y = dataset.batch(np.arange(rows))
    logits = model(x)
    expected = [cross_entropy(logits, y).item(), accuracy(logits, y)]
    loader = DataLoader(dataset, batch_size)
    assert evaluate(model, loader, cross_entropy, accuracy) == pytest.approx(expected, rel=1e-5)
    still = SGD(model.parameters(), lr=0.0)
    assert train_epoch(model, loader, cross_entropy, still) == pytest.approx(expected[0], rel=1e-5)


@pytest.mark.parametrize("parts, max_norm", [(1, None), (3, 0.5)])
def test_an_epoch_is_pytorchs(parts, max_norm):
    torch = pytest.importorskip("torch")
    dataset, model = classes(23), mlp(4, 8, 3)
    theirs = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    theirs.load_state_dict({name: torch.tensor(p.data) for name, p in model.named_parameters()})
    optimizer, reference = Adam(model.parameters(), lr=0.01), torch.optim.Adam(theirs.parameters(), lr=0.01)
    scheduler = StepLR(optimizer, 2, 0.5)
    schedule = torch.optim.lr_scheduler.StepLR(reference, 2, 0.5)
    loss = train_epoch(model, DataLoader(dataset, 5), cross_entropy, optimizer, parts, max_norm, scheduler)
    total = 0.0
    for x, y in DataLoader(dataset, 5):
        reference.zero_grad()
        value = torch.nn.functional.cross_entropy(theirs(torch.tensor(x.data)), torch.tensor(y.data))
        value.backward()
        total += value.item() * len(x)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(theirs.parameters(), max_norm)
        reference.step()
        schedule.step()
    assert loss == pytest.approx(total / 23, rel=1e-5)
    for p, q in zip(model.parameters(), theirs.parameters()):
        np.testing.assert_allclose(p.data, q.detach().numpy(), rtol=1e-3, atol=1e-5)


def test_modes_are_put_back_also_after_an_error():
    model = Sequential(Dropout(0.5), Sequential(Dropout(0.5), Linear(4, 3, rng=0)))
    model[1][0].eval()
    before = [module.training for module in model.modules()]

    def fails(prediction, target):
        assert not any(module.training for module in model.modules())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        evaluate(model, DataLoader(classes(5), 2), fails)
    assert [module.training for module in model.modules()] == before
    assert (model(Tensor(np.ones((1, 4)))) * 1.0).requires_grad  # and operations are recorded again


def test_no_batches_are_an_error():
    model = mlp(4, 3)
    with pytest.raises(ValueError, match="no batches"):
        evaluate(model, [], cross_entropy)
    with pytest.raises(ValueError, match="no batches"):
        train_epoch(model, iter([]), cross_entropy, SGD(model.parameters(), lr=0.1))


def test_accuracy_refuses_a_column_of_targets():
    with pytest.raises(ValueError, match=r"\(3, 1\)"):
        accuracy(Tensor(np.zeros((3, 2))), Tensor([[0], [1], [0]]))


def test_report_of_networks_that_are_ill():
    x, y = classes(8).batch(np.arange(8))
    model = mlp(4, 8, 8, 3)
    assert set(gradient_report(model).values()) == {"missing"}
    compute_gradients(model, x, y, cross_entropy)
    assert set(gradient_report(model).values()) == {"fine"}
    assert set(gradient_report(model, largest=1e-9).values()) == {"exploding"}
    assert set(gradient_report(model, smallest=1e9, largest=1e9).values()) == {"dead"}
    model.zero_grad()
    model[0].bias[...] = -100.0
    compute_gradients(model, x, y, cross_entropy)
    report = gradient_report(model)
    assert report["0.weight"] == report["2.weight"] == "dead" and report["4.bias"] == "fine"
    model[4].weight.grad[0, 0] = np.nan
    assert gradient_report(model)["4.weight"] == "not finite"


def a_run(seed):
    rng = np.random.default_rng(seed)
    model = mlp(4, 16, 3, seed=seed, dropout=rng)
    optimizer = Adam(model.parameters(), lr=0.01)
    return {
        "model": model,
        "optimizer": optimizer,
        "scheduler": CosineAnnealingLR(optimizer, T_max=60),
        "loader": DataLoader(classes(50), 8, shuffle=True, seed=seed),
        "stopping": EarlyStopping(patience=100),
        "rng": rng,
    }


def go_on(run, epochs):
    unseen = DataLoader(classes(20, seed=1), 7)
    options = {
        "validation": unseen,
        "stopping": run["stopping"],
        "scheduler": run["scheduler"],
        "max_norm": 1.0,
    }
    return fit(run["model"], run["loader"], cross_entropy, run["optimizer"], epochs, **options)


@pytest.mark.parametrize("stop", [1, 3, 5])
def test_a_resumed_training_is_the_same_to_the_last_bit(stop, tmp_path):
    straight, broken = a_run(0), a_run(0)
    expected = {"train": [], "validation": []}
    for epoch in range(1, 7):
        for kind, values in go_on(straight, epoch).items():
            expected[kind] += values
    got = {"train": [], "validation": []}
    for epoch in range(1, 7):
        for kind, values in go_on(broken, epoch).items():
            got[kind] += values
        if epoch == stop:
            save_checkpoint(tmp_path / "run", **broken, losses=json.dumps(got))
            broken = a_run(99)
            got = json.loads(load_checkpoint(tmp_path / "run", **broken)["losses"])
    assert got == expected
    assert broken["stopping"].best == straight["stopping"].best
    for p, q in zip(broken["model"].parameters(), straight["model"].parameters()):
        np.testing.assert_array_equal(p.data, q.data)


def test_a_checkpoint_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path, model = tmp_path / "run.npz", mlp(4, 3)
    save_checkpoint(path, model=model, epoch=1)
    before = path.read_bytes()

    def full(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        with pytest.raises(OSError, match="disk full"):
            save_checkpoint(path, model=model, epoch=2)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["run.npz"]
    with monkeypatch.context() as patch:  # a crash before the file is put in place
        patch.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            save_checkpoint(path, model=model, epoch=2)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["run.npz"]


def test_a_load_fills_all_parts_or_none(tmp_path):
    path, rng = tmp_path / "run.npz", np.random.default_rng(0)
    model = mlp(4, 3)
    optimizer, stopping = SGD(model.parameters(), lr=0.5, momentum=0.9), EarlyStopping()
    compute_gradients(model, Tensor(np.ones((2, 4))), Tensor([0, 1]), cross_entropy)
    optimizer.step()
    scheduler, loader = StepLR(optimizer, 3), DataLoader([0, 1, 2], seed=5)
    stopping.update(1.0, model)
    save_checkpoint(
        path,
        model=model,
        optimizer=optimizer,
        scheduler=scheduler,
        loader=loader,
        rng=rng,
        stopping=stopping,
        epoch=3,
    )

    other = mlp(4, 3, seed=1)
    parts = {
        "model": other,
        "optimizer": SGD(other.parameters(), lr=0.25, momentum=0.9),
        "loader": DataLoader([0, 1, 2], seed=7),
        "rng": np.random.default_rng(9),
        "stopping": EarlyStopping(),
    }
    before = {name: training.entries_of(part) for name, part in parts.items()}
    misfits = [
        ({"scheduler": Adam(other.parameters())}, ValueError),
        ({"epoch": np.random.default_rng(0)}, ValueError),
        ({"scheduler": DataLoader([0])}, ValueError),
        ({"epoch": 0}, TypeError),  # plain values are returned, not filled
    ]
    for misfit, error in misfits:
        with pytest.raises(error):
            load_checkpoint(path, **parts, **misfit)
        for name, part in parts.items():
            after = training.entries_of(part)
            assert after.keys() == before[name].keys()
            for entry, array in after.items():
                np.testing.assert_array_equal(array, before[name][entry])
    load_checkpoint(path, **parts)
    np.testing.assert_array_equal(other[0].weight.data, model[0].weight.data)
    assert parts["loader"].seed == 5 and parts["stopping"].best == 1.0


def test_a_checkpoint_holds_no_python_objects(tmp_path):
    path = tmp_path / "run.npz"
    with pytest.raises(TypeError, match="Python objects"):
        save_checkpoint(path, thing={"a": 1})
    assert not os.listdir(tmp_path)
    np.savez(path, **{"x/value": np.array([{}], dtype=object)})
    with pytest.raises(ValueError, match="allow_pickle"):
        load_checkpoint(path)


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_any_generator_can_be_saved(kind, tmp_path):
    rng, other = np.random.Generator(kind(1)), np.random.Generator(kind(2))
    rng.normal(size=3)
    save_checkpoint(tmp_path / "rng", rng=rng)
    load_checkpoint(tmp_path / "rng", rng=other)
    np.testing.assert_array_equal(other.random(5), rng.random(5))


@settings(max_examples=60, deadline=None)
@given(
    losses=st.lists(st.one_of(st.floats(-5, 5), st.just(math.nan)), min_size=1, max_size=12),
    patience=st.integers(1, 4),
)
def test_early_stopping_stops_at_the_first_long_wait(losses, patience):
    stopping, model, best, waited = EarlyStopping(patience), mlp(2, 1), math.inf, 0
    for loss in losses:
        best, waited = (loss, 0) if loss < best else (best, waited + 1)
        assert stopping.update(loss, model) == (waited >= patience)
        assert stopping.best == best
        if waited >= patience:
            break


def test_fit_needs_validation_data_to_stop():
    model = mlp(2, 1)
    with pytest.raises(ValueError, match="validation"):
        fit(
            model, DataLoader(classes(4)), mse_loss, SGD(model.parameters(), 0.1), 1, stopping=EarlyStopping()
        )


def test_progress_is_quiet_unless_watched(capsys, monkeypatch):
    monkeypatch.setattr(training, "somebody_watches", lambda: False)
    assert list(progress([1, 2, 3], "epoch")) == [1, 2, 3]
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(training, "somebody_watches", lambda: True)
    assert list(progress(iter([1, 2]))) == [1, 2]  # no length, no bar
    assert capsys.readouterr().out == ""
    assert list(progress([1, 2, 3], "epoch", width=6)) == [1, 2, 3]
    out = capsys.readouterr().out
    assert "epoch [##....] 1/3" in out and out.endswith("\r") and "\n" not in out and out.isascii()
    monkeypatch.undo()
    monkeypatch.setenv("TINYTORCH_PROGRESS", "0")
    assert not training.somebody_watches()


def test_digits_are_learned():
    def pixels(images):
        return images.reshape(*images.shape[:-2], 64).astype(np.float32) / 16

    model = mlp(64, 64, 10)
    loader = DataLoader(load_digits(transform=pixels), 32, shuffle=True)
    optimizer = Adam(model.parameters(), lr=0.003)
    test = DataLoader(load_digits(train=False, transform=pixels), 512)
    history = fit(model, loader, cross_entropy, optimizer, 12, validation=test)
    assert history["train"][-1] < 0.1 < history["train"][0]
    assert evaluate(model, test, accuracy)[0] > 0.88
