"""Variants of module 01, Tensor."""

from variants import alternative, mutant

MUTANTS = [
    # 1 · the class
    mutant(
        "tensor_class",
        "keeps the caller's array",
        "tensor_class_check",
        ("array = np.array(data, dtype=dtype)", "array = np.asarray(data, dtype=dtype)"),
    ),
    mutant(
        "tensor_class",
        "lets NumPy choose float64",
        "tensor_class_check",
        ('if dtype is None and array.dtype.kind == "f":', "if False:"),
    ),
    mutant(
        "tensor_class",
        "makes integers real",
        "tensor_class_check",
        ('if dtype is None and array.dtype.kind == "f":', "if dtype is None:"),
    ),
    mutant(
        "tensor_class",
        "makes booleans real",
        "tensor_class_hidden",
        ('array.dtype.kind == "f":', 'array.dtype.kind in "fb":'),
    ),
    mutant(
        "tensor_class",
        "ignores the dtype asked for",
        "tensor_class_check",
        ("if dtype is None and array", "if array"),
    ),
    mutant(
        "tensor_class",
        "converts float64 only",
        "tensor_class_hidden",
        ('array.dtype.kind == "f":', "array.dtype == np.float64:"),
    ),
    mutant(
        "tensor_class",
        "takes text",
        "tensor_class_hidden",
        ('if array.dtype.kind not in "fiub":', "if False:"),
    ),
    mutant(
        "tensor_class",
        "does not copy a tensor",
        "tensor_class_hidden",
        (
            "            data = data.data\n",
            "            self.data, self.grad, self.requires_grad = data.data, None, requires_grad\n"
            "            self.node, self.version = None, 0\n            return\n",
        ),
    ),
    mutant(
        "tensor_class",
        "four bytes whatever the dtype",
        "tensor_class_hidden",
        ("return self.size * self.dtype.itemsize", "return self.size * 4"),
    ),
    mutant(
        "tensor_class",
        "counts elements, not bytes",
        "tensor_class_check",
        ("return self.size * self.dtype.itemsize", "return self.size"),
    ),
    # 2 · memory
    mutant(
        "tensor_memory",
        "forgets the gradient",
        "tensor_memory_check",
        ("return tensor.data.nbytes + gradient", "return tensor.data.nbytes"),
    ),
    mutant(
        "tensor_memory",
        "always counts a gradient",
        "tensor_memory_check",
        ("return tensor.data.nbytes + gradient", "return 2 * tensor.data.nbytes"),
    ),
    mutant(
        "tensor_memory",
        "counts elements",
        "tensor_memory_check",
        ("return tensor.data.nbytes + gradient", "return tensor.data.size + gradient"),
    ),
    mutant(
        "tensor_memory",
        "four bytes whatever the dtype",
        "tensor_memory_hidden",
        ("return tensor.data.nbytes + gradient", "return tensor.data.size * 4 + gradient"),
    ),
    mutant(
        "tensor_memory",
        "counts the buffer behind a view",
        "tensor_memory_hidden",
        (
            "return tensor.data.nbytes + gradient",
            "buffer = tensor.data if tensor.data.base is None else tensor.data.base\n    return buffer.nbytes + gradient",
        ),
    ),
    mutant(
        "tensor_memory",
        "a gradient of four bytes an element",
        "tensor_memory_hidden",
        ("else tensor.grad.nbytes", "else tensor.grad.size * 4"),
    ),
    # 3 · broadcasting
    mutant(
        "tensor_broadcast",
        "pads on the right",
        "tensor_broadcast_check",
        ("(1,) * (ndim - len(first)) + tuple(first)", "tuple(first) + (1,) * (ndim - len(first))"),
        ("(1,) * (ndim - len(second)) + tuple(second)", "tuple(second) + (1,) * (ndim - len(second))"),
    ),
    mutant(
        "tensor_broadcast",
        "stretches the second operand only",
        "tensor_broadcast_check",
        ("if m != n and 1 not in (m, n):", "if m != n and n != 1:"),
        ("shape.append(n if m == 1 else m)", "shape.append(m)"),
    ),
    mutant(
        "tensor_broadcast",
        "takes the larger length",
        "tensor_broadcast_hidden",
        ("shape.append(n if m == 1 else m)", "shape.append(max(m, n))"),
    ),
    mutant(
        "tensor_broadcast",
        "never complains",
        "tensor_broadcast_check",
        ("if m != n and 1 not in (m, n):", "if False:"),
    ),
    mutant(
        "tensor_broadcast",
        "drops the axes that only one operand has",
        "tensor_broadcast_check",
        ("return tuple(shape)", "return tuple(shape[ndim - min(len(first), len(second)):])"),
    ),
    mutant(
        "tensor_broadcast",
        "lets multiples fit",
        "tensor_broadcast_hidden",
        ("if m != n and 1 not in (m, n):", "if m != n and max(m, n) % max(min(m, n), 1):"),
    ),
    mutant(
        "tensor_broadcast",
        "an error without shapes",
        "tensor_broadcast_check",
        (
            'f"shapes {tuple(first)} and {tuple(second)} do not fit: aligned from the right, "',
            '"shapes do not fit: "',
        ),
    ),
    mutant(
        "tensor_broadcast",
        "returns a list",
        "tensor_broadcast_check",
        ("return tuple(shape)", "return shape"),
    ),
    # 4 · the door
    mutant(
        "tensor_door",
        "lets float64 creep in from plain values",
        "tensor_door_check",
        ("return Tensor.wrap(np.asarray(value, dtype=like.dtype))", "return Tensor.wrap(np.asarray(value))"),
    ),
    mutant(
        "tensor_door",
        "everything becomes float32",
        "tensor_door_check",
        ("return Tensor.wrap(np.asarray(value, dtype=like.dtype))", "return Tensor(value)"),
        (
            "output = Tensor.wrap(keep_precision(result, arrays))",
            "output = Tensor(keep_precision(result, arrays))",
        ),
    ),
    mutant(
        "tensor_door",
        "does not guard precision",
        "tensor_door_check",
        ("Tensor.wrap(keep_precision(result, arrays))", "Tensor.wrap(result)"),
    ),
    mutant(
        "tensor_door",
        "the operand on the left is taken for the right one",
        "tensor_door_check",
        (
            "    elif not isinstance(left, Tensor):\n        left = as_tensor(left, right)",
            "    elif not isinstance(left, Tensor):\n        left, right = right, as_tensor(left, right)",
        ),
    ),
    mutant(
        "tensor_door",
        "converts the right operand only",
        "tensor_door_check",
        ("    elif not isinstance(left, Tensor):\n        left = as_tensor(left, right)\n", ""),
    ),
    mutant(
        "tensor_door",
        "forgets the parameters",
        "tensor_door_hidden",
        ("result = primitive(*arrays, **params)", "result = primitive(*arrays)"),
    ),
    mutant(
        "tensor_door",
        "does not split off what is saved",
        "tensor_door_hidden",
        ("result, saved = result if isinstance(result, tuple) else (result, None)", "saved = None"),
    ),
    mutant(
        "tensor_door",
        "casts integers to the other's type",
        "tensor_door_hidden",
        ("return Tensor(value)\n", "return Tensor.wrap(np.asarray(value, dtype=like.dtype))\n"),
    ),
    mutant(
        "tensor_door",
        "computes in place",
        "tensor_door_check",
        (
            "result = primitive(*arrays, **params)",
            "result = primitive(*arrays, **params)\n    if np.shape(result) == arrays[0].shape and result.dtype == arrays[0].dtype:\n"
            "        arrays[0][...] = result",
        ),
    ),
    # 5 · loops
    mutant(
        "tensor_matmul_loops",
        "transposes the right operand",
        "tensor_matmul_loops_hidden",
        ("a[i, k] * b[k, j]", "a[i, k] * b.T[k % N, j % K]"),
    ),
    mutant(
        "tensor_matmul_loops",
        "overwrites instead of adding",
        "tensor_matmul_loops_check",
        ("c[i, j] +=", "c[i, j] ="),
    ),
    mutant(
        "tensor_matmul_loops",
        "float64 result",
        "tensor_matmul_loops_check",
        ("np.zeros((M, N), dtype=a.dtype)", "np.zeros((M, N))"),
    ),
    mutant(
        "tensor_matmul_loops", "one product short", "tensor_matmul_loops_check", ("range(K)", "range(K - 1)")
    ),
    mutant(
        "tensor_matmul_loops",
        "starts from what memory holds",
        "tensor_matmul_loops_check",
        ("np.zeros((M, N), dtype=a.dtype)", "np.full((M, N), 0.5, dtype=a.dtype)"),
    ),
    mutant(
        "tensor_matmul_loops",
        "square matrices only",
        "tensor_matmul_loops_check",
        ("for j in range(N):", "for j in range(M - 1):"),
    ),
    mutant(
        "tensor_matmul_loops",
        "lets NumPy do it",
        "tensor_matmul_loops_check",
        source="def matmul_loops(a, b):\n    return (a @ b).astype(a.dtype)\n",
    ),
    mutant(
        "tensor_matmul_loops",
        "does needless work",
        "tensor_matmul_loops_hidden",
        ("c[i, j] += a[i, k] * b[k, j]", "c[i, j] += a[i, k] * b[k, j] + 0 * a[i, k]"),
    ),
    # 6 · matmul
    mutant(
        "tensor_matmul",
        "elementwise product",
        "tensor_matmul_check",
        ("return np.matmul(a, b)", "return a * b"),
    ),
    mutant(
        "tensor_matmul",
        "np.dot, wrong for batches",
        "tensor_matmul_hidden",
        ("return np.matmul(a, b)", "return np.dot(a, b)"),
    ),
    mutant(
        "tensor_matmul",
        "no message of its own",
        "tensor_matmul_check",
        ("if inner_a != inner_b:", "if False:"),
    ),
    mutant(
        "tensor_matmul",
        "takes the wrong inner length",
        "tensor_matmul_check",
        ("b.shape[-2:][0]", "b.shape[-1]"),
    ),
    mutant(
        "tensor_matmul",
        "compares with the batch length",
        "tensor_matmul_hidden",
        ("b.shape[-2:][0]", "b.shape[0]"),
    ),
    mutant(
        "tensor_matmul",
        "vectors become columns",
        "tensor_matmul_check",
        ("return np.matmul(a, b)", "return np.matmul(a, b if b.ndim > 1 else b[:, None])"),
    ),
    mutant(
        "tensor_matmul",
        "multiplies by single numbers",
        "tensor_matmul_hidden",
        (
            "if a.ndim == 0 or b.ndim == 0:\n",
            "if a.ndim == 0 or b.ndim == 0:\n        return a * b\n    if False:\n",
        ),
    ),
    mutant(
        "tensor_matmul",
        "in float64",
        "tensor_matmul_hidden",
        ("return np.matmul(a, b)", "return np.matmul(a.astype(np.float64), b).astype(np.float32)"),
    ),
    mutant(
        "tensor_matmul",
        "does the work twice",
        "tensor_matmul_hidden",
        ("return np.matmul(a, b)", "return (np.matmul(a, b) + np.matmul(a, b)) / 2"),
    ),
    # 7 · reductions
    mutant(
        "tensor_reductions",
        "divides by all elements",
        "tensor_reductions_check",
        ("math.prod(a.shape[i] for i in axes)", "a.size"),
    ),
    mutant(
        "tensor_reductions",
        "divides by the first length",
        "tensor_reductions_check",
        ("math.prod(a.shape[i] for i in axes)", "len(a)"),
    ),
    mutant(
        "tensor_reductions",
        "divides by one length only",
        "tensor_reductions_hidden",
        (
            "math.prod(a.shape[i] for i in axes)",
            "(a.shape[axes[0]] if axis != tuple(range(a.ndim)) else a.size)",
        ),
    ),
    mutant(
        "tensor_reductions",
        "adds the lengths",
        "tensor_reductions_hidden",
        (
            "math.prod(a.shape[i] for i in axes)",
            "max(sum(a.shape[i] for i in axes) if axis != tuple(range(a.ndim)) else a.size, 1)",
        ),
    ),
    mutant(
        "tensor_reductions",
        "forgets keepdims in max",
        "tensor_reductions_check",
        ("return a.max(axis=axis, keepdims=keepdims)", "return a.max(axis=axis)"),
    ),
    mutant(
        "tensor_reductions",
        "forgets keepdims in mean",
        "tensor_reductions_hidden",
        ("reduce_sum(a, axis, keepdims)", "reduce_sum(a, axis)"),
    ),
    mutant(
        "tensor_reductions",
        "rounds the mean of integers",
        "tensor_reductions_hidden",
        (
            "return reduce_sum(a, axis, keepdims) / math.prod(a.shape[i] for i in axes)",
            "return (reduce_sum(a, axis, keepdims) / math.prod(a.shape[i] for i in axes)).astype(a.dtype)",
        ),
    ),
    mutant(
        "tensor_reductions",
        "max starts from zero",
        "tensor_reductions_hidden",
        (
            "return a.max(axis=axis, keepdims=keepdims)",
            "return a.max(axis=axis, keepdims=keepdims, initial=0)",
        ),
    ),
    # 8 · views
    mutant(
        "tensor_views",
        "reshape copies",
        "tensor_views_check",
        ("return a.reshape(shape)", "return a.reshape(shape).copy()"),
    ),
    mutant(
        "tensor_views",
        "reshape reads by columns",
        "tensor_views_check",
        ("return a.reshape(shape)", 'return a.reshape(shape, order="F")'),
    ),
    mutant(
        "tensor_views",
        "permute copies",
        "tensor_views_check",
        ("return a.transpose(axes)", "return np.ascontiguousarray(a.transpose(axes))"),
    ),
    mutant(
        "tensor_views",
        "permute reverses all axes",
        "tensor_views_hidden",
        ("return a.transpose(axes)", "return a.T"),
    ),
    mutant(
        "tensor_views",
        "permute in the inverse order",
        "tensor_views_hidden",
        ("return a.transpose(axes)", "return a.transpose(np.argsort([axis % a.ndim for axis in axes]))"),
    ),
    mutant(
        "tensor_views",
        "transposes by reshaping",
        "tensor_views_check",
        ("return a.transpose(axes)", "return a.reshape([a.shape[axis] for axis in axes])"),
    ),
    mutant(
        "tensor_views",
        "slices are copies",
        "tensor_views_check",
        ("return a[key]", "return np.array(a[key])"),
    ),
    mutant(
        "tensor_views",
        "takes along the first axis only",
        "tensor_views_check",
        ("return a[key]", "return a[key[0] if isinstance(key, tuple) else key]"),
    ),
    mutant(
        "tensor_views",
        "resizes to fit",
        "tensor_views_hidden",
        (
            "return a.reshape(shape)",
            "return a.reshape(shape) if -1 in shape or math.prod(shape) == a.size else np.resize(a, shape)",
        ),
    ),
    # Systems
    mutant(
        "flops_predict",
        "a multiply-add counted once",
        "flops_check",
        ("return 2 * B * M * K * N", "return B * M * K * N"),
    ),
    mutant(
        "flops_predict",
        "forgets the batch",
        "flops_check",
        ("return 2 * B * M * K * N", "return 2 * M * K * N"),
    ),
    mutant("flops_predict", "forgets the division", "flops_check", ("return N * D + D", "return N * D")),
    mutant("flops_predict", "divides by every row", "flops_check", ("return N * D + D", "return N * D + N")),
    mutant(
        "flops_predict",
        "counts the larger operand",
        "flops_check",
        (
            "return math.prod(broadcast_shape(first, second))",
            "return max(math.prod(first), math.prod(second))",
        ),
    ),
    mutant(
        "views_predict",
        "takes every reshape for a view",
        "views_check",
        ('"x.T.reshape(-1)": "copy"', '"x.T.reshape(-1)": "view"'),
    ),
    mutant(
        "views_predict",
        "takes a list of indices for a view",
        "views_check",
        ('"x[[1, 2, 3]]": "copy"', '"x[[1, 2, 3]]": "view"'),
    ),
    mutant(
        "views_predict", "takes a transpose for a copy", "views_check", ('"x.T": "view"', '"x.T": "copy"')
    ),
    mutant(
        "views_predict",
        "takes a slice for a copy",
        "views_check",
        ('"x[10:20]": "view"', '"x[10:20]": "copy"'),
    ),
    mutant(
        "views_predict",
        "takes a reshape for a copy",
        "views_check",
        ('"x.reshape(200, 100)": "view"', '"x.reshape(200, 100)": "copy"'),
    ),
    mutant(
        "intensity_predict",
        "forgets that the result is written",
        "intensity_check",
        ("return n * n / (3 * n * n * 4)", "return n * n / (2 * n * n * 4)"),
    ),
    mutant(
        "intensity_predict",
        "numbers instead of bytes",
        "intensity_check",
        ("return n * n / (3 * n * n * 4)", "return n * n / (3 * n * n)"),
    ),
    mutant(
        "intensity_predict",
        "bytes of float64",
        "intensity_check",
        ("return 2 * n**3 / (3 * n * n * 4)", "return 2 * n**3 / (3 * n * n * 8)"),
    ),
    mutant(
        "intensity_predict",
        "a multiply-add counted once",
        "intensity_check",
        ("return 2 * n**3 / (3 * n * n * 4)", "return n**3 / (3 * n * n * 4)"),
    ),
    mutant(
        "intensity_predict",
        "bytes per FLOP",
        "intensity_check",
        ("return 2 * n**3 / (3 * n * n * 4)", "return (3 * n * n * 4) / (2 * n**3)"),
    ),
    # more of what earlier tests let pass
    mutant(
        "tensor_class",
        "copies only where the dtype changes",
        "tensor_class_hidden",
        (
            "array = np.array(data, dtype=dtype)",
            "array = np.array(data) if dtype is None else np.asarray(data, dtype=dtype)",
        ),
    ),
    mutant(
        "tensor_class",
        "refuses text, takes objects",
        "tensor_class_hidden",
        (
            "not in \"fiub\"",
            "in \"US\"",
        ),
    ),
    mutant(
        "tensor_class",
        "counts the buffer behind a view",
        "tensor_class_hidden",
        (
            "return self.size * self.dtype.itemsize",
            "return (self.data if self.data.base is None else self.data.base).nbytes",
        ),
    ),
    mutant(
        "tensor_broadcast",
        "lets multiples fit",
        "tensor_broadcast_hidden",
        (
            "if m != n and 1 not in (m, n):",
            "if m != n and 1 not in (m, n) and (0 in (m, n) or max(m, n) % min(m, n)):",
        ),
        (
            "shape.append(n if m == 1 else m)",
            "shape.append(n if m == 1 else m if n == 1 else max(m, n))",
        ),
    ),
    mutant(
        "tensor_broadcast",
        "does not name the lengths",
        "tensor_broadcast_hidden",
        (
            "f\"one axis has length {m} and {n}; lengths must be equal, or one of them 1\"",
            "f\"lengths must be equal, or one of them 1\"",
        ),
    ),
    mutant(
        "tensor_door",
        "rounds numbers to float32",
        "tensor_door_hidden",
        (
            "    if like.dtype.kind == \"f\":\n"
            "        return Tensor.wrap(np.asarray(value, dtype=like.dtype))\n",
            "",
        ),
    ),
    mutant(
        "tensor_door",
        "as_tensor copies tensors",
        "tensor_door_hidden",
        (
            "        return value\n",
            "        return Tensor(value, dtype=value.dtype)\n",
        ),
    ),
    mutant(
        "tensor_door",
        "leaves saved unbound",
        "tensor_door_hidden",
        (
            "    result, saved = result if isinstance(result, tuple) else (result, None)\n",
            "    if isinstance(result, tuple):\n"
            "        result, saved = result\n",
        ),
    ),
    mutant(
        "tensor_door",
        "throws saved away",
        "tensor_door_hidden",
        (
            "    result, saved = result if isinstance(result, tuple) else (result, None)\n",
            "    result, saved = result[0] if isinstance(result, tuple) else result, None\n",
        ),
    ),
    mutant(
        "tensor_door",
        "takes the rest of the tuple for saved",
        "tensor_door_hidden",
        (
            "    result, saved = result if isinstance(result, tuple) else (result, None)\n",
            "    result, saved = (result[0], result[1:]) if isinstance(result, tuple) else (result, None)\n",
        ),
    ),
    mutant(
        "tensor_door",
        "copies the result",
        "tensor_door_hidden",
        (
            "    output = Tensor.wrap(keep_precision(result, arrays))\n",
            "    result = keep_precision(result, arrays)\n"
            "    output = Tensor(result, dtype=result.dtype)\n",
        ),
    ),
    mutant(
        "tensor_matmul_loops",
        "always answers in float32",
        "tensor_matmul_loops_hidden",
        (
            "dtype=a.dtype",
            "dtype=np.float32",
        ),
    ),
    mutant(
        "tensor_matmul_loops",
        "multiplies whole rows and columns",
        "tensor_matmul_loops_hidden",
        (
            "            for k in range(K):\n"
            "                c[i, j] += a[i, k] * b[k, j]\n",
            "            c[i, j] = (a[i] * b[:, j]).sum()\n",
        ),
    ),
    mutant(
        "tensor_matmul_loops",
        "uses vdot",
        "tensor_matmul_loops_check",
        (
            "            for k in range(K):\n"
            "                c[i, j] += a[i, k] * b[k, j]\n",
            "            c[i, j] = np.vdot(a[i], b[:, j])\n",
        ),
    ),
    mutant(
        "tensor_reductions",
        "mean takes axis 0 for None",
        "tensor_reductions_check",
        (
            "    if axis is None:\n",
            "    if not axis:\n",
        ),
    ),
    mutant(
        "tensor_reductions",
        "max takes axis 0 for None",
        "tensor_reductions_hidden",
        (
            "a.max(axis=axis, keepdims=keepdims)",
            "a.max(axis=axis or None, keepdims=keepdims)",
        ),
    ),
    mutant(
        "tensor_views",
        "index takes a list for a tuple",
        "tensor_views_hidden",
        (
            "return a[key]",
            "return a[tuple(key)] if isinstance(key, list) else a[key]",
        ),
    ),
]

ALTERNATIVES = [
    alternative(
        "tensor_class",
        "by asarray, astype and copy",
        (
            "array = np.array(data, dtype=dtype)",
            "array = np.asarray(data)\n        array = array.copy() if dtype is None else array.astype(dtype)",
        ),
        ("return self.size * self.dtype.itemsize", "return self.data.nbytes"),
    ),
    alternative(
        "tensor_class",
        "by issubdtype",
        (
            'if array.dtype.kind not in "fiub":',
            "if not (np.issubdtype(array.dtype, np.number) or array.dtype == bool):",
        ),
        ('array.dtype.kind == "f":', "np.issubdtype(array.dtype, np.floating):"),
        ("return self.size * self.dtype.itemsize", "return math.prod(self.shape) * self.data.itemsize"),
    ),
    alternative(
        "tensor_memory",
        "by the property",
        ("return tensor.data.nbytes + gradient", "return tensor.nbytes + gradient"),
    ),
    alternative(
        "tensor_memory",
        "by size and itemsize",
        source="""
def memory_footprint(tensor):
    total = 0
    for array in (tensor.data, tensor.grad):
        if array is not None:
            total = total + array.size * array.itemsize
    return total
""",
    ),
    alternative(
        "tensor_broadcast",
        "from the right, with zip_longest",
        source="""
from itertools import zip_longest


def broadcast_shape(first, second):
    result = ()
    for m, n in zip_longest(reversed(first), reversed(second), fillvalue=1):
        if m == 1:
            result = (n,) + result
        elif n == 1 or m == n:
            result = (m,) + result
        else:
            raise ValueError(f"cannot broadcast {first} with {second}: {m} against {n}")
    return result
""",
    ),
    alternative(
        "tensor_broadcast",
        "by NumPy",
        source="""
def broadcast_shape(first, second):
    try:
        return np.broadcast_shapes(first, second)
    except ValueError:
        for m, n in zip(first[::-1], second[::-1]):
            if len({m, n} - {1}) > 1:
                raise ValueError(f"{first} and {second} do not broadcast: {m} is not {n}") from None
""",
    ),
    alternative(
        "tensor_door",
        "a loop and named steps",
        (
            "arrays = [tensor.data for tensor in inputs]\n",
            "arrays = []\n    for tensor in inputs:\n        arrays.append(tensor.data)\n",
        ),
        (
            "result, saved = result if isinstance(result, tuple) else (result, None)",
            "saved = None\n    if isinstance(result, tuple):\n        result, saved = result",
        ),
    ),
    alternative(
        "tensor_door",
        "through the constructor, with a dtype",
        (
            "output = Tensor.wrap(keep_precision(result, arrays))",
            "checked = keep_precision(np.asarray(result), arrays)\n    output = Tensor.wrap(checked)",
        ),
        ("return Tensor.wrap(np.asarray(value, dtype=like.dtype))", "return Tensor(value, dtype=like.dtype)"),
        (
            "    if not isinstance(right, Tensor):\n        right = as_tensor(right, left)\n    elif not isinstance(left, Tensor):\n        left = as_tensor(left, right)",
            "    like = left if isinstance(left, Tensor) else right\n    left, right = as_tensor(left, like), as_tensor(right, like)",
        ),
    ),
    alternative(
        "tensor_matmul_loops",
        "Python numbers and an accumulator",
        source="""
def matmul_loops(a, b):
    left, right = a.tolist(), b.tolist()
    product = np.zeros((a.shape[0], b.shape[1]), dtype=a.dtype)
    for i, row in enumerate(left):
        for j in range(b.shape[1]):
            total = 0.0
            for k, value in enumerate(row):
                total += value * right[k][j]
            product[i, j] = total
    return product
""",
    ),
    alternative(
        "tensor_matmul_loops",
        "another order of the loops",
        source="""
def matmul_loops(a, b):
    c = np.zeros((len(a), b.shape[1]), a.dtype)
    for k in range(len(b)):
        for j in range(b.shape[1]):
            for i in range(len(a)):
                c[i][j] = c[i][j] + a[i][k] * b[k][j]
    return c
""",
    ),
    alternative("tensor_matmul", "by the operator", ("return np.matmul(a, b)", "return a @ b")),
    alternative(
        "tensor_matmul",
        "asks forgiveness",
        source="""
def matmul(a, b):
    try:
        return a @ b
    except ValueError as error:
        raise ValueError(f"cannot multiply {a.shape} by {b.shape}") from error
""",
    ),
    alternative(
        "tensor_matmul",
        "by einsum",
        (
            "return np.matmul(a, b)",
            """if a.ndim == 1 and b.ndim == 1:
        return np.einsum("k,k->", a, b)
    if a.ndim == 1:
        return np.einsum("k,...kn->...n", a, b)
    if b.ndim == 1:
        return np.einsum("...mk,k->...m", a, b)
    return np.einsum("...mk,...kn->...mn", a, b)""",
        ),
    ),
    alternative(
        "tensor_reductions",
        "by np.mean and np.max",
        source="""
def reduce_sum(a, axis=None, keepdims=False):
    return np.sum(a, axis=axis, keepdims=keepdims)


def reduce_max(a, axis=None, keepdims=False):
    return np.max(a, axis=axis, keepdims=keepdims)


def reduce_mean(a, axis=None, keepdims=False):
    return np.mean(a, axis=axis, keepdims=keepdims)
""",
    ),
    alternative(
        "tensor_reductions",
        "by the ratio of sizes",
        (
            "    if axis is None:\n        axis = tuple(range(a.ndim))\n    axes = (axis,) if isinstance(axis, int) else axis\n"
            "    return reduce_sum(a, axis, keepdims) / math.prod(a.shape[i] for i in axes)",
            "    total = reduce_sum(a, axis, keepdims)\n    return total / (a.size / np.size(total))",
        ),
    ),
    alternative(
        "tensor_views",
        "by NumPy's functions",
        ("return a.reshape(shape)", "return np.reshape(a, shape)"),
        ("return a.transpose(axes)", "return np.transpose(a, axes)"),
        ("return a[key]", "return a.__getitem__(key)"),
    ),
    alternative(
        "tensor_views",
        "by moving axes",
        (
            "return a.transpose(axes)",
            "view = a\n    order = list(range(a.ndim))\n    for place, axis in enumerate(axes):\n        at = order.index(axis % a.ndim)\n"
            "        view = np.moveaxis(view, at, place)\n        order.insert(place, order.pop(at))\n    return view",
        ),
    ),
    alternative(
        "flops_predict",
        "other formulas",
        ("return N * D + D", "return (N + 1) * D"),
        (
            "return math.prod(broadcast_shape(first, second))",
            "return int(np.prod(np.broadcast_shapes(first, second)))",
        ),
        ("return 2 * B * M * K * N", "return B * M * N * (K + K)"),
    ),
    alternative(
        "flops_predict", "in real numbers", ("return 2 * B * M * K * N", "return 2.0 * B * M * K * N")
    ),
    alternative(
        "views_predict", "capital letters are not the point", ('"x.T": "view"', '"x.T": "vi" + "ew"')
    ),
    alternative(
        "views_predict",
        "assigned one by one",
        source="""
view_or_copy = dict.fromkeys(["x.reshape(200, 100)", "x.T", "x[10:20]"], "view")
view_or_copy["x[[1, 2, 3]]"] = "copy"
view_or_copy["x.T.reshape(-1)"] = "copy"
""",
    ),
    alternative(
        "intensity_predict",
        "simplified",
        ("return n * n / (3 * n * n * 4)", "return 1 / 12"),
        ("return 2 * n**3 / (3 * n * n * 4)", "return n / 6"),
    ),
    alternative(
        "intensity_predict",
        "step by step",
        (
            "return n * n / (3 * n * n * 4)",
            "flops = n**2\n    moved = 4 * (n**2 + n**2 + n**2)\n    return flops / moved",
        ),
    ),
    alternative(
        "tensor_matmul_loops",
        "Python's sum over single numbers",
        (
            "            for k in range(K):\n                c[i, j] += a[i, k] * b[k, j]\n",
            "            c[i, j] = sum(a[i, k] * b[k, j] for k in range(K))\n",
        ),
    ),
    alternative(
        "tensor_matmul_loops",
        "lists, converted at the end",
        source="""
def matmul_loops(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = [[0.0] * N for _ in range(M)]
    for k in range(K):
        for i in range(M):
            for j in range(N):
                c[i][j] += a[i, k] * b[k, j]
    return np.array(c, dtype=a.dtype)
""",
    ),
]
