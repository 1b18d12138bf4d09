"""What seemed wrong and is not: one test for each row of FINE, named after it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from prism.lang.types.perspective import Perspective
from tests.theory.bundl.fuzz import made
from theory.bundl import step, syntax, typing
from theory.bundl.environments import Env, state_faults
from theory.bundl.environments import corrected as tables
from theory.bundl.fault import forms, printed_back
from theory.bundl.faults import FINE
from theory.bundl.judgement import Code, Context
from theory.bundl.observe import Version, observe
from theory.bundl.perspectives import (
    BLOCK,
    GRID,
    ONE_BLOCK,
    ONE_GRID,
    ONE_THREAD,
    THREAD,
    Shape,
    align_printed,
    at,
    count,
    divides,
    dn,
    shrink,
    size,
)  # fmt: skip
from theory.bundl.search import Grammar, bodies, fresh
from theory.bundl.soundness import Judge, failures
from theory.bundl.spine import spine
from theory.bundl.step import Machine, walk_states
from theory.bundl.step_data import fence_after
from theory.bundl.step_halfway import s_alloc_again
from theory.bundl.text import parse, parse_statement
from theory.bundl.typing_expressions import t_arr_access
from theory.bundl.values import EMPTY, Bound, State, Thread
from theory.bundl.work import Work

ONE, TWO = Shape(1, 1), Shape(1, 2)
A = (syntax.Input("a", syntax.Base.INT, (0, 0)),)


def test_every_row_has_its_test() -> None:
    assert {f"test_{name.replace('-', '_')}" for name in FINE} <= set(globals())


def test_operators() -> None:
    for blocks, threads in product(range(1, 5), range(1, 9)):
        shape = Shape(blocks, threads)
        limits = {THREAD: threads, BLOCK: blocks, GRID: 1}
        for level, n, other, k in product(limits, range(1, 9), limits, range(1, 9)):
            if n > limits[level] or k > limits[other] or other > level:
                continue
            whole, part = at(level, n), at(other, k)
            if size(whole, shape) % size(part, shape) == 0:
                assert count(whole, part, shape) == len(range(0, size(whole, shape), size(part, shape)))
            assert count(whole, whole, shape) == 1
            smaller = shrink(whole, k)
            assert (smaller is None) == (n % k != 0)
            if smaller is not None:
                assert count(whole, smaller, shape) == k


def test_align_spelling() -> None:
    for n, left, right in product(range(1, 49), repeat=3):
        if left + right <= n and divides(right, n):
            assert divides(right, left + n) == divides(right, left)
        if align_printed(left, right, n, 0):
            assert all(start % left == 0 and (start + left) % right == 0 for start in range(0, 3 * n, n))


def test_thread_ids() -> None:
    text = "let i : int @ block[1] = id { destruct { group 2 { i = i + 1 } } }"
    machine = Machine(step.corrected, parse(text), Shape(2, 1))
    values = [{t: thread.eta["i"].value for t, thread in enumerate(state.threads) if "i" in thread.eta}
              for state in walk_states(machine, 1000)]  # fmt: skip
    assert {found[0] for found in values if 0 in found} == {0, 1}
    assert {found[1] for found in values if 1 in found} == {1, 2}


def test_main_access() -> None:
    loose = replace(typing.corrected, expressions={**typing.corrected.expressions, "T-Arr-Access-Shared": t_arr_access})
    grammar = Grammar(forms("alloc destruct group let read if seq"), A)
    for shape, n in product([ONE, TWO, Shape(2, 1)], range(1, 7)):
        assert bodies(loose, grammar, shape, n) == bodies(typing.corrected, grammar, shape, n)


def test_local_stores() -> None:
    grammar = Grammar(forms("alloc destruct group let store id"), A)
    loose = printed_back("T-Arr-Assn").rules
    local = 0
    for n in range(1, 8):
        for body in bodies(typing.corrected, grammar, TWO, n):
            stores = [s for s in syntax.walk(body) if isinstance(s, syntax.Store)]
            local += bool(stores)
            alone = all(isinstance(s.array, syntax.Var) for s in stores)
            program = parse("skip")
            assert alone and typing.well_typed(loose, replace(program, body=body, inputs=A, budget=64), TWO)
    assert local > 10


def test_alloc_pi() -> None:
    text = "destruct { alloc x : int[1] shared { alloc y : int[2] shared { x[0] = 0 } } }".replace("x[0] = 0", "skip")
    assert typing.check_program(typing.printed, replace(parse(text), budget=12), ONE) == 12


def test_n_ary() -> None:
    arm = "let x : int @ thread[1] = 0 { skip }"
    nested = f"split(4, 4) {{ {arm} }} {{ split(2, 2) {{ {arm} }} {{ split(1, 1) {{ {arm} }} {{ skip }} }} }}"
    program, shape = parse(f"destruct {{ destruct {{ {nested} }} }}"), Shape(1, 8)
    assert typing.well_typed(printed_back("Align", "").rules, program, shape)
    state = Machine(step.corrected, program, shape).start()
    spots = [spine(state.threads[t].body, t, shape)[-1] for t in range(7)]
    assert [spot.pi.size for spot in spots] == [4, 4, 4, 4, 2, 2, 1]
    assert [spot.p for spot in spots] == [0, 1, 2, 3, 0, 1, 0]


def test_partition_function() -> None:
    text = """input a : int = [3, 4] lower p: a as b { destruct { partition q: b as c by 2 {
        let x : int @ block[1] = c[0] { skip } }; let y : int @ block[2] = b[1] { skip } } }"""
    assert observe(parse(text), Shape(2, 1), invariants=True, uniform=True).good


def test_async_one_thread() -> None:
    text = """input a : int = [0, 0] input s : int = [5, 5]
    lower g: a as b { destruct { partition p: b as c by 2 { group 2 { lower h: c as d { destruct {
    async f: d as e { async_memcpy f: e from s } } } } } } }"""
    seen = observe(parse(text), Shape(2, 1), invariants=True)
    assert seen.good and seen.outcomes == {((5, 5), (5, 5))}


def test_async_context() -> None:
    array = syntax.ArrayOf(syntax.Base.INT, syntax.Kind.LOCAL)
    g = Context().bind("x", ONE_THREAD, syntax.Async(array, "f"), frozenset("y")).bind("y", ONE_THREAD, array)
    s = parse_statement("async_memcpy f: x from y")
    for more in (g, g.bind("z", ONE_BLOCK, syntax.Base.INT)):
        assert typing.check(typing.printed, more, Code(ONE_THREAD, 1), s, ONE) == 0


def test_program() -> None:
    text = """input a : int = [0, 0] lower p: a as b { destruct { partition q: b as c by 2 { group 2 {
        destruct { split(1, 1) { let x : int @ thread[1] = 0 { x = 1; x = 2 } } { skip } } } } } }"""
    shape = Shape(2, 2)
    machine = Machine(step.corrected, parse(text), shape)
    places: dict[tuple[int, str], set[object]] = {}
    state = machine.start()
    for t in range(4):
        for spot in spine(state.threads[t].body, t, shape):
            places.setdefault((t, type(spot.statement).__name__), set()).add((spot.pi, spot.p))
    while moves := [move for move in machine.steps(state) if not move.spins]:
        state = moves[0].state
        for t, thread in enumerate(state.threads):
            for spot in spine(thread.body, t, shape):
                if type(spot.statement).__name__ in ("Split", "Group"):
                    places.setdefault((t, type(spot.statement).__name__), set()).add((spot.pi, spot.p))
    assert all(len(found) == 1 for (_, name), found in places.items() if name in ("Split", "Group"))
    assert any(name == "Split" for _, name in places)


COPY = "async_memcpy f: z from y"
ASYNC = f"alloc x : int[1] local {{ alloc y : int[1] local {{ async f: x as z {{ {COPY}; {COPY} }} }} }}"


def test_async_rename() -> None:
    steps = step.mix(step.corrected, step.printed, "S-Async-Partition", "S-Async-Memcpy")
    machine = Machine(steps, parse(f"destruct {{ destruct {{ {ASYNC} }} }}"), ONE)
    bound = [s.threads[0].eta["z"] for s in walk_states(machine, 1000) if "z" in s.threads[0].eta]
    assert len(bound) > 2 and len(set(bound)) == 1


def test_free_skip() -> None:
    machine = Machine(step.printed, parse("free 4; let x : int @ grid[1] = 0 { skip }"), ONE)
    start = machine.start()
    state = State((Thread(start.threads[0].body, EMPTY, 4),), start.shared, start.world, EMPTY, EMPTY)
    first = machine.steps(state)[0]
    assert first.rule == "S-Free" and first.state.threads[0].used == 0
    assert machine.steps(first.state)[0].rule == "S-Seq-Done"


def test_assign_case() -> None:
    for q in ("thread[1]", "thread[2]", "block[1]", "block[2]", "grid[1]"):
        text = f"let x : int @ {q} = 0 {{ x = 1; x = x + 1 }}"
        seen = observe(parse(text), Shape(2, 2), invariants=True, uniform=True, limit=100_000)
        assert seen.good


def test_store_premise() -> None:
    grammar = Grammar(forms("alloc destruct store lower"), A)
    stores = [s for n in range(1, 8) for body in bodies(typing.corrected, grammar, ONE, n) for s in syntax.walk(body)
              if isinstance(s, syntax.Store)]  # fmt: skip
    assert stores and all(isinstance(s.array, syntax.Var) for s in stores)


def test_claim_winner() -> None:
    text = """input a : int = [0] lower p: a as b { destruct {
        claim q: b as c at 1 ARM { lower r: c as d { destruct { d[0] = 1 + d[0] } } } } }"""
    printed = printed_back("", "S-Claim")
    for shape, arms in [(Shape(2, 1), 2), (Shape(3, 1), 3)]:
        seen = [observe(parse(text.replace("ARM", f"arm {a}")), shape, invariants=True) for a in range(arms)]
        assert all(one.good and one.outcomes == {((1,),)} for one in seen)
        if shape == Shape(2, 1):  # of three, the printed split of 1 and 2 does not align
            assert observe(parse(text.replace("ARM", "")), shape, printed).outcomes == {((1,),)}


def test_alloc_again() -> None:
    cleared: list[object] = []  # what an allocation took away, of what was stored

    def watched(w: Work, s: syntax.Alloc, pi: Perspective, p: int) -> syntax.Stmt:
        place = (s.name, len(w.frames), None if s.kind is syntax.Kind.LOCAL else w.unit(pi, p))
        cleared.extend(v for i in range(s.count) if (v := w.memory(s.kind).get((place, i), 0)))
        return s_alloc_again(w, s, pi, p)

    steps = replace(step.corrected, statements={**step.corrected.statements, "S-Alloc": watched})
    for seed in range(1, 400, 2):
        term, shape, rng, _ = made(seed)
        judge = Judge(term, shape, steps)
        judge.sample(rng)
        assert not failures(judge.report) and not cleared
    # Two threads store 1; both then ask for the sum, and would ask for ever.
    text = """destruct { alloc s : int[2] global { lower q: s as t { destruct {
        partition r: t as u by 2 { group 2 { u[0] = 1 } };
        let v : int @ thread[2] = t[0] + t[1] { if v == 2 { skip } else { while true { skip } } } } } } }"""
    assert observe(parse(text), TWO, Version(steps=steps)).ends == {"done"} and not cleared
    observe(parse(text), TWO, Version(steps=replace(steps, fence=fence_after)))
    assert cleared


def test_call_slips() -> None:
    text = "fun f(k : int @ grid[1]) @ grid[1] uses 0 { skip } let x : int @ grid[1] = 1 { f(x) }"
    for rules, steps in [(typing.corrected, step.corrected), (typing.printed, step.printed)]:
        assert typing.well_typed(rules, parse(text), ONE)
        assert observe(parse(text), ONE, Version(rules, steps)).ends == {"done"}
    text = """input a : int = [0] fun f(r : int[]global @ thread[1], k : int @ thread[1]) @ thread[1] uses 0 { r[0] = k + 1 }
        lower p: a as b { destruct { lower q: b as c { destruct { let x : int @ thread[1] = 1 { f(c, x) } } } } }"""
    seen = observe(parse(text), ONE, invariants=True)
    assert seen.good and seen.outcomes == {((2,),)}


def test_lower_offset() -> None:
    for blocks, threads in product(range(1, 5), range(1, 9)):
        shape = Shape(blocks, threads)
        for pi in (ONE_BLOCK, ONE_GRID):
            lower = dn(pi, shape)
            assert lower is not None and size(lower, shape) == size(pi, shape)


def test_stray_signs() -> None:
    text = "destruct { group 1 { skip } }; skip"
    assert observe(parse(text), ONE, printed_back("", "")).good
    assert observe(parse(text), ONE, printed_back("Order Align", "Order Align")).good


def test_more_slips() -> None:
    machine = Machine(step.printed, parse("init p; init q; dec p"), ONE)
    state = machine.start()
    while moves := machine.steps(state):
        state = moves[0].state
    assert dict(state.sync) == {("q", 0): 1}  # what is done to p leaves q as it was
    text = "input a : int = [0] lower p: a as b { destruct { lower q: b as c { destruct { c[0] = 1 } } } }"
    assert observe(parse(text), ONE).outcomes == {((1,),)}  # and Sigma changes
    assert dn(ONE_GRID, Shape(4, 2)) == at(BLOCK, 4) and dn(ONE_BLOCK, Shape(4, 2)) == at(THREAD, 2)
    # T-Alloc has nothing to ask but of its body.
    assert typing.check_program(typing.printed, parse("budget 4 alloc x : int[1] local { skip }"), ONE) == 4


def test_e_float() -> None:
    assert observe(parse("let x : float @ grid[1] = 1.5 { x = x * 2.0 }"), ONE, invariants=True).good


def test_update_lemma() -> None:
    g, x = Context().bind("x", ONE_GRID, syntax.Base.INT), Bound(ONE_GRID, 0)
    env = Env(EMPTY.put("x", x), EMPTY, EMPTY)
    assert tables.faults(g, env) == [] == tables.faults(g, env._replace(eta=env.eta.put("x", Bound(ONE_GRID, 1))))
    assert typing.why_not(typing.printed, parse("y = 1"), ONE) is not None


def test_split_lemma() -> None:
    text = "let x : int @ thread[1] = 0 { destruct { destruct { split(1, 1) { x = 1 } { x = 2 } } } }"
    machine = Machine(step.corrected, parse(text), TWO)
    assert not any(state_faults(machine, typing.corrected, state) for state in walk_states(machine, 10_000))
    assert observe(parse(text), TWO, invariants=True).good


def test_theorem_premises() -> None:
    text = f"""input a : int = [0, 0] lower p: a as b {{ destruct {{ partition q: b as c by 2 {{ group 2 {{ destruct {{
        split(1, 1) {{ {ASYNC} }} {{ skip }} }} }} }} }} }}"""
    shape, deferred = Shape(2, 2), False
    machine = Machine(step.corrected, parse(text), shape)
    start = machine.start()
    assert not start.deferred and all(thread.used == 0 for thread in start.threads)
    state = start
    while moves := [move for move in machine.steps(state) if not move.spins]:
        state = moves[len(state.world) % len(moves)].state
        deferred = deferred or bool(state.deferred)
        assert not state_faults(machine, typing.corrected, state)
        for t, thread in enumerate(state.threads):
            for spot in spine(thread.body, t, shape):
                assert 0 <= spot.p < spot.pi.size
    assert deferred


def test_liveness() -> None:
    grammar = Grammar(forms("lower partition claim split group destruct seq if let id read"), A, proper=False)
    for shape, n in product([TWO, Shape(2, 1)], range(1, 6)):
        for body in bodies(typing.corrected, grammar, shape, n):
            program = fresh(syntax.Program(body, (), A))
            assert observe(program, shape).ends <= {"done", "bounds"}


def test_bounds() -> None:
    text = "destruct { destruct { alloc x : int[1] local { x[1] = 0 } } }"
    assert typing.well_typed(typing.corrected, parse(text), ONE)
    assert observe(parse(text), ONE).ends == {"bounds"}
