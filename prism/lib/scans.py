"""`prism.lib.scan`: prefix sums, and scans with any associative operator, of whole arrays or along an axis."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from prism.lang.types.structs import Struct, dtype_called, scalar_called, struct_of
from prism.lib import plans, repeat, result_arrays, scan_plans
from prism.lib.axes import normal_axis
from prism.lib.operators import Operator, number_in, operator_of
from prism.lib.records import is_record, require_numbers
from prism.lib.scan_plans import Plan, Shape, Task, number_of
from prism.runtime.arrays import (
    BFLOAT16,
    ArrayInfo,
    describe,
    one_place,
    require_aligned,
    require_contiguous,
    require_writable,
)
from prism.runtime.capture import require_outside
from prism.runtime.device import device
from prism.runtime.streams import choose_stream, order

NATIVE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
SUPPORTED = (*NATIVE, "float16", "bfloat16")
_BOOLEAN = ("minimum", "maximum", "bitwise_and", "bitwise_or", "bitwise_xor")  # of bools they are bools
_MOST = 4096  # tasks, and plans, that are kept
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
        Of int8 to int64, uint8 to uint64, float16, bfloat16, float32 or float64; of bool with the operators that have bools
        for results, or with a `dtype`; of complex64 or complex128; of a struct of 1, 2, 4, 8 or 16 bytes, with an operator of
        your own. Not modified, unless it is also `out`.
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
        integers wrap in their own type, unless a wider `dtype` is asked for. Floats become integers toward zero; NaN, and what
        the integers don't reach, becomes any number.
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
        `x` or `out` is no array, or of a dtype that is not supported (object; bool without `dtype`); one of them is
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
    asked = ("scan", op, axis, type(axis), exclusive, reverse, dtype)
    if initial is None and stream is None and (known := repeat.run(x, out, asked)) is not None:
        return known
    given = describe(x, "x")
    result_arrays.require_known(given, "x")
    task, shown = task_of(op, given, dtype, exclusive=bool(exclusive), reverse=bool(reverse))
    begin = shown if initial is None else initial_of(initial, task)
    along = None if axis is None else normal_axis(axis, max(1, len(given.shape)))
    shape = (given.size,) if along is None or not given.shape else given.shape
    result = None if out is None else result_of(out, given, task.result, shape)
    return run(given, task, begin, along, result, stream, asked if initial is None else None)


# -- Arguments ------------------------------------------------------------------------------------------------------------


_tasks: dict[Any, tuple[Task, Any]] = {}


def task_of(
    op: Any,
    given: ArrayInfo,
    asked: Any,
    *,
    exclusive: bool = False,
    reverse: bool = False,
    called: Called = _SCAN,
) -> tuple[Task, Any]:
    """Return what to compute, and what a result begins with; worked out once for arguments that can be looked up.

    Raises:
        TypeError: an operator, a dtype, or an operator of a dtype, that is not supported.
        ValueError: `op` names no operator.
    """
    key = (op, given.dtype, asked, exclusive, reverse)
    try:
        found = _tasks.get(key)
    except TypeError:  # what can't be looked up is no operator and no dtype, or a rare spelling of one
        return _task(op, given, asked, exclusive, reverse, called)
    if found is None:
        found = _task(op, given, asked, exclusive, reverse, called)
        if len(_tasks) >= _MOST:
            _tasks.clear()
        _tasks[key] = found
    return found


def _task(op: Any, given: ArrayInfo, asked: Any, exclusive: bool, reverse: bool, called: Called) -> tuple[Task, Any]:
    operator = operator_of(op)
    task = Task(operator, given.scalar, _scalar(given, asked, operator, called), exclusive, reverse)
    require_numbers(operator, task.result)
    if operator.integral and task.dtype.kind == "f":
        raise TypeError(f"`op`: `{operator.name}` is for integers, and the dtype is {task.result}")
    return task, task.identity(shown=exclusive)


def _scalar(given: ArrayInfo, asked: Any, operator: Operator, called: Called) -> str:
    """Return the name of the result's dtype."""
    function, array, dtype = called
    if asked is None:
        wanted, what = given.scalar, f"`{array}` has"
    else:
        wanted, what = scalar_of(asked, dtype), "`out` has" if dtype == "out" else "`dtype` is"
    if is_record(given.scalar) or is_record(wanted):
        if wanted == given.scalar:
            return wanted
        if is_record(wanted):
            raise TypeError(f"{what} dtype {dtype_called(wanted)}, to which {function} does not convert {given.dtype}")
        raise TypeError(f"`{array}` has dtype {given.dtype}, which {function} does not convert to {wanted}")
    if wanted not in SUPPORTED and not (wanted == "bool" and operator.name in _BOOLEAN and given.scalar == "bool"):
        hint = "; pass dtype= to convert, as dtype=numpy.int64" if asked is None and wanted == "bool" else ""
        if given.dtype.names:
            hint = ": a struct is a dtype of scalars, made with align=True"
        raise TypeError(f"{what} dtype {wanted}, which {function} does not support{hint}")
    if given.scalar not in (*SUPPORTED, "bool"):
        raise TypeError(f"`{array}` has dtype {given.scalar}, which {function} does not convert to {wanted}")
    return wanted


def scalar_of(asked: Any, name: str) -> str:
    """Return the name of a dtype that an argument gives; `name` is the argument's.

    Raises:
        TypeError: it is none.
    """
    if str(asked).removeprefix("torch.") == "bfloat16" or asked is BFLOAT16:
        return "bfloat16"
    try:
        found: np.dtype[Any] = np.dtype(str(asked).removeprefix("torch.") if str(asked).startswith("torch.") else asked)
    except TypeError as error:
        raise TypeError(f"`{name}`: {error}") from None
    struct = struct_of(found)
    return found.name if struct is None else struct.key


def initial_of(value: Any, task: Task) -> Any:
    """Return an initial value in the kernel's type.

    Raises:
        TypeError: it is no number, or none of the dtype.
    """
    struct = scalar_called(task.result)
    if isinstance(struct, Struct):
        try:
            return struct.to_library(struct.value(value))
        except (OverflowError, ValueError, TypeError) as error:
            raise TypeError(f"`initial`: {error}") from None
    try:
        number = number_in(value, np.dtype("bool") if task.result == "bool" else task.dtype)
    except (OverflowError, ValueError, TypeError):
        raise TypeError(f"`initial` must be a number of {task.result}, not {value!r}") from None
    return task.dtype.type(number).view(task.types[1])


def result_of(out: Any, given: ArrayInfo, scalar: str, shape: tuple[int, ...], called: Called = _SCAN) -> ArrayInfo:
    """Return the facts of an array for results, checked.

    Raises:
        TypeError: it is no array, of another library, dtype or place.
        ValueError: it is on another GPU, of another shape, read-only, not contiguous or not aligned to its elements.
    """
    result = describe(out, "out")
    one_place({called.array: given, "out": result})
    if result.library != given.library:
        raise TypeError(f"`out` must be an array of {given.library}, as `{called.array}` is, not of {result.library}")
    if result.scalar != scalar or not result.dtype.isnative:
        shown = result.scalar if result.dtype.isnative else f"{result.dtype}, in another byte order"
        raise TypeError(f"`out` must be of {scalar}, the result's dtype, not of {shown}")
    if result.shape != shape:
        raise ValueError(f"`out` must have shape {shape}, the result's, not {result.shape}")
    require_writable(result, "out")
    require_contiguous(result, "out")
    require_aligned(result, "out", result.dtype.itemsize)
    return result


# -- Memory ---------------------------------------------------------------------------------------------------------------


def overlap(source: ArrayInfo, result: ArrayInfo | None) -> bool:
    """Whether results overwrite elements before they are read: they overlap, but are not the same memory, element by element."""
    if result is None or (result.pointer == source.pointer and result.dtype.itemsize == source.dtype.itemsize):
        return False
    ends = [info.pointer + info.size * info.dtype.itemsize for info in (source, result)]
    return source.pointer < ends[1] and result.pointer < ends[0]


def dtype_of(scalar: str, given: ArrayInfo) -> Any:
    """Return the dtype that the library of `given` has for a type's name."""
    if scalar == given.scalar:
        return given.dtype.newbyteorder("=") if given.dtype.names is None else given.dtype
    if scalar == "bfloat16":
        return BFLOAT16
    return dtype_called(scalar)


def contiguous(given: ArrayInfo, result: ArrayInfo | None) -> ArrayInfo:
    """Return the elements in C order as the kernels take them, copied where they must be."""
    source = given
    if not given.contiguous or not given.dtype.isnative:
        source = describe(result_arrays.flat(given, dtype_of(given.scalar, given)), "x")
    if overlap(source, result) or not source.natural:
        copy = result_arrays.empty(given, source.size, dtype_of(given.scalar, given))
        copy[:] = result_arrays.flat(source, source.dtype)
        source = describe(copy, "x")
    return source


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


# -- Running --------------------------------------------------------------------------------------------------------------


def run(
    given: ArrayInfo,
    task: Task,
    initial: Any,
    axis: int | None,
    result: ArrayInfo | None,
    stream: Any,
    asked: Any = None,
) -> Any:
    """Scan an array along an axis, all as from the functions above, into `result`, or into a new array.

    `asked` stands for all options, if they decide everything but what the arrays do: then it is kept for the next such call.

    Raises:
        ValueError: a stream for an array on the host.
    """
    if given.device is None:
        if stream is not None:
            raise ValueError("`stream` is for arrays on a GPU, and these are on the host")
        return _run(given, task, initial, axis, result, None)
    handle = choose_stream(stream, (given,))
    order((given,) if result is None else (given, result), handle)
    fits = _fits(given, result)
    if result is not None and fits:
        y = result.owner
        _launch(given, result, task, initial, split_shape(given.shape, axis), handle)
    else:
        with result_arrays.working(given, None if stream is None else handle):
            y = _run(given, task, initial, axis, result, handle)
    if fits and (asked is not None or plans.planning()):  # nothing was copied: the next call decides nothing anew
        made = describe(y, "out")
        sizes = (given.size * given.dtype.itemsize, made.size * made.dtype.itemsize)
        plan = _plan_of(given, made, task, split_shape(given.shape, axis), handle)
        launch = plan.ready(given.device, number_of(initial))
        in_place = sizes[0] == sizes[1]
        plans.note(launch, (0, *sizes), in_place=in_place)
        if asked is not None:
            repeat.keep(
                given.library, given.owner, y, asked, launch, (0, *sizes), in_place=in_place, made=result is None
            )
    return y


def _fits(given: ArrayInfo, result: ArrayInfo | None) -> bool:
    """Whether the kernels take the elements as they are."""
    return bool(given.size and given.contiguous and given.natural and not overlap(given, result))


def _run(
    given: ArrayInfo, task: Task, initial: Any, axis: int | None, result: ArrayInfo | None, stream: int | None
) -> Any:
    """Make what must be made, a copy or a result, and scan."""
    axes = None if axis is None or result is not None or given.contiguous else memory_order(given)
    dtype = dtype_of(task.result, given)
    if axes is not None and axis is not None:  # where it lies
        lying = tuple(given.shape[k] for k in axes)
        made = result_arrays.empty(given, lying, dtype)
        y = result_arrays.transpose(given, made, tuple(int(k) for k in np.argsort(axes)))
        source, extents = given, split_shape(lying, axes.index(axis))
    else:
        shape = (given.size,) if axis is None or not given.shape else given.shape
        made = y = result_arrays.empty(given, shape, dtype) if result is None else result.owner
        source, extents = contiguous(given, result), split_shape(given.shape, axis)
    if given.size:
        target = result or describe(made, "out")
        if stream is None:
            _run_on_host(source, target, task, initial, extents)
        else:
            _launch(source, target, task, initial, extents, stream)
    return y


def plain(info: ArrayInfo, scalar: str) -> Any:
    """Return a NumPy array's elements in memory order as one axis of a kernel's type of the same size."""
    axes = np.argsort([-stride for stride in info.strides], kind="stable")
    lying = info.owner if info.contiguous else info.owner.transpose(axes)
    return lying.reshape(-1).view(dtype_called(scalar))


def _run_on_host(source: ArrayInfo, target: ArrayInfo, task: Task, initial: Any, extents: tuple[int, int, int]) -> None:
    way = scan_plans.on_host(task, Shape(*extents))
    given, _, stored = task.types
    arrays: tuple[Any, ...] = (plain(source, given), plain(target, stored))
    if way.scratch == "segments":
        arrays = (*arrays, np.zeros(1, np.uint32))
    scan_plans.run_on_host(way, task, arrays, initial)


def _past(info: ArrayInfo) -> int:
    """Return how many of an array's elements an address aligned for vectors stands before it; -1: no whole number."""
    elements, rest = divmod(info.pointer % _VECTOR, info.dtype.itemsize)
    return -1 if rest else elements


_plans: dict[Any, Plan] = {}


def _plan_of(source: ArrayInfo, target: ArrayInfo, task: Task, extents: tuple[int, int, int], stream: int) -> Plan:
    """Return what such a call takes, decided once.

    Raises:
        RuntimeError: it is not decided as yet, and a CUDA graph is being captured on the stream.
    """
    ordinal = source.device
    assert ordinal is not None
    past = _past(source), _past(target)
    key = (task, extents, past, ordinal)
    plan = _plans.get(key)
    if plan is None:
        require_outside(stream, "this scan")
        shape = Shape(*extents, past == (0, 0), past)
        plan = scan_plans.plan(scan_plans.on_device(task, shape, device(ordinal).sm_count), task, ordinal)
        if len(_plans) >= _MOST:
            _plans.clear()  # and not: keep no more, or no other shape could ever be captured in a graph
        _plans[key] = plan
    return plan


def _launch(
    source: ArrayInfo, target: ArrayInfo, task: Task, initial: Any, extents: tuple[int, int, int], stream: int
) -> None:
    """Launch what such a call takes."""
    plan = _plan_of(source, target, task, extents, stream)
    assert source.device is not None
    pointers = (source.pointer, target.pointer)
    plan(source.device, stream, (*pointers, 0) if plan.way.scratch == "segments" else pointers, number_of(initial))
