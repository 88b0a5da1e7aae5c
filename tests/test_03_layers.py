"""Properties of tinytorch_ref/layers.py: closed formulas, random shapes, and PyTorch's values where it is installed."""

import copy
import io
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.counters import count
from tinytorch_ref.layers import (
    GELU,
    Buffer,
    Dropout,
    Linear,
    Module,
    Parameter,
    ReLU,
    Sequential,
    Sigmoid,
    Tanh,
    linear_forward,
)
from tinytorch_ref.tensor import Tensor


def mlp(*sizes, seed=0):
    rng = np.random.default_rng(seed)
    layers = [layer for m, n in zip(sizes, sizes[1:]) for layer in (Linear(m, n, rng=rng), ReLU())]
    return Sequential(*layers[:-1])


class Block(Module):
    """Parts kept in every way, one parameter shared."""

    def __init__(self):
        self.embed = Linear(4, 4, rng=0)
        self.layers = [Linear(4, 4, rng=1), Sequential(Dropout(0.5, rng=0), Linear(4, 4, bias=False, rng=2))]
        self.heads = {"a": (Parameter([1.0]), Tanh())}
        self.layers[0].weight = self.embed.weight
        self.seen = Buffer([0])


@settings(max_examples=60, deadline=None)
@given(
    batch=st.lists(st.integers(0, 4), max_size=3),
    features=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    bias=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_linear_is_the_formula_for_any_shape(batch, features, bias, dtype):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(*batch, features[0])).astype(dtype)
    weight = rng.normal(size=features[::-1]).astype(dtype)
    offset = rng.normal(size=features[1]).astype(dtype) if bias else None
    expected = np.einsum("...i,oi->...o", x, weight) + (offset if bias else 0)
    got = linear_forward(x, weight, offset)
    assert got.shape == expected.shape and got.dtype == dtype
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("x", [np.ones((2, 4)), np.ones((4, 10)), np.float32(1.0), np.ones((5, 0))])
def test_linear_refuses_a_wrong_width(x):
    with pytest.raises(ValueError, match="5 features"):
        linear_forward(np.asarray(x), np.ones((3, 5)), np.ones(3))


def test_linear_keeps_the_scale_of_a_signal_through_fifty_layers():
    rng = np.random.default_rng(0)
    x = Tensor(rng.normal(size=(256, 256)))
    model = Sequential(*[layer for _ in range(50) for layer in (Linear(256, 256, rng=rng), ReLU())])
    assert 0.2 < float((model(x) ** 2).mean()) < 5


@pytest.mark.parametrize("features", [(30, 3000), (3000, 30)])
def test_weights_have_mean_0_and_variance_2_over_inputs(features):
    weight = Linear(*features, rng=1).weight.data
    assert abs(weight.mean()) < 4 * weight.std() / weight.size**0.5
    assert weight.var() == pytest.approx(2 / features[0], rel=0.03)


def test_parameters_hold_real_numbers_and_want_gradients():
    assert Parameter([1.0]).requires_grad and Parameter(Tensor([1.0])).requires_grad
    assert Parameter(np.ones(2)).dtype == np.float32
    assert Parameter(np.ones(2), dtype=np.float64).dtype == np.float64
    with pytest.raises(TypeError, match="real numbers"):
        Parameter([1, 2])
    array = np.ones(2, dtype=np.float32)
    assert not np.shares_memory(Parameter(array).data, array)


def test_walk_names_everything_once():
    names = [name for name, _ in Block().named_parameters()]
    assert names == [
        "embed.weight",
        "embed.bias",
        "layers.0.bias",
        "layers.1.1.weight",
        "heads.a.0",
    ] or names == [
        "heads.a.0",
        "embed.weight",
        "embed.bias",
        "layers.0.bias",
        "layers.1.1.weight",
    ]
    assert [name for name, _ in Block().named_modules()] == [
        "",
        "embed",
        "layers.0",
        "layers.1",
        "layers.1.0",
        "layers.1.1",
        "heads.a.1",
    ]
    assert [name for name, _ in Block().named_buffers()] == ["seen"]


def test_modes_and_gradients_reach_everything():
    block = Block()
    for parameter in block.parameters():
        parameter.grad = np.ones_like(parameter.data)
    block.zero_grad()
    assert all(parameter.grad is None for parameter in block.parameters())
    assert block.eval() is block and not any(module.training for module in block.modules())
    assert block.train() is block and all(module.training for module in block.modules())
    assert Module.training


def test_state_survives_a_file_and_a_failed_load():
    block, other = Block(), Block()
    for parameter in other.parameters():
        parameter[...] = parameter.data + 1
    file = io.BytesIO()
    np.savez(file, **block.state_dict())
    file.seek(0)
    state = dict(np.load(file, allow_pickle=False))
    del state["heads.a.0"]
    before = other.state_dict()
    with pytest.raises(ValueError, match="missing heads.a.0"):
        other.load_state_dict(state)
    assert all((before[name] == values).all() for name, values in other.state_dict().items())
    other.load_state_dict(block.state_dict())
    assert all((block.state_dict()[name] == values).all() for name, values in other.state_dict().items())
    assert other.layers[0].weight is other.embed.weight


def test_loading_counts_as_a_change_in_place():
    layer = Linear(2, 2, rng=0)
    before = layer.weight.version
    layer.load_state_dict(layer.state_dict())
    assert layer.weight.version > before


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copied_module_keeps_what_it_shares_and_shares_nothing_with_the_original(duplicate):
    block = Block()
    twin = duplicate(block)
    assert twin.layers[0].weight is twin.embed.weight
    assert type(twin.embed.weight) is Parameter and twin.embed.weight.requires_grad
    assert not np.shares_memory(twin.embed.weight.data, block.embed.weight.data)
    assert len(twin.parameters()) == len(block.parameters())


@settings(max_examples=30, deadline=None)
@given(p=st.floats(0, 1), dtype=st.sampled_from([np.float32, np.float64]))
def test_dropout_keeps_or_scales_each_element(p, dtype):
    x = Tensor(np.arange(1.0, 401.0).reshape(20, 20), dtype=dtype)
    y = Dropout(p, rng=0)(x)
    assert y.dtype == dtype and np.isfinite(y.data).all()
    kept = y.data != 0
    np.testing.assert_allclose(y.data[kept] * (1 - p), x.data[kept], rtol=1e-5)
    assert abs(kept.mean() - (1 - p)) <= 5 * (p * (1 - p) / 400) ** 0.5 + 1e-9


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_dropout_refuses_what_is_no_probability(p):
    with pytest.raises(ValueError, match="probability"):
        Dropout(p)


def test_sequential_is_a_sequence():
    model = mlp(4, 3, 2)
    assert len(model) == 3 and isinstance(model[1], ReLU) and model[-1].out_features == 2
    assert isinstance(model[:2], Sequential) and len(model[:2]) == 2 and model[:2][0] is model[0]
    model[-3] = Linear(4, 3, rng=9)
    assert len(model) == 3 and [name for name, _ in model.named_children()] == ["0", "1", "2"]
    with pytest.raises(IndexError):
        model[3]
    with pytest.raises(IndexError):
        model[3] = ReLU()


def test_a_forward_pass_counts_what_the_formula_says_and_makes_one_array_a_module():
    model, x = mlp(20, 30, 10), Tensor(np.zeros((7, 20)))
    with count() as counted:
        model(x)
    assert counted.flops == 7 * (2 * 20 * 30 + 30 + 30 + 2 * 30 * 10 + 10)
    assert counted.arrays == 3 and counted.complete


def test_float32_goes_through_every_layer():
    model = Sequential(Linear(3, 3, rng=0), GELU(), Sigmoid(), Tanh(), ReLU(), Dropout(0.3, rng=0))
    assert model(Tensor(np.ones((2, 3)))).dtype == np.float32


def test_repr_is_like_pytorchs():
    assert repr(Sequential(Linear(4, 3, bias=False), Sequential(ReLU(), Dropout(0.5)))) == (
        "Sequential(\n"
        "  (0): Linear(in_features=4, out_features=3, bias=False)\n"
        "  (1): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Dropout(p=0.5)\n"
        "  )\n"
        ")"
    )


def test_a_module_without_forward_says_so():
    with pytest.raises(NotImplementedError, match="Block does not define forward"):
        Block()(Tensor([1.0]))


def test_same_values_and_names_as_pytorch():
    torch = pytest.importorskip("torch")
    theirs = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.GELU("tanh"), torch.nn.Linear(4, 3))
    ours = Sequential(Linear(5, 4), GELU(), Linear(4, 3))
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    ours.load_state_dict({name: values.numpy() for name, values in theirs.state_dict().items()})
    x = np.random.default_rng(0).normal(size=(2, 6, 5)).astype(np.float32)
    expected = theirs(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(ours(Tensor(x)).data, expected, rtol=1e-5, atol=1e-6)
    assert repr(ours[0]) == repr(theirs[0])
