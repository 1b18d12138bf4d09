"""`prism.lib.quantize`: elements of 8 bits and the scales that they were divided by."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import repeat
from prism.host.call import Decision, Result, call
from prism.host.lazies import LazyInfo
from prism.host.matrices import rows_of, width_of
from prism.host.plan import OUT, Clear, Machine, Plan, Reach, Scratch, Step, instance_of
from prism.kernels.quantize import find_largest, quantize_by, quantize_groups
from prism.kernels.rows import quantize_rows
from prism.lib.algorithms.rows import plan as plans
from prism.runtime.arrays import CODED, ArrayInfo

DTYPES = ("bfloat16", "float16", "float32")
MOST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0, "int8": 127.0}
"""The largest number of each dtype of results; of int8 the least is its negative."""
_THREADS, _EACH, _SCALES = 256, 2, "scales"
_LANES = 32  # that share a group at most
_HELD = 8  # vectors of a group that a thread has at most


def quantize(x: Any, dtype: Any = "float8_e4m3fn", *, group: str | int = "row", stream: Any = None) -> Any:
    """Return an array rounded to 8 bits, and the scales of its groups: an element is near `result * scale`.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of one axis or more, of float16, bfloat16 or float32. Rows that lie at equal distances are read where they lie; other
        arrays are copied first.
    dtype : {"float8_e4m3fn", "float8_e5m2", "int8"}, default "float8_e4m3fn"
        What the result is of; or the library's dtype of that name.
    group : {"row", "tensor"} or int, default "row"
        Which elements have a scale in common: those along the last axis, all, or so many neighbours along the last axis, whose
        extent is a multiple.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    tuple of arrays
        The result, of the shape of `x`, and the scales, of float32: of the shape of `x` without its last axis, or with as many
        as there are groups along it, or of one element. NumPy and CuPy, which have no floats of 8 bits, get their bits in
        records of one field.

    Raises
    ------
    TypeError
        `x` is no array of these dtypes; `dtype` is none of these.
    ValueError
        `x` has no axis; `group` is none of these, or does not divide the last extent; `stream` for arrays on the host.

    Notes
    -----
    The scale is the group's largest magnitude by the largest number of `dtype` (448, 57,344, 127), and 1 of zeros alone;
    elements are multiplied by its inverse, in float32, and rounded to nearest, ties to even. `hgemm` takes such operands.

    Examples
    --------
    >>> q, scales = prism.lib.quantize(np.array([[1.0, -0.5, 0.1], [0, 0, 0]], np.float32), "int8")
    >>> q
    array([[127, -64,  13],
           [  0,   0,   0]], dtype=int8)
    >>> scales.round(4)
    array([0.0079, 1.    ], dtype=float32)
    """
    name = name_of(dtype)
    if not (group in ("row", "tensor") or (isinstance(group, int) and not isinstance(group, bool) and group > 0)):
        raise ValueError(f'`group` must be "row", "tensor" or a positive integer, not {group!r}')
    asked = ("quantize", name, group)
    if stream is None and (known := repeat.run(asked, x, None)) is not None:
        return known

    decide = functools.partial(_decide, name=name, group=group)
    return call("quantize", asked, {"x": x}, decide, None, stream)


def name_of(dtype: Any) -> str:
    """Return the name of a dtype of 8 bits, or of a library's.

    Raises:
        TypeError: it is none of those that results may have.
    """
    said = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype)).removeprefix("torch.")
    if said not in MOST:
        raise TypeError(f"`dtype` must be one of {', '.join(MOST)}, not {dtype!r}")
    return str(said)


def _decide(
    arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine, *, name: str, group: str | int
) -> Decision:
    x = arrays["x"]
    if x.scalar not in DTYPES:
        raise TypeError(f"`x` must be of {', '.join(DTYPES)}, not of {x.scalar}")
    if not x.shape:
        raise ValueError("`x` must have an axis")
    n = x.shape[-1]
    if isinstance(group, int) and n % group:
        raise ValueError(f"`group` must divide the last extent of `x`, {n}, and is {group}")
    if rows_of(x) is None or (group == "tensor" and not x.contiguous):
        return Decision(copied=("x",))
    many = (1,) if group == "tensor" else x.shape[:-1] if group == "row" else (*x.shape[:-1], n // int(group))
    made = np.dtype(np.int8) if name == "int8" else CODED[name]
    results, names = (Result(x.shape, made), Result(many, np.dtype(np.float32))), (OUT, _SCALES)
    if not x.size:
        return Decision(results, names, fill=0)
    rows = x.size // n
    apart = (rows_of(x) or 0) if rows > 1 else 0
    width = (
        1
        if machine.host
        else width_of([x.dtype.itemsize], [n, apart, *([group] if isinstance(group, int) else [])], [x.pointer])
    )
    template = {"T": x.scalar, "Q": name, "WHOLE": name == "int8", "EACH": _EACH, "WIDTH": width}
    values = {"x": Reach("x"), "q": Reach(OUT), "scales": Reach(_SCALES), "most": MOST[name]}
    if group == "tensor":
        return Decision(results, names, plan=_of_all(x.size, template, values, machine))
    if group == "row":
        return Decision(results, names, plan=_of_rows(x, (rows, n, apart or n), name, machine))
    return _of_groups(x, int(group), apart if rows > 1 else n, results, names, template, values, machine)


def _of_groups(
    x: ArrayInfo, length: int, apart: int, results: tuple[Result, ...], names: tuple[str, ...], template: dict[str, Any],
    values: dict[str, Any], machine: Machine,
) -> Decision:  # fmt: skip
    """Return what groups of so many neighbours come to."""
    groups, vectors = x.size // length, length // int(template["WIDTH"])
    lanes = math.gcd(_LANES, vectors)
    if vectors == lanes > 1:  # two vectors of a thread are under way at once
        lanes //= 2
    if vectors // lanes <= _HELD:
        kernel = instance_of(quantize_groups, {**template, "LANES": lanes, "EACH": vectors // lanes})
        numbers = {"groups": groups, "per": x.shape[-1] // length, "apart": apart}
        step = Step(kernel, -(-groups * lanes // _THREADS), _THREADS, {**values, **numbers})
        return Decision(results, names, plan=Plan((step,)))
    if not x.contiguous:
        return Decision(copied=("x",))
    return Decision(results, names, plan=_of_rows(x, (groups, length, length), str(template["Q"]), machine))


def _of_rows(x: ArrayInfo, lie: tuple[int, int, int], name: str, machine: Machine) -> Plan:
    """Return the plan of groups that are rows, one launch: how many there are, their length, and how far apart they are."""
    rows = plans.Rows(*lie, x.scalar, plans.past(x), ready=not isinstance(x, LazyInfo))
    shared = plans.sharing_wide([rows], plans.width_of([rows], None), "float32", machine)
    values = {"x": Reach("x"), "q": Reach(OUT), "scales": Reach(_SCALES), "stride": rows.stride, "most": MOST[name]}
    return plans.launch(quantize_rows, {"TI": rows.scalar, "TO": name}, values, rows, shared, machine)


def _of_all(size: int, template: dict[str, Any], values: dict[str, Any], machine: Machine) -> Plan:
    """Return the plan of one group of all elements: the largest magnitude is found first."""
    scratch = Scratch()
    top = scratch.take("uint32", 1)
    first = instance_of(find_largest, {"T": template["T"], "EACH": 4, "WIDTH": template["WIDTH"]})
    each = _THREADS * template["WIDTH"]
    blocks = max(1, min(-(-size // (4 * each)), 8 * machine.multiprocessors))
    steps = (
        Clear(top),
        Step(first, blocks, _THREADS, {"x": values["x"], "top_bits": top, "n": size}),
        Step(
            instance_of(quantize_by, template),
            -(-size // (_EACH * each)),
            _THREADS,
            {**values, "top_bits": top, "n": size},
        ),
    )
    return Plan(steps, scratch=scratch.used)


__all__ = ["DTYPES", "MOST", "name_of", "quantize"]
