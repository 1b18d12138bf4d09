"""An `assume` that speaks of the launch alone: what is of the kind, and that each launch tests it before anything runs.

Tests of prism/lang/facts/launch_tests.py.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from prism import LaunchError
from prism.interpret import AssumeError, UndefinedError, run
from prism.lang import (
    assert_,
    assume,
    block,
    const,
    constexpr,
    count,
    float32,
    grid,
    group,
    id,
    int8,
    int32,
    int64,
    partition,
    prism,
    ptr,
    requires,
    struct,
    template,
    thread,
    uint32,
)
from prism.lang.facts.launch_tests import Assumed, Undefined, compile_test
from prism.lang.pipeline import build
from prism.lang.safety import count_verdicts, describe_verdicts, verdicts
from prism.lang.surface import Kernel
from prism.runtime.build import entry_of
from prism.runtime.entry import Entry
from prism.runtime.export import header


def said(kernel: Kernel, **template: object) -> list[str]:
    """The statuses of a kernel's assumptions."""
    return [one.status for one in verdicts(build(kernel, template)) if one.kind == "assumption"]


def refused(launch: Callable[[], Any]) -> str:
    with pytest.raises(ValueError) as caught:
        launch()
    assert isinstance(caught.value, LaunchError) and caught.value.code == "launch"
    return str(caught.value)


@prism("global")
@requires(grid[1], thread[1])
def rows(y: ptr(int32) @ grid[1], n: int32 @ grid[1], wide: int32 @ grid[1]):
    assume(0 < wide and wide <= n)
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i // wide * n + i % wide) as mine, group(thread[1]):
        mine[0] = i


def test_what_is_proved_with_its_help_is_proved_and_it_is_listed_as_checked() -> None:
    found = verdicts(build(rows))
    assert {(one.kind, one.status) for one in found} == {("partition", "proved"), ("assumption", "checked")}
    assert next(iter(describe_verdicts(found))) == "1 proved, 1 checked, 0 not proved, 0 assumed, 0 believed"
    (one,) = count_verdicts(found)["checked"]
    assert one["reason"] == "it speaks of the launch alone, and each launch from Python tests it"


@pytest.mark.parametrize("check", [False, True])
def test_each_launch_tests_it_on_the_host(check: bool) -> None:
    y = np.full(64, -1, np.int32)
    for _ in range(2):
        rows[2, 16](y, 16, 8, check=check)
        message = refused(lambda: rows[2, 16](y, 4, 8, check=check))
        assert message.startswith("`rows` assumes `0 < wide and wide <= n` (line ")
        assert message.endswith("), which does not hold of this launch: n = 4, wide = 8")
    assert (y[:8] == range(8)).all()
    rows[2, 16](np.zeros(512, np.int32), np.int32(100), np.int64(8), check=check)
    with pytest.raises(TypeError, match="`wide` must be an integer"):
        rows[2, 16](y, 16, "8", check=check)
    with pytest.raises(OverflowError, match="`n` is int32"):
        rows[2, 16](y, 2**31, 8, check=check)
    with pytest.raises(AssumeError):  # the machine alone tests it too
        run(build(rows), 2, 16, (y, 4, 8))


@prism("device")
@requires(thread[1])
def up(a: int32 @ thread[1], b: int32 @ thread[1]) -> int32 @ thread[1]:
    most: int32 = a + b - 1
    return most // b


@prism("global")
@template(THREADS=constexpr(int))
@requires(grid[1], block[1], thread[32])
def shaped(y: ptr(int32) @ grid[1], n: uint32 @ grid[1], whole: bool @ grid[1], m: int32 @ grid[1]):
    blocks: int32 @ grid[1] = count(block[1])
    tiles: int32 @ grid[1] = up(m, 32)
    least: int32 @ grid[1] = min(tiles, 4) if whole else max(tiles, 2)
    with partition(y, thread[1], id()) as mine, group(block[1]):
        assume(count(thread[1]) <= THREADS and n - 1 < 7)
        assume(not whole or least <= blocks)
        with group(thread[1]):
            mine[0] = 1


def test_names_numbers_of_units_bools_functions_and_template_arguments() -> None:
    assert said(shaped, THREADS=64) == ["checked", "checked"]
    kernel, y = {"template": {"THREADS": 64}}, np.zeros(512, np.int32)
    shaped[4, 64](y, 1, True, 1000, **kernel)
    shaped[1, 32](y, 7, False, 1000, **kernel)
    assert refused(lambda: shaped[4, 96](y, 1, True, 1000, **kernel)).endswith("n = 1, 96 threads a block")
    assert "n = 0" in refused(lambda: shaped[4, 64](y, 0, True, 1000, **kernel))  # an unsigned 0 - 1 is 2^32 - 1
    assert refused(lambda: shaped[3, 64](y, 1, True, 1000, **kernel)).endswith("whole = True, m = 1000, 3 blocks")
    with pytest.raises(TypeError, match="`whole` must be a bool"):
        shaped[4, 64](y, 1, 1, 1000, **kernel)


@prism("global")
@requires(grid[1], thread[1])
def divided(n: int32 @ grid[1], k: int32 @ grid[1], shift: int32 @ grid[1]):
    assume(k == 0 or n // k * k == n)
    assume(n % k + (n << shift) * n >= -n)


def test_what_has_no_value_does_not_hold() -> None:
    assert said(divided) == ["checked", "checked"]
    divided[1, 1](6, 3, 1)
    assert "has no value, as 6 is divided by zero," in refused(lambda: divided[1, 1](6, 0, 1))
    assert "2147483648 does not fit" not in refused(lambda: divided[1, 1](7, 2, 1))
    assert "65536 * 65536 does not fit in int32" in refused(lambda: divided[1, 1](65536, 1, 0))
    assert "int32 is shifted by 32 bits" in refused(lambda: divided[1, 1](1, 1, 32))
    assert "-2147483648 / -1 does not fit" in refused(lambda: divided[1, 1](-(2**31), -1, 0))


@struct
class Pair:
    a: int32
    b: int32


@prism("device")
@requires(grid[1])
def inside(n: int32 @ grid[1]):
    assume(n > 3)


@prism("global")
@requires(grid[1], block[1], thread[32])
def others(x: ptr(const(int32)) @ grid[1], f: float32 @ grid[1], p: Pair @ grid[1], n: int32 @ grid[1]):
    assume(f > 0)
    assume(p.a > 0)
    assume(n > int32(f))
    m: int32 @ grid[1] = n
    assume(m > 0)
    m = m + 1
    t: int32 @ thread[1] = id()
    assume(n > t)
    for _ in range(3):
        assume(n > 1)
    if n > 3:
        assume(n > 2)
    assert_(n > 5)
    assume(n > 6)


@prism("global")
@requires(grid[1], thread[1])
def left(n: int32 @ grid[1]):
    if n > 3:
        return
    assume(n > 0)


def test_all_else_stays_assumed() -> None:
    """Floats, structs, what is assigned again, what threads differ in, and where not every launch comes."""
    assert said(others) == ["assumed"] * 8 and said(left) == ["assumed"]
    assert entry_of(build(others), "sm_90a").assumed == () and said(inside) == ["assumed"]


def test_it_travels_in_json_alone() -> None:
    entry = entry_of(build(shaped, {"THREADS": 64}), "sm_90a")
    again = Entry.from_json(json.loads(json.dumps(entry.to_json())))
    assert again == entry and len(again.assumed) == 2 and hash(again) == hash(entry)
    assert "What the kernel assumes, and nothing checks here: `not whole or" in header(entry)
    facts = entry.to_json()
    for wrong in (
        None, [["x", 1]], [["x", "1", ["number", 1]]], [["x", 1, ["number", "1"]]], [["x", 1, ["argument", 4]]],
        [["x", 1, ["os.system", "int32", ["number", 1]]]], [["x", 1, ["+", "float32", ["number", 1], ["number", 1]]]],
        [["x", 1, ["<", ["number", 1]]]],
    ):  # fmt: skip
        with pytest.raises(ValueError):
            Entry.from_json({**facts, "assumed": wrong})
    del facts["assumed"]
    with pytest.raises(ValueError):
        Entry.from_json(facts)


OPERATORS = ("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "minimum", "maximum")


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("kind", ["int", "uint"])
def test_arithmetic_is_that_of_the_types(kind: str, bits: int) -> None:
    """As NumPy has it, whose numbers wrap; quotients as C has them; what C++ leaves open has no value."""
    type_, rng = f"{kind}{bits}", np.random.default_rng(bits)
    least, most = (0, 2**bits - 1) if kind == "uint" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    edges = [
        least,
        most,
        0,
        1,
        most - 1,
        least + 1,
        *(int(n) for n in rng.integers(-300, 300, 12) if least <= n <= most),
    ]
    for op in OPERATORS:
        for a in edges:
            for b in edges:
                code = ("argument", 0), ("argument", 1)
                try:
                    found: int | None = compile_test((op, type_, *code))((1, 1, (a, b)))
                except Undefined:
                    found = None
                assert found == expected(op, a, b, (kind, bits), (least, most)), (op, type_, a, b)


def expected(op: str, a: int, b: int, type_: tuple[str, int], span: tuple[int, int]) -> int | None:
    kind, bits = type_
    if op in ("/", "%"):
        if b == 0:
            return None
        quotient = (
            int(np.trunc(a / b))
            if abs(a) < 2**50 and abs(b) < 2**50
            else (abs(a) // abs(b)) * (1 if a * b >= 0 else -1)
        )
        exact = quotient if op == "/" else a - quotient * b
        if kind == "int" and bits >= 32 and not span[0] <= quotient <= span[1]:
            return None
    elif op in ("<<", ">>"):
        if not 0 <= b < max(32, bits):
            return None
        exact = a * 2**b if op == "<<" else a // 2**b
    else:
        exact = {"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b}.get(op, 0)
        exact = {"minimum": min(a, b), "maximum": max(a, b)}.get(op, exact)
        if kind == "int" and bits >= 32 and not span[0] <= exact <= span[1]:
            return None
    wrapped = exact % 2**bits
    return wrapped - 2**bits if kind == "int" and wrapped >= 2 ** (bits - 1) else wrapped


def test_too_deep_a_condition_is_none() -> None:
    code: Any = ("number", True)
    for _ in range(300):
        code = ("not", code)
    with pytest.raises(ValueError):
        Assumed("deep", 1, code)


@prism("global")
@requires(grid[1], thread[1])
def mixed(
    a: int32 @ grid[1],
    b: int32 @ grid[1],
    c: uint32 @ grid[1],
    d: int8 @ grid[1],
    e: int64 @ grid[1],
    f: bool @ grid[1],
):
    small: int8 @ grid[1] = d + d
    wide: int64 @ grid[1] = e * a + int64(c) - (b >> 1)
    turned: uint32 @ grid[1] = c - uint32(a) << 1
    assume(not f or wide // (b if b != 0 else 7) >= -1000)
    assume(small * 2 <= d + 20 or turned % 3 != 0 or (a ^ b) & 5 == 1)
    assume(max(a, b) - min(a, b) < 60 and ~a != 3 and -b < 40 and (int8(a * 9) | 1) != 5)
    assume(count(block[1]) + a > b - 50 and a << (c & 3) != 24)


def test_it_is_as_the_machine_has_it() -> None:
    """A launch is refused where the machine finds that a condition does not hold, or has no value, and nowhere else."""
    program, rng, refusals = build(mixed), np.random.default_rng(5), 0
    assert said(mixed) == ["checked"] * 4
    for _ in range(150):
        a, b, d, e = (int(n) for n in rng.integers(-40, 40, 4))
        a, e = (2**31 - 1, e) if rng.random() < 0.1 else (a, 2**62 + e) if rng.random() < 0.1 else (a, e)
        values = a, b, int(rng.choice([0, 1, 5, 2**31, 2**32 - 1])), d, e, bool(rng.random() < 0.5)
        try:
            run(program, 2, 1, values, check=True)
            holds = True
        except AssumeError:
            holds = False
        except UndefinedError as error:
            if "assume(" not in str(error):  # of a name's value, which a condition need not ask for
                continue
            holds = False
        if holds:
            mixed[2, 1](*values, check=True)
        else:
            refusals += 1
            refused(lambda values=values: mixed[2, 1](*values))
    assert 20 < refusals < 130
