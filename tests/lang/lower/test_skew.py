"""Fills ahead: the same results, under every schedule and with all checks; where they are not, the reason.

Tests of prism/lang/lower: copies, trips; prism/lang/rings: fills_ahead, hoisting.
"""

# ruff: noqa: F821 -- kernels: loops that only count, names that they declare
from __future__ import annotations

import functools
import random

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run, schedules
from prism.lang import (
    attr,
    block,
    bulk_store,
    claim,
    const,
    constexpr,
    cp_async,
    float32,
    grid,
    group,
    id,
    int32,
    one,
    partition,
    ptr,
    requires,
    shared,
    template,
    thread,
)
from prism.lang import prism as mark
from prism.lang.diagnostics import CompileError, Span
from prism.lang.emit import emit
from prism.lang.lower.skew import skew, unskew
from prism.lang.lower.trips import Trips, name_value
from prism.lang.pipeline import lower
from prism.lang.tree import Binary, Cast, Const, Declare, Evaluate, For, If, Symbol, Var
from prism.lang.tree.plan import Barrier, Wait
from prism.lang.tree.walk import statements
from prism.lang.types import INT32, INT64, UINT32, UINT64
from prism.lang.types.perspective import GRID
from tests.examples import asynchronous as a
from tests.examples import skewed as s
from tests.interpret.test_mutation import right_of
from tests.lang.rings import test_rings_generated as generated
from tests.mutation import TRIED, score

COPIES = (1, 2, 3, 4, 7)


def trips(copies):
    return sorted({0, 1, copies - 1, copies, copies + 1, 2 * copies + 1})


def ahead_of(launch):
    """Return a launch's program, and the one with its fills ahead, made once."""
    return made_ahead(launch.kernel, tuple(launch.template.items()))


@functools.cache
def made_ahead(kernel, template):
    program = prism.check(kernel, dict(template))
    return program, skew(program)


def gives(program, launch, **how):
    given = [x.copy() if isinstance(x, np.ndarray) else x for x in launch.arguments]
    run(program, *launch.shape, given, **how)
    return all(np.array_equal(launch.values(given[place]), wanted) for place, wanted in launch.results.items())


# -- results ----------------------------------------------------------------------------------------------------------

RINGS = {
    "all-threads": lambda k, n: a.ring(a.in_turn, 2, n, COPIES=k),
    "one-thread": lambda k, n: a.ring(s.asked, 2, n, COPIES=k),
    "roles": lambda k, n: s.teams_of(n, k, max(1, k - 1)),
    "edges": lambda k, n: s.edges_of(2, max(0, 128 * n - 50), k),
    "steps": lambda k, n: s.between_of(1, 1 + 2 * n, 2, k),
    "downwards": lambda k, n: s.between_of(3 * n, 0, -3, k, np.int64),
    "unsigned": lambda k, n: s.between_of(2, 2 + n, 1, k, np.uint32),
}


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("name", RINGS)
def test_any_number_of_copies_and_trips_means_the_same(name, copies):
    for n in trips(copies):
        launch = RINGS[name](copies, n)
        program, ahead = ahead_of(launch)
        assert (ahead is program) == (copies == 1)
        for schedule, seed in schedules(8)[2::2] if n == copies + 1 else schedules(8)[2 + n % 6 :][:1]:
            assert gives(ahead, launch, check=True, schedule=schedule, seed=seed), (n, schedule, seed)


@pytest.mark.parametrize("copies, ahead", [(2, 0), (3, 0), (3, 1), (4, 1), (6, 3)])
def test_tensor_cores_read_what_all_threads_copied(copies, ahead):
    for n in trips(copies):
        launch = s.multiplied_of(n, copies, ahead)
        program, made = ahead_of(launch)
        assert program.plans[program.entry].skews[0].by == copies - 1 - ahead
        assert all(gives(made, launch, check=True, schedule=schedule) for schedule in SCHEDULES[n % 2 :: 2]), n


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_tiles_that_come_in_are_changed_and_go_out(schedule):
    launch = a.tiles_doubled(INT32, 8, 64, 128, 3)
    program, ahead = ahead_of(launch)
    assert ahead is not program
    assert gives(ahead, launch, check=True, schedule=schedule)


def test_many_trips():
    launch = a.ring(a.in_turn, 1, 10_000, COPIES=4)
    assert gives(ahead_of(launch)[1], launch)


class Early(generated.Writer):
    """Writes programs whose fills are functions of the loop's index, many of them by the threads that use them."""

    def copy_all(self, name):
        offset = self.random.choice(["tid", "127 - tid"])
        copy = f"cp_async(mine[0], x[tid + {generated.SIZE} * (rounds % 8)], bytes=4)"
        inner = [copy]
        if self.random.random() < 0.5:
            inner = ["if (rounds % 8 + tid) % 3 > 0:", f"    {copy}", "else:", "    mine[0] = 1.0"]
        return [
            f"with partition({name}, thread[1], offset={offset}) as mine, group(thread[1]):",
            *generated.indented(inner),
        ]

    def ring(self, name):
        self.copies[name] = self.random.randint(2, 4)
        found = [self.random.choice([self.load, self.copy, self.copy, self.copy_all, self.copy_all, self.write])(name)]
        for _ in range(self.random.randint(1, 3)):
            kinds = [self.read, self.read_all, self.read_all, self.update, self.update_all, self.store]
            found.append(self.random.choice(kinds)(name))
        if self.random.random() < 0.3:
            found.append(self.store(name, self.random.randint(0, self.copies[name] - 1)))
        return found

    def program(self):
        heads = ("range(n)", "range(n)", "range(3, 3 + 2 * n, 2)", "range(n - 1, -1, -1)")
        text = super().program().replace("rounds % 8", "i % 8")
        return text.replace("for i in range(n):", f"for i in {self.random.choice(heads)}:")


def check_generated(seeds, folder, monkeypatch):
    """Run generated programs before and after; return how many there were."""
    monkeypatch.setattr(generated, "Writer", Early)
    count = 0
    for seed in seeds:
        try:
            program, _ = generated.programs(seed, folder)
        except CompileError:
            continue
        ahead = skew(program)
        if ahead is program:
            continue
        count += 1
        for n in (0, 1, 2, 9):
            wanted = generated.arguments(n, 2)
            run(program, 1, generated.SIZE, wanted)
            error = generated.fault(ahead, n, schedules(7), wanted)
            assert error is None, f"seed {seed}, {n} trips, {error}"
    return count


def test_generated_programs(tmp_path, monkeypatch):
    assert check_generated(range(8), tmp_path, monkeypatch) >= 3


@pytest.mark.fuzz
def test_many_generated_programs(tmp_path, monkeypatch):
    assert check_generated(range(1000, 2000), tmp_path, monkeypatch) >= 200


MUTANTS = {
    "all-threads": lambda: a.ring(a.in_turn, 2, 5, COPIES=3),
    "one-thread": lambda: a.ring(s.asked, 2, 7, COPIES=3),
    "edges": lambda: s.edges_of(2, 600, 3),
    "roles": lambda: s.teams_of(6, 3, 2),
    "tensor-cores": lambda: s.multiplied_of(6, 4, 1),
    "changed": lambda: a.tiles_doubled(INT32, 8, 64, 128, 3),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_all_that_stands_there_is_needed(name):
    launch = MUTANTS[name]()
    found = score(ahead_of(launch)[1], right_of(launch), launch.shape[1], TRIED)
    assert found.wrong >= 10 and not found.survivors


# -- what is made ------------------------------------------------------------------------------------------------------


def test_the_fills_stand_before_the_loop_and_in_it():
    program, ahead = ahead_of(a.ring(a.in_turn, 2, 5, COPIES=3))
    copies = [x for x in statements(ahead.entry.body) if isinstance(x, Evaluate)]
    first, loop = (x for x in statements(ahead.entry.body) if isinstance(x, For))
    assert len(copies) == 2 and copies[0] in statements(first.body)
    (trip,) = (x for x in loop.body if isinstance(x, If))
    assert copies[1] in statements(trip.then)
    plan = ahead.plans[ahead.entry]
    everything = set(statements(ahead.entry.body))
    assert all(op.at in everything for op in plan.operations) and not plan.mbarriers
    assert [(b.kind, b.before) for b in plan.barriers] == [("block", trip)]
    assert skew(ahead) is ahead and emit(lower(program)) == emit(lower(ahead))


def test_first_fills_of_copies_never_used_wait_for_nobody():
    _, ahead = ahead_of(a.ring(s.asked, 2, 5, COPIES=3))
    waits = [op for op in ahead.plans[ahead.entry].operations if isinstance(op, Wait)]
    assert [wait.lap for wait in waits] == [1, 0]


def test_a_ring_without_mbarriers_needs_no_hopper():
    """What the machine code needs is what the emitted plan needs: here barriers and commit groups alone."""
    assert prism.compile(a.in_turn, {"COPIES": 3}, "sm_80").cuda
    with pytest.raises(CompileError, match="sm_90"):
        prism.compile(a.in_turn, {"COPIES": 1}, "sm_80")


def test_cuda(golden):
    text = emit(lower(prism.check(a.in_turn, {"COPIES": 3})), comments=False).source
    golden(text[text.index('extern "C" __global__') :], ".cu")


def test_cuda_of_loads_by_one_thread(golden):
    text = emit(lower(prism.check(s.asked, {"COPIES": 4})), comments=False).source
    golden(text[text.index('extern "C" __global__') :], ".cu")


@pytest.mark.parametrize("name", [*RINGS, "tensor-cores"])
def test_machine_code(nvrtc, name):
    launch = RINGS[name](3, 5) if name in RINGS else s.multiplied_of(5, 3)
    assert nvrtc(emit(lower(prism.check(launch.kernel, launch.template))).source).cubin


def test_explain_shows_what_is_emitted():
    text = prism.explain(a.in_turn, {"COPIES": 3})
    assert "`a`: filled 2 visits ahead, so that the copies come in while others are used" in text
    assert "1 block barrier" in text and "1 group wait" in text and "a_filled" not in text
    assert "filled 2 visits ahead" in prism.explain(a.in_turn, {"COPIES": 3}, html=True)


def test_barriers_join_no_more_than_share_a_copy():
    """Where each warp fills and uses a part of its own, only its threads meet."""

    def units(kernel):
        program = prism.check(kernel)
        plan = unskew(program).plans[program.entry]
        return [str(barrier.unit) for barrier in plan.barriers if isinstance(barrier, Barrier)]

    assert units(by_warps) == ["thread[32]"] and units(by_threads) == []


@mark("global")
@requires(grid[1], block[1], thread[64])
def by_warps(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], offset=64 * id()) as out, group(block[1]):
        a: shared(int32[64], ring=3)
        with partition(out, thread[1], offset=id()) as o:
            for k in range(n):
                with partition(a, thread[32], offset=32 * id()) as part, group(thread[32]):
                    t: int32 @ thread[1] = id()
                    with partition(part, thread[1], offset=t) as mine, group(thread[1]):
                        cp_async(mine[0], x[k * 32 + t], bytes=4)
                with partition(a, thread[32], offset=32 * id()) as part, group(thread[32]):
                    t: int32 @ thread[1] = id()
                    with group(thread[1]):
                        o[0] = o[0] + part[31 - t]


@mark("global")
@requires(grid[1], block[1], thread[64])
def by_threads(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], offset=64 * id()) as out, group(block[1]):
        a: shared(int32[64], ring=3)
        t: int32 @ thread[1] = id()
        with partition(out, thread[1], offset=t) as o:
            for k in range(n):
                with partition(a, thread[1], offset=t) as mine, group(thread[1]):
                    cp_async(mine[0], x[k * 64 + t], bytes=4)
                with partition(a, thread[1], offset=t) as mine, group(thread[1]):
                    o[0] = o[0] + mine[0]


# -- why not ------------------------------------------------------------------------------------------------------------

KERNEL = """
from prism.lang import *
from prism.lang import prism

@prism("global")
@requires(grid[1], block[1], thread[64])
@template(K=constexpr(int), D=constexpr(int))
def kernel(
    x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1], words: ptr(mailbox(int32)) @ grid[1]
):
    with partition(y, block[1], offset=64 * id()) as out, group(block[1]):
        a: shared(int32[64], ring=K)
        table: shared(int32[64])
        other: shared(int32[64])
        t: int32 @ thread[1] = id()
        total: int32 @ thread[1] = 0
        place: int32 @ block[1] = 0
        {before}
        {loop}:
            {first}
            with partition(a, thread[1], offset=t) as mine, group(thread[1]):
                {fill}
            with partition(a, block[1]) as tile, group(thread[1]):
                total += tile[63 - t]
            {last}
        with partition(out, thread[1], offset=t) as mine, group(thread[1]):
            mine[0] = total + place
"""
COPY = "cp_async(mine[0], x[64 * k + t], bytes=4)"
COPY_OR = f"if t < 32: {COPY}\n                else: mine[0] = {{}}"
TABLE = "with partition(table, thread[1], offset=t) as e, group(thread[1]): e[0] = t"
REASONS = {
    "filled 3 visits ahead": {},
    "the copy is in use: with `ring=2` or more one could be filled": {"K": 1},
    "the loop is a `while`": {"loop": "while place < n", "last": "place += 1", "fill": COPY.replace("k", "place")},
    "the loop's step is not a constant": {"loop": "for k in range(0, n, n + 1)"},
    "the loop may be left, or a trip cut short": {"last": "if k == 7: break"},
    "it needs `place`, which the loop changes": {"last": "place += k", "fill": COPY.replace("64 * k", "place")},
    "it needs `at`, which the loop changes": {
        "first": "at: int32 @ block[1] = place\n            at = at + k", "fill": COPY.replace("k", "at"),
    },
    "filled 3 visits ahead, so that": {
        "first": "at: int32 @ block[1] = place + 64 * k", "fill": COPY.replace("64 * k", "at"),
    },
    "it reads `y`, which the loop may write": {
        "fill": COPY_OR.format("out[64 * k + t]"),
        "last": "with partition(out, thread[1], offset=t) as o, group(thread[1]): o[0] = total",
    },
    "the threads wait for what they load before they store it": {"fill": "mine[0] = x[64 * k + t]"},
    "it does more than fill them": {"fill": f"{COPY}\n                print_('{{}}', t)"},
    "it changes `total`": {"fill": f"{COPY}\n                total += 1"},
    "it reads what it fills": {"fill": COPY_OR.format("mine[0] + 1")},
    "filled 3 visits ahead, so": {"before": TABLE, "fill": COPY_OR.format("table[63 - t]")},
    "it reads `table`, which the kernel may write": {
        "before": TABLE, "fill": COPY_OR.format("table[63 - t]"),
        "last": "with partition(other, thread[1], offset=t) as e, group(thread[1]): e[0] = k\n            total += other[63 - t]",
    },
    "its last station fills a ring that nobody reads": {
        "before": "b: shared(int32[64], ring=K)",
        "last": f"with partition(b, thread[1], offset=t) as mine, group(thread[1]): {COPY}",
    },
}  # fmt: skip


@pytest.mark.parametrize("reason", REASONS)
def test_notes_say_why_nothing_overlaps(reason, tmp_path):
    given = {"loop": "for k in range(0, n)", "fill": COPY, "first": "", "last": "", "before": "", "K": 4, "D": 0}
    given |= REASONS[reason]
    path = tmp_path / "noted.py"
    path.write_text(KERNEL.format(**given))
    spec = generated.importlib.util.spec_from_file_location("noted", path)
    module = generated.importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    program = prism.check(module.kernel, {"K": given["K"], "D": given["D"]})
    (note,) = program.plans[program.entry].notes
    assert reason in note.text and ("nothing overlaps, because" in note.text) == (skew(program) is program)
    assert note.text in prism.explain(module.kernel, {"K": given["K"], "D": given["D"]})


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_ring_that_nobody_reads_ends_the_round(schedule, tmp_path):
    """The round ended where that ring was filled, one trip ahead of the reads of the other: it never opened."""
    path = tmp_path / "unread.py"
    unread = REASONS["its last station fills a ring that nobody reads"]
    path.write_text(KERNEL.format(**{"loop": "for k in range(0, n)", "fill": COPY, "first": "", **unread}))
    spec = generated.importlib.util.spec_from_file_location("unread", path)
    module = generated.importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x, y = np.arange(5 * 64, dtype=np.int32), np.zeros(64, np.int32)
    program = prism.check(module.kernel, {"K": 2, "D": 0})
    run(program, 1, 64, [x, y, 5, np.zeros(1, np.int64)], check=True, schedule=schedule)
    assert np.array_equal(y, x.reshape(5, 64)[:, ::-1].sum(0))


def test_threads_that_only_fill_run_ahead_by_themselves():
    program = prism.check(a.piped, {"COPIES": 3})
    assert skew(program) is program and not program.plans[program.entry].notes


# -- trips to come ----------------------------------------------------------------------------------------------------

SPAN = Span("", 0, 0, 0, 0)


def value(e, names):
    """Evaluate an expression as C does; a signed number that does not fit is a fault."""
    match e:
        case Const():
            return e.value
        case Var():
            return names[e.symbol]
        case Cast():
            return value(e.operand, names) % (1 << e.type.bits)
        case Binary(op="and"):
            return value(e.left, names) and value(e.right, names)
    left, right = value(e.left, names), value(e.right, names)
    found = {"+": left + right, "-": left - right, "*": left * right, "<": left < right, ">": left > right}[e.op]
    if e.type.kind == "uint":
        return found % (1 << e.type.bits)
    assert e.type.kind != "int" or -(1 << (e.type.bits - 1)) <= found < 1 << (e.type.bits - 1)
    return found


@pytest.mark.parametrize("type_", [INT32, INT64, UINT32, UINT64], ids=str)
def test_indices_are_compared_without_going_too_far(type_):
    """For bounds all over the type's range, constant or not: which trips have one so many trips later, and which come first."""
    signed, top = type_.kind == "int", (1 << type_.bits - 1) - 1 if type_.kind == "int" else (1 << type_.bits) - 1
    low = -top - 1 if signed else 0
    near = [n for place in (low, 0, top) for n in range(place - 9, place + 10) if low <= n <= top]
    draw = random.Random(type_.bits)
    for _ in range(1500):
        start, stop = draw.choice(near), draw.choice(near)
        step, by = draw.choice([1, 2, 3, 5, 1000] + [-1, -2, -7] * signed), draw.randint(1, 6)
        check_trips(type_, start, stop, step, by, draw.random() < 0.4, draw.random() < 0.4)


def check_trips(type_, start, stop, step, by, known_start, known_stop):
    names = {}

    def bound(name, number, known):
        symbol = Symbol(name, type_, GRID, SPAN)
        names[symbol] = number
        constant = Const(value=number, type=type_, span=SPAN)
        return constant if known else Var(symbol=symbol, type=type_, perspective=GRID, span=SPAN)

    index, other = (Symbol(name, type_, GRID, SPAN) for name in ("k", "k_ahead"))
    loop = For(
        symbol=index, start=bound("start", start, known_start), stop=bound("stop", stop, known_stop),
        step=Const(value=step, type=type_, span=SPAN), body=(), span=SPAN,
    )  # fmt: skip
    found = Trips(loop)
    trips_ = max(0, -((start - stop) // step))
    for number in {*range(min(trips_, 8)), *range(max(0, trips_ - 8), trips_)}:
        here = {**names, index: start + number * step}
        assert value(found.has_later(by), here) == (number + by < trips_)
        if number + by < trips_:
            assert value(found.later(by), here) == start + (number + by) * step
    fill = Declare(symbol=Symbol("filled", type_, GRID, SPAN), value=Var(symbol=other, type=type_, perspective=GRID, span=SPAN),
                   span=SPAN)  # fmt: skip
    first, _ = found.first(other, by, (fill,))
    filled, count = [], 0
    for k in range(value(first.start, names), value(first.stop, names), value(first.step, names)):
        count += 1
        here = {**names, first.symbol: k}
        body = first.body
        if isinstance(body[0], If):
            body = body[0].then if value(body[0].condition, here) else ()
        for inner in body:
            here[inner.symbol] = value(inner.value, here)
            filled += [here[inner.symbol]] if inner is fill else []
    assert count == by and filled == list(range(start, stop, step)[:by])


def test_bounds_are_evaluated_once():
    symbol = Symbol("n", INT32, GRID, SPAN)
    n = Var(symbol=symbol, type=INT32, perspective=GRID, span=SPAN)
    assert name_value(n, "stop", frozenset()) == (n, ())
    variable, (declared,) = name_value(n, "stop", {symbol})
    assert isinstance(variable, Var) and declared.symbol is variable.symbol and declared.value is n


@pytest.mark.parametrize(
    ("copies", "in_flight", "wanted"),
    [
        (1, 0, "with `ring=2`, and `in_flight=1` in the claim around it"),
        (2, 0, "waited for in its trip: with `in_flight=1`"),
        (2, 1, "a store goes on for 1 visit more"),
        (3, 2, "a store goes on for 2 visits more"),
    ],
)
def test_notes_of_rings_that_stores_read(copies, in_flight, wanted):
    """What would let a store overlap the next fill is said of the store, not of the fill."""
    program = prism.check(stored, {"COPIES": copies, "LATE": in_flight})
    (note,) = program.plans[program.entry].notes
    assert wanted in note.text and skew(program) is program
    assert wanted in prism.explain(stored, {"COPIES": copies, "LATE": in_flight})


@mark("global")
@template(COPIES=constexpr(int), LATE=constexpr(int))
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def stored(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1]):
    """y = -x, 64 numbers a trip."""
    with partition(y, block[1], lambda k, i: 64 * k + i) as out, group(block[1]):
        going: shared(float32[64], ring=COPIES)
        t: int32 @ thread[1] = id()
        for k in range(n):
            with partition(going, thread[1], t) as mine, group(thread[1]):
                mine[0] = -x[64 * k + t]
            with claim(going, thread[1], in_flight=LATE) as done, claim(out, thread[1]) as o, one(thread):
                bulk_store(o[k, 0], done)
