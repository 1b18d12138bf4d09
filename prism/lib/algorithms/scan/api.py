"""`prism.lib.scan`: prefix sums, and scans with any associative operator, of whole arrays or along an axis."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from prism.host import arguments, numbers, repeat
from prism.host.axes import normal_axis
from prism.host.call import Decision, Result, call
from prism.host.plan import Machine, Number, Plan
from prism.lang.types.structs import dtype_called
from prism.lib import operators
from prism.lib.algorithms.scan import plan as scan_plans
from prism.lib.algorithms.scan.plan import Shape, Task
from prism.lib.operators import Operator, number_in, operator_of
from prism.lib.records import is_record, require_numbers
from prism.runtime.arrays import BFLOAT16, CODED, ArrayInfo

NATIVE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
SUPPORTED = (*NATIVE, "float16", "bfloat16")
_OF_BOOLS = {operators.add: operators.bitwise_or, operators.multiply: operators.bitwise_and}
"""What operators are of bools."""
_VECTOR = 16  # bytes: what a vectorised kernel's arrays must be aligned to


class Called(NamedTuple):
    """What the caller calls a function and two of its arguments, for errors."""

    function: str = "scan"
    array: str = "x"
    dtype: str = "dtype"


_SCAN = Called()


def scan(
    x: Any,
    op: str | Operator = "add",
    *,
    axis: int | None = None,
    exclusive: bool = False,
    reverse: bool = False,
    initial: Any = None,
    dtype: Any = None,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Return the running combination of an array's elements: by default their cumulative sum.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch
        Of bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64, complex64 or complex128; of a struct of
        1, 2, 4, 8 or 16 bytes, with an operator of your own. Not modified, unless it is also `out`.
    op : str or Operator, default "add"
        One of "add", "multiply", "minimum", "maximum", "bitwise_and", "bitwise_or", "bitwise_xor", or a
        `prism.lib.Operator` of a device function of your own.
    axis : int, optional
        The axis to scan along, for each index of the others. By default all elements are taken in C order, as by
        `cupy.cumsum(x)`.
    exclusive : bool, default False
        Leave each element out of its own result: the first is `initial`.
    reverse : bool, default False
        Begin with the last element, and go towards the first.
    initial : number, optional
        What the first element is combined with, on its left; by default the operator's identity.
    dtype : dtype, optional
        What to convert elements to, and to compute in. By default that of `x`: unlike `numpy.cumsum`, sums of small
        integers wrap in their own type, unless a wider `dtype` is asked for. Of bools `add` is or, `multiply`
        is and. Floats become integers toward zero; NaN, and what the integers don't reach, becomes any number.
    out : array, optional
        Where to put the result: of `x`'s library and device, of the result's shape and dtype, C-contiguous. It may be `x`
        itself, or overlap it.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of `x`'s library and on its device, of `x`'s shape, or of one dimension with `x.size` elements where `axis` is None;
        `out`, if given. Element `i` is ``op(initial, x[0], ..., x[i])``, or ``op(initial, x[0], ..., x[i - 1])`` where
        `exclusive`; with `reverse`, ``op(initial, x[n - 1], ..., x[i])``, or less `x[i]`.

    Raises
    ------
    TypeError
        `x` or `out` is no array, or of a dtype that is not supported (object); one of them is
        on the host and the other on a GPU; `op` is neither a name nor an Operator; `initial` is no number of the dtype.
    ValueError
        `out` has another shape, is read-only or not contiguous, or is on another GPU; `op` names no operator; `x` has no
        such `axis` (`numpy.exceptions.AxisError`); `stream` for arrays on the host.

    Notes
    -----
    One pass: each element is read once and written once, whatever the axis. A NumPy array runs on the reference machine on the
    CPU, a CuPy array or torch tensor on its GPU, from the same kernels (`prism.kernels.scan`). Nothing is copied between host
    and device, and nothing waits for the GPU. After the first call of a kind a call allocates only its result, and can be
    captured in a CUDA graph. An array whose axes lie in another order in memory, as those of `x.T`, is scanned where it
    lies, and the result has its layout; what has gaps, begins inside of an element, or overlaps `out` in part, is copied first.

    Integers wrap. Floats of 16 bits are added up as float32, and each result is rounded once. How sums of floats are grouped
    follows from the number of elements, their dtypes and alignment where `axis` is None: every run gives the same bits. Along an
    axis they may be grouped differently from run to run on a GPU, so that the last bits differ.

    Examples
    --------
    >>> import numpy as np, prism
    >>> prism.lib.scan(np.array([3, 1, 4, 1, 5]))
    array([ 3,  4,  8,  9, 14])
    >>> prism.lib.scan(np.array([3, 1, 4, 1, 5]), exclusive=True)
    array([0, 3, 4, 8, 9])
    >>> prism.lib.scan(np.array([3.0, 1.0, 4.0]), "maximum")
    array([3., 3., 4.])
    >>> prism.lib.scan(np.array([[3, 1, 4], [1, 5, 9]]), axis=1, reverse=True)
    array([[ 8,  5,  4],
           [15, 14,  9]])
    """
    bits = bits_of(initial, x, op, dtype)
    asked = ("scan", op, axis, type(axis), exclusive, reverse, dtype, begins(initial, bits))
    if stream is None and (known := repeat.run(asked, x, out, number=bits)) is not None:
        return known
    return _scan_anew(asked, x, op, axis, exclusive, reverse, initial, dtype, out, stream, bits)


def _scan_anew(
    asked: tuple[Any, ...],
    x: Any,
    op: str | Operator,
    axis: int | None,
    exclusive: bool,
    reverse: bool,
    initial: Any,
    dtype: Any,
    out: Any,
    stream: Any,
    bits: int | None,
) -> Any:
    """Do what `scan` does where no earlier call was like it."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        if (kind := conversion(given, dtype)) is not None:
            return Decision(copied=("x",), converted=kind)
        task, shown = task_of(op, given, dtype, exclusive=bool(exclusive), reverse=bool(reverse))
        begin = begin_of(initial, bits, shown, task)
        along = None if axis is None else normal_axis(axis, max(1, len(given.shape)))
        if result is not None:
            arguments.require_result(result, task.result, shape_of(given, along))
        return decide_scan(given, task, begin, along, result, machine)

    return call("scan", asked, {"x": x}, decide, out, stream, numbers=numbers_of(bits))


def bits_of(initial: Any, x: Any, op: Any, dtype: Any) -> int | None:
    """Return the bits of an initial value in the kernel's type, so that one plan does for all; None as `numbers.bits_of`."""
    if initial is None:
        return None

    def way(given: ArrayInfo, _: ArrayInfo | None) -> Callable[[Any], Any]:
        return functools.partial(initial_of, task=task_of(op, given, dtype)[0])

    return numbers.bits_of((op, dtype), initial, way, x)


def begin_of(initial: Any, bits: int | None, shown: Any, task: Task) -> Any:
    """Return what a plan begins with: a number of the call where its bits are given, else a value of the kernel's type.

    Raises:
        TypeError: as `initial_of`.
    """
    if bits is not None:
        return Number("initial", dtype=task.types[1])
    return shown if initial is None else initial_of(initial, task)


def numbers_of(bits: int | None) -> dict[str, int] | None:
    """Return the numbers of a call, by name."""
    return None if bits is None else {"initial": bits}


def begins(initial: Any, bits: int | None) -> Hashable:
    """Return what a plan's look-up must know of an initial value: that there is one where its bits are given, else what it is."""
    return bits is not None or (None if initial is None else arguments.exactly(initial))


def shape_of(given: ArrayInfo, axis: int | None) -> tuple[int, ...]:
    """Return the shape of a scan's result."""
    return (given.size,) if axis is None or not given.shape else given.shape


# -- Arguments ------------------------------------------------------------------------------------------------------------


def task_of(
    op: Any, given: ArrayInfo, asked: Any, *, exclusive: bool = False, reverse: bool = False, called: Called = _SCAN
) -> tuple[Task, Any]:
    """Return what to compute, and what a result begins with.

    Raises:
        TypeError: an operator, a dtype, or an operator of a dtype, that is not supported.
        ValueError: `op` names no operator.
    """
    operator = operator_of(op)
    result = _scalar(given, asked, operator, called)
    if result == "bool":
        operator = _OF_BOOLS.get(operator, operator)
    task = Task(operator, given.scalar, result, exclusive, reverse)
    require_numbers(operator, task.result)
    if operator.integral and task.dtype.kind == "f":
        raise TypeError(f"`op`: `{operator.name}` is for integers, and the dtype is {task.result}")
    return task, task.identity(shown=exclusive)


def conversion(given: ArrayInfo, asked: Any) -> np.dtype[Any] | None:
    """Return the dtype that elements must have first, which kernels do not convert to: to, from and among complex; and bool."""
    if asked is None:
        return None
    wanted, kind = arguments.dtype_of(asked), given.dtype.kind
    if given.dtype.names and given.dtype != BFLOAT16 or kind not in "biufcV" or wanted.kind not in "biufc":
        return None
    wanted = wanted.newbyteorder("=")
    other = wanted != given.dtype.newbyteorder("=") if "c" in (kind, wanted.kind) else (wanted.kind == "b" != kind)
    return wanted if other and wanted.itemsize <= 16 and given.dtype.itemsize <= 16 else None


def _scalar(given: ArrayInfo, asked: Any, operator: Operator, called: Called) -> str:
    """Return the name of the result's dtype."""
    function, array, dtype = called
    if asked is None:
        wanted, what = given.scalar, f"`{array}` has"
    else:
        wanted, what = arguments.scalar_of(asked, dtype), "`out` has" if dtype == "out" else "`dtype` is"
    if is_record(wanted):  # a struct is moved as it is, or not at all
        if wanted == given.scalar:
            return wanted
        raise TypeError(f"{what} dtype {dtype_called(wanted)}, to which {function} does not convert {given.dtype}")
    named = operator in operators.BY_NAME.values()
    if wanted not in SUPPORTED and not (wanted == "bool" and named and given.scalar == "bool"):
        hint = "; pass dtype= to convert, as dtype=numpy.int64" if asked is None and wanted == "bool" else ""
        if given.dtype.names:
            hint = ": a struct is a dtype of scalars, made with align=True"
        raise TypeError(f"{what} dtype {wanted}, which {function} does not support{hint}")
    if given.scalar not in (*SUPPORTED, "bool"):
        shown = given.scalar if given.scalar in CODED else given.dtype
        raise TypeError(f"`{array}` has dtype {shown}, which {function} does not convert to {wanted}")
    return wanted


def initial_of(value: Any, task: Task) -> Any:
    """Return an initial value in the kernel's type.

    Raises:
        TypeError: it is no number, or none of the dtype.
    """
    if (record := arguments.record_in(value, task.result, "initial")) is not None:
        return record
    try:
        number = number_in(value, np.dtype("bool") if task.result == "bool" else task.dtype)
    except (OverflowError, ValueError, TypeError):
        raise TypeError(f"`initial` must be a number of {task.result}, not {value!r}") from None
    return task.dtype.type(number).view(task.types[1])


# -- Memory ---------------------------------------------------------------------------------------------------------------


def dtype_of(scalar: str, given: ArrayInfo) -> Any:
    """Return the dtype that the library of `given` has for a type's name."""
    if scalar == given.scalar:
        return given.dtype.newbyteorder("=") if given.dtype.names is None else given.dtype
    if scalar == "bfloat16":
        return BFLOAT16
    return dtype_called(scalar)


def memory_order(given: ArrayInfo) -> tuple[int, ...] | None:
    """Return the axes in the order in which they lie in memory, the outermost first; None where there are gaps."""
    axes = tuple(sorted(range(len(given.shape)), key=lambda k: (-given.strides[k], -given.shape[k])))
    lying = replace(given, shape=tuple(given.shape[k] for k in axes), strides=tuple(given.strides[k] for k in axes))
    return axes if lying.contiguous and given.natural else None


def split_shape(shape: tuple[int, ...], axis: int | None) -> tuple[int, int, int]:
    """Return a C-contiguous array's extents before an axis, along it and behind it; None is all of it as one axis."""
    if axis is None or not shape:
        return 1, math.prod(shape), 1
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def past(info: ArrayInfo | None) -> int:
    """Return how many of an array's elements an address aligned for vectors stands before it; -1: no whole number.

    An array that is not made as yet will be aligned.
    """
    if info is None:
        return 0
    elements, rest = divmod(info.pointer % _VECTOR, info.dtype.itemsize)
    return -1 if rest else elements


def is_aligned(given: ArrayInfo, result: ArrayInfo | None) -> bool:
    """Whether an array and a result, which may not be made as yet, are aligned for vectors."""
    return past(given) == past(result) == 0


def decide_scan(
    given: ArrayInfo, task: Task, initial: Any, axis: int | None, result: ArrayInfo | None, machine: Machine
) -> Decision:
    """Return how to scan an array along an axis, all as from the functions above; `result` is dense and of the result's shape."""
    axes = None if axis is None or result is not None or given.contiguous else memory_order(given)
    if axes is None and not (given.contiguous and given.natural):
        kept = axis is not None and result is None and not given.dtype.names  # the result's axes lie as the array's
        return Decision(copied=("x",), converted=given.dtype.newbyteorder("=") if kept else None)
    if axes is not None and axis is not None:  # where it lies
        shape, axis = tuple(given.shape[k] for k in axes), axes.index(axis)
        back = tuple(int(k) for k in np.argsort(axes))
    else:
        shape, back = given.shape, None
    extents, made = split_shape(shape, axis), shape if axis is not None and shape else (given.size,)
    plan = plan_scan(task, extents, (past(given), past(result)), initial, machine) if given.size else None
    warned = "accumulate" if task.operator in (operators.add, operators.multiply) else ""
    return Decision((Result(made, dtype_of(task.result, given), back),), plan=plan, in_place=("x",), warned=warned)


def plan_scan(
    task: Task, extents: tuple[int, int, int], begins: tuple[int, int], initial: Any, machine: Machine
) -> Plan:
    """Return the plan of a scan of `(outer, n, inner)`; the array and the result begin so many elements past alignment."""
    if machine.host:
        way = scan_plans.on_host(task, Shape(*extents))
    else:
        way = scan_plans.on_device(task, Shape(*extents, begins == (0, 0), begins), machine.multiprocessors)
    return scan_plans.plan(way, task, initial, machine)


__all__ = ["scan"]
