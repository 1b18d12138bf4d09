"""How a reduction is run: which kernels, with how many blocks, on what memory. Nothing here looks at an array."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from prism.host.axes import Collapsed, c_strides, collapse, drop_axes
from prism.host.plan import WORDS, Buffer, Machine, Plan, Scratch, Step, X, Y, instance_of, nothing, size_of
from prism.kernels.reduce import (
    DEVICE,
    HOST,
    HOST_WIDTH,
    SHORT_OTHERS,
    SHORT_ROWS,
    TENSOR,
    WHOLE_SEARCH,
    Configuration,
    blocks_for,
    find_both,
    find_whole,
    middle,
    reduce,
    search,
    short,
)
from prism.lang.types.structs import dtype_called
from prism.lib import operators
from prism.lib.algorithms.reduce.axis_plan import along_axis, search_along
from prism.lib.algorithms.reduce.steps import Search, Work, word_bytes
from prism.runtime.instance import Instance

CAPACITY = 4096
"""How many words the blocks of a launch publish at most."""
_POSITIONS = 2**32 - 1  # a word of 8 bytes has room for those below
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
        left = drop_axes(shape, last)
        names = [k for k in range(len(shape)) if k not in last]
        rest = stages(left, c_strides(left), tuple(sorted(names.index(k) for k in order[:cut])), commutative)
        return None if rest is None else [found, *rest]
    return None


def plan_reduction(work: Work, found: Sequence[Collapsed], misaligned: int, machine: Machine) -> Plan:
    """Return how to reduce an array in these stages; its first element is `misaligned` bytes past a multiple of 16."""
    scratch = Scratch()
    steps: list[Step] = []
    source, words = X, ""
    for number, stage in enumerate(found):
        final = number == len(found) - 1
        part = work if number == 0 else work.rest()
        part = part if final else part.first()
        target = Y if final else scratch.take(part.result, stage.results)
        if stage.results == 1 and (stage.n_stride == 1 or stage.n == 1):
            step = _whole(part, stage.n, misaligned, source, target, machine)
            words = part.dtype if step.blocks > 1 else words
            steps.append(step)
        else:
            steps += along_axis(part, stage, misaligned, source, target, scratch, machine)
        source, misaligned = target, 0
    return _with_words(tuple(steps), words, scratch.used)


def _words(word: str, blocks: int) -> dict[str, Any]:
    """Return the arguments for what blocks publish, words that carry a type; one block publishes nothing."""
    if blocks == 1:
        return {"words": nothing("uint64"), "control": nothing("uint32"), "capacity": CAPACITY}
    words = Buffer(WORDS, CONTROL, "uint64", CAPACITY * word_bytes(word) // 8)
    return {"words": words, "control": Buffer(WORDS, 0, "uint32", CONTROL // 4), "capacity": CAPACITY}


def _with_words(steps: tuple[Step, ...], word: str, scratch: int) -> Plan:
    """Return a plan of steps of which one publishes words that carry a type; "": none does."""
    if not word:
        return Plan(steps, scratch=scratch)
    size = word_bytes(word)
    return Plan(steps, CONTROL + CAPACITY * size, f"reduce {size}", scratch)


def whole(work: Work, machine: Machine, configuration: Configuration) -> Instance:
    """Return the kernel that reduces a whole array."""
    if work.both:
        configuration = replace(configuration, blocks=1)  # twice the registers
    shape = {
        "WIDTH": HOST_WIDTH if machine.host else 16 // size_of(work.given),
        "VECTORIZED": not machine.host,
        "TENSOR": machine.arch in TENSOR and work.operator is operators.add and work.dtype == "float64",
    }
    return instance_of(reduce, {**work.template(), **configuration.template(), **shape})


def _whole(work: Work, n: int, misaligned: int, source: Buffer, target: Buffer, machine: Machine) -> Step:
    """Return the step that reduces `n` elements, one after the other, to one."""
    size = size_of(work.given)
    head = 0 if machine.host else min(-misaligned % 16 // size, n)
    vectors = (n - head) // (HOST_WIDTH if machine.host else 16 // size)
    numbers = {"n": n, "head": head, "identity": work.identity, "initial": work.initial}
    configuration, found = (HOST, None) if machine.host else _configuration(_traits(work), vectors)
    chosen = whole(work, machine, configuration)
    if found is not None:
        (configuration, blocks), threads = found, found[0].threads
        if blocks == 1:
            threads = min(threads, max(32, -(-vectors // (32 * configuration.rows)) * 32))
        return Step(chosen, blocks, threads, {"x": source, "y": target, **numbers, **_words(work.dtype, blocks)})
    threads, blocks = configuration.threads, 1
    rows = -(-vectors // threads)
    if rows > configuration.rows:
        wave = machine.multiprocessors if configuration.apart else machine.wave(chosen, threads)
        blocks = blocks_for(rows, min(wave, CAPACITY, -(-rows // configuration.fewest)))
    else:
        threads = min(threads, max(32, -(-vectors // (2 * 32)) * 32))
    return Step(chosen, blocks, threads, {"x": source, "y": target, **numbers, **_words(work.dtype, blocks)})


_Traits = tuple[bool, bool, int, int]
"""What decides which kernel reduces a whole array on a GPU: whether its elements may change places, and it has kernels for short
arrays; the bytes of what is given, and of what is added up."""


def _configuration(traits: _Traits, vectors: int) -> tuple[Configuration, tuple[Configuration, int] | None]:
    """Return the configuration of the kernel for so many vectors; where they are few, also what threads and blocks do."""
    commutative, tuned, size, sums = traits
    found = short(vectors, size) if commutative else None
    if found is not None:
        return found[0] if tuned else SHORT_OTHERS, found
    return middle(vectors, size, sums) if tuned else DEVICE[size], None


@functools.cache
def _all_configurations(traits: _Traits) -> tuple[Configuration, ...]:
    per_vector, n = 16 // traits[2], 1
    found: dict[Configuration, None] = {}
    while n <= 1 << 30:
        found[_configuration(traits, n // per_vector)[0]] = None
        n += -(-n // 16)
    return tuple(found)


def _traits(work: Work) -> _Traits:
    return work.operator.commutative, _is_tuned(work), size_of(work.given), size_of(work.dtype)


def plan_search(sought: Search, stage: Collapsed, misaligned: int, machine: Machine, to: str = "int64") -> Plan:
    """Return how to find positions along the axis of a stage; its first element is `misaligned` bytes past a multiple of 16.

    `to`: the integers that those in a whole array are stored as.
    """
    if machine.host or not takes_whole(sought, stage):
        return search_along(sought, stage, misaligned, machine)
    chosen = seeker(sought, to)
    threads, blocks, numbers = _cut_search(sought, chosen, stage.n, misaligned, machine)
    given = {"x": X, "y": Y, **numbers, "weakest": sought.weakest, **_words(sought.word, blocks)}
    return _with_words((Step(chosen, blocks, threads, given),), sought.word if blocks > 1 else "", 0)


def plan_search_of_both(
    least: Search, most: Search, stage: Collapsed, misaligned: int, machine: Machine
) -> Plan | None:
    """Return how to find the positions of both extremes in a whole array on a GPU; None where there is no kernel for that."""
    if machine.host or not takes_whole(least, stage):
        return None
    chosen = seeker_of_both(least, most)
    threads, blocks, numbers = _cut_search(least, chosen, stage.n, misaligned, machine)
    given = {"x": X, "y": Y, "z": replace(Y, offset=8), "least": least.weakest, "most": most.weakest, **numbers}
    given |= _words(least.word, blocks)
    room = CONTROL + CAPACITY * word_bytes(least.word)
    given |= {f"other_{name}": given[name] for name in ("words", "control")}
    if blocks == 1:
        return Plan((Step(chosen, blocks, threads, given),))
    given |= {f"other_{name}": replace(given[name], offset=room + given[name].offset) for name in ("words", "control")}
    return Plan((Step(chosen, blocks, threads, given),), 2 * room, f"search of both {word_bytes(least.word)}")


def takes_whole(sought: Search, stage: Collapsed) -> bool:
    """Whether a search is of elements that lie one after the other, and words have room for them."""
    packed = stage.results == 1 and (stage.n_stride == 1 or stage.n == 1)
    fits = sought.word != "uint64" or stage.n < _POSITIONS
    return packed and fits and not sought.dtype.startswith("complex")


def _cut_search(
    sought: Search, chosen: Instance, n: int, misaligned: int, machine: Machine
) -> tuple[int, int, dict[str, Any]]:
    """Return a search's threads and blocks, and the numbers that it is launched with."""
    size = size_of(sought.given)
    width, configuration = WHOLE_SEARCH[size]
    head = min(-misaligned % (width * size) // size, n)
    vectors = (n - head) // width
    found = short(vectors, size)
    if found is not None and found[1] <= configuration.blocks * machine.multiprocessors:
        threads = min(found[0].threads, configuration.threads)
        blocks = max(1, -(-vectors // (threads * SHORT_ROWS)))
    else:
        threads = configuration.threads
        rows = -(-vectors // threads)
        blocks = blocks_for(rows, min(machine.wave(chosen, threads), CAPACITY, -(-rows // configuration.fewest)))
    none = 0 if sought.word == "uint64" else np.zeros((), dtype_called(sought.word))[()]
    return threads, blocks, {"n": n, "head": head, "nothing": none}


def seeker(sought: Search, to: str = "int64") -> Instance:
    """Return the kernel that finds a position in a whole array on a GPU."""
    return instance_of(find_whole, {**sought.template(), **_seeking(sought), **({} if to == "int64" else {"TO": to})})


def seeker_of_both(least: Search, most: Search) -> Instance:
    """Return the kernel that finds the positions of both extremes in a whole array on a GPU."""
    first, second = least.template(), most.template()
    orders = {"LESS": first.pop("BEATS"), "MORE": second["BEATS"]}
    return instance_of(find_both, {**first, **orders, **_seeking(least)})


def _seeking(sought: Search) -> dict[str, Any]:
    width, configuration = WHOLE_SEARCH[size_of(sought.given)]
    better = operators.maximum.function if sought.word == "uint64" else search.better_place
    template = {"WORD": sought.word, "OP": better, "WIDTH": width, **configuration.template()}
    return {k: v for k, v in template.items() if k != "ONCE"}


def _is_tuned(work: Work) -> bool:
    """Whether short arrays have kernels of their own, by how short they are: sums of numbers of 4 and 8 bytes do."""
    return (
        work.operator is operators.add
        and not work.nonzero
        and size_of(work.given) in (4, 8)
        and work.given != "complex64"
    )


def all_whole(work: Work, machine: Machine) -> Iterator[Instance]:
    """Yield the kernels that reduce whole arrays on a GPU, of up to 2^30 elements."""
    yield from (whole(work, machine, configuration) for configuration in _all_configurations(_traits(work)))
