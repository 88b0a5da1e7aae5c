"""Variants of the milestone of 1986, backpropagation on MNIST."""

from variants import alternative, mutant

MUTANTS = [
    mutant(
        "mnist_backward",
        "one maximum for all rows",
        "mnist_backward_hidden",
        ("z.max(axis=1, keepdims=True)", "z.max()"),
    ),
    mutant(
        "mnist_backward",
        "descends in the weights that it was given",
        "mnist_backward_hidden",
        ("    return back.T @ x", "    w2 -= 0.1 * error.T @ h\n    return back.T @ x"),
    ),
    mutant(
        "mnist_backward",
        "uses up the labels",
        "mnist_backward_hidden",
        ("    return back.T @ x", "    labels[:] = 0\n    return back.T @ x"),
    ),
    mutant("mnist_backward", "not divided by N", "mnist_backward_check", ("    error /= N\n", "")),
    mutant("mnist_backward", "divided twice", "mnist_backward_check", ("error /= N", "error /= N * N")),
    mutant("mnist_backward", "inactive units hear it too", "mnist_backward_check", (" * (a > 0)", "")),
    mutant(
        "mnist_backward",
        "the wrong way round",
        "mnist_backward_check",
        ("    error[np.arange(N), labels] -= 1\n", "    error[np.arange(N), labels] += 1\n"),
    ),
    mutant(
        "mnist_backward",
        "the one-hot is forgotten",
        "mnist_backward_check",
        ("    error[np.arange(N), labels] -= 1\n", ""),
    ),
    mutant(
        "mnist_backward",
        "one-hot taken from all rows",
        "mnist_backward_check",
        ("    error[np.arange(N), labels] -= 1\n", "    error[:, labels] -= 1\n"),
    ),
    mutant(
        "mnist_backward",
        "activity before the ReLU",
        "mnist_backward_check",
        ("error.T @ h", "error.T @ a"),
    ),
    mutant(
        "mnist_backward",
        "times the activity instead of its slope",
        "mnist_backward_check",
        ("(a > 0)", "h"),
    ),
    mutant(
        "mnist_backward",
        "the slope of a logistic unit",
        "mnist_backward_check",
        ("(a > 0)", "h * (1 - h)"),
    ),
    mutant(
        "mnist_backward",
        "bias slopes as means",
        "mnist_backward_check",
        ("error.sum(axis=0)", "error.mean(axis=0)"),
    ),
    mutant(
        "mnist_backward",
        "hidden bias without the way back",
        "mnist_backward_check",
        ("back.sum(axis=0)", "(a > 0).mean(axis=0)"),
    ),
    mutant(
        "mnist_backward",
        "softmax over the batch",
        "mnist_backward_check",
        ("exps.sum(axis=1, keepdims=True)", "exps.sum(axis=0, keepdims=True)"),
    ),
    mutant(
        "mnist_backward",
        "softmax's slope for a squared error",
        "mnist_backward_check",
        ("    error /= N\n", "    error *= (exps / exps.sum(axis=1, keepdims=True)) / N\n"),
    ),
    mutant(
        "mnist_backward",
        "exp overflows",
        "mnist_backward_hidden",
        ("np.exp(z - z.max(axis=1, keepdims=True))", "np.exp(z)"),
    ),
    mutant("mnist_train", "no momentum", "mnist_train_check", (", momentum=momentum", "")),
    mutant("mnist_train", "not shuffled", "mnist_train_check", ("shuffle=True, seed=seed", "seed=seed")),
    mutant("mnist_train", "always the same seed", "mnist_train_check", (", seed=seed", "")),
    mutant(
        "mnist_train",
        "all samples at once",
        "mnist_train_check",
        ("train_set, batch_size", "train_set, 1000"),
    ),
    mutant("mnist_train", "the default learning rate", "mnist_train_hidden", ("lr=lr", "lr=0.05")),
    mutant("mnist_train", "the default momentum", "mnist_train_hidden", ("=momentum", "=0.9")),
    mutant(
        "mnist_train", "the default batch", "mnist_train_hidden", ("train_set, batch_size", "train_set, 64")
    ),
    mutant("mnist_train", "Nesterov's form", "mnist_train_check", ("=momentum", "=momentum, nesterov=True")),
    mutant(
        "mnist_train",
        "one epoch too few",
        "mnist_train_check",
        ("optimizer, epochs", "optimizer, epochs - 1"),
    ),
    mutant(
        "mnist_train",
        "measured on what was learned",
        "mnist_train_check",
        ("DataLoader(unseen, 500)", "DataLoader(train_set, 500)"),
    ),
    mutant(
        "mnist_train",
        "learns the unseen samples",
        "mnist_train_check",
        ("DataLoader(train_set,", "DataLoader(unseen,"),
    ),
    mutant(
        "mnist_train",
        "no loss on unseen samples",
        "mnist_train_check",
        (", validation=DataLoader(unseen, 500)", ""),
    ),
    mutant(
        "mnist_train",
        "gives up early",
        "mnist_train_check",
        ("    loader =", "    epochs = min(epochs, 2)\n    loader ="),
    ),
    mutant(
        "mnist_train",
        "last batch left out",
        "mnist_train_check",
        ("seed=seed)", "seed=seed, drop_last=True)"),
    ),
    mutant(
        "mnist_train",
        "the output layer only",
        "mnist_bar_check",
        ("model.parameters()", "model.parameters()[-1:]"),
    ),
    mutant(
        "mnist_mistakes", "the right ones", "mnist_mistakes_check", ("answers != labels", "answers == labels")
    ),
    mutant(
        "mnist_mistakes",
        "least certain first",
        "mnist_mistakes_check",
        ("-chances.max(axis=1)[wrong]", "chances.max(axis=1)[wrong]"),
    ),
    mutant(
        "mnist_mistakes",
        "in the order of the data",
        "mnist_mistakes_check",
        ('wrong[np.argsort(-chances.max(axis=1)[wrong], kind="stable")]', "wrong"),
    ),
    mutant(
        "mnist_mistakes",
        "by the logit",
        "mnist_mistakes_check",
        ("-chances.max(axis=1)[wrong]", "-model(x).data.max(axis=1)[wrong]"),
    ),
    mutant(
        "mnist_mistakes",
        "places among the wrong, not in the data",
        "mnist_mistakes_check",
        (
            'numbers = wrong[np.argsort(-chances.max(axis=1)[wrong], kind="stable")]',
            "numbers = np.argsort(-chances.max(axis=1)[wrong])",
        ),
    ),
    mutant(
        "mnist_mistakes",
        "labels instead of answers",
        "mnist_mistakes_check",
        ("numbers, answers[numbers]", "numbers, labels.data[numbers]"),
    ),
    mutant(
        "mnist_mistakes",
        "answers in another order",
        "mnist_mistakes_check",
        ("numbers, answers[numbers]", "numbers, answers[wrong]"),
    ),
    mutant(
        "mnist_mistakes",
        "the chance of the right label",
        "mnist_mistakes_check",
        ("chances.max(axis=1)[numbers]", "chances[numbers, labels.data[numbers]]"),
    ),
    mutant(
        "mnist_mistakes",
        "softmax over the samples",
        "mnist_mistakes_check",
        ("softmax(model(x))", "softmax(model(x), axis=0)"),
    ),
    mutant(
        "mnist_mistakes",
        "softmax by hand, which overflows",
        "mnist_mistakes_hidden",
        (
            "chances = softmax(model(x)).data",
            "exps = np.exp(model(x).data)\n    chances = exps / exps.sum(axis=1, keepdims=True)",
        ),
    ),
    mutant(
        "mnist_mistakes",
        "the pixels without the transform",
        "mnist_mistakes_hidden",
        (
            "x, labels = dataset.batch(np.arange(len(dataset)))",
            "x, labels = Tensor(dataset.arrays[0].reshape(len(dataset), -1) * 1.0), Tensor(dataset.arrays[1])",
        ),
    ),
    mutant(
        "mnist_mistakes",
        "the first fifty samples",
        "mnist_mistakes_hidden",
        ("np.arange(len(dataset))", "np.arange(min(50, len(dataset)))"),
    ),
]

ALTERNATIVES = [
    alternative(
        "mnist_backward",
        "row by row",
        source="""def backpropagate(x, labels, w1, b1, w2, b2):
    slopes = [np.zeros_like(array, dtype=float) for array in (w1, b1, w2, b2)]
    for row, label in zip(x, labels):
        hidden = np.array([max(float(row @ w) + b, 0.0) for w, b in zip(w1, b1)])
        logits = w2 @ hidden + b2
        p = np.exp(logits - logits.max())
        p = p / p.sum()
        p[label] = p[label] - 1
        back = np.where(hidden > 0, w2.T @ p, 0.0)
        for slope, part in zip(slopes, (np.outer(back, row), back, np.outer(p, hidden), p)):
            slope += part / len(x)
    return tuple(slopes)
""",
    ),
    alternative(
        "mnist_backward",
        "einsum, one-hot, log-softmax",
        source="""def backpropagate(x, labels, w1, b1, w2, b2):
    pre = np.einsum("ni,hi->nh", x, w1) + b1
    act = pre * (pre > 0)
    z = np.einsum("nh,ch->nc", act, w2) + b2
    z = z - z.max(axis=-1)[:, None]
    p = np.exp(z - np.log(np.exp(z).sum(axis=-1))[:, None])
    e = (p - np.eye(len(b2))[labels]) / x.shape[0]
    d = np.einsum("nc,ch->nh", e, w2) * np.sign(act)
    return [np.einsum("nh,ni->hi", d, x), d.sum(0), np.einsum("nc,nh->ch", e, act), e.sum(0)]
""",
    ),
    alternative(
        "mnist_train",
        "epoch by epoch",
        source="""def train_digits(model, train_set, unseen, epochs, seed=0, batch_size=64, lr=0.05, momentum=0.9):
    from tinytorch_ref.training import train_epoch
    loader = DataLoader(train_set, batch_size=batch_size, shuffle=True, seed=seed)
    optimizer = SGD(list(model.parameters()), lr, momentum)
    history = {"train": [], "validation": []}
    for _ in range(epochs):
        history["train"].append(train_epoch(model, loader, cross_entropy, optimizer))
        history["validation"].append(evaluate(model, DataLoader(unseen, batch_size=500), cross_entropy)[0])
    return history
""",
    ),
    alternative(
        "mnist_train",
        "every loop written out",
        source="""def train_digits(model, train_set, unseen, epochs, seed=0, batch_size=64, lr=0.05, momentum=0.9):
    loader = DataLoader(train_set, batch_size, shuffle=True, seed=seed)
    velocity = [np.zeros_like(p.data) for p in model.parameters()]
    train, validation = [], []
    for _ in range(epochs):
        total = 0.0
        for x, y in loader:
            model.zero_grad()
            loss = cross_entropy(model(x), y)
            loss.backward()
            total += loss.item() * len(x)
            for p, v in zip(model.parameters(), velocity):
                v *= momentum
                v += p.grad
                p[...] = p.data - lr * v
        train.append(total / len(train_set))
        x, y = unseen.batch(np.arange(len(unseen)))
        with no_grad():
            validation.append(cross_entropy(model(x), y).item())
    return {"train": train, "validation": validation}
""",
    ),
    alternative(
        "mnist_mistakes",
        "with a list and sorted",
        source="""def mistakes(model, dataset):
    found = []
    for i in range(len(dataset)):
        x, label = dataset[i]
        with no_grad():
            p = softmax(model(Tensor(np.asarray(x)[None]))).data[0]
        if p.argmax() != label:
            found.append((-float(p.max()), i, int(p.argmax())))
    found.sort()
    return [i for _, i, _ in found], [a for _, _, a in found], [-p for p, _, _ in found]
""",
    ),
    alternative(
        "mnist_mistakes",
        "in batches, sorted by the lack of certainty",
        source="""def mistakes(model, dataset):
    chances, labels = [], []
    with no_grad():
        for x, y in DataLoader(dataset, 32):
            chances.append(softmax(model(x), axis=1).data)
            labels.append(y.data)
    chances, labels = np.concatenate(chances), np.concatenate(labels)
    order = (1 - chances.max(axis=1)).argsort(kind="stable")
    answers = chances.argmax(axis=1)
    numbers = order[answers[order] != labels[order]]
    return numbers, answers[numbers], chances[numbers, answers[numbers]]
""",
    ),
]
