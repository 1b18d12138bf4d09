"""The rules of rings, one by one, on certificates that are written by hand.

Tests of prism/lang/certify: rings, rounds, places.
"""

from __future__ import annotations

from collections import Counter

import pytest

from prism.lang.certify import ACCEPTED, REJECTED, check_text, parse
from tests.generated.random_certificates import DrawnRing, DrawnStations

HEAD = """(certificate 1)
(kernel "by hand")
(threads 96)
(space 0 block)
(space 1 grid)
(object 0 0 0 512 "ring")
(object 1 1 0 1 "x")
(object 2 0 512 1024 "other")
(mbarrier 0 0 {copies} {way} {free} "ring_read")
(mbarrier 1 0 {copies} filled {filled} "ring_filled")
(ring 0 1)
(access 0 0 write "to")
(access 1 0 read "of")
(access 2 1 read "x")
(access 3 1 write "x")
(access 4 0 write "again")
"""
LOAD = ("(wait 0)", "(load 1 256 256 2 0)", "(tell 1)")
COPY = ("(wait 0)", "(copy 2 0)", "(later 1)")
STORE = ("(wait 0)", "(acc 0)", "(tell 1)")
WARP = ("(bar (thread 32) warp)", "(only 32 0 1 (tell 0))")
USE = ("(wait 1)", "(acc 1)", "(fence shared)", *WARP)
OWN = '(fact 0 0 same (thread 1) proved "")\n'


def found(
    fill: tuple[str, ...] = LOAD,
    use: tuple[str, ...] = USE,
    *,
    who: str = "only 0 64 65",
    counts: tuple[int, int] = (2, 2),
    facts: str = OWN,
    body: str = "(loop 0 block {turn})",
    way: str = "free",
    copies: int = 2,
) -> tuple[str, str]:
    """What the checker says of a ring that one thread or a warp fills and two warps use, and the rule."""
    turn = f"(round 0 (seq ({who} (seq {' '.join(fill)})) (only 0 0 64 (seq {' '.join(use)}))))"
    text = (
        HEAD.format(free=counts[0], filled=counts[1], way=way, copies=copies)
        + facts
        + f"(body {body.replace('{turn}', turn)})\n"
    )
    assert check_text(str(parse(text))) == check_text(text)
    said = check_text(text)
    return said.status, said.rule


def gathers(**more: object) -> tuple[str, str]:
    """The same, where a warp copies."""
    given = {"fill": COPY, "who": "only 0 64 96", "counts": (2, 32), **more}
    return found(**given)  # type: ignore[arg-type]


FAILS = (REJECTED, "rings")


def without(parts: tuple[str, ...], one: str) -> tuple[str, ...]:
    return tuple(part for part in parts if part != one)


def test_right_ones() -> None:
    assert found() == (ACCEPTED, "")
    assert gathers() == (ACCEPTED, "")
    assert gathers(fill=STORE, use=without(USE, "(fence shared)")) == (ACCEPTED, "")
    assert found(use=(*USE[:3], "(tell 0)"), counts=(64, 2)) == (ACCEPTED, "")  # each thread for itself


def test_each_wait_and_arrival_is_needed() -> None:
    for part in LOAD:
        assert found(fill=without(LOAD, part)) == FAILS, part
    for part in COPY[::2]:
        assert gathers(fill=without(COPY, part)) == FAILS, part
    for part in without(USE, "(acc 1)"):
        assert found(use=without(USE, part)) == FAILS, part


def test_order_in_a_round() -> None:
    assert found(fill=(LOAD[1], LOAD[0], LOAD[2])) == FAILS  # filled before the copy is free
    assert found(use=("(acc 1)", "(wait 1)", *USE[2:])) == FAILS
    assert found(use=("(wait 1)", "(fence shared)", *WARP, "(acc 1)")) == FAILS
    assert (
        found(use=("(wait 1)", "(fence shared)", "(acc 1)", *WARP)) == FAILS
    )  # the engine may not see what comes behind the fence
    assert gathers(fill=("(wait 0)", "(later 1)", "(copy 2 0)")) == FAILS


def test_a_fence_is_for_engines_of_the_other_proxy() -> None:
    assert found(use=without(USE, "(fence shared)")) == FAILS
    assert gathers(use=without(USE, "(fence shared)")) == (ACCEPTED, "")


def test_counts() -> None:
    for counts in ((1, 2), (3, 2), (2, 1), (2, 3), (0, 2)):
        assert found(counts=counts) == FAILS, counts
    assert gathers(counts=(2, 31)) == FAILS


def test_bytes() -> None:
    assert found(fill=(LOAD[0], "(load 1 240 256 2 0)", LOAD[2])) == (REJECTED, "form")


def test_rounds_are_the_blocks() -> None:
    assert found(body="(loop 0 grid {turn})") == (ACCEPTED, "")
    assert found(body="(loop 0 (thread 32) {turn})")[0] == REJECTED
    assert found(body="(loop 0 block (only 0 0 96 {turn}))") == FAILS
    assert found(body="(seq (loop 0 block {turn}) (acc 1))") == FAILS
    assert found(body="(seq {turn} {turn})") == (ACCEPTED, "")  # rounds may stand in several places
    assert found(body="(seq {turn} (round 0 (seq)))") == FAILS  # each of which has all waits and arrivals
    assert found(body="(seq {turn} {turn})", way="(free 1)") == FAILS  # but where arrivals come late


def test_under_a_condition() -> None:
    assert found(fill=(LOAD[0], "(if block (load 1 256 256 2 0) (seq))", LOAD[2])) == FAILS
    assert found(use=("(wait 1)", "(if (thread 1) (acc 1) (seq))", *USE[2:])) == (ACCEPTED, "")


def test_what_fills_one_copy() -> None:
    assert gathers(facts="") == FAILS  # by two threads
    assert found(facts="") == (ACCEPTED, "")  # there is one
    twice = ("(wait 0)", "(copy 2 0)", "(copy 2 4)", "(later 1)")
    facts = OWN + '(fact 4 4 same (thread 1) proved "")\n'
    assert gathers(fill=twice, facts=facts + '(fact 0 4 same (thread 1) proved "")\n') == FAILS  # engines have no order
    assert gathers(fill=twice, facts=facts + '(fact 0 4 same never proved "")\n') == (ACCEPTED, "")
    ways = ("(wait 0)", "(if block (copy 2 0) (copy 2 4))", "(later 1)")
    assert gathers(fill=ways, facts=facts) == (ACCEPTED, "")
    assert gathers(fill=(ways[0], ways[1].replace("block", "(thread 32)"), ways[2]), facts=facts) == FAILS
    round_and_round = ("(wait 0)", "(loop 1 grid (copy 2 0))", "(later 1)")
    assert gathers(fill=round_and_round) == FAILS
    assert gathers(fill=round_and_round, facts=OWN + '(fact 0 0 1 (thread 1) proved "")\n') == FAILS
    assert gathers(fill=round_and_round, facts=OWN + '(fact 0 0 1 never proved "")\n') == (ACCEPTED, "")


def test_what_an_engine_reads_nobody_writes() -> None:
    facts = OWN + '(fact 3 3 same (thread 1) proved "")\n'
    assert found(body="(seq (loop 0 block {turn}) (only 0 0 1 (acc 3)))", facts=facts) == FAILS


PRODUCT = ("(wait 1)", "(group wgmma 1)", "(settle wgmma 0)", *WARP)
LATE = ("(wait 1)", "(group wgmma 1)", "(settle wgmma 1)", *WARP)
LEFT = "(only 0 0 64 (seq (settle wgmma 0) (bar (thread 32) warp) (only 32 0 1 (drain 0))))"
TILES = "(loop 1 block (seq (loop 0 block {turn}) " + LEFT + "))"


def products(use: tuple[str, ...] = LATE, body: str = TILES, *, copies: int = 2, **more: object) -> tuple[str, str]:
    """What the checker says where tensor cores read the ring, and who says so does it a round late."""
    return found(use=use, body=body, way="(free 1)", copies=copies, **more)  # type: ignore[arg-type]


def test_products_read_a_ring() -> None:
    assert found(use=PRODUCT) == (ACCEPTED, "")  # both are of one proxy: no fence
    for part in PRODUCT:
        if part != "(group wgmma 1)":
            assert found(use=without(PRODUCT, part)) == FAILS, part
    assert found(use=(PRODUCT[0], PRODUCT[2], PRODUCT[1], *WARP)) == FAILS
    assert found(use=("(wait 1)", "(group wgmma 1)", "(settle wgmma 1)", *WARP)) == FAILS  # its own may be under way
    assert found(use=("(wait 1)", "(group wgmma 1)", "(settle bulk 0)", *WARP)) == FAILS
    assert found(use=("(wait 1)", "(loop 2 grid (group wgmma 1))", *PRODUCT[2:])) == (ACCEPTED, "")
    assert found(use=("(wait 1)", "(group out 1)", "(settle out 0)", *WARP)) == FAILS
    assert (
        found(use=("(wait 1)", "(group wgmma 1)", "(settle wgmma 0)", "(acc 0)", *WARP)) == FAILS
    )  # and nobody writes


def test_what_threads_fill_and_engines_read_is_fenced() -> None:
    fence = (*STORE[:2], "(fence shared)", STORE[2])
    assert gathers(fill=fence, use=PRODUCT) == (ACCEPTED, "")
    assert gathers(fill=STORE, use=PRODUCT) == FAILS
    assert gathers(fill=("(wait 0)", "(fence shared)", "(acc 0)", "(tell 1)"), use=PRODUCT) == FAILS
    assert gathers(fill=fence, use=("(wait 1)", "(group bulk 1)", "(settle bulk 0)", *WARP)) == (ACCEPTED, "")


def test_arrivals_that_come_late() -> None:
    assert products() == (ACCEPTED, "")
    assert products(body="(loop 1 block {turn})") == FAILS  # nobody arrives for the last round
    assert products(body="(seq (loop 0 block {turn}) " + LEFT + ")") == (ACCEPTED, "")
    assert (
        products(body="(loop 1 block (seq " + LEFT + " (loop 0 block {turn})))") == FAILS
    )  # before, in place of behind
    for part in ("(settle wgmma 0) ", "(bar (thread 32) warp) "):
        assert products(body=TILES.replace(part, "")) == FAILS, part
    assert products(body=TILES.replace("(settle wgmma 0)", "(settle wgmma 1)")) == FAILS
    assert products(body=TILES.replace("only 32 0 1 (drain", "only 32 0 2 (drain")) == FAILS
    assert products(body=TILES.replace("only 0 0 64", "only 0 0 32")) == FAILS
    assert (
        products(body=TILES.replace("only 0 0 64", "only 0 0 96")) == FAILS
    )  # who arrives there does not in the rounds
    assert products(body=TILES.replace("(drain 0)", "(if block (drain 0) (seq))")) == FAILS
    assert products(copies=1) == FAILS  # the copy is asked for before it is given back
    assert products(use=("(wait 1)", "(group wgmma 1)", "(settle wgmma 2)", *WARP)) == FAILS
    assert products(use=without(LATE, "(settle wgmma 1)")) == FAILS
    assert products(use=(*LATE, "(only 32 0 1 (tell 0))"), counts=(4, 2)) == FAILS  # at two places
    inside = ("(wait 1)", "(group wgmma 1)", "(settle wgmma 1)", *WARP, "(only 32 0 1 (drain 0))")
    assert products(use=inside) == FAILS
    assert products(use=("(wait 1)", "(if block (group wgmma 1) (seq))", *LATE[2:]))[0] == REJECTED


def test_what_stores_write() -> None:
    store = "(only 0 64 65 (group out 3))"
    never, one = '(fact 3 3 0 never proved "")\n', '(fact 3 3 same (thread 1) proved "")\n'
    extra = "(loop 0 block (seq {turn} " + store + "))"
    use = without(USE, "(fence shared)")
    text = HEAD.replace('(access 2 1 read "x")', '(access 2 3 read "x")') + '(space 2 grid)\n(object 3 2 0 1 "y")\n'
    said = []
    for facts in (OWN + never + one, OWN + never, OWN + one):
        turn = f"(round 0 (seq (only 0 64 96 (seq {' '.join(COPY)})) (only 0 0 64 (seq {' '.join(use)}))))"
        body = (
            text.format(free=2, filled=32, way="free", copies=2) + facts + f"(body {extra.replace('{turn}', turn)})\n"
        )
        said.append(check_text(body).status)
    assert said == [ACCEPTED, REJECTED, REJECTED]  # by one thread, and never one place in two trips


STATIONS = """(certificate 1)
(kernel "by hand")
(threads 96)
(space 0 block)
(space 1 grid)
(space 2 grid)
(object 0 0 0 512 "ring")
(object 1 1 0 1 "x")
(object 2 2 0 1 "y")
(mbarrier 0 0 2 free 1 "stored")
(mbarrier 1 0 2 filled 2 "filled")
(mbarrier 2 0 2 {way} 2 "changed")
(ring 0 1)
(access 0 0 write "to")
(access 1 0 read "of")
(access 2 1 read "x")
(access 3 0 write "own")
(access 4 0 read "done")
(access 5 2 write "y")
"""
OWN_PARTS = {(0, 0): 1, (3, 3): 1, (1, 3): 32}
CHANGE = (
    "(wait 1)",
    "(acc 1)",
    "(bar (thread 32) warp)",
    "(acc 3)",
    "(fence shared)",
    "(bar (thread 32) warp)",
    "(only 32 0 1 (tell 2))",
)
PASS = ("(wait 2)", "(settle out 0)", "(group out 5)", "(group bulk 4)", "(settle bulk 0)", "(tell 0)")


def stations(
    change: tuple[str, ...] = CHANGE,
    pass_on: tuple[str, ...] = PASS,
    *,
    parts: dict[tuple[int, int], int] = OWN_PARTS,
    way: str = "(filled 2)",
    later: str = "(thread 1)",
) -> tuple[str, str]:
    """What the checker says of a ring that one thread fills, two warps change in place, and a thread stores."""
    facts = "".join(f'(fact {i} {j} same (thread {n}) proved "")\n' for (i, j), n in parts.items())
    facts += f'(fact 5 5 same (thread 1) proved "")\n(fact 5 5 0 {later} proved "")\n'
    inner = (
        f"(only 0 64 65 (seq {' '.join(LOAD)})) (only 0 0 64 (seq {' '.join(change)})) "
        f"(only 0 65 66 (seq {' '.join(pass_on)}))"
    )
    text = STATIONS.format(way=way) + facts + f"(body (loop 0 block (round 0 (seq {inner}))))\n"
    assert check_text(str(parse(text))) == check_text(text)
    said = check_text(text)
    return said.status, said.rule


def test_a_ring_of_three_stations() -> None:
    assert stations() == (ACCEPTED, "")
    for way in ("filled", "(filled 3)"):
        assert stations(way=way) == FAILS
    for part in CHANGE:
        if part not in ("(acc 1)", "(acc 3)", "(bar (thread 32) warp)"):
            assert stations(change=without(CHANGE, part)) == FAILS, part
    for part in ("(wait 2)", "(settle bulk 0)", "(tell 0)"):
        assert stations(pass_on=without(PASS, part)) == FAILS, part
    assert stations(pass_on=("(wait 1)", *PASS[1:])) == FAILS  # it is filled, and not changed yet


def test_what_meets_at_one_station() -> None:
    reads_first = (*CHANGE[:2], *CHANGE[3:])
    assert stations(change=reads_first) == FAILS  # another thread may have changed what one reads
    assert stations(change=reads_first, parts={**OWN_PARTS, (1, 3): 1}) == (ACCEPTED, "")
    assert stations(parts={**OWN_PARTS, (1, 3): 64}) == FAILS  # a warp's barrier is not for both warps
    assert stations(parts={**OWN_PARTS, (3, 3): 32}) == FAILS


PRODUCTS_FIRST = ("(wait 1)", "(group wgmma 1)", "(settle wgmma 0)", "(bar (thread 32) warp)", *CHANGE[3:])


def test_threads_change_what_products_have_read() -> None:
    """Rule `together`: the warp meets right behind the wait for all products."""
    assert stations(change=PRODUCTS_FIRST) == (ACCEPTED, "")
    for part in ("(group wgmma 1)", "(acc 3)"):  # nothing meets
        assert stations(change=without(PRODUCTS_FIRST, part)) == (ACCEPTED, "")
    in_loop = f"(loop 7 block (seq {' '.join(PRODUCTS_FIRST[1:4])}))"
    last = (CHANGE[3], "(settle wgmma 0)", *CHANGE[4:])
    assert stations(change=("(wait 1)", in_loop, *last)) == (ACCEPTED, "")
    assert stations(change=("(wait 1)", in_loop.replace(" (bar (thread 32) warp)", ""), *last)) == FAILS
    assert stations(change=without(PRODUCTS_FIRST, "(settle wgmma 0)")) == FAILS
    assert stations(change=(*PRODUCTS_FIRST[:3], *CHANGE[3:])) == FAILS  # another thread's products may be under way
    assert stations(change=(*PRODUCTS_FIRST[:2], "(settle wgmma 1)", *PRODUCTS_FIRST[3:])) == FAILS
    assert stations(change=(PRODUCTS_FIRST[0], *PRODUCTS_FIRST[2:4], PRODUCTS_FIRST[1], *CHANGE[3:])) == FAILS
    assert stations(change=PRODUCTS_FIRST, parts={**OWN_PARTS, (1, 3): 64}) == FAILS  # both warps read it all
    parts = ("(wait 1)", "(only 0 0 64 (group wgmma 1))", f"(only 0 0 64 (seq {' '.join(PRODUCTS_FIRST[2:4])}))")
    assert stations(change=(*parts, *CHANGE[3:])) == (ACCEPTED, "")
    assert stations(change=(*parts[:2], parts[2].replace("0 64", "0 32"), *CHANGE[3:])) == FAILS


def test_stores_that_wait_for_those_before() -> None:
    assert stations(pass_on=without(PASS, "(settle out 0)")) == FAILS
    assert stations(pass_on=without(PASS, "(settle out 0)"), later="never") == (ACCEPTED, "")
    assert stations(later="(thread 32)") == (ACCEPTED, "")  # one thread stores
    assert stations(pass_on=(PASS[0], *PASS[2:3], PASS[1], *PASS[3:])) == (ACCEPTED, "")  # before the next one, too
    assert stations(pass_on=(PASS[0], "(settle out 1)", *PASS[2:])) == FAILS


BESIDE = """(certificate 1)
(kernel "by hand")
(threads 64)
(space 0 block)
(space 1 grid)
(object 0 0 0 512 "tile")
(object 1 1 0 1 "x")
(access 0 0 write "coming")
(access 1 1 read "x")
(access 2 0 read "mine")
(access 3 0 write "own")
(fact 3 3 same (thread 1) proved "")
"""
ONE = "".join(f'(fact {i} {j} {part} (thread 1) proved "")\n' for i, j in ((0, 0), (0, 2)) for part in ("same", 0))


def beside(*body: str, facts: str = ONE, loop: bool = True) -> tuple[str, str]:
    """What the checker says of engines that touch a tile which is no ring."""
    inner = f"(seq {' '.join(body)})"
    said = check_text(BESIDE + facts + f"(body {f'(loop 0 block {inner})' if loop else inner})\n")
    return said.status, said.rule


def test_a_thread_waits_for_what_it_has_copied() -> None:
    copy, wait, read = "(group cp_async 0 1)", "(settle cp_async 0)", "(acc 2)"
    assert beside(copy, wait, read) == (ACCEPTED, "")
    assert beside(copy, wait, read, facts=ONE.replace("thread 1", "thread 32")) == FAILS  # others' copies
    assert beside(copy, read, wait) == FAILS
    assert beside(copy, read) == FAILS
    assert beside(copy, "(settle cp_async 1)", read) == FAILS
    assert beside(copy, "(settle bulk 0)", read) == FAILS
    assert beside(copy, "(if (thread 1) (settle cp_async 0) (seq))", read) == FAILS
    assert beside(copy, "(only 0 0 32 (settle cp_async 0))", read) == FAILS
    assert beside(wait, read, copy) == FAILS  # it may be under way when the block ends
    assert beside(wait, read, "(if (thread 1) (group cp_async 0 1) (seq))", wait) == (ACCEPTED, "")


def test_a_barrier_before_an_engine_reads() -> None:
    write, fence, meet = "(acc 3)", "(fence shared)", "(bar block (named 0))"
    read, wait = "(only 0 0 1 (group bulk 2))", "(settle bulk 0)"
    assert beside(write, fence, meet, read, wait, loop=False) == (ACCEPTED, "")
    assert beside(write, fence, meet, read, wait) == FAILS  # the next trip writes while the engine reads
    assert beside(write, meet, read, wait, loop=False) == FAILS  # the engine is of another proxy
    assert beside(write, meet, fence, read, wait, loop=False) == FAILS
    assert beside(write, fence, meet, read, loop=False) == FAILS
    assert beside(write, fence, read, meet, wait, loop=False) == FAILS
    assert beside(meet, write, fence, read, wait, loop=False) == FAILS
    assert beside(write, fence, "(bar (thread 32) warp)", read, wait, loop=False) == FAILS
    assert beside(write, fence, f"(if block {meet} (seq))", read, wait, loop=False) == FAILS


TURNS = """(certificate 1)
(kernel "by hand")
(threads 96)
(space 0 block)
(object 0 0 0 128 "one for all")
(mbarrier 0 0 1 free 32 "turn")
(mbarrier 1 0 1 filled 32 "turn")
(mbarrier 2 0 1 (filled 2) 32 "turn")
(access 0 0 write "x")
(fact 0 0 same (thread 1) proved "")
"""


def turns(*units: str) -> tuple[str, str]:
    """What the checker says of three warps that go through a passage."""
    ways = " ".join(f"(only 0 {32 * i} {32 * i + 32} (seq {unit}))" for i, unit in enumerate(units))
    said = check_text(TURNS + f"(body (loop 0 block (round 0 (seq {ways}))))\n")
    return said.status, said.rule


def test_turns_are_a_ring_of_one_copy() -> None:
    first, second, third = (f"(bar (thread 32) (named 1)) (wait {i}) (tell {(i + 1) % 3})" for i in range(3))
    assert turns(first, second, third) == (ACCEPTED, "")
    assert turns(second, first, third) == FAILS  # in the order of the text each waits for one behind
    assert turns(first, "(tell 2)", third) == FAILS
    assert turns(first, second, "(wait 2)") == FAILS
    assert turns(first, "(wait 1)", third) == FAILS
    assert turns(first, second.replace("(wait 1)", "(if (thread 1) (wait 1) (seq))"), third) == FAILS


def test_a_wait_that_stands_in_several_places() -> None:
    use = ("(only 0 0 32 (wait 1))", "(only 0 32 64 (wait 1))", *USE[1:])
    assert found(use=use) == (ACCEPTED, "")  # each thread has waited somewhere
    assert found(use=(use[0], *USE[1:])) == FAILS


def test_newer_groups_of_the_same_round() -> None:
    twice = ("(wait 1)", "(group wgmma 1)", "(group wgmma 1)")
    assert found(use=(*twice, "(settle wgmma 0)", *WARP)) == (ACCEPTED, "")
    assert found(use=(*twice, "(settle wgmma 1)", *WARP)) == FAILS  # the newer one may be under way


def test_certificates_by_chance_meet_the_rules() -> None:
    for drawn in (DrawnRing, DrawnStations):
        rules: Counter[str] = Counter()
        for seed in range(800):
            text = drawn(seed).text()
            said = check_text(text)
            assert check_text(str(parse(text))) == said
            rules[said.rule or said.status] += 1
        assert min(rules[ACCEPTED], rules["rings"]) > 50


MEMORIES = (("shared", ACCEPTED), ("cluster", ACCEPTED), ("all", ACCEPTED), ("global", REJECTED))


@pytest.mark.parametrize(("memory", "said"), MEMORIES)
def test_a_fence_is_for_the_memory_of_a_ring(memory: str, said: str) -> None:
    assert found(use=tuple(s.replace("(fence shared)", f"(fence {memory})") for s in USE))[0] == said
