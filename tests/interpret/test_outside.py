"""An index that is outside, wherever it stands, is a BoundsError, and a loop's step of 0 an UndefinedError: checked or not.

Tests of prism/interpret: items.
"""

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.interpret import BoundsError, MachineError, UndefinedError, run
from tests.generated.programs import HEAD, loaded

KERNEL = """
@prism("global")
@requires(grid[1], block[1], thread[32])
def kernel(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], 0) as out, group(block[1]):
        s: shared(int32[64], align=16)
        with partition(s, thread[1], id()) as mine, group(thread[1]):
            mine[0] = 1
        u: int32 @ thread[1] = id()
        a: int32[2] @ thread[1] = {0}
        q: Pair[2] @ thread[1] = {0}
        v: int4 @ thread[1] = {0}
        w: int4[2] @ thread[1] = {0}
"""
PAIR = """
@struct
class Pair:
    a: int32
    b: int32

def peek(x, n, u):
    return x[n]
"""
RING = """\
r: shared(int32[16], ring=1)
one_, two = roles(thread, 16, 16)
for j in range(1):
    with claim(r, one_) as c, one(thread):
        bulk_load(c, x[n // 4 * 4])
    with claim(r, two) as c:
        got: int32 @ thread[1] = c[0]"""
OUTSIDE = {
    "a read": "with group(thread[1]): a[0] = x[n]",
    "a read a thread": "with group(thread[1]): a[0] = x[u + n]",
    "a read by some": "with group(thread[1]):\n    if u < 5: a[0] = x[u + n]",
    "a write": "with partition(out, thread[1], n + id()) as m, group(thread[1]): m[0] = 1",
    "a write by some": "with partition(out, thread[1], n + id()) as m, group(thread[1]):\n    if u < 3: m[0] = 1",
    "a shared write": "with partition(s, thread[1], n + id()) as m, group(thread[1]): m[0] = 1",
    "unsafe": "with group(thread[1]): unsafe('u = x[n];', reads=[x, n], writes=[u], meaning=peek)",
    "an atomic": "with group(thread[1]): atomic_add(s[n], 1)",
    "an atomic load": "got: int32 @ thread[1] = load_relaxed(x[n])",
    "a vector's load": "got: int4 @ thread[1] = load_vector(x[n // 4 * 4], 4)",
    "a vector's store": "with partition(out, thread[1], n // 4 * 4) as m, group(thread[1]): store_vector(m[0], v)",
    "a copy's source": "with async_(s) as p, partition(p, thread[1], id()) as d, group(thread[1]): cp_async(d[0], x[n], 4)",
    "a copy's end": "with async_(s) as p, partition(p, thread[1], n + id()) as d, group(thread[1]): cp_async(d[0], x[0], 4)",
    "a bulk copy": RING,
    "an array": "with group(thread[1]): a[n] += 1",
    "an array that is read": "with group(thread[1]): a[0] = a[n]",
    "an array a thread": "with group(thread[1]): a[u + n] = 1",
    "an array a thread that is read": "with group(thread[1]): a[0] = a[u + n]",
    "an array's struct": "with group(thread[1]): q[n].a = 1",
    "an array's vector": "with group(thread[1]): w[n][0] = 1",
    "a component": "with group(thread[1]): v[n] = 1",
    "a component of an array's": "with group(thread[1]): w[1][n] = 1",
    "a component that is read": "with group(thread[1]): a[0] = v[n]",
    "a component a thread": "with group(thread[1]): v[u + n - 4] = 1",
    "a component a thread that is read": "with group(thread[1]): a[0] = v[u + n - 4]",
}


def error_of(body: str, n: int, check: bool) -> MachineError:
    """Return what the reference machine says of a kernel with this body."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    with loaded(HEAD + PAIR + KERNEL + lines) as names:
        built = prism.check(names["kernel"])
    with pytest.raises(MachineError) as caught:
        run(built, 1, 32, [np.arange(64, dtype=np.int32), np.zeros(64, np.int32), n], check=check)
    return caught.value


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("n", [1000, -1000, -4])
@pytest.mark.parametrize("where", OUTSIDE)
def test_an_index_outside(where: str, n: int, check: bool) -> None:
    """Just below 0 too, where NumPy would count from the end: unchecked runs did."""
    assert isinstance(error_of(OUTSIDE[where], n, check), BoundsError)


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("where", [k for k in OUTSIDE if k.startswith("an array")])
def test_an_array_of_two_has_no_last_by_minus_one(where: str, check: bool) -> None:
    assert isinstance(error_of(OUTSIDE[where], -1, check), BoundsError)


def test_an_unchecked_run_writes_nothing_at_the_end() -> None:
    lines = f"        {OUTSIDE['a write']}\n"
    with loaded(HEAD + PAIR + KERNEL + lines) as names:
        built = prism.check(names["kernel"])
    y = np.zeros(64, np.int32)
    with pytest.raises(BoundsError, match="index -1 is out of bounds: it is negative"):
        run(built, 1, 32, [np.arange(64, dtype=np.int32), y, -1])
    assert not y.any()


@pytest.mark.parametrize(("n", "thread"), [(4, 4), (3, 0), (-27, 0)])
def test_the_first_thread_whose_component_is_not_there(n: int, thread: int) -> None:
    """Such an index was taken for the nearest component, without a word."""
    for where in ("a component a thread", "a component a thread that is read"):
        error = error_of(OUTSIDE[where], n, True)
        assert isinstance(error, BoundsError) and error.thread == thread
        assert "outside `v`, which has 4 elements" in str(error)


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("step", ["n - n", "u * 0"])
def test_a_loop_that_would_not_end(step: str, check: bool) -> None:
    """Python's `range` refused such a step, in its own words; a GPU's threads would go on for ever."""
    body = f"with group(thread[1]):\n    for k in range(0, 10, {step}):\n        a[0] += 1"
    error = error_of(body, 7, check)
    assert isinstance(error, UndefinedError) and "the step of a loop is 0" in str(error)
