"""Loops in loops: those deep in others are walked together, and find what they would find walked one by one.

Tests of prism/lang/barriers/conditions.py.
"""

import importlib.util
import random
from itertools import count

import pytest

import prism
from prism.lang import sync
from prism.lang.barriers import walk

HEAD = """\
import prism
from prism.lang import *

@prism("global")
@requires(grid[1], block[1], thread[64])
def k(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], c: int32 @ grid[1]):
    with partition(y, block[1], 64 * id()) as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        s: shared(int32[64])
        u: shared(int32[64])
        v: int32 @ thread[1] = t
"""
ALONE = 99
"""More loops than are in one another anywhere: each is walked until it is stable."""
_files = count()


@pytest.fixture
def loaded(tmp_path):
    """Give what makes a kernel of a text."""

    def load(text):
        path = tmp_path / f"nest{next(_files)}.py"
        path.write_text(HEAD + text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.k

    return load


def access(rng, number):
    """Return lines that read or write one of two tables."""
    table = rng.choice("su")
    write = f"with partition({table}, thread[1], t) as p{number}, group(thread[1]):\n  p{number}[0] = v"
    read = f"v += {table}[{number % 64}]"
    one = rng.choice([write, write, read])
    return one if rng.random() < 0.7 else f"if c > {rng.randrange(3)}:\n " + one.replace("\n", "\n ")


def nest(rng, levels, numbers):
    """Return a loop in a loop in a loop, with accesses before and after each."""
    lines = [access(rng, next(numbers)) for _ in range(rng.randrange(3))]
    if not levels:
        return "\n".join([*lines, access(rng, next(numbers))])
    for one in range(1 + (levels > 1 and rng.random() < 0.3)):
        i = next(numbers)
        inner = nest(rng, levels - 1 - one, numbers)
        if rng.random() < 0.2:
            inner += f"\nif c == {i}:\n  {rng.choice(['break', 'continue'])}"
        lines.append(f"for i{i} in range({rng.choice('cc41')}):\n " + inner.replace("\n", "\n "))
    lines += [access(rng, next(numbers)) for _ in range(rng.randrange(2))]
    return "\n".join(lines)


def program(seed, levels):
    """Return a program of nested loops."""
    rng = random.Random(seed)
    return "".join(f"        {line}\n" for line in nest(rng, levels, count()).splitlines())


def deep(monkeypatch, number):
    for module in (walk, sync):
        monkeypatch.setattr(module, "DEEP", number)


def last_walk(kernel, monkeypatch):
    """Return the context, the barriers and what was elided of the walk that checks a kernel's plan."""
    found = []
    walked = sync.walk_function

    def recorded(context, placed, **more):
        done = walked(context, placed, **more)
        if more.get("notes"):
            found.append((context, dict(done.placed), sorted(done.elided)))
        return done

    with monkeypatch.context() as patch:
        patch.setattr(sync, "walk_function", recorded)
        prism.check(kernel)
    return found[-1]


@pytest.mark.covering(1)
@pytest.mark.parametrize("levels", [2, 3, 4])
@pytest.mark.parametrize("seed", range(8))
def test_loops_walked_together_see_what_each_sees_alone(loaded, monkeypatch, seed, levels):
    """With the same barriers: the same conflicts, all ordered. Settled ones are all kept, however many they are."""
    monkeypatch.setattr("prism.lang.barriers.walk_context.NOTED", 1 << 30)
    text = program(seed, levels)
    for first, second in ((1, ALONE), (ALONE, 1)):
        deep(monkeypatch, first)
        context, placed, elided = last_walk(loaded(text), monkeypatch)
        deep(monkeypatch, second)
        assert sorted(walk.walk_function(context, placed, notes=True).elided) == elided


@pytest.mark.parametrize("seed", range(8))
def test_a_barrier_taken_out_is_missed(loaded, monkeypatch, seed):
    """Each that the plan has is needed, by the walk that goes over all loops together too."""
    deep(monkeypatch, 1)
    context, placed, _ = last_walk(loaded(program(seed, 4)), monkeypatch)
    for statement in placed:
        with pytest.raises(walk.Conflict):
            walk.walk_function(context, {**placed, statement: ()})


def steps(kernel, monkeypatch):
    """Return how many statements the walks over a kernel come to."""
    with monkeypatch.context() as patch:
        done = []
        patch.setattr("prism.lang.barriers.walk_context.Work.add", lambda *_: done.append(1))
        prism.check(kernel)
    return len(done)


def tower(levels):
    """Return so many loops in one another, with a table that is written and read in each."""
    lines = []
    for k in range(levels):
        space = " " * (8 + k)
        lines += [f"{space}for i{k} in range(c):\n{space} with partition(s, thread[1], t) as p{k}, group(thread[1]):\n"]
        lines += [f"{space}  p{k}[0] = v\n{space} v += s[{k}]\n"]
    return "".join(lines)


def test_a_loop_in_a_nest_adds_to_the_work_and_does_not_multiply_it(loaded, monkeypatch):
    few, many = (steps(loaded(tower(levels)), monkeypatch) for levels in (6, 12))
    assert many < 16 * few


def test_as_many_loops_as_python_nests(loaded):
    program = prism.check(loaded(tower(16)))
    assert len(program.plans[program.entry].barriers) == 32


def test_a_loop_of_one_trip_goes_on_until_those_inside_it_are_stable(loaded, monkeypatch):
    """The write at the end of the innermost body meets the read at its beginning: seen in its second trip only."""
    deep(monkeypatch, 1)
    text = """\
        for i in range(1):
            for j in range(c):
                v += s[c]
                with partition(s, thread[1], t) as p, group(thread[1]):
                    p[0] = v
"""
    checked = prism.check(loaded(text))
    assert len(checked.plans[checked.entry].barriers) == 2
