"""Programs of the mechanised core, as the proofs' extracted checker reads them."""

from __future__ import annotations

from random import Random

from theory.bundl import syntax as x
from theory.bundl.core import lines, text, with_odd_function, with_odd_unit
from theory.bundl.perspectives import ONE_GRID, Shape
from theory.bundl.typing import corrected, why_not

SHAPE = Shape(2, 4)
INPUTS = (x.Input("a", x.Base.INT, (0, 1)),)


def test_a_program_is_written_with_its_verdict() -> None:
    body = x.Declare("v", x.Base.INT, ONE_GRID, x.Index(x.Var("a"), x.Int(1)), x.SKIP)
    program = x.Program(body, (), INPUTS)
    assert text(program, SHAPE) == "(typed 2 4 0 ((0 int)) (declare 1 int (grid 1) (read 0 0) skip))"
    wrong = x.Program(x.Declare("v", x.Base.BOOL, ONE_GRID, x.Int(1), x.SKIP), (), INPUTS)
    assert text(wrong, SHAPE) == "(untyped 2 4 0 ((0 int)) (declare 1 bool (grid 1) 0 skip))"


def test_a_local_array_is_of_the_code_around() -> None:
    body = x.Destruct(x.Alloc("m", x.Kind.LOCAL, x.Base.BOOL, 2, x.SKIP))
    assert text(x.Program(body), SHAPE) == "(typed 2 4 0 () (destruct (alloc 0 (block 2) bool 2 1 skip)))"


def test_what_the_core_has_not_is_left_out() -> None:
    nested = x.AsyncPartition("f", "a", "y", x.AsyncPartition("f", "a", "z", x.SKIP))
    other = x.AsyncPartition("f", "a", "y", x.AsyncMemcpy("g", "y", "a"))
    bodies = x.Assign("v", x.Float(1.0)), x.Group(-1, x.SKIP), nested, other
    assert [text(x.Program(body, (), INPUTS), SHAPE) for body in bodies] == [None] * 4


def test_copies_name_no_phase() -> None:
    fetch = x.AsyncPartition("f", "d", "y", x.AsyncMemcpy("f", "y", "a"))
    local = x.Alloc("d", x.Kind.LOCAL, x.Base.INT, 1, x.Seq(x.Memcpy("d", "a"), fetch))
    each = x.Destruct(x.Destruct(x.Group(4, local)))
    written = "(seq (copy 1 0) (async 1 2 (fetch 2 0)))"
    assert (text(x.Program(each, (), INPUTS), SHAPE) or "").startswith("(untyped")  # of two blocks at once
    one = f"(typed 1 4 0 ((0 int)) (destruct (destruct (group 4 (alloc 1 (thread 1) int 1 1 {written})))))"
    assert text(x.Program(each, (), INPUTS), Shape(1, 4)) == one


def test_functions_come_behind_the_program() -> None:
    array = x.ArrayOf(x.Base.INT, x.Kind.GLOBAL)
    reads = x.Function(
        "f", (x.Param("b", array, ONE_GRID),), ONE_GRID, 0, x.If(x.Cmp("<", x.Int(0), x.Int(1)), x.SKIP, x.SKIP)
    )
    program = x.Program(x.Call("f", (x.Var("a"),)), (reads,), INPUTS)
    function = "(function ((1 (grid 1) (global int))) (grid 1) 0 (if (cmp 0 0) skip skip))"
    assert text(program, SHAPE) == f"(typed 2 4 0 ((0 int)) (call 0 (var 0)) {function})"
    twice = x.Program(x.Call("f", (x.Var("a"), x.Var("a"))), (reads,), INPUTS)
    assert (text(twice, SHAPE) or "").startswith("(untyped")


def test_what_a_program_does_may_be_a_functions() -> None:
    program = x.Program(x.Destruct(x.SKIP), (), INPUTS)
    made = [with_odd_function(program, SHAPE, Random(seed)) for seed in range(20)]
    assert {why_not(corrected, one, SHAPE) is None for one in made if one is not None} == {True, False}


def test_lines_are_of_both_verdicts() -> None:
    found = list(lines(2, 20, 0))
    assert {line[: line.index(" ")] for line in found} == {"(typed", "(untyped"}
    assert found == list(lines(2, 20, 0))


def test_another_unit_is_another_program() -> None:
    program = x.Program(x.Split(1, 0, x.SKIP, x.SKIP))
    others = {with_odd_unit(program, Random(seed)) for seed in range(20)}
    assert len(others) > 3
    assert {why_not(corrected, other, SHAPE) is None for other in others if other is not None} == {True, False}
    assert with_odd_unit(x.Program(x.SKIP), Random(0)) is None
