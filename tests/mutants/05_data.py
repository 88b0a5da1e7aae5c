"""Variants of module 05, data."""

from variants import alternative, mutant

MUTANTS = [
    # 1 · samples by number
    mutant(
        "data_tensor_dataset",
        "lengths not compared",
        "data_tensor_dataset_check",
        ("if len(set(lengths)) != 1:", "if not lengths:"),
    ),
    mutant(
        "data_tensor_dataset",
        "only the first two lengths compared",
        "data_tensor_dataset_hidden",
        ("if len(set(lengths)) != 1:", "if len(set(lengths[:2])) != 1:"),
    ),
    mutant(
        "data_tensor_dataset",
        "nothing is a data set",
        "data_tensor_dataset_hidden",
        ("if len(set(lengths)) != 1:", "if len(set(lengths)) > 1:"),
    ),
    mutant(
        "data_tensor_dataset",
        "copies the arrays",
        "data_tensor_dataset_hidden",
        ("else np.asarray(array) for", "else np.array(array) for"),
    ),
    mutant(
        "data_tensor_dataset",
        "the width for the length",
        "data_tensor_dataset_check",
        ("return len(self.arrays[0])", "return self.arrays[0].shape[-1]"),
    ),
    mutant(
        "data_tensor_dataset",
        "transform only for single samples",
        "data_tensor_dataset_check",
        (
            "for rows in self.transformed([array[indices] for array in self.arrays]))",
            "for rows in [array[indices] for array in self.arrays])",
        ),
    ),
    mutant(
        "data_tensor_dataset",
        "transform only for batches",
        "data_tensor_dataset_check",
        (
            "return self.transformed([array[i] for array in self.arrays])",
            "return tuple(array[i] for array in self.arrays)",
        ),
    ),
    mutant(
        "data_tensor_dataset",
        "a slice from the first index on",
        "data_tensor_dataset_check",
        ("[array[indices] for array", "[array[indices[0] : indices[0] + len(indices)] for array"),
    ),
    mutant(
        "data_tensor_dataset",
        "labels in real numbers too",
        "data_tensor_dataset_hidden",
        ("as_batch(rows) for rows", "as_batch(rows.astype(float)) for rows"),
    ),
    mutant(
        "data_tensor_dataset",
        "transforms tensors",
        "data_tensor_dataset_check",
        (
            "tuple(as_batch(rows) for rows in self.transformed([array[indices] for array in self.arrays]))",
            "self.transformed([as_batch(array[indices]) for array in self.arrays])",
        ),
    ),
    mutant(
        "data_tensor_dataset",
        "transforms the label of a sample too",
        "data_tensor_dataset_check",
        (
            "return self.transformed([array[i] for array in self.arrays])",
            "return tuple(array[i] if self.transform is None else self.transform(array[i]) for array in self.arrays)",
        ),
    ),
    mutant(
        "data_tensor_dataset",
        "a sample as a list",
        "data_tensor_dataset_hidden",
        (
            "return self.transformed([array[i] for array in self.arrays])",
            "return list(self.transformed([array[i] for array in self.arrays]))",
        ),
    ),
    # 2 · from samples to a batch
    mutant(
        "data_collate",
        "along the first axis",
        "data_collate_check",
        ("np.stack(rows)", "np.concatenate(rows)"),
    ),
    mutant(
        "data_collate",
        "stacked on the last axis",
        "data_collate_check",
        ("np.stack(rows)", "np.stack(rows, axis=-1)"),
    ),
    mutant(
        "data_collate",
        "shapes not compared",
        "data_collate_check",
        ("    if len(shapes) > 1:", "    if False:"),
    ),
    mutant(
        "data_collate",
        "sizes compared instead of shapes",
        "data_collate_hidden",
        ("{row.shape for row in rows}", "{row.size for row in rows}"),
        ("np.stack(rows)", "np.stack(np.broadcast_arrays(*rows))"),
    ),
    mutant("data_collate", "a field too few is dropped", "data_collate_hidden", ("in zip(*samples, strict=True))", "in zip(*samples))")),
    mutant(
        "data_collate",
        "float64 stays",
        "data_collate_check",
        ("as_batch(np.stack(rows))", "Tensor.wrap(np.stack(rows))"),
    ),
    mutant(
        "data_collate",
        "labels in real numbers",
        "data_collate_check",
        ("as_batch(np.stack(rows))", "as_batch(np.stack(rows).astype(float))"),
    ),
    mutant(
        "data_collate",
        "no recursion in dicts",
        "data_collate_hidden",
        (
            "{key: default_collate([sample[key] for sample in samples])",
            "{key: as_batch(np.array([sample[key] for sample in samples]))",
        ),
    ),
    mutant("data_collate", "lists are not structures", "data_collate_hidden", ("(tuple, list)", "tuple")),
    mutant(
        "data_collate",
        "a list of batches",
        "data_collate_check",
        ("return tuple(default_collate(field)", "return list(default_collate(field)"),
    ),
    mutant(
        "data_collate",
        "compares sizes, not shapes",
        "data_collate_hidden",
        ("{row.shape for row in rows}", "{row.size for row in rows}"),
    ),
    # 3 · an order for each epoch
    mutant(
        "data_order",
        "seed plus epoch",
        "data_order_hidden",
        ("default_rng([seed, epoch])", "default_rng(seed + epoch)"),
    ),
    mutant(
        "data_order",
        "epoch forgotten",
        "data_order_check",
        ("default_rng([seed, epoch])", "default_rng(seed)"),
    ),
    mutant(
        "data_order",
        "seed forgotten",
        "data_order_check",
        ("default_rng([seed, epoch])", "default_rng(epoch)"),
    ),
    mutant(
        "data_order",
        "drawn with replacement",
        "data_order_check",
        (".permutation(count)", ".integers(0, count, count)"),
    ),
    mutant(
        "data_order", "not reproducible", "data_order_check", ("default_rng([seed, epoch])", "default_rng()")
    ),
    mutant(
        "data_order",
        "the global generator",
        "data_order_hidden",
        (
            "    return np.random.default_rng([seed, epoch]).permutation(count)",
            "    np.random.seed(1000 * seed + epoch)\n    return np.random.permutation(count)",
        ),
    ),
    mutant(
        "data_order",
        "a rotation",
        "data_order_hidden",
        (
            "np.random.default_rng([seed, epoch]).permutation(count)",
            "np.roll(np.arange(count), 1 + epoch + 7 * seed)",
        ),
    ),
    mutant(
        "data_order", "always drops the last", "data_order_check", ("if drop_last and batches", "if batches")
    ),
    mutant(
        "data_order", "never drops", "data_order_check", ("if drop_last and batches", "if False and batches")
    ),
    mutant(
        "data_order",
        "drops full batches as well",
        "data_order_check",
        ("if drop_last and batches and len(batches[-1]) < batch_size:", "if drop_last and batches:"),
    ),
    mutant(
        "data_order",
        "numbers instead of the order",
        "data_order_check",
        ("[order[i : i + batch_size] for i", "[np.arange(len(order))[i : i + batch_size] for i"),
    ),
    mutant(
        "data_order",
        "no data, no last batch",
        "data_order_hidden",
        ("if drop_last and batches and", "if drop_last and"),
    ),
    # 4 · the loader
    mutant("data_loader", "the epoch stays", "data_loader_check", ("        self.epoch += 1\n", "")),
    mutant(
        "data_loader",
        "the epoch moves on at the end",
        "data_loader_hidden",
        ("        self.epoch += 1\n", ""),
        (
            "        return self.deliver(split_batches(order, self.batch_size, self.drop_last))",
            "        yield from self.deliver(split_batches(order, self.batch_size, self.drop_last))\n        self.epoch += 1",
        ),
    ),
    mutant(
        "data_loader",
        "length rounded down",
        "data_loader_check",
        ("return full + (rest > 0 and not self.drop_last)", "return full"),
    ),
    mutant("data_loader", "length rounded up", "data_loader_check", (" and not self.drop_last)", ")")),
    mutant(
        "data_loader", "one batch too many", "data_loader_check", ("full + (rest > 0 and not", "full + (not")
    ),
    mutant(
        "data_loader",
        "collate_fn forgotten",
        "data_loader_check",
        ("if collate_fn is None and isinstance", "if isinstance"),
    ),
    mutant(
        "data_loader",
        "always sample by sample",
        "data_loader_hidden",
        ("if collate_fn is None and isinstance(dataset, Dataset):", "if False:"),
    ),
    mutant(
        "data_loader",
        "asks with NumPy's integers",
        "data_loader_hidden",
        ("if collate_fn is None and isinstance(dataset, Dataset):", "if isinstance(dataset, TensorDataset):"),
        ("dataset[int(i)]", "dataset[i]"),
    ),
    mutant(
        "data_loader",
        "an end too soon passes for the end",
        "data_loader_hidden",
        ("    for indices in batches:\n        yield fetch(indices)", "    return map(fetch, batches)"),
    ),
    mutant(
        "data_loader",
        "everything at once",
        "data_loader_hidden",
        (
            "    for indices in batches:\n        yield fetch(indices)",
            "    return iter([fetch(indices) for indices in batches])",
        ),
    ),
    mutant(
        "data_loader",
        "drop_last forgotten",
        "data_loader_hidden",
        (", self.batch_size, self.drop_last)", ", self.batch_size)"),
    ),
    mutant(
        "data_loader",
        "a Dataset alone",
        "data_loader_check",
        ("if collate_fn is None and isinstance(dataset, Dataset):", "if collate_fn is None:"),
    ),
    mutant(
        "data_loader",
        "begins with epoch 1",
        "data_loader_check",
        (
            "        order = epoch_order(len(self.dataset), self.shuffle, self.seed, self.epoch)\n        self.epoch += 1\n",
            "        self.epoch += 1\n        order = epoch_order(len(self.dataset), self.shuffle, self.seed, self.epoch)\n",
        ),
    ),
    mutant(
        "data_loader",
        "asks with NumPy's integers",
        "data_loader_hidden",
        ("dataset[int(i)] for i in indices", "dataset[i] for i in indices"),
    ),
    # 5 · transforms
    mutant(
        "data_transforms",
        "the last first",
        "data_transforms_check",
        ("for transform in self.transforms:", "for transform in self.transforms[::-1]:"),
    ),
    mutant(
        "data_transforms",
        "only the last",
        "data_transforms_check",
        ("            x = transform(x)\n        return x", "            y = transform(x)\n        return y"),
    ),
    mutant(
        "data_transforms",
        "wraps around in bytes",
        "data_transforms_check",
        (
            "(x.astype(np.float32) - self.mean) / self.std",
            "(x - np.asarray(self.mean).astype(x.dtype)) / self.std",
        ),
    ),
    mutant(
        "data_transforms",
        "float64",
        "data_transforms_check",
        ("x.astype(np.float32) - self.mean", "x.astype(np.float64) - self.mean"),
    ),
    mutant(
        "data_transforms",
        "mean divided too",
        "data_transforms_check",
        ("(x.astype(np.float32) - self.mean) / self.std", "x.astype(np.float32) - self.mean / self.std"),
    ),
    mutant(
        "data_transforms",
        "in place",
        "data_transforms_hidden",
        (
            "        return (x.astype(np.float32) - self.mean) / self.std",
            "        x = x.astype(np.float32, copy=False)\n        x -= self.mean\n        x /= self.std\n        return x",
        ),
    ),
    mutant(
        "data_transforms",
        "comes back on the other side",
        "data_transforms_check",
        (
            "    moved = np.zeros_like(images)\n",
            "    return np.roll(images, (rows, columns), axis=(-2, -1))\n    moved = np.zeros_like(images)\n",
        ),
    ),
    mutant(
        "data_transforms",
        "the other direction",
        "data_transforms_check",
        (
            "max(rows, 0), max(-rows, 0), max(columns, 0), max(-columns, 0)",
            "max(-rows, 0), max(rows, 0), max(-columns, 0), max(columns, 0)",
        ),
    ),
    mutant(
        "data_transforms",
        "rows and columns exchanged",
        "data_transforms_check",
        (
            "max(rows, 0), max(-rows, 0), max(columns, 0), max(-columns, 0)",
            "max(columns, 0), max(-columns, 0), max(rows, 0), max(-rows, 0)",
        ),
    ),
    mutant(
        "data_transforms",
        "the edge is repeated",
        "data_transforms_check",
        ("moved = np.zeros_like(images)", "moved = images.copy()"),
    ),
    mutant(
        "data_transforms",
        "the first two axes",
        "data_transforms_hidden",
        ("images.shape[-2:]", "images.shape[:2]"),
        ("moved[..., down", "moved[down"),
        ("images[..., up", "images[up"),
    ),
    # 6 · more data than memory
    mutant("data_memory_map", "reads the whole file", "data_memory_map_check", (', mmap_mode="r")', ")")),
    mutant(
        "data_memory_map",
        "always from the first row",
        "data_memory_map_check",
        ("        row += len(piece)\n", ""),
        ("    if row != len(array):", "    if row > len(array):"),
    ),
    mutant(
        "data_memory_map",
        "all pieces at once",
        "data_memory_map_hidden",
        ("    for piece in pieces:", "    for piece in list(pieces):"),
    ),
    mutant(
        "data_memory_map",
        "too few rows pass",
        "data_memory_map_check",
        ("    if row != len(array):", "    if False:"),
    ),
    mutant(
        "data_memory_map",
        "too many rows are cut off",
        "data_memory_map_hidden",
        (
            "        if row + len(piece) > len(array):",
            "        piece = piece[: len(array) - row]\n        if row + len(piece) > len(array):",
        ),
    ),
    mutant(
        "data_memory_map",
        "the numbers are pickled",
        "data_memory_map_check",
        (
            "return self.paths, self.transform, self.name",
            "return self.paths, self.transform, self.name, [np.array(a) for a in self.arrays]",
        ),
        ("paths, transform, name = state", "paths, transform, name, _ = state"),
    ),
    mutant(
        "data_memory_map",
        "the transform stays behind",
        "data_memory_map_hidden",
        ("self.__init__(*paths, transform=transform, name=name)", "self.__init__(*paths, name=name)"),
    ),
    mutant(
        "data_memory_map",
        "only the first file",
        "data_memory_map_check",
        ("for path in paths]", "for path in paths[:1]]"),
    ),
    mutant(
        "data_memory_map",
        "the transform is not handed on",
        "data_memory_map_check",
        ("for path in paths], transform=transform, name=name)", "for path in paths], name=name)"),
    ),
    mutant(
        "data_memory_map",
        "reads the files whole at the other end",
        "data_memory_map_hidden",
        (
            "        self.__init__(*paths, transform=transform, name=name)",
            "        self.paths = paths\n        super().__init__(*map(np.load, paths), transform=transform, name=name)",
        ),
    ),
    mutant(
        "data_memory_map",
        "always a file of float64",
        "data_memory_map_check",
        ("dtype=dtype, shape=shape), 0", "dtype=np.float64, shape=shape), 0"),
    ),
    # 7 · threads
    mutant(
        "data_threads", "everything at once", "data_threads_check", ("if len(waiting) > ahead:", "if False:")
    ),
    mutant(
        "data_threads",
        "one batch too few",
        "data_threads_check",
        ("if len(waiting) > ahead:", "if len(waiting) >= ahead:"),
    ),
    mutant("data_threads", "no overlap", "data_threads_check", ("if len(waiting) > ahead:", "if waiting:")),
    mutant(
        "data_threads",
        "as they finish",
        "data_threads_check",
        source="""def in_threads(fetch, batches, num_workers, ahead):
    from concurrent.futures import FIRST_COMPLETED, wait

    pool, waiting = ThreadPoolExecutor(num_workers), set()
    try:
        for indices in batches:
            waiting.add(pool.submit(fetch, indices))
            if len(waiting) > ahead:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                first = done.pop()
                waiting.discard(first)
                yield first.result()
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            first = done.pop()
            waiting.discard(first)
            yield first.result()
    finally:
        pool.shutdown(cancel_futures=True)
""",
    ),
    mutant(
        "data_threads",
        "the last ones are lost",
        "data_threads_check",
        ("        while waiting:\n            yield waiting.popleft().result()\n", ""),
    ),
    mutant(
        "data_threads",
        "the newest first",
        "data_threads_check",
        (
            "                yield waiting.popleft().result()\n        while",
            "                yield waiting.pop().result()\n        while",
        ),
    ),
    mutant(
        "data_threads",
        "nothing is cancelled",
        "data_threads_hidden",
        ("        pool.shutdown(cancel_futures=True)", "        pool.shutdown()"),
    ),
    mutant(
        "data_threads",
        "one thread only",
        "data_threads_hidden",
        ("ThreadPoolExecutor(num_workers)", "ThreadPoolExecutor(1)"),
    ),
    mutant(
        "data_threads",
        "errors end the epoch in silence",
        "data_threads_check",
        ("    finally:\n", "    except Exception:\n        return\n    finally:\n"),
    ),
    mutant(
        "data_threads",
        "a thread that nobody ends",
        "data_threads_check",
        source="""def in_threads(fetch, batches, num_workers, ahead):
    import queue

    lanes = [queue.Queue(max(1, ahead // num_workers - 1)) for _ in range(num_workers)]

    def work(k):
        for indices in batches[k::num_workers]:
            try:
                lanes[k].put((fetch(indices), None))
            except Exception as error:
                lanes[k].put((None, error))
                return

    for k in range(num_workers):
        threading.Thread(target=work, args=(k,), daemon=True).start()
    for n in range(len(batches)):
        batch, error = lanes[n % num_workers].get()
        if error is not None:
            raise error
        yield batch
""",
    ),
    mutant(
        "data_threads",
        "goes without waiting, cancels nothing",
        "data_threads_hidden",
        ("    finally:\n        pool.shutdown(cancel_futures=True)", "    finally:\n        pool.shutdown(wait=False)"),
    ),
    mutant(
        "data_threads",
        "shuts down after a whole epoch only",
        "data_threads_hidden",
        (
            "    finally:\n        pool.shutdown(cancel_futures=True)",
            "    except ZeroDivisionError:\n        raise\n    pool.shutdown(cancel_futures=True)",
        ),
    ),
    # 8 · processes
    mutant(
        "data_processes",
        "everything in one worker",
        "data_processes_check",
        ("batches[k::count]", "batches if k == 0 else []"),
        ("workers[n % count]", "workers[0]"),
    ),
    mutant(
        "data_processes",
        "nobody stops the workers",
        "data_processes_check",
        ("            worker.stop()\n", "            pass\n"),
    ),
    mutant(
        "data_processes",
        "stopped only after a whole epoch",
        "data_processes_check",
        ("    finally:\n", "    except ZeroDivisionError:\n        pass\n    else:\n"),
    ),
    mutant(
        "data_processes",
        "in blocks, not in turns",
        "data_processes_check",
        ("batches[k::count]", "batches[k * len(batches) // count : (k + 1) * len(batches) // count]"),
    ),
    mutant(
        "data_processes",
        "an error ends the worker",
        "data_processes_check",
        ("            answer = None, portable(error)\n", "            return\n"),
    ),
    mutant(
        "data_processes",
        "the traceback stays behind",
        "data_processes_check",
        ("answer = None, portable(error)", "answer = None, error"),
    ),
    mutant(
        "data_processes",
        "another error",
        "data_processes_check",
        ("answer = None, portable(error)", "answer = None, RuntimeError(str(portable(error)))"),
    ),
    mutant("data_processes", "never asked", "data_processes_hidden", ("        pipe.recv()\n", "")),
    mutant(
        "data_processes",
        "one batch too few ahead",
        "data_processes_hidden",
        ("for worker in turns[:ahead]:", "for worker in turns[: ahead - 1]:"),
        (
            "            if n + ahead < len(turns):\n                turns[n + ahead].ask()",
            "            if n + ahead - 1 < len(turns):\n                turns[n + ahead - 1].ask()",
        ),
    ),
    mutant(
        "data_processes",
        "asks after the end",
        "data_processes_check",
        (
            "            if n + ahead < len(turns):\n                turns",
            "            if True:\n                turns",
        ),
    ),
    mutant(
        "data_processes",
        "workers without work",
        "data_processes_hidden",
        (
            "count, workers = min(num_workers, len(batches)), []",
            "count, workers = len(batches) // num_workers * num_workers and num_workers, []",
        ),
    ),
    # systems
    mutant(
        "data_processes",
        "stopped after a break, not after an error",
        "data_processes_hidden",
        (
            "    finally:\n        for worker in workers:\n            worker.stop()",
            "    except GeneratorExit:\n        for worker in workers:\n            worker.stop()\n        raise\n"
            "    for worker in workers:\n        worker.stop()",
        ),
    ),
    mutant(
        "data_epoch_predict",
        "rounded down",
        "data_epoch_check",
        ("else math.ceil(N / batch_size)", "else N // batch_size"),
    ),
    mutant(
        "data_epoch_predict", "pixels as they are stored", "data_epoch_check", ("4 * H * W + 8", "H * W + 8")
    ),
    mutant("data_epoch_predict", "label forgotten", "data_epoch_check", ("4 * H * W + 8", "4 * H * W")),
    mutant("data_epoch_predict", "always one more", "data_epoch_check", ("math.ceil(N / batch_size)", "N // batch_size + 1")),
    mutant("data_epoch_predict", "label of one byte", "data_epoch_check", ("4 * H * W + 8", "4 * H * W + 1")),
    mutant(
        "data_epoch_predict",
        "dropped samples are delivered",
        "data_epoch_check",
        ("N // batch_size * batch_size if drop_last else N\n", "N\n"),
    ),
    mutant(
        "data_epoch_predict",
        "the last batch counts as full",
        "data_epoch_check",
        ("if drop_last else N\n", "if drop_last else math.ceil(N / batch_size) * batch_size\n"),
    ),
    mutant(
        "data_resident_predict", "float64", "data_resident_check", ("return 4 * N * D", "return 8 * N * D")
    ),
    mutant(
        "data_resident_predict",
        "a map holds everything",
        "data_resident_check",
        ("return 4 * B * D", "return 4 * N * D"),
    ),
    mutant(
        "data_resident_predict",
        "a map holds nothing",
        "data_resident_check",
        ("return 4 * B * D", "return 0"),
    ),
    mutant(
        "data_resident_predict",
        "numbers, not bytes",
        "data_resident_check",
        ("return 4 * N * D", "return N * D"),
    ),
    mutant("data_resident_predict", "numbers, not rows", "data_resident_check", ("M // (4 * D)", "M // 4")),
    mutant("data_resident_predict", "not whole rows", "data_resident_check", ("M // (4 * D)", "M / (4 * D)")),
    mutant(
        "data_prefetch_predict",
        "one batch too few",
        "data_prefetch_check",
        ("taken + W * P)", "taken - 1 + W * P)"),
    ),
    mutant(
        "data_prefetch_predict", "workers forgotten", "data_prefetch_check", ("taken + W * P)", "taken + P)")
    ),
    mutant(
        "data_prefetch_predict",
        "beyond the end",
        "data_prefetch_check",
        ("return min(total, taken + W * P)", "return taken + W * P"),
    ),
    mutant(
        "data_prefetch_predict",
        "all that was ever fetched",
        "data_prefetch_check",
        ("(predict_fetched(taken, total, W, P) - taken + 1)", "predict_fetched(taken, total, W, P)"),
    ),
    mutant(
        "data_prefetch_predict",
        "the caller's batch forgotten",
        "data_prefetch_check",
        (" - taken + 1) * batch", " - taken) * batch"),
    ),
    mutant(
        "data_prefetch_predict",
        "the larger of the two, alone",
        "data_prefetch_check",
        ("f + (n - 1) * max(f, c) + c if ahead", "n * max(f, c) if ahead"),
    ),
    mutant(
        "data_prefetch_predict",
        "the smaller of the two",
        "data_prefetch_check",
        ("max(f, c) + c if", "min(f, c) + c if"),
    ),
]

ALTERNATIVES = [
    alternative(
        "data_tensor_dataset",
        "with loops",
        (
            "        lengths = [len(array) for array in arrays]\n        if len(set(lengths)) != 1:",
            "        lengths = [array.shape[0] for array in arrays]\n"
            "        if not lengths or any(n != lengths[0] for n in lengths):",
        ),
        (
            "        return tuple(as_batch(rows) for rows in self.transformed([array[indices] for array in self.arrays]))",
            "        fields = []\n"
            "        for k, array in enumerate(self.arrays):\n"
            "            rows = array.take(indices, axis=0)\n"
            "            if k == 0 and self.transform is not None:\n"
            "                rows = self.transform(rows)\n"
            "            fields.append(as_batch(rows))\n"
            "        return tuple(fields)",
        ),
    ),
    alternative(
        "data_tensor_dataset",
        "arrays as a tuple, errors first",
        (
            "        arrays = [array.data if isinstance(array, Tensor) else np.asarray(array) for array in arrays]\n",
            "        if len(arrays) == 0:\n            raise ValueError('no array')\n"
            "        arrays = tuple(getattr(a, 'data', a) if isinstance(a, Tensor) else np.asarray(a) for a in arrays)\n",
        ),
        (
            "return self.transformed([array[i] for array in self.arrays])",
            "return tuple(self.transformed(tuple(array[i] for array in self.arrays)))",
        ),
    ),
    alternative(
        "data_collate",
        "into an array that is filled",
        (
            "    return as_batch(np.stack(rows))",
            "    whole = np.empty((len(rows), *rows[0].shape), np.result_type(*rows))\n    for i, row in enumerate(rows):\n        whole[i] = row\n    return as_batch(whole)",
        ),
    ),
    alternative(
        "data_collate",
        "leaves first",
        source="""def default_collate(samples):
    kind = type(samples[0])
    if kind not in (tuple, list, dict):
        rows = [np.asarray(s.data) if isinstance(s, Tensor) else np.array(s) for s in samples]
        for row in rows:
            if row.shape != rows[0].shape:
                raise ValueError(f"shapes {rows[0].shape} and {row.shape} differ")
        return Tensor(np.concatenate([row[None] for row in rows]))
    if kind is dict:
        return dict((key, default_collate([s[key] for s in samples])) for key in samples[0])
    width = len(samples[0])
    if any(len(s) != width for s in samples):
        raise ValueError("tuples of different lengths")
    return tuple([default_collate([s[k] for s in samples]) for k in range(width)])
""",
    ),
    alternative("data_order", "sorts random numbers", (".permutation(count)", ".random(count).argsort()")),
    alternative(
        "data_order",
        "a seed sequence, a shuffled copy, a while loop",
        (
            "    return np.random.default_rng([seed, epoch]).permutation(count)",
            "    order = np.arange(count)\n    np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, epoch, 5]))).shuffle(order)\n    return order",
        ),
        (
            "    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]\n    if drop_last and batches and len(batches[-1]) < batch_size:\n        batches.pop()\n    return batches",
            "    batches = []\n    while len(order) >= batch_size or (len(order) and not drop_last):\n        batches.append(order[:batch_size])\n        order = order[batch_size:]\n    return batches",
        ),
    ),
    alternative(
        "data_loader",
        "counts batches by splitting",
        (
            "        full, rest = divmod(len(self.dataset), self.batch_size)\n        return full + (rest > 0 and not self.drop_last)",
            "        return len(split_batches(np.arange(len(self.dataset)), self.batch_size, self.drop_last))",
        ),
        (
            "    samples = [dataset[int(i)] for i in indices]\n",
            "    samples = [dataset[i] for i in indices.tolist()]\n",
        ),
    ),
    alternative(
        "data_loader",
        "rounds up, packs in another order",
        (
            "        full, rest = divmod(len(self.dataset), self.batch_size)\n        return full + (rest > 0 and not self.drop_last)",
            "        n = len(self.dataset)\n        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)",
        ),
        (
            "    if collate_fn is None and isinstance(dataset, Dataset):\n        return dataset.batch(indices)\n    samples = [dataset[int(i)] for i in indices]\n    return default_collate(samples) if collate_fn is None else collate_fn(samples)",
            "    if collate_fn is not None:\n        return collate_fn([dataset[int(i)] for i in indices])\n    if hasattr(dataset, 'batch'):\n        return dataset.batch(indices)\n    return default_collate([dataset[int(i)] for i in indices])",
        ),
        (
            "    for indices in batches:\n        yield fetch(indices)",
            "    yield from (fetch(indices) for indices in batches)",
        ),
    ),
    alternative(
        "data_loader",
        "an __iter__ that is a generator, indices as a list",
        (
            "        return self.deliver(split_batches(order, self.batch_size, self.drop_last))",
            "        yield from self.deliver(split_batches(order, self.batch_size, self.drop_last))",
        ),
        ("dataset[int(i)] for i in indices", "dataset[i] for i in indices.tolist()"),
    ),
    alternative(
        "data_transforms",
        "with np.pad and a window",
        (
            "    down, up, right, left = max(rows, 0), max(-rows, 0), max(columns, 0), max(-columns, 0)\n    moved = np.zeros_like(images)\n    moved[..., down : H - up, right : W - left] = images[..., up : H - down, left : W - right]\n    return moved",
            "    still = [(0, 0)] * (images.ndim - 2)\n    wide = np.pad(images, [*still, (H, H), (W, W)])\n    return wide[..., H - rows : 2 * H - rows, W - columns : 2 * W - columns].copy()",
        ),
        (
            "(x.astype(np.float32) - self.mean) / self.std",
            "((np.asarray(x, np.float64) - self.mean) / self.std).astype(np.float32)",
        ),
    ),
    alternative(
        "data_transforms",
        "rolled, then blanked",
        (
            "    down, up, right, left = max(rows, 0), max(-rows, 0), max(columns, 0), max(-columns, 0)\n    moved = np.zeros_like(images)\n    moved[..., down : H - up, right : W - left] = images[..., up : H - down, left : W - right]\n    return moved",
            "    moved = np.roll(images, (rows, columns), axis=(-2, -1))\n    if rows > 0:\n        moved[..., :rows, :] = 0\n    elif rows < 0:\n        moved[..., H + rows :, :] = 0\n    if columns > 0:\n        moved[..., :, :columns] = 0\n    elif columns < 0:\n        moved[..., :, W + columns :] = 0\n    return moved",
        ),
        (
            "        for transform in self.transforms:\n            x = transform(x)\n        return x",
            "        return functools.reduce(lambda y, transform: transform(y), self.transforms, x)",
        ),
    ),
    alternative(
        "data_memory_map",
        "writes bytes behind a header",
        (
            '    array, row = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape), 0\n    for piece in pieces:\n        if row + len(piece) > len(array):\n            raise ValueError(f"the pieces have more than the {len(array)} rows announced")\n        array[row : row + len(piece)] = piece\n        row += len(piece)\n    if row != len(array):\n        raise ValueError(f"the pieces have {row} rows, but {len(array)} were announced")\n    array.flush()',
            '    row, header = 0, {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": tuple(shape)}\n    with open(path, "wb") as file:\n        np.lib.format.write_array_header_1_0(file, header)\n        for piece in pieces:\n            file.write(np.ascontiguousarray(piece, dtype=dtype).tobytes())\n            row += len(piece)\n    if row != shape[0]:\n        raise ValueError(f"{row} rows instead of {shape[0]}")',
        ),
    ),
    alternative(
        "data_memory_map",
        "a dict as its state, plain arrays over the map",
        (
            'super().__init__(*[np.load(path, mmap_mode="r") for path in paths], transform=transform, name=name)',
            'maps = [np.asarray(np.lib.format.open_memmap(path, mode="r")) for path in paths]\n        super().__init__(*maps, transform=transform, name=name)',
        ),
        (
            "return self.paths, self.transform, self.name",
            'return {"paths": self.paths, "transform": self.transform, "name": self.name}',
        ),
        (
            "        paths, transform, name = state\n        self.__init__(*paths, transform=transform, name=name)",
            '        self.__init__(*state["paths"], transform=state["transform"], name=state["name"])',
        ),
    ),
    alternative(
        "data_threads",
        "a window of futures by number",
        source="""def in_threads(fetch, batches, num_workers, ahead):
    with ThreadPoolExecutor(max_workers=num_workers) as pool:
        futures = {}
        try:
            for n in range(min(ahead, len(batches))):
                futures[n] = pool.submit(fetch, batches[n])
            for n in range(len(batches)):
                if n + ahead < len(batches):
                    futures[n + ahead] = pool.submit(fetch, batches[n + ahead])
                yield futures.pop(n).result()
        finally:
            for future in futures.values():
                future.cancel()
""",
    ),
    alternative(
        "data_threads",
        "threads of its own, with tickets and a flag",
        source="""def in_threads(fetch, batches, num_workers, ahead):
    tickets, ready, results, state = threading.Semaphore(ahead), threading.Condition(), {}, {"next": 0, "stop": False}

    def work():
        while True:
            tickets.acquire()
            with ready:
                n = state["next"]
                state["next"] += 1
            if state["stop"] or n >= len(batches):
                return
            try:
                answer = fetch(batches[n]), None
            except Exception as error:
                answer = None, error
            with ready:
                results[n] = answer
                ready.notify_all()
            del answer

    threads = [threading.Thread(target=work) for _ in range(num_workers)]
    for thread in threads:
        thread.start()
    try:
        for n in range(len(batches)):
            tickets.release()
            with ready:
                ready.wait_for(lambda: n in results)
                batch, error = results.pop(n)
            if error is not None:
                raise error
            yield batch
    finally:
        state["stop"] = True
        for _ in threads:
            tickets.release()
        for thread in threads:
            thread.join()
""",
    ),
    alternative(
        "data_processes",
        "asks by counting",
        (
            "        turns = [workers[n % count] for n in range(len(batches))]\n        for worker in turns[:ahead]:\n            worker.ask()\n        for n, worker in enumerate(turns):\n            if n + ahead < len(turns):\n                turns[n + ahead].ask()\n            yield worker.answer()",
            "        asked = 0\n        for n in range(len(batches)):\n            while asked < len(batches) and asked <= n + ahead:\n                workers[asked % count].ask()\n                asked += 1\n            yield workers[n % count].answer()",
        ),
    ),
    alternative(
        "data_processes",
        "sends in both branches",
        (
            "        pipe.recv()\n        try:\n            answer = fetch(indices), None\n        except Exception as error:\n            answer = None, portable(error)\n        pipe.send(answer)",
            "        pipe.recv()\n        try:\n            batch = fetch(indices)\n        except Exception as error:\n            pipe.send((None, portable(error)))\n        else:\n            pipe.send((batch, None))",
        ),
        (
            "        for k in range(count):\n            workers.append(WorkerProcess(fetch, batches[k::count]))",
            "        workers = [WorkerProcess(fetch, batches[k::count]) for k in range(count)]",
        ),
    ),
    alternative(
        "data_epoch_predict",
        "rounds by hand",
        (
            "N // batch_size if drop_last else math.ceil(N / batch_size)",
            "(N if drop_last else N + batch_size - 1) // batch_size",
        ),
        ("4 * H * W + 8", "np.dtype(np.float32).itemsize * H * W + np.dtype(np.int64).itemsize"),
    ),
    alternative(
        "data_epoch_predict",
        "subtracts the rest",
        ("N // batch_size * batch_size if drop_last else N\n", "N - drop_last * (N % batch_size)\n"),
    ),
    alternative(
        "data_resident_predict",
        "by the item size",
        ("return 4 * N * D", "return np.float32().itemsize * N * D"),
        ("M // (4 * D)", "int(M / D / 4)"),
    ),
    alternative(
        "data_resident_predict",
        "by shifting",
        ("return 4 * N * D", "return (N * D) << 2"),
        ("return 4 * B * D", "return predict_whole_bytes(B, D)"),
    ),
    alternative(
        "data_prefetch_predict",
        "with conditions",
        ("return min(total, taken + W * P)", "return taken + W * P if taken + W * P < total else total"),
        (
            "(predict_fetched(taken, total, W, P) - taken + 1) * batch_bytes",
            "batch_bytes * (1 + min(W * P, total - taken))",
        ),
    ),
    alternative(
        "data_prefetch_predict",
        "step by step",
        (
            "return f + (n - 1) * max(f, c) + c if ahead else n * (f + c)",
            "if not ahead:\n        return n * f + n * c\n    fetched = done = 0.0\n    for _ in range(n):\n        fetched = max(fetched + f, 0.0)\n        done = max(done, fetched) + c\n    return done",
        ),
    ),
]
