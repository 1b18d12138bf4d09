"""The rules of registers: what a thread may do with its fragments while products read them or add to them.

Tests of prism/lang/certify: registers.
"""

from __future__ import annotations

from prism.lang.certify.places import events
from prism.lang.certify.registers import faults
from prism.lang.certify.text import read_forms


def is_right(body: str, threads: int = 128) -> bool:
    """Whether no fragment is touched too early."""
    (form,) = read_forms(f"(seq {body})")
    return not faults(form, events(form), threads)


ADD = "(lend write 0) (group wgmma)"


def test_a_thread_waits_before_it_touches_a_result() -> None:
    assert is_right(f"{ADD} (settle wgmma 0) (own read 0)")
    assert not is_right(f"{ADD} (own read 0)")
    assert not is_right(f"{ADD} (settle bulk 0) (own read 0)")
    assert not is_right(f"{ADD} (settle wgmma 1) (own read 0)")
    assert is_right(f"{ADD} (group wgmma) (settle wgmma 1) (own read 0)")  # one that is newer may be under way
    assert is_right(f"{ADD} (own read 1)")


def test_what_products_read() -> None:
    given = "(lend read 0) (group wgmma)"
    assert is_right(f"{given} (own read 0)")
    assert not is_right(f"{given} (own write 0)")
    assert not is_right(f"{ADD} {given}") and not is_right(f"{given} (order) {ADD}")
    assert not is_right(f"{ADD} (settle wgmma 0) {given}")  # nothing says that it is a thread's again
    assert is_right(f"{ADD} (settle wgmma 0) (order) {given}")
    assert not is_right(f"{ADD} (order) (settle wgmma 0) {given}")


def test_an_order_comes_behind_what_a_thread_has_done() -> None:
    for did in ("read", "write"):
        assert not is_right(f"(own {did} 0) {ADD}")
        assert is_right(f"(own {did} 0) (order) {ADD}")
    assert is_right("(own read 0) (lend read 0) (group wgmma)")
    assert is_right(f"{ADD} {ADD}")  # sums are added in order


def test_loops_branches_and_roles() -> None:
    assert not is_right(f"(loop 0 block (seq (own read 0) (order) {ADD}))")  # round the loop
    assert is_right(f"(loop 0 block (seq (own read 0) (order) {ADD} (settle wgmma 0)))")
    assert not is_right(f"(if block (seq {ADD}) (seq)) (own read 0)")
    assert not is_right(f"{ADD} (if block (settle wgmma 0) (seq)) (own read 0)")
    assert is_right(f"(only 0 0 64 (seq {ADD})) (only 0 64 128 (own read 0))")
    assert not is_right(f"(only 0 0 64 (seq {ADD})) (only 0 32 96 (own read 0))")
    assert is_right(f"(only 0 0 64 (seq {ADD} (settle wgmma 1))) (only 0 0 64 (settle wgmma 0)) (own read 0)")
