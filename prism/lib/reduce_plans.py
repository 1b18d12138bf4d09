"""How a reduction is run: which kernels, with how many blocks, on what memory. Nothing here looks at an array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prism.kernels.reduce import (
    DEVICE,
    HOST,
    HOST_WIDTH,
    SHORT_OTHERS,
    Configuration,
    blocks_for,
    middle,
    reduce,
    short,
)
from prism.lib import operators
from prism.lib.axes import Collapsed, c_strides, collapse, without
from prism.lib.reduce_axis_plans import along_axis
from prism.lib.reduce_steps import (
    CONTROL_WORDS,
    WORDS,
    Buffer,
    Machine,
    Plan,
    Scratch,
    Step,
    Work,
    X,
    Y,
    instance_of,
    size_of,
    word_bytes,
)
from prism.runtime.instance import Instance

CAPACITY = 4096
"""How many words the blocks of a launch publish at most."""
CONTROL = 64  # bytes before the words: the counter and the launch's number, in a sector of their own


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


def plan_reduction(work: Work, found: Sequence[Collapsed], misaligned: int, machine: Machine) -> Plan:
    """Return how to reduce an array in these stages; its first element is `misaligned` bytes past a multiple of 16."""
    scratch = Scratch()
    steps: list[Step] = []
    source, words = X, 0
    for number, stage in enumerate(found):
        final = number == len(found) - 1
        part = work if number == 0 else work.rest()
        part = part if final else part.first()
        target = Y if final else scratch.take(part.result, stage.results)
        if stage.results == 1 and (stage.n_stride == 1 or stage.n == 1):
            step = _whole(part, stage.n, misaligned, source, target, machine)
            words = word_bytes(part.dtype) if step.blocks > 1 else words
            steps.append(step)
        else:
            steps += along_axis(part, stage, misaligned, source, target, scratch, machine)
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
        chosen = whole(work, host=False, configuration=configuration if _tuned(work) else SHORT_OTHERS)
        threads = configuration.threads
        if blocks == 1:
            threads = min(threads, max(32, -(-vectors // (32 * configuration.rows)) * 32))
        return Step(chosen, blocks, threads, buffers, numbers)
    if _tuned(work) and not machine.host:
        configuration = middle(vectors, size, size_of(work.dtype))
    chosen = whole(work, host=machine.host, configuration=configuration)
    threads, blocks = configuration.threads, 1
    rows = -(-vectors // threads)
    if rows > configuration.rows:
        wave = machine.multiprocessors if configuration.apart else machine.wave(chosen, threads)
        blocks = blocks_for(rows, min(wave, CAPACITY, -(-rows // configuration.fewest)))
    else:
        threads = min(threads, max(32, -(-vectors // (2 * 32)) * 32))
    return Step(chosen, blocks, threads, buffers, numbers)


def _tuned(work: Work) -> bool:
    """Whether short arrays have kernels of their own, by how short they are: sums of numbers of 4 and 8 bytes do."""
    return (
        work.operator is operators.add
        and not work.nonzero
        and size_of(work.given) in (4, 8)
        and work.given != "complex64"
    )


def all_whole(work: Work, machine: Machine) -> Iterator[Instance]:
    """Yield the kernels that reduce whole arrays on a GPU, of up to 2^30 elements."""
    n = 1
    while n <= 1 << 30:
        yield _whole(work, n, 0, X, Y, machine).instance
        n += -(-n // 16)
