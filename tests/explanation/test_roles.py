"""What is said of a kernel whose threads have roles: who waits and arrives, how often each role does, a ring's copies."""

from __future__ import annotations

import re

import pytest

from prism.explanation import account, describe_counts, explain_page
from prism.explanation.entries import EACH, who
from prism.lang.types.perspective import WARPGROUP1, Level, Perspective
from tests.explanation.programs import program


@pytest.fixture(scope="module")
def found():
    return account(program("hgemm")).chapters[0]


def test_entries_say_which_threads_of_which_role(found):
    said = {entry.title.partition(":")[0]: entry.joins for entry in found.entries}
    assert said["wait for `a_b_read`"] == "thread 256 of producer"
    assert said["arrive at `a_b_filled`, and announce 49152 bytes of copies"] == "thread 256 of producer"
    assert said["wait for `a_b_filled`"] == "each thread of consumers (threads 0 to 255)"
    assert said["arrive at `a_b_read`"] == "one thread of each warp of consumers (threads 0 to 255)"
    assert said["next round"] == EACH


def test_entries_of_a_line_are_in_the_order_of_execution(found):
    line = next(line.number for line in found.lines if "wgmma(sums" in line.text)
    after = [entry.kind for entry in found.entries_at(line, "after")]
    assert after == ["group commit", "group wait", "arrival", ""]
    again = next(entry for entry in found.entries if entry.rounds)
    assert again.rounds == 4 and again.reason.endswith("4 rounds later")


def test_threads_of_a_path_by_name_or_number():
    function = program("hgemm").entry
    inside = ((Level.THREAD, 0, 256), WARPGROUP1)
    assert who(function, ()) == who(function, (Perspective(Level.THREAD, 1),)) == EACH
    assert who(function, inside) == "each thread of consumers (threads 0 to 255)"
    assert who(function, (*inside, (Level.THREAD, 0, 32))) == "threads 0 to 31 of each thread[128] of consumers"
    assert who(function, ((Level.THREAD, 32, 64), (Level.THREAD, 8, 1))) == "thread 40"
    assert who(function, ((Level.THREAD, 32, 64),)) == "each of threads 32 to 95"


def test_each_role_is_counted_by_itself(found):
    assert [str(duty) for duty in found.duties] == ["consumers, threads 0 to 255", "producer, threads 256 to 383"]
    shown = {count.role: ", ".join(map(str, count.total)) for count in found.counts}
    assert shown == {
        "consumers": "1 arrival, 1 group commit, 1 group wait, 1 mbarrier wait, 1 wgmma fence",
        "producer": "1 announcing arrival, 1 mbarrier wait",
    }
    assert "producer, a trip of the loop on line" in describe_counts(account(program("hgemm")))


def test_the_map_has_rings_and_mbarriers(found):
    pieces = {piece.name: piece for piece in found.pieces}
    assert (pieces["b"].copies, pieces["b"].stride, pieces["b"].mbarriers) == (4, 32768, False)
    assert (pieces["a_b_read"].copies, pieces["a_b_read"].size, pieces["a_b_read"].mbarriers) == (4, 32, True)
    page = explain_page(program("hgemm"))
    assert page.count('class="copy"') == 6 and page.count('class="mbarriers"') == 2
    assert "131072 B (4 x 32768)" in page and "an mbarrier in each" in page


def test_the_page_names_roles_and_its_links_lead_somewhere():
    page = explain_page(program("hgemm"))
    assert "consumers, threads 0 to 255; producer, threads 256 to 383" in page
    ids = set(re.findall(r' id="([^"]+)"', page))
    assert all(target in ids for target in re.findall(r'href="#([^"]+)"', page))
