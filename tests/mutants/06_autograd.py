"""Wrong and right ways through module 06."""

from variants import alternative, mutant

UNBROADCAST = [
    mutant("autograd_unbroadcast", "passes the gradient on as it is", "autograd_unbroadcast_check",
           ("return grad.sum(axis=(*range(extra), *stretched)).reshape(shape)", "return grad")),
    mutant("autograd_unbroadcast", "forgets the axes in front", "autograd_unbroadcast_check",
           ("(*range(extra), *stretched)", "tuple(stretched)")),
    mutant("autograd_unbroadcast", "forgets the stretched axes", "autograd_unbroadcast_check",
           ("(*range(extra), *stretched)", "tuple(range(extra))")),
    mutant("autograd_unbroadcast", "loses the axes of length 1", "autograd_unbroadcast_check",
           (".reshape(shape)\n", "\n")),
    mutant("autograd_unbroadcast", "takes the mean", "autograd_unbroadcast_check", ("return grad.sum(", "return grad.mean(")),
    mutant("autograd_unbroadcast", "lines shapes up from the left", "autograd_unbroadcast_check",
           ("(*range(extra), *stretched)", "(*range(len(shape), grad.ndim), *[axis - extra for axis in stretched])")),
    mutant("autograd_unbroadcast", "sums even where nothing was stretched, over the first axis", "autograd_unbroadcast_check",
           ("        return grad\n", "        return grad.sum(axis=0)\n")),
    mutant("autograd_unbroadcast", "sums in float64", "autograd_unbroadcast_hidden",
           ("grad.sum(axis=(*range(extra), *stretched))", "grad.sum(axis=(*range(extra), *stretched), dtype=np.float64)")),
    mutant("autograd_unbroadcast", "either axes in front or stretched ones, not both", "autograd_unbroadcast_hidden",
           ("(*range(extra), *stretched)", "tuple(range(extra)) or tuple(stretched)")),
    mutant("autograd_unbroadcast", "copies when nothing was repeated", "autograd_unbroadcast_hidden",
           ("        return grad\n", "        return grad.copy()\n")),
    mutant("autograd_unbroadcast", "collects in the gradient that it was given", "autograd_unbroadcast_hidden", source='''
def unbroadcast(grad, shape):
    while grad.ndim > len(shape):
        for row in grad[1:]:
            grad[0] += row
        grad = grad[0]
    for axis, length in enumerate(shape):
        if length == 1:
            grad = grad.sum(axis=axis, keepdims=True)
    return grad
'''),
]

RULES = [
    mutant("autograd_rules", "multiply forgets the gradient from above", "autograd_rules_check",
           ("grad * slope_a", "np.ones_like(grad) * slope_a")),
    mutant("autograd_rules", "multiply exchanges the slopes", "autograd_rules_check",
           ("slope_a = b if needs[0]", "slope_a = a if needs[0]"), ("slope_b = a if needs[1]", "slope_b = b if needs[1]")),
    mutant("autograd_rules", "multiply does not undo broadcasting", "autograd_rules_check",
           ("unbroadcast(grad * slope_b, shape_b)", "grad * slope_b")),
    mutant("autograd_rules", "multiply undoes it for the second operand only", "autograd_rules_hidden",
           ("unbroadcast(grad * slope_a, shape_a)", "grad * slope_a")),
    mutant("autograd_rules", "divide with the wrong sign", "autograd_rules_check", ("-by_a * quotient", "by_a * quotient")),
    mutant("autograd_rules", "divide forgets one 1/b", "autograd_rules_check", ("-by_a * quotient", "-grad * quotient")),
    mutant("autograd_rules", "divide treats the denominator like the numerator", "autograd_rules_check",
           ("unbroadcast(-by_a * quotient, shape_b)", "unbroadcast(by_a, shape_b)")),
    mutant("autograd_rules", "exp with the slope of its argument", "autograd_rules_check", ("(grad * output,)", "(grad * a,)")),
    mutant("autograd_rules", "exp returns no tuple", "autograd_rules_check", ("(grad * output,)", "grad * output")),
    mutant("autograd_rules", "log divides by the result", "autograd_rules_check", ("(grad / a,)", "(grad / output,)")),
    mutant("autograd_rules", "power keeps the exponent", "autograd_rules_check",
           ("scalar_power(a, exponent - 1))", "scalar_power(a, exponent))")),
    mutant("autograd_rules", "power forgets the factor", "autograd_rules_check",
           ("(exponent * scalar_power(a, exponent - 1))", "scalar_power(a, exponent - 1)")),
    mutant("autograd_rules", "power 0 gives NaN at 0", "autograd_rules_hidden", ("if exponent == 0:", "if exponent is None:")),
    mutant("autograd_rules", "power by logarithms, wrong for negative bases", "autograd_rules_hidden",
           ("scalar_power(a, exponent - 1))", "np.exp((exponent - 1) * np.log(np.abs(a) + 1e-300)))")),
    mutant("autograd_rules", "multiply ignores needs", "autograd_rules_hidden",
           ("slope_a = b if needs[0] else None", "slope_a = b"), ("slope_b = a if needs[1] else None", "slope_b = a")),
    mutant("autograd_rules", "exp in float64", "autograd_rules_hidden", ("(grad * output,)", "(grad * np.exp(a.astype(np.float64)),)")),
    mutant("autograd_rules", "multiply keeps both factors", "autograd_rules_hidden",
           ("slope_a = b if needs[0] else None", "slope_a = b"), ("slope_b = a if needs[1] else None", "slope_b = a"),
           ("None if slope_a is None else unbroadcast(grad * slope_a, shape_a)",
            "unbroadcast(grad * slope_a, shape_a) if needs[0] else None"),
           ("None if slope_b is None else unbroadcast(grad * slope_b, shape_b)",
            "unbroadcast(grad * slope_b, shape_b) if needs[1] else None")),
    mutant("autograd_rules", "multiply keeps a factor for its shape", "autograd_rules_hidden",
           ("unbroadcast(grad * slope_a, shape_a)", "unbroadcast(grad * slope_a, a.shape)")),
    mutant("autograd_rules", "exp multiplies into its result", "autograd_rules_hidden",
           ("(grad * output,)", "(np.multiply(output, grad, out=output),)")),
    mutant("autograd_rules", "log divides the gradient in place", "autograd_rules_hidden",
           ("(grad / a,)", "(np.divide(grad, a, out=grad),)")),
    mutant("autograd_rules", "exponent 0 gives zeros of float64", "autograd_rules_hidden",
           ("np.zeros_like(grad)", "np.zeros(grad.shape)")),
]

RECORD = [
    mutant("autograd_record", "notes everything", "autograd_record_check", ("if True not in needs:", "if not needs:")),
    mutant("autograd_record", "notes only if all inputs need a gradient", "autograd_record_check",
           ("if True not in needs:", "if False in needs:")),
    mutant("autograd_record", "edges to intermediate tensors", "autograd_record_check", ("(tensor.node or tensor)", "tensor")),
    mutant("autograd_record", "forgets to mark the output", "autograd_record_check", ("        output.requires_grad = True\n", "")),
    mutant("autograd_record", "an edge for every input", "autograd_record_check", ("if tensor.requires_grad else None", "if tensor.requires_grad is not None else None")),
    mutant("autograd_record", "leaves out inputs without gradient", "autograd_record_check",
           ("[(tensor.node or tensor) if tensor.requires_grad else None for tensor in inputs]",
            "[tensor.node or tensor for tensor in inputs if tensor.requires_grad]")),
    mutant("autograd_record", "does not look at recording", "autograd_record_check",
           ("if not self.recording:", "if self.recording is None:")),
    mutant("autograd_record", "drops the gradient of unknown operations", "autograd_record_check",
           ("        backward = make_backward", "        if primitive not in RULES:\n            return\n        backward = make_backward")),
    mutant("autograd_record", "tells every rule that all is needed", "autograd_record_check",
           ("output, inputs, needs, saved", "output, inputs, [True] * len(inputs), saved")),
    mutant("autograd_record", "loses what the primitive saved", "autograd_record_check", ("needs, saved, params)", "needs, None, params)")),
    mutant("autograd_record", "notes comparisons", "autograd_record_hidden", ("if backward is None:", "if backward is NotImplemented:")),
    mutant("autograd_no_grad", "ends the outer block with the inner one", "autograd_record_hidden",
           ("recorder.recording = before", "recorder.recording = True")),
    mutant("autograd_no_grad", "stays off after an error", "autograd_record_hidden",
           ("    try:\n        yield\n    finally:\n        recorder.recording = before", "    yield\n    recorder.recording = before")),
    mutant("autograd_no_grad", "switches nothing off", "autograd_record_check",
           ("recorder.recording = False", "recorder.recording = before")),
    mutant("autograd_no_grad", "never on again", "autograd_record_check", ("recorder.recording = before", "recorder.recording = False")),
    mutant("autograd_no_grad", "detach copies", "autograd_record_check", ("Tensor.wrap(tensor.data)", "Tensor(tensor.data)")),
    mutant("autograd_no_grad", "detach returns the tensor itself", "autograd_record_check", ("Tensor.wrap(tensor.data)", "tensor")),
    mutant("autograd_no_grad", "detach changes the tensor itself", "autograd_record_check",
           ("    return Tensor.wrap(tensor.data)", "    tensor.requires_grad = False\n    return tensor")),
    mutant("autograd_record", "asks for the rule also under no_grad", "autograd_record_hidden",
           ("        if not self.recording:\n            return\n", ""),
           ("if backward is None:", "if backward is None or not self.recording:")),
    mutant("autograd_record", "the result requires what the first input requires", "autograd_record_hidden",
           ("output.requires_grad = True", "output.requires_grad = needs[0]")),
    mutant("autograd_no_grad", "flips the switch", "autograd_record_hidden",
           ("recorder.recording = False", "recorder.recording = not before")),
    mutant("autograd_no_grad", "takes the recorder out of the door", "autograd_record_hidden",
           ("recorder.recording = False", "Recorder.current = None"),
           ("recorder.recording = before", "Recorder.current = recorder")),
    mutant("autograd_no_grad", "detach cuts the tensor itself", "autograd_record_hidden",
           ("    return Tensor.wrap(tensor.data)", "    tensor.node = None\n    return Tensor.wrap(tensor.data)")),
]

PER_PATH = '''
    todo, nodes = [(root, gradient)], []
    while todo:
        node, grad = todo.pop()
        nodes.append(node)
        for edge, part in node.run(grad):
            if isinstance(edge, Node):
                todo.append((edge, part))
            else:
                accumulate(edge, part, grad)
    for node in nodes:
        if not retain_graph:
            node.free()
'''
RECURSIVE = '''
    order, seen = [], set()

    def visit(node):
        if node not in seen:
            seen.add(node)
            for edge in node.edges:
                if isinstance(edge, Node):
                    visit(edge)
            order.append(node)

    visit(root)
    arrived = {root: gradient}
    for node in reversed(order):
        grad = arrived.pop(node)
        for edge, part in node.run(grad):
            if not isinstance(edge, Node):
                accumulate(edge, part, grad)
            else:
                arrived[edge] = arrived[edge] + part if edge in arrived else part
        if not retain_graph:
            node.free()
'''
WALK_BODY = '''
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
'''
WALK = [
    mutant("autograd_walk", "starts from ones for any shape", "autograd_walk_check", ("if tensor.size != 1:", "if tensor.size == 0:")),
    mutant("autograd_walk", "accepts a tensor without a gradient", "autograd_walk_check", ("if not tensor.requires_grad:", "if tensor is None:")),
    mutant("autograd_walk", "accepts a gradient of any shape", "autograd_walk_check", ("if gradient.shape != tensor.shape:", "if gradient is None:")),
    mutant("autograd_walk", "takes the gradient's dtype", "autograd_walk_check", (", dtype=tensor.dtype)\n    if", ")\n    if")),
    mutant("autograd_walk", "a leaf keeps only the last gradient", "autograd_walk_check", ("leaf.grad += grad", "leaf.grad = grad")),
    mutant("autograd_walk", "a node keeps only the last part", "autograd_walk_hidden",
           ("arrived[edge] = arrived[edge] + part", "arrived[edge] = part")),
    mutant("autograd_walk", "frees nothing", "autograd_walk_check", ("if not retain_graph:", "if retain_graph is None:")),
    mutant("autograd_walk", "frees in spite of retain_graph", "autograd_walk_check", ("if not retain_graph:", "if root:")),
    mutant("autograd_walk", "frees the last node only", "autograd_walk_hidden", ("            node.free()", "            root.free()")),
    mutant("autograd_walk", "the leaf takes an array that others hold", "autograd_walk_hidden", ("leaf.grad = np.array(grad)", "leaf.grad = grad")),
    mutant("autograd_walk", "adds parts in place", "autograd_walk_hidden", ("arrived[edge] = arrived[edge] + part", "arrived[edge] += part")),
    mutant("autograd_walk", "oldest first", "autograd_walk_hidden",
           ("heap = [(-root.order, root)]", "heap = [(root.order, root)]"), ("heappush(heap, (-edge.order, edge))", "heappush(heap, (edge.order, edge))")),
    mutant("autograd_walk", "once for each way", "autograd_walk_hidden", (WALK_BODY, PER_PATH)),
    mutant("autograd_walk", "recursive", "autograd_walk_hidden", (WALK_BODY, RECURSIVE)),
    mutant("autograd_walk", "knows no Tensor as gradient", "autograd_walk_hidden",
           ("np.asarray(gradient.data if isinstance(gradient, Tensor) else gradient, dtype=tensor.dtype)",
            "gradient.astype(tensor.dtype)")),
    mutant("autograd_walk", "rounds the gradient to float32", "autograd_walk_hidden",
           ("else gradient, dtype=tensor.dtype)", "else gradient, dtype=np.float32).astype(tensor.dtype)")),
    mutant("autograd_walk", "copies no views", "autograd_walk_hidden",
           ("elif grad is incoming or grad.base is not None", "elif grad is incoming")),
    mutant("autograd_walk", "shares the first gradient, adds anew", "autograd_walk_hidden",
           ("leaf.grad += grad", "leaf.grad = leaf.grad + grad"), ("leaf.grad = np.array(grad)", "leaf.grad = grad")),
    mutant("autograd_walk", "adds into what arrives", "autograd_walk_hidden",
           ("leaf.grad += grad", "grad += leaf.grad\n        leaf.grad = np.array(grad)")),
    mutant("autograd_walk", "makes grad a Tensor", "autograd_walk_hidden",
           ("leaf.grad += grad", "leaf.grad = leaf.grad + Tensor(grad)"),
           ("leaf.grad = np.array(grad)", "leaf.grad = Tensor(grad)"), ("leaf.grad = np.asarray(grad)", "leaf.grad = Tensor(grad)")),
    mutant("autograd_walk", "compares with the gradient of the root", "autograd_walk_hidden",
           ("accumulate(edge, part, grad)", "accumulate(edge, part, gradient)")),
    mutant("autograd_walk", "first come, first served; late parts run again", "autograd_walk_hidden",
           ("node = heappop(heap)[1]", "node = heap.pop(0)[1]"),
           ("heappush(heap, (-edge.order, edge))", "heap.append((0, edge))"),
           ("        if not retain_graph:\n            node.free()\n", "")),
    mutant("autograd_walk", "frees at the end of the walk", "autograd_walk_hidden",
           ("    arrived = {root: gradient}\n", "    arrived, done = {root: gradient}, []\n"),
           ("        if not retain_graph:\n            node.free()\n",
            "        done.append(node)\n    for node in done:\n        if not retain_graph:\n            node.free()\n")),
    mutant("autograd_walk", "keeps the gradients that have been passed on", "autograd_walk_hidden",
           ("arrived.pop(node)", "arrived[node]")),
]

GRADCHECK = [
    mutant("autograd_gradcheck", "one-sided differences", "autograd_gradcheck_check",
           ("(step, -step)", "(step, 0.0)"), ("/ (2 * move)", "* (1 if move else -1) / step")),
    mutant("autograd_gradcheck", "forgets the factor 2", "autograd_gradcheck_check", ("/ (2 * move)", "/ move")),
    mutant("autograd_gradcheck", "differences without the gradient from above", "autograd_gradcheck_check",
           ("(output.data * upstream).sum()", "output.data.sum()")),
    mutant("autograd_gradcheck", "always moves the first input", "autograd_gradcheck_check", ("moved[position][place]", "moved[0][place]")),
    mutant("autograd_gradcheck", "moves the caller's arrays", "autograd_gradcheck_check",
           ("[array.copy() for array in arrays]", "arrays")),
    mutant("autograd_gradcheck", "differences in float32", "autograd_gradcheck_check",
           ("Tensor(array, dtype=np.float64) for array in moved", "Tensor(array) for array in moved")),
    mutant("autograd_gradcheck", "a gradient of ones from above", "autograd_gradcheck_check",
           ("np.random.default_rng(seed).normal(size=output.shape)", "np.ones(output.shape)")),
    mutant("autograd_gradcheck", "compares the first input only", "autograd_gradcheck_check", ("enumerate(tensors)", "enumerate(tensors[:1])")),
    mutant("autograd_gradcheck", "returns False instead of raising", "autograd_gradcheck_check",
           ('raise AssertionError(\n                f"the gradient of', 'return bool(\n                not f"the gradient of')),
    mutant("autograd_gradcheck", "generous", "autograd_gradcheck_hidden", ("seed=0, rtol=1e-5, atol=1e-7", "seed=0, rtol=1e-2, atol=1e-2")),
    mutant("autograd_gradcheck", "skips missing gradients", "autograd_gradcheck_hidden",
           ('raise AssertionError(f"input {position} got no gradient")', "continue")),
    mutant("autograd_gradcheck", "a fixed step", "autograd_gradcheck_hidden", ("(step, -step)", "(1e-6, -1e-6)")),
    mutant("autograd_gradcheck", "compares the first element only", "autograd_gradcheck_hidden",
           ("np.allclose(tensor.grad, expected,", "np.allclose(tensor.grad.flat[0], expected.flat[0],")),
    mutant("autograd_gradcheck", "does not put the element before back", "autograd_gradcheck_hidden",
           ("    for place in np.ndindex(slopes.shape):\n",
            "    moved = [array.copy() for array in arrays]\n    for place in np.ndindex(slopes.shape):\n"),
           ("(step, -step)", "(step, -2 * step)"),
           ("            moved = [array.copy() for array in arrays]\n", ""),
           ("/ (2 * move)", "* np.sign(move) / (2 * step)")),
    mutant("autograd_gradcheck", "moves the caller's arrays", "autograd_gradcheck_hidden",
           ("            moved = [array.copy() for array in arrays]\n", "            moved = arrays\n"),
           ("(step, -step)", "(step, -2 * step)"), ("/ (2 * move)", "* np.sign(move) / (2 * step)")),
    mutant("autograd_gradcheck", "one random number for all", "autograd_gradcheck_hidden",
           ("np.random.default_rng(seed).normal(size=output.shape)",
            "np.full(output.shape, np.random.default_rng(seed).normal())")),
    mutant("autograd_gradcheck", "forgets the seed", "autograd_gradcheck_hidden", ("default_rng(seed)", "default_rng()")),
    mutant("autograd_gradcheck", "NumPy's tolerances", "autograd_gradcheck_hidden", (", rtol=rtol, atol=atol)", ")")),
    mutant("autograd_gradcheck", "compares sums", "autograd_gradcheck_hidden",
           ("np.allclose(tensor.grad, expected,", "np.allclose(tensor.grad.sum(), expected.sum(),")),
]

MATMUL = [
    mutant("autograd_matmul", "forgets to transpose the left operand", "autograd_matmul_check", ("left.swapaxes(-1, -2) @ grad", "left @ grad")),
    mutant("autograd_matmul", "forgets to transpose the right operand", "autograd_matmul_check", ("grad @ right.swapaxes(-1, -2)", "grad @ right")),
    mutant("autograd_matmul", "forgets the gradient from above", "autograd_matmul_check",
           ("grad = grad.reshape(full)", "grad = np.ones(full)")),
    mutant("autograd_matmul", "a vector on the left stays a vector", "autograd_matmul_hidden", ("a if a.ndim > 1 else a[None, :]", "a")),
    mutant("autograd_matmul", "a vector on the right becomes a row", "autograd_matmul_check", ("columns = b if b.ndim > 1 else b[:, None]", "columns = b if b.ndim > 1 else b[None, :]")),
    mutant("autograd_matmul", "vectors keep their second axis", "autograd_matmul_check", (".reshape(shape_a) if", " if"), (".reshape(shape_b) if", " if")),
    mutant("autograd_matmul", "the mean over the batch", "autograd_matmul_check",
           ("unbroadcast(left.swapaxes(-1, -2) @ grad, shape_columns).reshape(shape_b)",
            "(unbroadcast(left.swapaxes(-1, -2) @ grad, shape_columns) / (a.shape[0] if a.ndim > 2 else 1)).reshape(shape_b)")),
    mutant("autograd_matmul", "transposes all axes", "autograd_matmul_hidden", ("right.swapaxes(-1, -2), shape_rows", "right.T, shape_rows")),
    mutant("autograd_matmul", "does not sum over a stretched batch", "autograd_matmul_hidden",
           ("unbroadcast(grad @ right.swapaxes(-1, -2), shape_rows)", "(grad @ right.swapaxes(-1, -2))")),
    mutant("autograd_matmul", "ignores needs", "autograd_matmul_hidden",
           ("right = columns if needs[0] else None", "right = columns"), ("left = rows if needs[1] else None", "left = rows"),
           (".reshape(shape_a) if needs[0] else None", ".reshape(shape_a)"), (".reshape(shape_b) if needs[1] else None", ".reshape(shape_b)")),
    mutant("autograd_matmul", "ignores needs, and does the work", "backward_check",
           ("right = columns if needs[0] else None", "right = columns"), ("left = rows if needs[1] else None", "left = rows"),
           (".reshape(shape_a) if needs[0] else None", ".reshape(shape_a)"), (".reshape(shape_b) if needs[1] else None", ".reshape(shape_b)")),
    mutant("autograd_matmul", "computes what it then drops", "autograd_matmul_hidden",
           ("right = columns if needs[0] else None", "right = columns"), ("left = rows if needs[1] else None", "left = rows"),
           ("        grad = grad.reshape(full)\n",
            "        grad = grad.reshape(full)\n        grad @ right.swapaxes(-1, -2), left.swapaxes(-1, -2) @ grad\n")),
]

REDUCTIONS = [
    mutant("autograd_reductions", "sum lines up from the right", "autograd_reductions_check",
           ("restore_axes(grad, len(shape), axis, keepdims), shape)", "grad[None] if grad.ndim else grad, shape)")),
    mutant("autograd_reductions", "sum ignores keepdims", "autograd_reductions_hidden",
           ("restore_axes(grad, len(shape), axis, keepdims), shape)", "restore_axes(grad, len(shape), axis, False), shape)")),
    mutant("autograd_reductions", "mean divides by all elements", "autograd_reductions_check", ("a.size // max(output.size, 1)", "a.size")),
    mutant("autograd_reductions", "mean divides by the last axis", "autograd_reductions_check", ("a.size // max(output.size, 1)", "a.shape[-1]")),
    mutant("autograd_reductions", "mean does not divide", "autograd_reductions_check", ("grad / folded", "grad")),
    mutant("autograd_reductions", "every tied element gets all", "autograd_reductions_check",
           ("keepdims) / shares)", "keepdims))")),
    mutant("autograd_reductions", "max passes to all elements", "autograd_reductions_check",
           ("mask = a == restore_axes(output, a.ndim, axis, keepdims)", "mask = a == a")),
    mutant("autograd_reductions", "ties are counted over the whole array", "autograd_reductions_check",
           ("mask.sum(axis=axis, keepdims=True, dtype", "mask.sum(keepdims=True, dtype")),
    mutant("autograd_reductions", "only the first of the largest", "autograd_reductions_check",
           ("mask = a == restore_axes(output, a.ndim, axis, keepdims)",
            "mask = a == restore_axes(output, a.ndim, axis, keepdims)\n    mask &= mask.cumsum(axis).reshape(mask.shape) == 1")),
    mutant("autograd_reductions", "+= with a repeated index", "autograd_reductions_check", ("np.add.at(result, key, grad)", "result[key] += grad")),
    mutant("autograd_reductions", "assigns with a repeated index", "autograd_reductions_check", ("if may_repeat(key):", "if key is None:")),
    mutant("autograd_reductions", "index fills with ones", "autograd_reductions_check", ("np.zeros(shape, grad.dtype)", "np.ones(shape, grad.dtype)")),
    mutant("autograd_reductions", "index in float64", "autograd_reductions_hidden", ("np.zeros(shape, grad.dtype)", "np.zeros(shape)")),
    mutant("autograd_reductions", "max in float64", "autograd_reductions_hidden", (", keepdims=True, dtype=grad.dtype)", ", keepdims=True)")),
    mutant("autograd_reductions", "mean fails on nothing", "autograd_reductions_hidden", ("max(output.size, 1)", "output.size")),
    mutant("autograd_reductions", "the sum keeps its input for the shape", "autograd_reductions_hidden",
           ("    shape = a.shape\n    return lambda grad: (np.broadcast_to(restore_axes(grad, len(shape), axis, keepdims), shape),)",
            "    return lambda grad: (np.broadcast_to(restore_axes(grad, a.ndim, axis, keepdims), a.shape),)")),
    mutant("autograd_reductions", "the mean keeps its input for the shape", "autograd_reductions_hidden",
           ("restore_axes(grad / folded, len(shape), axis, keepdims)", "restore_axes(grad / folded, a.ndim, axis, keepdims)")),
    mutant("autograd_reductions", "the maximum makes its mask later", "autograd_reductions_hidden",
           ("    mask = a == restore_axes(output, a.ndim, axis, keepdims)\n\n    def backward(grad):\n",
            "    def backward(grad):\n        mask = a == restore_axes(output, a.ndim, axis, keepdims)\n")),
    mutant("autograd_reductions", "the index keeps the whole array", "autograd_reductions_hidden",
           ("np.zeros(shape, grad.dtype)", "np.zeros_like(a)")),
    mutant("autograd_reductions", "one result for all passes", "autograd_reductions_hidden",
           ("        result = np.zeros(shape, grad.dtype)\n        if may_repeat(key):\n            np.add.at(result, key, grad)\n"
            "        else:\n            result[key] = grad\n", "        np.add.at(result, key, grad)\n"),
           ("    shape = a.shape\n\n    def backward", "    result = np.zeros(a.shape, a.dtype)\n\n    def backward")),
]

LAYERS = [
    mutant("autograd_layers", "relu passes at 0", "autograd_layers_check", ("output > 0", "output >= 0")),
    mutant("autograd_layers", "relu passes everything", "autograd_layers_check", ("(grad * (output > 0),)", "(grad,)")),
    mutant("autograd_layers", "relu forgets the gradient from above", "autograd_layers_check",
           ("(grad * (output > 0),)", "((output > 0).astype(output.dtype),)")),
    mutant("autograd_layers", "softmax element by element", "autograd_layers_check",
           ("(output * (grad - np.expand_dims(np.vecdot(grad, output, axis=axis), axis)),)", "(grad * output * (1 - output),)")),
    mutant("autograd_layers", "softmax always along the last axis", "autograd_layers_check",
           ("np.vecdot(grad, output, axis=axis), axis)", "np.vecdot(grad, output, axis=-1), -1)")),
    mutant("autograd_layers", "softmax without the sum", "autograd_layers_check",
           ("(output * (grad - np.expand_dims(np.vecdot(grad, output, axis=axis), axis)),)", "(output * grad,)")),
    mutant("autograd_layers", "weight stored as (in, out)", "autograd_layers_check", ("(grad @ weight)", "(grad @ weight.T)")),
    mutant("autograd_layers", "gradient of the weight transposed", "autograd_layers_check", ("grad.T @ rows", "rows.T @ grad")),
    mutant("autograd_layers", "bias takes the mean", "autograd_layers_check", ("grad.sum(axis=0))", "grad.mean(axis=0))")),
    mutant("autograd_layers", "three gradients without a bias", "autograd_layers_check", ("[: len(needs)]", "")),
    mutant("autograd_layers", "two axes only", "autograd_layers_hidden",
           ("        grad = grad.reshape(math.prod(shape[:-1]), grad.shape[-1])\n", "")),
    mutant("autograd_layers", "gradient of the data anyway", "autograd_layers_hidden",
           ("weight = weight if needs[0] else None", "weight = weight"), (".reshape(shape) if needs[0] else None", ".reshape(shape)")),
    mutant("autograd_layers", "relu works in the gradient", "autograd_layers_hidden",
           ("(grad * (output > 0),)", "(np.multiply(grad, output > 0, out=grad),)")),
    mutant("autograd_layers", "softmax works in the gradient", "autograd_layers_hidden",
           ("(output * (grad - np.expand_dims(np.vecdot(grad, output, axis=axis), axis)),)",
            "(np.multiply(output, grad - np.expand_dims(np.vecdot(grad, output, axis=axis), axis), out=grad),)")),
    mutant("autograd_layers", "softmax sums in float64", "autograd_layers_hidden",
           ("np.expand_dims(np.vecdot(grad, output, axis=axis), axis)",
            "(grad * output).sum(axis=axis, keepdims=True, dtype=np.float64)")),
    mutant("autograd_layers", "the bias sums in float64", "autograd_layers_hidden",
           ("grad.sum(axis=0))[: len", "grad.sum(axis=0, dtype=np.float64))[: len")),
    mutant("autograd_layers", "sums the bias of a single example", "autograd_layers_hidden",
           ("grad.sum(axis=0))[: len", "grad.sum(axis=0) if len(shape) > 1 else grad.sum())[: len")),
]

SYSTEMS = [
    mutant("saved_predict", "the parameters only", "saved_check", ("4 * (N * D + D * H + N * H + H * O)", "4 * (D * H + H * O)")),
    mutant("saved_predict", "tanh's output twice", "saved_check", ("N * H + H", "2 * N * H + H")),
    mutant("saved_predict", "numbers, not bytes", "saved_check", ("4 * (", "(")),
    mutant("saved_predict", "the result too", "saved_check", ("H * O)", "H * O + N * O)")),
    mutant("saved_predict", "x needs not be kept", "saved_check", ("N * D + D * H + N * H", "D * H + N * H")),
    mutant("backward_predict", "backward like forward", "backward_check", ("2 if x_requires_grad else 1", "1")),
    mutant("backward_predict", "always both gradients", "backward_check", ("2 if x_requires_grad else 1", "2")),
    mutant("backward_predict", "the forward pass counted in", "backward_check", ("2 if x_requires_grad else 1", "3 if x_requires_grad else 2")),
    mutant("backward_predict", "sums instead of products", "backward_check", ("products * 2 * M * K * N", "products * 2 * (M + K + N)")),
    mutant("backward_predict", "a multiply-add counts 1", "backward_check", ("return 2 * M", "return M")),
    mutant("depth_predict", "forgets the additions", "depth_check", ("3 * layers + 1", "2 * layers + 1")),
    mutant("depth_predict", "forgets the mean", "depth_check", ("3 * layers + 1", "3 * layers")),
    mutant("depth_predict", "one array under no_grad", "depth_check", ("length if recording else 2", "length if recording else 1")),
    mutant("depth_predict", "the backward pass doubles it", "depth_check", ("length if recording else 2", "2 * length if recording else 2")),
    mutant("depth_predict", "the same with and without recording", "depth_check", ("length if recording else 2", "length")),
]

MUTANTS = UNBROADCAST + RULES + RECORD + WALK + GRADCHECK + MATMUL + REDUCTIONS + LAYERS + SYSTEMS


ALTERNATIVES = [
    alternative("autograd_unbroadcast", "one axis at a time", source='''
def unbroadcast(grad, shape):
    while grad.ndim > len(shape):
        grad = grad.sum(axis=0)
    for axis in range(len(shape)):
        if shape[axis] == 1 and grad.shape[axis] != 1:
            grad = grad.sum(axis=axis, keepdims=True)
    return grad
'''),
    alternative("autograd_unbroadcast", "padded shapes, keepdims", source='''
def unbroadcast(grad, shape):
    padded = (1,) * (grad.ndim - len(shape)) + tuple(shape)
    axes = tuple(i for i, (n, m) in enumerate(zip(padded, grad.shape)) if n != m)
    result = np.sum(grad, axis=axes, keepdims=True) if axes else grad
    return np.reshape(result, shape)
'''),
    alternative("autograd_rules", "ordinary functions, other formulas", source='''
@gradient_rule(multiply)
def multiply_rule(output, a, b, needs):
    (want_a, want_b), sizes = needs, (a.shape, b.shape)
    if not want_b:
        a = None
    if not want_a:
        b = None

    def backward(grad):
        first = second = None
        if want_a:
            first = unbroadcast(np.multiply(b, grad), sizes[0])
        if want_b:
            second = unbroadcast(np.multiply(a, grad), sizes[1])
        return [first, second]

    return backward


@gradient_rule(divide)
def divide_rule(output, a, b, needs):
    def backward(grad):
        first = unbroadcast(grad * (1 / b), a.shape) if needs[0] else None
        second = unbroadcast(-(grad * a) / (b * b), b.shape) if needs[1] else None
        return first, second

    return backward


@gradient_rule(exp)
def exp_rule(output, a):
    def backward(grad):
        return (np.exp(a) * grad,)

    return backward


@gradient_rule(log)
def log_rule(output, a):
    def backward(grad):
        return (grad * np.reciprocal(a),)

    return backward


@gradient_rule(scalar_power)
def scalar_power_rule(output, a, exponent):
    slope = exponent * a ** (exponent - 1) if exponent != 0 else np.zeros_like(a)
    return lambda upstream: (slope * upstream,)
'''),
    alternative("autograd_rules", "float64 inside, cast back", source='''
def careful(grad, slope):
    return (grad.astype(np.float64) * slope).astype(grad.dtype)


@gradient_rule(multiply)
def multiply_rule(output, a, b, needs):
    shape_a, shape_b = a.shape, b.shape
    keep_a, keep_b = (a if needs[1] else None), (b if needs[0] else None)

    def backward(grad):
        one = unbroadcast(careful(grad, keep_b), shape_a) if needs[0] else None
        two = unbroadcast(careful(grad, keep_a), shape_b) if needs[1] else None
        return one, two

    return backward


@gradient_rule(divide)
def divide_rule(output, a, b, needs):
    shape_a, shape_b = a.shape, b.shape

    def backward(grad):
        one = unbroadcast(careful(grad, 1 / b), shape_a) if needs[0] else None
        two = unbroadcast(careful(grad, -output / b), shape_b) if needs[1] else None
        return one, two

    return backward


@gradient_rule(exp)
def exp_rule(output, a):
    return lambda grad: (careful(grad, output),)


@gradient_rule(log)
def log_rule(output, a):
    return lambda grad: (careful(grad, 1 / a),)


@gradient_rule(scalar_power)
def scalar_power_rule(output, a, exponent):
    if exponent == 0:
        return lambda grad: (0 * grad,)
    return lambda grad: (careful(grad, exponent * scalar_power(a, exponent - 1)),)
'''),
    alternative("autograd_record", "a loop over the inputs", source='''
class GradientRecorder:
    def __init__(self):
        self.recording = True

    def record(self, output, primitive, inputs, saved, params):
        if self.recording and any(tensor.requires_grad for tensor in inputs):
            edges, needs = [], []
            for tensor in inputs:
                needs.append(bool(tensor.requires_grad))
                if not tensor.requires_grad:
                    edges.append(None)
                elif tensor.node is None:
                    edges.append(tensor)
                else:
                    edges.append(tensor.node)
            backward = make_backward(primitive, output, inputs, needs, saved, params)
            if backward is not None:
                output.node = Node(primitive, edges, backward, output.data)
                output.requires_grad = True

    def changed(self, tensor):
        Node.changes.note(tensor.data)
        if tensor.node is not None:
            tensor.node = Node(changed_in_place, (), changed_in_place, tensor.data)

    def backward(self, tensor, gradient=None, retain_graph=False):
        gradient = first_gradient(tensor, gradient)
        if tensor.node is None:
            accumulate(tensor, gradient, gradient)
        else:
            walk(tensor.node, gradient, retain_graph)
'''),
    alternative("autograd_record", "tuples, and the rule asked last", (
        "needs = [tensor.requires_grad for tensor in inputs]", "needs = tuple(map(lambda tensor: tensor.requires_grad, inputs))"),
        ("edges = [(tensor.node or tensor) if tensor.requires_grad else None for tensor in inputs]",
         "edges = tuple(None if not t.requires_grad else t if t.node is None else t.node for t in inputs)")),
    alternative("autograd_no_grad", "a class", source='''
class no_grad:
    def __enter__(self):
        self.before = Recorder.current.recording
        Recorder.current.recording = False

    def __exit__(self, *error):
        Recorder.current.recording = self.before
        return False


def detach(tensor):
    result = Tensor.wrap(tensor.data.view())
    result.requires_grad = False
    return result
'''),
    alternative("autograd_no_grad", "a counter-free stack", source='''
@contextmanager
def no_grad():
    stack = [Recorder.current.recording]
    try:
        Recorder.current.recording = False
        yield Recorder.current
    finally:
        Recorder.current.recording = stack.pop()


def detach(tensor):
    with no_grad():
        return tensor[...]
'''),
    alternative("autograd_walk", "collect all nodes, then sort", (WALK_BODY, '''
    nodes, todo = {root}, [root]
    while todo:
        for edge in todo.pop().edges:
            if isinstance(edge, Node) and edge not in nodes:
                nodes.add(edge)
                todo.append(edge)
    grads = {root: gradient}
    for node in sorted(nodes, key=lambda node: node.order, reverse=True):
        grad = grads.pop(node)
        for edge, part in node.run(grad):
            if isinstance(edge, Node):
                grads[edge] = part if edge not in grads else np.add(grads[edge], part)
            else:
                accumulate(edge, part, grad)
        if not retain_graph:
            node.free()
''')),
    alternative("autograd_walk", "wait for all users of a node", (WALK_BODY, '''
    waits, todo, found = {}, [root], {root}
    while todo:
        for edge in todo.pop().edges:
            if isinstance(edge, Node):
                waits[edge] = waits.get(edge, 0) + 1
                if edge not in found:
                    found.add(edge)
                    todo.append(edge)
    parts, ready = {root: [gradient]}, [root]
    while ready:
        node = ready.pop()
        grad = parts.pop(node)
        grad = grad[0] if len(grad) == 1 else sum(grad)
        for edge, part in node.run(grad):
            if isinstance(edge, Node):
                parts.setdefault(edge, []).append(part)
                waits[edge] -= 1
                if waits[edge] == 0:
                    ready.append(edge)
            else:
                accumulate(edge, part, grad)
        if not retain_graph:
            node.free()
''')),
    alternative("autograd_walk", "a leaf always takes a copy", (
        '''    elif grad is incoming or grad.base is not None:
        leaf.grad = np.array(grad)
    else:
        leaf.grad = np.asarray(grad)
''', '''    else:
        leaf.grad = np.array(grad, copy=True)
'''), ("leaf.grad += grad", "leaf.grad = leaf.grad + grad")),
    alternative("autograd_gradcheck", "flat indices, two calls side by side", source='''
def numerical_gradient(fn, arrays, position, upstream, step=1e-6):
    def total(array):
        inputs = list(arrays[:position]) + [array] + list(arrays[position + 1 :])
        return float(np.sum(fn(*[Tensor(x, dtype=np.float64) for x in inputs]).data * upstream))

    x = arrays[position].astype(np.float64)
    slopes = np.empty(x.size)
    for i in range(x.size):
        up, down = x.copy(), x.copy()
        up.flat[i] += step
        down.flat[i] -= step
        slopes[i] = (total(up) - total(down)) / (2 * step)
    return slopes.reshape(x.shape)


def gradcheck(fn, inputs, seed=0, rtol=1e-5, atol=1e-7):
    inputs = [np.asarray(x).astype(np.float64) for x in inputs]
    tensors = []
    for x in inputs:
        tensors.append(Tensor(x, dtype=np.float64, requires_grad=True))
    output = fn(*tensors)
    upstream = np.random.default_rng(seed).uniform(-2, 2, output.shape)
    output.backward(upstream)
    for i in range(len(inputs)):
        assert tensors[i].grad is not None, f"input {i} has no gradient"
        np.testing.assert_allclose(tensors[i].grad, numerical_gradient(fn, inputs, i, upstream), rtol=rtol, atol=atol)
    return True
'''),
    alternative("autograd_gradcheck", "a step that is exact in binary", ("(step, -step)", "(float(step), -float(step))"),
                ("normal(size=output.shape)", "standard_normal(output.shape)")),
    alternative("autograd_matmul", "case by case", source='''
@gradient_rule(matmul)
def matmul_rule(output, a, b, needs):
    def backward(grad):
        if a.ndim == 1 and b.ndim == 1:
            first, second = grad * b, grad * a
        elif b.ndim == 1:
            first = grad[..., None] * b
            second = (a * grad[..., None]).reshape(-1, a.shape[-1]).sum(axis=0)
        elif a.ndim == 1:
            first = (b * grad[..., None, :]).sum(axis=-1)
            first = first.reshape(-1, a.shape[0]).sum(axis=0)
            second = a[:, None] * grad[..., None, :]
        else:
            first = unbroadcast(grad @ np.swapaxes(b, -1, -2), a.shape) if needs[0] else None
            second = unbroadcast(np.swapaxes(a, -1, -2) @ grad, b.shape) if needs[1] else None
        return first if needs[0] else None, second if needs[1] else None

    return backward
'''),
    alternative("autograd_matmul", "by einsum", source='''
@gradient_rule(matmul)
def matmul_rule(output, a, b, needs):
    left = "...mk" if a.ndim > 1 else "k"
    right = "...kn" if b.ndim > 1 else "k"
    result = "..." + ("m" if a.ndim > 1 else "") + ("n" if b.ndim > 1 else "")

    def backward(grad):
        by_a = by_b = None
        if needs[0]:
            by_a = unbroadcast(np.einsum(f"{result},{right}->...{left.replace('...', '')}", grad, b), a.shape)
        if needs[1]:
            by_b = unbroadcast(np.einsum(f"{left},{result}->...{right.replace('...', '')}", a, grad), b.shape)
        return by_a, by_b

    return backward
'''),
    alternative("autograd_reductions", "multiplying by ones", source='''
@gradient_rule(reduce_sum)
def reduce_sum_rule(output, a, axis=None, keepdims=False):
    ones = np.ones(a.shape, a.dtype)
    return lambda grad: (ones * restore_axes(grad, ones.ndim, axis, keepdims),)


@gradient_rule(reduce_mean)
def reduce_mean_rule(output, a, axis=None, keepdims=False):
    axes = range(a.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    count = math.prod(a.shape[i] for i in axes)
    shape, dtype = a.shape, a.dtype
    return lambda grad: ((restore_axes(grad, len(shape), axis, keepdims) + np.zeros(shape, dtype)) / max(count, 1),)


@gradient_rule(reduce_max)
def reduce_max_rule(output, a, axis=None, keepdims=False):
    shares = (a == a.max(axis=axis, keepdims=True)).astype(a.dtype)
    shares /= shares.sum(axis=axis, keepdims=True)
    return lambda grad: (shares * restore_axes(grad, shares.ndim, axis, keepdims),)


@gradient_rule(index)
def index_rule(output, a, key):
    shape = a.shape

    def backward(grad):
        whole = np.zeros(shape, dtype=grad.dtype)
        np.add.at(whole, key, grad)
        return (whole,)

    return backward
'''),
    alternative("autograd_reductions", "reshape by hand, bincount", source='''
def with_ones(grad, shape, axis):
    axes = range(len(shape)) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = {i % max(len(shape), 1) for i in axes}
    return np.reshape(grad, [1 if i in axes else n for i, n in enumerate(shape)])


@gradient_rule(reduce_sum)
def reduce_sum_rule(output, a, axis=None, keepdims=False):
    shape = a.shape

    def backward(grad):
        return (np.broadcast_to(with_ones(grad, shape, axis), shape).copy(),)

    return backward


@gradient_rule(reduce_mean)
def reduce_mean_rule(output, a, axis=None, keepdims=False):
    shape, ratio = a.shape, output.size / max(a.size, 1)

    def backward(grad):
        return (np.broadcast_to(with_ones(grad, shape, axis) * ratio, shape).copy(),)

    return backward


@gradient_rule(reduce_max)
def reduce_max_rule(output, a, axis=None, keepdims=False):
    shape, largest = a.shape, np.equal(a, with_ones(output, a.shape, axis))

    def backward(grad):
        number = largest.sum(axis=axis, keepdims=True).astype(grad.dtype)
        return (np.where(largest, with_ones(grad, shape, axis) / number, np.zeros((), grad.dtype)),)

    return backward


@gradient_rule(index)
def index_rule(output, a, key):
    shape, places = a.shape, np.arange(a.size).reshape(a.shape)[key]

    def backward(grad):
        flat = np.bincount(places.ravel(), weights=np.ravel(grad), minlength=math.prod(shape))
        return (flat.astype(grad.dtype).reshape(shape),)

    return backward
'''),
    alternative("autograd_layers", "where, sums and a mask of the input", source='''
@gradient_rule(relu_forward)
def relu_rule(output, a):
    mask = a > 0
    return lambda grad: (np.where(mask, grad, np.zeros_like(grad)),)


@gradient_rule(softmax_forward)
def softmax_rule(output, a, axis=-1):
    def backward(grad):
        weighted = grad * output
        return (weighted - output * weighted.sum(axis=axis, keepdims=True),)

    return backward


@gradient_rule(linear_forward)
def linear_rule(output, x, weight, bias=None, *, needs):
    def backward(grad):
        result = [None] * len(needs)
        batch = tuple(range(grad.ndim - 1))
        if needs[0]:
            result[0] = grad @ weight
        if needs[1]:
            result[1] = np.tensordot(grad, x, (batch, batch))
        if len(needs) == 3 and needs[2]:
            result[2] = grad.sum(axis=batch)
        return tuple(result)

    return backward
'''),
    alternative("autograd_layers", "the Jacobian of softmax, einsum for linear", source='''
@gradient_rule(relu_forward)
def relu_rule(output, a):
    return lambda grad: (grad * np.sign(output),)


@gradient_rule(softmax_forward)
def softmax_rule(output, a, axis=-1):
    y = np.moveaxis(output, axis, -1)

    def backward(grad):
        g = np.moveaxis(grad, axis, -1)
        jacobian = y[..., :, None] * (np.eye(y.shape[-1], dtype=y.dtype) - y[..., None, :])
        return (np.moveaxis(np.einsum("...ij,...i->...j", jacobian, g), -1, axis),)

    return backward


@gradient_rule(linear_forward)
def linear_rule(output, x, weight, bias=None, *, needs):
    def backward(grad):
        rows, columns = np.reshape(grad, (-1, grad.shape[-1])), np.reshape(x, (-1, x.shape[-1]))
        grads = (
            np.einsum("...o,oi->...i", grad, weight) if needs[0] else None,
            np.einsum("no,ni->oi", rows, columns) if needs[1] else None,
            np.einsum("no->o", rows),
        )
        return grads if bias is not None else grads[:2]

    return backward
'''),
    alternative("saved_predict", "matrix by matrix", ("4 * (N * D + D * H + N * H + H * O)", "sum(4 * n * m for n, m in [(N, D), (D, H), (N, H), (H, O)])")),
    alternative("saved_predict", "from NumPy", ("4 * (N * D + D * H + N * H + H * O)", "np.dtype(np.float32).itemsize * ((N + H) * D + (N + O) * H)")),
    alternative("backward_predict", "as a multiple of forward", ("    products = 2 if x_requires_grad else 1\n    return products * 2 * M * K * N",
                "    return predict_forward_flops(M, K, N) * (1 + int(x_requires_grad))")),
    alternative("backward_predict", "two cases", ("    products = 2 if x_requires_grad else 1\n    return products * 2 * M * K * N",
                "    if x_requires_grad:\n        return 4 * M * N * K\n    return 2 * N * M * K")),
    alternative("depth_predict", "a sum", ("3 * layers + 1", "sum(3 for _ in range(layers)) + 1")),
    alternative("depth_predict", "the other way round", ("length if recording else 2", "{True: length, False: 2}[bool(recording)]")),
    alternative("autograd_unbroadcast", "sums by einsum", source='''
def unbroadcast(grad, shape):
    if grad.shape == shape:
        return grad
    letters = "abcdefgh"[: grad.ndim]
    last = letters[grad.ndim - len(shape) :]
    kept = "".join(letter for letter, length in zip(last, shape) if length != 1)
    return np.einsum(f"{letters}->{kept}", grad).reshape(shape)
'''),
    alternative("autograd_rules", "what is kept stands in defaults", (
        "    slope_a = b if needs[0] else None\n    slope_b = a if needs[1] else None\n\n    def backward(grad):\n",
        "\n    def backward(grad, slope_a=b if needs[0] else None, slope_b=a if needs[1] else None):\n",
    ), ("lambda grad: (grad * output,)", "lambda grad, slope=output: (grad * slope,)")),
    alternative("autograd_matmul", "names bound only where they are needed", (
        "    right = columns if needs[0] else None\n    left = rows if needs[1] else None\n",
        "    if needs[0]:\n        right = columns\n    if needs[1]:\n        left = rows\n",
    )),
    alternative("autograd_walk", "gradients of leaves start from zeros", (
        "    if leaf.grad is not None:\n        leaf.grad += grad\n    elif grad is incoming or grad.base is not None:\n"
        "        leaf.grad = np.array(grad)\n    else:\n        leaf.grad = np.asarray(grad)\n",
        "    if leaf.grad is None:\n        leaf.grad = np.zeros_like(leaf.data)\n    leaf.grad += grad\n",
    )),
    alternative("autograd_walk", "depth first with a stack of its own", (WALK_BODY, '''
    order, seen, stack = [], {root}, [(root, iter(root.edges))]
    while stack:
        node, edges = stack[-1]
        for edge in edges:
            if isinstance(edge, Node) and edge not in seen:
                seen.add(edge)
                stack.append((edge, iter(edge.edges)))
                break
        else:
            order.append(stack.pop()[0])
    parts = {root: [gradient]}
    while order:
        node = order.pop()
        received = parts.pop(node)
        grad = received[0] if len(received) == 1 else sum(received[1:], received[0])
        for edge, part in node.run(grad):
            if isinstance(edge, Node):
                parts.setdefault(edge, []).append(part)
            else:
                accumulate(edge, part, grad)
        if not retain_graph:
            node.free()
''')),
]
