"""Which part of a range of keys each word of a few elements belongs to: by a sample in order, which says where parts begin."""

from prism.lang import (
    atomic_add, block, const, constexpr, dtype, group, id, int32, partition, prism, ptr, requires, shared, template, thread,
    uint32, warp, wrapping_subtract,
)
from prism.kernels.sort.configurations import CLUSTER_BLOCKS
from prism.kernels.sort.order import INTEGER, minus_zero
from prism.kernels.sort.words import is_special
from prism.lib.thread import operators

PARTS = CLUSTER_BLOCKS
"""Parts of a range: a block of a cluster has one."""
TOLD = PARTS + 1
"""What a block tells others: how many words it has of each part, and below the range."""
_SCATTER = 0x9E3779B1
"""Places times this: the upper bits are spread evenly over places that are side by side, and over those apart by most strides."""
SPECIAL = 1 << 18
"""Above how many words there are; so many times as a cluster has threads it is a number of 32 bits."""
_UNDER_WAY = 4
"""Additions of a thread that are under way at once."""
ELSEWHERE = 1 << 30
"""Another range's word: above what `choose_parts` says of the words of this one."""


@prism.device
@requires(thread[1])
@template(W=dtype, SAMPLES=constexpr(int))
def run_of(ordered: ptr(const(W)) @ thread[1], place: int32 @ thread[1]) -> (int32, int32) @ thread[1]:
    """Where in the sample the words begin that are equal to the one at `place`, and how many there are."""
    word: W = ordered[place]
    first: int32 = place
    end: int32 = place + 1
    if place > 0 and ordered[max(place - 1, 0)] == word:
        first = thread.lower_bound(ordered, place, word, LESS=operators.less)
    if end < SAMPLES and ordered[min(end, SAMPLES - 1)] == word:
        end = thread.upper_bound(ordered, SAMPLES, word, LESS=operators.less)
    return first, end - first


@prism.device
@requires(thread[1])
@template(W=dtype)
def part_of(word: W @ thread[1], bounds: W[PARTS + 1] @ thread[1]) -> uint32 @ thread[1]:
    """Which of the eight parts between `bounds` a word belongs to; of words outside of all of them, any."""
    upper: bool = word >= bounds[4]
    middle: W = bounds[6] if upper else bounds[2]
    left: W = bounds[5] if upper else bounds[1]
    right: W = bounds[7] if upper else bounds[3]
    behind: bool = word >= middle
    last: bool = word >= (right if behind else left)
    return uint32(4 if upper else 0) + uint32(2 if behind else 0) + uint32(1 if last else 0)


@prism.device
@template(W=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), SAMPLES=constexpr(int))
@requires(block[1], thread["THREADS"])
def choose_by_ranks(
    words: W[ITEMS] @ thread[1], chosen: uint32[ITEMS] @ thread[1], ordered: ptr(const(W)) @ block[1],
    bins: ptr(uint32) @ block[1], place: int32 @ thread[1], n: int32 @ block[1], begin: int32 @ block[1], part: int32 @ block[1],
) -> uint32 @ thread[1]:
    """As `choose_parts`, where a part begins with a word that the sample has several times: such words are told apart by places.

    Returns: how many of the thread's words are below the range.
    """
    t: int32 @ thread[1] = id()
    end: int32 @ block[1] = begin + PARTS * part
    low: W @ block[1] = ordered[begin] if begin > 0 else W(0)
    high: W @ block[1] = ordered[end] if end < SAMPLES else W(0)
    below: uint32 @ thread[1] = 0
    firsts: shared(int32[PARTS + 1])
    sizes: shared(int32[PARTS + 1])
    with partition(firsts, thread[1], offset=t) as own, partition(sizes, thread[1], offset=t) as size, group(thread[1]):
        if t <= PARTS:
            first: int32 = 0
            many: int32 = 0
            at: int32 = begin + t * part
            if 0 < at and at < SAMPLES:
                first, many = run_of(ordered, at, SAMPLES=SAMPLES)
            own[0] = first
            size[0] = many
    with group(thread[1]):
        for k in range(ITEMS):
            chosen[k] = ELSEWHERE
            here: int32 = place + 32 * k
            if here < n:
                word: W = words[k]
                which: int32 = -1
                bound: W = low
                if word >= low:
                    which = PARTS
                    bound = high
                    if end == SAMPLES or word < high:
                        which = 0
                        bound = low
                        for half in range(3):
                            next: int32 = which + (PARTS >> half + 1)
                            middle: W = ordered[begin + next * part]
                            bound = middle if word >= middle else bound
                            which = next if word >= middle else which
                if which >= 0 and word == bound:
                    many: int32 = sizes[max(which, 0)]
                    if many > 1:
                        rank: int32 = firsts[max(which, 0)] + int32(uint32(here) * _SCATTER >> 22) * many // 1024 - begin
                        which = min(rank // part, PARTS) if rank >= 0 else -1
                if which < 0:
                    below = below + 1
                elif which < PARTS:
                    chosen[k] = uint32(which) | atomic_add(bins[which], 1, scope="block") << 3
    return below


@prism.device
@template(
    K=dtype, W=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), SAMPLES=constexpr(int), TIED=constexpr(bool),
    KIND=constexpr(int),
)
@requires(block[1], thread["THREADS"])
def choose_parts(
    words: W[ITEMS] @ thread[1], chosen: uint32[ITEMS] @ thread[1], ordered: ptr(const(W)) @ block[1],
    bins: ptr(uint32) @ block[1], place: int32 @ thread[1], n: int32 @ block[1], begin: int32 @ block[1], part: int32 @ block[1],
    flip: K @ block[1], lowest: K @ block[1],
):
    """Say of each word which of the range's `PARTS` parts it belongs to, and the how manieth of the block it is there.

    `ordered[begin + d * part]` is where part `d` begins. `bins`, of `TOLD`, becomes how many words each has, and how many are
    below the range, and `SPECIAL` more for each thread that has a word whose bits don't tell its order. `TIED`: words may be
    equal; those that a part begins with go by their places to all parts that have some of them in the sample.
    """
    GROUP: constexpr(int) = min(_UNDER_WAY, ITEMS)
    t: int32 @ thread[1] = id()
    end: int32 @ block[1] = begin + PARTS * part
    below: uint32 @ thread[1] = 0
    special: bool @ thread[1] = False
    tied: bool @ block[1] = False
    bounds: W[PARTS + 1] @ thread[1]
    mine: int32 @ thread[1] = (n - place + 31) // 32  # words of the thread that are there, or more
    block.fill(bins, 0, PARTS + 1)
    with group(thread[1]):
        for d in range(PARTS + 1):
            bounds[d] = ordered[min(begin + d * part, SAMPLES - 1)]
        if begin == 0:
            bounds[0] = 0
        if TIED and KIND != INTEGER:
            zero: W = W(minus_zero(flip, lowest))
            most: W = 0
            for k in range(ITEMS):  # without a branch, too
                here: W = words[k] if k < mine else 0
                most = max(most, here)
                special = special | (here == zero)
            special = special | is_special(K(most), flip, lowest)
    if TIED:  # a thread looks at one bound
        at: int32 @ thread[1] = min(begin + t * part, SAMPLES - 1)
        same: bool @ thread[1] = False
        with group(thread[1]):
            if t <= PARTS:
                same = at > 0 and ordered[max(at - 1, 0)] == ordered[at]
                same = same or (at + 1 < SAMPLES and ordered[min(at + 1, SAMPLES - 1)] == ordered[at])
        tied = block.any(same)
    if TIED and tied:
        below = choose_by_ranks(
            words, chosen, ordered, bins, place, n, begin, part, THREADS=THREADS, SAMPLES=SAMPLES,
        )
    else:
        with group(thread[1]):
            least: W = bounds[0]
            span: W = wrapping_subtract(bounds[PARTS] - W(1) if end < SAMPLES else ~W(0), least)  # the last word's distance
            for k in range(ITEMS):  # without a branch, so that all words are under way at once
                inside: bool = wrapping_subtract(words[k], least) <= span and k < mine
                below = below + (1 if words[k] < least else 0)  # what is behind all words is the highest there is
                which: uint32 = part_of(words[k], bounds)
                chosen[k] = which if inside else ELSEWHERE
            for first in range(0, ITEMS, GROUP):
                before: uint32[GROUP]
                for k in range(GROUP):
                    before[k] = 0
                    if chosen[first + k] != ELSEWHERE:
                        before[k] = atomic_add(bins[int32(chosen[first + k] & PARTS - 1)], 1, scope="block")
                for k in range(GROUP):
                    chosen[first + k] = chosen[first + k] | before[k] << 3
    with group(thread[1]):
        if special:
            below = below + SPECIAL
    all_below: uint32 @ thread[1] = warp.reduce_to_first(below, OP=operators.add, FEW=True, TENSOR=False)
    with group(thread[1]):
        if t % 32 == 0:
            atomic_add(bins[PARTS], all_below, scope="block")


__all__ = ["ELSEWHERE", "PARTS", "SPECIAL", "TOLD", "choose_parts"]
