"""What the norms of rows come to that are rounded to 8 bits, with a scale for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.plan import OUT, Buffer, Machine, Reach, X, nothing
from prism.kernels import rows as kernels
from prism.kernels.rows.configurations import STAGED, Sharing
from prism.lib.algorithms.quantize.api import DTYPES, MOST, name_of
from prism.lib.algorithms.rows import plan as plans
from prism.lib.algorithms.rows.norms import SUM, column_type
from prism.lib.algorithms.rows.plan import number_of
from prism.lib.algorithms.scan.api import dtype_of
from prism.runtime.arrays import CODED, ArrayInfo

_SCALES = "scales"


def norm_quantized(
    function: str, x: Any, weight: Any, bias: Any, eps: float, residual: Any, dtype: Any, out: Any, stream: Any
) -> Any:
    """Return what `function` does, which is `rms_norm` or `layer_norm`, as numbers of 8 bits and scales.

    Raises:
        TypeError, ValueError: as these.
    """
    name = name_of(dtype)
    if out is not None:
        raise ValueError("`out` is for results of the dtype of `x`: with `dtype` results are made")
    more = {"weight": weight, "bias": bias, "residual": residual}
    given = {"x": x} | {key: array for key, array in more.items() if array is not None}
    asked = (function, tuple(given), repr(eps), name)
    if (known := repeat.run_many(asked, (*given.values(), None), stream)) is not None:
        return known
    small = number_of(eps, "eps", 0.0)

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        return _decide(function == "layer_norm", name, small, arrays, machine)

    return call(function, asked, given, decide, None, stream)


def _decide(centred: bool, name: str, eps: float, arrays: Mapping[str, ArrayInfo], machine: Machine) -> Decision:
    given, added = arrays["x"], arrays.get("residual")
    if given.scalar not in DTYPES:
        raise TypeError(f"`x` must be of {', '.join(DTYPES)} where results are of 8 bits, not of {given.scalar}")
    seen = {key: plans.rows_of(key, arrays[key], machine) for key in ("x", "residual") if key in arrays}
    if added is not None:
        plans.require_alike("residual", added, "x", given)
    columns = {key: arrays[key] for key in ("weight", "bias") if key in arrays}
    weighed = column_type(columns, given)
    unlike = (*(key for key, rows in seen.items() if rows is None), *arguments.not_plain(columns))
    if unlike:
        return Decision(copied=unlike)
    made = np.dtype(np.int8) if name == "int8" else CODED[name]
    results = [Result(given.shape, made), Result(given.shape[:-1], np.dtype(np.float32))]
    results += [Result(given.shape, dtype_of(given.scalar, given))] * (added is not None)
    names = (OUT, _SCALES, SUM)[: len(results)]
    if not given.size:
        return Decision(tuple(results), names, fill=0)
    every = [rows for rows in seen.values() if rows is not None]
    rows = every[0]
    width = plans.width_of(every, None, tuple(columns.values()))
    shared = sharing_of(every, width, machine, centred)
    flags = {"WEIGHT": "weight" in arrays, "RESIDUAL": added is not None} | (
        {"BIAS": "bias" in arrays} if centred else {}
    )
    memory = {
        "x": X, "q": Reach(OUT), "scales": Reach(_SCALES),
        "residual": Buffer("residual") if added is not None else nothing(given.scalar),
        "sum": Buffer(SUM) if added is not None else nothing(given.scalar),
    } | {
        key: Buffer(key) if key in arrays else nothing(weighed) for key in (("weight", "bias") if centred else ("weight",))
    }  # fmt: skip
    numbers = {
        "stride": rows.stride, "residual_stride": every[-1].stride, "eps": eps, "share": 1 / rows.n, "most": MOST[name],
    }  # fmt: skip
    kernel = kernels.norm_quantize_rows if centred else kernels.rms_quantize_rows
    template = template_of(given.scalar, weighed, name, centred) | flags
    if centred:
        template["FULL"] = plans.held_whole(rows.n, shared)
    return Decision(tuple(results), names, plans.launch(kernel, template, {**memory, **numbers}, rows, shared, machine))


def sharing_of(rows: Sequence[plans.Rows], width: int, machine: Machine, centred: bool) -> Sharing:
    """Return who shares rows: of wide ones whose mean is not taken off, parts are copied into shared memory.

    Those of 16 bits whose mean is, clusters of two or four blocks have in turn, where these have them whole. On one H200 that has
    0.77 and 0.67 of a copy's speed at 32,768 and 65,536 elements, for 0.72 and 0.63. A block alone is slower so.
    """
    if centred:
        found = plans.sharing(rows[0].n, width, "float32", machine, inputs=len(rows))
        short = len(rows) == 1 and plans.size_of(rows[0].scalar) == 2
        whole = plans.held_whole(rows[0].n, found) and plans.copied_by_vectors(rows, width, machine)
        return replace(found, way=STAGED, resident=1) if short and whole and found.blocks in (2, 4) else found
    return plans.sharing_wide(rows, width, "float32", machine, weights=1)


def template_of(scalar: str, weighed: str, name: str, centred: bool) -> dict[str, Any]:
    """Return the template arguments of a norm of 8 bits that follow from arrays' types, and from the result's, `name`."""
    sums = plans.sums_of("float32", (scalar,))
    types = {"TI": scalar, "TO": name, "W": weighed, "D": sums["D"], "S": sums["P"]}
    return types | ({"G": plans.guess_of(scalar)} if centred else {})


__all__ = ["norm_quantized", "sharing_of", "template_of"]
