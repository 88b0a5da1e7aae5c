"""Variants of module 07, optimizers."""

from variants import alternative, mutant

LOOP = "        for parameter, state in zip(self.parameters, self.state):\n"
NESTEROV = (
    "                data -= np.multiply(grad, rate, out=scratch)\n                rate *= self.momentum\n"
)
LAST = "            grad = velocity\n        data -= np.multiply(grad, rate, out=scratch)\n"
DECAY = (
    "            np.multiply(data, self.weight_decay, out=scratch)\n            scratch += grad\n            grad = scratch\n"
    "        rate = self.lr\n"
)
ROOT = "        np.sqrt(square, out=scratch)\n        scratch += self.eps * root\n"
MEAN = "        mean -= grad\n        mean *= beta1\n        mean += grad\n"
ADAMW = "        data *= 1 - self.lr * self.weight_decay\n        self.move(data, grad, state, scratch)\n"
CLIP = "        for grad in grads:\n            grad *= max_norm / norm\n"
NORM = "math.sqrt(sum(float(np.square(grad, dtype=np.float64).sum()) for grad in grads))"
FILL = (
    "            if isinstance(value, np.ndarray):\n                value[...] = state[name]\n"
    "            else:\n                value = int(state[name])\n"
)

MUTANTS = [
    # 1 · what all optimizers share
    mutant(
        "optimizers_base",
        "zero_grad forgets the state as well",
        "optimizers_base_check",
        (
            "            parameter.grad = None\n",
            "            parameter.grad = None\n        self.state = [{} for _ in self.parameters]\n",
        ),
    ),
    mutant(
        "optimizers_base",
        "new memory for the scratch",
        "optimizers_base_hidden",
        ("self.scratch_like(data))", "np.empty_like(data))"),
    ),
    mutant(
        "optimizers_base",
        "zero_grad makes zeros",
        "optimizers_base_check",
        ("parameter.grad = None\n", "parameter.grad = np.zeros_like(parameter.data)\n"),
    ),
    mutant("optimizers_base", "stops at a gap", "optimizers_base_hidden", ("continue\n", "break\n")),
    mutant(
        "optimizers_base",
        "version forgotten",
        "optimizers_base_check",
        ("            parameter.version += 1\n", ""),
    ),
    mutant(
        "optimizers_base", "starts anew in each step", "optimizers_base_check", ("if not state:", "if True:")
    ),
    mutant(
        "optimizers_base",
        "a new array for the parameter",
        "optimizers_base_check",
        ("data = parameter.data\n", "data = parameter.data = parameter.data.copy()\n"),
    ),
    mutant(
        "optimizers_base",
        "no gradient taken for zeros",
        "optimizers_base_check",
        ("                continue\n", "                parameter.grad = np.zeros_like(parameter.data)\n"),
    ),
    mutant(
        "optimizers_base",
        "one state for all",
        "optimizers_base_hidden",
        (LOOP, "        state = self.state[0]\n        for parameter in self.parameters:\n"),
    ),
    mutant(
        "optimizers_base",
        "a gradient of zeros taken for none",
        "optimizers_base_hidden",
        ("if parameter.grad is None:", "if parameter.grad is None or not parameter.grad.any():"),
    ),
    mutant(
        "optimizers_base",
        "data as scratch",
        "optimizers_base_check",
        ("self.scratch_like(data))", "data)"),
    ),
    mutant(
        "optimizers_base",
        "updates a copy",
        "optimizers_base_check",
        ("data = parameter.data\n", "data = parameter.data.copy()\n"),
    ),
    mutant(
        "optimizers_base",
        "starts only those with something to remember",
        "optimizers_base_hidden",
        (
            "            self.update(data",
            "            if not state:\n                continue\n            self.update(data",
        ),
    ),
    # 2 · SGD
    mutant(
        "optimizers_sgd",
        "a velocity without momentum",
        "optimizers_sgd_hidden",
        (" if self.momentum else {}", ""),
    ),
    mutant(
        "optimizers_sgd",
        "dampened velocity",
        "optimizers_sgd_check",
        ("velocity += grad\n", "velocity += np.multiply(grad, 1 - self.momentum)\n"),
    ),
    mutant(
        "optimizers_sgd",
        "the rate in the velocity",
        "optimizers_sgd_hidden",
        (
            "            velocity += grad\n",
            "            velocity += np.multiply(grad, rate, out=scratch)\n            rate = 1.0\n",
        ),
        (NESTEROV, "                data -= scratch\n                rate = self.momentum\n"),
    ),
    mutant(
        "optimizers_sgd",
        "a temporary with momentum only",
        "optimizers_sgd_hidden",
        ("grad = velocity\n", "grad = velocity if self.nesterov else 1.0 * velocity\n"),
    ),
    mutant("optimizers_sgd", "uphill", "optimizers_sgd_check", (LAST, LAST.replace("data -=", "data +="))),
    mutant(
        "optimizers_sgd",
        "decay added to the caller's gradient",
        "optimizers_sgd_hidden",
        (
            DECAY,
            "            np.multiply(data, self.weight_decay, out=scratch)\n            grad += scratch\n        rate = self.lr\n",
        ),
    ),
    mutant(
        "optimizers_sgd",
        "decay that grows",
        "optimizers_sgd_check",
        ("scratch += grad\n", "np.subtract(grad, scratch, out=scratch)\n"),
    ),
    mutant(
        "optimizers_sgd",
        "decay outside the velocity",
        "optimizers_sgd_hidden",
        (DECAY, "            data *= 1 - self.lr * self.weight_decay\n        rate = self.lr\n"),
    ),
    mutant(
        "optimizers_sgd",
        "Nesterov without the gradient",
        "optimizers_sgd_check",
        (NESTEROV, "                rate *= self.momentum\n"),
    ),
    mutant(
        "optimizers_sgd",
        "Nesterov with the whole velocity",
        "optimizers_sgd_check",
        ("                rate *= self.momentum\n", ""),
    ),
    mutant("optimizers_sgd", "Nesterov ignored", "optimizers_sgd_check", ("if self.nesterov:", "if False:")),
    mutant(
        "optimizers_sgd",
        "a temporary in each step",
        "optimizers_sgd_check",
        (LAST, "            grad = velocity\n        data -= rate * grad\n"),
    ),
    mutant(
        "optimizers_sgd",
        "the learning rate of the beginning",
        "optimizers_sgd_hidden",
        ("rate = self.lr\n", "rate = self.initial_lr\n"),
    ),
    mutant(
        "optimizers_sgd",
        "velocity in float64",
        "optimizers_sgd_hidden",
        ("np.zeros_like(data)", "np.zeros(data.shape)"),
    ),
    mutant(
        "optimizers_sgd",
        "velocity not kept",
        "optimizers_sgd_check",
        ('velocity = state["velocity"]\n', "velocity = np.zeros_like(data)\n"),
    ),
    mutant(
        "optimizers_sgd",
        "the first gradient becomes the velocity",
        "optimizers_sgd_check",
        (
            "velocity *= self.momentum\n            velocity += grad\n",
            (
                "if velocity.any():\n                velocity *= self.momentum\n                velocity += grad\n"
                "            else:\n                velocity = state['velocity'] = grad\n"
            ),
        ),
    ),
    # 3 · Adam
    mutant(
        "optimizers_adam",
        "squares not corrected",
        "optimizers_adam_check",
        ("math.sqrt(1 - beta2**steps)", "1.0"),
    ),
    mutant(
        "optimizers_adam",
        "mean not corrected",
        "optimizers_adam_check",
        ("self.lr * root / (1 - beta1**steps)", "self.lr * root"),
    ),
    mutant(
        "optimizers_adam",
        "correction outside the root",
        "optimizers_adam_check",
        ("math.sqrt(1 - beta2**steps)", "1 - beta2**steps"),
    ),
    mutant(
        "optimizers_adam",
        "eps before the correction",
        "optimizers_adam_hidden",
        ("self.eps * root", "self.eps"),
    ),
    mutant(
        "optimizers_adam",
        "eps inside the root",
        "optimizers_adam_hidden",
        (
            ROOT,
            "        np.add(square, self.eps * root**2, out=scratch)\n        np.sqrt(scratch, out=scratch)\n",
        ),
    ),
    mutant(
        "optimizers_adam",
        "betas exchanged",
        "optimizers_adam_check",
        ("beta1, beta2 = self.betas", "beta2, beta1 = self.betas"),
    ),
    mutant(
        "optimizers_adam",
        "one count of steps for all",
        "optimizers_adam_hidden",
        ('state["steps"] += 1\n', 'self.t = getattr(self, "t", 0) + 1\n        state["steps"] = self.t\n'),
    ),
    mutant(
        "optimizers_adam",
        "the learning rate of the beginning",
        "optimizers_adam_hidden",
        ("self.lr * root / (1", "self.initial_lr * root / (1"),
    ),
    mutant("optimizers_adam", "steps from one", "optimizers_adam_check", ('"steps": 0', '"steps": 1')),
    mutant(
        "optimizers_adam",
        "square of the mean",
        "optimizers_adam_check",
        ("np.multiply(grad, grad, out=scratch)", "np.multiply(mean, mean, out=scratch)"),
    ),
    mutant(
        "optimizers_adam",
        "gradient added in full",
        "optimizers_adam_check",
        (MEAN, "        mean *= beta1\n        mean += grad\n"),
    ),
    mutant(
        "optimizers_adam",
        "one array for both averages",
        "optimizers_adam_check",
        (
            'return {"steps": 0, "mean": np.zeros_like(data), "square": np.zeros_like(data)}',
            'zeros = np.zeros_like(data)\n        return {"steps": 0, "mean": zeros, "square": zeros}',
        ),
    ),
    mutant(
        "optimizers_adam",
        "a temporary in each step",
        "optimizers_adam_check",
        ("np.divide(mean, scratch, out=scratch)\n", "scratch[...] = mean / scratch\n"),
    ),
    mutant(
        "optimizers_adam",
        "squares the caller's gradient",
        "optimizers_adam_hidden",
        (
            "np.multiply(grad, grad, out=scratch)\n",
            "np.multiply(grad, grad, out=grad)\n        scratch[...] = grad\n",
        ),
    ),
    mutant(
        "optimizers_adam",
        "no root",
        "optimizers_adam_check",
        ("np.sqrt(square, out=scratch)", "np.copyto(scratch, square)"),
    ),
    mutant(
        "optimizers_adam",
        "beta to the first power",
        "optimizers_adam_check",
        ("1 - beta1**steps", "1 - beta1"),
    ),
    # 4 · AdamW
    mutant(
        "optimizers_adamw",
        "Adam's own decay",
        "optimizers_adamw_check",
        (ADAMW, "        super().update(data, grad, state, scratch)\n"),
    ),
    mutant(
        "optimizers_adamw",
        "without the learning rate",
        "optimizers_adamw_check",
        ("1 - self.lr * self.weight_decay", "1 - self.weight_decay"),
    ),
    mutant(
        "optimizers_adamw",
        "the learning rate of the beginning",
        "optimizers_adamw_hidden",
        ("self.lr", "self.initial_lr"),
    ),
    mutant("optimizers_adamw", "decays twice", "optimizers_adamw_check", ("self.move(", "super().update(")),
    mutant(
        "optimizers_adamw",
        "decay after the step",
        "optimizers_adamw_check",
        (
            ADAMW,
            "        self.move(data, grad, state, scratch)\n        data *= 1 - self.lr * self.weight_decay\n",
        ),
    ),
    mutant("optimizers_adamw", "grows", "optimizers_adamw_check", ("1 - self.lr", "1 + self.lr")),
    mutant(
        "optimizers_adamw",
        "decays a copy",
        "optimizers_adamw_check",
        ("data *= 1 - self.lr * self.weight_decay", "data = data * (1 - self.lr * self.weight_decay)"),
    ),
    mutant(
        "optimizers_adamw",
        "no decay",
        "optimizers_adamw_check",
        ("        data *= 1 - self.lr * self.weight_decay\n", ""),
    ),
    mutant(
        "optimizers_adamw",
        "a fixed share",
        "optimizers_adamw_check",
        ("data *= 1 - self.lr * self.weight_decay", "data -= self.lr * self.weight_decay"),
    ),
    mutant(
        "optimizers_adamw",
        "a temporary in each step",
        "optimizers_adamw_hidden",
        ("data *= 1 - self.lr * self.weight_decay", "data -= self.lr * self.weight_decay * data"),
    ),
    # 5 · clipping
    mutant(
        "optimizers_clip",
        "each for itself",
        "optimizers_clip_check",
        (
            CLIP,
            "        for grad in grads:\n            own = math.sqrt(float(np.square(grad).sum()))\n            grad *= min(1.0, max_norm / max(own, 1e-30))\n",
        ),
    ),
    mutant(
        "optimizers_clip",
        "scales a copy",
        "optimizers_clip_check",
        ("grad *= max_norm / norm", "grad = grad * (max_norm / norm)"),
    ),
    mutant(
        "optimizers_clip",
        "makes short ones long",
        "optimizers_clip_check",
        (" and norm > max_norm", " and norm > 0"),
    ),
    mutant(
        "optimizers_clip",
        "returns the norm after",
        "optimizers_clip_check",
        ("return norm", "return min(norm, max_norm)"),
    ),
    mutant(
        "optimizers_clip",
        "squares in float32",
        "optimizers_clip_hidden",
        ("np.square(grad, dtype=np.float64)", "np.square(grad)"),
    ),
    mutant(
        "optimizers_clip",
        "sum of absolute values",
        "optimizers_clip_check",
        (NORM, "sum(float(np.abs(grad).sum()) for grad in grads)"),
    ),
    mutant(
        "optimizers_clip",
        "limits each number",
        "optimizers_clip_check",
        ("grad *= max_norm / norm", "np.clip(grad, -max_norm, max_norm, out=grad)"),
    ),
    mutant(
        "optimizers_clip",
        "infinity turned into NaN",
        "optimizers_clip_hidden",
        ("math.isfinite(norm) and ", ""),
    ),
    mutant("optimizers_clip", "length one", "optimizers_clip_check", ("max_norm / norm", "1 / norm")),
    mutant(
        "optimizers_clip",
        "the largest norm",
        "optimizers_clip_check",
        (NORM, NORM.replace("sum(float", "max(float")),
    ),
    mutant("optimizers_clip", "no root", "optimizers_clip_check", (NORM, NORM.replace("math.sqrt", ""))),
    mutant(
        "optimizers_clip",
        "an iterator used up",
        "optimizers_clip_check",
        (
            "[parameter.grad for parameter in parameters if parameter.grad is not None]",
            "(parameter.grad for parameter in parameters if parameter.grad is not None)",
        ),
    ),
    # 6 · schedules
    mutant(
        "optimizers_schedules",
        "stairs made a slope",
        "optimizers_schedules_check",
        ("t // self.step_size", "t / self.step_size"),
    ),
    mutant(
        "optimizers_schedules",
        "stairs a step early",
        "optimizers_schedules_check",
        ("t // self.step_size", "(t + 1) // self.step_size"),
    ),
    mutant(
        "optimizers_schedules",
        "stairs from the rate before",
        "optimizers_schedules_hidden",
        (
            "self.base_lr * self.gamma ** (t // self.step_size)",
            "self.optimizer.lr * (self.gamma if t and t % self.step_size == 0 else 1.0)",
        ),
    ),
    mutant(
        "optimizers_schedules",
        "the optimizer's rate for the scheduler's",
        "optimizers_schedules_hidden",
        ("self.base_lr * self.gamma", "self.optimizer.initial_lr * self.gamma"),
    ),
    mutant(
        "optimizers_schedules",
        "cosine goes up again",
        "optimizers_schedules_check",
        ("min(t / self.T_max, 1.0)", "t / self.T_max"),
    ),
    mutant(
        "optimizers_schedules",
        "a whole cosine",
        "optimizers_schedules_check",
        ("math.pi * part", "2 * math.pi * part"),
    ),
    mutant(
        "optimizers_schedules",
        "eta_min on top",
        "optimizers_schedules_hidden",
        ("(self.base_lr - self.eta_min)", "self.base_lr"),
    ),
    mutant(
        "optimizers_schedules",
        "cosine not halved",
        "optimizers_schedules_check",
        ("math.cos(math.pi * part)) / 2", "math.cos(math.pi * part))"),
    ),
    mutant(
        "optimizers_schedules",
        "the line goes on",
        "optimizers_schedules_check",
        ("min(t / self.total_iters, 1.0)", "t / self.total_iters"),
    ),
    mutant(
        "optimizers_schedules",
        "the line always ends at one",
        "optimizers_schedules_hidden",
        ("(self.end_factor - self.start_factor)", "(1 - self.start_factor)"),
    ),
    mutant(
        "optimizers_schedules",
        "the line a step early",
        "optimizers_schedules_check",
        ("min(t / self.total_iters, 1.0)", "min((t + 1) / self.total_iters, 1.0)"),
    ),
    mutant(
        "optimizers_schedules",
        "eta_min ignored",
        "optimizers_schedules_hidden",
        ("self.eta_min + (self.base_lr - self.eta_min)", "self.base_lr"),
    ),
    # 7 · state
    mutant(
        "optimizers_state",
        "no copy",
        "optimizers_state_check",
        ("value.copy() if isinstance(value, np.ndarray) else value", "value"),
    ),
    mutant(
        "optimizers_state",
        "saves the first rate",
        "optimizers_state_hidden",
        ('{"lr": optimizer.lr}', '{"lr": optimizer.initial_lr}'),
    ),
    mutant(
        "optimizers_state",
        "changes before it refuses",
        "optimizers_state_hidden",
        (
            "    wrong = expected.keys() ^",
            '    optimizer.lr = float(state.get("lr", 0.0))\n    wrong = expected.keys() ^',
        ),
    ),
    mutant(
        "optimizers_state",
        "loads what it has looked at",
        "optimizers_state_hidden",
        (
            "    if wrong:\n",
            (
                "    for name in expected.keys() - wrong - {'lr'}:\n"
                "        number, entry = name.split('.')\n"
                "        optimizer.state[int(number)][entry] = state[name]\n"
                "    if wrong:\n"
            ),
        ),
    ),
    mutant(
        "optimizers_state",
        "numbers of one digit",
        "optimizers_state_hidden",
        ('number, entry = name.split(".")', "number, entry = name[0], name[2:]"),
    ),
    mutant(
        "optimizers_state",
        "another first rate",
        "optimizers_state_hidden",
        ("    optimizer.lr = float", "    optimizer.lr = optimizer.initial_lr = float"),
    ),
    mutant(
        "optimizers_state",
        "shapes not compared",
        "optimizers_state_check",
        ("if np.shape(expected[name]) != np.shape(state[name])", "if False"),
    ),
    mutant(
        "optimizers_state",
        "passes over the unexpected",
        "optimizers_state_check",
        ("wrong = expected.keys() ^ state.keys()", "wrong = expected.keys() - state.keys()"),
    ),
    mutant(
        "optimizers_state",
        "passes over the missing",
        "optimizers_state_check",
        ("wrong = expected.keys() ^ state.keys()", "wrong = state.keys() - expected.keys()"),
    ),
    mutant(
        "optimizers_state",
        "keeps what was remembered",
        "optimizers_state_hidden",
        ("    optimizer.state = [{} for _ in optimizer.parameters]\n", ""),
    ),
    mutant(
        "optimizers_state",
        "takes the arrays of the dict",
        "optimizers_state_check",
        ("                value[...] = state[name]\n", "                value = state[name]\n"),
    ),
    mutant(
        "optimizers_state",
        "steps as an array",
        "optimizers_state_hidden",
        (FILL, FILL.replace("int(state[name])", "state[name]")),
    ),
    mutant(
        "optimizers_state",
        "rate not loaded",
        "optimizers_state_hidden",
        ('    optimizer.lr = float(state["lr"])\n', ""),
    ),
    mutant(
        "optimizers_state",
        "only the first parameter",
        "optimizers_state_check",
        ("entries in enumerate(optimizer.state)", "entries in enumerate(optimizer.state[:1])"),
    ),
    mutant(
        "optimizers_state", "steps not loaded", "optimizers_state_check", ("value = int(state[name])", "pass")
    ),
    # Systems
    mutant("memory_predict", "Adam has one average", "memory_check", ('"Adam": 2', '"Adam": 1')),
    mutant("memory_predict", "momentum counted twice", "memory_check", ('"momentum": 1', '"momentum": 2')),
    mutant(
        "memory_predict", "numbers for bytes", "memory_check", ("[name] * 4 * numbers", "[name] * numbers")
    ),
    mutant("memory_predict", "gradients forgotten", "memory_check", ("2 * 4 * numbers", "4 * numbers")),
    mutant(
        "memory_predict", "state forgotten", "memory_check", (" + predict_state_bytes(name, numbers)", "")
    ),
    mutant("memory_predict", "decay remembered", "memory_check", ('"AdamW": 2', '"AdamW": 3')),
    mutant("step_predict", "product forgotten", "step_check", ('"SGD": 2', '"SGD": 1')),
    mutant(
        "step_predict", "decay of the velocity forgotten", "step_check", ('"momentum": 4', '"momentum": 3')
    ),
    mutant("step_predict", "root forgotten", "step_check", ('"Adam": 12', '"Adam": 11')),
    mutant("step_predict", "only the fraction", "step_check", ('"Adam": 12', '"Adam": 6')),
    mutant("step_predict", "bytes for FLOPs", "step_check", ("[name] * numbers", "[name] * numbers * 4")),
    mutant(
        "temporaries_predict",
        "the two averages only",
        "temporaries_check",
        ('"Adam, composed": 13', '"Adam, composed": 2'),
    ),
    mutant(
        "temporaries_predict",
        "-= taken for a new array",
        "temporaries_check",
        ('"Adam, composed": 13', '"Adam, composed": 14'),
    ),
    mutant(
        "temporaries_predict", "scratch made in each step", "temporaries_check", ('"Adam": 0', '"Adam": 1')
    ),
    mutant(
        "temporaries_predict",
        "memory rises by the scratch",
        "temporaries_check",
        ("rise_in_arrays = 0", "rise_in_arrays = 1"),
    ),
    mutant(
        "temporaries_predict",
        "memory rises by the averages",
        "temporaries_check",
        ("rise_in_arrays = 0", "rise_in_arrays = 2"),
    ),
]

ALTERNATIVES = [
    alternative(
        "optimizers_base",
        "by numbers",
        (
            LOOP,
            "        for number in range(len(self.parameters)):\n            parameter, state = self.parameters[number], self.state[number]\n",
        ),
    ),
    alternative(
        "optimizers_base",
        "only those with a gradient",
        (
            LOOP,
            "        pairs = [pair for pair in zip(self.parameters, self.state) if pair[0].grad is not None]\n        for parameter, state in pairs:\n",
        ),
        ("            if parameter.grad is None:\n                continue\n", ""),
    ),
    alternative(
        "optimizers_sgd",
        "with functions only",
        ("            scratch += grad\n", "            np.add(scratch, grad, out=scratch)\n"),
        (
            "            velocity *= self.momentum\n            velocity += grad\n",
            (
                "            np.multiply(velocity, self.momentum, out=velocity)\n            np.add(velocity, grad, out=velocity)\n"
            ),
        ),
        (
            LAST,
            (
                "            grad = velocity\n        np.multiply(grad, rate, out=scratch)\n        np.subtract(data, scratch, out=data)\n"
            ),
        ),
    ),
    alternative(
        "optimizers_sgd",
        "case by case",
        (
            '        rate = self.lr\n        if self.momentum:\n            velocity = state["velocity"]\n',
            (
                "        if not self.momentum:\n            data += np.multiply(grad, -self.lr, out=scratch)\n            return\n"
                '        rate = self.lr\n        if self.momentum:\n            velocity = state.get("velocity")\n'
            ),
        ),
    ),
    alternative(
        "optimizers_adam",
        "another order",
        (MEAN, "        mean *= beta1 / (1 - beta1)\n        mean += grad\n        mean *= 1 - beta1\n"),
        ("np.multiply(grad, grad, out=scratch)", "np.square(grad, out=scratch)"),
        (
            "        np.divide(mean, scratch, out=scratch)\n        scratch *= self.lr * root / (1 - beta1**steps)\n",
            (
                "        np.true_divide(mean, scratch, out=scratch)\n"
                "        np.multiply(scratch, self.lr * root / (1 - beta1**steps), out=scratch)\n"
            ),
        ),
    ),
    alternative(
        "optimizers_adam",
        "root by a power",
        (ROOT, "        np.power(square, 0.5, out=scratch)\n        np.add(scratch, root * self.eps, out=scratch)\n"),
        ("        data -= scratch\n", "        np.subtract(data, scratch, out=data)\n"),
    ),
    alternative(
        "optimizers_adamw",
        "the share subtracted",
        (
            "data *= 1 - self.lr * self.weight_decay",
            "data -= np.multiply(data, self.lr * self.weight_decay, out=scratch)",
        ),
    ),
    alternative(
        "optimizers_adamw",
        "with a function, only if there is decay",
        (
            "        data *= 1 - self.lr * self.weight_decay\n",
            (
                "        if self.weight_decay != 0:\n            np.multiply(data, 1 - self.lr * self.weight_decay, out=data)\n"
            ),
        ),
    ),
    alternative(
        "optimizers_clip",
        "with PyTorch's small number",
        (
            "            grad *= max_norm / norm\n",
            "            np.multiply(grad, min(1.0, max_norm / (norm + 1e-6)), out=grad)\n",
        ),
    ),
    alternative(
        "optimizers_clip",
        "norm of norms",
        (NORM, "float(np.linalg.norm([float(np.linalg.norm(grad.astype(np.float64))) for grad in grads]))"),
    ),
    alternative(
        "optimizers_clip",
        "early return",
        (
            "    if math.isfinite(norm) and norm > max_norm:\n",
            "    if not (max_norm < norm < float('inf')):\n        return norm\n    if grads:\n",
        ),
    ),
    alternative(
        "optimizers_schedules",
        "with conditions",
        (
            "        part = min(t / self.T_max, 1.0)\n",
            "        if t >= self.T_max:\n            return self.eta_min\n        part = t / self.T_max\n",
        ),
        (
            "        part = min(t / self.total_iters, 1.0)\n",
            "        part = t / self.total_iters if t < self.total_iters else 1.0\n",
        ),
        (
            "self.base_lr * self.gamma ** (t // self.step_size)",
            "self.base_lr * math.pow(self.gamma, int(t / self.step_size))",
        ),
    ),
    alternative(
        "optimizers_schedules",
        "other forms",
        ("(1 + math.cos(math.pi * part)) / 2", "math.cos(math.pi * part / 2) ** 2"),
        (
            "(self.start_factor + (self.end_factor - self.start_factor) * part)",
            "((1 - part) * self.start_factor + part * self.end_factor)",
        ),
        (
            "        return self.base_lr * self.gamma ** (t // self.step_size)\n",
            (
                "        lr = self.base_lr\n        for _ in range(t // self.step_size):\n            lr *= self.gamma\n        return lr\n"
            ),
        ),
    ),
    alternative(
        "optimizers_state",
        "deep copies",
        ("value.copy() if isinstance(value, np.ndarray) else value", "__import__('copy').deepcopy(value)"),
        (
            "                value[...] = state[name]\n",
            "                value = np.array(state[name], dtype=value.dtype)\n",
        ),
    ),
    alternative(
        "optimizers_state",
        "complaints in lists",
        (
            "    wrong = expected.keys() ^ state.keys()\n",
            (
                "    wrong = set([name for name in expected if name not in state] + [name for name in state if name not in expected])\n"
            ),
        ),
        ("name in expected.keys() & state.keys() if", "name in expected if name in state and"),
    ),
    alternative(
        "memory_predict",
        "with conditions",
        source="""
def predict_state_bytes(name, numbers):
    if name == "SGD":
        return 0
    return 4 * numbers if name == "momentum" else 8 * numbers


def predict_training_bytes(name, numbers):
    return 4 * numbers + 4 * numbers + predict_state_bytes(name, numbers)
""",
    ),
    alternative(
        "memory_predict",
        "by arrays",
        source="""
ARRAYS = {"SGD": 2, "momentum": 3, "Adam": 4, "AdamW": 4}


def predict_state_bytes(name, numbers):
    return (ARRAYS[name] - 2) * numbers * np.dtype(np.float32).itemsize


def predict_training_bytes(name, numbers):
    return ARRAYS[name] * numbers * np.dtype(np.float32).itemsize
""",
    ),
    alternative(
        "step_predict",
        "with conditions",
        source="""
def predict_step_flops(name, numbers):
    if name == "SGD":
        return 2 * numbers
    if name == "momentum":
        return 2 * numbers + 2 * numbers
    mean, square, denominator, step = 3, 4, 2, 3
    return (mean + square + denominator + step) * numbers
""",
    ),
    alternative("step_predict", "as a product", ("[name] * numbers", "[name] * int(numbers)")),
    alternative(
        "temporaries_predict",
        "assigned one by one",
        source="""
arrays_made = {}
arrays_made["Adam"] = 0
arrays_made["Adam, composed"] = 3 + 4 + 2 + 4
rise_in_arrays = 0
""",
    ),
    alternative(
        "temporaries_predict",
        "in another order",
        source="""
rise_in_arrays, arrays_made = 0, dict([("Adam", 0), ("Adam, composed", 13)])
""",
    ),
]
