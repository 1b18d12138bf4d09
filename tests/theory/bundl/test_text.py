"""The text form: what is printed reads back as what it was."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.theory.bundl import terms
from theory.bundl import syntax
from theory.bundl.text import SyntaxFault, parse, parse_expression, parse_statement, show


@given(terms.expressions)
def test_expressions(e: syntax.Expr) -> None:
    assert parse_expression(show(e)) == e


@settings(max_examples=400, deadline=None)
@given(terms.statements)
def test_statements(s: syntax.Stmt) -> None:
    assert parse_statement(show(s)) == s


@settings(deadline=None)
@given(terms.programs)
def test_programs(program: syntax.Program) -> None:
    assert parse(show(program)) == program


def test_sequences_keep_their_shape() -> None:
    one, two, three = (parse_statement(f"x = {i}") for i in (1, 2, 3))
    assert show(syntax.seq(one, two, three)) == "x = 1;\nx = 2;\nx = 3"
    assert show(syntax.Seq(syntax.Seq(one, two), three)) == "{ x = 1; x = 2 };\nx = 3"


def test_operators_bind_as_in_python() -> None:
    assert show(parse_expression("a - 1 * -2 - b[0] % 2 < 3")) == "((a - (1 * -2)) - (b[0] % 2)) < 3"
    assert parse_expression("(a + 1)[2]").array == parse_expression("a + 1")  # type: ignore[union-attr]
    assert parse_expression("a-1") == parse_expression("a - 1") != syntax.Var("a") != syntax.Int(1)


@pytest.mark.parametrize(
    "text", ["", "skip skip", "x =", "f(1", "group { skip }", "1 = 2", "let x : int @ lane[1] = 1 { skip }", "x = $"]
)
def test_what_is_no_statement(text: str) -> None:
    with pytest.raises(SyntaxFault):
        parse_statement(text)


def test_comments_and_layout() -> None:
    text = "input a : bool = [true]  # one cell\nfun f() @ grid[1] uses 0 { skip }\n\nf();\n skip # done"
    assert show(parse(text)) == "input a : bool = [true]\nfun f() @ grid[1] uses 0 { skip }\nf();\nskip\n"
