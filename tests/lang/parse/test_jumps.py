"""`return` and `continue` of some threads where nothing follows: they are conditions. `prism/lang/parse/jumps.py`."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import prism
from prism.lang import CompileError
from tests.lang.from_text import kernel_of

KERNEL = """
from prism.lang import *

@prism("global")
@requires(grid[1], block[1], thread[32])
def k(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine:
{body}
"""


def made(folder: Path, body: str) -> prism.Kernel:
    """A kernel of these statements, in which `mine` is each thread's part and `i` its number."""
    return kernel_of(folder, KERNEL.format(body="\n".join(f"        {line}" for line in body.strip("\n").split("\n"))))


def ran(kernel: prism.Kernel, n: int) -> list[int]:
    y = np.zeros(64, np.int32)
    kernel[2, 32](y, n, check=True)
    return y.tolist()


RETURNS = """
with group(thread[1]):
    if i >= n:
        return
    mine[0] = i
"""
BOTH = """
with group(thread[1]):
    if i % 3 == 0:
        mine[0] = 1
        return
    elif i % 3 == 1:
        mine[0] = 2
    else:
        if i > n:
            return
        mine[0] = 3
        return
    mine[0] += 10
"""
ARMS = """
with group(block[1]):
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        if t < 4:
            return
        v: int32 = t
        if v < 8:
            mine[0] = v
            return
        mine[0] = -v
"""
TRIPS = """
for k in range(5):
    with group(thread[1]):
        if (i + k) % 2 == 0:
            continue
        if k == n:
            continue
        mine[0] += k
"""
WHILE = """
with group(thread[1]):
    k: int32 = 0
    while k < 5:
        k += 1
        if k == 2:
            continue
        mine[0] += k
    if i > n:
        return
    mine[0] += 100
"""


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (RETURNS, lambda i, n: i if i < n else 0),
        (BOTH, lambda i, n: 1 if i % 3 == 0 else 12 if i % 3 == 1 else 0 if i > n else 3),
        (ARMS, lambda i, n: 0 if i % 32 < 4 else i % 32 if i % 32 < 8 else -(i % 32)),
        (TRIPS, lambda i, n: sum(k for k in range(5) if (i + k) % 2 and k != n)),
        (WHILE, lambda i, n: 13 if i > n else 113),
    ],
    ids=["return", "both branches", "in a block", "continue", "loops keep theirs"],
)  # fmt: skip
@pytest.mark.parametrize("n", [0, 3, 40])
def test_what_follows_is_for_the_others(tmp_path: Path, body: str, wanted, n: int) -> None:
    assert ran(made(tmp_path, body), n) == [wanted(i, n) for i in range(64)]


@pytest.mark.parametrize(
    "body",
    [
        RETURNS + "with group(thread[1]):\n    mine[0] += 1",
        "for k in range(3):\n    with group(thread[1]):\n        if i > k:\n            return\n        mine[0] = k",
        "for k in range(3):\n    with group(thread[1]):\n        if i > k:\n            continue\n    m: int32 = k",
        "for k in range(3):\n    with group(thread[1]):\n        if i > k:\n            break\n        mine[0] = k",
        "with group(thread[1]):\n    for k in range(3):\n        if i > k:\n            return\n    mine[0] = 1",
        "with group(thread[1]):\n    if i > 3:\n        if i > 5:\n            return\n        mine[0] = 2\n    mine[0] = 1",
    ],
    ids=["a group follows", "return in a loop", "a statement of the trip follows", "break", "a loop inside", "deep, with a rest"],
)  # fmt: skip
def test_where_something_follows_it_is_refused(tmp_path: Path, body: str) -> None:
    with pytest.raises(CompileError) as found:
        prism.check(made(tmp_path, body))
    assert found.value.code == "jump"


def written(rng: random.Random, depth: int, indent: str) -> list[str]:
    """Random statements of one thread, of which some return."""
    lines: list[str] = []
    for _ in range(rng.randrange(1, 4)):
        kind = rng.random()
        if kind < 0.45 or depth == 0:
            lines.append(f"{indent}mine[0] = mine[0] * 3 + {rng.randrange(9)}")
            continue
        lines.append(f"{indent}if i % {rng.randrange(2, 5)} == {rng.randrange(3)}:")
        lines += written(rng, depth - 1, indent + "    ")
        if rng.random() < 0.6:
            lines.append(f"{indent}    return")
        if rng.random() < 0.4:
            lines.append(f"{indent}else:")
            lines += written(rng, depth - 1, indent + "    ")
    return lines


@pytest.mark.parametrize("seed", range(40))
def test_random_statements_as_python_runs_them(tmp_path: Path, seed: int) -> None:
    body = "\n".join(["with group(thread[1]):", *written(random.Random(seed), 3, "    ")])
    try:
        found = ran(made(tmp_path, body), 0)
    except CompileError as error:
        assert error.code == "jump"  # a return in a branch of a branch, with a rest behind both
        return
    text = "def one(i, mine):\n" + "\n".join(f"    {line}" for line in body.split("\n")[1:]).replace(
        "        ", "    ", 0
    )
    names: dict[str, object] = {}
    exec(text, names)
    for i in range(64):
        mine = [0]
        names["one"](i, mine)  # type: ignore[operator]
        assert found[i] == mine[0]
