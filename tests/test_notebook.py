"""Kernels in cells of a notebook, at a prompt, in `python -c`, `exec` and doctest: they work, or one line says how.

IPython gives each cell a file name of its own, and puts the cell's text into `linecache`: most tests do so without it. The last
ones run IPython and a notebook's kernel, where they are installed. docs/notebook.md says it to users.
"""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import json
import linecache
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import prism
from prism.lang import CompileError

ROOT = Path(__file__).resolve().parents[1]
SETUP = """
import numpy as np, prism
from prism.lang import *
x = np.zeros(4, np.int32)
"""
KERNEL = """
@prism.kernel
@requires(grid[1], thread[1])
def ones(x: ptr(int32) @ grid[1]):
    with partition(x, thread[1], id()) as mine, group(thread[1]):
        mine[0] = {value}
"""


class Notebook:
    """Cells that share their names, each with a file name of its own, as IPython compiles them."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.files: dict[str, int] = {}

    def run(self, text: str) -> None:
        file = f"/tmp/ipykernel_1/{abs(hash(text))}.py"
        self.files[file] = len(self.files) + 1
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec", dont_inherit=True), self.names)

    def value(self, expression: str) -> Any:
        return eval(expression, self.names)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    made = Notebook()

    def cell(file: str) -> tuple[str, str] | None:
        return ("Cell", f"In[{made.files[file]}]") if file in made.files else None

    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=cell))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    made.run(SETUP)
    return made


def test_a_kernel_in_a_cell_and_its_launch_in_another(notebook: Notebook) -> None:
    notebook.run(KERNEL.format(value=3))
    notebook.run("ones[1, 4](x, check=True)")
    assert notebook.value("x.tolist()") == [3, 3, 3, 3]


def test_a_cell_that_is_run_again_after_a_change(notebook: Notebook) -> None:
    for value in (3, 4, 3):
        notebook.run(KERNEL.format(value=value))
        notebook.run("ones[1, 4](x)")
        assert notebook.value("x.tolist()") == [value] * 4
        assert f"mine[0] = {value}" in notebook.value("prism.explain(ones)")


def test_a_device_function_that_is_defined_again(notebook: Notebook) -> None:
    device = (
        "@prism.device\n@requires(thread[1])\ndef f(a: int32 @ thread[1]) -> int32 @ thread[1]:\n    return a + {}\n"
    )
    notebook.run(device.format(1))
    notebook.run(KERNEL.format(value="f(1)"))
    notebook.run("ones[1, 4](x)")
    assert notebook.value("x.tolist()") == [2] * 4
    notebook.run(device.format(5))
    notebook.run("ones[1, 4](x)")
    assert notebook.value("x.tolist()") == [6] * 4


def test_a_number_that_changes_in_another_cell(notebook: Notebook) -> None:
    notebook.run("N = 3")
    notebook.run(KERNEL.format(value="N"))
    notebook.run("ones[1, 4](x)")
    notebook.run("N = 5\nones[1, 4](x)")
    assert notebook.value("x.tolist()") == [5] * 4


def test_the_message_names_the_cell(notebook: Notebook) -> None:
    notebook.run(KERNEL.format(value="missing"))
    with pytest.raises(CompileError, match=r"--> Cell In\[2\]:6:19\n"):
        notebook.run("ones[1, 4](x)")
    assert "Cell In[2]" in notebook.value("ones._repr_html_()"), "the cell shows the message"


def test_the_explanation_names_the_cell(notebook: Notebook) -> None:
    notebook.run(KERNEL.format(value=3))
    assert "ones  (Cell In[2]:4, " in notebook.value("prism.explain(ones)")


def test_the_source_is_found_by_inspect(notebook: Notebook) -> None:
    notebook.run(KERNEL.format(value=7))
    kernel = notebook.value("ones")
    assert "mine[0] = 7" in inspect.getsource(kernel), "IPython's `ones??` shows this"
    assert str(inspect.signature(kernel)) == "(x: ptr(int32) @ grid[1])"


@pytest.mark.parametrize("value", ["['a list']", "{'ones': {}}", "3"])
def test_a_variable_called_examples(notebook: Notebook, value: str) -> None:
    """`EXAMPLES` gives the template arguments of a file of kernels; a user's variable may be anything."""
    notebook.run(f"EXAMPLES = {value}")
    notebook.run(KERNEL.format(value=3))
    assert "iframe" in notebook.value("ones._repr_html_()")


def test_a_kernel_of_a_text_is_shown() -> None:
    kernel = prism.source(KERNEL.format(value=3).replace("@prism.kernel", "@kernel")).ones
    assert "iframe" in kernel._repr_html_() and "mine[0] = 3" in inspect.getsource(kernel)


def test_a_bound_and_a_variable_of_one_name(notebook: Notebook) -> None:
    notebook.run("N = 1000")
    text = "@prism.kernel\n@template(N=constexpr(int))\n@requires(grid[1], thread[{}])\n" + KERNEL.split("[1])\n", 1)[1]
    notebook.run(text.format('"N"', value="N"))
    notebook.run("ones[1, 4](x, template={'N': 4})")
    assert notebook.value("x.tolist()") == [4] * 4
    notebook.run(text.format("N", value="N"))
    with pytest.raises(CompileError, match=r'put the name in quotes: `thread\["N"\]`'):
        notebook.run("ones[1, 4](x, template={'N': 4})")


def test_doctest() -> None:
    lines = (SETUP + KERNEL.format(value=3)).strip().splitlines()
    typed = "\n".join((">>> " if not line.startswith((" ", "def", "@req")) else "... ") + line for line in lines)
    text = f"{typed}\n...\n>>> ones[1, 4](x)\n>>> x.tolist()\n[3, 3, 3, 3]\n"
    found = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(text, {}, "typed", "typed", 0))
    assert found.failed == 0 and found.attempted == 6


LAUNCH = "ones[1, 4](x)\nprint(x.tolist())\n"
ALL = SETUP + KERNEL.format(value=3) + "\n" + LAUNCH


def python(*arguments: str, given: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    """Run Python on what it is given at its standard input."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *arguments], input=given, env=environment, capture_output=True, text=True, **options
    )


def test_a_text_of_the_command_line() -> None:
    assert python("-c", ALL).stdout == "[3, 3, 3, 3]\n"


@pytest.mark.parametrize(
    ("how", "given", "why"),
    [
        (["-c", f"exec({ALL!r})"], "", "code that `exec` runs leaves no text behind"),
        (["-c", f"\n\n\nname = 1; exec({ALL!r})"], "", "code that `exec` runs leaves no text behind"),
        (["-"], ALL, "what Python reads from its standard input, or at a prompt before Python 3.13, leaves no text"),
    ],
)
def test_where_no_text_is_kept(how: list[str], given: str, why: str) -> None:
    said = python(*how, given=given).stderr
    assert "error[syntax]: the source of `ones` is not available" in said and why in said
    assert "= help: give the text to `prism.source(text)`, or put `ones` in a file or in a notebook's cell" in said
    assert "Restart" not in said


@pytest.mark.parametrize("file", ["<timed exec>", "<magic-timeit>"])
def test_a_lambda_in_a_cell_that_is_timed(file: str) -> None:
    text = "prism.lib.sum(prism.lib.lazy.map(lambda a: a * 2, x))"
    with pytest.raises(CompileError, match="give it a name in a cell of its own, `f = lambda ...`, and pass `f`"):
        eval(compile(text, file, "eval"), {"prism": prism, "x": np.ones(5)})
    names = {"prism": prism, "x": np.ones(5), "f": lambda a: a * 2}
    assert eval(compile("prism.lib.sum(prism.lib.lazy.map(f, x))", file, "eval"), names) == 10


@pytest.mark.parametrize("file", ["<timed exec>", "<magic-timeit>"])
def test_a_cell_that_is_timed(file: str) -> None:
    """IPython compiles the text of such a cell under these names, and keeps it nowhere."""
    names: dict[str, Any] = {}
    exec(SETUP, names)
    exec(compile(KERNEL.format(value=3), file, "exec"), names)
    with pytest.raises(CompileError) as caught:
        names["ones"][1, 4](names["x"])
    assert caught.value.help == "define `ones` in a cell of its own, and time in the next one"


def test_the_prompt() -> None:
    """From Python 3.13 on the prompt keeps what is typed."""
    done = python("-i", "-q", given=ALL)
    kept = sys.version_info >= (3, 13)
    assert ("[3, 3, 3, 3]" in done.stdout) == kept and ("prism.source(text)" in done.stderr) == (not kept)


# -- With IPython and Jupyter, where they are installed ---------------------------------------------------------------------


def need(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")


def test_ipython(tmp_path: Path) -> None:
    need("IPython")
    (tmp_path / "cells.ipy").write_text(ALL + "%time ones[1, 4](x)\n")
    for how in ([str(tmp_path / "cells.ipy")], ["-c", ALL]):
        done = python("-m", "IPython", "--colors=NoColor", *how, cwd=tmp_path)
        assert "[3, 3, 3, 3]" in done.stdout, done.stdout + done.stderr


NOTEBOOK = """
import json, sys
import nbformat
from nbclient import NotebookClient
made = [nbformat.v4.new_code_cell(text) for text in json.loads(sys.stdin.read())]
NotebookClient(nbformat.v4.new_notebook(cells=made), timeout=120, allow_errors=True).execute()
print(json.dumps([cell.outputs for cell in made]))
"""


@pytest.mark.slow
def test_a_real_notebook() -> None:
    for name in ("nbclient", "nbformat", "ipykernel"):
        need(name)
    cells = [
        SETUP, "N = 3", KERNEL.format(value="N"), "ones[1, 4](x, check=True)\nx.tolist()", "N = 5\nones[1, 4](x)\nx.tolist()",
        KERNEL.format(value=8), "ones[1, 4](x)\nx.tolist()", "ones", KERNEL.format(value="missing"), "ones[1, 4](x)",
        "import inspect\nprint(inspect.getsource(ones))", "%%time" + KERNEL.format(value=9) + LAUNCH,
    ]  # fmt: skip
    done = python("-c", NOTEBOOK, given=json.dumps(cells))
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    text = ["".join(str(one.get("text", "")) + str(one.get("data", "")) for one in cell) for cell in said]
    errors = ["\n".join(one["traceback"]) for cell in said for one in cell if one["output_type"] == "error"]
    assert "[3, 3, 3, 3]" in text[3] and "[5, 5, 5, 5]" in text[4] and "[8, 8, 8, 8]" in text[6]
    assert "iframe" in text[7] and "mine[0] = missing" in text[10]
    missing, timed = (re.sub(r"\x1b\[[0-9;]*m", "", one) for one in errors)
    assert "`missing` is not defined" in missing and "--> Cell In[9]:5:19" in missing
    assert "define `ones` in a cell of its own, and time in the next one" in timed
