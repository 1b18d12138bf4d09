"""How a reduction along an axis is run, or a search for positions along it: which kernels, and how the axis is cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from prism.host.axes import Collapsed
from prism.host.plan import Buffer, Machine, Plan, Scratch, Step, X, Y, instance_of, nothing, size_of
from prism.kernels.reduce import (
    AT_ONCE_BLOCKS,
    AXIS,
    HOST_AXIS,
    SEARCH,
    AxisConfiguration,
    Cutting,
    Form,
    at_once,
    find,
    reduce_axis,
)
from prism.lib import operators
from prism.lib.algorithms.reduce.steps import Search, Work
from prism.runtime.instance import Instance

_LOOSE = 1024  # bytes of a row from which on its vectors need not begin with its elements: fewer are read one by one
_FEW = 0.2  # of what runs at once: where blocks are fewer, more lanes share a unit
_INT32 = 2**30  # units that int32 counts, with room for those that blocks count beyond the last


@dataclass(frozen=True, slots=True)
class Cut:
    """How an axis is cut: by which kernel, and the numbers that it takes; `lanes` of a warp, and `blocks` of `threads`.

    `loose`: vectors of rows leave elements before and behind them.
    """

    kernel: Cutting
    width: int
    along: bool
    loose: bool
    lanes: int
    wide: bool
    across: int
    splits: int
    chunk: int
    threads: int
    blocks: int


def cut(
    stage: Collapsed,
    size: int,
    misaligned: int,
    configuration: AxisConfiguration,
    wave: int,
    *,
    splittable: bool = True,
    short_forms: bool = True,
    ordered: bool = False,
) -> Cut:
    """Return how to cut a stage for elements of `size` bytes, where `wave` blocks run at once.

    `splittable`: the stage may be cut into two launches. `short_forms`: there are kernels for short axes. `ordered`: elements
    are combined in their order, so that what stands before and behind vectors can't be taken first.
    """
    along = stage.inner == 1 or (stage.n > 1 and abs(stage.n_stride) < abs(stage.inner_stride))
    form, loose = _form(stage, size, misaligned, configuration, along, ordered)
    width, long, short = form.width, form.long, form.short
    steps = -(-stage.n // width) if along else stage.n
    across = stage.inner if along else stage.inner // width
    most = 32 if along else 32 // min(32, _power(across))  # lanes along the axis
    threads, warps = configuration.threads, configuration.threads // 32
    units = stage.outer * across
    if short_forms and not loose:
        lanes, widest = min(most, _power(-(-steps // short.rows))), min(most, _power(steps))
        each = 32 * short.units * warps  # lanes a block, of all units
        while lanes < widest and units * lanes < _FEW * wave * each:
            lanes *= 2  # fewer loads a thread: then there is work for all multiprocessors
        loads = short.rows if units * lanes < 2 * wave * each else max(short.rows, long.rows // 2)
        if -(-steps // lanes) <= loads:
            blocks = -(-units * lanes // each)
            return Cut(short, width, along, False, lanes, False, across, 1, stage.n, threads, blocks)
    lanes = min(most, _power(steps))
    teams = -(-units * lanes // 32)
    splits, chunk = 1, stage.n
    wide = teams < wave * warps and -(-steps // lanes) > long.rows
    if wide and splittable and teams < wave:
        splits = max(1, min(wave // teams, steps // (lanes * warps * long.rows)))
        chunk = -(-steps // splits) * (width if along else 1)
        splits = -(-stage.n // chunk)
    blocks = -(-units * splits * lanes // 32) if wide else -(-units * lanes // (32 * warps))
    return Cut(long, width, along, loose, lanes, wide, across, splits, chunk, threads, blocks)


def _form(
    stage: Collapsed, size: int, misaligned: int, configuration: AxisConfiguration, along: bool, ordered: bool
) -> tuple[Form, bool]:
    """Return which form reduces a stage, and whether its vectors leave elements before and behind them."""
    form = configuration.rows if along else configuration.columns
    if form.width > 1 and _is_aligned(stage, form.width, size, misaligned, along):
        return form, False
    if form.width > 1 and along and stage.n_stride == 1 and not ordered and stage.n * size >= _LOOSE:
        return form, True
    return configuration.single, False


def along_axis(
    work: Work,
    stage: Collapsed,
    misaligned: int,
    source: Buffer,
    target: Buffer,
    scratch: Scratch,
    machine: Machine,
    *,
    splittable: bool = True,
) -> list[Step]:
    """Return the steps, one or two, that reduce a stage along its axis."""
    size = size_of(work.given)
    configuration = HOST_AXIS if machine.host else AXIS[size]
    ordered = not work.operator.commutative
    wave, short_forms = _wave(configuration, machine), splittable and not work.stepwise
    how = cut(
        stage, size, misaligned, configuration, wave, splittable=splittable, short_forms=short_forms, ordered=ordered
    )
    if how.splits > 1 and how.width > 1 and not how.along and size in (4, 8):
        how = _joint(stage, how)
    split = how.splits > 1
    part = work.first() if split else work
    units = stage.outer * how.across * how.splits
    chosen = _reducer(part, how.kernel, how.width, how.along, _unit_count(how, units))
    steps_out = (how.splits * stage.inner, stage.inner, 1) if split else (stage.outer_step, 0, stage.inner_step)
    numbers = _numbers(stage, how, units, size, misaligned, steps_out)
    numbers |= {"identity": part.identity, "initial": part.initial}
    partial = scratch.take(part.result, stage.results * how.splits) if split else target
    found = [Step(chosen, how.blocks, how.threads, {"x": source, "y": partial, **numbers})]
    if split:
        found += along_axis(
            work.rest(), _combining_stage(stage, how.splits), 0, partial, target, scratch, machine, splittable=False
        )
    return found


def _reducer(work: Work, kernel: Cutting, width: int, along: bool, units: int = 1) -> Instance:
    """Return the kernel that reduces so many units."""
    if kernel.threads == 512 and size_of(work.dtype) > size_of(work.given):
        kernel = replace(kernel, threads=640, blocks=1)  # sums take more registers: as many as 5 blocks of 128 have
    widened = (size_of(work.given), size_of(work.dtype)) == (2, 8)
    if width > 1 and widened and (not along or work.operator is operators.multiply):
        kernel = replace(kernel, rows=kernel.rows // 2)  # 16-bit integers would spill, a KiB on Blackwell
    if work.both:  # twice the registers
        kernel = replace(kernel, blocks=1 if kernel.threads > 128 else 2)
    template = {"U": _counter(units), "WIDTH": width, "ALONG": along and width > 1, **kernel.template()}
    return instance_of(reduce_axis, {**work.template(), **template})


def all_along(work: Work) -> Iterator[Instance]:
    """Yield the kernels that reduce along an axis on a GPU, whatever the shape: of fewer than 2^30 results."""
    for part, forms in ((work, (True, False)), (work.first(), (True,)), (work.rest(), (True, False))):
        configuration = AXIS[size_of(part.given)]
        for form in (configuration.rows, configuration.columns, configuration.single):
            for long in (True,) if part.stepwise else forms:
                yield _reducer(part, form.long if long else form.short, form.width, form is configuration.rows)


def _joint(stage: Collapsed, how: Cut) -> Cut:
    """Return how columns are reduced in one launch, where that is faster than in the two that `how` says; else the same."""
    found = at_once(stage.n, stage.outer * stage.inner)
    if found is None:
        return how
    threads, lanes = found
    blocks = -(-stage.outer * how.across * lanes // 32)
    if blocks > AT_ONCE_BLOCKS:
        return how
    return Cut(how.kernel, how.width, False, False, lanes, True, how.across, 1, stage.n, threads, blocks)


def search_along(search: Search, stage: Collapsed, misaligned: int, machine: Machine) -> Plan:
    """Return how to find positions along the axis of a stage, of any shape."""
    scratch = Scratch()
    size = size_of(search.given)
    configuration = HOST_AXIS if machine.host else SEARCH[size]
    several = stage.outer * stage.inner > 1  # else a second unit a thread would only take time
    how = cut(stage, size, misaligned, configuration, _wave(configuration, machine), short_forms=several)
    split = how.splits > 1
    chosen, units = _finder(search, how, stage)
    if not split:
        numbers = _numbers(stage, how, units, size, misaligned, (stage.outer_step, 0, stage.inner_step))
        buffers = {"x": X, "given": nothing("int64"), "bests": nothing(search.dtype), "y": Y}
        last = {"weakest": search.weakest, "partial": False, "indexed": False}
        return Plan((Step(chosen, how.blocks, how.threads, {**buffers, **numbers, **last}),))
    steps_out = (how.splits * stage.inner, stage.inner, 1)
    numbers = _numbers(stage, how, units, size, misaligned, steps_out)
    numbers |= {"weakest": search.weakest, "partial": True, "indexed": False}
    bests = scratch.take(search.dtype, stage.results * how.splits)
    positions = scratch.take("int64", stage.results * how.splits)
    buffers = {"x": X, "given": nothing("int64"), "bests": bests, "y": positions}
    one = Step(chosen, how.blocks, how.threads, {**buffers, **numbers})
    joined, search, size = (
        _combining_stage(stage, how.splits),
        replace(search, given=search.dtype),
        size_of(search.dtype),
    )
    configuration = HOST_AXIS if machine.host else SEARCH[size]
    how = cut(joined, size, 0, configuration, _wave(configuration, machine), splittable=False, short_forms=False)
    chosen, units = _finder(search, how, joined)
    numbers = _numbers(joined, how, units, size, 0, (joined.outer_step, 0, joined.inner_step))
    numbers |= {"weakest": search.weakest, "partial": False, "indexed": True}
    buffers = {"x": bests, "given": positions, "bests": nothing(search.dtype), "y": Y}
    two = Step(chosen, how.blocks, how.threads, {**buffers, **numbers})
    return Plan((one, two), scratch=scratch.used)


def _finder(search: Search, how: Cut, stage: Collapsed) -> tuple[Instance, int]:
    """Return the kernel that finds positions, and for how many units."""
    units = stage.outer * how.across * how.splits
    return _seeker(search, how.kernel, how.width, how.along, _unit_count(how, units)), units


def _seeker(search: Search, kernel: Cutting, width: int, along: bool, units: int = 1) -> Instance:
    template = {
        **search.template(),
        **kernel.template(),
        "U": _counter(units),
        "WIDTH": width,
        "ALONG": along and width > 1,
    }
    return instance_of(find, template)


def all_searches(search: Search) -> Iterator[Instance]:
    """Yield the kernels that find positions on a GPU, whatever the shape: of fewer than 2^30 results."""
    for part in (search, replace(search, given=search.dtype)):
        configuration = SEARCH[size_of(part.given)]
        for form in (configuration.rows, configuration.columns, configuration.single):
            for kernel in dict.fromkeys((form.long, form.short)):
                yield _seeker(part, kernel, form.width, form is configuration.rows)


def _combining_stage(stage: Collapsed, splits: int) -> Collapsed:
    """Return the stage that combines a stage's partial results, which lie as (outer, splits, inner)."""
    inner = 1 if stage.inner > 1 else 0
    return Collapsed(
        stage.outer, splits, stage.inner, splits * stage.inner, stage.inner, inner, stage.outer_step, stage.inner_step
    )


def _wave(configuration: AxisConfiguration, machine: Machine) -> int:
    blocks: int = configuration.blocks
    return blocks * machine.multiprocessors


def _numbers(
    stage: Collapsed, how: Cut, units: int, size: int, misaligned: int, steps: tuple[int, int, int]
) -> dict[str, Any]:
    """Return the numbers that both kernels along an axis take, by their names."""
    lanes = how.lanes.bit_length() - 1
    apart = 0 if how.along else 5 - lanes
    skew = -misaligned // size % how.width if how.loose else -1
    outer_step, split_step, inner_step = steps
    return {
        "units": units, "across": how.across, "n": stage.n, "splits": how.splits, "chunk": how.chunk, "skew": skew,
        "lanes": lanes, "apart": apart, "wide": how.wide, "outer_stride": stage.outer_stride, "n_stride": stage.n_stride,
        "inner_stride": stage.inner_stride, "outer_step": outer_step, "split_step": split_step, "inner_step": inner_step,
    }  # fmt: skip


def _is_aligned(stage: Collapsed, width: int, size: int, misaligned: int, along: bool) -> bool:
    """Whether all vectors of `width` elements are aligned, and none is cut off."""
    if width * size > 16 or misaligned % (width * size):
        return False
    vector, others = (stage.n_stride, stage.inner_stride) if along else (stage.inner_stride, stage.n_stride)
    extent, other = (stage.n, stage.inner) if along else (stage.inner, stage.n)
    if vector != 1 or extent % width:
        return False
    return not (other > 1 and others % width) and not (stage.outer > 1 and stage.outer_stride % width)


def _power(n: int) -> int:
    """Return the least power of two that is not less."""
    return 1 << max(n - 1, 0).bit_length()


def _unit_count(how: Cut, units: int) -> int:
    """Return how many units there are, or at least as many as make those of a launch of 2^32 threads too many for int32."""
    return max(units, how.blocks * how.threads // 4)


def _counter(units: int) -> str:
    return "int32" if units < _INT32 else "int64"
