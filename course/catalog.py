"""The twenty modules and nine milestones, as data."""

from typing import NamedTuple


class Module(NamedTuple):
    """One module: `source/NN_name/NN_name.py`, whose solutions become `tinytorch_ref/<file>.py`."""

    number: int
    name: str
    file: str
    title: str

    @property
    def id(self):
        """Name of the nbgrader assignment, such as ``01_tensor``."""
        return f"{self.number:02d}_{self.name}"


class Milestone(NamedTuple):
    """One milestone: `source/milestone_YYYY_name/`, due after module `after`."""

    year: int
    name: str
    after: int
    title: str

    @property
    def id(self):
        """Name of the nbgrader assignment, such as ``milestone_1986_mnist``."""
        return f"milestone_{self.year}_{self.name}"


MODULES = tuple(
    Module(number, name, file, title)
    for number, (name, file, title) in enumerate(
        [
            ("tensor", "tensor", "Tensor"),
            ("activations", "activations", "Activations"),
            ("layers", "layers", "Layers"),
            ("losses", "losses", "Losses"),
            ("data", "data", "Data"),
            ("autograd", "autograd", "Autograd"),
            ("optimizers", "optimizers", "Optimizers"),
            ("training", "training", "Training"),
            ("convolutions", "convolutions", "Convolutions"),
            ("tokenization", "tokenizers", "Tokenization"),
            ("embeddings", "embeddings", "Embeddings"),
            ("attention", "attention", "Attention"),
            ("transformers", "transformers", "Transformers"),
            ("profiling", "profiler", "Profiling"),
            ("quantization", "quantization", "Quantization"),
            ("compression", "compression", "Compression"),
            ("acceleration", "acceleration", "Acceleration"),
            ("memoization", "kv_cache", "Memoization"),
            ("benchmarking", "benchmark", "Benchmarking"),
            ("capstone", "capstone", "Capstone"),
        ],
        start=1,
    )
)

MILESTONES = (
    Milestone(1958, "perceptron", 3, "Rosenblatt's perceptron"),
    Milestone(1969, "xor", 6, "XOR and the hidden layer"),
    Milestone(1986, "mnist", 8, "Backpropagation on MNIST"),
    Milestone(1998, "lenet", 9, "LeNet-5"),
    Milestone(2003, "language_model", 11, "A neural probabilistic language model"),
    Milestone(2017, "transformer", 13, "A Transformer that answers small talk"),
    Milestone(1990, "brain_damage", 16, "Optimal Brain Damage"),
    Milestone(2019, "gpt2", 18, "Generation with a KV cache"),
    Milestone(2018, "mlperf", 20, "An MLPerf-style run"),
)


def find(word):
    """The module or milestone that `word` names.

    Parameters
    ----------
    word : str
        ``"1"``, ``"01"``, ``"tensor"``, ``"01_tensor"``; for a milestone ``"1986"`` or its id.

    Returns
    -------
    Module or Milestone

    Raises
    ------
    ValueError
        If nothing in the course has that name.
    """
    for item in MODULES:
        if word in (item.id, item.name) or (word.isdigit() and len(word) <= 2 and int(word) == item.number):
            return item
    for item in MILESTONES:
        if word in (item.id, item.name, str(item.year)):
            return item
    raise ValueError(f"no module or milestone is called {word!r}; modules run from 01 to {len(MODULES)}")
