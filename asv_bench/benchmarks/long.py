"""Long and deep programs through the checker: how its time grows with them. Seconds, measured by asv; no GPU."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import prism
from prism.lang import CompileError
from prism.lang.surface import Kernel

sys.path.append(str(Path(__file__).parents[2]))  # the tests of the same curves
from tests.generated.large import OTHERS, RINGS, kernel_of_bytes

HEAD = "import prism\nfrom prism.lang import *\n"
KERNEL = '@prism("device")\n@requires(thread[1])\ndef k(m: ptr(int32) @ thread[1], c: int32 @ thread[1]):\n'


def lines(size: int) -> str:
    """Accesses to one element, one after the other."""
    return KERNEL + "    m[0] = m[0] + c\n" * size


def places(size: int) -> str:
    """Accesses to different elements."""
    return KERNEL + "".join(f"    m[{i}] = m[{i + 1}] + c\n" for i in range(size))


def loops(size: int) -> str:
    """Loops, one after the other."""
    return KERNEL + "    for i in range(c):\n        m[i] = m[i] + c\n" * (size // 10)


def sums(size: int) -> str:
    """An index that is a product of sums."""
    product = " * ".join(f"(c + {i})" for i in range(size // 10))
    return KERNEL + f"    m[{product}] = c\n"


def calls(size: int) -> str:
    """Functions that each call the one below twice."""
    top = (
        '@prism("device")\n@requires(thread[1])\ndef f{0}(x: int32 @ thread[1]) -> int32 @ thread[1]:\n    return {1}\n'
    )
    depth = size // 20
    text = "".join(top.format(i, f"f{i - 1}(x) + f{i - 1}(x + 1)" if i else "x + 1") for i in range(depth))
    return text + KERNEL + f"    m[0] = f{depth - 1}(c)\n"


def load(text: str, name: str) -> Kernel:
    """Return a kernel of a text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long_program.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location("long_program", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found: Kernel = getattr(module, name)
        return found


CURVES = {one.__name__: one for one in (lines, places, loops, sums, calls)}


class Long:
    """A kernel of about so many lines, checked, its barriers inferred."""

    params = (list(CURVES), [200, 800])
    param_names = ("what", "size")
    timeout = 300

    def setup(self, what: str, size: int) -> None:
        self.kernel = load(HEAD + CURVES[what](size), "k")
        prism.check(self.kernel)

    def time_check(self, what: str, size: int) -> None:
        prism.check(self.kernel)


class Many:
    """A kernel of so many bytes that has many of one thing, checked or refused: the kinds of tests/generated/test_linear.py."""

    params = ([*RINGS, *OTHERS], [4_000, 16_000])
    param_names = ("kind", "size")
    timeout = 300

    def setup(self, kind: str, size: int) -> None:
        try:
            self.kernel = load(kernel_of_bytes(kind, size), "kernel")
        except (RecursionError, MemoryError, SyntaxError):
            raise NotImplementedError("Python itself does not compile it") from None
        self.time_check(kind, size)

    def time_check(self, kind: str, size: int) -> None:
        with suppress(CompileError):
            prism.check(self.kernel)
