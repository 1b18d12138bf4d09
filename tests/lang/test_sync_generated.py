"""Generated programs: with the inferred barriers no schedule races; most barriers, left out, make one.

Tests of prism/lang/tree/plan.py.
"""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path

import numpy as np
import pytest

from prism.interpret import RaceError, run
from prism.lang.pipeline import build
from prism.lang.tree.plan import Program

HEAD = """
from prism.lang import block, claim, grid, group, id, int32, partition, prism, ptr, requires, shared, split, thread

@prism("device")
@requires(block[1], thread[64])
def rotate(value: int32 @ thread[1]) -> int32 @ thread[1]:
    scratch: shared(int32[64]) @ block[1]
    u: int32 @ thread[1] = id()
    with partition(scratch, thread[1], offset=u) as mine:
        with group(thread[1]):
            mine[0] = value
    result: int32 @ thread[1] = scratch[(u + 1) % 64]
    return result

@prism("device")
@requires(block[1], thread[64])
def shift(a: ptr(int32) @ block[1], b: ptr(int32) @ block[1], n: int32 @ block[1]):
    u: int32 @ thread[1] = id()
    v: int32 @ thread[1] = 0
    w: int32 @ thread[32] = id()
{callee}

@prism("global")
@requires(grid[1], block[1], thread[64])
def kernel(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], offset=0) as out:
        with group(block[1]):
            a: shared(int32[64]) @ block[1]
            b: shared(int32[64]) @ block[1]
            u: int32 @ thread[1] = id()
            w: int32 @ thread[32] = id()
            v: int32 @ thread[1] = u
            with partition(a, thread[1], offset=u) as mine:
                with group(thread[1]):
                    mine[0] = v
            with partition(b, thread[1], offset=u) as mine:
                with group(thread[1]):
                    mine[0] = v
{body}
            with partition(out, thread[1], offset=u) as o:
                with group(thread[1]):
                    o[0] = v
"""


class Writer:
    """Writes one random program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0
        self.callee = False

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def body(self, depth: int, objects: list[str], loop: bool) -> list[str]:
        lines = []
        for _ in range(self.random.randint(1, 4)):
            lines += self.statement(depth, objects, loop)
        return lines

    def statement(self, depth: int, objects: list[str], loop: bool) -> list[str]:
        s = self.random.choice(objects)
        simple = [self.read, self.read, self.write, self.write, self.claimed, self.warps, self.call, self.arms]
        if depth and self.random.random() < 0.45:
            return self.compound(depth, objects, loop)
        return self.random.choice(simple)(s, objects)

    def compound(self, depth: int, objects: list[str], loop: bool) -> list[str]:
        kind = self.random.choice(["if", "for", "while", "else", "scope"])
        c = self.random.randint(0, 2)
        if kind == "if":
            jump = self.random.choice(["break", "continue"]) if loop and self.random.random() < 0.4 else None
            return [f"if n > {c}:", *indented(self.body(depth - 1, objects, loop) + ([jump] if jump else []))]
        if kind == "else":
            return [
                f"if n > {c}:", *indented(self.body(depth - 1, objects, loop)),
                "else:", *indented(self.body(depth - 1, objects, loop)),
            ]  # fmt: skip
        if kind == "for":
            k = self.fresh("k")
            bound = self.random.choice(["n", "2"])
            return [f"for {k} in range({bound}):", *indented(self.body(depth - 1, objects, True))]
        if kind == "while":
            i = self.fresh("i")
            head = [f"{i} = {i} + 1", f"if {i} > n:", "    break"]
            return [f"{i}: int32 @ block[1] = 0", "while True:", *indented(head + self.body(depth - 1, objects, True))]
        t = self.fresh("t")
        if self.callee:
            return self.body(depth - 1, objects, loop)
        inner = [
            f"{t}: shared(int32[64]) @ block[1]",
            *self.write(t, objects),
            *self.body(depth - 1, [*objects, t], loop),
        ]
        return ["if n >= 0:", *indented(inner)]

    def read(self, s: str, _: list[str]) -> list[str]:
        c = self.random.randint(0, 63)
        return self.random.choice(
            [
                [f"v = v + {s}[(u + {c}) % 64]"],
                ["with group(thread[1]):", f"    v += {s}[(u + {c}) % 64]"],
                [f"v = v + {s}[{c}]"],
            ]
        )

    def write(self, s: str, _: list[str]) -> list[str]:
        m = self.fresh("m")
        offset = self.random.choice(["u", "u", "63 - u", "(u + 5) % 64"])
        value = self.random.choice(["v", f"{m}[0] + 1"]) if not s.startswith("t") else "v"
        head = [f"with partition({s}, thread[1], offset={offset}) as {m}:", "    with group(thread[1]):"]
        return [*head, f"        {m}[0] = {value}"]

    def claimed(self, s: str, _: list[str]) -> list[str]:
        m, first = self.fresh("m"), self.random.random() < 0.5
        if first:
            case = ["match split(thread):", "    case 1:", f"        {m}[3] = n"]
            return [f"with claim({s}, thread[1]) as {m}:", *indented(case)]
        case = ["match split(thread):", "    case 32:", "        pass", "    case 32:", "        match split(thread):"]
        return [
            f"with claim({s}, thread[1]) as {m}:",
            *indented([*case, "            case 1:", f"                {m}[3] = n"]),
        ]

    def arms(self, s: str, _: list[str]) -> list[str]:
        c = self.random.randint(0, 63)
        return [
            "match split(thread):",
            "    case 32:",
            "        with group(thread[1]):",
            f"            v += {s}[(u + {c}) % 64]",
        ]

    def warps(self, s: str, _: list[str]) -> list[str]:
        p, lane = self.fresh("p"), self.fresh("lane")
        inner = [f"{lane}: int32 @ thread[1] = id()"]
        for _i in range(self.random.randint(1, 4)):
            if self.random.random() < 0.5:
                m = self.fresh("m")
                offset = self.random.choice([lane, f"31 - {lane}"])
                inner += [f"with partition({p}, thread[1], offset={offset}) as {m}:"]
                inner += ["    with group(thread[1]):", f"        {m}[0] = v"]
            else:
                inner += ["with group(thread[1]):", f"    v += {p}[({lane} + {self.random.randint(0, 31)}) % 32]"]
        if self.random.random() < 0.4:
            inner = [inner[0], f"for {self.fresh('j')} in range(2):", *indented(inner[1:])]
        return [
            f"with partition({s}, thread[32], offset=w * 32) as {p}:",
            *indented(["with group(thread[32]):", *indented(inner)]),
        ]

    def call(self, s: str, objects: list[str]) -> list[str]:
        if self.callee:
            return ["v = rotate(v)"]
        other = self.random.choice([o for o in objects if o != s] or objects)
        return self.random.choice([["v = rotate(v)"], [f"shift({s}, {other}, n)"]]) if other != s else ["v = rotate(v)"]

    def program(self) -> str:
        self.callee = True
        callee = self.body(1, ["a", "b"], False)
        self.callee = False
        body = self.body(3, ["a", "b"], False)
        return HEAD.format(callee="\n".join(indented(callee)), body="\n".join(indented(indented(indented(body)))))


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def program(seed: int, folder: Path) -> Program:
    path = folder / f"generated_{seed}.py"
    path.write_text(Writer(seed).program())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return build(module.kernel)


def race(built: Program) -> RaceError | None:
    for n in (0, 1, 2, 3):
        for schedule, seed in (("round-robin", 0), ("random", n), ("reversed", 0)):
            try:
                run(built, 1, 64, [np.zeros(64, np.int32), np.int32(n)], check=True, schedule=schedule, seed=seed)
            except RaceError as error:
                return error
    return None


def check(seeds: range, folder: Path) -> tuple[int, int]:
    """Refuse any race with the plan; return how many barriers there were, and how many of them some run needs."""
    barriers = needed = 0
    for seed in seeds:
        built = program(seed, folder)
        error = race(built)
        assert error is None, f"seed {seed}: {error}"
        for plan in built.plans.values():
            for barrier in plan.barriers:
                barriers += 1
                needed += race(built.with_plan(plan.drop_step(barrier))) is not None
    return barriers, needed


def test_generated_programs_do_not_race(tmp_path):
    barriers, needed = check(range(8), tmp_path)
    assert needed > 0.7 * barriers, (needed, barriers)


@pytest.mark.fuzz
def test_many_generated_programs_do_not_race(tmp_path):
    barriers, needed = check(range(1000, 1400), tmp_path)
    assert needed > 0.7 * barriers, (needed, barriers)
