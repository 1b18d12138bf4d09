"""`prism.lib.hgemm`: products of matrices of floats of 16 or 8 bits on the tensor cores, with what comes after them fused in."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from prism.host import memory
from prism.kernels import hgemm as kernels
from prism.kernels.hgemm import HOST, Configuration, blocks, choose, follows_late, group_m, identity, prefetch_steps
from prism.lang.surface import Kernel
from prism.lang.types import SCALARS
from prism.lib import matmul_warm as warm
from prism.lib.matmul_arguments import (
    eight_bits,
    require_extents,
    require_k_inside,
    require_like_result,
    require_operands,
)
from prism.lib.matmul_batches import Made, multiply_batch
from prism.lib.matmul_layouts import (
    COLUMNS,
    NO_BIAS,
    ROWS,
    Call,
    Job,
    arrange,
    empty,
    how_many,
    operands,
    other,
    transpose,
)
from prism.lib.reference import run
from prism.lib.sgemms import batch_of
from prism.runtime.arrays import CODED, ArrayInfo, describe, one_place, require_writable
from prism.runtime.device import device
from prism.runtime.instance import Instance, instance
from prism.runtime.streams import choose_stream, order
from prism.runtime.tensor_maps import encode

if TYPE_CHECKING:
    from prism.lang.tree.plan import Program

INPUTS = ("float16", "bfloat16")
FLOATS_OF_8_BITS = ("float8_e4m3fn", "float8_e5m2")
RESULTS = ("float16", "bfloat16", "float32")


def hgemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    scale_a: Any = None,
    scale_b: Any = None,
    bias: Any = None,
    epilogue: Kernel | None = None,
    out: Any = None,
    out_dtype: Any = None,
    dtype: Any = None,
    stream: Any = None,
) -> Any:
    """Return `epilogue(alpha * scale_a * scale_b * a @ b + beta * c + bias)`.

    Parameters
    ----------
    a, b : arrays of NumPy, CuPy or torch
        m x k and k x n, both of float16 or both of bfloat16. Any strides; a copy is made where neither axis has its elements
        one after the other, or rows (columns) don't begin at multiples of 16 bytes. Axes before these are a batch, and are
        broadcast as `numpy.matmul` does. Or each of float8_e4m3fn or float8_e5m2, `a` row-major and `b` column-major, as the
        `w.T` of a row-major n x k array: 8-bit floats are multiplied where they lie one after the other along k.
    c : array, optional
        Of the result's shape and dtype; read where `beta` is not 0. It may be `out`.
    alpha, beta : float
        Factors, taken as float32.
    scale_a, scale_b : array, optional
        Of float32: one element, for all of `a` or `b`; or one for each row of `a`, m or m x 1, or each column of `b`, n or 1 x n.
        For products of two matrices, not for batches.
    bias : array, optional
        Of `a`'s dtype, or for 8-bit floats of the result's: n elements (also as 1 x n), one added to each column; or m x 1, one
        added to each row.
    epilogue : device function, optional
        What to make of each element, at `thread[1]`: a function of one float32 with a float32 result, marked `prism("device")`.
    out : array, optional
        Where to put the result.
    out_dtype : dtype, optional
        float16, bfloat16 or float32, by name or as the library's own; by default that of `out`, or else of `a`, or for 8-bit
        floats float32.
    dtype : dtype, optional
        What 8-bit floats arrays of uint8 hold the bits of, for libraries that have none: "float8_e4m3fn" or "float8_e5m2"; or two
        of these, for `a` and for `b`.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        m x n for each product of the batch, of `a`'s library and on its device; `out`, if given.

    Raises
    ------
    TypeError
        An argument is no array, or of a dtype that is not supported; arrays of two dtypes, of two libraries, or on the host and
        on a GPU; `epilogue` is no device function.
    ValueError
        Shapes don't fit; an extent is larger than 2^31 - 2^10; 8-bit floats don't lie along k; `out` is read-only; `beta`
        without `c`; arrays on two GPUs; `stream` for arrays on the host.
    prism.lang.CompileError
        `epilogue` is not a function of one float32 at thread[1].
    DeviceError
        The GPU has no wgmma: it is no Hopper (sm_90a).

    Notes
    -----
    Products are exact and added in float32, in an order that depends on the shape alone: the same call gives the same bits. Those
    of 8-bit floats Hopper adds with about 14 bits (docs/hgemm.md). The result is rounded once. A batch is one launch where one
    stride leads from each row of an array's matrices to the next, as in dense arrays; k must be a multiple of 64 then, unless
    there is one `b` for all, or both operands have their elements side by side along k. Otherwise it is a launch for each
    product. A NumPy array runs on the reference machine, on the CPU, from the same kernel (`prism.kernels.hgemm`).

    Examples
    --------
    >>> import numpy as np, prism
    >>> a, b = np.eye(2, dtype=np.float16), np.array([[1, 2], [3, 4]], np.float16)
    >>> prism.lib.hgemm(a, b, alpha=2.0, out_dtype="float32")
    array([[2., 4.],
           [6., 8.]], dtype=float32)
    """
    if out is None and stream is None:
        out = warm.room(a, b, out_dtype)
    key = warm.key(a, b, c, bias, out, alpha, beta, epilogue, out_dtype, dtype)
    if scale_a is not None or scale_b is not None:
        key = warm.also(key, (scale_a, scale_b))
    if warm.repeat(key, stream):
        return out
    alpha, beta = float(alpha), float(beta)
    left, right = _operands(a, b, dtype)
    scales = _scale(scale_a, "scale_a", left, right), _scale(scale_b, "scale_b", left, right)
    job = _job(left, right, c, alpha, beta, bias, scales, identity if epilogue is None else epilogue, out, out_dtype)
    if job.a.device is not None:
        if out is None and len(job.a.shape) == len(job.b.shape) == 2:
            warm.keep_kind(a, b, out_dtype, job.kind)
    elif stream is not None:
        raise ValueError("`stream` is for arrays on a GPU, and `a` is on the host")
    return multiply(job, stream, key)


def multiply(job: Job, stream: Any = None, key: Any = None) -> Any:
    """Make a checked call's result; on a GPU its launches are kept under `key`, where nothing else needs to be done.

    Raises:
        prism.lang.CompileError, DeviceError: as `hgemm`.
    """
    return multiply_batch(job, _on_host)[0] if job.a.device is None else on_device(job, stream, key=key)


# -- Arguments --------------------------------------------------------------------------------------------------------


def _operands(a: Any, b: Any, dtype: Any) -> tuple[ArrayInfo, ArrayInfo]:
    """Return the operands' facts, checked; `dtype` says what arrays of uint8 hold."""
    given = dtype if isinstance(dtype, tuple | list) else (dtype, dtype)
    if len(given) != 2:
        raise TypeError(f"`dtype` is one dtype, or those of `a` and of `b`, not {len(given)}")
    left, right = _as(describe(a, "a"), "a", given[0]), _as(describe(b, "b"), "b", given[1])
    require_operands("hgemm", left, right, (*INPUTS, *FLOATS_OF_8_BITS), batched=True)
    if eight_bits(left.scalar):
        require_k_inside(left, "a", -1)
        require_k_inside(right, "b", -2)
    return left, right


def _as(info: ArrayInfo, name: str, dtype: Any) -> ArrayInfo:
    """Return the facts of an array whose elements are the bits of 8-bit floats, if `dtype` says so."""
    if dtype is None:
        return info
    kind = _dtype_name(dtype)
    if kind not in FLOATS_OF_8_BITS:
        raise TypeError(f"`dtype` says which 8-bit floats uint8 holds, {' or '.join(FLOATS_OF_8_BITS)}, not {kind}")
    if info.scalar not in ("uint8", kind):
        raise TypeError(f"`dtype` is {kind}, and `{name}` has dtype {info.scalar}, not uint8")
    return replace(info, dtype=CODED[kind])


def _dtype_name(dtype: Any) -> str:
    """Return the name of a dtype, given by name or as a library's own."""
    return dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype)).removeprefix("torch.")


def _job(
    left: ArrayInfo, right: ArrayInfo, c: Any, alpha: float, beta: float, bias: Any,
    scales: tuple[ArrayInfo | None, ArrayInfo | None], epilogue: Any, out: Any, out_dtype: Any,
) -> Job:  # fmt: skip
    """Return the arguments' facts, checked."""
    if not isinstance(epilogue, Kernel) or epilogue.kind != "device":
        raise TypeError('`epilogue` must be a device function, marked @prism("device")')
    require_extents(left, right)
    m, n = left.shape[-2], right.shape[-1]
    shape = (*batch_of(left, right), m, n)
    given = None if out is None else describe(out, "out")
    kind = _result_dtype(out_dtype, given, left)
    if beta and c is None:
        raise ValueError("`beta` is the factor of `c`, which is missing")
    before = describe(c, "c") if beta else None
    for name, info in (("out", given), ("c", before)):
        if info is not None:
            require_like_result(info, name, left, shape, kind)
    if given is not None:
        require_writable(given, "out")
    offsets, per = _bias(bias, left, m, n, _bias_kind(left, kind))
    present = {
        "a": left,
        "b": right,
        "c": before,
        "scale_a": scales[0],
        "scale_b": scales[1],
        "bias": offsets,
        "out": given,
    }
    one_place({name: info for name, info in present.items() if info is not None})
    return Job(left, right, before, offsets, per, given, kind, alpha, beta, epilogue, *scales)


def _result_dtype(asked: Any, out: ArrayInfo | None, a: ArrayInfo) -> str:
    """Return the name of the result's dtype."""
    if asked is not None:
        kind = _dtype_name(asked)
    elif out is not None:
        kind = out.scalar
    else:
        kind = "float32" if eight_bits(a.scalar) else a.scalar
    if kind not in RESULTS:
        what = "`out_dtype`" if asked is not None else "`out`"
        raise TypeError(f"{what} must be float16, bfloat16 or float32, not {kind}")
    return kind


def _bias_kind(a: ArrayInfo, kind: str) -> str:
    """Return the dtype of a bias, for a result of dtype `kind`."""
    return kind if eight_bits(a.scalar) else a.scalar


def _bias(bias: Any, a: ArrayInfo, m: int, n: int, kind: str) -> tuple[ArrayInfo | None, int]:
    """Return a bias's facts, and what it has an element for; its dtype must be `kind`."""
    if bias is None:
        return None, NO_BIAS
    info = describe(bias, "bias")
    if info.scalar != kind or info.library != a.library:
        whose = "as `a` is" if kind == a.scalar else "the result's dtype"
        raise TypeError(f"`bias` must be an array of {a.library} of {kind}, {whose}, not of {info.scalar}")
    if info.shape in ((n,), (1, n)):
        return info, COLUMNS
    if info.shape == (m, 1):
        return info, ROWS
    raise ValueError(f"`bias` must have shape {(n,)}, one a column, or {(m, 1)}, one a row, not {info.shape}")


def _scale(scale: Any, name: str, a: ArrayInfo, b: ArrayInfo) -> ArrayInfo | None:
    """Return the facts of an operand's scales."""
    if scale is None:
        return None
    info = describe(scale, name)
    if info.scalar != "float32" or info.library != a.library:
        raise TypeError(f"`{name}` must be an array of {a.library} of float32, not of {info.library} of {info.scalar}")
    if len(a.shape) > 2 or len(b.shape) > 2:
        raise ValueError(
            f"`{name}` is for two matrices: give a batch as one, its rows below each other, or scale the result"
        )
    many = a.shape[0] if name == "scale_a" else b.shape[1]
    each, what = (((many,), (many, 1)), "row") if name == "scale_a" else (((many,), (1, many)), "column")
    if info.size != 1 and info.shape not in each:
        raise ValueError(
            f"`{name}` must have one element, or shape {each[0]} or {each[1]}, one a {what}, not {info.shape}"
        )
    return info


# -- Programs ---------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1024)
def instance_for(
    kind: str, result: str, transposed: tuple[bool, bool], plain: bool, beta: bool, per: int, epilogue: Kernel,
    configuration: Configuration, batch: int = 0, other: str = "", trans: bool = False, scales: tuple[int, int] = (0, 0),
) -> Instance:  # fmt: skip
    """Return the kernel for dtypes and layouts, cut into tiles by a configuration; `batch` and `trans` as in `Call`.

    `other`: the dtype of b, where it is not that of a. `scales`: what `how_many` says of those of a, and of b.
    """
    sizes, outside = {"out_bytes": SCALARS[result].bytes, "in_bytes": SCALARS[kind].bytes}, transposed
    ahead = {"by_row": (scales[0] > 0) + (per == ROWS), "by_column": (scales[1] > 0) + (per == COLUMNS)}
    cut = configuration.template(
        transpose_a=outside[0], transpose_b=outside[1], trans=trans, beta=beta, **ahead, **sizes
    )
    facts: dict[str, Any] = {"T": kind, "TB": other or kind, "TBIAS": result if SCALARS[kind].stored else kind}
    facts |= {"OUT": result, "BIAS": per, "EPILOGUE": epilogue, "SCALE_A": scales[0], "SCALE_B": scales[1]}
    if configuration.parts > 1:
        assert not (beta or batch), "what is in parts reads no c, and is one product"
        return instance(kernels.hgemm_in_parts, tuple(sorted({**facts, **cut}.items())))
    facts |= {"PLAIN": plain, "BETA": beta, "BATCH": batch}
    return instance(kernels.hgemm, tuple(sorted({**facts, **cut}.items())))


def program_for(*facts: Any) -> Program:
    """Return the checked program of `instance_for`."""
    return instance_for(*facts).program


# -- NumPy: the reference machine -------------------------------------------------------------------------------------


def _on_host(job: Job) -> Made:
    m, n, k = job.shape
    result = empty(job.a, (m, n), job.kind)
    if m and n:
        left, right = operands(job)
        a, b = _bits(left), _bits(transpose(right) if job.k_inside else right)
        before = result if job.c is None else _bits(job.c)
        unused = SCALARS[_bias_kind(job.a, job.kind)].numpy
        bias = np.zeros(1, unused) if job.bias is None else _bits(job.bias).reshape(-1)
        facts = (job.a.scalar, job.kind, (False, not job.k_inside), False, job.c is not None, job.per, job.epilogue)
        scales = how_many(job.scale_a), how_many(job.scale_b)
        program = program_for(*facts, HOST, 0, other(job.kinds), False, scales)
        target = result.view(np.uint16) if job.kind == "bfloat16" else result
        before = before.view(target.dtype)
        numbers = (np.int64(n), bias, m, n, max(k, 1), 1, 0, job.alpha, job.beta)
        factors = [np.zeros(1, np.float32) if x is None else _bits(x).reshape(-1) for x in (job.scale_a, job.scale_b)]
        run(program, HOST.cluster, HOST.threads, (a, b, before, target, target.reshape(-1), *numbers, *factors))
    if job.out is None:
        return result, None
    job.out.owner[...] = result
    return job.out.owner, None


def _bits(info: ArrayInfo) -> Any:
    """Return a matrix's elements as the reference machine takes them: in C order, what NumPy hasn't as its bits."""
    found = np.ascontiguousarray(info.owner)
    return found.view(SCALARS[info.scalar].numpy) if info.scalar in CODED else found


# -- CuPy and torch: the GPU ------------------------------------------------------------------------------------------


def on_device(job: Job, stream: Any, configuration: Configuration | None = None, key: Any = None) -> Any:
    """Run a job on its GPU, cut into tiles by a configuration: by default the one that suits the shape.

    The launches are kept under `key`, where nothing else needs to be done.
    """
    handle = choose_stream(stream, (job.a,))
    given = (job.a, job.b, job.c, job.bias, job.out, job.scale_a, job.scale_b)
    order([info for info in given if info is not None], handle)
    with memory.working(job.a, None if stream is None else handle):
        result, call = multiply_batch(
            job,
            lambda one: _launch_product(one, handle, configuration),
            lambda every: _launch(every, job, handle, configuration),
        )
    if key is not None and call is not None:
        warm.keep(key, call)
    return result


def _launch_product(job: Job, stream: int, configuration: Configuration | None) -> Made:
    """Launch the product of two matrices."""
    call, again = arrange(job), None
    if call.out.size:
        again = _launch(call, job, stream, configuration)
    if call.copied:
        call.result[...] = call.out.owner
    return call.result if job.out is None else job.out.owner, again if call.takes_own_arrays(job) else None


def _launch(call: Call, job: Job, stream: int, configuration: Configuration | None) -> warm.Call | None:
    """Launch a product of matrices, or a batch; None, and nothing is done, where a step of a tile would be of two products."""
    assert job.a.device is not None
    m, n, k = call.shape
    processors = device(job.a.device).sm_count
    deep = -(-k * SCALARS[job.a.scalar].bytes // 2)  # the work of so many elements of 16 bits
    outside, alone = (call.transpose_a, call.transpose_b), not call.beta and call.batch == 0
    cut = configuration or choose(m, n, deep, processors, call.batches, outside, parted=alone)
    if call.batch == 0 and cut.transposes_out(outside):
        call = call.turn()
        m, n, k = call.shape
    apart = call.transpose_a and call.batch % 2 == 1, call.transpose_b and call.batch > 1
    if any(apart) and k % cut.bk:
        return None
    layout = (call.transpose_a, call.transpose_b)
    plain = call.plain or (call.batch > 0 and not cut.whole(m))
    facts = (call.kinds[0], job.kind, layout, plain, call.beta, call.per, job.epilogue)
    scales = how_many(call.scale_a), how_many(call.scale_b)
    launcher = instance_for(*facts, cut, call.batch, other(call.kinds), call.trans, scales).launcher(job.a.device)
    if call.batch == 0 and follows_late(cut, m, n, deep, processors, layout):
        launcher = launcher.serialize()
    down, across = cut.tiles(m, n)
    many = blocks(cut, down, across, processors, call.batches)
    maps = [
        info if isinstance(info, bytes) else encode(parameter, info)
        for parameter, info in zip(launcher.entry.parameters, call.maps[: 2 if cut.parts > 1 else None], strict=False)
    ]
    order = m if call.batch else group_m(cut, down, across, processors)
    ahead = 0 if call.batch else prefetch_steps(cut, m, n, deep, processors) * cut.bk * 2 // SCALARS[job.a.scalar].bytes
    how = (job.alpha,) if cut.parts > 1 else (order, ahead, job.alpha, job.beta)
    factors = (
        (call.bias if x is None else x).pointer for x in (call.scale_a, call.scale_b)
    )  # what is not read is any array
    matrix = call.out.pointer, call.stride, call.bias.pointer
    values = (*maps, *matrix, m * call.batches, n, k, *how, *factors)
    again = warm.Call(launcher, many, cut.threads, values, replace(job.a, owner=None))
    again.make(stream)
    return again
