"""Properties of tinytorch_ref/optimizers.py: the published updates, memory, and PyTorch's values where it is installed."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.counters import count, peak_memory
from tinytorch_ref.autograd import no_grad
from tinytorch_ref.layers import Linear, Parameter, ReLU, Sequential
from tinytorch_ref.optimizers import (
    SGD,
    Adam,
    AdamW,
    CosineAnnealingLR,
    LinearLR,
    SequentialLR,
    StepLR,
    clip_grad_norm_,
)
from tinytorch_ref.tensor import Tensor

KINDS = [
    (SGD, {"lr": 0.1}),
    (SGD, {"lr": 0.1, "weight_decay": 0.2}),
    (SGD, {"lr": 0.05, "momentum": 0.9}),
    (SGD, {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1}),
    (SGD, {"lr": 0.05, "momentum": 0.8, "nesterov": True}),
    (SGD, {"lr": 0.05, "momentum": 0.8, "nesterov": True, "weight_decay": 0.1}),
    (Adam, {"lr": 0.01}),
    (Adam, {"lr": 0.01, "weight_decay": 0.3}),
    (Adam, {"lr": 0.1, "betas": (0.5, 0.9), "eps": 0.01}),
    (AdamW, {"lr": 0.01}),
    (AdamW, {"lr": 0.1, "weight_decay": 0.5, "betas": (0.0, 0.99)}),
]
IDS = [f"{kind.__name__}-{'-'.join(map(str, options))}" for kind, options in KINDS]


def with_gradients(*shapes, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    parameters = [Parameter(rng.normal(size=shape), dtype=dtype) for shape in shapes]
    for parameter in parameters:
        parameter.grad = rng.normal(size=parameter.shape).astype(dtype)
    return parameters


@pytest.mark.parametrize("kind, options", KINDS, ids=IDS)
def test_a_hundred_steps_are_pytorchs(kind, options):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    start = rng.normal(size=(4, 3))
    gradients = rng.normal(size=(100, 4, 3)) * np.array([1.0, 10.0, 1e-3])
    ours, theirs = Parameter(start, dtype=np.float64), torch.nn.Parameter(torch.tensor(start))
    unused, theirs_unused = Parameter([1.0, 2.0]), torch.nn.Parameter(torch.ones(2))
    optimizer = kind([ours, unused], **options)
    reference = getattr(torch.optim, kind.__name__)([theirs, theirs_unused], **options)
    for gradient in gradients:
        ours.grad, theirs.grad = gradient, torch.tensor(gradient)
        optimizer.step()
        reference.step()
        np.testing.assert_allclose(ours.data, theirs.detach().numpy(), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(unused.data, [1.0, 2.0])


@pytest.mark.parametrize("kind, options", KINDS, ids=IDS)
def test_training_in_float32_stays_with_pytorch(kind, options):
    torch = pytest.importorskip("torch")
    start = np.random.default_rng(1).normal(size=50).astype(np.float32)
    ours, theirs = Parameter(start), torch.nn.Parameter(torch.tensor(start))
    optimizer, reference = kind([ours], **options), getattr(torch.optim, kind.__name__)([theirs], **options)
    for _ in range(100):
        for each in (optimizer, reference):
            each.zero_grad()
        ((ours - 1.0) ** 2).mean().backward()
        ((theirs - 1.0) ** 2).mean().backward()
        optimizer.step()
        reference.step()
    np.testing.assert_allclose(ours.data, theirs.detach().numpy(), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("max_norm", [0.1, 3.0, 100.0])
def test_clipping_is_pytorchs(max_norm):
    torch = pytest.importorskip("torch")
    ours = with_gradients((3, 4), (5,), ())
    theirs = [torch.nn.Parameter(torch.tensor(p.data)) for p in ours]
    for p, q in zip(ours, theirs):
        q.grad = torch.tensor(p.grad)
    norm = clip_grad_norm_(ours, max_norm)
    assert norm == pytest.approx(float(torch.nn.utils.clip_grad_norm_(theirs, max_norm)), rel=1e-5)
    for p, q in zip(ours, theirs):
        np.testing.assert_allclose(p.grad, q.grad.numpy(), rtol=1e-5)


@pytest.mark.parametrize(
    "make, steps",
    [
        (lambda s, o: s.StepLR(o, step_size=4, gamma=0.3), 20),
        (lambda s, o: s.CosineAnnealingLR(o, T_max=15, eta_min=0.02), 15),
        (lambda s, o: s.LinearLR(o, start_factor=0.1, total_iters=7), 12),
        (lambda s, o: s.LinearLR(o), 12),
        (
            lambda s, o: s.SequentialLR(
                o,
                [s.LinearLR(o, start_factor=0.1, total_iters=5), s.CosineAnnealingLR(o, T_max=10)],
                milestones=[5],
            ),
            15,
        ),
    ],
    ids=["step", "cosine", "linear", "linear by default", "warm-up and cosine"],
)
@pytest.mark.filterwarnings("ignore")  # PyTorch's SequentialLR warns of its own use of scheduler.step(epoch)
def test_schedules_are_pytorchs(make, steps):
    torch = pytest.importorskip("torch")
    import tinytorch_ref.optimizers as ours

    optimizer, reference = SGD([Parameter([1.0])], lr=0.5), torch.optim.SGD([torch.zeros(1)], lr=0.5)
    scheduler, theirs = make(ours, optimizer), make(torch.optim.lr_scheduler, reference)
    for _ in range(steps):
        assert optimizer.lr == pytest.approx(reference.param_groups[0]["lr"], rel=1e-9, abs=1e-12)
        reference.step()
        scheduler.step()
        theirs.step()


@pytest.mark.parametrize("kind, options", KINDS, ids=IDS)
def test_a_step_makes_no_array_and_leaves_the_gradient(kind, options):
    parameters = with_gradients((40, 30), (7,), ())
    arrays = [p.data for p in parameters]
    grads = [p.grad.copy() for p in parameters]
    optimizer = kind(parameters, **options)
    optimizer.step()
    with count() as counted:
        optimizer.step()
    assert counted.complete and counted.arrays == 0, counted.why
    with peak_memory() as measured:
        optimizer.step()
    assert measured.peak_bytes < 4800 and measured.kept_bytes == 0
    assert all(p.data is array for p, array in zip(parameters, arrays))
    assert all(np.array_equal(p.grad, grad) for p, grad in zip(parameters, grads))
    assert all(p.dtype == np.float32 and p.version == 3 for p in parameters)


@pytest.mark.parametrize(
    "kind, options, arrays",
    [(SGD, {"lr": 1.0}, 0), (SGD, {"lr": 1.0, "momentum": 0.9}, 1), (Adam, {}, 2), (AdamW, {}, 2)],
)
def test_state_of_a_million_numbers(kind, options, arrays):
    parameters = with_gradients((500, 500), (500, 500), (500, 500), (500, 500))
    with peak_memory() as measured:
        optimizer = kind(parameters, **options)
        optimizer.step()
    assert optimizer.state_bytes() == arrays * 4_000_000
    assert measured.kept_bytes == arrays * 4_000_000 + 1_000_000  # the scratch


@pytest.mark.parametrize("kind, options", KINDS, ids=IDS)
def test_state_goes_through_a_file(kind, options, tmp_path):
    def steps(optimizer, number):
        rng = np.random.default_rng(number)
        for parameter in optimizer.parameters[:2]:  # the third never has a gradient
            parameter.grad = rng.normal(size=parameter.shape).astype(np.float32)
        optimizer.step()

    one, other = (kind([Parameter(np.ones(s)) for s in [(2, 3), (), (4,)]], **options) for _ in "ab")
    for number in range(6):
        steps(one, number)
        if number == 3:
            np.savez(tmp_path / "state.npz", **other.state_dict())
            with np.load(tmp_path / "state.npz", allow_pickle=False) as saved:
                fresh = kind(other.parameters, **options)
                fresh.load_state_dict(dict(saved))
                other = fresh
        steps(other, number)
    for p, q in zip(one.parameters, other.parameters):
        np.testing.assert_array_equal(p.data, q.data)


@settings(max_examples=80, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    exponent=st.integers(-30, 30),
    max_norm=st.floats(1e-3, 1e3),
)
def test_clipping_keeps_direction_and_limit(sizes, exponent, max_norm):
    parameters = with_gradients(*sizes)
    for parameter in parameters:
        parameter.grad *= np.float32(10.0**exponent)
    before = np.concatenate([p.grad for p in parameters]).astype(np.float64)
    norm = clip_grad_norm_(parameters, max_norm)
    after = np.concatenate([p.grad for p in parameters]).astype(np.float64)
    assert norm == pytest.approx(math.sqrt((before**2).sum()), rel=1e-6)
    expected = before if norm <= max_norm else before * (max_norm / norm)
    np.testing.assert_allclose(after, expected, rtol=1e-5, atol=1e-43)


def test_an_optimizer_refuses_what_is_no_list_of_parameters():
    p = Parameter([1.0])
    with pytest.raises(TypeError, match="list"):
        SGD(p, lr=0.1)
    with pytest.raises(ValueError, match="without parameters"):
        Adam([])
    with pytest.raises(ValueError, match="twice"):
        SGD([p, p], lr=0.1)
    with pytest.raises(ValueError, match="negative"):
        SGD([p], lr=-0.1)
    with pytest.raises(ValueError, match="momentum"):
        SGD([p], lr=0.1, nesterov=True)
    with pytest.raises(ValueError, match="milestone"):
        SequentialLR(SGD([p], lr=0.1), [], [])


def test_parameters_of_two_precisions_keep_theirs():
    single, double = with_gradients((3,))[0], with_gradients((200,), dtype=np.float64)[0]
    optimizer = Adam([single, double], weight_decay=0.1)
    optimizer.step()
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    assert optimizer.state[1]["mean"].dtype == np.float64


def test_schedulers_resume_with_the_first_rate():
    makers = [
        lambda o: StepLR(o, 3),
        lambda o: CosineAnnealingLR(o, 10),
        lambda o: SequentialLR(o, [LinearLR(o), CosineAnnealingLR(o, 10)], [5]),
    ]
    for make in makers:
        first, second = (SGD([Parameter([0.0])], lr=0.3) for _ in "ab")
        scheduler = make(first)
        for _ in range(7):
            scheduler.step()
        resumed = make(second)
        resumed.load_state_dict(scheduler.state_dict())
        for _ in range(4):
            assert first.lr == second.lr
            scheduler.step()
            resumed.step()


@pytest.mark.parametrize(
    "kind, options", [(SGD, {"lr": 0.1, "momentum": 0.9}), (Adam, {"lr": 0.01}), (AdamW, {"lr": 0.01})]
)
def test_xor_is_learned(kind, options):
    x, y = Tensor(list(itertools.product([0.0, 1.0], repeat=2))), Tensor([[0.0], [1.0], [1.0], [0.0]])
    model = Sequential(Linear(2, 16, rng=0), ReLU(), Linear(16, 1, rng=1))
    optimizer = kind(model.parameters(), **options)
    for _ in range(500):
        optimizer.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    with no_grad():
        assert float(((model(x) - y) ** 2).mean()) < 0.01
