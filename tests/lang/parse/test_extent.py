"""How much of a program is looked at: more is refused before anything else, with how much it is."""

import importlib
import importlib.util
import time

import pytest

import prism
from prism.lang import CompileError
from prism.lang.parse import extent
from tests.lang.from_text import kernel_of

HEAD = "import prism\nfrom prism.lang import *\n"
DEVICE = """
@prism("device")
@requires(thread[1])
def k(m: ptr(int32) @ thread[1], c: int32 @ thread[1]{more}):
"""
CALLED = """
@prism("device")
@requires(thread[1])
def {name}(p: ptr(int32) @ thread[1]):
    p[0] = 1
    p[1] = 2
"""


@pytest.fixture
def loaded(tmp_path):
    """Give what makes a kernel of a text."""
    return lambda text: kernel_of(tmp_path, HEAD + text)


def refusal(kernel):
    """Return the title of the error of a kernel."""
    with pytest.raises(CompileError) as failure:
        prism.check(kernel)
    (error,) = failure.value.errors
    return error.title_text


def test_more_statements_than_are_looked_at_are_refused_at_once(loaded):
    number = extent.MOST_STATEMENTS + 1
    kernel = loaded(DEVICE.format(more="") + "    m[0] = c\n" * number)
    start = time.process_time()
    found = refusal(kernel)
    assert found == f"`k` is too large: it has {number} statements, and at most {extent.MOST_STATEMENTS} are looked at"
    assert time.process_time() - start < 5


def test_items_of_a_with_and_cases_are_counted(loaded, monkeypatch):
    text = """
@prism("global")
@requires(grid[1], block[1], thread[64])
def k(m: ptr(int32) @ grid[1]):
    with partition(m, block[1], 64 * id()) as mine, group(block[1]):
        match split(warp):
            case 1:
                pass
            case 1:
                pass
"""
    monkeypatch.setattr(extent, "MOST", {**extent.MOST, "statements": (6, "write less")})
    assert refusal(loaded(text)) == "`k` is too large: it has 7 statements, and at most 6 are looked at"


def test_more_parameters_than_are_looked_at_are_refused(loaded):
    number = extent.MOST_PARAMETERS
    kernel = loaded(DEVICE.format(more="".join(f", a{i}: int32 @ thread[1]" for i in range(number))) + "    m[0] = c\n")
    assert refusal(kernel) == f"`k` is too large: it has {number + 2} parameters, and at most {number} are looked at"


def test_more_in_expressions_than_is_looked_at_is_refused(loaded, monkeypatch):
    what = "names, numbers and operations"
    monkeypatch.setattr(extent, "MOST", {**extent.MOST, what: (20, "write less")})
    kernel = loaded(DEVICE.format(more="") + "    m[0] = c + 1 + 2 + 3 + 4 + 5\n")
    assert refusal(kernel) == f"`k` is too large: it has 34 {what}, and at most 20 are looked at"


@pytest.fixture
def few(monkeypatch):
    """Let a program have ten statements, and three functions."""
    checking = importlib.import_module("prism.lang.check")
    monkeypatch.setattr(checking, "MOST_STATEMENTS", 10)
    monkeypatch.setattr(checking, "MOST_FUNCTIONS", 3)


def program(functions, lines=1):
    """Return a program that calls so many functions of two lines, in so many lines each."""
    names = [f"f{i}" for i in range(functions)]
    calls = "".join(f"    {name}(m)\n" * lines for name in names)
    return "".join(CALLED.format(name=name) for name in names) + DEVICE.format(more="") + calls


def test_statements_of_a_program_are_counted_together(loaded, few):
    prism.check(loaded(program(2, lines=3)))
    found = refusal(loaded(program(2, lines=4)))
    assert found == "`k` is too large: with all that it calls it has more than 10 statements"


def test_functions_of_a_program_are_counted(loaded, few):
    prism.check(loaded(program(2)))
    assert refusal(loaded(program(3))) == "`k` is too large: with all that it calls it has more than 3 functions"
