"""Plans one after the other as one: each on its own words, on what is taken between them, and on scratch memory behind that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from prism.host.arguments import facts_of
from prism.host.chain import Chain
from prism.host.machine import run_on_host
from prism.host.plan import OUT, SCRATCH, WORDS, Buffer, Clear, Map, Plan, Step, X, Y, nothing
from prism.lib.algorithms.transform.transposes import SQUARE, exchange, kernel_for


def plan_of(words: int, scratch: int, **more: object) -> Plan:
    given = {"x": X, "y": Y, "words": Buffer(WORDS, 8, "uint64", 1), "spare": Buffer(SCRATCH, 256, "uint8", 4), **more}
    clear = Clear(Buffer(SCRATCH, 0, "uint8", 3))
    return Plan((clear, Step(kernel_for(4, SQUARE), 1, 256, given)), words, "a tag" if words else "", scratch)


def test_buffers_are_other_memory() -> None:
    chain = Chain()
    between = chain.take("float32", 100)
    chain.add(plan_of(20, 512, table=Map(X, (1, 1), (4, 4)), least=3), {OUT: between})
    chain.add(plan_of(0, 600, untouched=nothing("int8")), {"x": between})
    chain.add(plan_of(20, 0, first=Buffer("x", 16)), {"x": Buffer("values", 32)})
    found = chain.plan()
    assert (found.words, found.scratch, found.tag) == (512, 512 + 600, "a tag 20 and a tag 20")
    clears = [step for step in found.steps if isinstance(step, Clear)]
    first, second, third = (dict(step.arguments) for step in found.steps if isinstance(step, Step))
    assert {step.buffer for step in clears} == {Buffer(SCRATCH, 512, "uint8", 3)}
    assert first["x"] == X and first["y"] == between == second["x"] and second["y"] == third["y"] == Y
    assert first["table"] == Map(X, (1, 1), (4, 4)) and first["least"] == 3
    assert first["words"] == Buffer(WORDS, 8, "uint64", 1) and third["words"] == Buffer(WORDS, 264, "uint64", 1)
    assert first["spare"] == second["spare"] == Buffer(SCRATCH, 768, "uint8", 4)
    assert second["untouched"].count == 0 and third["first"] == Buffer("values", 48)


def test_what_one_makes_the_next_one_reads() -> None:
    x, y = np.arange(2 * 3 * 70, dtype=np.int32).reshape(2, 3, 70), np.zeros((2, 3, 70), np.int32)
    chain = Chain()
    between = chain.take("int32", x.size)
    chain.add(exchange("int32", 2, 3, 70), {OUT: between})
    chain.add(exchange("int32", 2, 70, 3), {"x": between})
    run_on_host(chain.plan(), {"x": facts_of(x, "x"), OUT: facts_of(y, "y")})
    assert np.array_equal(x, y)


def test_a_plan_may_take_a_part_of_what_another_one_made() -> None:
    """By another offset, as of one of several rows: on the reference machine too that is the same memory."""
    x, y = np.arange(12, dtype=np.int32), np.zeros(12, np.int32)
    chain = Chain()
    between, other = chain.take("int32", x.size), chain.take("int32", x.size)
    chain.add(exchange("int32", 1, 3, 4), {OUT: between})
    for row in range(4):
        (step,) = exchange("int32", 1, 1, 3).steps
        assert isinstance(step, Step)
        part = replace(step, arguments=step.arguments | {"x": Buffer("x", 12 * row), "y": Buffer(OUT, 12 * (3 - row))})
        chain.add(Plan((part,)), {"x": between, OUT: other})
    chain.add(exchange("int32", 1, 1, 12), {"x": other})
    run_on_host(chain.plan(), {"x": facts_of(x, "x"), OUT: facts_of(y, "y")})
    assert np.array_equal(y.reshape(4, 3), x.reshape(3, 4).T[::-1])
