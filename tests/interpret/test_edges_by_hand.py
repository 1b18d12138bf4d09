"""Programs at the edges of barriers: roles, loops that are left, conditions in memory, copies in branches; all are right."""

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.interpret import BoundsError, run, schedules
from tests.generated.programs import HEAD, loaded

KERNEL = """
@prism("global")
@requires(grid[1], block[1], thread[{threads}])
@attr("__launch_bounds__({threads})")
def kernel(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], {threads} * id()) as out, group(block[1]):
        t: int32 @ thread[1] = id()
        acc: int32 @ thread[1] = 0
{body}        with partition(out, thread[1], t) as m, group(thread[1]):
            m[0] = acc
"""
TRIPS = 5
EDGES = {
    "a loop that is left between a role's write and another's read": (
        96,
        lambda t: 3 + t * 7 % 64 + (sum(k + 2 * (t - 64) for k in range(3)) if t >= 64 else 0),
        """\
s: shared(int32[64])
a, b = roles(warp, 2, 1)
for k in range(n):
    with claim(s, a) as c, partition(c, thread[1], t) as m, group(thread[1]):
        m[0] = k + t
    if k == 3:
        break
    with b, group(thread[1]):
        acc += s[2 * (t - 64)]
with group(thread[1]):
    acc += s[t * 7 % 64]
""",
    ),
    "two divisions of one block, whose roles share threads": (
        96,
        lambda t: sum(1000 + k if t < 32 else k + t - 32 if t < 64 else 0 for k in range(5)),
        """\
s: shared(int32[64])
a, b = roles(warp, 2, 1)
d, e, f = roles(warp, 1, 1, 1)
for k in range(n):
    with claim(s, a) as c, partition(c, thread[1], t) as m, group(thread[1]):
        m[0] = k + t
    with e, group(thread[1]):
        acc += s[t - 32]
    with claim(s, f) as c, partition(c, thread[1], 2 * (t - 64)) as m, group(thread[1]):
        m[0] = 1000 + k
    with d, group(thread[1]):
        acc += s[2 * t]
""",
    ),
    "roles of half a warp": (
        64,
        lambda t: sum(47 - t + k if 16 <= t < 32 else (t + k) % 16 + 16 + k for k in range(5)),
        """\
s: shared(int32[16])
a, b, c_ = roles(thread, 16, 16, 32)
for k in range(n):
    with claim(s, b) as c:
        with partition(c, thread[1], t - 16) as m, group(thread[1]):
            m[0] = t + k
        with group(thread[1]):
            acc += c[31 - t]
    with a, group(thread[1]):
        acc += s[(t + k) % 16]
    with c_, group(thread[1]):
        acc += s[(t + k) % 16]
""",
    ),
    "visits of a ring under a condition that one role changes": (
        64,
        lambda t: sum(32 * k + t for k in (0, 2, 4)) if t < 32 else 0,
        """\
ring: shared(int32[32], ring=2)
flag: shared(int32[1])
a, p = roles(warp, 1, 1)
with claim(flag, a) as f, claim(f, thread[1]) as g, one(thread):
    g[0] = 0
for k in range(n):
    if flag[0] % 2 == 0:
        with claim(ring, p) as c, one(thread):
            bulk_load(c, x[32 * k])
        with claim(ring, a) as c, group(thread[1]):
            acc += c[t]
    with claim(flag, a) as f, claim(f, thread[1]) as g, one(thread):
        g[0] = g[0] + 1
""",
    ),
    "one copy or two under way, trip by trip": (
        64,
        lambda t: sum(63 - t + k for k in range(5)) + sum(64 + (t // 2 * 2 + k) % 64 for k in (0, 2)),
        """\
s: shared(int32[64])
r: shared(int32[64])
for k in range(n):
    with partition(s, thread[1], t) as part, async_(part) as coming, group(thread[1]):
        cp_async(coming[0], x[(t + k) % 128], 4)
    if k % 2 == 0:
        with partition(r, thread[1], t) as part, async_(part) as coming, group(thread[1]):
            cp_async(coming[0], x[64 + (t + k) % 64], 4)
    with group(thread[1]):
        acc += s[63 - t]
    if k % 3 == 0:
        with group(thread[1]):
            acc += r[t // 2 * 2]
""",
    ),
    "a tile handed from trip to trip beside a ring": (
        64,
        lambda t: sum(32 * k + t + 63 - t + max(k - 1, 0) for k in range(5)) if t < 32 else 0,
        """\
ring: shared(int32[32], ring=2)
s: shared(int32[32])
a, p = roles(warp, 1, 1)
with claim(s, p) as c, partition(c, thread[1], t - 32) as m, group(thread[1]):
    m[0] = t
for k in range(n):
    with claim(ring, p) as c, one(thread):
        bulk_load(c, x[32 * k])
    with a, group(thread[1]):
        acc += s[31 - t]
    with claim(ring, a) as c, group(thread[1]):
        acc += c[t]
    with claim(s, p) as c, partition(c, thread[1], t - 32) as m, group(thread[1]):
        m[0] = t + k
""",
    ),
    "a tile that roles claim in turn": (
        64,
        lambda t: (t % 32 * 2 + 2) * 2 + 4,
        """\
s: shared(int32[32])
a, b = roles(warp, 1, 1)
with claim(s, a) as c, partition(c, thread[1], t % 32) as m, group(thread[1]):
    m[0] = t
for k in range(n):
    if k % 2 == 0:
        with claim(s, b) as c, partition(c, thread[1], (t + k) % 32) as m, group(thread[1]):
            m[0] += k
    else:
        with claim(s, a) as c, partition(c, thread[1], (t + k) % 32) as m, group(thread[1]):
            m[0] = m[0] * 2
with group(thread[1]):
    acc = s[t % 32]
""",
    ),
    "a loop whose condition and exit read what it writes": (
        64,
        lambda t: 15,
        """\
flag: shared(int32[1])
k: int32 @ block[1] = 0
with claim(flag, thread[1]) as f, one(thread):
    f[0] = 5
while flag[0] > 0:
    with claim(flag, thread[1]) as f, one(thread):
        f[0] = f[0] - 1
    with group(thread[1]):
        acc += flag[0]
    k += 1
    if k > flag[0] + 3:
        break
acc += k
""",
    ),
}


@pytest.mark.parametrize("edge", EDGES)
def test_edges(edge: str) -> None:
    """Each is accepted, and right on every schedule with all checks."""
    threads, wanted, body = EDGES[edge]
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    with loaded(HEAD + KERNEL.format(threads=threads, body=lines)) as names:
        program = prism.check(names["kernel"])
        for schedule, seed in schedules(9):
            y = np.zeros(threads, np.int32)
            run(
                program,
                1,
                threads,
                [np.arange(320, dtype=np.int32), y, TRIPS],
                check=True,
                schedule=schedule,
                seed=seed,
            )
            assert y.tolist() == [wanted(t) for t in range(threads)]


REFUSED = {
    "a loop that one role leaves": (
        "jump",
        """\
r: shared(int32[32], ring=2)
a, p = roles(warp, 1, 1)
for k in range(n):
    with claim(r, p) as c, one(thread):
        bulk_load(c, x[32 * k])
    with claim(r, a) as c:
        v: int32 @ warp[1] = c[0]
        if v > 64:
            break
""",
    ),
    "a loop that is left while a copy is full": (
        "ring",
        """\
r: shared(int32[32], ring=2)
a, p = roles(warp, 1, 1)
for k in range(n):
    with claim(r, p) as c, one(thread):
        bulk_load(c, x[32 * k])
    if k == 5:
        break
    with claim(r, a) as c, group(thread[1]):
        acc += c[t]
""",
    ),
}


@pytest.mark.parametrize("edge", REFUSED)
def test_refused(edge: str) -> None:
    code, body = REFUSED[edge]
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    with (
        loaded(HEAD + KERNEL.format(threads=64, body=lines)) as names,
        pytest.raises(prism.CompileError, match=rf"error\[{code}\]"),
    ):
        prism.check(names["kernel"])


WRAPPED = """
@prism("global")
@requires(grid[1], block[1], thread[32])
def kernel(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: uint64 @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], t) as m, group(thread[1]):
        k: uint64 = n - uint64(t)
        m[0] = x[k]
"""


@pytest.mark.parametrize("check", [False, True])
def test_an_index_of_64_bits_does_not_wrap(check: bool) -> None:
    """NumPy takes 2^64 - 1 for -1, the last element."""
    with loaded(HEAD + WRAPPED) as names:
        program = prism.check(names["kernel"])
    arguments = [np.arange(64, dtype=np.int32), np.zeros(32, np.int32), 2**64 - 1]
    with pytest.raises(BoundsError, match="out of bounds|outside"):
        run(program, 1, 32, arguments, check=check)
