"""Random calls of the library's functions that NumPy has too, and what both come to: to be the same, but for `DEPARTURES`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.exceptions import AxisError, ComplexWarning

from prism import lib

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip
SHAPES = [
    (), (0,), (1,), (3,), (40,), (0, 3), (3, 0), (1, 4), (2, 3), (5, 7), (2, 3, 4), (2, 0, 3), (3, 1, 5), (2, 3, 2, 3), (70, 33),
]  # fmt: skip
SUMS, EXTREMES, TRUTHS, SEARCHES = ("sum", "prod"), ("max", "min"), ("any", "all"), ("argmax", "argmin")
CUMULATIVE, ARRAY_API = ("cumsum", "cumprod"), ("cumulative_sum", "cumulative_prod")
RUNNING, POSITIONS, MASKED = ("cummax", "cummin"), ("nonzero", "flatnonzero", "argwhere"), ("compress", "extract")
UFUNCS = {
    name: getattr(np, name)
    for name in ("add", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor")
}
NAMES = [
    *SUMS, *EXTREMES, *TRUTHS, *SEARCHES, "count_nonzero", *CUMULATIVE, *ARRAY_API, *RUNNING, *POSITIONS, *MASKED, "reduce",
    "scan",
]  # fmt: skip
KINDS = (AxisError, IndexError, OverflowError, FloatingPointError, TypeError, ValueError)


@dataclass
class Call:
    """A call: a function by name, its array, and what else it is given; `out` says what dtype and layout that has."""

    name: str
    x: Any
    options: dict[str, Any] = field(default_factory=dict)
    op: str = ""
    mask: Any = None
    out: tuple[str, str] | None = None

    def __str__(self) -> str:
        x = self.x
        what = f"{x.dtype}{x.shape} {x.strides}" if isinstance(x, np.ndarray) else repr(x)
        text = f"{self.name}({what}, {self.op!r}, {self.options}, out={self.out})"
        small = np.asarray(x).size <= 12
        return f"{text} of {np.asarray(x).tolist()}, {self.mask!r}" if small else text

    def numpy(self, out: Any) -> Any:
        """Make it by NumPy."""
        options = dict(self.options) | ({} if out is None else {"out": out})
        if self.name in MASKED:
            return getattr(np, self.name)(self.mask, self.x)
        if self.name in ("reduce", "scan") and options.get("dtype") is None:
            options["dtype"] = np.asarray(self.x).dtype.newbyteorder("=")
        if self.name == "reduce":
            return UFUNCS[self.op].reduce(self.x, **({"axis": None} | options))
        if self.name in ("scan", *RUNNING):
            ufunc = UFUNCS[self.op] if self.op else np.maximum if self.name == "cummax" else np.minimum
            axis = options.pop("axis", None)
            x = np.ravel(self.x) if axis is None else np.atleast_1d(self.x)
            return ufunc.accumulate(x, axis=0 if axis is None else axis, **options)
        return getattr(np, self.name)(self.x, **options)

    def prism(self, out: Any) -> Any:
        """Make it by Prism."""
        options = dict(self.options) | ({} if out is None else {"out": out})
        function = getattr(lib, self.name)
        if self.name in MASKED:
            return function(self.mask, self.x)
        return function(self.x, *([self.op] if self.op else []), **options)


# -- What calls come to ---------------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What a call comes to: arrays, or the kind of an exception; and the kinds of what is warned of."""

    arrays: tuple[Any, ...] = ()
    error: str = ""
    text: str = ""
    warned: frozenset[str] = frozenset()


def outcome(function: Callable[[], Any]) -> Outcome:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function()
        except KINDS as error:
            return Outcome(error=next(k.__name__ for k in KINDS if isinstance(error, k)), text=str(error))
    names = frozenset(
        "ComplexWarning" if issubclass(w.category, ComplexWarning) else f"{w.category.__name__}: {str(w.message).split()[0]}"
        for w in caught
    )  # fmt: skip
    return Outcome(found if isinstance(found, tuple) else (found,), warned=names)


def difference(found: Outcome, wanted: Outcome) -> str:
    """Return how two outcomes differ; "" where they don't."""
    if found.error != wanted.error:
        return f"{found.error or 'no error'} ({found.text}), and NumPy {wanted.error or 'no error'} ({wanted.text})"
    if found.warned != wanted.warned:
        return f"warns {sorted(found.warned)}, and NumPy {sorted(wanted.warned)}"
    if len(found.arrays) != len(wanted.arrays):
        return f"{len(found.arrays)} arrays, and NumPy {len(wanted.arrays)}"
    for one, other in zip(found.arrays, wanted.arrays, strict=True):
        if isinstance(one, np.ndarray) != isinstance(other, np.ndarray):
            return f"a {type(one).__name__}, and NumPy a {type(other).__name__}"
        here, there = np.asarray(one), np.asarray(other)
        if here.dtype != there.dtype or here.shape != there.shape:
            return f"{here.dtype}{here.shape}, and NumPy {there.dtype}{there.shape}"
        if not np.array_equal(here, there, equal_nan=here.dtype.kind in "fc"):
            return f"{here.tolist()}, and NumPy {there.tolist()}" if here.size < 20 else "other values than NumPy"
        if order_of(here) != order_of(there):
            return f"strides {here.strides}, and NumPy {there.strides}"
    return ""


def order_of(x: Any) -> tuple[int, ...]:
    """Return the axes with more than one index as they lie in memory, the outermost first."""
    if not x.size:
        return ()
    return tuple(sorted((k for k in range(x.ndim) if x.shape[k] > 1), key=lambda k: -abs(x.strides[k])))


def departs(call: Call, found: Outcome, wanted: Outcome) -> bool:
    """Whether a difference is one of those that `docs/numpy.md` lists."""
    x, options = np.asarray(call.x), call.options
    out, layout = call.out or ("", "")
    if isinstance(call.x, np.generic) and out and wanted.arrays and isinstance(wanted.arrays[0], np.generic):
        return isinstance(found.arrays[0], np.ndarray) and found.arrays[0] == wanted.arrays[0]  # `out` itself
    if call.name in MASKED:
        longer = np.size(call.mask) > x.size and found.error == "ValueError"
        return longer or (found.error == wanted.error and not x.dtype.isnative)
    if call.name == "argwhere":
        return not found.error or (x.ndim == 0 and found.error == "ValueError")
    running = call.name in (*CUMULATIVE, *ARRAY_API, *RUNNING, "scan")
    if running and layout == "wrong" and found.error == "ValueError":
        return True
    if running and isinstance(options.get("axis"), tuple) and found.error == "TypeError":
        return True
    if call.name == "scan" and out and found.error in ("TypeError", "ValueError"):
        return True
    if options.get("initial") == "x" and found.error == "TypeError":
        return True
    if options.get("dtype") == "object" and found.error == "TypeError":
        return True
    if found.error and wanted.error:  # which of two mistakes is said
        return sum(mistakes(call)) > 1
    if "initial" in options and options["initial"] is None and wanted.error == "ValueError":
        return True
    if found.error or wanted.error:
        return False
    to = [np.dtype(one) for one in (options.get("dtype"), out) if one]
    casts = {
        "RuntimeWarning: overflow",
        "RuntimeWarning: invalid",
        *(["ComplexWarning"] if out.startswith("complex") else []),
    }
    if out and found.warned ^ wanted.warned and found.warned ^ wanted.warned <= casts:
        return True
    if out and "initial" in options:
        return True
    infinite = any(not np.isfinite(one).all() for one in wanted.arrays)
    if (
        infinite
        and any(one.dtype.kind == "c" for one in (x, *wanted.arrays))
        and ("prod" in call.name or call.op == "multiply")
    ):
        return True
    if running and "e" in (x.dtype.char, *(one.char for one in to)) and np.abs(x[np.isfinite(x)]).max() > 2048:
        return True
    if x.dtype.kind in "fc" and any(one.kind in "iu" for one in to):
        results = [np.asarray(one, complex) for one in wanted.arrays]
        every = np.concatenate([x.ravel().astype(complex), *(one.ravel() for one in results)]).real
        least = max(np.iinfo(one).min for one in to if one.kind in "iu")
        most = min(np.iinfo(one).max for one in to if one.kind in "iu")
        within = np.isfinite(every).all() and (every >= least).all() and (every < most).all()
        return not within or call.name in (*SUMS, "reduce")
    return False


def mistakes(call: Call) -> list[bool]:
    """Return which of a call's arguments are wrong."""
    axis, ndim = call.options.get("axis"), np.ndim(call.x)
    axes = axis if isinstance(axis, tuple) else (axis,)
    right = all(
        k is None or (isinstance(k, int | np.integer) and not isinstance(k, bool) and -ndim <= k < ndim) for k in axes
    )
    return [
        not right or len(set(axes)) < len(axes), call.out is not None, (call.out or "")[-1:] == ("wrong",),
        call.options.get("initial") == "x", call.options.get("dtype") in ("nonsense", "object"), np.asarray(call.x).size == 0,
        call.op.startswith("bitwise"),
    ]  # fmt: skip


def compare(call: Call) -> str:
    """Make a call by both, and return how they differ; "" where they don't."""
    before = np.array(call.x)
    made = []
    for make in (call.prism, call.numpy):
        out = None if call.out is None else room(call)
        found = outcome(lambda make=make, out=out: make(out))
        if out is not None and not found.error and found.arrays[0] is not out and make == call.prism:
            return "it does not return `out`"
        made.append(found)
    if not np.array_equal(np.asarray(call.x), before, equal_nan=before.dtype.kind in "fc"):
        return "it modified its argument"
    text = difference(*made)
    return "" if text and departs(call, *made) else text


def room(call: Call) -> Any:
    """Return an array for the result, of the shape that NumPy's has, or nearly."""
    dtype, layout = call.out or ("", "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            shape = np.shape(call.numpy(None))
        except KINDS:
            shape = (2,)
    if layout == "wrong":
        shape = (*shape, 2)
    if layout == "gaps" and shape:
        return np.zeros((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2]
    return np.zeros(shape, dtype, order="F" if layout == "F" else "C")


# -- Which calls ----------------------------------------------------------------------------------------------------------


def elements(random: np.random.Generator, dtype: str, shape: tuple[int, ...], name: str, op: str = "") -> Any:
    """Return elements of which sums and products are exact, now and then NaN, infinite or the largest of the type."""
    size, kind = int(np.prod(shape)), np.dtype(dtype).kind
    if name in ("prod", "cumprod", "cumulative_prod") or op == "multiply":
        of = random.choice([1, 1, 1, 2] if kind == "u" else [0, 1] if kind == "b" else [1, 1, -1, 2], size)
    else:
        of = random.integers(0, 2, size) if kind == "b" else random.integers(0 if kind == "u" else -3, 4, size)
    with np.errstate(all="ignore"):
        found = of.astype(dtype)
        if kind == "c":
            found.imag = 0 if op == "multiply" or "prod" in name else random.integers(-2, 3, size)
        if kind in "fc" and size and random.random() < 0.2:
            special = random.choice([np.nan, np.inf, -np.inf, np.finfo(dtype).max, -0.0])
            where = random.integers(0, size, 1 + int(random.integers(3)))
            if kind == "f" or random.random() < 0.5:
                found[where] = special
            else:
                found.imag[where] = special
        if kind in "iu" and size and random.random() < 0.1:
            found[random.integers(0, size)] = np.iinfo(dtype).max
    return found.reshape(shape)


def layouts(random: np.random.Generator, x: Any) -> Any:
    """Return an array that lies in memory in another way."""
    match random.integers(8):
        case 0 | 1:
            return np.asfortranarray(x)
        case 2 if x.ndim > 1:
            axes = random.permutation(x.ndim)
            return np.ascontiguousarray(x.transpose(axes)).transpose(np.argsort(axes))
        case 3 if x.ndim:
            return x[::-1]
        case 4 if x.ndim:
            return x[..., ::2]
        case 5 if x.ndim and x.dtype != bool:
            return x.astype(x.dtype.newbyteorder())
        case 6 if x.ndim == 0 or x.size < 20:
            return x.tolist() if random.random() < 0.5 else x[()]
    return x


def random_call(seed: int) -> Call:
    """Return a call that follows from a number."""
    random = np.random.default_rng(seed)
    pick = lambda options: options[int(random.integers(len(options)))]
    name, dtype, shape = pick(NAMES), pick(DTYPES), pick(SHAPES)
    op = pick(list(UFUNCS)) if name in ("reduce", "scan") else ""
    call = Call(name, layouts(random, elements(random, dtype, shape, name, op)), op=op)
    options = call.options
    if name in POSITIONS:
        return call
    if name in MASKED:
        size = int(random.integers(0, 3 + int(np.prod(shape))))
        call.mask = random.integers(0, 2, size).astype(pick(DTYPES))
        if random.random() < 0.2:
            call.mask = call.mask.tolist()
        return call
    ndim = len(np.shape(call.x))
    if random.random() < 0.7:
        axes: list[Any] = [None, *range(ndim), -1, *range(ndim), -ndim]
        if random.random() < 0.15:
            axes = [5, -7, 1.0, "x", True, [0], np.int64(0), (0,), (0, 0)]
        elif name in (*SUMS, *EXTREMES, *TRUTHS, "count_nonzero", "reduce") and ndim:
            axes += [(), tuple(range(ndim)), tuple(range(1, ndim)), (-1, 0) if ndim > 1 else (-1,)]
        options["axis"] = pick(axes)
    keeps = name not in (*CUMULATIVE, *ARRAY_API, *RUNNING, "scan")
    if keeps and random.random() < 0.4:
        options["keepdims"] = pick([True, False, 1, 0])
    takes_dtype = name in (*SUMS, *CUMULATIVE, *ARRAY_API, "reduce", "scan")
    if takes_dtype and random.random() < 0.3:
        options["dtype"] = pick([*DTYPES, "complex64", "bool", "object", "nonsense", np.float32])
    if name in ARRAY_API and random.random() < 0.4:
        options["include_initial"] = True
    takes_initial = name in (*SUMS, *EXTREMES, "reduce")
    if takes_initial and random.random() < 0.2:
        options["initial"] = pick([0, 1, 2, -1, 1000, 2.5, True, 1j, None, np.float32(2), "x"])
    if name not in ("count_nonzero",) and random.random() < 0.25:
        call.out = (pick([*DTYPES, "int64", "float64", "bool", dtype]), pick(["C", "C", "F", "gaps", "wrong"]))
    return call
