"""`prism.lib.scan`: prefix sums, and scans with any associative operator, of whole arrays."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from prism.interpret import run
from prism.kernels.scan import DEVICE, HOST_LARGE, HOST_SMALL, Configuration
from prism.kernels.scan import scan as kernel
from prism.lang.pipeline import build
from prism.lang.plan import Program
from prism.lib import own
from prism.lib.operators import Operator, operator_of
from prism.runtime.arrays import ArrayInfo, describe, one_place, require_contiguous, require_writable
from prism.runtime.build import entry_of
from prism.runtime.device import device
from prism.runtime.launch import Launcher, prepare
from prism.runtime.scratch import SCRATCH
from prism.runtime.streams import choose_stream, order

NATIVE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
_VECTOR = 16  # bytes: what a vectorised kernel's arrays must be aligned to
_FEWEST_WORDS = 4096
_CONTROL = 64  # bytes before the words: the counter and the epoch, in a sector of their own


def scan(
    x: Any,
    op: str | Operator = "add",
    *,
    exclusive: bool = False,
    dtype: Any = None,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Return the running combination of an array's elements: by default their cumulative sum.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch
        Of int8 to int64, uint8 to uint64, float32 or float64, or whatever converts to `dtype`. More than one dimension is
        taken in C order, as by `cupy.cumsum(x)`. Not modified, unless it is also `out`.
    op : str or Operator, default "add"
        One of "add", "multiply", "minimum", "maximum", "bitwise_and", "bitwise_or", "bitwise_xor", or a
        `prism.lib.Operator` of a device function of your own.
    exclusive : bool, default False
        Leave each element out of its own result: the first is the operator's identity.
    dtype : dtype, optional
        What to convert elements to, and to compute in. By default that of `x`: unlike `numpy.cumsum`, sums of small
        integers wrap in their own type, unless a wider `dtype` is asked for.
    out : array, optional
        Where to put the result: of `x`'s library and device, one dimension, the result's dtype, C-contiguous. It may be
        `x` itself, or overlap it.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of one dimension with `x.size` elements, of `x`'s library and on its device; `out`, if given. Element `i` is
        ``op(x[0], ..., x[i])``, or ``op(x[0], ..., x[i - 1])`` where `exclusive`.

    Raises
    ------
    TypeError
        `x` or `out` is no array, or of a dtype that is not supported (bool, complex, object; half precision without
        `dtype`); one of them is on the host and the other on a GPU; `op` is neither a name nor an Operator.
    ValueError
        `out` has another shape, is read-only or not contiguous, or is on another GPU; `op` names no operator.

    Notes
    -----
    One pass: each element is read once and written once. A NumPy array runs on the reference machine on the CPU, a CuPy
    array or torch tensor on its GPU, from the same kernel (`prism.kernels.scan`). Nothing is copied between host and
    device, and nothing waits for the GPU. After the first call of a kind a call allocates only its result, and can be
    captured in a CUDA graph.

    Integers wrap. Sums of floats are grouped in an order that varies from run to run on a GPU, so the last bits may differ
    between runs.

    Examples
    --------
    >>> import numpy as np, prism
    >>> prism.lib.scan(np.array([3, 1, 4, 1, 5]))
    array([ 3,  4,  8,  9, 14])
    >>> prism.lib.scan(np.array([3, 1, 4, 1, 5]), exclusive=True)
    array([0, 3, 4, 8, 9])
    >>> prism.lib.scan(np.array([3.0, 1.0, 4.0]), "maximum")
    array([3., 3., 4.])
    """
    given = describe(x, "x")
    own.require_known(given, "x")
    operator, wanted = _kind(op, given.dtype, dtype)
    result = None if out is None else _result(out, given, wanted)
    if given.device is not None:
        return _on_device(given, operator, bool(exclusive), wanted, result, stream)
    if stream is not None:
        raise ValueError("`stream` is for arrays on a GPU, and `x` is on the host")
    return _on_host(given, operator, bool(exclusive), wanted, result)


# -- Arguments ------------------------------------------------------------------------------------------------------------


_kinds: dict[Any, tuple[Operator, np.dtype[Any]]] = {}


def _kind(op: Any, given: np.dtype[Any], asked: Any) -> tuple[Operator, np.dtype[Any]]:
    """Return the operator and the dtype to compute in; worked out once for arguments that can be looked up."""
    key = (op, given, asked)
    try:
        found = _kinds.get(key)
    except TypeError:  # what can't be looked up is no operator and no dtype, or a rare spelling of one
        operator = operator_of(op)
        return operator, _dtype(given, asked, operator)
    if found is None:
        operator = operator_of(op)
        found = operator, _dtype(given, asked, operator)
        if len(_kinds) < 1024:
            _kinds[key] = found
    return found


def _dtype(given: np.dtype[Any], asked: Any, operator: Operator) -> np.dtype[Any]:
    """Return the dtype to compute in."""
    if asked is None:
        wanted, what = given, "`x` has"
    else:
        try:
            wanted, what = np.dtype(asked), "`dtype` is"
        except TypeError as error:
            raise TypeError(f"`dtype`: {error}") from None
    if wanted.name not in NATIVE:
        hint = "" if asked is not None or given.kind not in "bf" else "; pass dtype= to convert, as dtype=numpy.float32"
        raise TypeError(f"{what} dtype {wanted}, which scan does not support{hint}")
    if given.kind not in "biuf":
        raise TypeError(f"`x` has dtype {given}, which scan does not convert to {wanted}")
    if operator.integral and wanted.kind == "f":
        raise TypeError(f"`op`: `{operator.name}` is for integers, and the dtype is {wanted}")
    return wanted.newbyteorder("=")


def _result(out: Any, given: ArrayInfo, wanted: np.dtype[Any]) -> ArrayInfo:
    """Return the facts of `out`, checked."""
    result = describe(out, "out")
    one_place({"x": given, "out": result})
    if result.library != given.library:
        raise TypeError(f"`out` must be an array of {given.library}, as `x` is, not of {result.library}")
    if result.dtype != wanted:
        raise TypeError(f"`out` must be of {wanted}, the result's dtype, not of {result.dtype}")
    if result.shape != (given.size,):
        raise ValueError(f"`out` must have shape {(given.size,)}, the result's, not {result.shape}")
    require_writable(result, "out")
    require_contiguous(result, "out")
    return result


def _must_copy(given: ArrayInfo, wanted: np.dtype[Any], result: ArrayInfo | None) -> bool:
    """Whether the kernel can't take the elements as they are: of another dtype or layout, or partly under the result."""
    return given.dtype != wanted or not given.contiguous or _overlap(given, result)


def _overlap(source: ArrayInfo, result: ArrayInfo | None) -> bool:
    """Whether the result overwrites elements before they are read: it overlaps them, but is not the same memory."""
    if result is None or result.pointer == source.pointer:
        return False
    size = source.size * source.dtype.itemsize
    return source.pointer < result.pointer + size and result.pointer < source.pointer + size


def _source(given: ArrayInfo, wanted: np.dtype[Any], result: ArrayInfo | None) -> ArrayInfo:
    """Return the elements as the kernel takes them, copied where it must be."""
    source = given
    if given.dtype != wanted or not given.contiguous:
        source = describe(own.flat(given, wanted), "x")
    if _overlap(source, result):
        copy = own.empty(given, source.size, wanted)
        copy[:] = own.flat(source, wanted)
        source = describe(copy, "x")
    return source


def _words(tiles: int) -> int:
    """Return how many mailboxes to keep for so many tiles: a few sizes only, each with a counter and epoch of its own."""
    words = _FEWEST_WORDS
    while words < tiles:
        words *= 4
    return words


@functools.lru_cache(maxsize=1024)
def program_for(
    operator: Operator, exclusive: bool, dtype: np.dtype[Any], vectorized: bool, configuration: Configuration
) -> tuple[Program, np.dtype[Any], Any]:
    """Return the kernel for an operator and dtype, the dtype that it runs in, and the identity."""
    identity = operator.identity_of(dtype, shown=exclusive)
    if operator.modular and dtype.kind == "i":
        dtype = np.dtype(f"u{dtype.itemsize}")
        identity = identity.view(dtype)
    template = {"T": dtype.name, "OP": operator.function, "EXCLUSIVE": exclusive, "VECTORIZED": vectorized}
    return build(kernel, {**template, **configuration.template()}), dtype, identity


def _word_bytes(dtype: np.dtype[Any]) -> int:
    return 8 if dtype.itemsize <= 4 else 16


# -- NumPy: the reference machine -----------------------------------------------------------------------------------------


def _on_host(
    given: ArrayInfo, operator: Operator, exclusive: bool, wanted: np.dtype[Any], result: ArrayInfo | None
) -> Any:
    y = own.empty(given, given.size, wanted) if result is None else result.owner
    if not given.size:
        return y
    source = _source(given, wanted, result)
    configuration = HOST_SMALL if given.size <= 4 * HOST_SMALL.tile else HOST_LARGE
    program, runs_in, identity = program_for(operator, exclusive, wanted, False, configuration)
    words = _words(-(-given.size // configuration.tile))
    boxes = np.zeros(words * _word_bytes(wanted) // 8, np.uint64)
    x = source.owner.reshape(-1).view(runs_in)
    run(
        program,
        1,
        configuration.threads,
        (x, y.view(runs_in), given.size, identity, boxes, words, np.zeros(1, np.uint64)),
    )
    return y


# -- CuPy and torch: the GPU ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is decided once for a kind of call."""

    launch: Launcher
    threads: int
    tile: int
    blocks: int
    identity: Any
    word_bytes: int


@functools.lru_cache(maxsize=1024)
def _plan(operator: Operator, exclusive: bool, dtype: np.dtype[Any], vectorized: bool, ordinal: int) -> _Plan:
    configuration = DEVICE[dtype.itemsize]
    program, _, identity = program_for(operator, exclusive, dtype, vectorized, configuration)
    launch = prepare(entry_of(program, device(ordinal).arch), ordinal)
    blocks = launch.resident_blocks(configuration.threads)
    return _Plan(launch, configuration.threads, configuration.tile, blocks, identity.item(), _word_bytes(dtype))


def _on_device(
    given: ArrayInfo, operator: Operator, exclusive: bool, wanted: np.dtype[Any], result: ArrayInfo | None, stream: Any
) -> Any:
    handle = choose_stream(stream, (given,))
    order((given,) if result is None else (given, result), handle)
    if result is None or not given.size or _must_copy(given, wanted, result):
        with own.working(given, None if stream is None else handle):
            y = own.empty(given, given.size, wanted) if result is None else result.owner
            if not given.size:
                return y
            source = _source(given, wanted, result)
        target = result or describe(y, "out")
    else:
        y, source, target = result.owner, given, result
    assert given.device is not None
    vectorized = (source.pointer | target.pointer) % _VECTOR == 0
    plan = _plan(operator, exclusive, wanted, vectorized, given.device)
    tiles = -(-given.size // plan.tile)
    words = _words(tiles)
    control = SCRATCH.get(given.device, handle, _CONTROL + words * plan.word_bytes, f"scan {plan.word_bytes} {words}")
    values = (source.pointer, target.pointer, given.size, plan.identity, control + _CONTROL, words, control)
    plan.launch(min(tiles, plan.blocks), plan.threads, handle, values)
    return y
