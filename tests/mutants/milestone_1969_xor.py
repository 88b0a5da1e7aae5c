"""Variants of the milestone of 1969, XOR with a hidden layer."""

from variants import alternative, mutant

MUTANTS = [
    mutant(
        "xor_hand",
        "no second layer",
        "xor_hand_check",
        ("    output.weight[...] = [[1.0, 1.0]]  # AND of the two\n    output.bias[...] = [-1.5]\n", ""),
    ),
    mutant(
        "xor_hand",
        "OR of the two units",
        "xor_hand_check",
        ("output.bias[...] = [-1.5]", "output.bias[...] = [-0.5]"),
    ),
    mutant(
        "xor_hand",
        "OR and AND, both counted for it",
        "xor_hand_check",
        ("[[1.0, 1.0], [-1.0, -1.0]]", "[[1.0, 1.0], [1.0, 1.0]]"),
        ("[-0.5, 1.5]", "[-0.5, -1.5]"),
        ("[-1.5]", "[-0.5]"),
    ),
    mutant(
        "xor_hand",
        "turned round",
        "xor_hand_check",
        ("= [[1.0, 1.0]]", "= [[-1.0, -1.0]]"),
        ("[-1.5]", "[1.5]"),
    ),
    mutant(
        "xor_hand",
        "no bias in the hidden layer",
        "xor_hand_check",
        ("    hidden.bias[...] = [-0.5, 1.5]\n", ""),
    ),
    mutant("xor_hand", "a line through corners", "xor_hand_check", ("[-0.5, 1.5]", "[-1.0, 1.5]")),
    mutant("xor_hand", "a line too close to a corner", "xor_hand_check", ("[-0.5, 1.5]", "[-0.1, 1.5]")),
    mutant("xor_hand", "the sum of the inputs", "xor_hand_check", ("[-0.5, 1.5]", "[-0.5, 2.5]")),
    mutant(
        "xor_step",
        "old gradients are kept",
        "xor_step_check",
        ("    model.zero_grad()\n", ""),
    ),
    mutant(
        "xor_step",
        "gradients forgotten after the backward pass",
        "xor_step_check",
        ("    model.zero_grad()\n", ""),
        ("    loss.backward()\n", "    loss.backward()\n    model.zero_grad()\n"),
    ),
    mutant("xor_step", "uphill", "xor_step_check", ("parameter.data - lr", "parameter.data + lr")),
    mutant("xor_step", "no learning rate", "xor_step_check", ("lr * parameter.grad", "parameter.grad")),
    mutant(
        "xor_step", "only weights", "xor_step_check", ("in model.parameters()", "in model.parameters()[::2]")
    ),
    mutant(
        "xor_step",
        "the loss after the step",
        "xor_step_check",
        (
            "    return loss.item()",
            "    return binary_cross_entropy_with_logits(model(x), targets).item()",
        ),
    ),
    mutant(
        "xor_step",
        "the sum of the losses",
        "xor_step_check",
        ("(model(x), targets)", '(model(x), targets, reduction="sum")'),
    ),
    mutant(
        "xor_step", "a tensor, with its graph", "xor_step_check", ("return loss.item()", "return loss.grad")
    ),
    mutant(
        "xor_step",
        "only the sign of the slope",
        "xor_step_check",
        ("lr * parameter.grad", "lr * np.sign(parameter.grad)"),
    ),
    mutant(
        "xor_step",
        "the gradient takes the place of the parameter",
        "xor_step_check",
        ("parameter.data - lr * parameter.grad", "-lr * parameter.grad"),
    ),
    mutant(
        "xor_step",
        "the output layer only",
        "xor_step_hidden",
        ("in model.parameters()", "in model.parameters()[-2:]"),
    ),
    mutant(
        "xor_step",
        "gradients forgotten at the end, not at the start",
        "xor_step_hidden",
        ("    model.zero_grad()\n", ""),
        ("    return loss.item()", "    model.zero_grad()\n    return loss.item()"),
    ),
    mutant(
        "xor_step",
        "one layer after the other, each with a loss of its own",
        "xor_step_hidden",
        source="""def gradient_step(model, x, targets, lr):
    first = None
    for parameter in model.parameters():
        model.zero_grad()
        loss = binary_cross_entropy_with_logits(model(x), targets)
        loss.backward()
        first = loss.item() if first is None else first
        parameter[...] = parameter.data - lr * parameter.grad
    return first
""",
    ),
    mutant(
        "xor_train",
        "losses after the steps",
        "xor_train_check",
        (
            "    return [gradient_step(model, x, targets, lr) for _ in range(steps)]\n",
            "    losses = []\n"
            "    for _ in range(steps):\n"
            "        gradient_step(model, x, targets, lr)\n"
            "        losses.append(binary_cross_entropy_with_logits(model(x), targets).item())\n"
            "    return losses\n",
        ),
    ),
    mutant(
        "xor_train",
        "two steps for each loss",
        "xor_train_check",
        (
            "    return [gradient_step(model, x, targets, lr) for _ in range(steps)]\n",
            "    step = lambda: gradient_step(model, x, targets, lr)\n"
            "    return [(step(), step())[0] for _ in range(steps)]\n",
        ),
    ),
    mutant(
        "xor_train",
        "a learning rate of its own",
        "xor_train_check",
        ("gradient_step(model, x, targets, lr) for", "gradient_step(model, x, targets, 1.0) for"),
    ),
    mutant("xor_train", "one step too few", "xor_train_check", ("range(steps)", "range(1, steps)")),
    mutant("xor_train", "one step too many", "xor_train_check", ("range(steps)", "range(steps + 1)")),
    mutant(
        "xor_train",
        "the learning rate of the bar",
        "xor_train_hidden",
        ("gradient_step(model, x, targets, lr)", "gradient_step(model, x, targets, 1.0)"),
    ),
    mutant(
        "xor_train",
        "stops when the loss is small",
        "xor_train_check",
        (
            "return [gradient_step(model, x, targets, lr) for _ in range(steps)]",
            """losses = [1.0]
    while losses[-1] > 0.7 and len(losses) <= steps:
        losses.append(gradient_step(model, x, targets, lr))
    return losses[1:]""",
        ),
    ),
    mutant(
        "xor_train",
        "the last loss only",
        "xor_train_check",
        ("for _ in range(steps)]", "for _ in range(steps)][-1:]"),
    ),
    mutant(
        "xor_train",
        "a copy is trained",
        "xor_train_check",
        (
            "    return [gradient_step",
            "    import copy\n\n    model = copy.deepcopy(model)\n    return [gradient_step",
        ),
    ),
    mutant(
        "xor_train",
        "starts anew each time",
        "xor_train_hidden",
        (
            "    return [gradient_step",
            """    if not hasattr(train, "start"):
        train.start = model.state_dict()
    model.load_state_dict(train.start)
    return [gradient_step""",
        ),
    ),
    mutant("xor_train", "logits compared with one half", "xor_train_check", ("data > 0)", "data > 0.5)")),
    mutant("xor_train", "a logit of 0 says 1", "xor_train_check", ("data > 0)", "data >= 0)")),
    mutant("xor_train", "a share, not a number", "xor_train_check", ("1)).sum())", "1)).mean())")),
    mutant(
        "xor_train",
        "columns against rows",
        "xor_train_check",
        ("(targets.data == 1)", "(targets.data[:, 0] == 1)"),
    ),
    mutant("xor_train", "counts the mistakes", "xor_train_check", (") == (targets", ") != (targets")),
    mutant("xor_zeros", "half for everyone", "xor_zeros_check", ("sum(targets) / len(targets)", "0.5")),
    mutant(
        "xor_zeros",
        "in bits",
        "xor_zeros_check",
        ("q * math.log(q) + (1 - q) * math.log(1 - q)", "q * math.log2(q) + (1 - q) * math.log2(1 - q)"),
    ),
    mutant("xor_zeros", "ones only", "xor_zeros_check", (" + (1 - q) * math.log(1 - q)", "")),
    mutant(
        "xor_zeros",
        "the sum, not the mean",
        "xor_zeros_check",
        ("    return -(", "    return -len(targets) * ("),
    ),
    mutant("xor_zeros", "the wrong sign", "xor_zeros_check", ("return -(", "return (")),
    mutant(
        "xor_zeros",
        "probabilities swapped",
        "xor_zeros_check",
        ("q * math.log(q) + (1 - q) * math.log(1 - q)", "q * math.log(1 - q) + (1 - q) * math.log(q)"),
    ),
    mutant(
        "xor_zeros",
        "squared error",
        "xor_zeros_check",
        ("-(q * math.log(q) + (1 - q) * math.log(1 - q))", "q * (1 - q)"),
    ),
]

ALTERNATIVES = [
    alternative(
        "xor_hand",
        "OR but not AND",
        source="""def wire(machine):
    machine[0].weight[...] = np.ones((2, 2))
    machine[0].bias[...] = np.array([-0.5, -1.5])
    machine[2].weight[...] = np.array([[1.0, -1.0]])
    machine[2].bias[...] = -0.5
""",
    ),
    alternative(
        "xor_hand",
        "one and not the other",
        source="""def wire(machine):
    hidden, _, output = machine
    hidden.weight[0] = [2.0, -2.0]
    hidden.weight[1] = [-2.0, 2.0]
    hidden.bias[...] = -1.0
    output.weight[...] = 10.0
    output.bias[...] = -5.0
""",
    ),
    alternative(
        "xor_step",
        "gradients forgotten one by one, arrays changed in place",
        source="""def gradient_step(model, x, targets, lr):
    for p in model.parameters():
        p.grad = None
    loss = binary_cross_entropy_with_logits(model(x), targets)
    loss.backward()
    for p in model.parameters():
        p.data -= np.float32(lr) * p.grad
    return float(loss.data)
""",
    ),
    alternative(
        "xor_step",
        "the loss from parts, under no_grad",
        source="""def gradient_step(model, x, targets, lr):
    from tinytorch_ref.autograd import no_grad
    z = model(x)
    losses = ((z.abs() * -1).exp() + 1).log() + (z.abs() + z) / 2 - z * targets
    loss = losses.mean()
    model.zero_grad()
    loss.backward()
    with no_grad():
        for name, p in model.named_parameters():
            p[...] = p - p.grad * lr
    return loss.item()
""",
    ),
    alternative(
        "xor_train",
        "a loop, and probabilities",
        source="""def train(model, x, targets, steps, lr):
    losses = []
    while len(losses) < steps:
        losses.append(gradient_step(model, x, targets, lr))
    return losses


def correct(model, x, targets):
    right = 0
    for row, target in zip(x, targets):
        right += (model(row).item() > 0) == bool(target.item())
    return right
""",
    ),
    alternative(
        "xor_train",
        "by subtraction",
        (
            "return int(((model(x).data > 0) == (targets.data == 1)).sum())",
            """answers = (model(x).data > 0).astype(int)
    return len(answers) - int(np.abs(answers - targets.data).sum())""",
        ),
    ),
    alternative(
        "xor_zeros",
        "by counts",
        source="""def loss_from_zeros(targets):
    n, ones = len(targets), targets.count(1)
    return (ones * math.log(n / ones) + (n - ones) * math.log(n / (n - ones))) / n
""",
    ),
    alternative(
        "xor_zeros",
        "with NumPy, target by target",
        source="""def loss_from_zeros(targets):
    t = np.array(targets)
    q = t.mean()
    return np.mean(-np.log(np.where(t == 1, q, 1 - q)))
""",
    ),
]
