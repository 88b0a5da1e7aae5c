"""Wrong and right solutions of module 04."""

from variants import alternative, mutant

MEAN = "return losses.sum() / max(losses.size if count is None else count, 1)"
UNKNOWN = '''raise ValueError(f"reduction {reduction!r} is unknown; there are 'none', 'mean' and 'sum'")'''
MSE = "return reduce_losses(difference * difference, reduction), difference"
ONE_HOT = "return (target[..., None] == np.arange(classes)).astype(np.float32)"
WRONG = "wrong = counts & ((target < 0) | (target >= classes))"
KIND = 'if target.dtype.kind not in "iu":'
SMOOTHED = "wanted = (1 - label_smoothing) * wanted + label_smoothing * mean"
PICK = "    wanted = z[np.arange(len(z)), target]\n"
SHAPES = "if logits.shape[:-1] != target.shape:"
IGNORE = "losses = np.where(counts, losses.reshape(target.shape), 0.0)"
REDUCE = "return reduce_losses(losses, reduction, int(counts.sum())), saved"
BINARY = "losses = np.log1p(np.exp(-np.abs(logits)))\n    losses += np.maximum(logits, 0) - logits * target\n"

MUTANTS = [
    # reductions
    mutant("losses_reduce", "the mean over the first axis only", "losses_reduce_check", (MEAN, "return losses.mean(axis=0)")),
    mutant("losses_reduce", "disregards the count", "losses_reduce_check", (MEAN, "return losses.mean() if losses.size else losses.sum()")),
    mutant("losses_reduce", "the number of rows for the number of losses", "losses_reduce_check",
           ("losses.size if count is None", "len(losses) if count is None")),
    mutant("losses_reduce", "0 / 0 if nothing counts", "losses_reduce_hidden",
           (MEAN, "return losses.sum() / np.float32(losses.size if count is None else count)")),
    mutant("losses_reduce", "takes a count of 0 for none given", "losses_reduce_hidden",
           (MEAN, "return np.ones_like(losses).sum() / (count or losses.size or 1)")),
    mutant("losses_reduce", "an unknown reduction is a mean", "losses_reduce_check", (UNKNOWN, "return losses.mean()")),
    mutant("losses_reduce", "an error without a word", "losses_reduce_check", (UNKNOWN, "raise ValueError('wrong reduction')")),
    mutant("losses_reduce", "none returns nothing", "losses_reduce_check", ("return losses\n", "return None\n")),
    mutant("losses_reduce", "divides the sum as well", "losses_reduce_check", ("return losses.sum()\n", "return losses.mean()\n")),
    mutant("losses_reduce", "None counts as none", "losses_reduce_hidden", ('if reduction == "none":', 'if reduction in ("none", None):')),
    mutant("losses_reduce", "makes float64", "losses_reduce_hidden",
           (MEAN, "return losses.sum() / np.float64(max(losses.size if count is None else count, 1))")),
    mutant("losses_reduce", "the sum as a Python number", "losses_reduce_hidden", ("return losses.sum()\n", "return float(losses.sum())\n")),
    # mean squared error
    mutant("losses_mse", "a difference in float64", "losses_mse_hidden", ("difference = prediction - target", "difference = prediction.astype(np.float64) - target")),
    mutant("losses_mse", "the absolute difference", "losses_mse_check", ("difference * difference", "abs(difference)")),
    mutant("losses_mse", "the root of the mean", "losses_mse_check", (MSE, "return np.sqrt(reduce_losses(difference * difference, reduction)), difference")),
    mutant("losses_mse", "half of it", "losses_mse_check", ("difference * difference", "difference * difference / 2")),
    mutant("losses_mse", "the square of the mean", "losses_mse_check", (MSE, "return reduce_losses(difference, reduction) ** 2, difference")),
    mutant("losses_mse", "target minus prediction", "losses_mse_check", ("difference = prediction - target", "difference = target - prediction")),
    mutant("losses_mse", "lets the shapes broadcast", "losses_mse_check", ("if prediction.shape != target.shape:", "if False:")),
    mutant("losses_mse", "refuses only other numbers of elements", "losses_mse_hidden",
           ("if prediction.shape != target.shape:", "if prediction.size != target.size:"), ("difference = prediction - target", "difference = prediction - target.reshape(prediction.shape)")),
    mutant("losses_mse", "an error without the shapes", "losses_mse_check",
           ('f"prediction {prediction.shape} and target {target.shape} must have the same shape"', '"the shapes differ"')),
    mutant("losses_mse", "always the mean", "losses_mse_check", ("reduce_losses(difference * difference, reduction)", 'reduce_losses(difference * difference, "mean")')),
    mutant("losses_mse", "writes into the predictions", "losses_mse_hidden",
           ("difference = prediction - target", "prediction -= target\n    difference = prediction")),
    mutant("losses_mse", "the square root's pair: no difference", "losses_mse_check", (MSE, "return reduce_losses(difference * difference, reduction)")),
    # composed
    mutant("losses_composed", "forgets the sign", "losses_composed_check", ("return -chosen", "return chosen")),
    mutant("losses_composed", "the mean over all numbers", "losses_composed_check", ("chosen.sum(axis=-1).mean()", "chosen.mean()")),
    mutant("losses_composed", "the sum over the rows", "losses_composed_check", ("chosen.sum(axis=-1).mean()", "chosen.sum()")),
    mutant("losses_composed", "the log of softmax", "losses_composed_check", ("log_softmax(logits)", "softmax(logits).log()")),
    mutant("losses_composed", "softmax without the log", "losses_composed_check", ("log_softmax(logits)", "softmax(logits)")),
    mutant("losses_composed", "softmax over the batch", "losses_composed_check", ("log_softmax(logits)", "log_softmax(logits, axis=0)")),
    mutant("losses_composed", "one-hot in float64", "losses_composed_check", (".astype(np.float32)", ".astype(float)")),
    mutant("losses_composed", "one-hot of booleans", "losses_composed_check", (".astype(np.float32)", "")),
    mutant("losses_composed", "classes counted from 1", "losses_composed_check", ("== np.arange(classes)", "== np.arange(1, classes + 1)")),
    mutant("losses_composed", "one-hot for one axis only", "losses_composed_hidden",
           (ONE_HOT, "rows = np.zeros((len(target), classes), np.float32)\n    rows[np.arange(len(target)), target.reshape(-1)[: len(target)]] = 1\n    return rows")),
    mutant("losses_composed", "as many classes as were seen", "losses_composed_check", ("== np.arange(classes)", "== np.arange(target.max(initial=0) + 1)")),
    mutant("losses_composed", "rows of a unit matrix of 50,000 by 50,000", "losses_bytes_check",
           (ONE_HOT, "return np.eye(classes, dtype=np.float32)[target]")),
    # targets
    mutant("losses_composed", "a number for a Tensor", "losses_composed_check", (".sum(axis=-1).mean()", ".sum(axis=-1).mean().item()")),
    mutant("losses_composed", "an array for a Tensor", "losses_composed_check", ("* log_softmax(logits)\n", "* log_softmax(logits).data\n")),
    mutant("losses_targets", "forgets the negative ones", "losses_targets_check", (WRONG, "wrong = counts & (target >= classes)")),
    mutant("losses_targets", "allows the number of classes itself", "losses_targets_check", (WRONG, "wrong = counts & ((target < 0) | (target > classes))")),
    mutant("losses_targets", "checks ignored ones too", "losses_targets_check", (WRONG, "wrong = (target < 0) | (target >= classes)")),
    mutant("losses_targets", "ignores -100 whatever is asked", "losses_targets_check", ("counts = target != ignore_index", "counts = target != -100")),
    mutant("losses_targets", "ignores all negative ones", "losses_targets_check", ("counts = target != ignore_index", "counts = (target != ignore_index) & (target >= 0)")),
    mutant("losses_targets", "the mask turned round", "losses_targets_check", ("return counts", "return ~counts")),
    mutant("losses_targets", "does not look at the type", "losses_targets_check", (KIND, "if False:")),
    mutant("losses_targets", "refuses floats, takes booleans", "losses_targets_hidden", (KIND, 'if target.dtype.kind == "f":')),
    mutant("losses_targets", "int64 alone", "losses_targets_hidden", (KIND, "if target.dtype != np.int64:")),
    mutant("losses_targets", "signed integers alone", "losses_targets_hidden", (KIND, 'if target.dtype.kind != "i":')),
    mutant("losses_targets", "an int8 on the way", "losses_targets_hidden", ("counts = target != ignore_index", "counts = target != ignore_index\n    target = target.astype(np.int8)")),
    mutant("losses_targets", "does not name the label", "losses_targets_check",
           ('raise ValueError(f"{label} is no class: {classes} classes go from 0 to {classes - 1}")', 'raise ValueError("a label is out of range")')),
    mutant("losses_targets", "an IndexError", "losses_targets_check", ('raise ValueError(f"{label}', 'raise IndexError(f"{label}')),
    mutant("losses_targets", "casts floats in silence", "losses_targets_check", (KIND, "target = target.astype(int)\n    if False:")),
    # rows
    mutant("losses_rows", "does not shift", "losses_rows_check", ("z = shift_by_max(logits)", "z = logits.copy()")),
    mutant("losses_rows", "picks after the exp", "losses_rows_check", (PICK, "    wanted = np.exp(z)[np.arange(len(z)), target]\n")),
    mutant("losses_rows", "picks rows, not numbers", "losses_rows_check", (PICK, "    wanted = z[target][:, 0]\n")),
    mutant("losses_rows", "always the first row's target", "losses_rows_check", (PICK, "    wanted = z[:, target[0]] if len(target) else z[:, 0]\n")),
    mutant("losses_rows", "forgets the log", "losses_rows_check", ("np.log(totals[:, 0]) - wanted", "totals[:, 0] - wanted")),
    mutant("losses_rows", "the sign turned round", "losses_rows_check", ("np.log(totals[:, 0]) - wanted", "wanted - np.log(totals[:, 0])")),
    mutant("losses_rows", "totals without their axis", "losses_rows_check", (", (exps, totals)", ", (exps, totals[:, 0])")),
    mutant("losses_rows", "saves the logits for the exps", "losses_rows_check", (", (exps, totals)", ", (logits, totals)")),
    mutant("losses_rows", "smoothing spread over the other classes only", "losses_rows_check",
           ("mean = sum_along(z, -1)[:, 0] / z.shape[-1]", "mean = (sum_along(z, -1)[:, 0] - wanted) / (z.shape[-1] - 1)")),
    mutant("losses_rows", "smoothing by the sum", "losses_rows_check", ("mean = sum_along(z, -1)[:, 0] / z.shape[-1]", "mean = sum_along(z, -1)[:, 0]")),
    mutant("losses_rows", "smoothing without the label's share", "losses_rows_check", (SMOOTHED, "wanted = wanted + label_smoothing * mean")),
    mutant("losses_rows", "the shares exchanged", "losses_rows_check", (SMOOTHED, "wanted = label_smoothing * wanted + (1 - label_smoothing) * mean")),
    mutant("losses_rows", "no smoothing", "losses_rows_check", ("if label_smoothing:", "if False:")),
    mutant("losses_rows", "a second array for the exps", "losses_rows_check", ("np.exp(z, out=z)", "np.exp(z)")),
    mutant("losses_rows", "writes into the logits", "losses_rows_check",
           ("z = shift_by_max(logits)", "logits -= logits.max(axis=-1, keepdims=True)\n    z = logits")),
    mutant("losses_rows", "a fully masked row is nan", "losses_rows_hidden", ("    totals[totals == 0] = 1\n", "")),
    mutant("losses_rows", "infinite losses made finite", "losses_rows_hidden", ("np.log(totals[:, 0]) - wanted", "np.nan_to_num(np.log(totals[:, 0]) - wanted)")),
    mutant("losses_rows", "one maximum for all rows", "losses_rows_check", ("z = shift_by_max(logits)", "z = logits - logits.max(initial=-np.inf)")),
    mutant("losses_rows", "the mean of masked logits without smoothing", "losses_rows_hidden", ("if label_smoothing:", "if True:")),
    # cross-entropy
    mutant("losses_cross_entropy", "a mean of the means of the texts", "losses_cross_entropy_hidden",
           (REDUCE, "n = np.maximum(counts.sum(-1), 1)\n    mean = (losses.sum(-1) / n).mean() if losses.size else losses.sum()\n"
                    '    return (mean if reduction == "mean" and losses.ndim > 1 else reduce_losses(losses, reduction, int(counts.sum()))), saved')),
    mutant("losses_cross_entropy", "single losses in float64", "losses_cross_entropy_hidden",
           (IGNORE, "float64 = np.zeros(target.shape)\n    float64[counts] = losses.reshape(target.shape)[counts]\n    losses = float64")),
    mutant("losses_cross_entropy", "the mean over all targets", "losses_cross_entropy_check", (REDUCE, "return reduce_losses(losses, reduction), saved")),
    mutant("losses_cross_entropy", "ignored targets keep their loss", "losses_cross_entropy_check", (IGNORE, "losses = losses.reshape(target.shape)")),
    mutant("losses_cross_entropy", "ignored targets are dropped", "losses_cross_entropy_check", (IGNORE, "losses = losses.reshape(target.shape)[counts]")),
    mutant("losses_cross_entropy", "multiplies by the mask", "losses_cross_entropy_hidden", (IGNORE, "losses = losses.reshape(target.shape) * counts")),
    mutant("losses_cross_entropy", "flat losses", "losses_cross_entropy_check", (IGNORE, "losses = np.where(counts.reshape(-1), losses, 0.0)")),
    mutant("losses_cross_entropy", "does not check the targets", "losses_cross_entropy_check",
           ("counts = check_targets(target, logits.shape[-1], ignore_index)", "counts = target != ignore_index")),
    mutant("losses_cross_entropy", "does not pass on ignore_index", "losses_cross_entropy_hidden",
           ("check_targets(target, logits.shape[-1], ignore_index)", "check_targets(target, logits.shape[-1])")),
    mutant("losses_cross_entropy", "does not pass on the smoothing", "losses_cross_entropy_hidden",
           ("row_losses(rows, labels, label_smoothing)", "row_losses(rows, labels)")),
    mutant("losses_cross_entropy", "compares sizes, not shapes", "losses_cross_entropy_hidden",
           (SHAPES, "if logits.size // logits.shape[-1] != target.size:"), (IGNORE, "losses = np.where(counts, losses.reshape(target.shape), 0.0)  # any shape")),
    mutant("losses_cross_entropy", "does not compare the shapes", "losses_cross_entropy_check", (SHAPES, "if False:")),
    mutant("losses_cross_entropy", "classes on the second axis", "losses_cross_entropy_hidden",
           (SHAPES, "logits = np.moveaxis(logits, 1, -1) if logits.ndim > 1 else logits\n    if logits.shape[:-1] != target.shape:")),
    mutant("losses_cross_entropy", "0 / 0 if all are ignored", "losses_cross_entropy_check",
           (REDUCE, 'mean = losses.sum() / np.float32(counts.sum())\n    return (mean if reduction == "mean" else reduce_losses(losses, reduction)), saved')),
    mutant("losses_cross_entropy", "saves nothing", "losses_cross_entropy_hidden", ("int(counts.sum())), saved", "int(counts.sum()))")),
    mutant("losses_cross_entropy", "overwrites ignored targets", "losses_cross_entropy_hidden",
           ("labels = np.where(counts, target, 0).reshape(-1)", "target[~counts] = 0\n    labels = target.reshape(-1)")),
    mutant("losses_cross_entropy", "hides NaN", "losses_cross_entropy_hidden", (IGNORE, "losses = np.nan_to_num(np.where(counts, losses.reshape(target.shape), 0.0))")),
    # yes or no
    mutant("losses_binary", "the formula as it stands", "losses_binary_check",
           (BINARY, "p = 1 / (1 + np.exp(-logits))\n    losses = -(target * np.log(p) + (1 - target) * np.log(1 - p))\n")),
    mutant("losses_binary", "the formula, with clipped probabilities", "losses_binary_check",
           (BINARY, "p = np.clip(1 / (1 + np.exp(-logits)), 1e-7, 1 - 1e-7)\n    losses = -(target * np.log(p) + (1 - target) * np.log(1 - p))\n")),
    mutant("losses_binary", "takes the logits for probabilities", "losses_binary_check",
           (BINARY, "losses = -(target * np.log(np.abs(logits) + 1e-9) + (1 - target) * np.log(np.abs(1 - logits) + 1e-9))\n")),
    mutant("losses_binary", "the exponent without its sign", "losses_binary_check", ("np.exp(-np.abs(logits))", "np.exp(np.abs(logits))")),
    mutant("losses_binary", "forgets the maximum", "losses_binary_check", ("np.maximum(logits, 0) - logits * target", "- logits * target")),
    mutant("losses_binary", "yes and no exchanged", "losses_binary_check", ("np.maximum(logits, 0) - logits * target", "np.maximum(logits, 0) - logits * (1 - target)")),
    mutant("losses_binary", "only the yes part", "losses_binary_check", ("return reduce_losses(losses, reduction)", "return reduce_losses(losses * target, reduction)")),
    mutant("losses_binary", "log for log1p", "losses_binary_hidden", ("np.log1p(np.exp(-np.abs(logits)))", "np.log(1 + np.exp(-np.abs(logits)))")),
    mutant("losses_binary", "lets the shapes broadcast", "losses_binary_check", ("if logits.shape != target.shape:", "if False:")),
    mutant("losses_binary", "does not look at the range", "losses_binary_hidden", ("if ((target < 0) | (target > 1)).any():", "if False:")),
    mutant("losses_binary", "looks at one end of the range", "losses_binary_hidden", ("((target < 0) | (target > 1)).any()", "(target > 1).any()")),
    mutant("losses_binary", "float64 from the targets", "losses_binary_hidden",
           ("    target = target.astype(logits.dtype)\n", ""), ("losses += np.maximum(logits, 0) - logits * target", "losses = losses + np.maximum(logits, 0) - logits * target")),
    mutant("losses_binary", "zero or one, nothing between", "losses_binary_check", ("logits * target", "logits * np.round(target)")),
    mutant("losses_binary", "writes into the logits", "losses_binary_hidden",
           ("return reduce_losses(losses, reduction)", "np.abs(logits, out=logits)\n    return reduce_losses(losses, reduction)")),
    # systems
    *[mutant("losses_bytes_predict", name, "losses_bytes_check", swap) for name, swap in [
        ("one-hot in float64", ("return 4 * N * C", "return 8 * N * C")),
        ("one-hot: numbers, not bytes", ("return 4 * N * C", "return N * C")),
        ("one-hot: one class", ("return 4 * N * C", "return 4 * N")),
        ("indices of 4 bytes", ("return 8 * N", "return 4 * N")),
        ("indices: numbers, not bytes", ("return 8 * N", "return N")),
        ("indices in bits", ("return 8 * N", "return 64 * N")),
    ]],
    *[mutant("losses_memory_predict", name, "losses_memory_check", swap) for name, swap in [
        ("one-hot: only what has a name before the product", ("return 3 * 4 * N * C", "return 2 * 4 * N * C + 0 * N")),
        ("one-hot: with the logits", ("return 3 * 4 * N * C", "return 4 * 4 * N * C")),
        ("two passes: one array, overlooks log_softmax", ("return 2 * 4 * N * C", "return 1 * 4 * N * C")),
        ("two passes: a third for the choice", ("return 2 * 4 * N * C", "return (1 + 2) * 4 * N * C")),
        ("fused: nothing", ("    return 4 * N * C", "    return 0")),
        ("fused: with the logits", ("    return 4 * N * C", "    return 8 * N * C")),
        ("fused: one number a row", ("    return 4 * N * C", "    return 4 * N")),
    ]],
    *[mutant("losses_first_predict", name, "losses_first_check", swap) for name, swap in [
        ("log to the base 2", ("return math.log(C)", "return math.log2(C)")),
        ("the probability itself", ("return math.log(C)", "return 1 / C")),
        ("without the minus", ("return math.log(C)", "return math.log(1 / C)")),
        ("the number of classes", ("return math.log(C)", "return float(C)")),
        ("a first loss of 0", ("return math.log(C)", "return 0.0")),
        ("a half for yes or no", ("return math.log(2)", "return 0.5")),
        ("one bit for yes or no", ("return math.log(2)", "return 1.0")),
    ]],
]

MSE_CELL = '''
def mse_loss_forward(prediction, target, reduction="mean"):
    {body}


def mse_loss(prediction, target, reduction="mean"):
    return apply(mse_loss_forward, prediction, as_tensor(target, prediction), reduction=reduction)
'''

COMPOSED_CELL = '''
def one_hot(target, classes):
    {hot}


def cross_entropy_composed(logits, target):
    {body}
'''

TARGETS_CELL = '''
def check_targets(target, classes, ignore_index=-100):
    {body}
'''

ROWS_CELL = '''
def row_losses(logits, target, label_smoothing=0.0):
    {body}
'''

CROSS_ENTROPY_CELL = '''
def cross_entropy_forward(logits, target, reduction="mean", ignore_index=-100, label_smoothing=0.0):
    {body}
'''

BINARY_CELL = '''
def binary_cross_entropy_with_logits_forward(logits, target, reduction="mean"):
    if logits.shape != target.shape:
        raise ValueError(f"{{logits.shape}} against {{target.shape}}")
    if target.size and not (target.min() >= 0 and target.max() <= 1):
        raise ValueError("a target is no probability")
    {body}


def binary_cross_entropy_with_logits(logits, target, reduction="mean"):
    return apply(binary_cross_entropy_with_logits_forward, logits, target=plain_target(target), reduction=reduction)
'''


def cell(template, *lines, **parts):
    """A solution cell: the template with the lines as its body."""
    return template.format(body="\n    ".join(lines), **parts)


ALTERNATIVES = [
    alternative("losses_reduce", "by cases", source='''
def reduce_losses(losses, reduction, count=None):
    if reduction not in ("none", "mean", "sum"):
        raise ValueError("no such reduction: " + str(reduction))
    if reduction == "none":
        return losses
    total = np.add.reduce(losses, axis=None)
    if reduction == "mean":
        number = losses.size if count is None else count
        total = total / number if number else total * 0
    return total
'''),
    alternative("losses_reduce", "by a table", source='''
def reduce_losses(losses, reduction, count=None):
    count = losses.size if count is None else count
    table = {"none": lambda: losses, "sum": lambda: np.sum(losses),
             "mean": lambda: np.asarray(np.sum(losses) / (count or 1), dtype=losses.dtype)}
    if reduction not in table:
        raise ValueError(f"{reduction} is not one of {list(table)}")
    return table[reduction]()
'''),
    alternative("losses_mse", "by power, in other words", source=cell(
        MSE_CELL, "if target.shape != prediction.shape:",
        "    raise ValueError(f'shapes {target.shape}, {prediction.shape}')",
        "d = np.subtract(prediction, target)", "return (reduce_losses(d**2, reduction), d)")),
    alternative("losses_mse", "by square", source=cell(
        MSE_CELL, "p, t = prediction.shape, target.shape", "if p != t:", "    raise ValueError(str(p) + ' is not ' + str(t))",
        "d = prediction + (-target)", "return reduce_losses(np.square(d), reduction), d")),
    alternative("losses_composed", "by an outer comparison", source=cell(
        COMPOSED_CELL, "y = Tensor(one_hot(target, logits.shape[1]))", "return (y * log_softmax(logits, -1)).sum() * (-1 / len(target))",
        hot="return np.equal.outer(target, np.arange(classes)).astype(np.float32)")),
    alternative("losses_composed", "by writing ones", source=cell(
        COMPOSED_CELL, "losses = -(log_softmax(logits) * one_hot(target, logits.shape[-1])).sum(axis=1)", "return losses.mean()",
        hot="rows = np.zeros((target.size, classes), 'float32')\n    rows[range(target.size), target.reshape(-1)] = 1\n"
            "    return rows.reshape(*target.shape, classes)")),
    alternative("losses_targets", "by the valid ones", source=cell(
        TARGETS_CELL, "if not np.issubdtype(target.dtype, np.integer):", "    raise TypeError(f'not integers: {target.dtype}')",
        "ignored = target == ignore_index", "bad = target[~ignored & ~((0 <= target) & (target < classes))]",
        "if bad.size:", "    raise ValueError(f'{bad[0]} is not below {classes}')", "return ~ignored")),
    alternative("losses_targets", "by a loop", source=cell(
        TARGETS_CELL, "if target.dtype.kind in 'bfc':", "    raise TypeError('dtype ' + str(target.dtype))",
        "mask = np.zeros(target.shape, dtype=bool)", "for i, label in np.ndenumerate(target):", "    if label != ignore_index:",
        "        if not 0 <= label < classes:", "            raise ValueError(f'label {label}, but {classes} classes')",
        "        mask[i] = True", "return mask")),
    alternative("losses_rows", "with a plain sum", source=cell(
        ROWS_CELL, "top = logits.max(axis=1, keepdims=True)", "top[np.isneginf(top)] = 0", "z = logits - top", "n = len(z)", "t = z[range(n), target]", "m = z.mean(axis=1) if label_smoothing else 0",
        "np.exp(z, out=z)", "s = z.sum(axis=1, keepdims=True)", "s[s == 0] = 1",
        "loss = np.log(s)[:, 0]",
        "if label_smoothing:", "    t = t + label_smoothing * (m - t)", "return loss - t, (z, s)")),
    alternative("losses_rows", "normalised at once", source=cell(
        ROWS_CELL, "z = shift_by_max(logits, axis=-1)", "picked = np.take_along_axis(z, target[:, None].astype(int), axis=1)",
        "spread = z.sum(axis=1, keepdims=True) / z.shape[1] if label_smoothing else picked",
        "p = np.exp(z, out=z)", "s = np.einsum('nc->n', p)[:, None]", "s = s + (s == 0)", "p /= s",
        "e = label_smoothing", "mixed = picked if not e else (1 - e) * picked + e * spread",
        "return (np.log(s) - mixed)[:, 0], (p, np.ones_like(s))")),
    alternative("losses_cross_entropy", "by filling", source=cell(
        CROSS_ENTROPY_CELL, "C = logits.shape[-1]", "if target.shape != logits.shape[:-1]:",
        "    raise ValueError(f'{logits.shape} and {target.shape}')", "mask = check_targets(target, C, ignore_index).reshape(-1)",
        "safe = target.reshape(-1).copy()", "safe[~mask] = 0", "loss, saved = row_losses(logits.reshape(-1, C), safe, label_smoothing)",
        "loss[~mask] = 0", "return reduce_losses(loss.reshape(target.shape), reduction, mask.sum()), saved")),
    alternative("losses_cross_entropy", "only the rows that count", source=cell(
        CROSS_ENTROPY_CELL, "*rest, C = logits.shape", "if tuple(rest) != target.shape:",
        "    raise ValueError(f'logits {logits.shape}, target {target.shape}')", "mask = check_targets(target, C, ignore_index)",
        "label = np.where(mask, target, 0)", "each, saved = row_losses(logits.reshape(-1, C), label.reshape(-1), label_smoothing)",
        "losses = np.zeros(target.shape, logits.dtype)", "losses[mask] = each[mask.reshape(-1)]",
        "return reduce_losses(losses, reduction, count=np.count_nonzero(mask)), saved")),
    alternative("losses_binary", "by cases of the sign", source=cell(
        BINARY_CELL, "t = target.astype(logits.dtype)", "z = np.exp(-abs(logits))",
        "losses = np.where(logits >= 0, (1 - t) * logits, -t * logits) + np.log1p(z)", "return reduce_losses(losses, reduction)")),
    alternative("losses_binary", "by logaddexp", source=cell(
        BINARY_CELL, "x = logits.astype(np.float64)", "losses = target * np.logaddexp(0, -x) + (1 - target * 1.0) * np.logaddexp(0, x)",
        "return reduce_losses(losses.astype(logits.dtype), reduction)")),
    alternative("losses_binary", "the small term before the product", source=cell(
        BINARY_CELL, "t = target.astype(logits.dtype)", "losses = np.logaddexp(0, logits) - logits * t", "return reduce_losses(losses, reduction)")),
    alternative("losses_bytes_predict", "by itemsize", ("return 4 * N * C", "return N * C * np.dtype('float32').itemsize"),
                ("return 8 * N", "return N * np.dtype(np.int64).itemsize")),
    alternative("losses_bytes_predict", "by bits", ("return 4 * N * C", "return 32 * N * C // 8"), ("return 8 * N", "return 64 * N // 8")),
    alternative("losses_memory_predict", "with the rows", ("    return 4 * N * C", "    return 4 * N * C + 12 * N"),
                ("return 2 * 4 * N * C", "return 2 * 4 * N * C + 8 * N"), ("return 3 * 4 * N * C", "return 3 * 4 * N * C + 4 * N")),
    alternative("losses_memory_predict", "as floats", ("    return 4 * N * C", "    return 4.0 * N * C"),
                ("return 2 * 4 * N * C", "return 8.0 * N * C"), ("return 3 * 4 * N * C", "return 12.0 * N * C")),
    alternative("losses_first_predict", "minus the log of the probability", ("return math.log(C)", "return -math.log(1 / C)"),
                ("return math.log(2)", "return -math.log(0.5)")),
    alternative("losses_first_predict", "with NumPy", ("return math.log(C)", "return np.log(C)"), ("return math.log(2)", "return predict_first_loss(2)")),
]
