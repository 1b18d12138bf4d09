"""`prism.lib.sgemm`: products of matrices of float32 on the ordinary cores, of any shapes, strides and batches."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.host import memory
from prism.kernels.sgemm import HOST, LESSON, VARIANTS, Configuration, Layout, choose, clocks
from prism.lang.intrinsics.layouts import nest
from prism.lang.tree.plan import Program
from prism.lib import matmul_warm as warm
from prism.lib import sgemm_bf16x6, sgemm_ring
from prism.lib.matmul_arguments import MOST, require_extents, require_like_result, require_operands
from prism.lib.matmul_layouts import empty, rows_dense, transpose
from prism.lib.reference import run
from prism.lib.sgemm_matrices import SIZE, Matrix
from prism.runtime.arrays import ArrayInfo, describe, one_place, require_writable
from prism.runtime.device import device
from prism.runtime.instance import Instance, instance
from prism.runtime.overlap import overlap
from prism.runtime.streams import choose_stream, order

_KIND = "float32"
RING, ASYNC = "ring", "async"
ONE_BY_ONE = 1.15  # how much longer the fifth variant takes where elements are not loaded by fours


def sgemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    out: Any = None,
    variant: str = "auto",
    precision: str = "float32",
    stream: Any = None,
) -> Any:
    """Return `alpha * a @ b + beta * c`.

    Parameters
    ----------
    a, b : arrays of NumPy, CuPy or torch
        m x k and k x n, of float32, of any strides. Axes before these are a batch, and are broadcast as `numpy.matmul` does. On
        the GPU only "ring" copies operands first, of large products: what is not aligned to 16 bytes, and a column-major `b`
        beside a column-major `a`.
    c : array, optional
        Of the result's shape, float32; read where `beta` is not 0. It may be `out`, as in BLAS, and is copied otherwise.
    alpha, beta : float
        Factors, taken as float32. Where `alpha` is 0, `a` and `b` are not read.
    out : array, optional
        Where to put the result; any strides, and any overlap with the operands.
    variant : str
        How it is computed: "naive", "coalesced", "tiled", "vectorized", "warps", from Ampere on "async", on Hopper "ring"
        (docs/sgemm.md), or "auto": what suits the shape.
    precision : str
        "float32", or on Hopper "bf16x6": by the tensor cores, each element as a sum of three bfloat16 (docs/sgemm.md).
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        m x n for each product of the batch, of `a`'s library and on its device; `out`, if given.

    Raises
    ------
    TypeError
        An argument is no array, or not of float32; arrays of two libraries, or on the host and on a GPU.
    ValueError
        Shapes don't fit; `out` is read-only; `beta` without `c`; no such variant or precision, or both asked for; "ring" or
        "bf16x6" on another GPU than Hopper, "async" on one before Ampere; arrays on two GPUs; `stream` for arrays on the host.

    Notes
    -----
    Products are added in float32, on the GPU by fused multiply-adds, in an order that depends on the shape alone: the same call
    gives the same bits. A batch is one launch where its axes can be walked with one stride for each array, or by "ring" launches
    for each product; each axis beyond that is a loop. A NumPy array runs on the reference machine, on the CPU, from the same
    kernel (`prism.kernels.sgemm`).

    Examples
    --------
    >>> import numpy as np, prism
    >>> a, b = np.eye(2, dtype=np.float32), np.array([[1, 2], [3, 4]], np.float32)
    >>> prism.lib.sgemm(a, b, alpha=2.0)
    array([[2., 4.],
           [6., 8.]], dtype=float32)
    """
    if out is None and c is None and stream is None:
        out = warm.room(a, b, "sgemm")
    key = warm.key(a, b, c, None, out, "sgemm", alpha, beta, variant, precision)
    if warm.repeat(key, stream):
        return out
    left, right = describe(a, "a"), describe(b, "b")
    require_operands("sgemm", left, right, (_KIND,), batched=True)
    shape = (*batch_of(left, right), left.shape[-2], right.shape[-1])
    if beta and c is None:
        raise ValueError("`beta` is the factor of `c`, which is missing")
    given, before = None if out is None else describe(out, "out"), describe(c, "c") if beta else None
    for name, info in (("out", given), ("c", before)):
        if info is not None:
            require_like_result(info, name, left, shape, _KIND)
    if variant not in ("auto", *VARIANTS, ASYNC, RING):
        raise ValueError(f"`variant` must be one of auto, {', '.join(VARIANTS)}, {ASYNC}, {RING}, not {variant!r}")
    if precision not in (_KIND, sgemm_bf16x6.NAME):
        raise ValueError(f"`precision` must be {_KIND} or {sgemm_bf16x6.NAME}, not {precision!r}")
    if precision != _KIND and variant != "auto":
        raise ValueError(f"`variant` is of precision {_KIND}: leave it out, or {precision}")
    if out is None and left.device is not None and len(shape) == 2:
        warm.keep_kind(a, b, "sgemm", _KIND)
    way = variant if precision == _KIND else precision
    return multiply(Job(left, right, before, given, shape, float(alpha), float(beta), way), stream, key)


def batch_of(a: ArrayInfo, b: ArrayInfo) -> tuple[int, ...]:
    """Return the extents that stand before the last two, broadcast.

    Raises:
        ValueError: they don't fit.
    """
    try:
        return np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        remapped = "".join(
            f"{_spell_shape(x.shape)}->{_spell_shape((*x.shape[:-2], 'newaxis', 'newaxis'))} " for x in (a, b)
        )
        raise ValueError(
            f"operands could not be broadcast together with remapped shapes [original->remapped]: {remapped}"
            f" and requested shape {_spell_shape((a.shape[-2], b.shape[-1]))}"
        ) from None


def _spell_shape(shape: tuple[Any, ...]) -> str:
    return f"({','.join(map(str, shape))})"


@dataclass(frozen=True, slots=True)
class Job:
    """A checked call; `shape` is the result's, `variant` how it is made: the argument of that name, or a precision."""

    a: ArrayInfo
    b: ArrayInfo
    c: ArrayInfo | None
    out: ArrayInfo | None
    shape: tuple[int, ...]
    alpha: float = 1.0
    beta: float = 0.0
    variant: str = "auto"


def multiply(job: Job, stream: Any = None, key: Any = None) -> Any:
    """Make a job's result; the launch is kept under `key`, where nothing else needs to be done.

    Raises:
        TypeError: arrays are on the host and on a GPU.
        ValueError: `out` is read-only; arrays on two GPUs; a stream for arrays on the host; an extent is too large.
    """
    present = {"a": job.a, "b": job.b, "c": job.c, "out": job.out}
    found = {name: info for name, info in present.items() if info is not None}
    one_place(found)
    if job.out is not None:
        require_writable(job.out, "out")
    require_extents(job.a, job.b)
    if job.a.device is None:
        if stream is not None:
            raise ValueError("`stream` is for arrays on a GPU, and `a` is on the host")
        return _fill(job, None, None)
    handle = choose_stream(stream, (job.a,))
    order(list(found.values()), handle)
    with memory.working(job.a, None if stream is None else handle):
        return _fill(job, handle, key)


# -- the result -------------------------------------------------------------------------------------------------------


def _fill(job: Job, stream: int | None, key: Any) -> Any:
    """Make the result where it can be written, and bring it where it belongs."""
    target = job.out
    if target is None or not _usable(job, target):
        target, key = describe(empty(job.a, job.shape, _KIND)), None
    if job.c is not None and not _same(job.c, target):
        target.owner[...] = job.c.owner
        key = None
    every = list(launches(job, target)) if target.size else []
    for launch in every:
        launch.run(stream)
    if key is not None and len(every) == 1:
        warm.keep(key, every[0].on_device(job.a))
    if job.out is None:
        return target.owner
    if target is not job.out:
        job.out.owner[...] = target.owner
    return job.out.owner


def _usable(job: Job, out: ArrayInfo) -> bool:
    """Whether a kernel may write into `out`: rows or columns are dense, none overlap, and nothing is still to be read there."""
    forwards = all(stride > 0 for extent, stride in zip(out.shape, out.strides, strict=True) if extent > 1)
    reads = [job.a, job.b] if job.c is None or _same(job.c, out) else [job.a, job.b, job.c]
    dense = rows_dense(out) or rows_dense(transpose(out))
    apart = nest(tuple(zip(out.shape, out.strides, strict=True)))
    return _is_walkable(out) and forwards and dense and apart and not any(overlap(info, out) for info in reads)


def _same(one: ArrayInfo, two: ArrayInfo) -> bool:
    return one.pointer == two.pointer and one.strides == two.strides


def _is_walkable(info: ArrayInfo) -> bool:
    """Whether strides count elements, in the machine's byte order; of NumPy's fields of records they may not."""
    return info.dtype.isnative and info.pointer % SIZE == 0 and all(stride % SIZE == 0 for stride in info.strides)


# -- launches ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch: `batches` products."""

    a: Matrix
    b: Matrix
    c: Matrix
    batches: int
    sizes: tuple[int, int, int]
    factors: tuple[float, float]
    variant: str

    def layouts(self) -> tuple[Layout, Layout, Layout]:
        """Return how the five variants read A and B, and write the result."""
        m, n, k = self.sizes
        down_a = k <= 1 or (self.a.columns != 1 and self.a.rows == 1)
        down_b = k > 1 and self.b.rows == 1 and (self.b.columns != 1 or n == 1)
        left = self.a.layout((m, k, self.batches), down_a)
        right = self.b.layout((k, n, self.batches), down_b)
        return left, right._replace(along=down_b), self.c.layout((m, n, self.batches), False)

    def prepare(self, configuration: Configuration) -> tuple[Instance, int, tuple[Any, ...]]:
        """Return the kernel, the number of blocks and the arguments."""
        m, n, _ = self.sizes
        chosen = instance_for(configuration, *self.layouts())
        counted = (self.batches, *self.sizes) if configuration.counted else self.sizes
        values = (
            *counted, self.factors[0], self.a.argument(), *self.a[1:4], self.b.argument(), *self.b[1:4],
            self.factors[1], self.c.argument(), self.c.rows, self.c.matrices,
        )  # fmt: skip
        return chosen, configuration.grid(self.batches, m, n), values

    def run(self, stream: int | None) -> None:
        """Launch it, on the reference machine or on a GPU."""
        if stream is not None:
            self.on_device(self.a.info).make(stream)
        elif self.variant == sgemm_bf16x6.NAME and self.sizes[2]:
            self.split().on_host()
        elif self.variant in (ASYNC, RING) and self.sizes[2]:
            (self.ring(132) if self.variant == RING else self.asynchronous(132)).on_host()
        else:
            configuration = LESSON.get(self.variant, HOST)
            chosen, blocks, values = self.prepare(configuration)
            run(chosen.program, blocks, configuration.threads, values)

    def ring(self, processors: int) -> sgemm_ring.Ring:
        """Return how the sixth variant makes it."""
        wide = self.layouts()[2].wide
        return sgemm_ring.arrange(self.a, self.b, self.c, self.batches, self.sizes, self.factors, wide, processors)

    def asynchronous(self, processors: int) -> sgemm_ring.AsyncRing:
        """Return how it is made without tensor copies."""
        *layouts, (_, wide) = self.layouts()
        factors, of = self.factors, (self.a, self.b, self.c)
        return sgemm_ring.arranged_async(
            *of, self.batches, self.sizes, factors, (layouts[0], layouts[1]), wide, processors
        )

    def split(self) -> sgemm_bf16x6.Product:
        """Return how the tensor cores make it."""
        return sgemm_bf16x6.Product(self.a, self.b, self.c, self.batches, self.sizes, self.factors)

    def plan(self, arch: str, processors: int) -> sgemm_ring.Ring | Configuration:
        """Return what suits it on a GPU, of what the variant admits.

        Raises:
            ValueError: the variant is another architecture's.
        """
        if self.variant in LESSON:
            return LESSON[self.variant]
        hopper = arch == sgemm_ring.ARCH
        if self.variant == RING and not hopper:
            raise ValueError(
                f"`variant` is {RING}, which needs a Hopper GPU ({sgemm_ring.ARCH}), and this one is {arch}"
            )
        if not sgemm_ring.has_async(arch) and self.variant == ASYNC:
            raise ValueError(
                f"`variant` is {ASYNC}, which needs a GPU from sm_{sgemm_ring.FIRST} on, and this one is {arch}"
            )
        fifth = choose(self.batches, *self.sizes, processors)
        if not sgemm_ring.has_async(arch) or self.sizes[2] == 0:
            return fifth
        tensor = hopper and self.variant != ASYNC
        ring = self.ring(processors) if tensor else self.asynchronous(processors)
        slower = 1.0 if all(layout.wide for layout in self.layouts()) else ONE_BY_ONE
        if self.variant != "auto" or ring.clocks < slower * clocks(fifth, self.batches, *self.sizes, processors):
            return ring
        return fifth

    def on_device(self, where: ArrayInfo, configuration: Configuration | None = None) -> warm.Again:
        """Return the call on a GPU that it comes down to, by default as it suits the shape."""
        assert where.device is not None
        gpu = device(where.device)
        if self.variant == sgemm_bf16x6.NAME and self.sizes[2]:
            sgemm_bf16x6.require(gpu.arch)
            return self.split().on_device(where, gpu.sm_count)
        found = configuration or self.plan(gpu.arch, gpu.sm_count)
        if isinstance(found, sgemm_ring.Ring):
            return found.on_device(where)
        chosen, blocks, values = self.prepare(found)
        launcher = chosen.launcher(where.device)
        return warm.Call(launcher, blocks, found.threads, values, replace(where, owner=None))


@functools.lru_cache(maxsize=1024)
def instance_for(configuration: Configuration, a: Layout, b: Layout, c: Layout) -> Instance:
    """Return the kernel that a configuration names, for matrices that lie so."""
    template = configuration.template(a, b, c)
    return instance(VARIANTS[configuration.variant], tuple(sorted(template.items())))


def program_for(configuration: Configuration, a: Layout, b: Layout, c: Layout) -> Program:
    """Return the checked program of `instance_for`."""
    return instance_for(configuration, a, b, c).program


def launches(job: Job, target: ArrayInfo) -> Iterator[Launch]:
    """Return the launches that a job takes, one for each of the batch's matrices that one stride does not lead to."""
    a, b = _read(job.a), _read(job.b)
    if not rows_dense(target):
        a, b, target = transpose(b), transpose(a), transpose(target)
    (m, k), n = a.shape[-2:], target.shape[-1]
    axes = _merge(target.shape[:-2], [_steps(info, len(target.shape) - 2) for info in (a, b, target)])
    batches, *steps = axes.pop() if axes else (1, 0, 0, 0)
    (rs_a, cs_a), (rs_b, cs_b), (rs_c, cs_c) = (
        tuple(stride // SIZE for stride in info.strides[-2:]) for info in (a, b, target)
    )
    if steps[1] == 0 and steps[0] == m * rs_a and steps[2] == m * rs_c and batches * m <= MOST:
        m, batches = m * batches, 1  # one `b` for all: products below each other are one product
    for index in itertools.product(*(range(extent) for extent, *_ in axes)):
        starts = [sum(i * axis[1 + x] for i, axis in zip(index, axes, strict=True)) for x in range(3)]
        yield Launch(
            Matrix(a, rs_a, cs_a, steps[0], starts[0]),
            Matrix(b, rs_b, cs_b, steps[1], starts[1]),
            Matrix(target, rs_c, cs_c, steps[2], starts[2]),
            batches, (m, n, k if job.alpha else 0), (job.alpha, job.beta), job.variant,
        )  # fmt: skip


def _read(info: ArrayInfo) -> ArrayInfo:
    """Return an operand that can be walked: itself, or on the host a copy."""
    backwards = info.device is None and any(stride < 0 for stride in info.strides)
    return info if _is_walkable(info) and not backwards else describe(np.array(info.owner, _KIND))


def _steps(info: ArrayInfo, axes: int) -> list[int]:
    """Return the strides, in elements, of so many axes of a batch; 0 where the array is broadcast."""
    own_axes = zip(info.shape[:-2], info.strides[:-2], strict=True)
    steps = [0 if extent == 1 else stride // SIZE for extent, stride in own_axes]
    return [0] * (axes - len(steps)) + steps


def _merge(batch: tuple[int, ...], steps: list[list[int]]) -> list[tuple[int, ...]]:
    """Return a batch's axes, `(extent, *steps)`, joined where each array walks two of them with one stride."""
    axes: list[tuple[int, ...]] = []
    for extent, *each in zip(batch, *steps, strict=True):
        if extent == 1:
            continue
        if axes and all(outer == extent * inner for outer, inner in zip(axes[-1][1:], each, strict=True)):
            axes[-1] = (axes[-1][0] * extent, *each)
        else:
            axes.append((extent, *each))
    return axes
