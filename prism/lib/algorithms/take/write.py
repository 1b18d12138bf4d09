"""Elements that are written where they stand: `put` at indices, `place` and `putmask` where a mask says."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from prism.host import arguments, lazies
from prism.host.call import Decision, Result, call
from prism.host.lazies import LazyArray, LazyInfo
from prism.host.plan import OUT, Buffer, Machine, Plan, Step, instance_of, nothing
from prism.kernels import transform as kernels
from prism.lib.algorithms.scan.api import dtype_of
from prism.lib.algorithms.take.api import require_indices
from prism.lib.algorithms.take.compose import MODES, repeat_to, wrap_indices
from prism.lib.algorithms.transform.calls import bind_steps, stand_in
from prism.lib.lazy.array import Lazy, convert, of, of_number
from prism.runtime.arrays import ArrayInfo, describe, is_array, require_writable

_THREADS = 256
_ITEMS = 8  # of a thread of `copy_where`


def put(a: Any, ind: Any, v: Any, mode: str = "raise", *, stream: Any = None) -> None:
    """Write values at indices of an array in C order: `numpy.put`.

    Parameters
    ----------
    a : array of NumPy, CuPy or torch
        What is written, of any shape and strides.
    ind : array, lazy array or integer
        Of integers. Of equal ones any of the values may stand.
    v : array, lazy array or number
        The values, converted to the dtype of `a`, again and again where there are fewer than indices.
    mode, stream
        As for `prism.lib.take`.

    Raises
    ------
    TypeError
        As `prism.lib.take`; `v` has another kind of dtype than `a`, as floats for integers.
    IndexError, ValueError
        As `prism.lib.take`; `a` is read-only.

    Examples
    --------
    >>> x = np.array([3, 1, 4, 1, 5])
    >>> prism.lib.put(x, np.array([0, -1]), np.array([7, 9]))
    >>> x
    array([7, 1, 4, 1, 9])
    """
    if mode not in MODES:
        raise ValueError(f"`mode` must be one of {', '.join(MODES)}, not {mode!r}")
    size = int(np.prod(arguments.facts_of(a, "a").shape))
    ind, v = arguments.array_of(ind), arguments.array_of(v)
    require_indices(ind, size, mode, None)
    if 0 in getattr(v, "shape", (1,)):
        return  # as NumPy: there is nothing to put
    v = _real_of(v, a)

    def compose(arrays: Mapping[str, Lazy], target: Lazy) -> tuple[Lazy, Lazy]:
        places = wrap_indices(_flat(arrays["ind"]), size, mode)
        return repeat_to(_cast(arrays["v"], target, "v", "unsafe"), places.shape), places

    _write("put", (mode,), a, {"ind": ind, "v": v}, compose, stream)


def place(arr: Any, mask: Any, vals: Any, *, stream: Any = None) -> None:
    """Write values, one after the other, where a mask says: `numpy.place`.

    Parameters
    ----------
    arr : array of NumPy, CuPy or torch
        What is written, of any shape and strides.
    mask : array or lazy array
        Of bools or numbers, of as many elements as `arr`.
    vals : array, lazy array or number
        The values, converted to the dtype of `arr`: the first for the first place, and again from the first on where there are
        too few.
    stream : stream or int, optional
        As for `prism.lib.take`.

    Raises
    ------
    TypeError
        As `prism.lib.put`.
    ValueError
        `mask` has more or fewer elements than `arr`; there are no values; `arr` is read-only.

    Notes
    -----
    Two kernels: `prism.lib.flatnonzero`, and what writes. Nothing waits.

    Examples
    --------
    >>> x = np.array([3, 1, 4, 1, 5])
    >>> prism.lib.place(x, x > 2, np.array([70, 90]))
    >>> x
    array([70,  1, 90,  1, 70])
    """
    from prism.lib.algorithms.reduce.api import any as any_of
    from prism.lib.algorithms.select.api import flatnonzero

    mask = arguments.array_of(mask)
    facts = arguments.facts_of(mask, "mask")
    size = int(np.prod(arguments.facts_of(arr, "arr").shape))
    if int(np.prod(facts.shape)) != size:
        raise ValueError("`mask` and `arr` must have the same number of elements")
    if not size:
        return
    rule = _rule_of(vals)
    vals = arguments.array_of(vals)
    if 0 in getattr(vals, "shape", (1,)):
        if bool(any_of(mask, stream=stream)):  # as NumPy: where nothing is written none are needed
            raise ValueError("cannot insert from an empty array: `vals` has no elements")
        return
    found, many = flatnonzero(mask, count=True, stream=stream)

    def compose(arrays: Mapping[str, Lazy], target: Lazy) -> tuple[Lazy, Lazy]:
        return repeat_to(_cast(arrays["vals"], target, "vals", rule), (size,)), arrays["found"]

    _write("place", (rule,), arr, {"found": found, "vals": vals, "many": many}, compose, stream, name="arr")


def putmask(a: Any, mask: Any, values: Any, *, stream: Any = None) -> None:
    """Write values where a mask says, each at its own position: `numpy.putmask`.

    Parameters
    ----------
    a : array of NumPy, CuPy or torch
        What is written, of any shape and strides.
    mask : array or lazy array
        Of bools or numbers, of as many elements as `a`.
    values : array, lazy array or number
        Element `i % len(values)`, in C order, is for element `i` of `a`, and converted to its dtype.
    stream : stream or int, optional
        As for `prism.lib.take`.

    Raises
    ------
    TypeError
        As `prism.lib.put`.
    ValueError
        `mask` has more or fewer elements than `a`; `a` is read-only.

    Examples
    --------
    >>> x = np.array([3, 1, 4, 1, 5])
    >>> prism.lib.putmask(x, x > 2, np.array([70, 80, 90]))
    >>> x
    array([70,  1, 90,  1, 80])
    """
    size = int(np.prod(arguments.facts_of(a, "a").shape))
    if int(np.prod(arguments.facts_of(mask, "mask").shape)) != size:
        raise ValueError("`mask` and `a` must have the same number of elements")
    rule, values = _rule_of(values), arguments.array_of(values)

    def compose(arrays: Mapping[str, Lazy], target: Lazy) -> tuple[Lazy, Lazy]:
        truth = _flat(arrays["mask"])
        if truth.scalar.name != "bool":
            truth = truth != 0
        return repeat_to(_cast(arrays["values"], target, "values", rule), (size,)), truth

    _write("putmask", (rule,), a, {"mask": mask, "values": values}, compose, stream)


# -- Writing --------------------------------------------------------------------------------------------------------------


def _write(
    function: str, asked: tuple[Any, ...], target: Any, given: Mapping[str, Any],
    compose: Callable[[Mapping[str, Lazy], Lazy], tuple[Lazy, Lazy]], stream: Any, *, name: str = "a",
) -> None:  # fmt: skip
    """Write what `compose` makes of arrays and of the target's type: values, and their places or where they stand."""
    require_writable(describe(target, name), name)
    given = {key: arguments.array_of(one) for key, one in given.items()}
    numbers = {key: of_number(one, None, (1,)) for key, one in given.items() if not _is_array(one)}
    arrays = {key: _settled(one, target) for key, one in given.items() if key not in numbers}
    known = tuple((key, type(given[key]), str(given[key])) for key in numbers)

    def decide(infos: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        assert result is not None
        shape, scalar = infos["x"].shape, infos["x"].scalar
        places = {key: stand_in(info, k) for k, (key, info) in enumerate(infos.items())}
        made = {key: of(info, key) for key, info in places.items() if key != "x"}
        values, where = compose({**made, **numbers}, of(places["x"], name))
        plain = result.contiguous and result.natural
        decision: dict[str, Any] = {
            "results": (Result(shape, dtype_of(scalar, infos["x"])),), "begins": "x", "in_place": ("x",), "beside": not plain
        }  # fmt: skip
        if not where.size or not values.size or 0 in shape:
            return Decision(**decision, plan=Plan(()))
        if copied := arguments.not_plain({key: info for key, info in infos.items() if key != "x"}):
            return Decision(copied=copied)
        kind = "uint8" if scalar == "bool" else scalar
        common = {"TI": kind, "TO": kind, "THREADS": _THREADS}
        taken: dict[str, Any] = {"x": Buffer("x"), "y": Buffer(OUT), "n": where.size}
        marks = "where" if function == "putmask" else "spots"
        taken[marks] = Buffer(marks)
        if function == "putmask":
            instance, each = instance_of(kernels.copy_where, {**common, "ITEMS": _ITEMS}), _THREADS * _ITEMS
        else:
            counted = "many" in infos
            instance, each = instance_of(kernels.scatter, {**common, "COUNTED": counted}), _THREADS
            taken["kept"] = Buffer("many") if counted else nothing("int64")
        views = {"x": _view(values), marks: _view(where)}
        step = Step(instance, -(-where.size // each), _THREADS, taken)
        return Decision(**decision, plan=Plan(bind_steps((step,), views, places, machine.arch)))

    call(function, (function, *asked, *known), {"x": target, **arrays}, decide, target, stream, called={"x": name})


def _is_array(one: Any) -> bool:
    return is_array(one) or isinstance(one, LazyArray)


def _view(lazy: Lazy) -> LazyInfo:
    found = describe(lazy)
    assert isinstance(found, LazyInfo)
    return found


def _settled(one: Any, target: Any) -> Any:
    """Return a lazy array as an array, in memory beside the target; others as they are."""
    if not isinstance(one, LazyArray):
        return one
    return lazies.memory_of(lazies.settle({"v": describe(one, "v"), "target": describe(target, "a")})["v"])


def _flat(x: Lazy) -> Lazy:
    return Lazy(x.value, x.scalar, (x.size,), x.leaves, x.numbers)


def _real_of(v: Any, a: Any) -> Any:
    """Return the real parts of complex values for an array of real numbers, with NumPy's warning."""
    kinds = [arguments.facts_of(one, "a").dtype.kind if _is_array(one) else "" for one in (a, v)]
    if kinds[1] != "c" or kinds[0] in "cV" or isinstance(v, LazyArray):
        return v
    text = "Casting complex values to real discards the imaginary part"
    warnings.warn(text, np.exceptions.ComplexWarning, stacklevel=3)
    return v.real


def _rule_of(values: Any) -> str:
    """Return by which of NumPy's rules values are converted: arrays more strictly than numbers of Python's, and lists."""
    return "safe" if _is_array(values) or isinstance(values, np.generic) else "same_kind"


def _cast(x: Lazy, target: Lazy, name: str, rule: Any) -> Lazy:
    """Return values in the dtype of an array that they are written to.

    Raises:
        TypeError: they are not converted so by the rule.
    """
    if not np.can_cast(x.dtype, target.dtype, rule) or (x.dtype.kind == "c" and target.dtype.kind != "c"):
        raise TypeError(f"`{name}` is of {x.scalar}, which is not cast to {target.scalar} by the rule '{rule}'")
    return _flat(convert(x, target.scalar))


__all__ = ["place", "put", "putmask"]
