# Built from source/08_training/08_training.py by `tinytorch build`; change it there.
"""Training: gradients of a batch, epochs, evaluation, health reports, checkpoints, and the whole loop."""

import json
import math
import os
import sys
import time
from pathlib import Path

import numpy as np

from tinytorch_ref.autograd import no_grad
from tinytorch_ref.data import DataLoader
from tinytorch_ref.optimizers import clip_grad_norm_

__all__ = [
    "compute_gradients", "somebody_watches", "progress", "train_epoch", "accuracy", "evaluate",
    "gradient_report", "entries_of", "fill", "fill_all", "save_checkpoint", "load_checkpoint",
    "EarlyStopping", "fit",
]


def compute_gradients(model, x, y, loss_fn, parts=1):
    """Add the gradients of the mean loss over a batch to the parameters.

    Parameters
    ----------
    model : Module
    x, y : Tensor of shape (N, ...)
        Inputs and targets.
    loss_fn : function
        Of predictions and targets; gives the mean loss of the rows, a tensor of one number.
    parts : int
        In how many pieces, equal or different by one row, the batch is passed through the model, one after
        the other. If there are fewer rows than that, each row is a piece.

    Returns
    -------
    float
        The mean loss over all N rows.

    Examples
    --------
    A batch of 10 rows in 4 parts may be passed as 3, 3, 2 and 2 rows, with shares 0.3, 0.3, 0.2 and 0.2.
    """
    total, rows = 0.0, len(x)
    for part in np.array_split(np.arange(rows), min(parts, rows)):
        piece = slice(int(part[0]), int(part[-1]) + 1)
        loss = loss_fn(model(x[piece]), y[piece]) * (len(part) / rows)
        loss.backward()
        total += loss.item()
    return total


def somebody_watches():
    """Whether output goes to a terminal or a notebook, and the variable TINYTORCH_PROGRESS is not 0."""
    if os.environ.get("TINYTORCH_PROGRESS") == "0":
        return False
    return sys.stdout.isatty() or "ipykernel" in sys.modules


def progress(items, label="", width=30):
    """Hand on the items one by one and show, in a line that is rewritten in place, how far it is.

    Parameters
    ----------
    items : iterable
        With a length, such as a DataLoader; without one no bar is shown.
    label : str
        Stands before the bar.
    width : int
        Characters of the bar.
    """
    total = len(items) if hasattr(items, "__len__") else 0
    if not total or not somebody_watches():
        yield from items
        return
    line, shown = "", -math.inf
    try:
        for number, item in enumerate(items, 1):
            yield item
            if time.monotonic() - shown > 0.1:
                done = width * number // total
                line = f"{label} [{'#' * done}{'.' * (width - done)}] {number}/{total}"
                print(f"\r{line}", end="", flush=True)
                shown = time.monotonic()
    finally:
        print(f"\r{' ' * len(line)}\r", end="", flush=True)


def train_epoch(model, loader, loss_fn, optimizer, parts=1, max_norm=None, scheduler=None):
    """Train on every batch of a loader once.

    Parameters
    ----------
    model : Module
        Is put into training mode, and stays there.
    loader : iterable of (x, y)
        Batches, each a pair of tensors with the same number of rows.
    loss_fn : function
        As for `compute_gradients`.
    optimizer : Optimizer
    parts : int
        In how many parts each batch is passed through the model.
    max_norm : float, optional
        Clip the gradient to this norm.
    scheduler : Scheduler, optional
        Is stepped after each step of the optimizer.

    Returns
    -------
    float
        The mean loss over all samples, each before the step that its batch led to.

    Raises
    ------
    ValueError
        If the loader has no batches.

    Examples
    --------
    Two batches of 3 rows and 1 row with mean losses 1.0 and 5.0 give (3 * 1.0 + 1 * 5.0) / 4 = 2.0, not 3.0.
    """
    model.train()
    total, samples = 0.0, 0
    for x, y in progress(loader):
        optimizer.zero_grad()
        total += compute_gradients(model, x, y, loss_fn, parts) * len(x)
        samples += len(x)
        if max_norm is not None:
            clip_grad_norm_(optimizer.parameters, max_norm)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    if not samples:
        raise ValueError("the loader has no batches: is it empty, or an iterator that was used up?")
    return total / samples


def accuracy(logits, target):
    """The share of rows whose largest logit is that of the right class.

    Parameters
    ----------
    logits : Tensor of shape (..., C)
    target : Tensor of int, shape (...)

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ValueError
        If the shapes do not match: (N,) and (N, 1) would broadcast to (N, N) comparisons.
    """
    if logits.shape[:-1] != target.shape:
        raise ValueError(
            f"logits {logits.shape} need targets {logits.shape[:-1]}, but these have {target.shape}"
        )
    return float(np.mean(np.argmax(logits.data, axis=-1) == target.data))


def evaluate(model, loader, *measures):
    """Means of some measures over all samples of a loader.

    Parameters
    ----------
    model : Module
        Works in evaluation mode meanwhile; afterwards every module inside it is in the mode that it was in.
    loader : iterable of (x, y)
    *measures : function
        Of predictions and targets; each returns the mean over its rows, a float or a tensor of one number.

    Returns
    -------
    list of float
        One for each measure.

    Raises
    ------
    ValueError
        If the loader has no batches.

    Examples
    --------
    `loss, right = evaluate(model, test_loader, cross_entropy, accuracy)`
    """
    modes = [(module, module.training) for module in model.modules()]
    totals, samples = [0.0] * len(measures), 0
    model.eval()
    try:
        with no_grad():
            for x, y in loader:
                output = model(x)
                totals = [
                    total + float(measure(output, y)) * len(x) for total, measure in zip(totals, measures)
                ]
                samples += len(x)
    finally:
        for module, mode in modes:
            module.training = mode
    if not samples:
        raise ValueError("the loader has no batches: is it empty, or an iterator that was used up?")
    return [total / samples for total in totals]


def gradient_report(model, smallest=0.0, largest=1000.0):
    """A verdict on the gradient of each parameter.

    Parameters
    ----------
    model : Module
        After a backward pass.
    smallest, largest : float
        Norms up to `smallest` are "dead", norms above `largest` "exploding".

    Returns
    -------
    dict of str to str
        For each name of a parameter "missing", "not finite", "exploding", "dead" or "fine".

    Examples
    --------
    >>> gradient_report(Linear(2, 1, rng=0))
    {'weight': 'missing', 'bias': 'missing'}
    """
    report = {}
    for name, parameter in model.named_parameters():
        grad = parameter.grad
        if grad is None:
            report[name] = "missing"
        elif not np.isfinite(grad).all():
            report[name] = "not finite"
        else:
            norm = math.sqrt(np.square(grad, dtype=np.float64).sum())
            report[name] = "exploding" if norm > largest else "dead" if norm <= smallest else "fine"
    return report


def entries_of(part):
    """What there is to save of a part: a dict from names to arrays of plain numbers or text.

    Parameters
    ----------
    part : object with state_dict, DataLoader, numpy.random.Generator, or number, text, list or array

    Raises
    ------
    TypeError
        If it holds Python objects, which a safe file can't.
    """
    if hasattr(part, "state_dict"):
        entries = part.state_dict()
    elif isinstance(part, DataLoader):
        entries = {"epoch": part.epoch, "seed": json.dumps(part.seed)}
    elif isinstance(part, np.random.Generator):
        entries = {"state": json.dumps(part.bit_generator.state, default=np.ndarray.tolist)}
    else:
        entries = {"value": part}
    arrays = {name: np.asarray(value) for name, value in entries.items()}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(
                f"{name} holds Python objects of type {type(entries[name]).__name__}; save numbers or text"
            )
    return arrays


def fill(part, entries):
    """Give a part, such as a model, the state of saved entries; ValueError if they do not fit."""
    try:
        if hasattr(part, "load_state_dict"):
            part.load_state_dict(entries)
        elif isinstance(part, DataLoader):
            part.epoch, part.seed = int(entries["epoch"]), json.loads(str(entries["seed"]))
        elif isinstance(part, np.random.Generator):
            part.bit_generator.state = json.loads(str(entries["state"]))
        else:
            raise TypeError(f"a {type(part).__name__} can't be filled: plain values are returned")
    except KeyError as missing:
        kind = type(part).__name__
        raise ValueError(f"{', '.join(entries)} do not fit a {kind}: {missing} is missing") from None


def fill_all(parts, saved):
    """Fill several parts, all or none.

    Parameters
    ----------
    parts : dict of str to object
        What to fill, by name.
    saved : dict of str to dict
        For each of these names the saved entries.

    Raises
    ------
    ValueError
        If one part does not fit. Then those before it are filled with what they held.
    """
    before, filled = {name: entries_of(part) for name, part in parts.items()}, []
    try:
        for name, part in parts.items():
            fill(part, saved[name])
            filled.append(name)
    except BaseException:
        for name in filled:
            fill(parts[name], before[name])
        raise


def save_checkpoint(path, **parts):
    """Save all parts in one file, which takes the place of an older one only when it is complete.

    Parameters
    ----------
    path : str or Path
        Of the file; exactly this name, whatever its ending.
    **parts
        What to save, by name; see `entries_of`.

    Examples
    --------
    `save_checkpoint("run.npz", model=model, epoch=3)`; later `load_checkpoint("run.npz", model=model)` fills
    the model and returns `{"epoch": 3}`.
    """
    path = Path(path)  # and the temporary file beside it:
    neighbour = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    arrays = {}
    for part, thing in parts.items():
        arrays |= {f"{part}/{name}": array for name, array in entries_of(thing).items()}
    try:
        with open(neighbour, "wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(neighbour, path)
    finally:
        neighbour.unlink(missing_ok=True)


def load_checkpoint(path, **parts):
    """Fill parts from a file.

    Parameters
    ----------
    path : str or Path
    **parts
        What to fill, by the names under which it was saved. Other parts of the file are passed over.

    Returns
    -------
    dict
        The plain values in the file, by name: numbers, texts and lists.

    Raises
    ------
    ValueError
        If a part is not in the file (the message names all that are missing), or does not fit, or if the file
        holds Python objects. In each case nothing was filled.
    TypeError
        If a part is a plain value: those are returned, not filled.
    """
    saved = {}
    with np.load(path, allow_pickle=False) as file:
        for name in file.files:
            part, _, entry = name.partition("/")
            saved.setdefault(part, {})[entry] = file[name]
    missing = sorted(parts.keys() - saved.keys())
    if missing:
        raise ValueError(f"{path} has no {', '.join(missing)}; it holds {', '.join(sorted(saved))}")
    fill_all(parts, saved)
    return {part: entries["value"].tolist() for part, entries in saved.items() if list(entries) == ["value"]}


class EarlyStopping:
    """Watches a loss, keeps the best parameters, and says when to give up.

    Parameters
    ----------
    patience : int
        How many epochs in a row without an improvement are enough.
    min_delta : float
        An improvement is more than this.

    Attributes
    ----------
    best : float
        The lowest loss so far; infinite at first.
    waited : int
        Epochs since then.
    best_state : dict or None
        The `state_dict` of the model at that time.

    Examples
    --------
    With patience 2 and losses 5, 4, 4.5, 3, 3.5, 3.2 the answers are False, five times, and then True.
    """

    def __init__(self, patience=5, min_delta=0.0):
        self.patience = patience
        self.min_delta = min_delta
        self.best = math.inf
        self.waited = 0
        self.best_state = None

    def update(self, loss, model):
        """Note the loss of an epoch; returns whether to stop."""
        if loss < self.best - self.min_delta:
            self.best, self.waited, self.best_state = loss, 0, model.state_dict()
        else:
            self.waited += 1
        return self.waited >= self.patience

    def restore(self, model):
        """Put the best parameters back into the model, if there was an improvement at all."""
        if self.best_state is not None:
            model.load_state_dict(self.best_state)

    def state_dict(self):
        """All of it, for a checkpoint: a dict of numbers and arrays."""
        best = self.best_state or {}
        return {"best": self.best, "waited": self.waited, **{f"model.{name}": best[name] for name in best}}

    def load_state_dict(self, state):
        """Go on from a `state_dict`."""
        self.best, self.waited = float(state["best"]), int(state["waited"])
        best = {name.removeprefix("model."): state[name] for name in state if name.startswith("model.")}
        self.best_state = best or None


def fit(model, loader, loss_fn, optimizer, epochs, validation=None, stopping=None, **options):
    """Train until `loader` has given `epochs` epochs, or until `stopping` says so.

    Parameters
    ----------
    model : Module
    loader : DataLoader
        Its attribute `epoch` is the number of epochs that it has begun.
    loss_fn : function
    optimizer : Optimizer
    epochs : int
        Epochs in all, those before a checkpoint included.
    validation : iterable of (x, y), optional
        Unseen batches, on which the loss is measured after each epoch.
    stopping : EarlyStopping, optional
        Told the loss on `validation` after each epoch. At the end the best parameters are put back.
    **options
        For `train_epoch`: parts, max_norm, scheduler.

    Returns
    -------
    dict of str to list of float
        "train" and "validation": the losses of the epochs that were trained; the second is empty without
        unseen data.

    Raises
    ------
    ValueError
        If there is `stopping` and no `validation`.

    Examples
    --------
    If `loader.epoch` is 6 and `epochs` is 10, four epochs are trained; called again, none.
    """
    if stopping is not None and validation is None:
        raise ValueError("early stopping needs validation data: it watches the loss on unseen samples")
    history = {"train": [], "validation": []}
    while loader.epoch < epochs:
        history["train"].append(train_epoch(model, loader, loss_fn, optimizer, **options))
        if validation is not None:
            history["validation"] += evaluate(model, validation, loss_fn)
        if stopping is not None and stopping.update(history["validation"][-1], model):
            break
    if stopping is not None:
        stopping.restore(model)
    return history
