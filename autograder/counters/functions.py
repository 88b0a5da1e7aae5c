"""What happens when a NumPy function meets a counted value, and the cost of moving values."""

import types

from numpy import ndarray

from autograder.counters import formulas
from autograder.counters.costs import held, masked, root, words
from autograder.counters.tally import live, quiet
from autograder.counters.windows import as_objects, bare, bare_kwargs, floats, wrap

_FREE = words("""array_repr array_str array2string save savez savez_compressed savetxt shape ndim size
    result_type can_cast min_scalar_type common_type iscomplexobj isrealobj may_share_memory shares_memory
    einsum_path""")
_FETCHES = words("""take take_along_axis compress extract choose diagonal diag tril triu delete unstack
    split array_split nonzero argwhere flatnonzero""")
_FRESH = words("""zeros_like ones_like empty_like full_like linspace logspace geomspace ndarray zeros ones
    empty full arange eye identity tri draw""")
_MOVES = _FETCHES | _FRESH | words("""concatenate concat stack hstack vstack dstack column_stack block where
    copy reshape ravel transpose permute_dims matrix_transpose moveaxis rollaxis swapaxes squeeze expand_dims
    atleast_1d atleast_2d atleast_3d broadcast_to broadcast_arrays repeat tile roll rot90 flip fliplr flipud
    hsplit vsplit dsplit select diagflat insert append resize sliding_window_view as_strided packbits
    unpackbits unravel_index ravel_multi_index trim_zeros meshgrid ix_ count_nonzero""")
_COSTS = {"dot": formulas.dot, "inner": formulas.dot, "vdot": formulas.vdot, "einsum": formulas.einsum,
          "bincount": formulas.bincount, "correlate": formulas.correlate, "convolve": formulas.convolve,
          "lexsort": formulas.sort}
_UNKNOWN = words("interp place putmask")    # written in Python around C that hides its work


def in_c(function):
    """Whether NumPy computes this function in C; what it writes in Python counts by what that calls."""
    return not isinstance(getattr(function, "_implementation", None), types.FunctionType)


def has_cost(function):
    """Whether a function is charged as a whole."""
    name = function.__name__
    return in_c(function) or name in _COSTS or name in _MOVES or name in _UNKNOWN


def run_function(function, args, kwargs):
    """Run a NumPy function that was given something counted."""
    tally, name = live(), function.__name__
    if tally is None or name in _FREE:
        with quiet:
            return function(*bare(args), **bare_kwargs(kwargs))
    if name in _COSTS:
        return charged(_COSTS[name], function, args, kwargs)
    if name in _MOVES:
        return move(function, args, kwargs)
    if name == "copyto":
        return _copyto(tally, function, args, kwargs)
    if not has_cost(function):
        return wrap(function._implementation(*args, **kwargs))
    with quiet:
        result = function(*bare(args), **bare_kwargs(kwargs))
    tally.mark(f"{name} has no exact count")
    return wrap(result)


def charged(cost, function, args, kwargs):
    """Run on plain values what costs `cost(result, *args, **kwargs)`."""
    out, plain, named = kwargs.get("out"), bare(args), bare_kwargs(kwargs)
    with quiet:
        result = function(*plain, **named)
        named = {name: value for name, value in named.items() if name != "out"}
        costs = cost(result, *plain, **named)
    tally = live()
    if tally is None:
        return result
    fresh = isinstance(result, ndarray) and result is not plain[0]
    tally.charge(costs, held(plain), result.nbytes if fresh else 0, int(fresh and out is None))
    return out if out is not None else wrap(result)


def _copyto(tally, function, args, kwargs):
    args, kwargs = bare(args), bare_kwargs(kwargs)
    with quiet:
        function(*args, **kwargs)
        n = masked(args[0], kwargs.get("where", True))
    tally.charge(read=held(args[1:]), written=n * args[0].itemsize)


def move(function, args, kwargs, name=None):
    """Run something that moves values without computing: no FLOPs, but bytes and perhaps new arrays."""
    plain, named = bare(args), bare_kwargs(kwargs)
    with quiet:
        result = function(*plain, **named)
    tally = live()
    if tally is None:
        return result
    _charge_move(tally, name or function.__name__, (*plain, *named.values()), result, "out" in named)
    for window, value in zip(args, plain):
        if value is result and window is not value:
            return window                   # an operand itself (``asarray``) stays the same object
    return wrap(result)


def construct(function, args, kwargs):
    """Run a constructor: it moves values, or makes constants, which costs no FLOPs."""
    source = bare(args[0]) if args else kwargs.get("object")
    dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
    return as_objects(source) if floats(source) and dtype in (object, "O") else move(function, args, kwargs)


def _arrays_in(values):
    for value in values:
        if isinstance(value, ndarray):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _arrays_in(value)


def _charge_move(tally, name, operands, result, given):
    sources = list(_arrays_in(operands))
    owners = {id(root(a)) for a in sources}
    fresh = [r for r in _arrays_in([result]) if given or id(root(r)) not in owners]
    if not fresh:
        return
    written = sum(r.nbytes for r in fresh)
    if name in _FRESH:
        read = 0
    elif name in _FETCHES:
        read = written + sum(map(held, sources[1:]))
    else:
        read = sum(map(held, sources))
    tally.charge(read=read, written=written, arrays=0 if given else len(fresh))
