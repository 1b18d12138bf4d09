"""What an account says of a program: perspectives by line, entries, counts, memory, the graph.

Tests of prism/lang/lower/pieces.py; prism/explanation: counts, entries, graph, model, regions, text.
"""

from __future__ import annotations

import re
import runpy
from dataclasses import replace

import pytest

import prism
from prism.explanation import account, describe_counts, explain, explain_page
from prism.explanation.entries import EACH
from prism.kernels.attention import Terms, cut_of
from prism.lang.pipeline import build
from prism.lang.tree import Apply, For
from prism.lang.tree.inlined import parts
from prism.lang.tree.plan import (
    Advance,
    Arrive,
    Commit,
    Cycle,
    Expect,
    Mbarrier,
    Plan,
    Program,
    ProxyFence,
    Wait,
    WaitGroup,
    WgmmaFence,
)
from prism.lang.tree.walk import statements
from prism.lib.algorithms.attention.plan import instance_for
from tests.examples.trimmed import SIDE, follow
from tests.explanation.programs import NAMES, neighbours, program, turned


def chapter(name: str, place: int = 0):
    return account(program(name)).chapters[place]


def line_of(name: str, text: str) -> int:
    return next(line.number for line in chapter(name).lines if text in line.text)


# -- perspectives -----------------------------------------------------------------------------------------------------------


def test_each_line_has_the_perspective_of_its_code():
    force = {line.text.strip(): str(line.perspective) for line in chapter("nasty").lines}
    assert force["with group(block[1]):"] == "grid[1]"
    assert force["tile: shared(int32[64]) @ block[1]"] == "block[1]"
    assert force["slot[0] = x[i]"] == "thread[1]"
    assert force["v: int32 @ thread[1] = tile[63 - t]"] == "thread[32]"
    assert force["mine[0] = v if v < 3 else tile[t]"] == "thread[1]"


SPREAD = """
from prism.lang import *

@prism("global")
@requires(grid[1], block[1], thread[64])
def spread(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(y, block[1], 64 * id()) as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        tile: shared(int32[64]) @ block[1]
        with partition(tile, thread[1], t) as slot, group(thread[1]):
            slot[0] = x[t]
        with (
            partition(mine, thread[1], t) as own,
            partition(tile, thread[1], lambda i: 63 - t) as turned, group(thread[1]),
        ):
            own[0] = turned[0]
"""


def test_what_stands_before_an_item_of_a_with_is_where_the_with_begins(tmp_path):
    """Not at the item, which may be far to the right, or lines below."""
    module = tmp_path / "spread.py"
    module.write_text(SPREAD)
    (found,) = account(build(runpy.run_path(str(module))["spread"])).chapters
    (barrier,) = [one for one in found.entries if one.barrier]
    lines = module.read_text().splitlines()
    assert lines[barrier.line - 1] == "        with (" and barrier.column == 8


def test_regions_nest_and_say_what_they_are():
    inside = [r for r in chapter("ways").regions if r.first <= line_of("ways", "own[0] = k") <= r.last]
    assert [r.title for r in inside] == [
        "partition: out, of y", "group(block[1])", "claim: own, of s", "arm 1 of 1: thread 0",
    ]  # fmt: skip
    assert [r.code for r in inside] == [False, True, False, True]
    assert all(a.first <= b.first and b.last <= a.last for a, b in zip(inside, inside[1:], strict=False))


def test_names_have_the_perspective_of_what_they_stand_for():
    line = next(line for line in chapter("nasty").lines if "tile[63 - t]" in line.text)
    found = {line.text[name.start : name.end]: str(name.perspective) for name in line.names}
    assert found == {"v": "thread[1]", "tile": "block[1]", "t": "thread[1]"}


# -- entries ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_barrier_has_its_entry_with_both_accesses(name: str):
    """Those of a function that is compiled into another one are in its own chapter."""
    built = program(name)
    chapters = iter(account(built).chapters)
    for function in reversed(built.functions):
        found = [next(chapters) for _ in parts(function)]
        assert sum(one.barriers for one in found) == len(built.plans[function].barriers)
        lines = {one.name: {line.number for line in one.lines} for one in found}
        for one in found:
            for entry in one.entries:
                assert entry.first is not None and entry.second is not None and entry.joins == "each block"
                assert entry.line in lines[one.name]
                assert all(spot.line in lines[spot.owner or one.name] for spot in (entry.first, entry.second))
            keys = [entry.key for entry in one.entries]
            assert len(set(keys)) == len(keys)
    assert next(chapters, None) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_reason_says_whose_the_line_is(name: str):
    """Lines of the chapter's own function have no name behind them; those of one that is compiled in, or of its caller, do."""
    for one in account(program(name)).chapters:
        lines = {line.number for line in one.lines}
        for exempt in one.exempts:
            found = re.search(r"line (\d+)(?: of `(\w+)`)?$", exempt.reason)
            if found is not None and found[2] is None:
                assert int(found[1]) in lines, exempt.reason
            elif found is not None:  # it may have a line of the same number, in another file
                assert found[2] != one.name.partition(" ")[0], exempt.reason


def test_a_reason_names_the_function_that_the_barrier_is_compiled_in_from():
    caller, inner = account(build(turned, {})).chapters
    reason = f"ordered by the barrier before line {inner.entries[0].line} of `{inner.name}`"
    assert reason in {exempt.reason for exempt in caller.exempts}
    assert reason.removesuffix(f" of `{inner.name}`") in {exempt.reason for exempt in inner.exempts}


def test_what_some_pieces_of_a_loop_have_says_which():
    """A step is told once for all pieces that have it, and with their numbers where the line is in others too."""
    (one,) = account(prism.check(follow, {"CLAIMS": True, "STEP": SIDE})).chapters
    waits = [(entry.title, entry.joins.partition(", in ")[2]) for entry in one.entries if entry.kind.endswith("wait")]
    assert waits == [
        ("wait for `k_tile_read`: the visit of 2 rounds ago, if there was one", ""),
        ("wait for `v_tile_read`: the visit of 2 rounds ago, if there was one", ""),
        ("wait for `k_tile_filled`: the visit of this round", ""),
        ("wait for `v_tile_filled`: the visit of this round", "parts 2, 3 and 4 of the loop's 4"),
        ("wait for all groups of wgmmas", "part 4 of the loop's 4"),
        ("wait for all groups of wgmmas", ""),
    ]


def test_what_a_decided_condition_leaves_is_of_its_function_s_text():
    """A piece of a loop has what stood under the condition: `mask`, which `look` calls, not whose loop calls `look`."""
    built = instance_for("bfloat16", cut_of(128, 128, 16384), Terms(causal=True)).program
    chapters = {one.name: one for one in account(built).chapters}
    for one in chapters.values():
        assert {entry.line for entry in one.entries} <= {line.number for line in one.lines}, one.name
    lines = {line.number: line.text for line in chapters["look"].lines}
    assert any("mask(" in lines[entry.line] for entry in chapters["look"].entries)
    owners = {entry.first.owner for entry in chapters["look"].entries if entry.first}
    assert owners == {"go_over_keys"}  # not `attend`, which is around it


def with_operations(name: str) -> tuple[Program, Plan]:
    """A program whose entry's plan has one operation of each kind, before and after the statements of its loop."""
    built = program(name)
    plan = built.plans[built.entry]
    loop = next(s for s in statements(built.entry.body) if isinstance(s, For))
    barrier = plan.barriers[0]
    pair = {"first": barrier.first, "second": barrier.second}
    cycle = Cycle("tiles", 3, (barrier.first.root,))
    full = Mbarrier("full", cycle, 1)
    operations = (
        Wait(at=loop.body[0], barrier=full, lap=0, **pair),
        Wait(at=loop.body[0], barrier=full, lap=1, **pair),
        Expect(at=loop.body[0], barrier=full, copy=next(iter(applied()), None), bytes=4096),
        ProxyFence(at=loop.body[0], **pair),
        WgmmaFence(at=loop.body[0]),
        Commit(at=loop.body[-1], side="after", kind="wgmma"),
        WaitGroup(at=loop.body[-1], side="after", kind="cp_async", pending=1, **pair),
        Arrive(at=loop.body[-1], side="after", barrier=full, every=32, delay=1),
        Advance(at=loop.body[-1], side="after", cycle=cycle),
    )
    changed = replace(plan, operations=operations, cycles=(cycle,), mbarriers=(full,))
    return built.with_plan(changed), changed


def applied() -> list[Apply]:
    return []


def test_operations_of_a_plan_stand_at_their_sides_and_are_counted():
    built, plan = with_operations("tiled")
    found = account(built).chapters[0]
    assert len(found.entries) == len(plan.barriers) + len(plan.operations)
    titles = {entry.title: entry for entry in found.entries}
    assert titles["wait for `full`: the visit of this round"].counted == "mbarrier wait"
    assert titles["wait for `full`: the visit of 3 rounds ago, if there was one"].side == "before"
    assert titles["announce 4096 bytes of the copy to `full`"].joins == EACH
    arrive = titles["arrive at `full`"]
    assert (arrive.side, arrive.line) == ("after", line_of("tiled", "sums[i * TN + j] +="))
    assert arrive.why == "the visit of 1 round ago has ended"
    assert titles["wait for all but the newest 1 group of cp.asyncs"].counted == "group wait"
    (trip,) = [count for count in found.counts if count.loop is not None]
    assert [str(tally) for tally in trip.total] == [
        "1 announcement", "1 arrival", "2 block barriers", "1 group commit", "1 group wait", "2 mbarrier waits",
        "1 proxy fence", "1 wgmma fence",
    ]  # fmt: skip
    for text in (explain(built), explain_page(built)):
        assert "fence.proxy.async" in text and "wgmma.fence" in text and "next round" in text


# -- counts -----------------------------------------------------------------------------------------------------------------


def tallied(name: str) -> list[tuple[int | None, str]]:
    return [(count.loop, ", ".join(map(str, count.total))) for count in chapter(name).counts]


def test_counts_follow_branches_continue_and_calls():
    assert tallied("tiled") == [(None, ""), (line_of("tiled", "for first in"), "2 block barriers")]
    loop = line_of("ways", "for k in")
    assert [where for where, _ in tallied("ways")] == [None, loop]
    trip = next(count for count in chapter("ways").counts if count.loop == loop)
    assert (trip.total[0].least, trip.total[0].most) == (0, len(chapter("ways").entries))  # `continue` skips them all
    once, trip = chapter("scan").counts
    assert (str(once.total[0]), str(trip.total[0])) == ("1 block barrier", "1 to 3 block barriers")
    assert [str(one) for one in trip.own] == [
        "1 block barrier"
    ]  # the ticket's; others stand in functions that it calls
    assert chapter("paper scan").counts[1].function == "scan_warp_ends"


def test_the_count_alone_as_text():
    text = describe_counts(account(program("tiled")))
    assert "once: none" in text and "(`for first in range(0, K, BK)`): 2 block barriers" in text


# -- memory and graph -------------------------------------------------------------------------------------------------------


def test_the_map_has_every_byte_and_says_what_is_used_twice():
    pieces = {piece.name: piece for piece in chapter("paper scan").pieces}
    assert pieces["rows"].shares == ("desk",) and not pieces["ends"].shares
    assert pieces["reduce()"].frame and pieces["sums"].depth == 2
    found = chapter("scan")
    assert max(piece.end for piece in found.pieces) == found.bytes
    assert [(piece.start, piece.size) for piece in found.pieces if not piece.frame] == [
        (0, 8), (16, 128), (144, 128),
    ]  # fmt: skip


def test_the_graph_has_the_scopes_by_object_and_marks_what_a_barrier_orders():
    graph = chapter("tiled").graph
    assert graph.objects[:3] == ("a", "b", "C")
    shown = [(n.object, n.text, n.kinds, n.line - chapter("tiled").line) for n in graph.nodes]
    assert ("a", "mine[...]", ("write",), 28) in shown and ("a", "a[...]", ("read",), 40) in shown
    forced = {edge.entry: edge for edge in graph.edges if edge.entry}
    assert set(forced) == {"B1", "B2"} and forced["B1"].loop and not forced["B2"].loop
    assert [crossing.entry.key for crossing in graph.crossings] == ["B1", "B2"]
    assert graph.nodes[forced["B2"].source].text == "mine[...]" and graph.nodes[forced["B2"].target].text == "a[...]"
    outer = graph.loops[0]
    assert outer.line == line_of("tiled", "for first in") and outer.first == 0


def test_text_and_page_say_the_same():
    for name in NAMES:
        page = re.sub(r"<[^>]+>", "", explain_page(program(name)))
        for found in account(program(name)).chapters:
            assert found.bound in page
            for exempt in found.exempts:
                assert f"line {exempt.first.line}" in page and f"line {exempt.second.line}" in page


def test_the_text_is_the_same_every_time():
    assert explain(program("scan")) == explain(program("scan"))
    assert explain_page(program("scan")) == explain_page(program("scan"))


def test_a_pair_is_told_once_however_many_accesses_a_line_has():
    lines = explain(prism.check(neighbours)).splitlines()
    told = [line for line in lines if line.startswith("    ") and ", then " in line]
    assert told and len(told) == len(set(told))


def test_what_is_not_proved_comes_before_what_needs_no_barrier():
    text, page = explain(program("ways")), explain_page(program("ways"))
    assert -1 < text.index("  not proved:") < text.index("  no further barrier for:")
    assert -1 < page.index("Not proved</h3>") < page.index("Conflicts that need no barrier of their own</h3>")
