"""A function of a byte has 256 answers. Where it is true of those from one on, up to another, four bytes are asked at once."""

from prism.lang import (
    ballot, block, claim, const, constexpr, count, dtype, first_set, function, grid, group, id, int32, partition, popcount, prism,
    ptr, requires, shared, split, static_assert, struct, template, thread, uint8, uint32, uint64, wrapping_multiply,
)
from prism.kernels.select.packed import flags_of_tops, gather_tops, join_halves


@struct
class Interval:
    """Which bytes a function is true of: `many` from `first` on, behind 255 from 0 on; or of all `others`.

    Bytes of a word are asked at once: each number stands in all four. `known`: 1 where it is so; 2 where it is true of those
    below `many`, or of all `others`, once bits are word as `flips` says: so it is of a comparison with a number.
    """

    first: uint32  # without the upper bits
    tops: uint32  # the upper bits that `first` has not
    many: uint32  # at most 128
    others: uint32  # 0, or all bits
    flips: uint32  # 0, or all bits
    known: int32


@prism.device
@requires(block[1], thread[32])
@template(C=dtype, N=dtype, TEST=function, GIVEN=constexpr(bool), THREADS=constexpr(int))
def find_interval(number: ptr(const(N)) @ grid[1]) -> Interval @ block[1]:
    """Ask of all bytes, one a thread, and look whether those of which the answer is yes follow each other.

    Perspective: block, of `THREADS` threads.
    Shapes:      with `GIVEN` `TEST` is called with `number[0]` too.
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    w: int32 @ thread[32] = id()
    answers: shared(uint32[8]) @ block[1]  # of a warp: how many are true, how often it becomes true, and where
    for start in range(0, 256, THREADS):
        yes: bool @ thread[1] = False
        earlier: bool @ thread[1] = False
        with group(thread[1]):
            if GIVEN:
                yes = TEST(C(uint8(start + t)), number[0])
                earlier = TEST(C(uint8(start + t - 1)), number[0])
            else:
                yes = TEST(C(uint8(start + t)))
                earlier = TEST(C(uint8(start + t - 1)))
        with partition(answers, thread[32], offset=start // 32 + w) as own, group(thread[32]):
            lanes: uint32 @ thread[32] = ballot(yes)
            rise: uint32 @ thread[32] = ballot(yes and not earlier)
            place: int32 @ thread[32] = start + 32 * w + first_set(rise) - 1 if rise != 0 else 0
            if start // 32 + w < 8:
                with claim(own, thread[1]) as slot:
                    match split(thread):
                        case 1:
                            slot[0] = uint32(popcount(lanes)) | uint32(popcount(rise)) << 10 | uint32(place) << 19
    sum: uint32 @ block[1] = 0
    for i in range(8):
        sum = sum + answers[i]
    many: int32 @ block[1] = int32(sum & 1023)
    rises: int32 @ block[1] = int32(sum >> 10 & 511)
    first: int32 @ block[1] = int32(sum >> 19)  # where it becomes true, if it does once
    others: bool @ block[1] = many > 128
    begin: uint32 @ block[1] = uint32(first + many if others else first) & 255
    held: uint32 @ block[1] = uint32(256 - many if others else many)
    edge: bool @ block[1] = begin == 0 or begin + held == 256
    return Interval(
        (begin & 127) * 0x01010101, (~begin & 128) * 0x01010101, held * 0x01010101, 0xFFFFFFFF if others else 0,
        0 if begin == 0 else 0xFFFFFFFF, (2 if edge else 1) if rises <= 1 else 0,
    )


@prism.device
@requires(thread[1])
@template(F=dtype, HELD=constexpr(int))
def flags_in_interval(held: uint32[HELD] @ thread[1], bytes: Interval @ thread[1], one: uint32 @ thread[1]) -> F @ thread[1]:
    """A bit for each byte of words that is in an interval that is `known`."""
    tops: uint32[HELD]
    if bytes.known == 2:  # products turn bits, and add: that is another pipe's work
        halves: uint32[2] = {0}
        for w in range(HELD):
            word: uint32 = wrapping_multiply(held[w], bytes.flips | 1) + bytes.flips
            tops[w] = (word | (wrapping_multiply(word | 0x80808080, one) - bytes.many)) & 0x80808080  # of those that are not
        gather_tops(tops, halves)
        for h in range(2):
            halves[h] = wrapping_multiply(halves[h], ~bytes.others | 1) + ~bytes.others
        return join_halves(halves, F=F) & F(0xFFFFFFFFFFFFFFFF if F == uint64 else 0xFFFFFFFF) >> (F.bytes * 8 - 4 * HELD)
    for w in range(HELD):
        moved: uint32 = ((held[w] | 0x80808080) - bytes.first) ^ (held[w] & 0x80808080 ^ bytes.tops)  # each, less the first
        tops[w] = ~(moved | ((moved | 0x80808080) - bytes.many)) & 0x80808080
    turn: F = F(bytes.others) if F == uint32 else F(bytes.others) | F(bytes.others) << (0 if F == uint32 else 32)
    return flags_of_tops(tops, F=F) ^ turn >> (F.bytes * 8 - 4 * HELD)  # for as many bytes as there are


@prism.device
@requires(thread[1])
@template(T=dtype, N=dtype, C=dtype, F=dtype, TEST=function, GIVEN=constexpr(bool), ITEMS=constexpr(int))
def flags_of_answers(items: T[ITEMS] @ thread[1], number: ptr(const(N)) @ thread[1]) -> F @ thread[1]:
    """A bit for each element of which `TEST` is true; with `GIVEN` it is called with `number[0]` too."""
    flags: F = 0
    for k in range(ITEMS):
        if GIVEN:
            flags = flags | F(1 if TEST(C(items[k]), number[0]) else 0) << k
        else:
            flags = flags | F(1 if TEST(C(items[k])) else 0) << k
    return flags
