"""Kernels of a text, of `python -c`, and of what has no text: one line says what to do. Tests of prism/compiler.py."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import prism

SCALE = """
    @kernel
    @requires(grid[1], thread[1])
    def scale(x: ptr(float32) @ grid[1], a: float32 @ grid[1]):
        with partition(x, thread[1], id()) as mine, group(thread[1]):
            mine[0] *= a * N
"""


def test_a_module_of_a_text() -> None:
    found = prism.source(SCALE, N=3)
    x = np.ones(4, np.float32)
    found.scale[1, 4](x, 2.0, check=True)
    assert (x == 6).all() and "scale" in prism.explain(found.scale)
    other = prism.source(SCALE, N=5)
    other.scale[1, 4](x, 1.0)
    assert (x == 30).all() and found.__name__ != other.__name__


def test_errors_show_the_text() -> None:
    with pytest.raises(prism.CompileError) as found:
        prism.check(prism.source(SCALE.replace("mine[0] *= a * N", "mine[0] *= b"), N=3).scale)
    assert "mine[0] *= b" in str(found.value) and found.value.span.line == 6
    with pytest.raises(SyntaxError):
        prism.source("def (")
    with pytest.raises(TypeError, match="takes the text of a module, not int"):
        prism.source(3)  # type: ignore[arg-type]


def test_python_c() -> None:
    head = "import numpy as np, prism\nfrom prism.lang import *\nN = 4\n"
    last = "x = np.ones(4, np.float32)\nscale[1, 4](x, 2.0)\nprint(x.tolist())"
    text = head + textwrap.dedent(SCALE) + last
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert found.stdout.strip() == "[8.0, 8.0, 8.0, 8.0]", found.stderr


def test_what_has_no_text_says_what_to_do() -> None:
    names = {name: getattr(prism.lang, name) for name in prism.lang.__all__}
    exec("@kernel\n@requires(grid[1], thread[1])\ndef lost(n: int32 @ grid[1]):\n    m: int32 = n", names)
    with pytest.raises(prism.CompileError) as found:
        prism.check(names["lost"])
    assert "prism.source(text)" in found.value.help
