"""Variants of module 08, training."""

from variants import alternative, mutant

BACK = "        loss.backward()\n        total += loss.item()\n    return total\n"
SHARE = " * (len(part) / rows)"
ZERO = "        optimizer.zero_grad()\n"
SUM = "        total += compute_gradients(model, x, y, loss_fn, parts) * len(x)\n        samples += len(x)\n"
CLIP = "        if max_norm is not None:\n            clip_grad_norm_(optimizer.parameters, max_norm)\n"
STEP = "        optimizer.step()\n"
SCHEDULE = "        if scheduler is not None:\n            scheduler.step()\n"
RESTORE = "        for module, mode in modes:\n            module.training = mode\n"
MEASURED = (
    "                totals = [\n"
    "                    total + float(measure(output, y)) * len(x) for total, measure in zip(totals, measures)\n"
    "                ]\n                samples += len(x)\n"
)
NORM = "math.sqrt(np.square(grad, dtype=np.float64).sum())"
WRITE = (
    '        with open(neighbour, "wb") as file:\n            np.savez(file, **arrays)\n            file.flush()\n'
    "            os.fsync(file.fileno())\n        os.replace(neighbour, path)\n"
)
MISSING = (
    "    missing = sorted(parts.keys() - saved.keys())\n    if missing:\n"
    "        raise ValueError(f\"{path} has no {', '.join(missing)}; it holds {', '.join(sorted(saved))}\")\n"
)
FILL = "    fill_all(parts, saved)\n"
FILL_EACH = "    for part, thing in parts.items():\n        fill(thing, saved[part])\n"
BETTER = "self.best, self.waited, self.best_state = loss, 0, model.state_dict()"
LAST = "            break\n    if stopping is not None:\n        stopping.restore(model)\n"

MUTANTS = [
    # 1 · gradients of a batch
    mutant(
        "training_gradients",
        "all parts weigh the same",
        "training_gradients_check",
        (SHARE, " * (1 / min(parts, rows))"),
    ),
    mutant("training_gradients", "not scaled", "training_gradients_check", (SHARE, "")),
    mutant(
        "training_gradients",
        "only the last loss",
        "training_gradients_check",
        ("total += loss.item()", "total = loss.item()"),
    ),
    mutant(
        "training_gradients",
        "only the last part goes back",
        "training_gradients_check",
        (BACK, "        total += loss.item()\n    loss.backward()\n    return total\n"),
    ),
    mutant(
        "training_gradients",
        "forgets what was there",
        "training_gradients_hidden",
        ("    total, rows = 0.0, len(x)\n", "    model.zero_grad()\n    total, rows = 0.0, len(x)\n"),
    ),
    mutant(
        "training_gradients",
        "forgets the part before",
        "training_gradients_check",
        ("        loss.backward()\n", "        model.zero_grad()\n        loss.backward()\n"),
    ),
    mutant(
        "training_gradients",
        "keeps all graphs",
        "training_gradients_hidden",
        (BACK, "        total = total + loss\n    total.backward()\n    return total.item()\n"),
    ),
    mutant("training_gradients", "empty parts", "training_gradients_hidden", ("min(parts, rows)", "parts")),
    mutant(
        "training_gradients",
        "returns a tensor",
        "training_gradients_hidden",
        ("total += loss.item()", "total = loss + total"),
    ),
    mutant(
        "training_gradients",
        "each part a row short",
        "training_gradients_check",
        ("int(part[-1]) + 1", "max(int(part[-1]), int(part[0]) + 1)"),
    ),
    mutant("training_gradients", "never in parts", "training_gradients_check", ("min(parts, rows)", "1")),
    mutant(
        "training_gradients",
        "scaled after going back",
        "training_gradients_check",
        (
            f"{SHARE}\n        loss.backward()\n",
            "\n        loss.backward()\n        loss = loss * (len(part) / rows)\n",
        ),
    ),
    # 2 · an epoch
    mutant("training_epoch", "zero_grad forgotten", "training_epoch_check", (ZERO, "")),
    mutant(
        "training_epoch",
        "zero_grad after the gradients",
        "training_epoch_check",
        (ZERO, ""),
        (CLIP, ZERO + CLIP),
    ),
    mutant(
        "training_epoch",
        "mean of the means",
        "training_epoch_check",
        (SUM, "        total += compute_gradients(model, x, y, loss_fn, parts)\n        samples += 1\n"),
    ),
    mutant("training_epoch", "clips after the step", "training_epoch_check", (CLIP + STEP, STEP + CLIP)),
    mutant(
        "training_epoch",
        "clips before the gradients",
        "training_epoch_check",
        (CLIP, ""),
        (ZERO, ZERO + CLIP),
    ),
    mutant("training_epoch", "mode forgotten", "training_epoch_check", ("    model.train()\n", "")),
    mutant(
        "training_epoch",
        "one step of the schedule an epoch",
        "training_epoch_check",
        (SCHEDULE, "    if scheduler is not None:\n        scheduler.step()\n"),
    ),
    mutant("training_epoch", "no step", "training_epoch_check", (STEP, "")),
    mutant("training_epoch", "never in parts", "training_epoch_check", ("loss_fn, parts)", "loss_fn)")),
    mutant(
        "training_epoch",
        "0 taken for no limit",
        "training_epoch_hidden",
        ("if max_norm is not None:", "if max_norm:"),
    ),
    mutant(
        "training_epoch", "no batches, no word", "training_epoch_hidden", ("if not samples:", "if False:")
    ),
    mutant(
        "training_epoch",
        "schedule before the step",
        "training_epoch_hidden",
        (STEP + SCHEDULE, SCHEDULE + STEP),
    ),
    mutant(
        "training_epoch",
        "divides by the size of the data set",
        "training_epoch_hidden",
        ("return total / samples", "return total / len(loader.dataset)"),
    ),
    mutant(
        "training_epoch",
        "leaves evaluation mode behind",
        "training_epoch_check",
        ("    return total / samples", "    model.eval()\n    return total / samples"),
    ),
    mutant(
        "training_epoch",
        "loss of the last batch",
        "training_epoch_check",
        ("total += compute", "total = compute"),
    ),
    # 3 · evaluation
    mutant("training_evaluate", "largest of a column", "training_evaluate_check", ("axis=-1", "axis=0")),
    mutant(
        "training_evaluate",
        "shapes not compared",
        "training_evaluate_check",
        ("if logits.shape[:-1] != target.shape:", "if False:"),
    ),
    mutant("training_evaluate", "counts the right ones", "training_evaluate_check", ("np.mean(", "np.sum(")),
    mutant(
        "training_evaluate", "stays in training mode", "training_evaluate_check", ("    model.eval()\n", "")
    ),
    mutant(
        "training_evaluate",
        "all to training mode",
        "training_evaluate_hidden",
        (RESTORE, "        model.train()\n"),
    ),
    mutant(
        "training_evaluate",
        "mode of the outermost for all",
        "training_evaluate_hidden",
        (RESTORE, "        model.train(modes[0][1])\n"),
    ),
    mutant("training_evaluate", "mode not put back", "training_evaluate_check", (RESTORE, "        pass\n")),
    mutant(
        "training_evaluate",
        "an error leaves the mode",
        "training_evaluate_hidden",
        ("    try:\n", "    if True:\n"),
        ("    finally:\n", "    if True:\n"),
    ),
    mutant("training_evaluate", "records", "training_evaluate_check", ("with no_grad():", "if True:")),
    mutant(
        "training_evaluate",
        "mean of the means",
        "training_evaluate_check",
        (MEASURED, MEASURED.replace(" * len(x)", "").replace("samples += len(x)", "samples += 1")),
    ),
    mutant(
        "training_evaluate",
        "no batches, no word",
        "training_evaluate_hidden",
        ("if not samples:", "if False:"),
    ),
    mutant(
        "training_evaluate",
        "tensors for numbers",
        "training_evaluate_hidden",
        ("float(measure(output, y))", "measure(output, y)"),
    ),
    mutant(
        "training_evaluate",
        "looks at the modes too late",
        "training_evaluate_check",
        (
            "[(module, module.training) for module in model.modules()]",
            "((module, module.training) for module in model.modules())",
        ),
    ),
    mutant(
        "training_evaluate",
        "the model for each measure again",
        "training_evaluate_check",
        ("measure(output, y)", "measure(model(x), y)"),
    ),
    mutant(
        "training_evaluate",
        "forgets the gradients",
        "training_evaluate_hidden",
        ("    model.eval()\n", "    model.eval()\n    model.zero_grad()\n"),
    ),
    mutant(
        "training_evaluate",
        "divides by the numbers of the targets",
        "training_evaluate_hidden",
        ("samples += len(x)", "samples += y.size"),
    ),
    mutant(
        "training_evaluate",
        "only the first measure",
        "training_evaluate_check",
        ("return [total / samples for total in totals]", "return [totals[0] / samples]"),
    ),
    # 4 · health report
    mutant(
        "training_report",
        "missing taken for dead",
        "training_report_check",
        ('report[name] = "missing"', 'report[name] = "dead"'),
    ),
    mutant(
        "training_report",
        "missing passed over",
        "training_report_check",
        ('report[name] = "missing"', "continue"),
    ),
    mutant(
        "training_report",
        "NaN not asked for",
        "training_report_check",
        ("not np.isfinite(grad).all()", "False"),
    ),
    mutant(
        "training_report",
        "all must be infinite",
        "training_report_check",
        ("isfinite(grad).all()", "isfinite(grad).any()"),
    ),
    mutant("training_report", "norm in float32", "training_report_hidden", (", dtype=np.float64", "")),
    mutant(
        "training_report",
        "largest number for the norm",
        "training_report_check",
        (NORM, "float(np.abs(grad).max())"),
    ),
    mutant("training_report", "sum for the norm", "training_report_check", (NORM, "abs(float(grad.sum()))")),
    mutant("training_report", "sign counts", "training_report_check", (NORM, "float(grad.sum())")),
    mutant(
        "training_report",
        "limit belongs to exploding",
        "training_report_hidden",
        ("norm > largest", "norm >= largest"),
    ),
    mutant(
        "training_report",
        "zero is not dead",
        "training_report_check",
        ("norm <= smallest", "norm < smallest"),
    ),
    mutant(
        "training_report", "limits not used", "training_report_check", ("norm > largest", "norm > 1000.0")
    ),
    mutant(
        "training_report",
        "one zero is dead",
        "training_report_hidden",
        ('"dead" if norm', '"dead" if not grad.all() or norm'),
    ),
    mutant(
        "training_report",
        "clips what it looks at",
        "training_report_hidden",
        (f"norm = {NORM}\n", f"norm = {NORM}\n            grad *= min(1.0, largest / max(norm, 1e-9))\n"),
    ),
    mutant(
        "training_report",
        "only NaN",
        "training_report_check",
        ("not np.isfinite(grad).all()", "np.isnan(grad).any()"),
    ),
    # 5 · checkpoints
    mutant(
        "training_checkpoint",
        "writes over the old file",
        "training_checkpoint_check",
        (
            WRITE,
            WRITE.replace("open(neighbour", "open(path").replace("        os.replace(neighbour, path)\n", ""),
        ),
    ),
    mutant(
        "training_checkpoint",
        "removes the old file first",
        "training_checkpoint_check",
        ("    try:\n", "    path.unlink(missing_ok=True)\n    try:\n"),
    ),
    mutant(
        "training_checkpoint",
        "temporary file stays",
        "training_checkpoint_check",
        ("    finally:\n        neighbour.unlink(missing_ok=True)\n", "    finally:\n        pass\n"),
    ),
    mutant(
        "training_checkpoint",
        "says nothing of a failure",
        "training_checkpoint_check",
        ("    finally:\n", "    except OSError:\n"),
    ),
    mutant(
        "training_checkpoint",
        "savez adds its ending",
        "training_checkpoint_check",
        ("            np.savez(file, **arrays)\n", "            np.savez(neighbour, **arrays)\n"),
    ),
    mutant(
        "training_checkpoint",
        "names without the part",
        "training_checkpoint_check",
        ('f"{part}/{name}": array', "name: array"),
    ),
    mutant(
        "training_checkpoint",
        "opens pickles",
        "training_checkpoint_hidden",
        ("allow_pickle=False) as file", "allow_pickle=True) as file"),
    ),
    mutant(
        "training_checkpoint",
        "missing parts not looked for",
        "training_checkpoint_hidden",
        ("    if missing:\n", "    if False:\n"),
    ),
    mutant(
        "training_checkpoint",
        "missing parts passed over",
        "training_checkpoint_hidden",
        (MISSING, ""),
        (
            FILL,
            "    for part, thing in parts.items():\n        if part in saved:\n            fill(thing, saved[part])\n",
        ),
    ),
    mutant(
        "training_checkpoint",
        "fills as far as it goes",
        "training_checkpoint_hidden",
        (MISSING, ""),
        (
            FILL,
            (
                "    for part, thing in parts.items():\n        if part not in saved:\n"
                "            raise ValueError(f'no {sorted(parts.keys() - saved.keys())}')\n        fill(thing, saved[part])\n"
            ),
        ),
    ),
    mutant(
        "training_checkpoint",
        "arrays for plain values",
        "training_checkpoint_check",
        ('entries["value"].tolist()', 'entries["value"]'),
    ),
    mutant(
        "training_checkpoint",
        "always .npz",
        "training_checkpoint_hidden",
        ("    arrays = {}\n", '    arrays, path = {}, path.with_suffix(".npz")\n'),
    ),
    mutant(
        "training_checkpoint",
        "models only",
        "training_checkpoint_check",
        (
            FILL,
            "    fill_all({name: part for name, part in parts.items() if hasattr(part, 'state_dict')}, saved)\n",
        ),
    ),
    mutant(
        "training_checkpoint",
        "only the first part",
        "training_checkpoint_check",
        ("        arrays |= {", "        arrays = arrays or {"),
    ),
    mutant(
        "training_checkpoint",
        "a copy in two steps",
        "training_checkpoint_check",
        ("        os.replace(neighbour, path)\n", "        pass\n"),
    ),
    mutant(
        "training_checkpoint",
        "one part after the other",
        "training_checkpoint_hidden",
        (FILL, FILL_EACH),
    ),
    mutant(
        "training_checkpoint",
        "copies over the old file",
        "training_checkpoint_hidden",
        ("os.replace(neighbour, path)", "path.write_bytes(neighbour.read_bytes())"),
    ),
    mutant(
        "training_checkpoint",
        "removes the old file before the new one comes",
        "training_checkpoint_hidden",
        (
            "        os.replace(neighbour, path)",
            "        path.unlink(missing_ok=True)\n        os.replace(neighbour, path)",
        ),
    ),
    # 6 · early stopping
    mutant(
        "training_stopping",
        "counts back after an improvement",
        "training_stopping_hidden",
        (BETTER, BETTER.replace("loss, 0,", "loss, max(0, self.waited - 1),")),
    ),
    mutant(
        "training_stopping",
        "min_delta not used",
        "training_stopping_check",
        ("self.best - self.min_delta", "self.best"),
    ),
    mutant(
        "training_stopping",
        "compares with the epoch before",
        "training_stopping_check",
        ("            self.waited += 1\n", "            self.waited += 1\n            self.best = loss\n"),
    ),
    mutant(
        "training_stopping",
        "counts on after an improvement",
        "training_stopping_check",
        (BETTER, "self.best, self.best_state = loss, model.state_dict()"),
    ),
    mutant(
        "training_stopping",
        "one epoch too patient",
        "training_stopping_check",
        (">= self.patience", "> self.patience"),
    ),
    mutant(
        "training_stopping",
        "keeps the parameters, not a copy",
        "training_stopping_check",
        ("0, model.state_dict()", "0, {name: p.data for name, p in model.named_parameters()}"),
    ),
    mutant(
        "training_stopping",
        "puts nothing back",
        "training_stopping_check",
        ("model.load_state_dict(self.best_state)", "pass"),
    ),
    mutant(
        "training_stopping",
        "equal taken for better",
        "training_stopping_hidden",
        ("if loss < ", "if loss <= "),
    ),
    mutant(
        "training_stopping",
        "puts back what was never there",
        "training_stopping_hidden",
        ("if self.best_state is not None:", "if True:"),
    ),
    mutant(
        "training_stopping",
        "NaN taken for better",
        "training_stopping_hidden",
        ("if loss < ", "if not loss >= "),
    ),
    mutant(
        "training_stopping",
        "higher is better",
        "training_stopping_check",
        (
            "if loss < self.best - self.min_delta:",
            "if loss > (self.best if math.isfinite(self.best) else -math.inf):",
        ),
    ),
    mutant(
        "training_stopping",
        "best loss moves slowly down",
        "training_stopping_hidden",
        (
            "            self.waited += 1\n",
            "            self.waited += 1\n            self.best = min(self.best, loss)\n",
        ),
    ),
    # 7 · fit
    mutant(
        "training_fit",
        "epochs counted from here",
        "training_fit_check",
        ("while loader.epoch < epochs:", "for _ in range(epochs):"),
    ),
    mutant(
        "training_fit",
        "one epoch too many",
        "training_fit_check",
        ("loader.epoch < epochs", "loader.epoch <= epochs"),
    ),
    mutant(
        "training_fit",
        "last parameters stay",
        "training_fit_check",
        ("        stopping.restore(model)\n", "        pass\n"),
    ),
    mutant(
        "training_fit",
        "best parameters only after a stop",
        "training_fit_hidden",
        (LAST, "            stopping.restore(model)\n            break\n"),
    ),
    mutant(
        "training_fit",
        "watches the training loss",
        "training_fit_check",
        ('history["validation"][-1]', 'history["train"][-1]'),
    ),
    mutant(
        "training_fit",
        "options not passed on",
        "training_fit_hidden",
        (
            "train_epoch(model, loader, loss_fn, optimizer, **options)",
            "train_epoch(model, loader, loss_fn, optimizer)",
        ),
    ),
    mutant(
        "training_fit",
        "validates on the training data",
        "training_fit_check",
        ("evaluate(model, validation, loss_fn)", "evaluate(model, list(loader), loss_fn)"),
    ),
    mutant(
        "training_fit", "does not stop", "training_fit_check", ("            break\n", "            pass\n")
    ),
    mutant(
        "training_fit",
        "lists in the list",
        "training_fit_check",
        (
            'history["validation"] += evaluate(model, validation, loss_fn)',
            'history["validation"].append(evaluate(model, validation, loss_fn))',
        ),
    ),
    mutant(
        "training_fit",
        "no validation losses",
        "training_fit_check",
        (
            'history["validation"] += evaluate(model, validation, loss_fn)',
            'history["validation"] = evaluate(model, validation, loss_fn)',
        ),
    ),
    # Systems
    mutant("step_predict", "biases forgotten", "step_check", ("m * n + n", "m * n")),
    mutant("step_predict", "one average", "step_check", ('"state": 2 * parameters', '"state": parameters')),
    mutant(
        "step_predict",
        "activations without the batch",
        "step_check",
        ("4 * batch * sum(sizes[1:-1])", "4 * sum(sizes[1:-1])"),
    ),
    mutant("step_predict", "relu's input kept as well", "step_check", ("4 * batch * sum", "8 * batch * sum")),
    mutant("step_predict", "inputs and logits counted", "step_check", ("sum(sizes[1:-1])", "sum(sizes)")),
    mutant(
        "step_predict",
        "gradients grow with the batch",
        "step_check",
        ('"gradients": parameters', '"gradients": batch * parameters'),
    ),
    mutant("parts_predict", "upside down", "parts_check", ("return 1 / k", "return k")),
    mutant("parts_predict", "never below a half", "parts_check", ("return 1 / k", "return max(1 / k, 0.5)")),
    mutant("parts_predict", "squared", "parts_check", ("return 1 / k", "return 1 / k**2")),
    mutant(
        "parts_predict",
        "parts rounded down",
        "parts_check",
        ("math.ceil(batch / rows)", "max(batch // rows, 1)"),
    ),
    mutant(
        "parts_predict",
        "rows rounded up",
        "parts_check",
        ("rows = budget // (4 * sum(sizes[1:-1]))", "rows = -(-budget // (4 * sum(sizes[1:-1])))"),
    ),
    mutant(
        "parts_predict",
        "bytes divided by bytes",
        "parts_check",
        ("math.ceil(batch / rows)", "math.ceil(4 * batch * sum(sizes[1:-1]) / budget)"),
    ),
    mutant(
        "parts_predict",
        "numbers for bytes",
        "parts_check",
        ("budget // (4 * sum(sizes[1:-1]))", "budget // sum(sizes[1:-1])"),
    ),
    mutant("weight_predict", "gradients saved", "weight_check", ('"Adam": 3', '"Adam": 4')),
    mutant("weight_predict", "one average", "weight_check", ('"Adam": 3', '"Adam": 2')),
    mutant("weight_predict", "velocity forgotten", "weight_check", ('"momentum": 2', '"momentum": 1')),
    mutant("weight_predict", "SGD remembers", "weight_check", ('"SGD": 1', '"SGD": 2')),
    mutant("weight_predict", "numbers for bytes", "weight_check", ("return 4 * numbers", "return numbers")),
]

ALTERNATIVES = [
    alternative(
        "training_gradients",
        "own arithmetic, scaled from above",
        (
            "    total, rows = 0.0, len(x)\n    for part in np.array_split(np.arange(rows), min(parts, rows)):\n",
            (
                "    total, rows, start = 0.0, len(x), 0\n    parts = min(parts, rows)\n"
                "    for number in range(parts):\n        part = range(start, start + rows // parts + (number < rows % parts))\n"
                "        start = part.stop\n"
            ),
        ),
        (SHARE, ""),
        (
            "        loss.backward()\n        total += loss.item()\n",
            (
                "        loss.backward(np.full(loss.shape, len(part) / rows, loss.dtype))\n        total += loss.item() * len(part) / rows\n"
            ),
        ),
    ),
    alternative(
        "training_gradients",
        "rows by their numbers",
        ("piece = slice(int(part[0]), int(part[-1]) + 1)", "piece = part"),
        (SHARE, ""),
        ("        loss.backward()\n", "        loss = loss * len(part) / rows\n        loss.backward()\n"),
    ),
    alternative(
        "training_epoch",
        "without a bar, lists of losses",
        ("for x, y in progress(loader):", "for batch in loader:\n        x, y = batch"),
        ("    total, samples = 0.0, 0\n", "    losses, sizes = [], []\n"),
        (
            SUM,
            "        losses.append(compute_gradients(model, x, y, loss_fn, parts=parts))\n        sizes.append(x.shape[0])\n",
        ),
        ("    if not samples:\n", "    if not sizes:\n"),
        ("return total / samples", "return float(np.average(losses, weights=sizes))"),
    ),
    alternative(
        "training_epoch",
        "zero_grad at the end as well",
        (STEP, STEP + ZERO),
        ("clip_grad_norm_(optimizer.parameters, max_norm)", "clip_grad_norm_(model.parameters(), max_norm)"),
        ("    model.train()\n", "    model.train(True)\n"),
    ),
    alternative(
        "training_evaluate",
        "arrays of totals, accuracy by counting",
        (
            "    totals, samples = [0.0] * len(measures), 0\n",
            "    totals, samples = np.zeros(len(measures)), 0\n",
        ),
        (
            MEASURED,
            (
                "                samples += len(y)\n                for number, measure in enumerate(measures):\n"
                "                    totals[number] += float(measure(output, y)) * len(y)\n"
            ),
        ),
        ("return [total / samples for total in totals]", "return (totals / samples).tolist()"),
        (
            "float(np.mean(np.argmax(logits.data, axis=-1) == target.data))",
            "int((logits.argmax(axis=-1) == target).data.sum()) / target.size",
        ),
    ),
    alternative(
        "training_evaluate",
        "modes by identity",
        (
            "modes = [(module, module.training) for module in model.modules()]",
            "modes = {id(module): module.training for module in model.modules()}",
        ),
        (
            RESTORE,
            "        for module in model.modules():\n            module.training = modes[id(module)]\n",
        ),
        ("    model.eval()\n    try:\n", "    try:\n        model.train(False)\n"),
    ),
    alternative(
        "training_report",
        "a question at a time",
        (NORM, "float(np.linalg.norm(grad.astype(np.float64)))"),
        (
            'report[name] = "exploding" if norm > largest else "dead" if norm <= smallest else "fine"',
            (
                'report[name] = "fine"\n            if norm > largest:\n                report[name] = "exploding"\n'
                '            if norm <= smallest:\n                report[name] = "dead"'
            ),
        ),
    ),
    alternative(
        "training_report",
        "sums of squares",
        ("not np.isfinite(grad).all()", "np.isinf(grad).any() or np.isnan(grad).any()"),
        (NORM, "sum(float(g) ** 2 for g in grad.ravel()) ** 0.5"),
    ),
    alternative(
        "training_checkpoint",
        "through memory",
        ("    arrays = {}\n", "    import io\n\n    arrays, memory = {}, io.BytesIO()\n"),
        (
            WRITE,
            (
                "        np.savez(memory, **arrays)\n        neighbour.write_bytes(memory.getvalue())\n"
                "        neighbour.replace(path)\n"
            ),
        ),
    ),
    alternative(
        "training_checkpoint",
        "removed only on failure, loaded by comprehension",
        (
            "    finally:\n        neighbour.unlink(missing_ok=True)\n",
            (
                "    except BaseException:\n        if neighbour.exists():\n            os.remove(neighbour)\n        raise\n"
            ),
        ),
        (
            '        for name in file.files:\n            part, _, entry = name.partition("/")\n            saved.setdefault(part, {})[entry] = file[name]\n',
            (
                "        arrays = {name: file[name] for name in file.files}\n"
                '    for part in {name.split("/")[0] for name in arrays}:\n'
                '        saved[part] = {name[len(part) + 1 :]: array for name, array in arrays.items() if name.startswith(part + "/")}\n'
            ),
        ),
        (
            MISSING,
            "    for part in parts:\n        if part not in saved:\n            raise ValueError(f'not in {path}: {set(parts) - set(saved)}')\n",
        ),
    ),
    alternative(
        "training_stopping",
        "the gain compared",
        ("if loss < self.best - self.min_delta:", "if self.best - loss > self.min_delta:"),
    ),
    alternative(
        "training_stopping",
        "copies by hand",
        (
            BETTER,
            "self.waited = 0\n            self.best = loss\n            self.best_state = {n: p.data.copy() for n, p in model.named_parameters()}",
        ),
        (
            "        if self.best_state is not None:\n            model.load",
            "        if self.best_state:\n            model.load",
        ),
    ),
    alternative(
        "training_fit",
        "with a range",
        ("while loader.epoch < epochs:", "for _ in range(loader.epoch, epochs):"),
    ),
    alternative(
        "training_fit",
        "loss by name",
        (
            '            history["validation"] += evaluate(model, validation, loss_fn)\n',
            (
                '            unseen = evaluate(model, validation, loss_fn)[0]\n            history["validation"].append(unseen)\n'
            ),
        ),
        ('stopping.update(history["validation"][-1], model)', "stopping.update(unseen, model)"),
    ),
    alternative(
        "step_predict",
        "layer by layer",
        source="""
def predict_step_memory(sizes, batch):
    numbers = hidden = 0
    for number in range(len(sizes) - 1):
        numbers += (sizes[number] + 1) * sizes[number + 1]
        if number < len(sizes) - 2:
            hidden += sizes[number + 1]
    return dict(activations=batch * hidden * 4, state=8 * numbers, gradients=4 * numbers, parameters=4 * numbers)
""",
    ),
    alternative(
        "step_predict",
        "as a model",
        source="""
def predict_step_memory(sizes, batch):
    numbers = sum(p.size for m, n in zip(sizes, sizes[1:]) for p in Linear(m, n).parameters())
    memory = {"parameters": numbers, "gradients": numbers, "state": 2 * numbers, "activations": batch * sum(sizes[1:-1])}
    return {kind: 4 * count for kind, count in memory.items()}
""",
    ),
    alternative(
        "parts_predict",
        "by trying",
        source="""
def predict_peak_ratio(k):
    return 1.0 / float(k)


def parts_needed(sizes, batch, budget):
    row = 4 * sum(sizes[1:-1])
    if row > budget:
        raise ValueError("not even one row fits")
    return next(k for k in range(1, batch + 1) if -(-batch // k) * row <= budget)
""",
    ),
    alternative(
        "parts_predict",
        "integers only",
        source="""
def predict_peak_ratio(k):
    return k**-1


def parts_needed(sizes, batch, budget):
    rows = int(budget / (4 * sum(sizes[1:-1])))
    if not rows:
        raise ValueError("too little")
    return -(-batch // rows)
""",
    ),
    alternative(
        "weight_predict",
        "with conditions",
        source="""
def predict_checkpoint_bytes(numbers, name):
    state = {"momentum": 1, "Adam": 2}.get(name, 0)
    return numbers * 4 + state * numbers * 4
""",
    ),
    alternative(
        "weight_predict",
        "case by case",
        source="""
def predict_checkpoint_bytes(numbers, name):
    if name == "Adam":
        return 12 * numbers
    return 8 * numbers if name == "momentum" else 4 * numbers
""",
    ),
    alternative(
        "training_checkpoint",
        "its own way back after a misfit, renamed by its path",
        (
            FILL,
            (
                "    before = {part: entries_of(thing) for part, thing in parts.items()}\n"
                "    try:\n        for part in parts:\n            fill(parts[part], saved[part])\n"
                "    except ValueError:\n        for part in parts:\n            fill(parts[part], before[part])\n"
                "        raise\n"
            ),
        ),
        ("os.replace(neighbour, path)", "neighbour.replace(path)"),
    ),
    alternative(
        "parts_predict",
        "NumPy's rounding",
        ("return math.ceil(batch / rows)", "return np.ceil(batch / rows)"),
    ),
]
