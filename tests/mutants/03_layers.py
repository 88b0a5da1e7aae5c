"""Variants of module 03, layers."""

from variants import alternative, mutant

MUTANTS = [
    # 1 · a linear map, composed
    mutant("layers_composed", "no transpose", "layers_composed_check", ("weight.T", "weight")),
    mutant(
        "layers_composed", "operands exchanged", "layers_composed_check", ("x @ weight.T", "weight @ x.T")
    ),
    mutant("layers_composed", "bias forgotten", "layers_composed_check", ("y + bias", "y")),
    mutant("layers_composed", "bias subtracted", "layers_composed_check", ("y + bias", "y - bias")),
    mutant("layers_composed", "bias always there", "layers_composed_check", ("y if bias is None else ", "")),
    mutant(
        "layers_composed", "elementwise product", "layers_composed_check", ("x @ weight.T", "x * weight[0]")
    ),
    mutant(
        "layers_composed", "on arrays, wrapped at the end", "layers_composed_check",
        ("y = x @ weight.T", "y = x.data @ weight.data.T"),
        ("return y if bias is None else y + bias", "return Tensor(y if bias is None else y + bias.data)"),
    ),
    # 1 · a linear map, fused
    mutant(
        "layers_linear_forward",
        "makes a second array",
        "layers_linear_forward_hidden",
        ("        y += bias\n", "        y = y + bias\n"),
    ),
    mutant(
        "layers_linear_forward",
        "bias added into the input",
        "layers_linear_forward_hidden",
        (
            "    y = x.reshape",
            "    if bias is not None:\n        bias *= 1.5\n        bias /= 1.25\n    y = x.reshape",
        ),
    ),
    mutant(
        "layers_linear_forward", "no transpose", "layers_linear_forward_check", ("@ weight.T\n", "@ weight\n")
    ),
    mutant(
        "layers_linear_forward",
        "bias forgotten",
        "layers_linear_forward_check",
        ("        y += bias\n", "        pass\n"),
    ),
    mutant(
        "layers_linear_forward",
        "bias always there",
        "layers_linear_forward_check",
        ("    if bias is not None:\n        y += bias", "    y += bias"),
    ),
    mutant(
        "layers_linear_forward",
        "rows stay flat",
        "layers_linear_forward_check",
        ("return y.reshape(*x.shape[:-1], out_features)", "return y"),
    ),
    mutant(
        "layers_linear_forward",
        "one row becomes a batch",
        "layers_linear_forward_check",
        (
            "return y.reshape(*x.shape[:-1], out_features)",
            "return y.reshape(*(x.shape[:-1] or (1,)), out_features)",
        ),
    ),
    mutant(
        "layers_linear_forward",
        "looks at the number of elements, not at the last axis",
        "layers_linear_forward_hidden",
        ("if x.shape[-1:] != (in_features,):", "if x.size % in_features:"),
        (
            "return y.reshape(*x.shape[:-1], out_features)",
            "return y.reshape(*x.shape[:-1], -1) if y.size else y",
        ),
    ),
    mutant(
        "layers_linear_forward",
        "looks at the first axis",
        "layers_linear_forward_check",
        ("x.shape[-1:] != (in_features,)", "x.shape[:1] != (in_features,)"),
    ),
    mutant(
        "layers_linear_forward",
        "message without shapes",
        "layers_linear_forward_check",
        source="""def linear_forward(x, weight, bias=None):
    if x.shape[-1] != weight.shape[1]:
        raise ValueError("shapes do not match")
    y = x.reshape(-1, weight.shape[1]) @ weight.T
    if bias is not None:
        y += bias
    return y.reshape(*x.shape[:-1], weight.shape[0])
""",
    ),
    mutant(
        "layers_linear_forward",
        "result always float64",
        "layers_linear_forward_hidden",
        (
            "y = x.reshape(-1, in_features) @ weight.T",
            "y = x.reshape(-1, in_features).astype(float) @ weight.T",
        ),
    ),
    mutant(
        "layers_linear_forward",
        "result always float32",
        "layers_linear_forward_hidden",
        (
            "y = x.reshape(-1, in_features) @ weight.T",
            "y = (x.reshape(-1, in_features) @ weight.T).astype(np.float32, copy=False)",
        ),
    ),
    mutant(
        "layers_linear_forward", "counts numbers, not features", "layers_linear_forward_hidden",
        ("if x.shape[-1:] != (in_features,):", "if x.size % in_features:"),
    ),
    # 2 · Linear
    mutant("layers_linear", "variance 1", "layers_linear_check", ("math.sqrt(2 / in_features)", "1.0")),
    mutant(
        "layers_linear",
        "variance 1 / in, without the 2 for relu",
        "layers_linear_check",
        ("math.sqrt(2 / in_features)", "math.sqrt(1 / in_features)"),
    ),
    mutant(
        "layers_linear",
        "root forgotten",
        "layers_linear_check",
        ("math.sqrt(2 / in_features)", "2 / in_features"),
    ),
    mutant(
        "layers_linear",
        "scaled by outputs",
        "layers_linear_check",
        ("math.sqrt(2 / in_features)", "math.sqrt(2 / out_features)"),
    ),
    mutant(
        "layers_linear",
        "scaled by inputs and outputs",
        "layers_linear_hidden",
        ("math.sqrt(2 / in_features)", "math.sqrt(4 / (in_features + out_features))"),
    ),
    mutant(
        "layers_linear",
        "uniform from 0",
        "layers_linear_hidden",
        ("rng.normal(scale=scale, size=", "rng.uniform(0, scale * math.sqrt(3), size="),
    ),
    mutant(
        "layers_linear",
        "weight stored as (in, out)",
        "layers_linear_check",
        ("size=(out_features, in_features)", "size=(in_features, out_features)"),
    ),
    mutant(
        "layers_linear",
        "plain tensors",
        "layers_linear_check",
        ("Parameter(rng", "Tensor(rng"),
        ("Parameter(np", "Tensor(np"),
    ),
    mutant(
        "layers_linear",
        "bias is a plain tensor",
        "layers_linear_check",
        ("Parameter(np.zeros(out_features))", "Tensor(np.zeros(out_features))"),
    ),
    mutant(
        "layers_linear",
        "random bias",
        "layers_linear_check",
        ("np.zeros(out_features)", "rng.normal(size=out_features)"),
    ),
    mutant(
        "layers_linear",
        "bias=False gives zeros",
        "layers_linear_check",
        ("Parameter(np.zeros(out_features)) if bias else None", "Parameter(np.zeros(out_features))"),
    ),
    mutant(
        "layers_linear",
        "every layer from seed 0",
        "layers_linear_hidden",
        ("        rng = np.random.default_rng(rng)\n", "        rng = np.random.default_rng(0)\n"),
    ),
    mutant(
        "layers_linear",
        "seed ignored",
        "layers_linear_check",
        ("        rng = np.random.default_rng(rng)\n", "        rng = np.random.default_rng()\n"),
    ),
    mutant(
        "layers_linear",
        "no seed means seed 0",
        "layers_linear_hidden",
        (
            "        rng = np.random.default_rng(rng)\n",
            "        rng = np.random.default_rng(0 if rng is None else rng)\n",
        ),
    ),
    mutant(
        "layers_linear",
        "a new generator of the same seed for each layer",
        "layers_linear_hidden",
        (
            "        rng = np.random.default_rng(rng)\n",
            "        rng = np.random.default_rng(rng)\n"
            "        rng = np.random.Generator(type(rng.bit_generator)(rng.bit_generator.seed_seq))\n",
        ),
    ),
    mutant(
        "layers_linear",
        "bias not used in forward",
        "layers_linear_hidden",
        ("apply(linear_forward, x, self.weight, self.bias)", "apply(linear_forward, x, self.weight)"),
    ),
    mutant(
        "layers_linear",
        "float64 parameters",
        "layers_linear_hidden",
        ("size=(out_features, in_features))", "size=(out_features, in_features)), dtype=np.float64"),
    ),
    mutant(
        "layers_linear", "past the door", "layers_linear_check",
        ("return apply(linear_forward, x, self.weight)\n", "return Tensor(linear_forward(x.data, self.weight.data))\n"),
        ("return apply(linear_forward, x, self.weight, self.bias)",
         "return Tensor(linear_forward(x.data, self.weight.data, self.bias.data))"),
    ),
    mutant(
        "layers_linear", "the bias is no input of the door", "layers_linear_check",
        ("apply(linear_forward, x, self.weight, self.bias)", "apply(linear_forward, x, self.weight, bias=self.bias.data)"),
    ),
    # 3 · the walk
    mutant(
        "layers_walk",
        "tuples are passed over",
        "layers_walk_check",
        ("isinstance(value, (list, tuple))", "isinstance(value, list)"),
    ),
    mutant(
        "layers_walk",
        "dicts are passed over",
        "layers_walk_check",
        ("isinstance(value, dict)", "False"),
    ),
    mutant(
        "layers_walk",
        "one level of containers only",
        "layers_walk_check",
        (
            'return [found for key, item in pairs for found in unpack(f"{name}.{key}", item)]',
            'return [(f"{name}.{key}", item) for key, item in pairs]',
        ),
    ),
    mutant(
        "layers_walk",
        "names without the key",
        "layers_walk_check",
        ('unpack(f"{name}.{key}", item)', "unpack(name, item)"),
    ),
    mutant(
        "layers_walk",
        "texts are taken apart",
        "layers_walk_hidden",
        ("isinstance(value, (list, tuple))", "hasattr(value, '__len__') and not hasattr(value, 'data')"),
        ("return [found for", "return [(name, value)] if value == name[-1:] else [found for"),
    ),
    mutant(
        "layers_walk",
        "a module that occurs twice is found twice",
        "layers_walk_hidden",
        ("    seen.add(id(module))\n", ""),
    ),
    mutant(
        "layers_walk",
        "no module is entered",
        "layers_walk_hidden",
        ("found += find_modules(value, join(name, member), seen)", "found.append((member, value))"),
    ),
    mutant(
        "layers_walk",
        "names not joined",
        "layers_walk_hidden",
        ("join(name, member), seen)", "member, seen)"),
    ),
    mutant(
        "layers_walk",
        "a dot before the outermost names",
        "layers_walk_check",
        ("join(name, member), seen)", 'f"{name}.{member}", seen)'),
    ),
    mutant(
        "layers_walk",
        "the module itself left out",
        "layers_walk_check",
        ("found = [(name, module)]", "found = [(name, module)] if name else []"),
    ),
    mutant(
        "layers_walk",
        "inner before outer",
        "layers_walk_check",
        ("    return found\n", "    return found[1:] + found[:1]\n"),
    ),
    mutant(
        "layers_walk",
        "a set that all walks share",
        "layers_walk_hidden",
        ('name="", seen=None', 'name="", seen=set()'),
        ("    seen = set() if seen is None else seen\n", ""),
    ),
    mutant(
        "layers_walk",
        "seen is not passed on",
        "layers_walk_hidden",
        ("join(name, member), seen)", "join(name, member))"),
    ),
    # 4 · parameters
    mutant(
        "layers_parameters",
        "a shared parameter is listed twice",
        "layers_parameters_check",
        ("found.setdefault(id(value), (", "found.setdefault((prefix, name), ("),
    ),
    mutant(
        "layers_parameters",
        "compares values, not identity",
        "layers_parameters_check",
        ("found.setdefault(id(value), (", "found.setdefault(value.data.tobytes(), ("),
    ),
    mutant(
        "layers_parameters",
        "the last name wins",
        "layers_parameters_check",
        (
            "found.setdefault(id(value), (join(prefix, name), value))",
            "found[id(value)] = (join(prefix, name), value)",
        ),
    ),
    mutant(
        "layers_parameters",
        "only the module's own",
        "layers_parameters_check",
        ("in find_modules(module):", 'in [("", module)]:'),
    ),
    mutant(
        "layers_parameters",
        "lists and dicts are passed over",
        "layers_parameters_check",
        ("in members(part):", "in vars(part).items():"),
        ("in find_modules(module):", "in find_modules(module)[:2]:"),
    ),
    mutant(
        "layers_parameters",
        "names without the module's",
        "layers_parameters_check",
        ("(join(prefix, name), value)", "(name, value)"),
    ),
    mutant(
        "layers_parameters",
        "copies of the parameters",
        "layers_parameters_check",
        ("(join(prefix, name), value)", "(join(prefix, name), type(value)(value))"),
    ),
    mutant(
        "layers_parameters",
        "every tensor is a parameter",
        "layers_parameters_hidden",
        ("isinstance(value, kind)", "isinstance(value, Tensor)"),
    ),
    mutant(
        "layers_parameters",
        "the kind is not asked",
        "layers_parameters_hidden",
        ("isinstance(value, kind)", "isinstance(value, Parameter)"),
    ),
    mutant(
        "layers_parameters",
        "inner modules first",
        "layers_parameters_check",
        ("in find_modules(module):", "in reversed(find_modules(module)):"),
    ),
    mutant(
        "layers_parameters", "the class itself, no tuple of classes", "layers_parameters_hidden",
        ("isinstance(value, kind)", "type(value) is kind"),
    ),
    # 5 · Sequential
    mutant(
        "layers_sequential",
        "kept in a list called layers",
        "layers_sequential_check",
        source="""class Sequential(Module):
    def __init__(self, *modules):
        self.layers = list(modules)

    def __iter__(self):
        return iter(self.layers)

    def __len__(self):
        return len(self.layers)

    def __getitem__(self, index):
        modules = self.layers[index]
        return Sequential(*modules) if isinstance(index, slice) else modules

    def __setitem__(self, index, module):
        self.layers[index] = module

    def forward(self, x):
        for module in self.layers:
            x = module(x)
        return x
""",
    ),
    mutant(
        "layers_sequential",
        "last module first",
        "layers_sequential_check",
        ("for module in self:", "for module in reversed(list(self)):"),
    ),
    mutant(
        "layers_sequential",
        "each module gets the first input",
        "layers_sequential_check",
        ("            x = module(x)\n        return x", "            y = module(x)\n        return y"),
    ),
    mutant(
        "layers_sequential",
        "stops after the first module",
        "layers_sequential_check",
        ("            x = module(x)\n        return x", "            return module(x)"),
    ),
    mutant(
        "layers_sequential",
        "numbers from 1",
        "layers_sequential_check",
        ("enumerate(modules)", "enumerate(modules, 1)"),
    ),
    mutant(
        "layers_sequential",
        "a module that occurs twice runs once",
        "layers_sequential_hidden",
        ("for module in self:", "for _, module in dict((id(m), (0, m)) for m in self).values():"),
    ),
    mutant(
        "layers_sequential",
        "order of the names as text",
        "layers_sequential_hidden",
        ("for module in self:", "for _, module in sorted(self.named_children()):"),
    ),
    mutant(
        "layers_sequential",
        "runs the modules found by the walk",
        "layers_sequential_hidden",
        ("for module in self:", "for module in self.modules()[1:]:"),
    ),
    mutant(
        "layers_sequential",
        "forward uses the modules of the beginning",
        "layers_sequential_hidden",
        (
            "        for number, module",
            "        self._start = {number: module for number, module in enumerate(modules)}.values()\n        for number, module",
        ),
        ("for module in self:", "for module in self._start:"),
    ),
    # 6 · dropout and modes
    mutant(
        "layers_dropout",
        "the mode stays outside",
        "layers_dropout_check",
        ("for part in module.modules():\n        part.training = training", "module.training = training"),
    ),
    mutant(
        "layers_dropout",
        "the mode reaches direct children only",
        "layers_dropout_hidden",
        ("for part in module.modules():", "for part in [module, *(m for _, m in module.named_children())]:"),
    ),
    mutant(
        "layers_dropout",
        "always off",
        "layers_dropout_check",
        ("part.training = training", "part.training = False"),
    ),
    mutant(
        "layers_dropout",
        "set on the class",
        "layers_dropout_hidden",
        ("part.training = training", "type(part).training = training"),
        ("    for part in", "    Module.training = training\n    for part in"),
    ),
    mutant(
        "layers_dropout",
        "p is the probability to keep",
        "layers_dropout_check",
        (">= self.p).astype", "< self.p).astype"),
    ),
    mutant(
        "layers_dropout",
        "kept elements are not scaled",
        "layers_dropout_check",
        ("mask /= 1 - self.p", "pass"),
    ),
    mutant(
        "layers_dropout",
        "scaled by p",
        "layers_dropout_check",
        ("mask /= 1 - self.p", "mask /= self.p"),
    ),
    mutant(
        "layers_dropout",
        "multiplied instead of divided",
        "layers_dropout_check",
        ("mask /= 1 - self.p", "mask *= 1 - self.p"),
    ),
    mutant(
        "layers_dropout",
        "scales in evaluation too",
        "layers_dropout_check",
        (
            "if not self.training or self.p == 0:\n            return x",
            "if not self.training:\n            return x * (1 - self.p)",
        ),
    ),
    mutant(
        "layers_dropout",
        "drops in evaluation",
        "layers_dropout_check",
        ("if not self.training or self.p == 0:", "if self.p == 0:"),
    ),
    mutant(
        "layers_dropout",
        "p = 1 divides by zero",
        "layers_dropout_hidden",
        (
            "        if self.p < 1:\n            mask /= 1 - self.p",
            "        with np.errstate(all='ignore'):\n            mask /= np.float32(1 - self.p)",
        ),
    ),
    mutant(
        "layers_dropout",
        "the same mask every time",
        "layers_dropout_check",
        ("(self.rng.random(x.shape)", "(np.random.default_rng(0).random(x.shape)"),
    ),
    mutant(
        "layers_dropout",
        "seed ignored",
        "layers_dropout_hidden",
        ("(self.rng.random(x.shape)", "(np.random.default_rng().random(x.shape)"),
    ),
    mutant(
        "layers_dropout",
        "whole columns",
        "layers_dropout_hidden",
        ("(self.rng.random(x.shape)", "(self.rng.random((1,) * (x.ndim - 1) + x.shape[-1:])"),
    ),
    mutant(
        "layers_dropout",
        "whole rows",
        "layers_dropout_hidden",
        ("(self.rng.random(x.shape)", "(self.rng.random(x.shape[:1] + (1,) * (x.ndim - 1))"),
    ),
    mutant(
        "layers_dropout",
        "mask in float64",
        "layers_dropout_hidden",
        (".astype(x.dtype)\n", ".astype(float)\n"),
        ("return apply(dropout_forward, x, mask=mask)", "return Tensor.wrap(x.data * mask)"),
    ),
    mutant(
        "layers_dropout",
        "drops in place",
        "layers_dropout_hidden",
        ("return apply(dropout_forward, x, mask=mask)", "x.data *= mask\n        return x"),
    ),
    mutant(
        "layers_dropout", "past the door", "layers_dropout_check",
        ("return apply(dropout_forward, x, mask=mask)", "return Tensor(dropout_forward(x.data, mask), dtype=x.dtype)"),
    ),
    mutant(
        "layers_dropout", "a copy in evaluation", "layers_dropout_hidden",
        ("            return x\n", "            return Tensor(x, dtype=x.dtype)\n"),
    ),
    mutant(
        "layers_dropout", "the same number dropped in each pass", "layers_dropout_hidden",
        ("mask = (self.rng.random(x.shape) >= self.p).astype(x.dtype)",
         "mask = (self.rng.permutation(x.size).reshape(x.shape) >= round(self.p * x.size)).astype(x.dtype)"),
    ),
    mutant(
        "layers_dropout", "a switch that turns round", "layers_dropout_check",
        ("part.training = training", "part.training = not part.training"),
    ),
    # 7 · state
    mutant("layers_state", "no copies", "layers_state_check", ("tensor.data.copy()", "tensor.data")),
    mutant(
        "layers_state",
        "only the module's own",
        "layers_state_check",
        (
            "for name, tensor in find_tensors(module, (Parameter, Buffer))}",
            "for name, tensor in members(module) if isinstance(tensor, (Parameter, Buffer))}",
        ),
    ),
    mutant(
        "layers_state",
        "buffers not saved",
        "layers_state_hidden",
        (
            "for name, tensor in find_tensors(module, (Parameter, Buffer))}",
            "for name, tensor in find_tensors(module, Parameter)}",
        ),
    ),
    mutant(
        "layers_state",
        "takes the arrays of the state",
        "layers_state_check",
        ("tensor[...] = arrays[name]", "tensor.data = arrays[name]"),
    ),
    mutant(
        "layers_state",
        "puts new arrays into the parameters",
        "layers_state_hidden",
        ("tensor[...] = arrays[name]", "tensor.data = arrays[name].copy()"),
    ),
    mutant(
        "layers_state",
        "missing names pass",
        "layers_state_check",
        ('"missing": [name for name in own if name not in arrays],', '"missing": [],'),
        ("tensor[...] = arrays[name]", "tensor[...] = arrays.get(name, tensor.data)"),
    ),
    mutant(
        "layers_state",
        "unexpected names pass",
        "layers_state_check",
        ('"unexpected": [name for name in arrays if name not in own],', ""),
    ),
    mutant(
        "layers_state",
        "shapes are not compared",
        "layers_state_check",
        ("if name in arrays and arrays[name].shape != own[name].shape]", "if False]"),
    ),
    mutant(
        "layers_state",
        "shapes that broadcast pass",
        "layers_state_hidden",
        ("arrays[name].shape != own[name].shape]", "arrays[name].size not in (1, own[name].size)]"),
    ),
    mutant(
        "layers_state",
        "stops at the first mismatch",
        "layers_state_check",
        (
            "    complaints = [",
            "    for what, names in problems.items():\n        if names:\n"
            "            raise ValueError(f'{what} {names[0]}')\n    complaints = [",
        ),
    ),
    mutant(
        "layers_state",
        "copies what fits before it complains",
        "layers_state_hidden",
        (
            "    if complaints:",
            "    for name, tensor in own.items():\n"
            "        if name in arrays and arrays[name].shape == tensor.shape:\n"
            "            tensor[...] = arrays[name]\n    if complaints:",
        ),
    ),
    mutant(
        "layers_state",
        "loads by order, not by name",
        "layers_state_check",
        source="""def copy_state(module):
    return {name: tensor.data.copy() for name, tensor in find_tensors(module, (Parameter, Buffer))}


def load_state(module, state):
    tensors = find_tensors(module, (Parameter, Buffer))
    if len(tensors) != len(state):
        raise ValueError("the number of entries differs")
    for (_, tensor), values in zip(tensors, state.values()):
        tensor[...] = values
""",
    ),
    mutant(
        "layers_state", "tensors in the state", "layers_state_check", ("tensor.data.copy()", "Tensor(tensor.data)")
    ),
    mutant(
        "layers_state", "another array for each parameter", "layers_state_hidden",
        ("tensor[...] = arrays[name]", "tensor.data = arrays[name].astype(tensor.dtype)"),
    ),
    mutant(
        "layers_state", "by order, not by name", "layers_state_hidden",
        ("    for name, tensor in own.items():\n        tensor[...] = arrays[name]",
         "    for tensor, array in zip(own.values(), arrays.values()):\n        tensor[...] = array"),
    ),
    # Systems
    mutant("weight_predict", "biases forgotten", "weight_check", ("m * n + n", "m * n")),
    mutant("weight_predict", "a bias for each input", "weight_check", ("m * n + n", "m * n + m")),
    mutant(
        "weight_predict",
        "one layer only",
        "weight_check",
        ("zip(sizes, sizes[1:])", "zip(sizes[:1], sizes[1:])"),
    ),
    mutant("weight_predict", "no gradients", "weight_check", ("2 * 4 *", "4 *")),
    mutant("weight_predict", "bytes of float64", "weight_check", ("2 * 4 *", "2 * 8 *")),
    mutant("weight_predict", "Adam's moments counted", "weight_check", ("2 * 4 *", "4 * 4 *")),
    mutant("forward_predict", "a multiply-add is 1", "forward_check", ("2 * m * n + n", "m * n + n")),
    mutant("forward_predict", "biases forgotten", "forward_check", ("2 * m * n + n", "2 * m * n")),
    mutant("forward_predict", "batch forgotten", "forward_check", ("return batch * (", "return (")),
    mutant("forward_predict", "relu forgotten", "forward_check", ("linear + sum(sizes[1:-1])", "linear")),
    mutant(
        "forward_predict",
        "relu after the last layer",
        "forward_check",
        ("sum(sizes[1:-1])", "sum(sizes[1:])"),
    ),
    mutant(
        "forward_predict",
        "the transpose is a copy",
        "forward_check",
        ('arrays_made = {"linear_composed": 2', 'arrays_made = {"linear_composed": 3'),
    ),
    mutant(
        "forward_predict",
        "both make one array",
        "forward_check",
        ('arrays_made = {"linear_composed": 2', 'arrays_made = {"linear_composed": 1'),
    ),
    mutant(
        "forward_predict",
        "peak counts numbers, not bytes",
        "forward_check",
        ("2 * 32 * 1000 * 4", "2 * 32 * 1000"),
    ),
    mutant(
        "activations_predict",
        "relu works in place",
        "activations_check",
        (' for _ in ("linear", "relu")', ""),
    ),
    mutant(
        "activations_predict",
        "relu after the last layer",
        "activations_check",
        ("sizes[1:-1] for", "sizes[1:] for"),
        (" + [sizes[-1]]", ""),
    ),
    mutant(
        "activations_predict",
        "the input is counted",
        "activations_check",
        ("    return [n", "    return [sizes[0]] + [n"),
    ),
    mutant("activations_predict", "batch forgotten", "activations_check", ("4 * batch * sum", "4 * sum")),
    mutant(
        "activations_predict",
        "evaluation keeps all",
        "activations_check",
        ("max(first + second for first, second in zip(outputs, outputs[1:]))", "sum(outputs)"),
    ),
    mutant(
        "activations_predict",
        "evaluation holds one output at a time",
        "activations_check",
        ("max(first + second for first, second in zip(outputs, outputs[1:]))", "max(outputs)"),
    ),
    mutant(
        "activations_predict",
        "as many bytes are enough",
        "activations_check",
        (
            "predict_parameters(sizes) // sum(output_sizes(sizes)) + 1",
            "-(-predict_parameters(sizes) // sum(output_sizes(sizes)))",
        ),
    ),
    mutant(
        "activations_predict",
        "gradients of the parameters counted",
        "activations_check",
        ("return predict_parameters(sizes) //", "return 2 * predict_parameters(sizes) //"),
    ),
]

ALTERNATIVES = [
    alternative(
        "weight_predict", "bytes as a float", ("return 2 * 4 * predict_parameters(sizes)", "return 8.0 * predict_parameters(sizes)")
    ),
    alternative(
        "forward_predict", "peaks in scientific notation",
        ('"linear_composed": 2 * 32 * 1000 * 4, "linear_forward": 32 * 1000 * 4', '"linear_composed": 256e3, "linear_forward": 128e3'),
    ),
    alternative(
        "layers_linear_forward", "by einsum",
        ("y = x.reshape(-1, in_features) @ weight.T", 'y = np.einsum("...i,oi->...o", x, weight)'),
    ),
    alternative(
        "layers_composed",
        "a branch",
        (
            "return y if bias is None else y + bias",
            "if bias is not None:\n        y = y + bias\n    return y",
        ),
    ),
    alternative(
        "layers_composed",
        "the bias first",
        (
            "y = x @ weight.T\n    return y if bias is None else y + bias",
            "if bias is None:\n        return x @ weight.transpose(0, 1)\n    return bias + x @ weight.T",
        ),
    ),
    alternative(
        "layers_linear_forward",
        "einsum, bias by np.add",
        source="""def linear_forward(x, weight, bias=None):
    if x.ndim == 0 or x.shape[-1] != weight.shape[1]:
        raise ValueError(f"input {x.shape} does not fit weight {weight.shape}")
    y = np.einsum("...i,oi->...o", x, weight)
    if bias is not None:
        np.add(y, bias, out=y)
    return y
""",
    ),
    alternative(
        "layers_linear_forward",
        "matmul for all axes",
        source="""def linear_forward(x, weight, bias=None):
    features = weight.shape[-1]
    if x.shape[-1] == features:
        result = np.matmul(x, weight.transpose())
    else:
        raise ValueError("last axis of " + str(x.shape) + " against weight " + str(weight.shape))
    if bias is None:
        return result
    result += bias
    return result
""",
    ),
    alternative(
        "layers_linear",
        "uniform, of the same variance",
        (
            "        scale = math.sqrt(2 / in_features)\n        self.weight = Parameter(rng.normal(scale=scale, size=(out_features, in_features)))",
            "        bound = np.sqrt(6 / in_features)\n        self.weight = Parameter(rng.uniform(-bound, bound, (out_features, in_features)))",
        ),
    ),
    alternative(
        "layers_linear",
        "standard normal numbers, scaled afterwards",
        (
            "rng.normal(scale=scale, size=(out_features, in_features))",
            "rng.standard_normal((out_features, in_features), dtype=np.float32) * scale",
        ),
        (
            "        self.bias = Parameter(np.zeros(out_features)) if bias else None",
            "        self.bias = None\n        if bias:\n            self.bias = Parameter([0.0] * out_features)",
        ),
    ),
    alternative(
        "layers_linear",
        "one list of inputs",
        (
            "        if self.bias is None:\n            return apply(linear_forward, x, self.weight)\n"
            "        return apply(linear_forward, x, self.weight, self.bias)",
            "        inputs = [x, self.weight] + ([] if self.bias is None else [self.bias])\n"
            "        return apply(linear_forward, *inputs)",
        ),
    ),
    alternative(
        "layers_walk",
        "generators",
        source="""def members(module):
    return [member for name, value in vars(module).items() for member in unpack(name, value)]


def unpack(name, value):
    if isinstance(value, (list, tuple)):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for key in value:
            yield from unpack(name + "." + str(key), value[key])
    else:
        yield name, value


def find_modules(module, name="", seen=None):
    if seen is None:
        seen = set()
    if id(module) not in seen:
        seen.add(id(module))
        yield name, module
        for member, value in members(module):
            if isinstance(value, Module):
                yield from find_modules(value, join(name, member), seen)


def join(prefix, name):
    return f"{prefix}.{name}" if prefix else name
""",
    ),
    alternative(
        "layers_walk",
        "a stack instead of recursion",
        source="""def members(module):
    return [member for name, value in vars(module).items() for member in unpack(name, value)]


def unpack(name, value):
    found, waiting = [], [(name, value)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, (list, tuple)):
            inside = list(enumerate(value))
        elif isinstance(value, dict):
            inside = list(value.items())
        else:
            found.append((name, value))
            continue
        waiting += [(f"{name}.{key}", item) for key, item in reversed(inside)]
    return found


def find_modules(module, name="", seen=None):
    found, waiting = {}, [(name, module)]
    while waiting:
        name, part = waiting.pop()
        if id(part) in found:
            continue
        found[id(part)] = (name, part)
        inside = [(join(name, key), value) for key, value in members(part) if isinstance(value, Module)]
        waiting.extend(inside[::-1])
    return list(found.values())


def join(prefix, name):
    return f"{prefix}.{name}" if prefix else name
""",
    ),
    alternative(
        "layers_parameters",
        "a set of identities",
        source="""def find_tensors(module, kind):
    seen, pairs = set(), []
    for prefix, part in find_modules(module):
        for name, value in members(part):
            if not isinstance(value, kind) or id(value) in seen:
                continue
            seen.add(id(value))
            pairs.append((join(prefix, name), value))
    return pairs
""",
    ),
    alternative(
        "layers_parameters",
        "a generator, and `is`",
        source="""def find_tensors(module, kind):
    given = []
    for prefix, part in find_modules(module):
        for name, value in members(part):
            if isinstance(value, kind) and not any(value is other for other in given):
                given.append(value)
                yield (prefix + "." + name if prefix else name), value
""",
    ),
    alternative(
        "layers_sequential",
        "into vars",
        (
            "        for number, module in enumerate(modules):\n            setattr(self, str(number), module)",
            "        vars(self).update({str(n): m for n, m in enumerate(modules)})",
        ),
    ),
    alternative(
        "layers_sequential",
        "by number",
        (
            "        for module in self:\n            x = module(x)\n        return x",
            "        for number in range(len(self)):\n            x = self[number](x)\n        return x",
        ),
    ),
    alternative(
        "layers_dropout",
        "compares with the kept share, multiplies",
        (
            "        mask = (self.rng.random(x.shape) >= self.p).astype(x.dtype)\n        if self.p < 1:\n            mask /= 1 - self.p\n",
            "        keep = 1 - self.p\n        kept = self.rng.random(x.shape) < keep\n"
            "        mask = np.asarray(kept * (1 / keep if keep else 0.0), dtype=x.dtype)\n",
        ),
    ),
    alternative(
        "layers_dropout",
        "from operators; modes by recursion",
        (
            "    for part in module.modules():\n        part.training = training",
            "    module.training = training\n    for _, child in module.named_children():\n        set_mode(child, training)",
        ),
        (
            "        return apply(dropout_forward, x, mask=mask)",
            "        return x * Tensor(mask, dtype=x.dtype)",
        ),
    ),
    alternative(
        "layers_dropout",
        "binomial draws",
        (
            "(self.rng.random(x.shape) >= self.p).astype(x.dtype)",
            "np.asarray(self.rng.binomial(1, 1 - self.p, x.shape)).astype(x.dtype)",
        ),
    ),
    alternative(
        "layers_state",
        "by sets",
        source="""def copy_state(module):
    state = {}
    for name, tensor in find_tensors(module, (Parameter, Buffer)):
        state[name] = np.array(tensor.data)
    return state


def load_state(module, state):
    own = dict(find_tensors(module, (Parameter, Buffer)))
    arrays = {name: value.data if isinstance(value, Tensor) else np.asarray(value) for name, value in state.items()}
    missing, unexpected = set(own) - set(arrays), set(arrays) - set(own)
    wrong = {n: (arrays[n].shape, own[n].shape) for n in set(own) & set(arrays) if arrays[n].shape != own[n].shape}
    if missing or unexpected or wrong:
        raise ValueError(f"missing {sorted(missing)}, unexpected {sorted(unexpected)}, shapes {wrong}")
    for name in own:
        np.copyto(own[name].data, arrays[name])
""",
    ),
    alternative(
        "layers_state",
        "writes into data",
        ("tensor[...] = arrays[name]", "tensor.data[...] = arrays[name]"),
        ("tensor.data.copy()", "1 * tensor.data"),
    ),
    alternative(
        "weight_predict",
        "a loop",
        (
            "    return sum(m * n + n for m, n in zip(sizes, sizes[1:]))",
            "    total = 0\n    for i in range(len(sizes) - 1):\n        total += sizes[i] * sizes[i + 1] + sizes[i + 1]\n    return total",
        ),
    ),
    alternative(
        "weight_predict", "inputs and 1, times outputs", ("m * n + n", "(m + 1) * n"), ("2 * 4 *", "8 *")
    ),
    alternative(
        "forward_predict",
        "relu with each layer, but the last",
        (
            "    linear = sum(2 * m * n + n for m, n in zip(sizes, sizes[1:]))\n    return batch * (linear + sum(sizes[1:-1]))",
            "    return batch * (sum(2 * m * n + 2 * n for m, n in zip(sizes, sizes[1:])) - sizes[-1])",
        ),
    ),
    alternative(
        "forward_predict",
        "peaks as numbers",
        ("2 * 32 * 1000 * 4", "256_000"),
        ('"linear_forward": 32 * 1000 * 4}', '"linear_forward": 128_000}'),
    ),
    alternative(
        "activations_predict",
        "as seen in the picture",
        (
            "    return predict_parameters(sizes) // sum(output_sizes(sizes)) + 1",
            "    batch = 1\n    while predict_kept_bytes(sizes, batch) <= 4 * predict_parameters(sizes):\n        batch += 1\n    return batch",
        ),
    ),
    alternative(
        "activations_predict",
        "the widest hidden layer twice",
        (
            "    outputs = output_sizes(sizes)\n    return 4 * batch * max(first + second for first, second in zip(outputs, outputs[1:]))",
            "    return 2 * max(sizes[1:-1]) * batch * 4",
        ),
    ),
]
