"""`prism.lib.evaluate`: the array that a lazy one stands for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import arguments, lazies, repeat
from prism.host.call import Decision, Result, call
from prism.host.lazies import Sink
from prism.host.plan import Buffer, Machine, Plan, Step, X, Y, instance_of
from prism.kernels import transform as kernels
from prism.lang.types.structs import scalar_called
from prism.lib.algorithms.scan.api import dtype_of, past
from prism.lib.lazy.array import of
from prism.lib.records import is_record
from prism.runtime.arrays import ArrayInfo

_THREADS, _VECTORS = 256, 1  # of a block, and of 16 bytes that a thread loads of each array
_ROOM = 8  # elements of a thread, where some of them stay


def evaluate(x: Any, *, out: Any = None, where: Any = None, stream: Any = None) -> Any:
    """Return the array that a lazy array stands for, in one kernel; of any other array, a copy in C order.

    Parameters
    ----------
    x : lazy array or array
        What is computed: see `prism.lib.lazy`. Of any shape, and of any dtype that kernels have; structs of 1, 2, 4, 8
        or 16 bytes.
    out : array, optional
        Where to put the result: of the library and device of what `x` reads, of its shape and dtype, C-contiguous. It may overlap
        what `x` reads.
    where : array or lazy array of bool, optional
        Only these elements are computed, and written to `out`, which must be given; the others stay. Of the shape of `x`.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of the shape and dtype of `x`, of the library of its arrays and where they are: on the host, where it has none. `out`, if
        given.

    Raises
    ------
    TypeError
        `x` is no array, or of structs of another size; `out` is of another dtype, or lazy; `where` is not of bool.
    ValueError
        `out` has another shape, is read-only or not contiguous; `where` without `out`, or of another shape.

    Examples
    --------
    >>> x = np.array([3, 1, 4])
    >>> prism.lib.evaluate(prism.lib.lazy.of(x) * x)
    array([ 9,  1, 16])
    """
    if where is not None and out is None:
        raise ValueError("`where` leaves elements of `out` as they are: pass `out`")
    asked = ("evaluate",)
    if where is not None:
        if isinstance(out, Sink):
            raise TypeError("`where` leaves elements of `out` as they are: `out` must be an array")
        return call("evaluate", asked, {"x": x, "where": where}, _decide_where, out, stream)
    if stream is None and (known := repeat.run(asked, x, out)) is not None:
        return known
    if isinstance(out, Sink):
        out.write(of(x), stream)
        return out
    return call("evaluate", asked, {"x": x}, decide, out, stream)


def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
    """Return how an array of `x` is made: one launch."""
    given = arrays["x"]
    results = _results(given, result)
    if not (given.contiguous and given.natural):
        return Decision(copied=("x",))
    if not given.size:
        return Decision(results)
    size = given.dtype.itemsize
    width = 16 // size if size <= 16 and 16 % size == 0 else 1
    items = width * _VECTORS
    template = {
        "TI": _kernel_type(given),
        "TO": _kernel_type(given),
        "THREADS": _THREADS,
        "ITEMS": items,
        "WIDTH": width,
    }
    skew = past(given) % width if past(given) >= 0 else -1
    numbers = {
        "n": given.size,
        "skew": -1 if machine.host else skew,
        "y_aligned": not machine.host and past(result) == 0,
    }
    coded = given.scalar == "bfloat16"  # of which the dtype has a name, as those of structs have
    otherwise = np.zeros((), given.dtype)[()] if given.dtype.names and not coded else _zero(given)
    blocks = math.ceil(given.size / (_THREADS * items))
    step = Step(
        instance_of(kernels.copy, template), blocks, _THREADS, {"x": X, "y": Y, **numbers, "otherwise": otherwise}
    )
    return Decision(results, plan=Plan((step,)))  # not in place: threads past the end read what others write


def _decide_where(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
    given, mask = arrays["x"], arrays["where"]
    results = _results(given, result)
    if mask.dtype != np.dtype(bool):
        raise TypeError(f"`where` must be of bool, not of {mask.scalar}")
    if mask.shape != given.shape:
        raise ValueError(f"`where` must have shape {given.shape}, as `x`, not {mask.shape}")
    if copied := arguments.not_plain(arrays):
        return Decision(copied=copied)
    if not given.size:
        return Decision(results)
    template = {"TI": _kernel_type(given), "TO": _kernel_type(given), "THREADS": _THREADS, "ITEMS": _ROOM}
    arguments_of = {"x": X, "where": Buffer("where"), "y": Y, "n": given.size}
    blocks = math.ceil(given.size / (_THREADS * _ROOM))
    plan = Plan((Step(instance_of(kernels.copy_where, template), blocks, _THREADS, arguments_of),))
    return Decision(results, plan=plan, in_place=("x", "where"))


def _results(given: ArrayInfo, result: ArrayInfo | None) -> tuple[Result, ...]:
    """Return the one result, checked where it is there."""
    is_record(given.scalar)  # refuses structs of other sizes than kernels move
    if result is not None:
        arguments.require_result(result, given.scalar, given.shape)
    if scalar_called(given.scalar) is None:
        raise TypeError(f"`x` has dtype {given.dtype}, which evaluate does not support")
    return (Result(given.shape, dtype_of(given.scalar, given)),)


def _kernel_type(given: ArrayInfo) -> str:
    """Return what kernels move elements as: of bools their bytes."""
    return "uint8" if given.scalar == "bool" else given.scalar


def _zero(given: ArrayInfo) -> Any:
    return 0.0 if given.scalar == "bfloat16" else 0 if given.scalar == "bool" else given.dtype.type(0)


def _evaluated(info: lazies.LazyInfo) -> Any:
    return call("evaluate", ("evaluate",), {"x": info}, decide)


lazies.evaluators.append(_evaluated)
__all__ = ["decide", "evaluate"]
