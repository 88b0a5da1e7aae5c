"""Wrong and right solutions of module 02."""

from variants import alternative, mutant

RELU = "return np.maximum(a, 0)"
SIGMOID = "return np.exp(np.minimum(a, 0)) / (1 + np.exp(-np.abs(a)))"
FIRST_GELU_LINES = "np.multiply(-2 * GELU_SCALE * GELU_CUBIC, x, out=s)\n        s *= x\n        s -= 2 * GELU_SCALE\n"

RELU_CELL = '''
def relu_forward(a):
    {body}


def relu(x):
    return apply(relu_forward, x)
'''

SIGMOID_CELL = '''
def sigmoid_forward(a):
    {body}


def sigmoid(x):
    return apply(sigmoid_forward, x)
'''

TANH_CELL = '''
def tanh_forward(a):
    {body}


def tanh(x):
    return apply(tanh_forward, x)
'''

GELU_CELL = '''
def gelu_forward(a):
    {body}


def gelu(x):
    return apply(gelu_forward, x)
'''

SOFTMAX_CELL = '''
def shift_by_max(a, axis=-1):
    {shift}


def softmax_forward(a, axis=-1):
    {body}


def softmax(x, axis=-1):
    return apply(softmax_forward, x, axis=axis)
'''

LOG_SOFTMAX_CELL = '''
def log_softmax_forward(a, axis=-1):
    {body}


def log_softmax(x, axis=-1):
    return apply(log_softmax_forward, x, axis=axis)
'''

FLOPS_CELL = '''
def predict_sigmoid_flops(n):
    return {sigmoid}


def predict_gelu_flops(n):
    return {gelu}


def predict_softmax_flops(N, C):
    return {softmax}
'''


def cell(template, *lines, **parts):
    """A solution cell: the template with the lines as its body."""
    return template.format(body="\n    ".join(lines), **parts)


MUTANTS = [
    # relu
    mutant("activations_relu", "takes the absolute value", "activations_relu_check", (RELU, "return np.abs(a)")),
    mutant("activations_relu", "keeps the negative part", "activations_relu_check", (RELU, "return np.minimum(a, 0)")),
    mutant("activations_relu", "works in place on its input", "activations_relu_check",
           (RELU, "return np.maximum(a, 0, out=a)")),
    mutant("activations_relu", "answers with the mask", "activations_relu_check", (RELU, "return (a > 0) * 1.0")),
    mutant("activations_relu", "hands out an array, past the door", "activations_relu_check",
           ("return apply(relu_forward, x)", "return relu_forward(x.data)")),
    mutant("activations_relu", "a tensor of its own, past the door", "activations_relu_check",
           ("return apply(relu_forward, x)", "return Tensor(relu_forward(x.data), dtype=x.dtype)")),
    mutant("activations_relu", "composed of other operations", "activations_relu_check",
           ("return apply(relu_forward, x)", "return (x + abs(x)) * 0.5")),
    mutant("activations_relu", "makes float64", "activations_relu_check",
           (RELU, "return np.maximum(a, np.zeros(a.shape))")),
    mutant("activations_relu", "clips at 6", "activations_relu_check", (RELU, "return np.clip(a, 0, 6)")),
    mutant("activations_relu", "turns NaN into 0", "activations_relu_hidden", (RELU, "return np.where(a > 0, a, 0)")),
    mutant("activations_relu", "multiplies by the mask, -inf too", "activations_relu_hidden", (RELU, "return a * (a > 0)")),
    mutant("activations_relu", "leaks", "activations_relu_check", (RELU, "return np.maximum(a, 0.01 * a)")),
    # sigmoid
    mutant("activations_sigmoid", "the first form alone", "activations_sigmoid_check", (SIGMOID, "return 1 / (1 + np.exp(-a))")),
    mutant("activations_sigmoid", "the second form alone", "activations_sigmoid_check",
           (SIGMOID, "return np.exp(a) / (1 + np.exp(a))")),
    mutant("activations_sigmoid", "forgets the sign", "activations_sigmoid_check", (SIGMOID, "return 1 / (1 + np.exp(-np.abs(a)))")),
    mutant("activations_sigmoid", "the sign turned round", "activations_sigmoid_check",
           (SIGMOID, "return np.exp(np.minimum(-a, 0)) / (1 + np.exp(-np.abs(a)))")),
    mutant("activations_sigmoid", "clips the input", "activations_sigmoid_check",
           (SIGMOID, "return 1 / (1 + np.exp(-np.clip(a, -20, 20)))")),
    mutant("activations_sigmoid", "chooses with np.where after computing both", "activations_sigmoid_check",
           (SIGMOID, "return np.where(a >= 0, 1 / (1 + np.exp(-a)), np.exp(a) / (1 + np.exp(a)))")),
    mutant("activations_sigmoid", "by tanh, which rounds", "activations_sigmoid_check", (SIGMOID, "return (1 + np.tanh(a / 2)) / 2")),
    mutant("activations_sigmoid", "one minus the positive branch", "activations_sigmoid_check",
           (SIGMOID, "s = 1 / (1 + np.exp(-np.abs(a)))\n    return np.where(a >= 0, s, 1 - s)")),
    mutant("activations_sigmoid", "a constant in float64", "activations_sigmoid_check",
           (SIGMOID, "return np.exp(np.minimum(a, 0)) / (np.float64(1) + np.exp(-np.abs(a)))")),
    mutant("activations_sigmoid", "casts to float32", "activations_sigmoid_hidden",
           (SIGMOID, "return (np.exp(np.minimum(a, 0)) / (1 + np.exp(-np.abs(a)))).astype(np.float32)")),
    # tanh
    mutant("activations_tanh", "from the exponentials", "activations_tanh_check",
           ("return np.tanh(a)", "return (np.exp(a) - np.exp(-a)) / (np.exp(a) + np.exp(-a))")),
    mutant("activations_tanh", "from the sigmoid", "activations_tanh_check",
           ("return np.tanh(a)", "return 2 * sigmoid_forward(2 * a) - 1")),
    mutant("activations_tanh", "forgets the 2 inside", "activations_tanh_check",
           ("return np.tanh(a)", "return 2 * sigmoid_forward(a) - 1")),
    mutant("activations_tanh", "the tangent", "activations_tanh_check", ("return np.tanh(a)", "return np.tan(a)")),
    mutant("activations_tanh", "works in place on its input", "activations_tanh_hidden",
           ("return np.tanh(a)", "return np.tanh(a, out=a)")),
    mutant("activations_tanh", "makes float64", "activations_tanh_check",
           ("return np.tanh(a)", "return np.tanh(a.astype(np.float64))")),
    # gelu
    mutant("activations_gelu", "the gate alone", "activations_gelu_check", ("return output, gate", "return gate, gate")),
    mutant("activations_gelu", "does not hand out the gate", "activations_gelu_check", ("return output, gate", "return output")),
    mutant("activations_gelu", "sigmoid of u, not of 2u", "activations_gelu_check",
           ("-2 * GELU_SCALE * GELU_CUBIC, x", "-GELU_SCALE * GELU_CUBIC, x"), ("s -= 2 * GELU_SCALE", "s -= GELU_SCALE")),
    mutant("activations_gelu", "swish: no cubic term", "activations_gelu_check",
           (FIRST_GELU_LINES, "s[...] = -2 * GELU_SCALE\n")),
    mutant("activations_gelu", "forgets the scale", "activations_gelu_check",
           ("GELU_SCALE = math.sqrt(2 / math.pi)", "GELU_SCALE = 1.0")),
    mutant("activations_gelu", "the scale upside down", "activations_gelu_check",
           ("GELU_SCALE = math.sqrt(2 / math.pi)", "GELU_SCALE = math.sqrt(math.pi / 2)")),
    mutant("activations_gelu", "a float64 constant", "activations_gelu_check", source=cell(
        GELU_CELL, "u = np.sqrt(2 / np.pi) * (a + 0.044715 * a * a * a)", "gate = sigmoid_forward(2 * u)", "return a * gate, gate")),
    mutant("activations_gelu", "results in float64", "activations_gelu_check",
           ("np.empty(a.shape, dtype), np.empty(a.shape, dtype)", "np.empty(a.shape), np.empty(a.shape)")),
    mutant("activations_gelu", "writes into its input", "activations_gelu_check",
           ("np.multiply(x, s, out=y)", "np.multiply(x, s, out=x)"), ("return output, gate", "return a, gate")),
    mutant("activations_gelu", "lets the overflow warn", "activations_gelu_check",
           ('with np.errstate(over="ignore"):  # 1 / (1 + inf) is 0, as it should be', "if True:")),
    mutant("activations_gelu", "a quicker, rougher form", "activations_gelu_check",
           (FIRST_GELU_LINES, "s[...] = -1.702\n")),
    mutant("activations_gelu", "a constant cut short", "activations_gelu_hidden",
           ("GELU_SCALE = math.sqrt(2 / math.pi)", "GELU_SCALE = 0.7978846")),
    mutant("activations_gelu", "the first block alone", "activations_gelu_hidden",
           ("        np.multiply(x, s, out=y)\n", "        np.multiply(x, s, out=y)\n        break\n")),
    mutant("activations_gelu", "results in the memory order of the input", "activations_gelu_hidden",
           ("np.empty(a.shape, dtype), np.empty(a.shape, dtype)", "np.zeros_like(a, dtype), np.zeros_like(a, dtype)")),
    # softmax, composed
    mutant("activations_composed", "does not shift", "activations_composed_check",
           ("x - x.max(axis=axis, keepdims=True)", "x - 0.0")),
    mutant("activations_composed", "shifts by the largest of all", "activations_composed_hidden",
           ("x - x.max(axis=axis, keepdims=True)", "x - x.max()")),
    mutant("activations_composed", "always along the last axis", "activations_composed_check",
           ("x.max(axis=axis, keepdims=True)", "x.max(axis=-1, keepdims=True)"),
           ("exps.sum(axis=axis, keepdims=True)", "exps.sum(axis=-1, keepdims=True)")),
    mutant("activations_composed", "divides by the sum of all", "activations_composed_check",
           ("exps.sum(axis=axis, keepdims=True)", "exps.sum()")),
    mutant("activations_composed", "forgets keepdims", "activations_composed_check",
           ("exps.sum(axis=axis, keepdims=True)", "exps.sum(axis=axis)")),
    mutant("activations_composed", "divides by the mean", "activations_composed_check",
           ("exps.sum(axis=axis, keepdims=True)", "exps.mean(axis=axis, keepdims=True)")),
    mutant("activations_composed", "shifts by the mean", "activations_composed_hidden",
           ("x - x.max(axis=axis, keepdims=True)", "x - x.mean()")),
    mutant("activations_composed", "shifts by the mean of the row", "activations_composed_hidden",
           ("x - x.max(axis=axis, keepdims=True)", "x - x.mean(axis=axis, keepdims=True)")),
    mutant("activations_composed", "an array instead of a tensor", "activations_composed_check",
           ("shifted = x", "x = x.data\n    shifted = x"), ("shifted.exp()", "np.exp(shifted)")),
    mutant("activations_composed", "NumPy, wrapped at the end", "activations_composed_check",
           ("shifted = x", "x = x.data\n    shifted = x"), ("shifted.exp()", "np.exp(shifted)"),
           ("return exps / exps.sum(axis=axis, keepdims=True)", "return Tensor(exps / exps.sum(axis=axis, keepdims=True))")),
    mutant("activations_composed", "adds the maximum", "activations_composed_check",
           ("x - x.max(axis=axis, keepdims=True)", "x + x.max(axis=axis, keepdims=True)")),
    mutant("activations_composed", "does not divide", "activations_composed_check",
           (" / exps.sum(axis=axis, keepdims=True)", "")),
    # softmax, lean
    mutant("activations_softmax", "does not shift", "activations_softmax_check",
           ("np.exp(shift_by_max(x, axis), out=out)", "np.exp(x, out=out)")),
    mutant("activations_softmax", "writes into its input", "activations_softmax_check",
           ("np.exp(shift_by_max(x, axis), out=out)", "x -= x.max(axis=axis, keepdims=True)\n        np.exp(x, out=out)")),
    mutant("activations_softmax", "always along the last axis", "activations_softmax_check",
           ("p = np.empty(a.shape, np.result_type(a, 0.0))", "axis = -1\n    p = np.empty(a.shape, np.result_type(a, 0.0))")),
    mutant("activations_softmax", "the first axis by default", "activations_softmax_check",
           ("def softmax_forward(a, axis=-1):", "def softmax_forward(a, axis=0):"), ("def softmax(x, axis=-1):", "def softmax(x, axis=0):")),
    mutant("activations_softmax", "shifts by the largest of all", "activations_softmax_check",
           ("largest = a.max(axis=axis, keepdims=True)", "largest = a.max()")),
    mutant("activations_softmax", "NaN in a masked row", "activations_softmax_check",
           ("np.where(largest == -np.inf, 0.0, largest)", "largest")),
    mutant("activations_softmax", "divides a masked row by 0", "activations_softmax_check", ("        total[total == 0] = 1\n", "")),
    mutant("activations_softmax", "a masked row made uniform", "activations_softmax_check",
           ("out /= total", "out /= total\n        out[np.broadcast_to((out == 0).all(axis=axis, keepdims=True), out.shape)] = 1 / out.shape[axis]")),
    mutant("activations_softmax", "hides NaN", "activations_softmax_hidden", ("    return p\n", "    return np.nan_to_num(p)\n")),
    mutant("activations_softmax", "a new array at every step", "activations_softmax_check",
           ("for x, out in row_blocks(axis, a, p):", "for x, out in [(a, p)]:"), ("np.exp(shift_by_max(x, axis), out=out)", "q = np.exp(shift_by_max(x, axis))"), ("sum_along(out, axis)", "sum_along(q, axis)"), ("out /= total", "out[...] = q / total")),
    mutant("activations_softmax", "makes float64", "activations_softmax_check",
           ("np.result_type(a, 0.0)", "np.float64")),
    mutant("activations_softmax", "adds a small number to the total", "activations_softmax_hidden",
           ("total[total == 0] = 1", "total += 1e-7")),
    mutant("activations_softmax", "the axis -1 and no other negative one", "activations_softmax_hidden",
           ("p = np.empty(a.shape, np.result_type(a, 0.0))", "axis = axis if axis >= 0 else a.ndim - 1\n    p = np.empty(a.shape, np.result_type(a, 0.0))")),
    mutant("activations_softmax", "takes very negative logits for masked ones", "activations_softmax_hidden",
           ("largest == -np.inf", "largest < -100")),
    mutant("activations_softmax", "a finite number for the maximum of a masked row", "activations_softmax_hidden",
           ("np.where(largest == -np.inf, 0.0, largest)", "np.maximum(largest, -1e9)")),
    mutant("activations_softmax", "the first rows alone", "activations_softmax_hidden",
           ("        out /= total\n", "        out /= total\n        break\n")),
    # log-softmax
    mutant("activations_log_softmax", "the log of softmax", "activations_log_softmax_check",
           ("shifted = shift_by_max(a, axis)", 'with np.errstate(divide="ignore"):\n        return np.log(softmax_forward(a, axis))')),
    mutant("activations_log_softmax", "the log of softmax, a little raised", "activations_log_softmax_check",
           ("shifted = shift_by_max(a, axis)", "return np.log(softmax_forward(a, axis) + 1e-9)")),
    mutant("activations_log_softmax", "does not shift", "activations_log_softmax_check",
           ("shifted = shift_by_max(a, axis)", "shifted = a.copy()")),
    mutant("activations_log_softmax", "subtracts the total, not its log", "activations_log_softmax_check",
           ("shifted -= np.log(total)", "shifted -= total")),
    mutant("activations_log_softmax", "adds the log", "activations_log_softmax_check",
           ("shifted -= np.log(total)", "shifted += np.log(total)")),
    mutant("activations_log_softmax", "log to the base 2", "activations_log_softmax_check", ("np.log(total)", "np.log2(total)")),
    mutant("activations_log_softmax", "always along the last axis", "activations_log_softmax_check",
           ("shifted = shift_by_max(a, axis)", "axis = -1\n    shifted = shift_by_max(a, axis)")),
    mutant("activations_log_softmax", "NaN in a masked row", "activations_log_softmax_check", ("    total[total == 0] = 1\n", "")),
    mutant("activations_log_softmax", "0 in a masked row", "activations_log_softmax_check",
           ("return shifted", "return np.where(np.isneginf(shifted).all(axis, keepdims=True), 0, shifted)")),
    mutant("activations_log_softmax", "masks made finite", "activations_log_softmax_check",
           ("return shifted", "return np.maximum(shifted, -1e9)")),
    mutant("activations_log_softmax", "hides NaN", "activations_log_softmax_hidden",
           ("return shifted", "return np.nan_to_num(shifted, nan=-np.inf, neginf=-np.inf)")),
    mutant("activations_log_softmax", "writes into its input", "activations_log_softmax_check",
           ("return shifted", "a[...] = shifted\n    return a")),
    mutant("activations_log_softmax", "adds the maximum back before the log is subtracted", "activations_log_softmax_hidden",
           ("shifted = shift_by_max(a, axis)", "shifted = shift_by_max(a, axis)\n    top = a.max(axis=axis, keepdims=True)"),
           ("shifted -= np.log(total)", "shifted = a - (np.where(top == -np.inf, 0.0, top) + np.log(total))")),
    # systems
    *[mutant("activations_flops_predict", name, "activations_flops_check", swap) for name, swap in [
        ("sigmoid without the minus sign", ("return 4 * n", "return 3 * n")),
        ("sigmoid as one operation", ("return 4 * n", "return n")),
        ("gelu without the cube", ("return 9 * n", "return 7 * n")),
        ("gelu: exp is ten operations", ("return 9 * n", "return 18 * n")),
        ("softmax without the maximum", ("return 5 * N * C", "return 4 * N * C")),
        ("softmax: reductions counted once a row", ("return 5 * N * C", "return 3 * N * C + 2 * N")),
        ("softmax: only the rows", ("return 5 * N * C", "return 5 * N")),
    ]],
    *[mutant("activations_memory_predict", name, "activations_memory_check", swap) for name, swap in [
        ("printed: only the result", ("return 3 * 4 * N * C", "return 4 * N * C")),
        ("printed: without the result", ("return 3 * 4 * N * C", "return 2 * 4 * N * C")),
        ("printed: with the input", ("return 3 * 4 * N * C", "return 4 * 4 * N * C")),
        ("printed: numbers, not bytes", ("return 3 * 4 * N * C", "return 3 * N * C")),
        ("lean: float64", ("return 4 * N * C", "return 8 * N * C")),
        ("lean: in place on the input", ("return 4 * N * C", "return 0")),
        ("lean: one number a row", ("return 4 * N * C", "return 4 * N")),
    ]],
    *[mutant("activations_overflow_predict", name, "activations_overflow_check", swap) for name, swap in [
        ("log to the base 10", ("math.log(", "math.log10(")),
        ("log to the base 2", ("math.log(", "math.log2(")),
        ("float32 whatever the dtype", ("np.finfo(dtype)", "np.finfo(np.float32)")),
        ("where it underflows", ("math.log(np.finfo(dtype).max)", "-math.log(np.finfo(dtype).tiny)")),
        ("the largest number itself", ("math.log(np.finfo(dtype).max)", "float(np.finfo(dtype).max)")),
        ("by the number of bits", ("math.log(np.finfo(dtype).max)", "float(np.finfo(dtype).bits)")),
    ]],
]

ALTERNATIVES = [
    alternative("activations_relu", "by a mask", source=cell(RELU_CELL, "out = a.copy()", "out[a < 0] = 0", "return out")),
    alternative("activations_relu", "by where", source=cell(RELU_CELL, "return np.where(a < 0, 0, a).astype(a.dtype)")),
    alternative("activations_relu", "by clip", source=cell(RELU_CELL, "return np.clip(a, 0, None)")),
    alternative("activations_sigmoid", "one exp and where", source=cell(
        SIGMOID_CELL, "z = np.exp(-np.abs(a))", "return np.where(a >= 0, 1, z) / (1 + z)")),
    alternative("activations_sigmoid", "by masks", source=cell(
        SIGMOID_CELL, "a = np.asarray(a, dtype=a.dtype if a.dtype.kind == 'f' else float)", "out = np.empty_like(a)",
        "up = ~(a < 0)", "out[up] = 1 / (1 + np.exp(-a[up]))", "z = np.exp(a[~up])", "out[~up] = z / (1 + z)", "return out")),
    alternative("activations_sigmoid", "in float64, by logaddexp", source=cell(
        SIGMOID_CELL, "return np.exp(-np.logaddexp(0, -a.astype(np.float64))).astype(a.dtype if a.dtype.kind == 'f' else float)")),
    alternative("activations_tanh", "by expm1", source=cell(
        TANH_CELL, "z = np.expm1(-2 * np.abs(a))", "return np.sign(a) * (-z / (2 + z))")),
    alternative("activations_tanh", "in float64, cast back", source=cell(
        TANH_CELL, "return np.tanh(a.astype(np.float64)).astype(a.dtype)")),
    alternative("activations_gelu", "by tanh", source=cell(
        GELU_CELL, "a64 = a.astype(np.float64)", "u = math.sqrt(2 / math.pi) * (a64 + 0.044715 * a64 * a64 * a64)",
        "gate = (0.5 * (1 + np.tanh(u))).astype(a.dtype)", "return a * gate, gate")),
    alternative("activations_gelu", "by tanh in float32", source=cell(
        GELU_CELL, "u = math.sqrt(2 / math.pi) * (a + 0.044715 * a * a * a)",
        "gate = 0.5 * (1 + np.tanh(u))", "return a * gate, gate")),
    alternative("activations_gelu", "by its sigmoid", source=cell(
        GELU_CELL, "u = math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)", "gate = sigmoid_forward(2 * u)", "return gate * a, gate")),
    alternative("activations_composed", "in one expression", source='''
def softmax_composed(x, axis=-1):
    e = (x - x.max(axis, True)).exp()
    return e / e.sum(axis, True)
'''),
    alternative("activations_composed", "by the log of the sum", source='''
def softmax_composed(x, axis=-1):
    x = x - x.max(axis=axis, keepdims=True)
    return (x - x.exp().sum(axis=axis, keepdims=True).log()).exp()
'''),
    alternative("activations_softmax", "all rows at once", source=cell(
        SOFTMAX_CELL, "p = shift_by_max(a, axis)", "np.exp(p, out=p)", "total = sum_along(p, axis)", "total[total == 0] = 1",
        "p /= total", "return p",
        shift="m = a.max(axis=axis, keepdims=True)\n    m[m == -np.inf] = 0\n    return a - m")),
    alternative("activations_softmax", "rows by a plain sum and a reciprocal", source=cell(
        SOFTMAX_CELL, "p = shift_by_max(a, axis)", "np.exp(p, out=p)", "total = p.sum(axis=axis, keepdims=True)",
        "p *= np.where(total > 0, 1 / np.where(total == 0, 1, total), total)", "return p",
        shift="m = np.max(a, axis=axis, keepdims=True)\n    m[np.isneginf(m)] = 0\n    return a - m")),
    alternative("activations_softmax", "without shift_by_max", source=cell(
        SOFTMAX_CELL, "m = np.maximum(a.max(axis=axis, keepdims=True), np.finfo(a.dtype).min)", "out = np.subtract(a, m)",
        "np.exp(out, out=out)", "s = np.add.reduce(out, axis=axis, keepdims=True)",
        "np.divide(out, s, out=out, where=s != 0)", "return out",
        shift="m = a.max(axis=axis, keepdims=True)\n    return a - np.where(np.isfinite(m), m, 0).astype(a.dtype)")),
    alternative("activations_softmax", "with the axis moved to the end", source=cell(
        SOFTMAX_CELL, "p = np.moveaxis(shift_by_max(a, axis), axis, -1)", "np.exp(p, out=p)", "s = np.einsum('...i->...', p)[..., None]",
        "p /= s + (s == 0)", "return np.moveaxis(p, -1, axis)",
        shift="m = a.max(axis=axis, keepdims=True)\n    m = np.where(m == -np.inf, np.zeros_like(m), m)\n    return a - m")),
    alternative("activations_log_softmax", "by logaddexp", source=cell(
        LOG_SOFTMAX_CELL, "b = shift_by_max(a.astype(np.float64), axis)", "s = np.logaddexp.reduce(b, axis=axis, keepdims=True)",
        "return (b - np.where(np.isneginf(s), 0, s)).astype(a.dtype)")),
    alternative("activations_log_softmax", "in float64, cast back", source=cell(
        LOG_SOFTMAX_CELL, "b = a.astype(np.float64)", "m = b.max(axis=axis, keepdims=True)", "m = np.where(np.isneginf(m), 0, m)",
        "s = np.exp(b - m).sum(axis=axis, keepdims=True)", "return (b - (m + np.log(np.where(s == 0, 1, s)))).astype(a.dtype)")),
    alternative("activations_flops_predict", "sums written out", source=FLOPS_CELL.format(
        sigmoid="n + n + n + n", gelu="3 * n + 1 * n + n + n + n + 2 * n", softmax="N * C + N * C + N * C + N * C + N * C")),
    alternative("activations_flops_predict", "with lambdas", source='''
predict_sigmoid_flops = lambda n: 4 * n
predict_gelu_flops = lambda n: 9 * n
predict_softmax_flops = lambda N, C: N * (C + C + C + C + C)
'''),
    alternative("activations_flops_predict", "as floats", source=FLOPS_CELL.format(
        sigmoid="4.0 * n", gelu="9.0 * n", softmax="5.0 * N * C")),
    alternative("activations_memory_predict", "with the rows", ("return 3 * 4 * N * C", "return 3 * 4 * N * C + 8 * N"),
                ("return 4 * N * C", "return 4 * N * C + 8 * N")),
    alternative("activations_memory_predict", "by itemsize", ("return 3 * 4 * N * C", "return 3 * np.zeros((N, C), np.float32).nbytes"),
                ("return 4 * N * C", "return N * C * np.dtype(np.float32).itemsize")),
    alternative("activations_overflow_predict", "with NumPy", ("math.log(np.finfo(dtype).max)", "np.log(np.finfo(dtype).max.astype(np.float64))")),
    alternative("activations_overflow_predict", "by the exponent", ("math.log(np.finfo(dtype).max)", "np.finfo(dtype).maxexp * math.log(2)")),
]
