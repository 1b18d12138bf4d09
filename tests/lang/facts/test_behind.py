"""What is proved of accesses behind calls, by conditions that fix a number, and by assumptions: against the reference machine.

Of each random kernel whose partitions are all proved disjoint, runs over many shapes and numbers find no race.

Tests of prism/lang/barriers: callees, footprints.
"""

import importlib.util
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from prism.interpret import AssumeError, BoundsError, RaceError, run
from prism.lang.diagnostics import CompileError
from prism.lang.pipeline import build
from prism.lang.safety import verdicts

HEAD = """from prism.lang import *
from prism.lang import prism
"""
TEXT = """
@prism("device")
@requires(block[1], thread[8])
def at_{number}(a: int32 @ thread[1], n: int32 @ thread[1]) -> int32 @ thread[1]:
    t: int32 @ thread[1] = id()
    return {at}


@prism("device")
@requires(block[1], thread[8])
def put_{number}(y: ptr(int32) @ block[1], a: int32 @ block[1], n: int32 @ block[1], c: int32 @ block[1]):
    t: int32 @ thread[1] = id()
    q: int32 @ thread[1] = at_{number}({given}, n)
    few, others = roles(thread, {few}, {others})
    with partition(y, thread[1], lambda i: {inner} + i) as mine, {role}group(thread[1]):
        for k in range({trips}):
            if {guard}:
                mine[{step} * k] = t


@prism("device")
@requires(block[1], thread[8])
def pass_{number}(y: ptr(int32) @ block[1], a: int32 @ block[1], n: int32 @ block[1], c: int32 @ block[1]):
    with partition(y, block[1], {shift}) as z:
        put_{number}(z, {passed}, n, c)


@prism("global")
@requires(grid[1], block[1], thread[8])
@attr("__launch_bounds__(16)")
def kernel_{number}(y: ptr(int32) @ grid[1], n: int32 @ grid[1], m: int32 @ grid[1]):
    b: int32 @ block[1] = id()
    c: int32 @ grid[1] = count(block[1])
    assume({assumed})
    with partition(y, block[1], {outer}) as part, group(block[1]):
        if {around}:
            pass_{number}(part, b, n, c)
"""


def program(seed: int) -> str:
    """Return a kernel that writes through two calls; most of it is what might be right."""
    rng = random.Random(seed)
    each = rng.choice([1, 2, 4])

    def total(*names: str) -> str:
        picked = [f"{rng.choice([1, 1, 2, 4, 8, 16, 32])} * {name}" for name in names if rng.random() < 0.7]
        return " + ".join(picked or ["0"])

    alone = rng.random() < 0.3  # one thread, or one block, writes
    guard = rng.choice(["t < n", "t < 8", "t == 0", "t < 1", "q < n", "k < n", "a == 0", "t >= 15", "t % 8 < n"])
    around = rng.choice(["b < n", "b == 0", "b == c - 1", "b >= c - 1", "n > 2", "b < 1", "b < c"])
    few, others = rng.choice([(4, 4), (2, 2), (1, 1), (4, 2)])
    return TEXT.format(
        number=seed,
        few=few,
        others=others,
        role=rng.choice(["", "", "few, ", "others, "]),
        at=rng.choice(
            [f"{each} * t", f"t // 8 * {8 * each} + t % 8 * {each}", f"a + {each} * t", total("t", "a"), "n - t"]
        ),
        given=rng.choice(["a", "0", "t", "n"]),
        inner=rng.choice(["q", f"{each} * t", f"q % 8 + 8 * (q // 8) * {each}", total("q", "t")]),
        trips=rng.choice([1, each, 2, 4]),
        guard=guard if alone or rng.random() < 0.5 else "t < 64",
        step=rng.choice([1, 1, each, 16 * each, 8]),
        shift=rng.choice(["0", "a", "16 * a", "n"]),
        passed=rng.choice(["a", "0", "n", "a + 1"]),
        assumed=rng.choice(["n > 0", "0 < n and n <= 4", "c == 1", "m >= n", "m >= 64", "c <= 2", "0 < n and n < m"]),
        outer=rng.choice(["0", f"{16 * each} * b", "64 * b", "m * b", total("b"), "n * b + m * b", "m * (b % 2)"]),
        around=around if alone or rng.random() < 0.4 else "b < 64",
    )


def judged(seeds: range, folder: Path) -> Counter[str]:
    """Return how many kernels there were of each kind; where all is proved, runs have no race."""
    file = folder / f"kernels_{seeds.start}.py"
    file.write_text(HEAD + "".join(map(program, seeds)))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Counter[str] = Counter()
    for seed in seeds:
        try:
            built = build(getattr(module, f"kernel_{seed}"))
        except CompileError:
            found["refused"] += 1
            continue
        proved = all(one.status == "proved" for one in verdicts(built) if one.kind == "partition")
        raced = False
        for blocks, threads, n, m in ((1, 8, 1, 64), (2, 16, 4, 70), (3, 8, 3, 5), (3, 16, 9, 100), (5, 16, 2, 3)):
            y = np.zeros(8192, np.int32)
            try:
                run(built, blocks, threads, (y, n, m), check=True)
            except (AssumeError, BoundsError):
                continue
            except RaceError as race:
                raced = True
                assert not proved, f"seed {seed}: proved, but with {blocks} blocks of {threads}, n {n}, m {m}: {race}"
        found["proved" if proved else "raced" if raced else "not proved"] += 1
    return found


def test_what_is_proved_has_no_race(tmp_path: Path) -> None:
    found = judged(range(40), tmp_path)
    assert found["proved"] > 10 and found["raced"] > 10, found


@pytest.mark.fuzz
def test_what_is_proved_has_no_race_in_many(tmp_path: Path) -> None:
    for first in range(1000, 21000, 1000):
        assert judged(range(first, first + 1000), tmp_path)["proved"] > 100
