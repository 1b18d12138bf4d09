"""The checker of arguments, step by step, on claims that are written by hand; their text.

Tests of prism/lang/certify: steps, arguments, machine.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from prism.lang.certify import Malformed
from prism.lang.certify import steps as module
from prism.lang.certify.arguments import read, spell, verdicts
from prism.lang.certify.machine import Claim, evaluate, wrap
from prism.lang.certify.steps import Argument, Checker, Unproved, proves

T = ("var", 0)
TEXT = """(argument "by hand"
 (numbers (own 0 7))
 (agree)
 (told)
 (first)
 (second)
 (index ((as u4 (mul (var 0) 2)) (as u4 (mul (var 0) 2))))
 (goal (var 0))
 (atoms (first 0) (second 0) (div (p (2 0)) 16) (div (p (2 1)) 16))
 (steps
  (range 0 0) (range 1 0)
  (made 2) (made 3)
  (sum ((p (2)) 1) ((p (1)) 4)) (round 16 8)
  (sum ((p (2)) 3) ((p (1)) 6)) (round 16 10)
  (sum ((p (2)) 0) ((p (1)) 5)) (round 16 12)
  (sum ((p (2)) 2) ((p (1)) 7)) (round 16 14)
  (both 9 13) (both 11 15)
  (meets 0)
  (sum ((p (1)) 18) ((p (-16)) 16) ((p (16)) 17)) (round 2 19))
 (witness () ()))
"""


def test_an_argument_by_hand() -> None:
    ((name, said, argument),) = read(TEXT)
    assert name == "by hand" and list(verdicts(TEXT)) == [("by hand", True)]
    assert list(read(spell(name, said, argument))) == [(name, said, argument)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(own 0 7)", "(own 0 8)"),  # twice 8 is 0 in 4 bits
        ("(own 0 7)", "(own _ 7)"),
        ("(mul (var 0) 2)", "(mul (var 0) 4)"),
        ("(as u4 (mul (var 0) 2)) (as u4", "(as u3 (mul (var 0) 2)) (as u4"),
        ("(goal (var 0))", "(never)"),
        ("(round 2 19)", "(round 3 19)"),
        ("(both 9 13)", "(both 9 12)"),
        ("((p (-16)) 16)", "((p (16)) 16)"),
        ("(range 0 0) ", ""),
        ("(meets 0)", "(meets 1)"),
        ("(div (p (2 0)) 16)", "(div (p (2 0)) 15)"),
        ("(div (p (2 0)) 16)", "(div (p (2 3)) 16)"),  # an atom that is made of a later one
    ],
)
def test_changed_arguments_are_rejected(old: str, new: str) -> None:
    assert old in TEXT and list(verdicts(TEXT.replace(old, new))) == [("by hand", False)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(witness () ())", "(witness ())"), ("as u4", "as u0"), ("as u4", "as u400"), ("as u4", "as f4"), ("(goal", "(gaol"),
        ("(mul (var 0) 2)", "(pow (var 0) 2)"), ("(round 2 19)", "(round 2)"), ("(meets 0)", "(greets 0)"),
        ("(p (2 0))", "(q (2 0))"), ("(round 2 19)", "(round 2 -1)"), ("(agree)", ""),
        ("(argument", "(certificate"), ("(goal (var 0))", "(goal (var -1))"),
        ("(own 0 7)", "(shared 0 7)"), ("(range 0 0)", "(range 2 0)"),
    ],
)  # fmt: skip
def test_texts_that_are_no_argument(old: str, new: str) -> None:
    with pytest.raises(Malformed):
        list(read(TEXT.replace(old, new)))


def test_what_the_machine_computes() -> None:
    assert [wrap("i4", value) for value in (7, 8, -9, 16)] == [7, -8, 7, 0]
    assert evaluate((-7,), ("quo", T, 2)) == (-3, True) and evaluate((-7,), ("rem", T, 2)) == (-1, True)
    assert evaluate((9,), ("fits", "i4", T)) == (-7, False) and evaluate((-9,), ("shr", T, 1)) == (-5, True)


def follow(atoms: tuple[tuple[object, ...], ...], facts: list[module.Fact], *step: object) -> list[module.Fact]:
    checker = Checker(Claim(((False, None, None),), (), ((), ()), (), None), atoms)
    checker.facts += facts
    return checker.follow(step)


X, Y = {(0,): 1}, {(1,): 1}
ATOMS = (("first", 0), ("second", 0))


def test_quotients_need_what_is_divided_not_to_be_negative() -> None:
    atoms = (*ATOMS, ("quo", X, Y))
    known = [("ge", X), ("ge", {(1,): 1, (): -1})]
    assert follow(atoms, known, "divided", 2, 0, 1)[0] == ("ge", {(2,): 1})
    with pytest.raises(Unproved):
        follow(atoms, [known[0], ("ge", Y)], "divided", 2, 0, 1)  # by 0, perhaps
    with pytest.raises(Unproved):
        follow(atoms, [("ge", {(0,): 1, (): 1}), known[1]], "divided", 2, 0, 1)


def test_an_xor_is_undone_where_one_of_its_numbers_is_equal() -> None:
    atoms = (*ATOMS, ("xor", X, {(): 5}), ("xor", Y, {(): 5}))
    equal = ("is", {(2,): 1, (3,): -1})
    assert follow(atoms, [equal, ("is", {})], "undone", 2, 3, 0, 1) == [("is", {(0,): 1, (1,): -1})]
    with pytest.raises(Unproved):
        follow(atoms, [("ge", equal[1]), ("is", {})], "undone", 2, 3, 0, 1)


def test_a_radix_needs_the_rest_to_be_smaller() -> None:
    e = ("is", {(0,): 4, (1,): 1})
    low, high = ("ge", {(1,): 1, (): 3}), ("ge", {(1,): -1, (): 3})
    assert follow(ATOMS, [e, high, low], "radix", 0, {(): 4}, X, 1, 2) == [("is", X), ("is", Y)]
    with pytest.raises(Unproved):
        follow(ATOMS, [e, ("ge", {(1,): -1, (): 4}), low], "radix", 0, {(): 4}, X, 1, 2)


def test_a_product_of_what_is_equal_is_no_product_of_what_is_not_negative() -> None:
    with pytest.raises(Unproved):
        follow(ATOMS, [("is", X), ("ge", Y)], "product", 0, 1)
    assert not proves(Claim((), (), ((), ()), (), None), Argument((), ()))


def test_nothing_of_the_compiler_is_imported() -> None:
    for name in ("steps", "arguments", "machine", "text"):
        path = Path(module.__file__).with_name(f"{name}.py")
        found = [
            node.module or "" for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)
        ]
        assert all(not one.startswith("prism") or one.startswith("prism.lang.certify") for one in found)
