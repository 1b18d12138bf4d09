"""Each printed rule that is at fault, put back alone among the corrected ones, with a program that shows it.

`shown` runs a program twice: with the printed rules put back it must type, and end badly on some schedule; with the corrected
ones it must not type, or end well on all.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.theory.bundl.helpers import Summary, explore, fine
from theory.bundl import step, typing
from theory.bundl.judgement import GRID_CODE
from theory.bundl.perspectives import (
    ONE_GRID,
    ONE_THREAD,
    THREAD,
    Order,
    Shape,
    align_printed,
    at,
    order_main,
    order_printed,
    order_size,
)
from theory.bundl.step_data import fence_after, s_alloc_cells
from theory.bundl.step_expressions import e_bop_shift
from theory.bundl.syntax import ArrayOf, Async, Base, Kind
from theory.bundl.text import parse, parse_statement
from theory.bundl.typing_data import t_arr_assn_down
from theory.bundl.values import EMPTY, State, Thread

ONE_BLOCK_2, ONE_BLOCK_4 = Shape(1, 2), Shape(1, 4)


def block(body: str) -> str:
    """Return a program that runs `body` at (Block, 1), with input `a` as `b` there."""
    return f"budget 64\ninput a : int = [0, 0, 0, 0]\nlower g: a as b {{ destruct {{ group 1 {{ {body} }} }} }}"


def threads(body: str) -> str:
    """Return a program that runs `body` at (Thread, T), with input `a` as `c` there."""
    return block(f"lower h: b as c {{ destruct {{ {body} }} }}")


HANG = "while true { skip }"


def printed_runs(program: str, shape: Shape, names: list[str], limit: int = 30_000) -> Summary:
    """Run with some families of steps as printed; the program must type with the corrected rules, and do well with them."""
    fine(program, shape)
    return explore(program, shape, step.mix(step.corrected, step.printed, *names), limit=limit)


class TestClaim:
    QUARTER = threads("claim p: c as d at 1 { skip }")

    def test_a_quarter_gets_stuck(self) -> None:
        # It steps to split(1, 3), and 3 does not divide 4.
        names = ["S-Claim", "Align", "Order"]
        result = explore(self.QUARTER, ONE_BLOCK_4, step.mix(step.corrected, step.printed, *names))
        assert result.stuck == {"S-Split: 1, 3 do not align to 4"}
        fine(self.QUARTER, Shape(1, 4))

    @pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
    def test_as_printed_only_a_half_can_be_claimed(self, size: int) -> None:
        # Even the whole is out of reach: split(n, 0) does not align.
        assert align_printed(size, 6 - size, 6, 0) == (size == 3)


class TestPartition:
    HALVES = threads("partition p: c as d by 2 { group 2 { d[0] = d[0] + 1 } }")

    def test_the_substituted_name_is_no_array(self) -> None:
        result = explore(self.HALVES, ONE_BLOCK_2, step.mix(step.corrected, step.printed, "S-Partition"))
        assert any(why.startswith("E-Bop") for why in result.stuck)
        assert fine(self.HALVES, ONE_BLOCK_2).outcomes == {((1, 0, 1, 0),)}

    def test_members_of_a_part_get_different_bases(self) -> None:
        # Thread p of 4 gets base c*p, even with its part's other member; d[0] is to be the same for both.
        program = threads(
            "partition p: c as d by 2 { group 2 { let v : int @ thread[2] = d[0] { if v == 2 { skip } else { skip } } } }"
        )
        program = program.replace("[0, 0, 0, 0]", "[1, 1, 2, 2, 3, 3, 4, 4]")
        lenient = step.mix(step.corrected, step.printed, "S-Partition")
        lenient = replace(lenient, expressions={**lenient.expressions, "E-Bop": e_bop_shift})
        machine = step.Machine(lenient, parse(program), ONE_BLOCK_4)
        seen = {
            (t, thread.eta["v"].value)
            for state in step.walk_states(machine, 3000)
            for t, thread in enumerate(state.threads)
            if "v" in thread.eta
        }
        assert {v for t, v in seen if t == 0} != {v for t, v in seen if t == 1}


class TestPartitionId:
    def test_every_unit_gets_the_same(self) -> None:
        program = threads("let i : int @ thread[1] = id { partition p: c as d by 2 { group 2 { d[0] = i } } }")
        result = printed_runs(program, ONE_BLOCK_2, ["E-Partition-Id"])
        assert result.outcomes == {((1, 0, 1, 0),)}
        assert fine(program, ONE_BLOCK_2).outcomes == {((0, 0, 1, 0),)}


class TestBarriers:
    SYNC = ["S-Sync-Init", "S-Sync-Dec", "S-Sync-Wait", "Fence"]

    def test_lanes_wait_at_counters_of_their_own(self) -> None:
        program = threads("partition p: c as d by 2 { skip }")
        assert "deadlock" in printed_runs(program, ONE_BLOCK_2, self.SYNC).ends

    def test_without_phases_a_fast_thread_overtakes(self) -> None:
        # At (Grid,1) all threads have p = 0, so the counter is shared; but the second round's init comes before the
        # slow thread has seen the first round's 0.
        program = "input a : int = [0]\nlower p: a as b { skip }; lower p: a as b { skip }"
        assert "deadlock" in printed_runs(program, ONE_BLOCK_2, self.SYNC).ends

    def test_a_barrier_is_needed_before_the_body_too(self) -> None:
        # Who is late reads what the others have stored already: v, which the block shares, differs, and they part.
        program = block(
            "let v : int @ block[1] = b[0] { lower h: b as c { destruct { partition p: c as d by 2 { group 2 { d[0] = 1 } } } };"
            " if v == 0 { lower i: b as e { skip } } else { skip } }"
        )
        fine(program, ONE_BLOCK_2)
        after = replace(step.corrected, fence=fence_after)
        assert explore(program, ONE_BLOCK_2, after).ends == {"done", "deadlock"}


class TestMemory:
    TWICE = "budget 8\ndestruct { group 1 { alloc x : int[2] shared { skip }; alloc y : int[2] shared { skip } } }"

    def test_the_lemmas_bound_is_passed(self) -> None:
        # Preservation starts from any m' <= m, so with all of m in use already: alloc, which types at 8, then makes it 16.
        machine = step.Machine(step.corrected, parse(self.TWICE), Shape(1, 1))
        start = machine.start()
        full = State((Thread(start.threads[0].body, EMPTY, 8),), start.shared, start.world, EMPTY, EMPTY)
        assert machine.steps(full)[0].state.threads[0].used == 16

    def test_the_bound_in_use_plus_need_is_passed(self) -> None:
        # Not repaired by asking for used + need <= budget either: while `(skip; free 8); alloc ..` is left, that is 16.
        assert fine(self.TWICE, ONE_BLOCK_2).most_used == 8
        rest = parse_statement("destruct { group 1 { { skip; free 8 }; alloc y : int[2] shared { skip } } }")
        need = typing.check(typing.printed, typing.Context(), GRID_CODE, rest, Shape(1, 1))
        assert 8 + need == 16

    def test_free_is_charged_twice(self) -> None:
        # `s; free n` as what alloc steps to needs n again beside the n in use.
        program = parse("budget 8\ndestruct { group 1 { alloc x : int[2] shared { skip } } }")
        shape = Shape(1, 1)
        assert typing.check_program(typing.corrected, program, shape) == 8
        result = explore(program, shape, rules=typing.mix(typing.corrected, typing.printed, "T-Free"))
        assert any("needs 16" in fault for fault in result.faults)
        assert explore(program, shape, rules=typing.corrected).faults == set()

    def test_cells_are_never_made(self) -> None:
        program = "destruct { group 1 { alloc x : int[1] local { x[0] = 1 } } }"
        result = printed_runs(program, Shape(1, 1), ["S-Alloc"])
        assert result.stuck == {"S-Arr-Assn: x has no cell 0"}

    def test_global_memory_of_one_thread_is_everyones(self) -> None:
        program = block(
            "destruct { group 2 { alloc x : int[1] global { x[0] = x[0] + 1; let v : int @ thread[1] = x[0] {"
            f" if v == 1 {{ skip }} else {{ {HANG} }} }} }} }} }}"
        ).replace("lower g: a as b { destruct { group 1 {", "destruct { group 1 {", 1)
        program = program.rsplit("}", 1)[0]
        fine(program, ONE_BLOCK_2)
        shared = replace(step.corrected, statements={**step.corrected.statements, "S-Alloc": s_alloc_cells})
        machine = step.Machine(shared, parse(program), ONE_BLOCK_2)
        values = {
            thread.eta["v"].value
            for state in step.walk_states(machine, 5000)
            for thread in state.threads
            if "v" in thread.eta
        }
        assert values == {1, 2}

    def test_local_arrays_are_charged_to_shared_memory(self) -> None:
        program = parse("destruct { group 1 { alloc x : int[2] local { skip } } }")
        assert typing.well_typed(typing.corrected, program, ONE_BLOCK_2)
        why = typing.why_not(typing.mix(typing.corrected, typing.printed, "T-Alloc"), program, ONE_BLOCK_2)
        assert why is not None and why[0] == "Program"

    def test_memcpy_makes_an_alias(self) -> None:
        # The copy is to keep 0 when the original becomes 1.
        program = (
            "destruct { group 1 { alloc x : int[1] local { alloc y : int[1] local { memcpy x from y; y[0] = 1;"
            f" if x[0] == 0 {{ skip }} else {{ {HANG} }} }} }} }} }}"
        )
        assert printed_runs(program, Shape(1, 1), ["S-Memcpy"]).ends == set()
        assert fine(program, Shape(1, 1)).ends == {"done"}


class TestOrder:
    def test_printed_a_warp_is_not_within_its_block(self) -> None:
        # So no thread of it can read what the block owns.
        program = parse(block("lower h: b as c { skip }; destruct { let v : int @ thread[4] = b[0] { skip } }"))
        assert typing.well_typed(typing.corrected, program, Shape(1, 4))
        why = typing.why_not(typing.mix(typing.corrected, typing.printed, "Order"), program, Shape(1, 4))
        assert why is not None

    # Of 6 threads, 4 and 2: the second part of `x` is two threads short, and its next two are in another block.
    STRADDLES = """
        input a : int = [0]
        let x : int @ thread[4] = id { destruct { group 2 { destruct { split(4, 2) {
            if x == 1 { alloc z : int[1] global { skip } } else { skip } } { skip } } } } }
    """

    @pytest.mark.parametrize("order", [order_main, order_size])
    def test_units_that_straddle_two_blocks(self, order: Order) -> None:
        shape = Shape(2, 6)
        assert not typing.well_typed(typing.corrected, parse(self.STRADDLES), shape)
        assert typing.well_typed(replace(typing.corrected, order=order), parse(self.STRADDLES), shape)
        machine = step.Machine(replace(step.corrected, order=order), parse(self.STRADDLES), shape)
        state = machine.start()
        for t in range(12):
            state = machine.thread_steps(state, t)[0].state
        block_1 = [state.threads[t].eta["x"].value for t in range(6, 10)]
        assert block_1 == [1, 1, 2, 2]  # one unit of four threads, and x is to be the same for all of it


class TestUniformity:
    def test_a_store_by_many_threads(self) -> None:
        # Each thread of the block adds 1, so what they then read and share differs, and they part at a barrier.
        program = block(
            "b[0] = b[0] + 1; let v : int @ block[1] = b[0] { if v == 1 { lower h: b as c { skip } } else { skip } }"
        )
        down = replace(typing.corrected, statements={**typing.corrected.statements, "T-Arr-Assn": t_arr_assn_down})
        assert typing.well_typed(down, parse(program), ONE_BLOCK_2)
        assert "deadlock" in explore(program, ONE_BLOCK_2).ends
        why = typing.why_not(typing.corrected, parse(program), ONE_BLOCK_2)
        assert why is not None and why[0] == "T-Arr-Assn"

    def test_reads_are_not_enforced_at_run_time(self) -> None:
        # Ill typed, and the printed semantics does not notice: the threads of the block take different branches.
        program = block("let i : int @ thread[1] = id { if i == 0 { lower h: b as c { skip } } else { skip } }")
        assert not typing.well_typed(typing.corrected, parse(program), ONE_BLOCK_2)
        assert explore(program, ONE_BLOCK_2).stuck == {"E-Var: i at thread[1] read for block[1]"}
        unchecked = step.mix(step.corrected, step.printed, "E-Var")
        assert explore(program, ONE_BLOCK_2, unchecked).ends == {"deadlock"}

    def test_views_may_overlap(self) -> None:
        # Well typed with the corrected rules too: parts that overlap race, and then nothing that is read from them is
        # uniform. Uniformity, and with it the absence of deadlock, is a promise to programs without races only.
        program = threads(
            "partition p: c as d by 2 at (0, 1, 2) { split(2, 2) {"
            " partition q: d as e by 2 { group 2 { e[0] = 1 } } } {"
            " let v : int @ thread[2] = d[0] { if v == 0 { partition r: d as e by 2 { skip } } else { skip } } } }"
        )
        assert typing.well_typed(typing.corrected, parse(program), ONE_BLOCK_4)
        result = explore(program, ONE_BLOCK_4, limit=200_000)
        assert result.stuck == set() and result.ends == {"done", "deadlock"}


class TestCalls:
    CLOBBER = """
        fun f(k : int @ block[1]) @ block[1] uses 0 { let x : int @ block[1] = 7 { skip } }
        destruct { group 1 { let x : bool @ block[1] = true { f(1); if x { skip } else { skip } } } }
    """

    def test_a_callee_clobbers_its_caller(self) -> None:
        result = printed_runs(self.CLOBBER, Shape(1, 1), ["S-Function-Call", "S-Decl"])
        assert result.stuck == {"S-If: 7 is not a truth value"}

    def test_arguments_may_be_narrower_than_the_code(self) -> None:
        program = """
            fun f(k : int @ thread[1]) @ block[1] uses 0 { skip }
            destruct { group 1 { let i : int @ thread[1] = id { f(i) } } }
        """
        fine(program, ONE_BLOCK_2)
        calls = typing.mix(typing.corrected, typing.printed, "T-Function-Call")
        assert not typing.well_typed(calls, parse(program), ONE_BLOCK_2)


class TestAsync:
    COPY = threads(
        "partition p: c as d by 2 { group 2 { alloc z : int[1] local {"
        " z[0] = 5; async f: d as e { async_memcpy f: e from z } } } }"
    ).replace("[0, 0, 0, 0]", "[0, 0]")

    def test_any_threads_copies_are_popped(self) -> None:
        # Phi is one set for all threads, and a set keeps one of two equal copies: someone's is lost.
        result = printed_runs(self.COPY, ONE_BLOCK_2, ["S-Async-Partition", "S-Async-Memcpy"])
        assert result.outcomes >= {((5, 0),)} or result.outcomes >= {((0, 5),)}
        assert fine(self.COPY, ONE_BLOCK_2).outcomes == {((5, 5),)}

    def test_what_is_deferred_has_no_type(self) -> None:
        # memcpy(e, z) with e in flight: T-Memcpy wants an array.
        s = parse_statement("memcpy e from z")
        g = typing.Context().bind("z", ONE_THREAD, ArrayOf(Base.INT, Kind.LOCAL))
        flying = Async(ArrayOf(Base.INT, Kind.GLOBAL), "f")
        g = g.bind("e", ONE_THREAD, flying)
        with pytest.raises(typing.IllTyped, match="T-Memcpy: e is not an array"):
            typing.check(typing.printed, g, typing.Code(ONE_THREAD, 1), s, ONE_BLOCK_2)

    def test_a_source_must_outlive_the_scope(self) -> None:
        program = threads(
            "partition p: c as d by 2 { group 2 { async f: d as e { alloc z : int[2] local { async_memcpy f: e from z } } } }"
        )
        loose = typing.mix(typing.corrected, typing.printed, "T-Async-Memcpy")
        assert typing.well_typed(loose, parse(program), ONE_BLOCK_2)
        assert explore(program, ONE_BLOCK_2).stuck == {"S-Memcpy: z is bound nowhere"}
        assert not typing.well_typed(typing.corrected, parse(program), ONE_BLOCK_2)


class TestAlignment:
    def test_two_warpgroups_and_one(self) -> None:
        # 12 = 8 + 4, as a kernel of the paper has it: 8 does not divide 12, but the block starts at 0.
        assert not align_printed(8, 4, 12, 0)
        program = parse("destruct { group 1 { destruct { split(8, 4) { skip } { split(2, 2) { skip } { skip } } } } }")
        assert typing.well_typed(typing.corrected, program, Shape(1, 12))
        assert not typing.well_typed(typing.mix(typing.corrected, typing.printed, "Align"), program, Shape(1, 12))


def test_the_printed_order_has_no_id_outside_of_one_thread_or_one_block() -> None:
    shape = Shape(2, 4)
    assert not order_printed(at(THREAD, 4), ONE_GRID, shape)
