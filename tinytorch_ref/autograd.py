# Built from source/06_autograd/06_autograd.py by `tinytorch build`; change it there.
"""Autograd: note every operation on tensors, then run them backwards to get gradients."""

import inspect
import itertools
import math
from contextlib import contextmanager
from heapq import heappop, heappush
from weakref import ref

import numpy as np

from tinytorch_ref.activations import blocks, gelu_forward, log_softmax_forward, relu_forward, sigmoid_forward, softmax_forward, tanh_forward
from tinytorch_ref.layers import dropout_forward, linear_forward
from tinytorch_ref.losses import binary_cross_entropy_with_logits_forward, cross_entropy_forward, mse_loss_forward
from tinytorch_ref.tensor import Recorder, Tensor, absolute, add, cast, divide, equal, exp, greater, greater_equal, index, less, less_equal, log, matmul, multiply, negative, not_equal, permute, power, reduce_max, reduce_mean, reduce_sum, reshape, scalar_power, sqrt, subtract

__all__ = [
    "unbroadcast", "RULES", "gradient_rule", "no_gradient", "add_rule", "subtract_rule", "negative_rule",
    "absolute_rule", "sqrt_rule", "power_rule", "cast_rule", "multiply_rule", "divide_rule", "exp_rule",
    "log_rule", "scalar_power_rule", "make_backward", "kept_arrays", "Changes", "Node", "changed_in_place",
    "GradientRecorder", "no_grad", "detach", "first_gradient", "accumulate", "walk", "numerical_gradient",
    "gradcheck", "graph_nodes", "saved_bytes", "draw_graph", "matmul_rule", "restore_axes", "may_repeat",
    "reshape_rule", "permute_rule", "reduce_sum_rule", "reduce_mean_rule", "reduce_max_rule", "index_rule",
    "relu_rule", "softmax_rule", "linear_rule", "sigmoid_rule", "tanh_rule", "gelu_rule", "log_softmax_rule",
    "dropout_rule", "mse_loss_rule", "binary_cross_entropy_rule", "cross_entropy_rule",
]


def unbroadcast(grad, shape):
    """Sum a gradient over the axes along which broadcasting repeated an operand.

    Parameters
    ----------
    grad : numpy.ndarray
        Gradient of the result.
    shape : tuple of int
        Shape of the operand; it broadcasts to the shape of `grad`.

    Returns
    -------
    numpy.ndarray of shape `shape`
        `grad` itself if nothing was repeated.

    Examples
    --------
    >>> unbroadcast(np.ones((2, 3)), (3,))
    array([2., 2., 2.])
    >>> unbroadcast(np.ones((2, 3)), (2, 1))
    array([[3.],
           [3.]])
    """
    if grad.shape == shape:
        return grad
    extra = grad.ndim - len(shape)
    stretched = [extra + axis for axis, length in enumerate(shape) if length == 1]
    return grad.sum(axis=(*range(extra), *stretched)).reshape(shape)


RULES = {}  # primitive -> (rule, whether the rule has a parameter `needs`)


def gradient_rule(primitive):
    """Register the gradient rule of a primitive; a decorator.

    Parameters
    ----------
    primitive : function
        As given to `apply`.

    Notes
    -----
    The rule is called as `rule(output, *arrays, **params)` with the arrays of the operation and the parameters that
    the primitive had. If it has a parameter `needs`, it gets a list of bools, one an input; if the primitive returned
    `(output, saved)`, the rule gets `saved`. It returns `backward`, or None if the result has no gradient.

    `backward(grad)` takes an array of the shape of the output, which it must not change, and returns a tuple with one
    array an input, of the input's shape; None is allowed where none is needed. Each is an array of its own, or
    `grad` itself, or a view of it. The arrays that `backward` names stay in memory until the backward pass.
    """

    def register(rule):
        RULES[primitive] = rule, "needs" in inspect.signature(rule).parameters
        return rule

    return register


def no_gradient(*primitives):
    """Declare that the results of these primitives have no gradient, such as those of comparisons."""
    for primitive in primitives:
        RULES[primitive] = (lambda *arrays, **params: None), False


no_gradient(equal, not_equal, less, less_equal, greater, greater_equal)


@gradient_rule(add)
def add_rule(output, a, b):
    """Both operands move the sum one to one."""
    shape_a, shape_b = a.shape, b.shape

    def backward(grad):
        return unbroadcast(grad, shape_a), unbroadcast(grad, shape_b)

    return backward


@gradient_rule(subtract)
def subtract_rule(output, a, b, needs):
    """The second operand moves the difference the other way."""
    shape_a, shape_b = a.shape, b.shape

    def backward(grad):
        return unbroadcast(grad, shape_a), unbroadcast(-grad, shape_b) if needs[1] else None

    return backward


@gradient_rule(negative)
def negative_rule(output, a):
    """The sign turns round."""
    return lambda grad: (-grad,)


@gradient_rule(absolute)
def absolute_rule(output, a):
    """The slope is the sign; at 0 it is 0."""
    return lambda grad: (grad * np.sign(a),)


@gradient_rule(sqrt)
def sqrt_rule(output, a):
    """The slope is 1 / (2 √a): infinite at 0."""
    return lambda grad: (grad * 0.5 / output,)


@gradient_rule(power)
def power_rule(output, a, b, needs):
    """Slopes b · a^(b - 1) by the base and a^b · log a by the exponent; no NaN where an operand is 0."""
    shape_a, shape_b = a.shape, b.shape

    def backward(grad):
        by_base = grad * b * a ** np.where(b == 0, 0, b - 1) if needs[0] else None
        by_exponent = grad * output * np.log(np.where(a == 0, 1, a)) if needs[1] else None
        return (
            unbroadcast(by_base, shape_a) if needs[0] else None,
            unbroadcast(by_exponent, shape_b) if needs[1] else None,
        )

    return backward


@gradient_rule(cast)
def cast_rule(output, a, dtype):
    """The gradient goes back to the precision of the input; integers have none."""
    before = a.dtype
    return (lambda grad: (grad.astype(before),)) if output.dtype.kind == "f" else None


@gradient_rule(multiply)
def multiply_rule(output, a, b, needs):
    """Gradient rule of `a * b`, which broadcasts.

    Returns
    -------
    function
        `backward(grad)` returns two gradients, of the shapes of `a` and `b`; None for an operand that needs none.
        It keeps `a` only if `b` needs a gradient, and `b` only if `a` does.

    Examples
    --------
    >>> a, b = np.array([1.0, 2.0]), np.array([3.0])
    >>> multiply_rule(a * b, a, b, needs=(True, True))(np.array([1.0, 10.0]))
    (array([ 3., 30.]), array([21.]))
    """
    shape_a, shape_b = a.shape, b.shape
    slope_a = b if needs[0] else None
    slope_b = a if needs[1] else None

    def backward(grad):
        return (
            None if slope_a is None else unbroadcast(grad * slope_a, shape_a),
            None if slope_b is None else unbroadcast(grad * slope_b, shape_b),
        )

    return backward


@gradient_rule(divide)
def divide_rule(output, a, b, needs):
    """Gradient rule of `a / b`, which broadcasts; None for an operand that needs none."""
    shape_a, shape_b = a.shape, b.shape
    quotient = output if needs[1] else None

    def backward(grad):
        by_a = grad / b
        return (
            unbroadcast(by_a, shape_a) if needs[0] else None,
            unbroadcast(-by_a * quotient, shape_b) if needs[1] else None,
        )

    return backward


@gradient_rule(exp)
def exp_rule(output, a):
    """Gradient rule of the exponential. `backward` returns a tuple even for one input."""
    return lambda grad: (grad * output,)


@gradient_rule(log)
def log_rule(output, a):
    """Gradient rule of the natural logarithm."""
    return lambda grad: (grad / a,)


@gradient_rule(scalar_power)
def scalar_power_rule(output, a, exponent):
    """Gradient rule of `a` to the power of one Python number."""
    exponent = float(exponent)  # an np.float64 would turn float32 arrays into float64

    def backward(grad):
        if exponent == 0:
            return (np.zeros_like(grad),)
        return (grad * (exponent * scalar_power(a, exponent - 1)),)

    return backward


def make_backward(primitive, output, inputs, needs, saved, params):
    """Run the gradient rule of an operation that was just computed.

    Returns
    -------
    function or None
        What the rule returned.

    Raises
    ------
    RuntimeError
        If the primitive has no rule; the message names it.
    """
    rule, wants_needs = RULES.get(primitive, (None, False))
    if rule is None:
        name = primitive.__name__
        raise RuntimeError(
            f"{name} has no gradient rule, and an input requires a gradient: write one with @gradient_rule({name}), "
            f"or compute under no_grad()"
        )
    if wants_needs:
        params["needs"] = needs  # the door made this dict for this one operation
    if saved is not None:
        params["saved"] = saved
    return rule(output.data, *[tensor.data for tensor in inputs], **params)


def kept_arrays(value, seen=()):
    """Arrays that a backward function keeps, in its closure or defaults; looks into tuples, lists and functions."""
    if isinstance(value, np.ndarray):
        return [value]
    if any(value is known for known in seen):  # a function that calls itself is in its own closure
        return []
    inside = value
    if not isinstance(value, (tuple, list)):
        inside = [*_closure(value), *(getattr(value, "__defaults__", None) or ())]
    return [array for part in inside for array in kept_arrays(part, (*seen, value))]


def _closure(function):
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a name that was never bound, such as one for a gradient that nobody needs
            pass


class Changes:
    """Which arrays were changed in place, and when."""

    def __init__(self):
        self.last = -1  # when the last change came, on the clock of `Node.order`
        self.owners = {}  # id of the array that owns the memory -> (when, weak reference)

    def note(self, array):
        """Note that the values of `array` have just changed."""
        owner = array.base if isinstance(array.base, np.ndarray) else array
        key, self.last = id(owner), next(Node.made)
        self.owners[key] = self.last, ref(owner, lambda _: self.owners.pop(key, None))

    def hit(self, array, order):
        """Whether the memory of `array` was changed after `order`."""
        owners = [reference() for when, reference in list(self.owners.values()) if when > order]
        return any(owner is not None and np.may_share_memory(array, owner) for owner in owners)


class Node:
    """One noted operation: where the gradients of its inputs go, and the function that computes them.

    Parameters
    ----------
    primitive : function
        The operation.
    edges : list
        For each input the node that made it, or the tensor if it is a leaf, or None if it needs no gradient.
    backward : function
        As a gradient rule returns it.
    output : numpy.ndarray

    Attributes
    ----------
    order : int
        Counts the nodes as they are made: a node is younger than all that its inputs came from.
    shape, dtype
        Of the output, and so of the gradient that arrives.
    """

    __slots__ = ("primitive", "edges", "backward", "order", "shape", "dtype")
    made, changes = itertools.count(), Changes()

    def __init__(self, primitive, edges, backward, output):
        self.primitive, self.edges, self.backward = primitive, edges, backward
        self.order = next(Node.made)
        self.shape, self.dtype = output.shape, output.dtype

    @property
    def name(self):
        """Name of the operation."""
        return self.primitive.__name__.removesuffix("_forward")

    def run(self, grad):
        """Pass the gradient of the output on to the inputs.

        Returns
        -------
        list
            Pairs (edge, gradient) for the inputs that need one; each gradient has its input's shape and dtype.

        Raises
        ------
        RuntimeError
            If the node was freed, an array that it needs was changed in place, or its rule returned nonsense.
        """
        if self.backward is None:
            raise RuntimeError(
                f"backward() a second time: the arrays that {self.name} kept were freed by the first. "
                f"Call the first with retain_graph=True to keep them"
            )
        if self.order < Node.changes.last:
            self._refuse_changed()
        grads = self.backward(grad)
        if len(grads) != len(self.edges):
            raise RuntimeError(
                f"the gradient rule of {self.name} gave {len(grads)} gradients for {len(self.edges)} inputs"
            )
        pairs = []
        for edge, part in zip(self.edges, grads):
            if edge is not None:
                if part is None or part.shape != edge.shape or part.dtype != edge.dtype:
                    part = self._fitted(part, edge)
                pairs.append((edge, part))
        return pairs

    def free(self):
        """Forget the edges and the kept arrays."""
        self.edges, self.backward = (), None

    def _refuse_changed(self):
        for array in kept_arrays(self.backward):
            if Node.changes.hit(array, self.order):
                raise RuntimeError(
                    f"an array of shape {array.shape} was changed in place (tensor[...] = ...) between "
                    f"{self.name} and backward(), which needs its old values: compute a new tensor instead"
                )

    def _fitted(self, grad, edge):
        """The gradient in its input's dtype if precisions were mixed; any other misfit is the rule's mistake."""
        if edge.dtype.kind != "f":
            raise RuntimeError(f"a gradient for a tensor of {edge.dtype}: only real numbers have gradients")
        if grad is None or grad.shape != edge.shape:
            got = "no gradient" if grad is None else f"a gradient of shape {grad.shape}"
            raise RuntimeError(f"the gradient rule of {self.name} gave {got} for an input of shape {edge.shape}")
        if grad.dtype != self.dtype:
            raise RuntimeError(f"the gradient rule of {self.name} turned {self.dtype} into {grad.dtype}")
        return grad.astype(edge.dtype)


def changed_in_place(grad):
    """What a tensor says to a gradient if it was computed and then changed in place."""
    raise RuntimeError(
        f"a tensor of shape {grad.shape} was computed and then changed in place (tensor[...] = ...): "
        f"its gradient is not known. Compute a new tensor instead"
    )


class GradientRecorder:
    """Stands in the door: notes the operations that a gradient has to pass, and runs them backwards."""

    def __init__(self):
        self.recording = True

    def record(self, output, primitive, inputs, saved, params):
        """Note one operation: give `output` its node, and mark it as requiring a gradient.

        Nothing is noted if `self.recording` is False, if no input requires a gradient, or if the result has none
        (`make_backward` returned None).

        Parameters
        ----------
        output : Tensor
            The result, fresh from the door.
        primitive : function
        inputs : tuple of Tensor
        saved : object
            What the primitive returned for its rule.
        params : dict
            Other parameters of the operation.
        """
        if not self.recording:
            return
        needs = [tensor.requires_grad for tensor in inputs]
        if True not in needs:
            return
        backward = make_backward(primitive, output, inputs, needs, saved, params)
        if backward is None:
            return
        edges = [(tensor.node or tensor) if tensor.requires_grad else None for tensor in inputs]
        output.requires_grad = True
        output.node = Node(primitive, edges, backward, output.data)

    def changed(self, tensor):
        """Note that a tensor's values were changed in place; if it was computed, its gradient is lost."""
        Node.changes.note(tensor.data)
        if tensor.node is not None:
            tensor.node = Node(changed_in_place, (), changed_in_place, tensor.data)

    def backward(self, tensor, gradient=None, retain_graph=False):
        """What `tensor.backward()` calls: add the gradients of all leaves behind `tensor` to their `grad`."""
        gradient = first_gradient(tensor, gradient)
        if tensor.node is None:
            accumulate(tensor, gradient, gradient)
        else:
            walk(tensor.node, gradient, retain_graph)


@contextmanager
def no_grad():
    """A block in which nothing is recorded: `with no_grad(): ...`. Blocks may be nested."""
    recorder = Recorder.current
    before = recorder.recording
    recorder.recording = False
    try:
        yield
    finally:
        recorder.recording = before


def detach(tensor):
    """A tensor on the same array that no gradient passes."""
    return Tensor.wrap(tensor.data)


Recorder.current = GradientRecorder()  # from here on operations are noted


def first_gradient(tensor, gradient=None):
    """The gradient with which a backward pass starts.

    Parameters
    ----------
    tensor : Tensor
        On which backward() was called.
    gradient : array, Tensor or None
        Of the shape of `tensor`. None means 1, for a tensor of one element.

    Returns
    -------
    numpy.ndarray
        Of the shape and dtype of `tensor`.

    Raises
    ------
    RuntimeError
        If the tensor requires no gradient, or has several elements and no gradient is given.
    ValueError
        If the gradient has another shape.
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "backward() on a tensor that does not require a gradient: nothing that it was made from has "
            "requires_grad=True, or it was made under no_grad()"
        )
    if gradient is None:
        if tensor.size != 1:
            raise RuntimeError(
                f"backward() on a tensor of shape {tensor.shape} needs a gradient of that shape: "
                f"without one it starts from a single number, such as a mean"
            )
        return np.ones(tensor.shape, tensor.dtype)
    gradient = np.asarray(gradient.data if isinstance(gradient, Tensor) else gradient, dtype=tensor.dtype)
    if gradient.shape != tensor.shape:
        raise ValueError(f"a gradient of shape {gradient.shape} for a tensor of shape {tensor.shape}")
    return gradient


def accumulate(leaf, grad, incoming):
    """Add `grad` to the `grad` of a leaf.

    Parameters
    ----------
    leaf : Tensor
    grad : numpy.ndarray
        What a node computed for it; for a tensor without axes it may be a NumPy scalar, of which
        `np.array` makes the array that `leaf.grad` should be.
    incoming : numpy.ndarray
        The gradient that the node was given. A rule may pass on this very array, or a view (`grad.base is not None`);
        then the leaf needs a copy, since others hold the memory too.
    """
    if leaf.grad is not None:
        leaf.grad += grad
    elif grad is incoming or grad.base is not None:
        leaf.grad = np.array(grad)
    else:
        leaf.grad = np.asarray(grad)


def walk(root, gradient, retain_graph=False):
    """Pass a gradient from a node back to all leaves, running each node once.

    Parameters
    ----------
    root : Node
    gradient : numpy.ndarray
        Of the output of `root`.
    retain_graph : bool
        Whether nodes stay usable for another backward pass; otherwise each is freed as soon as it has
        run. The gradient that it was given is dropped in any case.
    """
    arrived = {root: gradient}
    heap = [(-root.order, root)]
    while heap:
        node = heappop(heap)[1]
        grad = arrived.pop(node)
        for edge, part in node.run(grad):
            if not isinstance(edge, Node):
                accumulate(edge, part, grad)
            elif edge in arrived:
                arrived[edge] = arrived[edge] + part
            else:
                arrived[edge] = part
                heappush(heap, (-edge.order, edge))
        if not retain_graph:
            node.free()


def numerical_gradient(fn, arrays, position, upstream, step=1e-6):
    """Slopes of `sum(fn(*tensors) * upstream)` by each element of one input, from central differences.

    Parameters
    ----------
    fn : function
        Takes one Tensor an input and returns a Tensor.
    arrays : list of numpy.ndarray
        The inputs, float64; they are not changed.
    position : int
        Which of them to move.
    upstream : numpy.ndarray
        Of the shape of the output.
    step : float
        How far to move an element, up and down.

    Returns
    -------
    numpy.ndarray
        Of the shape of `arrays[position]`.

    Examples
    --------
    >>> numerical_gradient(lambda x: x * x, [np.array([3.0])], 0, np.array([1.0])).round(4)
    array([6.])
    """
    slopes = np.zeros(arrays[position].shape)
    for place in np.ndindex(slopes.shape):
        for move in (step, -step):
            moved = [array.copy() for array in arrays]
            moved[position][place] += move
            output = fn(*[Tensor(array, dtype=np.float64) for array in moved])
            slopes[place] += (output.data * upstream).sum() / (2 * move)
    return slopes


def gradcheck(fn, inputs, seed=0, rtol=1e-5, atol=1e-7):
    """Compare the gradients that backward() gives with central differences, in float64.

    Parameters
    ----------
    fn : function
        Takes one Tensor an input and returns a Tensor of any shape; smooth near the inputs.
    inputs : list of arrays
        Small ones: every element costs two calls of `fn`.
    seed : int
        Of the random gradient that arrives from above.
    rtol, atol : float
        Allowed is `atol + rtol * abs(difference quotient)`.

    Returns
    -------
    bool
        True if all agree.

    Raises
    ------
    AssertionError
        If a gradient is missing or wrong; the message says of which input.
    """
    arrays = [np.array(array, dtype=np.float64) for array in inputs]
    tensors = [Tensor(array, dtype=np.float64, requires_grad=True) for array in arrays]
    output = fn(*tensors)
    upstream = np.random.default_rng(seed).normal(size=output.shape)
    output.backward(upstream)
    for position, tensor in enumerate(tensors):
        if tensor.grad is None:
            raise AssertionError(f"input {position} got no gradient")
        expected = numerical_gradient(fn, arrays, position, upstream)
        if not np.allclose(tensor.grad, expected, rtol=rtol, atol=atol):
            raise AssertionError(
                f"the gradient of input {position} is\n{tensor.grad}\nby differences it is\n{expected}"
            )
    return True


def graph_nodes(tensor):
    """The nodes that a backward pass from `tensor` would run, youngest first."""
    found = {tensor.node} - {None}
    todo = list(found)
    while todo:
        edges = {edge for edge in todo.pop().edges if isinstance(edge, Node)} - found
        found |= edges
        todo += edges
    return sorted(found, key=lambda node: -node.order)


def saved_bytes(tensor):
    """Bytes of the arrays that the graph behind `tensor` keeps for its backward pass.

    Each buffer is counted once and whole, however many rules or views share it. Values of parameters and inputs
    count too, where a rule keeps them.
    """
    buffers = {}
    for node in graph_nodes(tensor):
        for array in kept_arrays(node.backward):
            while isinstance(array.base, np.ndarray):
                array = array.base
            buffers[id(array)] = array.nbytes
    return sum(buffers.values())


def draw_graph(tensor, **names):
    """A drawing in plain characters of the graph behind a tensor, from the result down to the leaves.

    Parameters
    ----------
    tensor : Tensor
    **names : Tensor
        Names for leaves: `draw_graph(z, x=x, y=y)`.

    Returns
    -------
    str
        A line for each edge: the operation, its number in the order of computation, the shape of its result
        and the shapes of the arrays that it keeps. What was drawn above is only named. A drawing ends after
        60 lines.
    """
    names = {id(leaf): name for name, leaf in names.items()}
    numbers = {node: number for number, node in enumerate(reversed(graph_nodes(tensor)))}
    lines, drawn, todo = [], set(), [(tensor.node or tensor, "", "")]
    while todo:
        thing, before, below = todo.pop()
        if len(lines) == 60:
            lines.append(f"... of {len(numbers)} operations")
            break
        lines.append(before + _label(thing, names, numbers, drawn))
        if isinstance(thing, Node) and thing not in drawn:
            drawn.add(thing)
            branches = [("|-- ", "|   ")] * (len(thing.edges) - 1) + [("`-- ", "    ")]
            edges = [(edge, below + branch, below + gap) for edge, (branch, gap) in zip(thing.edges, branches)]
            todo += reversed(edges)
    return "\n".join(lines)


def _label(thing, names, numbers, drawn):
    if thing is None:
        return "(needs no gradient)"
    if not isinstance(thing, Node):
        name = names.get(id(thing), "leaf" if thing.requires_grad else "constant")
        return f"{name} {thing.shape}"
    text = f"{thing.name} #{numbers[thing]} {thing.shape}"
    if thing in drawn:
        return f"{text}, drawn above"
    if thing.backward is None:
        return f"{text}, freed"
    shapes = ", ".join(str(array.shape) for array in kept_arrays(thing.backward))
    return f"{text}  keeps {shapes or 'nothing'}"


@gradient_rule(matmul)
def matmul_rule(output, a, b, needs):
    """Gradient rule of `a @ b`.

    Parameters
    ----------
    output : numpy.ndarray of shape (..., M, N), without M or N where an operand has one axis
    a : numpy.ndarray of shape (..., M, K) or (K,)
    b : numpy.ndarray of shape (..., K, N) or (K,)
    needs : sequence of two bools

    Returns
    -------
    function
        `backward(grad)` returns gradients of the shapes of `a` and `b`; None, and no product, for an operand that
        needs none.

    Examples
    --------
    >>> a, b = np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])
    >>> matmul_rule(a @ b, a, b, needs=(True, True))(np.array([[10.0]]))
    (array([[30., 40.]]), array([[10.],
           [20.]]))
    """
    shape_a, shape_b = a.shape, b.shape
    rows = a if a.ndim > 1 else a[None, :]
    columns = b if b.ndim > 1 else b[:, None]
    if columns.ndim == 2:  # one right operand for the whole batch: its matrices are just more rows
        rows = rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])
    batch = output.shape[:-2] if a.ndim > 1 else output.shape[:-1]
    full = (*(batch if columns.ndim > 2 else ()), rows.shape[-2], columns.shape[-1])
    shape_rows, shape_columns = rows.shape, columns.shape
    right = columns if needs[0] else None
    left = rows if needs[1] else None

    def backward(grad):
        grad = grad.reshape(full)
        return (
            unbroadcast(grad @ right.swapaxes(-1, -2), shape_rows).reshape(shape_a) if needs[0] else None,
            unbroadcast(left.swapaxes(-1, -2) @ grad, shape_columns).reshape(shape_b) if needs[1] else None,
        )

    return backward


def restore_axes(reduced, ndim, axis, keepdims):
    """The result of a reduction with the reduced axes back, of length 1; `ndim` counts the axes of its input."""
    if keepdims:
        return reduced
    return np.expand_dims(reduced, tuple(range(ndim)) if axis is None else axis)


def may_repeat(key):
    """Whether an index can take an element twice: it holds a list, tuple or array of integers."""
    parts = key if isinstance(key, tuple) else (key,)
    lists = [part for part in parts if isinstance(part, (list, tuple, np.ndarray))]
    return any(np.asarray(part).dtype.kind in "iu" for part in lists)


@gradient_rule(reshape)
def reshape_rule(output, a, shape):
    """The gradient takes the old shape."""
    before = a.shape
    return lambda grad: (grad.reshape(before),)


@gradient_rule(permute)
def permute_rule(output, a, axes):
    """The axes go back to where they were."""
    back = [0] * len(axes)
    for place, axis in enumerate(axes):
        back[axis] = place
    return lambda grad: (grad.transpose(back),)


@gradient_rule(reduce_sum)
def reduce_sum_rule(output, a, axis=None, keepdims=False):
    """Gradient rule of a sum over `axis`: each element gets the gradient of the sum that it went into."""
    shape = a.shape
    return lambda grad: (np.broadcast_to(restore_axes(grad, len(shape), axis, keepdims), shape),)


@gradient_rule(reduce_mean)
def reduce_mean_rule(output, a, axis=None, keepdims=False):
    """Gradient rule of a mean over `axis`."""
    shape, folded = a.shape, a.size // max(output.size, 1)
    return lambda grad: (np.broadcast_to(restore_axes(grad / folded, len(shape), axis, keepdims), shape),)


@gradient_rule(reduce_max)
def reduce_max_rule(output, a, axis=None, keepdims=False):
    """Gradient rule of a maximum over `axis`: the largest elements share the gradient equally.

    It keeps a mask of the largest elements, a byte each, and none of the arrays.
    """
    mask = a == restore_axes(output, a.ndim, axis, keepdims)

    def backward(grad):
        shares = mask.sum(axis=axis, keepdims=True, dtype=grad.dtype)
        return (mask * (restore_axes(grad, mask.ndim, axis, keepdims) / shares),)

    return backward


@gradient_rule(index)
def index_rule(output, a, key):
    """Gradient rule of `a[key]`, for every kind of key: slices, integers, None, Ellipsis, lists, arrays, masks."""
    shape = a.shape

    def backward(grad):
        result = np.zeros(shape, grad.dtype)
        if may_repeat(key):
            np.add.at(result, key, grad)
        else:
            result[key] = grad
        return (result,)

    return backward


@gradient_rule(relu_forward)
def relu_rule(output, a):
    """Gradient rule of relu; the slope at 0 is 0."""
    return lambda grad: (grad * (output > 0),)


@gradient_rule(softmax_forward)
def softmax_rule(output, a, axis=-1):
    """Gradient rule of softmax along `axis`."""
    return lambda grad: (output * (grad - np.expand_dims(np.vecdot(grad, output, axis=axis), axis)),)


@gradient_rule(linear_forward)
def linear_rule(output, x, weight, bias=None, *, needs):
    """Gradient rule of a linear layer.

    Parameters
    ----------
    output : numpy.ndarray of shape (..., out)
    x : numpy.ndarray of shape (..., in)
    weight : numpy.ndarray of shape (out, in)
    bias : numpy.ndarray of shape (out,), or None
    needs : sequence of bools, one an input

    Returns
    -------
    function
        `backward(grad)` returns two gradients, or three where there is a bias; None where none is needed.
    """
    shape = x.shape
    rows = x.reshape(math.prod(shape[:-1]), shape[-1]) if needs[1] else None
    weight = weight if needs[0] else None

    def backward(grad):
        grad = grad.reshape(math.prod(shape[:-1]), grad.shape[-1])
        by_x = (grad @ weight).reshape(shape) if needs[0] else None
        by_weight = grad.T @ rows if needs[1] else None
        return (by_x, by_weight, grad.sum(axis=0))[: len(needs)]

    return backward


@gradient_rule(sigmoid_forward)
def sigmoid_rule(output, a):
    """The slope is y (1 - y)."""
    return lambda grad: (grad * output * (1 - output),)


@gradient_rule(tanh_forward)
def tanh_rule(output, a):
    """The slope is 1 - y²."""
    return lambda grad: (grad * (1 - output * output),)


@gradient_rule(gelu_forward)
def gelu_rule(output, a, saved):
    """gelu is a · s with s = sigmoid(v), v = c (a + 0.044715 a³), and `saved` is s: slope s (1 + a (1 - s) dv/da)."""
    c = 2 * math.sqrt(2 / math.pi)

    def backward(grad):
        by_a = np.empty(a.shape, a.dtype)
        for slope, x, s, g in blocks(by_a, a, saved, grad):  # each step works in place, on a piece in the cache
            np.multiply(x, x, out=slope)
            slope *= 3 * 0.044715 * c
            slope += c  # dv/da
            slope *= x
            slope *= 1 - s
            slope += 1
            slope *= s
            slope *= g
        return (by_a,)

    return backward


@gradient_rule(log_softmax_forward)
def log_softmax_rule(output, a, axis=-1):
    """The gradient less the probabilities times its sum along the axis."""
    return lambda grad: (grad - np.exp(output) * grad.sum(axis=axis, keepdims=True),)


@gradient_rule(dropout_forward)
def dropout_rule(output, a, mask):
    """What was dropped passes nothing; the rest is scaled as in the forward pass."""
    return lambda grad: (grad * mask,)


@gradient_rule(mse_loss_forward)
def mse_loss_rule(output, prediction, target, needs, saved, reduction="mean"):
    """Twice the difference, which the forward pass saved; a mean divides by the number of elements."""
    scale = 2 / max(saved.size, 1) if reduction == "mean" else 2

    def backward(grad):
        by_prediction = saved * (grad * scale)
        return (by_prediction if needs[0] else None, -by_prediction if needs[1] else None)

    return backward


@gradient_rule(binary_cross_entropy_with_logits_forward)
def binary_cross_entropy_rule(output, logits, target, reduction="mean"):
    """Probability minus target; a mean divides by the number of elements."""
    scale = 1 / max(logits.size, 1) if reduction == "mean" else 1

    def backward(grad):
        by_logits = sigmoid_forward(logits)
        by_logits -= target
        return (by_logits * (grad * scale),)

    return backward


@gradient_rule(cross_entropy_forward)
def cross_entropy_rule(
    output, logits, target, saved, reduction="mean", ignore_index=-100, label_smoothing=0.0
):
    """Probabilities minus the target distribution, row by row; ignored rows get nothing."""
    shape, classes = logits.shape, logits.shape[-1]
    exps, totals = saved
    target = target.reshape(-1)

    def backward(grad):
        counted = target != ignore_index
        by_logits = exps / totals
        by_logits[np.arange(target.size), np.where(counted, target, 0)] -= 1 - label_smoothing
        if label_smoothing:
            by_logits -= label_smoothing / classes
        if reduction == "mean":
            grad = grad / max(np.count_nonzero(counted), 1)
        by_logits *= np.where(counted, grad if reduction != "none" else grad.reshape(-1), 0)[:, None]
        return (by_logits.reshape(shape),)

    return backward
