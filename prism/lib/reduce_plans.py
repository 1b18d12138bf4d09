"""How a reduction is run: which kernels, with how many blocks, on what memory. Nothing here looks at an array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from prism.kernels.reduce import (
    AT_ONCE_BLOCKS,
    AXIS,
    DEVICE,
    HOST,
    HOST_AXIS,
    HOST_WIDTH,
    SEARCH,
    AxisConfiguration,
    Configuration,
    at_once,
    find,
    maps,
    middle,
    positions,
    reduce,
    reduce_axis,
    short,
)
from prism.lang.structs import dtype_called
from prism.lang.surface import Kernel
from prism.lib import operators
from prism.lib.axes import Collapsed, c_strides, collapse, without
from prism.lib.operators import Operator
from prism.runtime.instance import Instance, instance

if TYPE_CHECKING:
    from prism.lang.plan import Program

CAPACITY = 4096
"""How many words the blocks of a launch publish at most."""
CONTROL = 64  # bytes before the words: the counter and the launch's number, in a sector of their own
_ALIGNED = 256  # bytes: what each part of the scratch memory is aligned to
_INT32 = 2**30  # units that int32 counts, with room for those that blocks count beyond the last


def size_of(scalar: str) -> int:
    """Return the bytes of a kernel's scalar, or struct."""
    return dtype_called(scalar).itemsize


@dataclass(frozen=True, slots=True)
class Work:
    """What is computed: elements of type `given` are mapped to `dtype`, combined in it, and stored as `result`.

    Types are those of kernels. `nonzero`: elements count as 1 where they aren't zero. `initial` is combined with the result.
    """

    operator: Operator
    given: str
    dtype: str
    result: str
    identity: Any
    initial: Any
    nonzero: bool = False

    def template(self) -> dict[str, Any]:
        """Return the kernels' template arguments that this decides."""
        # A thread loads no more than 128 small integers at once: int32 holds their sum.
        short = (
            self.operator is operators.add
            and self.given in ("int8", "uint8", "int16", "uint16")
            and size_of(self.dtype) > 2
        )
        return {
            "TI": self.given, "P": "int32" if short else self.dtype, "T": self.dtype, "TO": self.result,
            "OP": self.operator.function, "MAP": maps.nonzero if self.nonzero else maps.same,
            "ORDERED": not self.operator.commutative,
        }  # fmt: skip

    def first(self) -> Work:
        """Return the work of all steps but the last: the results stay in `dtype`."""
        return Work(self.operator, self.given, self.dtype, self.dtype, self.identity, self.identity, self.nonzero)

    def rest(self) -> Work:
        """Return the work of all steps but the first."""
        return Work(self.operator, self.dtype, self.dtype, self.result, self.identity, self.initial)


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for: the first of the largest elements, or of the smallest. Types are those of kernels."""

    largest: bool
    given: str
    dtype: str
    weakest: Any

    def template(self) -> dict[str, Any]:
        """Return the kernel's template arguments that this decides."""
        real = self.dtype.startswith("float")
        if self.largest:
            beats = positions.larger_or_nan if real else positions.larger
        else:
            beats = positions.smaller_or_nan if real else positions.smaller
        return {"TI": self.given, "T": self.dtype, "BEATS": beats}


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array that a step takes: `x`, `y`, `words`, `control`, or `scratch` memory of `count` elements from byte `offset` on."""

    name: str
    offset: int = 0
    dtype: str = ""
    count: int = 0


X, Y, WORDS, CONTROL_WORDS = Buffer("x"), Buffer("y"), Buffer("words"), Buffer("control")


@dataclass(frozen=True, slots=True)
class Step:
    """One launch. Its arguments are the buffers, then `numbers`."""

    instance: Instance
    blocks: int
    threads: int
    buffers: tuple[Buffer, ...]
    numbers: tuple[Any, ...]

    @property
    def program(self) -> Program:
        """The checked program."""
        return self.instance.program


@dataclass(frozen=True, slots=True)
class Plan:
    """Launches, one after the other. `words`: the bytes of a published word, 0 if none is; `scratch`: further bytes."""

    steps: tuple[Step, ...]
    words: int
    scratch: int


class Machine(Protocol):
    """What a plan must know of where it will run."""

    host: bool
    multiprocessors: int

    def wave(self, instance: Instance, threads: int) -> int:
        """Return how many blocks of so many threads run at once."""
        ...


def word_bytes(dtype: str) -> int:
    """Return the bytes of a word that carries a value of a dtype."""
    size = size_of(dtype)
    return 8 if size <= 4 else 16 if size <= 8 else 32


# -- Shapes ---------------------------------------------------------------------------------------------------------------


def stages(
    shape: tuple[int, ...], strides: tuple[int, ...], axes: tuple[int, ...], commutative: bool
) -> list[Collapsed] | None:
    """Return the reductions of `(outer, n, inner)` that reduce `axes`, one after the other; the result of each is C-contiguous.

    None where the array must be copied first. Strides are in elements. Axes are reduced in C order, unless `commutative`.
    """
    order = tuple(sorted(axes, key=lambda k: -abs(strides[k]))) if commutative else axes
    for cut in range(max(len(order), 1)):
        last = order[cut:]
        found = collapse(shape, strides, last)
        if found is None:
            continue
        if cut == 0:
            return [found]
        left = without(shape, last)
        names = [k for k in range(len(shape)) if k not in last]
        rest = stages(left, c_strides(left), tuple(sorted(names.index(k) for k in order[:cut])), commutative)
        return None if rest is None else [found, *rest]
    return None


# -- Plans ----------------------------------------------------------------------------------------------------------------


class _Scratch:
    """Scratch memory, dealt out."""

    def __init__(self) -> None:
        self.used = 0

    def take(self, dtype: str, count: int) -> Buffer:
        found = Buffer("scratch", self.used, dtype, count)
        self.used += -(-count * size_of(dtype) // _ALIGNED) * _ALIGNED
        return found


def plan_reduction(work: Work, found: Sequence[Collapsed], misaligned: int, machine: Machine) -> Plan:
    """Return how to reduce an array in these stages; its first element is `misaligned` bytes past a multiple of 16."""
    scratch = _Scratch()
    steps: list[Step] = []
    source, words = X, 0
    for number, stage in enumerate(found):
        final = number == len(found) - 1
        part = work if number == 0 else work.rest()
        part = part if final else part.first()
        target = Y if final else scratch.take(part.dtype, stage.results)
        if stage.results == 1 and (stage.n_stride == 1 or stage.n == 1):
            step = _whole(part, stage.n, misaligned, source, target, machine)
            words = word_bytes(part.dtype) if step.blocks > 1 else words
            steps.append(step)
        else:
            steps += _along(part, stage, misaligned, source, target, scratch, machine)
        source, misaligned = target, 0
    return Plan(tuple(steps), words, scratch.used)


def whole(work: Work, *, host: bool, configuration: Configuration | None = None) -> Instance:
    """Return the kernel that reduces a whole array, by default a long one."""
    configuration = configuration or (HOST if host else DEVICE[size_of(work.given)])
    shape = {"WIDTH": HOST_WIDTH if host else 16 // size_of(work.given), "VECTORIZED": not host}
    return instance_of(reduce, {**work.template(), **configuration.template(), **shape})


def _whole(work: Work, n: int, misaligned: int, source: Buffer, target: Buffer, machine: Machine) -> Step:
    """Return the step that reduces `n` elements, one after the other, to one."""
    size = size_of(work.given)
    configuration: Configuration = HOST if machine.host else DEVICE[size]
    head = 0 if machine.host else min(-misaligned % 16 // size, n)
    vectors = (n - head) // (HOST_WIDTH if machine.host else 16 // size)
    numbers = (CAPACITY, n, head, work.identity, work.initial)
    buffers = (source, target, WORDS, CONTROL_WORDS)
    found = short(vectors, size) if work.operator.commutative and not machine.host else None
    if found is not None:
        configuration, blocks = found
        chosen = whole(work, host=False, configuration=configuration)
        threads = configuration.threads
        if blocks == 1:
            threads = min(threads, max(32, -(-vectors // (32 * configuration.rows)) * 32))
        return Step(chosen, blocks, threads, buffers, numbers)
    if work.operator.commutative and not machine.host:
        configuration = middle(vectors, size, size_of(work.dtype))
    chosen = whole(work, host=machine.host, configuration=configuration)
    threads, blocks = configuration.threads, 1
    if vectors > threads * configuration.rows:
        wave = machine.multiprocessors if configuration.apart else machine.wave(chosen, threads)
        blocks = max(1, min(wave, CAPACITY, -(-vectors // (threads * configuration.fewest))))
    else:
        threads = min(threads, max(32, -(-vectors // (2 * 32)) * 32))
    return Step(chosen, blocks, threads, buffers, numbers)


@dataclass(frozen=True, slots=True)
class Cut:
    """How an axis is cut: the template's numbers, and those that the kernel takes."""

    lanes: int
    units: int
    rows: int
    width: int
    along: bool
    wide: bool
    across: int
    splits: int
    chunk: int
    blocks: int

    def template(self) -> dict[str, Any]:
        """Return the kernel's template arguments that this decides."""
        return {
            "LANES": self.lanes, "ROWS": self.rows, "WIDTH": self.width, "ALONG": self.along, "WIDE": self.wide,
            "VECTORIZED": self.width > 1,
        }  # fmt: skip


def cut(
    stage: Collapsed,
    size: int,
    misaligned: int,
    configuration: AxisConfiguration,
    wave: int,
    most_units: int = 4,
    *,
    splittable: bool = True,
) -> Cut:
    """Return how to cut a stage for elements of `size` bytes, where `wave` blocks run at once."""
    along = stage.inner == 1 or (stage.n > 1 and abs(stage.n_stride) < abs(stage.inner_stride))
    width = configuration.width
    while width > 1 and not _aligned(stage, width, size, misaligned, along):
        width //= 2
    steps = stage.n // width if along else stage.n
    across = stage.inner if along else stage.inner // width
    warps = configuration.threads // 32
    lanes = min(32 if along else 32 // min(32, _power(across)), _power(steps))
    groups = 32 // lanes
    units, loads = stage.outer * across, configuration.loads
    teams = -(-units // groups)
    wide = teams < wave * warps and -(-steps // lanes) > loads
    splits, chunk = 1, stage.n
    if wide:
        if splittable and teams < wave:
            splits = max(1, min(wave // teams, steps // (lanes * warps * loads)))
        chunk = -(-steps // splits) * (width if along else 1)
        splits = -(-stage.n // chunk)
        steps = -(-steps // splits)
        rows = min(loads, _power(-(-steps // (lanes * warps))))
        return Cut(lanes, 1, rows, width, along, True, across, splits, chunk, -(-units * splits // groups))
    rows = min(loads, _power(-(-steps // lanes)))
    many = min(most_units, loads // rows, 16 if along else max(1, 16 // width))
    while many > 1 and teams < 2 * many * wave * warps:
        many //= 2
    return Cut(lanes, many, rows, width, along, False, across, 1, stage.n, -(-units // (groups * many * warps)))


def _along(
    work: Work,
    stage: Collapsed,
    misaligned: int,
    source: Buffer,
    target: Buffer,
    scratch: _Scratch,
    machine: Machine,
    *,
    splittable: bool = True,
) -> list[Step]:
    """Return the steps, one or two, that reduce a stage along its axis."""
    size = size_of(work.given)
    configuration = HOST_AXIS if machine.host else AXIS[size]
    how = cut(stage, size, misaligned, configuration, _wave(configuration, machine), splittable=splittable)
    if how.splits > 1 and not how.along and size in (4, 8):
        configuration, how = _joint(stage, configuration, how)
    split = how.splits > 1
    part = work.first() if split else work
    units = stage.outer * how.across * how.splits
    template = {"UNITS": how.units, **part.template(), **how.template(), **configuration.template()}
    chosen = instance_of(reduce_axis, {"U": _counter(units), **template})
    steps_out = (how.splits * stage.inner, stage.inner, 1) if split else (stage.outer_step, 0, stage.inner_step)
    numbers = (*_numbers(stage, how, units, steps_out), part.identity, part.initial)
    partial = scratch.take(work.dtype, stage.results * how.splits) if split else target
    found = [Step(chosen, how.blocks, configuration.threads, (source, partial), numbers)]
    if split:
        found += _along(work.rest(), _joined(stage, how.splits), 0, partial, target, scratch, machine, splittable=False)
    return found


def _joint(stage: Collapsed, configuration: AxisConfiguration, how: Cut) -> tuple[AxisConfiguration, Cut]:
    """Return how columns are reduced in one launch, where that is faster than in the two that `how` says; else the same."""
    found = at_once(stage.n, stage.outer * stage.inner)
    if found is None:
        return configuration, how
    threads, lanes = found
    blocks = -(-stage.outer * how.across * lanes // 32)
    if blocks > AT_ONCE_BLOCKS or how.width != configuration.width:
        return configuration, how
    rows = min(configuration.loads, _power(-(-stage.n // (lanes * (threads // 32)))))
    joint = Cut(lanes, 1, rows, how.width, False, True, how.across, 1, stage.n, blocks)
    return replace(configuration, threads=threads, blocks=1024 // threads), joint


def plan_search(search: Search, stage: Collapsed, misaligned: int, machine: Machine) -> Plan:
    """Return how to find positions along the axis of a stage."""
    scratch = _Scratch()
    size = size_of(search.given)
    configuration = HOST_AXIS if machine.host else SEARCH[size]
    how = cut(stage, size, misaligned, configuration, _wave(configuration, machine), 1)
    split = how.splits > 1
    units = stage.outer * how.across * how.splits
    template = {"PARTIAL": split, "INDEXED": False, **search.template(), **how.template(), **configuration.template()}
    chosen = instance_of(find, {"U": _counter(units), **template})
    if not split:
        numbers = (*_numbers(stage, how, units, (stage.outer_step, 0, stage.inner_step)), search.weakest)
        step = Step(chosen, how.blocks, configuration.threads, (X, _none("int64"), _none(search.dtype), Y), numbers)
        return Plan((step,), 0, 0)
    numbers = (*_numbers(stage, how, units, (how.splits * stage.inner, stage.inner, 1)), search.weakest)
    bests = scratch.take(search.dtype, stage.results * how.splits)
    places = scratch.take("int64", stage.results * how.splits)
    one = Step(chosen, how.blocks, configuration.threads, (X, _none("int64"), bests, places), numbers)
    joined = _joined(stage, how.splits)
    again = cut(joined, size_of(search.dtype), 0, configuration, _wave(configuration, machine), 1, splittable=False)
    units = joined.outer * again.across
    template.update(again.template(), PARTIAL=False, INDEXED=True, TI=search.dtype)
    chosen = instance_of(find, {"U": _counter(units), **template})
    numbers = (*_numbers(joined, again, units, (joined.outer_step, 0, joined.inner_step)), search.weakest)
    two = Step(chosen, again.blocks, configuration.threads, (bests, places, _none(search.dtype), Y), numbers)
    return Plan((one, two), 0, scratch.used)


def _none(dtype: str) -> Buffer:
    """Return what stands for an array that a kernel doesn't touch."""
    return Buffer("scratch", 0, dtype, 0)


def _joined(stage: Collapsed, splits: int) -> Collapsed:
    """Return the stage that combines a stage's partial results, which lie as (outer, splits, inner)."""
    inner = 1 if stage.inner > 1 else 0
    return Collapsed(
        stage.outer, splits, stage.inner, splits * stage.inner, stage.inner, inner, stage.outer_step, stage.inner_step
    )


def _wave(configuration: AxisConfiguration, machine: Machine) -> int:
    blocks: int = configuration.blocks
    return blocks * machine.multiprocessors


def _numbers(stage: Collapsed, how: Cut, units: int, steps: tuple[int, int, int]) -> tuple[Any, ...]:
    """Return what both kernels along an axis take first."""
    strides = (stage.outer_stride, stage.n_stride, stage.inner_stride)
    return (units, how.across, stage.n, how.splits, how.chunk, *strides, *steps)


def _aligned(stage: Collapsed, width: int, size: int, misaligned: int, along: bool) -> bool:
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


def _counter(units: int) -> str:
    return "int32" if units < _INT32 else "int64"


def instance_of(kernel: Kernel, template: dict[str, Any]) -> Instance:
    """Return a kernel with its template arguments."""
    return instance(kernel, tuple(sorted(template.items())))
