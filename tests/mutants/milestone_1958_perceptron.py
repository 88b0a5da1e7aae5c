"""Variants of the milestone of 1958, the perceptron."""

from variants import alternative, mutant

MUTANTS = [
    mutant(
        "perceptron_rule",
        "turns the example round, in place",
        "perceptron_rule_hidden",
        ("layer.weight.data + target * x.data", "layer.weight.data + x.data"),
        ("        return False\n", "        return False\n    x[...] = target * x.data\n"),
    ),
    mutant("perceptron_rule", "an answer of 0 passes", "perceptron_rule_check", ("> 0:\n", ">= 0:\n")),
    mutant(
        "perceptron_rule",
        "learns from correct answers too",
        "perceptron_rule_check",
        (
            "    if target * layer(x).item() > 0:\n        return False\n",
            "    wrong = target * layer(x).item() <= 0\n",
        ),
        ("    return True\n", "    return wrong\n"),
    ),
    mutant(
        "perceptron_rule",
        "bias forgotten",
        "perceptron_rule_check",
        ("    layer.bias[...] = layer.bias.data + target\n", ""),
    ),
    mutant(
        "perceptron_rule",
        "away from the target",
        "perceptron_rule_check",
        ("layer.weight.data + target * x.data", "layer.weight.data - target * x.data"),
    ),
    mutant(
        "perceptron_rule",
        "adds x whatever the target",
        "perceptron_rule_check",
        ("layer.weight.data + target * x.data", "layer.weight.data + x.data"),
    ),
    mutant(
        "perceptron_rule",
        "replaces what was learned",
        "perceptron_rule_check",
        ("layer.weight.data + target * x.data", "target * x.data"),
    ),
    mutant(
        "perceptron_rule",
        "sets the bias",
        "perceptron_rule_check",
        ("layer.bias.data + target", "target"),
    ),
    mutant(
        "perceptron_rule",
        "answers whether it was correct",
        "perceptron_rule_check",
        ("return False", "return None"),
        ("return True", "return False"),
    ),
    mutant(
        "perceptron_rule",
        "the answer without the bias",
        "perceptron_rule_hidden",
        ("if target * layer(x).item()", "if target * float(layer.weight.data[0] @ x.data)"),
    ),
    mutant(
        "perceptron_rule",
        "new parameters instead of changed ones",
        "perceptron_rule_hidden",
        (
            "layer.weight[...] = layer.weight.data + target * x.data",
            "layer.weight = type(layer.weight)(layer.weight.data + target * x.data)",
        ),
    ),
    mutant(
        "perceptron_rule",
        "turns the example round in place",
        "perceptron_rule_hidden",
        (
            "layer.weight[...] = layer.weight.data + target * x.data",
            "x.data *= 2 * target\n    layer.weight[...] = layer.weight.data + x.data / 2",
        ),
    ),
    mutant(
        "perceptron_train",
        "one pass only",
        "perceptron_train_check",
        ("    return history\n", "        break\n    return history\n"),
        ("            break\n", "            pass\n"),
    ),
    mutant(
        "perceptron_train",
        "does not stop",
        "perceptron_train_check",
        ("        if history[-1] == 0:\n            break\n", ""),
    ),
    mutant(
        "perceptron_train",
        "the clean pass is not counted",
        "perceptron_train_check",
        ("            break\n", "            return history[:-1]\n"),
    ),
    mutant(
        "perceptron_train",
        "stops at the first mistake of a pass",
        "perceptron_train_check",
        ("sum(learn_from", "int(any(learn_from"),
        ("zip(x, targets)))", "zip(x, targets))))"),
    ),
    mutant(
        "perceptron_train",
        "adds up all mistakes",
        "perceptron_train_check",
        ("history.append(sum(", "history.append(sum(history) + sum("),
    ),
    mutant(
        "perceptron_train",
        "shuffles",
        "perceptron_train_hidden",
        (
            "for row, target in zip(x, targets)))",
            "for row, target in reversed(list(zip(x, targets)))))",
        ),
    ),
    mutant(
        "perceptron_train",
        "starts from zeros each time",
        "perceptron_train_hidden",
        ("    history = []\n", "    history = []\n    layer.weight[...], layer.bias[...] = 0.0, 0.0\n"),
    ),
    mutant(
        "perceptron_train",
        "an answer of 0 is correct",
        "perceptron_train_check",
        ("targets) > 0)", "targets) >= 0)"),
    ),
    mutant(
        "perceptron_train",
        "the answers broadcast to a square",
        "perceptron_train_check",
        (".data[:, 0]", ".data"),
    ),
    mutant(
        "perceptron_train",
        "the share of answers above 0",
        "perceptron_train_check",
        ("answers * np.asarray(targets) > 0", "answers > 0"),
    ),
    mutant(
        "perceptron_train",
        "a number, not a share",
        "perceptron_train_check",
        ("> 0).mean()", "> 0).sum()"),
    ),
    mutant(
        "perceptron_bound",
        "the bias is left out",
        "perceptron_bound_check",
        ("np.ones(len(targets))", "np.zeros(len(targets))"),
    ),
    mutant(
        "perceptron_bound",
        "the separator is not divided by its length",
        "perceptron_bound_check",
        (" / np.linalg.norm(separator)", ""),
    ),
    mutant(
        "perceptron_bound",
        "the largest margin",
        "perceptron_bound_check",
        ("margins.min()", "margins.max()"),
    ),
    mutant(
        "perceptron_bound", "the mean margin", "perceptron_bound_check", ("margins.min()", "margins.mean()")
    ),
    mutant("perceptron_bound", "the margin is not squared", "perceptron_bound_check", (" ** 2)", ")")),
    mutant(
        "perceptron_bound",
        "R is not squared",
        "perceptron_bound_check",
        ("(rows**2).sum(axis=1).max()", "np.linalg.norm(rows, axis=1).max()"),
    ),
    mutant(
        "perceptron_bound",
        "the shortest example",
        "perceptron_bound_check",
        ("sum(axis=1).max()", "sum(axis=1).min()"),
    ),
    mutant(
        "perceptron_bound",
        "the targets are forgotten",
        "perceptron_bound_check",
        ("margins = targets * (rows @ separator)", "margins = (rows @ separator)"),
    ),
]

ALTERNATIVES = [
    alternative(
        "perceptron_rule",
        "by the sign, in place with +=",
        source="""def learn_from(layer, x, target):
    answer = np.sign(layer(x).data[0])
    mistake = bool(answer != target)
    if mistake:
        layer.weight.data += target * x.data
        layer.bias.data += np.float32(target)
    return mistake
""",
    ),
    alternative(
        "perceptron_rule",
        "number by number",
        source="""def learn_from(layer, x, target):
    f = float(layer.bias.data[0])
    for i in range(x.size):
        f += float(layer.weight.data[0, i]) * float(x.data[i])
    if (f > 0 and target == 1) or (f < 0 and target == -1):
        return False
    for i in range(x.size):
        layer.weight[0, i] = layer.weight.data[0, i] + target * x.data[i]
    layer.bias[0] = layer.bias.data[0] + target
    return True
""",
    ),
    alternative(
        "perceptron_train",
        "loops with counters",
        source="""def train(layer, x, targets, passes):
    history = []
    while len(history) < passes and (not history or history[-1] > 0):
        mistakes = 0
        for i in range(len(targets)):
            if learn_from(layer, x[i], targets[i]):
                mistakes += 1
        history.append(mistakes)
    return history


def accuracy(layer, x, targets):
    correct = [t * layer(row).item() > 0 for row, t in zip(x, targets)]
    return sum(correct) / len(correct)
""",
    ),
    alternative(
        "perceptron_train",
        "by signs",
        (
            "    answers = layer(x).data[:, 0]\n    return float((answers * np.asarray(targets) > 0).mean())",
            "    signs = np.sign(layer(x).reshape(-1).data)\n    return np.mean(signs == np.array(targets))",
        ),
    ),
    alternative(
        "perceptron_bound",
        "square root and back",
        source="""def mistake_bound(x, targets, separator):
    unit = separator / math.sqrt(float(separator @ separator))
    radius = max(math.sqrt(float(row @ row) + 1) for row in x.data)
    margin = min(t * (float(row @ unit[:-1]) + unit[-1]) for row, t in zip(x.data, targets))
    return (radius / margin) ** 2
""",
    ),
    alternative(
        "perceptron_bound",
        "norms",
        (
            "    return float((rows**2).sum(axis=1).max() / margins.min() ** 2)",
            "    return (np.linalg.norm(rows, axis=1).max() / min(margins)) ** 2",
        ),
    ),
]
