"""Calls: several values returned at any unit, arguments by place, by name and left out, templates with defaults.

Functions of a thread, a warp or a block compute small numbers of their parameters and of two template parameters; they return
one number, a tuple, a struct or a vector. A kernel calls some, takes their results apart, and passes them on. The oracle
evaluates the same expressions with NumPy. Some programs have one thing that is not legal.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.generated.edges_verify import Edge

BLOCKS, THREADS = 3, 64
UNITS = ("block[1]", "warp[1]", "thread[1]")
"""From broad to narrow."""
HEADS = {"block[1]": "block[1], thread[64]", "warp[1]": "warp[1]", "thread[1]": "thread[1]"}
HEAD = """\
from prism.lang import (
    block, constexpr, function, grid, group, id, int2, int32, partition, prism, ptr, requires, struct, template, thread, warp,
)

@struct
class Three:
    first: int32
    second: int32
    third: int32

@prism("device")
@requires(thread[1])
def same(x: int32 @ thread[1]) -> int32 @ thread[1]:
    return x

@prism("device")
@requires(thread[1])
def next_number(x: int32 @ thread[1]) -> int32 @ thread[1]:
    return x + 1
"""
RESULTS = {"int32": 1, "(int32, int32)": 2, "(int32, int32, int32)": 3, "Three": 3, "int2": 2}
LATER = {"K": "K", "K * 2": "K * 2", "K // 2": "K // 2"}
"""Defaults of template parameters, and what they are in Python."""
FAULTS = ("varies", "count", "missing", "broader", "several")
Numbers = dict[str, Any]


@dataclass
class Routine:
    """A device function: its unit, its parameters and its template's with their defaults in Python, its condition and results."""

    name: str
    unit: str
    parameters: dict[str, str]
    kind: str
    test: str
    values: tuple[tuple[str, ...], tuple[str, ...]]
    template: dict[str, str]
    varies: bool = False

    def value(self, given: Numbers, template: Numbers) -> list[Any]:
        """Return what it computes."""
        scope = dict(template)
        for name, default in self.template.items():
            scope.setdefault(name, eval(default, {}, dict(scope)))
        for name, default in self.parameters.items():
            scope[name] = given[name] if name in given else eval(default, {}, dict(scope))
        shown = [[np.asarray(eval(text, {}, dict(scope))) for text in texts] for texts in self.values]
        test = np.asarray(eval(self.test, {}, dict(scope)))
        step = 1 if scope.get("OP") == "next_number" else 0
        return [np.where(test, a, b) + step * (k == 0) for k, (a, b) in enumerate(zip(*shown, strict=True))]


class Writer:
    """One program, by its seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.fault = self.rng.choice(FAULTS) if self.rng.random() < 0.2 else ""
        self.why = ""
        b, t = np.meshgrid(np.arange(BLOCKS), np.arange(THREADS), indexing="ij")
        self.known: Numbers = {"n": np.full_like(b, 9), "b": b, "w": t // 32, "t": t}
        self.places = {"n": "grid[1]", "b": "block[1]", "w": "warp[1]", "t": "thread[1]"}

    def expression(self, names: list[str]) -> str:
        """A small number that is computed of others; at least of the first."""
        rng, name = self.rng, names[0]
        for _ in range(rng.choice([1, 1, 2, 3])):
            other = rng.choice([*names, str(rng.randint(1, 9))])
            name = rng.choice(
                [
                    f"({name} + {other})",
                    f"({name} * {other})",
                    f"({name} // 2 + {other})",
                    f"({other} + 64 - ({name} & 63))",
                ]
            )
        return f"(({name}) & 63)"

    def define(self, number: int) -> tuple[Routine, list[str]]:
        """A function, and its text."""
        rng, unit = self.rng, self.rng.choice(UNITS)
        written, template = ["K=constexpr(int, default=6)"], {"K": "6"}
        if rng.random() < 0.5:
            written.append("L=constexpr(int, default=lambda K: K // 2 + 1)")
            template["L"] = "K // 2 + 1"
        if unit == "thread[1]" and rng.random() < 0.5:
            operator = rng.choice(["same", "next_number"])
            written.append(f"OP=function(default={operator})")
            template["OP"] = repr(operator)
        parameters, formals = {"x0": ""}, [f"x0: int32 @ {unit}"]
        later = rng.random() < 0.3
        for k in range(1, rng.choice([1, 2, 3, 4])):
            later = later or rng.random() < 0.6
            default = rng.choice([*LATER, *map(str, range(5))])
            parameters[f"x{k}"] = LATER.get(default, default) if later else ""
            formals.append(
                f"x{k}: int32 @ {rng.choice(['grid[1]', unit]) if later else unit}" + (f" = {default}" if later else "")
            )
        kind = rng.choice(list(RESULTS))
        names = [*parameters, *(name for name in template if name != "OP")]
        values = tuple(
            tuple(self.expression(rng.sample(names, len(names))) for _ in range(RESULTS[kind])) for _ in range(2)
        )
        test = f"{self.expression(names)} > {rng.randint(0, 60)}"
        routine = Routine(f"f{number}", unit, parameters, kind, test, values, template)  # type: ignore[arg-type]
        lines = ['@prism("device")', f"@template({', '.join(written)})", f"@requires({HEADS[unit]})"]
        lines += [f"def {routine.name}({', '.join(formals)}) -> {kind} @ {unit}:"]
        then, otherwise = ([*texts] for texts in values)
        if "OP" in template:
            then[0], otherwise[0] = f"OP({then[0]})", f"OP({otherwise[0]})"
        if self.fault == "varies" and unit != "thread[1]":
            routine.varies = True
            lines.append("    i: int32 @ thread[1] = id()")
            otherwise[-1] = f"({otherwise[-1]} + i) & 63"
        made = "Three({})" if kind == "Three" and rng.random() < 0.5 else "{}"
        lines += [f"    if {test}:", f"        return {made.format(', '.join(then))}"]
        return routine, [*lines, f"    return {', '.join(otherwise)}", ""]

    def call(self, routine: Routine, number: int) -> list[str]:
        """A call in the block's code: the results are variables of its unit or a narrower one, and known from here on."""
        rng, arguments, given = self.rng, list[str](), dict[str, Any]()
        fits = [name for name, place in self.places.items() if place == "grid[1]" or self.broad(place, routine.unit)]
        by_name = False
        for k, (name, default) in enumerate(routine.parameters.items()):
            if default and rng.random() < 0.5:
                by_name = True  # those behind it
                continue
            value = rng.choice(fits if not default else ["n"])
            if k == 0 and self.fault == "broader" and routine.unit == "thread[1]":
                value = "t"
            by_name = by_name or rng.random() < 0.2
            given[name] = self.known[value]
            arguments.append(f"{name}={value}" if by_name else value)
        if routine.varies:
            self.why = "what is returned varies within the unit"
        if self.fault == "missing" and not self.why:
            self.why, arguments = "an argument is missing", []
        template = {name: rng.choice([4, 7]) for name in ("K", "L") if name in routine.template and rng.random() < 0.3}
        chosen = dict[str, Any](template)
        if "OP" in routine.template and rng.random() < 0.3:
            chosen["OP"] = rng.choice(["same", "next_number"])
        arguments += [f"{name}={value}" for name, value in chosen.items()]
        results = routine.value(given, chosen)
        names = [f"r{number}_{k}" for k in range(len(results))]
        narrower = [place for place in UNITS if self.broad(routine.unit, place)]
        lines = list[str]()
        for name, result in zip(names, results, strict=True):
            place = rng.choice(narrower)
            if self.fault == "broader" and routine.unit == "thread[1]" and not self.why:
                self.why, place = "a thread's result is no block's", "block[1]"
            lines.append(f"{name}: int32 @ {place}")
            self.places[name] = place
            self.known[name] = np.broadcast_to(result, (BLOCKS, THREADS))
        targets = names
        if self.fault == "count" and len(names) > 1 and not self.why:
            self.why, targets = "there are more values than names", names[:-1]
            targets = [*targets, names[0], names[0]] if rng.random() < 0.5 else [*targets[:1], *targets]
            targets = targets if len(targets) != len(names) else [*targets, names[0]]
        text = f"{routine.name}({', '.join(arguments)})"
        if self.fault == "several" and len(names) > 1 and not self.why:
            self.why, targets = "several values are no number", names[:1]
        return [*lines, f"{', '.join(targets)} = {text}"]

    def broad(self, place: str, unit: str) -> bool:
        """Whether a place is as broad as a unit."""
        return UNITS.index(place) <= UNITS.index(unit)


def program(seed: int) -> Edge:
    """Return a program."""
    writer = Writer(seed)
    rng, lines, routines = writer.rng, list[str](), list[Routine]()
    for number in range(rng.choice([1, 2, 3])):
        routine, text = writer.define(number)
        routines.append(routine)
        lines += text
    body = list[str]()
    for number in range(rng.choice([1, 2, 3, 4])):
        body += writer.call(rng.choice(routines), number)
    results = [name for name in writer.known if name.startswith("r")]
    expected = np.zeros((BLOCKS, THREADS, 16), np.int32)
    for k, name in enumerate(results):
        expected[:, :, k] = writer.known[name]
    indent = " " * 8
    kernel = [
        '@prism("global")',
        "@template(EACH=constexpr(int, default=16))",
        "@requires(grid[1], block[1], thread[64])",
        "def kernel(y: ptr(int32) @ grid[1], n: int32 @ grid[1] = 9):",
        "    b: int32 @ block[1] = id()",
        "    with partition(y, block[1], 64 * EACH * b) as whole, group(block[1]):",
        f"{indent}w: int32 @ warp[1] = id()",
        f"{indent}t: int32 @ thread[1] = id()",
        *(indent + line for line in body),
        f"{indent}with partition(whole, thread[1], EACH * t) as mine, group(thread[1]):",
        *(f"{indent}    mine[{k}] = {name}" for k, name in enumerate(results)),
    ]
    return Edge(
        "\n".join([*lines, *kernel, ""]),
        BLOCKS,
        THREADS,
        lambda: [np.zeros(expected.size, np.int32), np.int32(9)],
        expected=[expected.ravel()],
        legal=not writer.why,
        why=writer.why,
        head=HEAD,
    )
