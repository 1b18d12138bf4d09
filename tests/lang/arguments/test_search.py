"""Arguments are found for claims of each rule, and none for claims that two values refute, near to them.

Tests of prism/lang/arguments: search, atoms, bounds, nests, ranges.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from prism.lang.arguments import find
from prism.lang.arguments.nests import rules
from prism.lang.arguments.ranges import span
from prism.lang.certify.machine import Claim, Rule, meetings
from prism.lang.certify.steps import Argument, Checker, proves
from tests.generated.random_arguments import is_refuted, judge, pairs

T, C, N, X = (("var", v) for v in range(4))
OWN = (False, 0, 15)
"""A thread's number, in a block of 16."""


def add(*parts: Any) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = ("add", total, part)
    return total


def claim(
    e: Any, *more: tuple[bool, int, int], where: tuple[Any, ...] = (), own: Any = OWN, told: Any = (), agree: Any = ()
) -> Claim:
    """Return the claim that two threads with this index are one."""
    return Claim((own, *more), agree, (where, where), ((e, e),), (T,), told)


def holds(said: Claim) -> bool:
    """Whether an argument is found; if none is, some values must refute the claim."""
    found = find(said)
    if found is None:
        assert is_refuted(said)
    else:
        assert proves(said, found) and not is_refuted(said)
    return found is not None


def test_radix() -> None:
    e = add(("mul", ("quo", T, 4), 8), ("rem", T, 4), ("mul", C, 64))
    assert holds(claim(e, (True, 0, 3)))
    assert not holds(claim(add(("mul", ("quo", T, 4), 3), ("rem", T, 4)), (True, 0, 3)))


def test_digits() -> None:
    swapped = add(("mul", ("rem", T, 4), 4), ("quo", T, 4))
    assert holds(claim(swapped))
    assert not holds(claim(add(("mul", ("rem", T, 4), 4), ("quo", T, 8))))


def test_stride() -> None:
    row = add(("mul", ("quo", T, 4), N), C)
    inside = (("less", C, N), ("atmost", 0, C))
    column = ("rem", T, 4)
    e = add(("mul", ("quo", T, 4), N), column)
    assert holds(claim(e, (False, 0, 3), (True, 1, 6), where=(("less", column, N),)))
    assert not holds(claim(e, (False, 0, 3), (True, 1, 6)))
    several = Claim((OWN, (False, 0, 5), (True, 1, 6)), (), (inside, inside), ((row, row),), (("quo", T, 4),))
    assert holds(several)


def test_xor() -> None:
    swizzled = add(("mul", ("quo", T, 4), 4), ("xor", ("rem", T, 4), ("rem", ("quo", T, 4), 4)))
    assert holds(claim(swizzled))
    assert holds(claim(("xor", T, C), (True, 0, 7)))
    assert not holds(claim(("xor", T, C), (False, 0, 7)))


def test_bits() -> None:
    assert holds(claim(("or", ("mul", ("quo", T, 4), 4), ("and", T, 3))))
    assert holds(claim(add(("mul", ("shr", T, 2), 4), ("and", T, 3))))
    assert not holds(claim(("and", T, 7)))
    assert not holds(claim(("shr", T, 1)))


def test_apart() -> None:
    """Two accesses that never meet: of even and odd places, and of places that no bounds share."""
    odd = Claim((OWN,), (), ((), ()), ((("mul", T, 2), add(("mul", T, 2), 1)),), None)
    assert holds(odd)
    far = Claim((OWN,), (), ((), ()), ((T, add(T, 16)),), None)
    assert holds(far)
    near = Claim((OWN,), (), ((), ()), ((T, add(T, 15)),), None)
    assert not holds(near)


@pytest.mark.parametrize("bits", [4, 5, 8])
def test_wraps(bits: int) -> None:
    """What drops no bits of a thread's number keeps threads apart; what drops one does not."""
    by = 2 ** (bits - 4)
    assert holds(claim(("as", f"u{bits}", ("mul", T, by))))
    assert not holds(claim(("as", f"u{bits}", ("mul", T, 2 * by))))
    assert holds(claim(("as", f"u{bits}", add(("mul", T, by), C)), (True, 0, 20)))
    assert holds(claim(("as", f"i{bits}", ("sub", C, T)), (True, -3, 3)))


@pytest.mark.parametrize("bits", [4, 6, 32])
def test_a_promise_that_no_two_threads_can_keep_proves_nothing(bits: int) -> None:
    """`id() * 2**30 * 4` in 32 bits: it was once taken to be apart, as it must not overflow."""
    own = (False, 0, 15 if bits < 32 else 1023)
    first = ("fits", f"i{bits}", ("mul", T, 2 ** (bits - 2)))
    promised = claim(("fits", f"i{bits}", ("mul", first, 4)), own=own)
    assert find(promised) is None
    wrapped = claim(("as", f"i{bits}", ("mul", ("as", f"i{bits}", ("mul", T, 2 ** (bits - 2))), 4)), own=own)
    assert find(wrapped) is None
    assert is_refuted(wrapped) if bits < 32 else next(meetings(wrapped, iter([((0,), (1,))])), None)
    # The promise alone would do: the checker asks for two threads that keep it.
    steps = (
        ("range", 0, 0), ("range", 1, 0), ("promised", 0, 1), ("promised", 1, 1),
        ("round", 2**bits, 5), ("round", 2**bits, 7), ("meets", 0),
    )  # fmt: skip
    atoms = (("first", 0), ("second", 0))
    checker = Checker(promised, atoms)
    for step in steps:
        checker.facts += checker.follow(step)
    assert not proves(promised, Argument(atoms, steps, ((0,), (1,))))


def test_promises_of_numbers_without_bounds_are_used() -> None:
    said = Claim(
        ((False, 0, 15), (True, 1, None)),
        (),
        ((), ()),
        (((("fits", "i32", add(T, C))), ("fits", "i32", add(T, C))),),
        (T,),
    )
    found = find(said)
    assert found is not None and found.witness != ((), ())
    assert proves(said, found) and not proves(said, Argument(found.atoms, found.steps, ((0, 1), (0, 1))))


def test_distinct_numbers_and_strides_that_nest() -> None:
    places = (Rule(((), ()), ((C, C),), ((T, T),)),)
    e = ("mul", C, 3)
    assert holds(claim(e, (False, 0, 9), told=places))
    assert not holds(claim(e, (False, 0, 9)))
    place = add(("mul", C, ("quo", T, 4)), ("mul", N, ("rem", T, 4)))
    nest = tuple(rules(((4, C), (4, N)), place, place))
    assert len(nest) == 1
    assert find(claim(place, (True, 1, 16), (True, 1, 16), told=nest)) is not None
    assert find(claim(place, (True, 1, 16), (True, 1, 16), told=tuple(rules(((4, C), (3, N)), place, place)))) is None


def test_what_agrees() -> None:
    """Of threads of one warp of 4 the number in it is enough."""
    assert holds(claim(("rem", T, 4), agree=(("quo", T, 4),)))
    assert not holds(claim(("rem", T, 4), agree=(("quo", T, 8),)))


def test_spans() -> None:
    rows, memo = [(False, 0, 15), (True, 1, None)], {}
    assert span(rows, add(("mul", T, 4), 3), memo) == (3, 63)
    assert span(rows, ("rem", T, C), memo) == (0, 15)
    assert span(rows, ("mul", T, C), memo) == (0, None)
    assert span(rows, ("as", "u8", ("mul", T, 100)), memo) == (0, 255)


def test_random_claims_and_mutants() -> None:
    """None is accepted that some values refute. More: `python -m tests.generated.random_arguments`."""
    found: Counter[str] = Counter()
    for seed in range(40):
        found.update(word for word, _, _ in judge(seed, 3))
    assert not [word for word in found if "wrong" in word]
    assert min(found["accepted"], found["mutant rejected, true"] + found["mutant rejected, false"]) > 5


def test_each_refused_mutant_of_a_kernels_index_meets() -> None:
    """A tile of 16 in rows of 4: constants that are changed, by brute force and by the checker."""
    refuted = 0
    for row in range(1, 9):
        for cut in (2, 4, 8):
            said = claim(("as", "u8", add(("mul", ("quo", T, cut), row), ("rem", T, cut))))
            refuted += not holds(said)
            assert is_refuted(said) == (row < cut), list(pairs(said))[:1]
    assert refuted == 1 + 3 + 7
