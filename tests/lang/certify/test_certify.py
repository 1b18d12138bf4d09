"""The checker of certificates, rule by rule, on certificates that are written by hand; their text.

Tests of prism/lang/certify: checker, clusters, text, __main__.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

import pytest

from prism.lang.certify import ACCEPTED, NOT_COVERED, REJECTED, Malformed, check, check_text, parse
from prism.lang.certify import checker as checker_module
from tests.generated.random_certificates import Drawn

HEAD = """(certificate 1)
(kernel "by hand")
(threads {threads})
(space 0 block)
(space 1 grid)
(object 0 0 0 256 "s")
(object 1 0 256 512 "t")
(object 2 0 128 384 "over both")
(object 3 1 0 1 "x")
(access 0 0 write "s[t]")
(access 1 0 read "s[u]")
(access 2 1 write "t[t]")
(access 3 2 write "both")
(access 4 3 atomic "x")
(access 5 3 atomic_block "x")
(access 6 3 read "x")
(fact 0 0 same (thread 1) proved "")
(fact 2 2 same (thread 1) proved "")
(fact 3 3 same (thread 1) proved "")
"""
BLOCK, WARP = "(bar block (named 0))", "(bar (thread 32) warp)"


def found(body: str, *facts: str, threads: int = 128) -> tuple[str, str]:
    """What the checker says of a body, and the rule."""
    text = HEAD.format(threads=threads) + "".join(f"(fact {fact})\n" for fact in facts) + f"(body {body})\n"
    said = check_text(text)
    return said.status, said.rule


def accepted(body: str, *facts: str, threads: int = 128) -> bool:
    status, rule = found(body, *facts, threads=threads)
    assert (status, rule) == (ACCEPTED, "") or (status, rule) == (REJECTED, "race"), (status, rule)
    return status == ACCEPTED


# -- race ---------------------------------------------------------------------------------------------------------------------


def test_a_barrier_orders_what_others_read() -> None:
    assert accepted(f"(seq (acc 0) {BLOCK} (acc 1))")
    assert not accepted("(seq (acc 0) (acc 1))")
    assert not accepted(f"(seq (acc 0) {WARP} (acc 1))")
    assert accepted(f"(seq (acc 0) {WARP} (acc 1))", '0 1 same (thread 32) proved ""')
    assert not accepted("(seq (acc 0) (bar (thread 16) warp) (acc 1))", '0 1 same (thread 32) proved ""')


def test_two_threads_do_not_write_one_element() -> None:
    text = HEAD.format(threads=128).replace("(fact 0 0 same", "(fact 0 0 7")
    assert check_text(text + "(body (acc 0))").rule == "race"


def test_one_thread_needs_none_and_what_never_meets() -> None:
    assert accepted("(seq (acc 0) (acc 1))", '1 0 same (thread 1) assumed ""')
    assert accepted("(seq (acc 0) (acc 1))", '0 1 same never believed ""')


def test_bytes_that_overlap() -> None:
    assert accepted("(seq (acc 0) (acc 2))")  # other bytes
    assert not accepted("(seq (acc 0) (acc 3))") and not accepted("(seq (acc 3) (acc 2))")
    assert accepted(f"(seq (acc 0) {BLOCK} (acc 3) {BLOCK} (acc 2))")


def test_a_loop_comes_round() -> None:
    assert not accepted(f"(loop 0 block (seq (acc 0) {BLOCK} (acc 1)))", '0 0 0 (thread 1) proved ""')
    assert accepted(f"(loop 0 block (seq (acc 0) {BLOCK} (acc 1) {BLOCK}))")
    assert accepted(
        f"(loop 0 block (seq (acc 0) {BLOCK} (acc 1)))", '0 1 0 never proved ""', '0 0 0 (thread 1) proved ""'
    )


def test_a_loop_that_may_make_no_trip_orders_nothing_behind_it() -> None:
    assert not accepted(f"(seq (acc 0) (loop 0 grid (seq {BLOCK})) (acc 1))")
    assert accepted(f"(seq (acc 0) (loop1 0 grid (seq {BLOCK})) (acc 1))")


def test_both_ways_must_meet_it() -> None:
    assert not accepted(f"(seq (acc 0) (if block (seq {BLOCK}) (seq)) (acc 1))")
    assert accepted(f"(seq (acc 0) (if block (seq {BLOCK}) (seq {BLOCK})) (acc 1))")
    assert accepted(f"(seq (acc 0) (if block (seq {BLOCK} (acc 1)) (seq)))")


def test_who_decides_alike_takes_one_way() -> None:
    assert accepted("(if block (seq (acc 0)) (seq (acc 1)))")
    assert not accepted("(if (thread 32) (seq (acc 0)) (seq (acc 1)))")
    assert accepted("(if (thread 32) (seq (acc 0)) (seq (acc 1)))", '0 1 same (thread 16) proved ""')


def test_arms_run_at_once() -> None:
    arms = "(seq (only 0 0 64 (seq (acc 0))) (only 0 64 128 (seq (acc 1))))"
    assert not accepted(arms)
    assert accepted(arms, '0 1 same (thread 64) proved ""')
    one_warp = f"(only 0 0 32 (seq (acc 0) {WARP} (acc 1)))"
    assert accepted(one_warp)  # of these threads no others come
    assert not accepted(f"(seq (only 0 0 32 (seq (acc 0) {WARP})) (acc 1))")
    apart = f"(seq (only 0 0 32 (acc 0)) (only 0 0 {{}} (seq {WARP})) (only 0 0 32 (acc 1)))"
    assert accepted(apart.format(32)) and accepted(apart.format(64).replace("0 0 64", "0 0 32"))
    assert not accepted(apart.format(16).replace("(bar (thread 32) warp)", "(bar (thread 16) warp)"))
    assert accepted("(only 32 0 16 (seq (acc 0) (bar (thread 16) warp) (acc 1)))", '0 1 same (thread 32) proved ""')


def test_atomics() -> None:
    assert accepted("(seq (acc 4) (acc 4))") and not accepted("(seq (acc 4) (acc 6))")
    assert not accepted("(seq (acc 5) (acc 4))") and not accepted("(acc 5)")
    facts = [f'{i} {j} same block proved ""' for i, j in ((5, 5), (5, 4))]
    assert accepted("(seq (acc 5) (acc 4))", *facts) and not accepted("(seq (acc 5) (acc 6))", *facts)


# -- bars and keys ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "(bar (thread 256) (named 1))",  # the block has 128
        "(bar (thread 48) warp)",
        "(bar (thread 32) (named 14))",  # four of them: 14 to 17
        "(bar block (named 16))",
        "(bar block warp)",
        f"(only 0 0 64 (seq {BLOCK}))",
        "(only 0 32 96 (seq (bar (thread 64) (named 1))))",
        "(only 64 0 32 (seq (bar (thread 64) (named 1))))",
        f"(if (thread 32) (seq {BLOCK}) (seq))",
        f"(loop 0 (thread 64) (seq {BLOCK}))",
        "(if block (seq (bar grid warp)) (seq))",
    ],
)
def test_barriers_that_hang(body: str) -> None:
    assert found(body) == (REJECTED, "bars")


@pytest.mark.parametrize(
    "body",
    [
        "(bar (thread 64) (named 1))",
        "(only 0 64 128 (seq (bar (thread 64) (named 1))))",
        "(only 64 32 64 (seq (bar (thread 32) warp)))",
        "(if (thread 128) (seq (bar block (named 0))) (seq))",  # that is the block
        "(if block (seq (bar block (named 0))) (seq))",
        "(only 0 0 32 (if (thread 32) (seq (bar (thread 32) warp)) (seq)))",
        "(loop 0 grid (seq (bar grid warp)))",
    ],
)
def test_barriers_that_open(body: str) -> None:
    assert found(body) == (ACCEPTED, "")


def test_a_unit_that_the_block_has_not_whole() -> None:
    """256 of 384 threads: in the code of all, the last 128 wait for ever; in the text of the first 256, all come."""
    bar = "(bar (thread 256) (named 1))"
    assert found(bar, threads=384) == (REJECTED, "bars")
    assert found(f"(only 0 0 256 (seq {bar}))", threads=384) == (ACCEPTED, "")


def test_no_number_is_used_twice() -> None:
    two = "(seq (bar (thread 64) (named {})) (bar (thread 32) (named {})))"
    assert found(two.format(1, 2)) == (REJECTED, "keys") and found(two.format(0, 2)) == (ACCEPTED, "")
    assert found(f"(seq {BLOCK} (bar (thread 64) (named 0)))") == (REJECTED, "keys")
    assert found(f"(seq {BLOCK} {BLOCK})") == (ACCEPTED, "")
    clusters = "(seq (bar (cluster {}) warp) (bar (cluster {}) warp))"
    assert found(clusters.format(2, 2)) == (ACCEPTED, "") and found(clusters.format(2, 4)) == (REJECTED, "keys")


# -- form and text ------------------------------------------------------------------------------------------------------------


def test_form() -> None:
    assert found("(acc 9)") == (REJECTED, "form")
    assert found("(seq (loop 0 grid (seq)) (loop 0 grid (seq)))") == (REJECTED, "form")
    assert (
        check_text(HEAD.format(threads=32).replace("(object 3 1 0 1", "(object 3 7 0 1") + "(body (acc 4))").rule
        == "form"
    )


@pytest.mark.parametrize(
    "text", ["", "(certificate 2)", "(certificate 1) (body (seq)", "(certificate 1)", "(certificate 1) (what)"]
)
def test_what_is_no_certificate(text: str) -> None:
    with pytest.raises(Malformed):
        parse(text)
    assert check_text(text).status == REJECTED


def test_the_text_is_the_certificate() -> None:
    text = (
        HEAD.format(threads=128)
        + "(body\n (seq\n  (acc 0)\n  (if block\n   (seq\n    (acc 1)\n   )\n   (seq)\n  )\n )\n)\n"
    )
    assert str(parse(text)) == text.replace(" (seq)\n", " (seq)\n")
    beyond = '(certificate 1)\n(kernel "k")\n(threads 32)\n(beyond 2 "a ring")\n'
    assert str(parse(beyond)) == beyond
    said = check(parse(beyond))
    assert (said.status, said.reason) == (NOT_COVERED, "a ring")


def test_certificates_by_chance_are_of_every_answer_and_read_again_alike() -> None:
    rules = Counter[str]()
    for seed in range(400):
        text = Drawn(seed).text()
        said = check_text(text)
        assert check_text(str(parse(text))) == said
        rules[said.rule or said.status] += 1
    assert rules.keys() >= {ACCEPTED, "bars", "race", "form"} and min(rules[ACCEPTED], rules["race"]) > 50


# -- what it is made of -------------------------------------------------------------------------------------------------------


def test_it_imports_nothing_of_the_compiler() -> None:
    folder = Path(checker_module.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                own = name == "prism.lang.certify" or name.startswith("prism.lang.certify.")
                assert own or name.partition(".")[0] in sys.stdlib_module_names, (path.name, name)


def test_it_is_small() -> None:
    assert len(Path(checker_module.__file__).read_text(encoding="utf-8").splitlines()) < 400


# -- blocks of a cluster ------------------------------------------------------------------------------------------------------

CLUSTER = """(certificate 1)
(kernel "by hand")
(threads 64)
(space 0 (cluster 2))
(object 0 0 0 256 "s")
(near 0)
(access 0 0 write "own part")
(access 1 0 read "the other's")
(fact 0 0 same (thread 1) proved "")
"""
MEET = "(bar (cluster 2) warp)"


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (f"(acc 0) {MEET} (acc 1) {MEET}", ""),
        (f"(acc 0) {MEET} (acc 1) (bar grid warp)", ""),
        (f"(acc 0) {MEET} (acc 1)", "there"),
        (f"(acc 1) {MEET}", "there"),
        (f"{MEET} (loop 0 grid (seq (acc 1) {MEET}))", ""),
        (f"(loop 0 grid (seq {MEET} (acc 1))) {MEET}", ""),
        (f"(if (cluster 2) {MEET} (seq)) (acc 1) {MEET}", "there"),
        (f"(if block (seq (acc 1)) (seq)) {MEET}", "there"),
        ("(acc 0)", ""),
        ("(bar (cluster 2) sent_late)", ""),
        ("(bar (cluster 2) sent)", "there"),
        (f"{MEET} (bar (cluster 2) sent)", ""),
        (f"{MEET} (acc 0) (bar (cluster 2) sent) (acc 1) {MEET}", "race"),
        (f"{MEET} (acc 0) {MEET} (bar (cluster 2) sent) (acc 1)", "there"),
        ("(only 0 0 32 (bar (cluster 2) sent_late))", "bars"),
        ("(if block (bar (cluster 2) sent_late) (seq))", "bars"),
        ("(bar block sent)", "bars"),
    ],
)
def test_blocks_are_there_where_another_reaches_into_them(body: str, rule: str) -> None:
    said = check_text(f"{CLUSTER}(body (seq {body}))\n")
    assert (said.status, said.rule) == (REJECTED if rule else ACCEPTED, rule), said


def test_an_engine_reaches_into_no_other_block() -> None:
    body = f"{MEET} (group bulk 1) (settle bulk 0) {MEET}"
    assert check_text(f"{CLUSTER}(body (seq {body}))\n").rule == "there"
    assert check_text(f"{CLUSTER}(near 1)\n(body (seq {body}))\n").status == ACCEPTED
