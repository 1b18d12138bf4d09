"""Kernels that use intrinsics, each with arguments and what NumPy makes of them: for the reference machine and the GPU."""

# ruff: noqa: F821 - locals that are declared, and not yet assigned

from __future__ import annotations

import functools

import numpy as np

from prism.lang import (
    __float_as_uint,
    atomic_add,
    atomic_add_bf16x2,
    atomic_add_f16x2,
    atomic_and,
    atomic_compare_exchange,
    atomic_exchange,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_sub,
    atomic_xor,
    bf16,
    bitcast,
    block,
    broadcast,
    const,
    dtype,
    elect,
    exp,
    float32,
    float64,
    fma,
    grid,
    grid_dependency_launch,
    grid_dependency_wait,
    group,
    half,
    id,
    int8,
    intrinsic,
    ldmatrix,
    load_vector,
    match_any,
    mma_m16n8k8_tf32,
    mma_m16n8k16_f16,
    pack_bf16x2,
    pack_f16x2,
    partition,
    popcount,
    prism,
    ptr,
    requires,
    shared,
    shuffle_up,
    shuffle_xor,
    stmatrix,
    store_vector,
    template,
    thread,
    uint32,
    vector,
    warp_max,
)

RNG = np.random.default_rng(5)


def tf32(x):
    """What the tensor cores read of a float: its first 19 bits."""
    return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)


@prism("global")
@requires(grid[1], block[1], thread[32])
def paper_mma(a: ptr(const(float)) @ grid[1], b: ptr(const(float)) @ grid[1], c: ptr(float) @ grid[1]):
    with partition(c, thread[1]) as out:
        with group(thread[32]):
            ra: uint32[4] @ thread[1]
            rb: uint32[2] @ thread[1]
            rc: float[4] @ thread[1] = {0}
            g: int @ thread[1] = id() // 4
            t: int @ thread[1] = id() % 4
            ra[0] = __float_as_uint(a[g * 8 + t])
            ra[1] = __float_as_uint(a[(g + 8) * 8 + t])
            ra[2] = __float_as_uint(a[g * 8 + t + 4])
            ra[3] = __float_as_uint(a[(g + 8) * 8 + t + 4])
            rb[0] = __float_as_uint(b[t * 8 + g])
            rb[1] = __float_as_uint(b[(t + 4) * 8 + g])
            intrinsic.mma(
                ra[0], ra[1], ra[2], ra[3], rb[0], rb[1], rc[0], rc[1], rc[2], rc[3], out=[rc[0], rc[1], rc[2], rc[3]]
            )
            mma_m16n8k8_tf32(ra, rb, rc)
            with group(thread[1]):
                out[g * 8 + 2 * t] = rc[0]
                out[g * 8 + 2 * t + 1] = rc[1]
                out[(g + 8) * 8 + 2 * t] = rc[2]
                out[(g + 8) * 8 + 2 * t + 1] = rc[3]


def case_paper_mma():
    a, b = RNG.normal(size=(16, 8)).astype(np.float32), RNG.normal(size=(8, 8)).astype(np.float32)
    return paper_mma, (1, 32), [a, b, np.zeros((16, 8), np.float32)], {2: 2 * tf32(a) @ tf32(b)}, 1e-5


@prism("global")
@requires(grid[1], block[1], thread[32])
def staged_mma(a: ptr(const(half)) @ grid[1], b: ptr(const(half)) @ grid[1], c: ptr(float) @ grid[1]):
    with partition(c, block[1]) as c_block:
        with group(block[1]):
            sa: shared(half[256], align=16)
            sb: shared(half[128], align=16)
            lane: int @ thread[1] = id()
            with partition(sa, thread[1], id() * 8) as ta:
                with group(thread[1]):
                    for i in range(0, 8):
                        ta[i] = a[lane * 8 + i]
            with partition(sb, thread[1], id() * 4) as tb:
                with group(thread[1]):
                    for i in range(0, 4):
                        tb[i] = b[lane * 4 + i]
            acc: float[2][4] @ thread[1]
            with group(thread[32]):
                fa: uint32[4] @ thread[1]
                fb: uint32[2] @ thread[1]
                ldmatrix(sa[(lane % 16) * 16 + lane // 16 * 8], fa)
                ldmatrix(sb[(lane % 16) * 8], fb, trans=True)
                for k in range(0, 2):
                    with group(thread[1]):
                        for i in range(0, 4):
                            acc[k][i] = float(k)
                    mma_m16n8k16_f16(fa, fb, acc[k])
            with partition(c_block, thread[1]) as out:
                with group(thread[1]):
                    for k in range(0, 2):
                        for i in range(0, 4):
                            out[k * 128 + (lane // 4 + i // 2 * 8) * 8 + lane % 4 * 2 + i % 2] = acc[k][i]


def case_staged_mma():
    a, b = RNG.normal(size=(16, 16)).astype(np.float16), RNG.normal(size=(16, 8)).astype(np.float16)
    want = a.astype(np.float64) @ b.astype(np.float64)
    return staged_mma, (1, 32), [a, b, np.zeros((2, 16, 8), np.float32)], {2: np.stack([want, want + 1])}, 1e-5


@prism("global")
@requires(grid[1], block[1], thread[32])
def transpose_8x8(x: ptr(const(half)) @ grid[1], y: ptr(half) @ grid[1]):
    with partition(y, block[1]) as y_block:
        with group(block[1]):
            s: shared(half[128], align=16)
            lane: int @ thread[1] = id()
            with partition(s, thread[1], id() * 2) as mine:
                with group(thread[1]):
                    for i in range(0, 2):
                        mine[i] = x[lane * 2 + i]
            r: uint32[1] @ thread[1]
            with group(thread[32]):
                ldmatrix(s[lane % 8 * 8], r, trans=True)
            with partition(s, thread[32]) as w:
                with group(thread[32]):
                    stmatrix(w[64 + lane % 8 * 8], r)
            with partition(y_block, thread[1]) as out:
                with group(thread[1]):
                    for i in range(0, 2):
                        out[lane * 2 + i] = s[64 + lane * 2 + i]


def case_transpose_8x8():
    x = RNG.normal(size=(8, 8)).astype(np.float16)
    return transpose_8x8, (1, 32), [x, np.zeros((8, 8), np.float16)], {1: x.T}, 0


@prism("global")
@requires(grid[1], block[1], thread[64])
def counters(x: ptr(const(int)) @ grid[1], c: ptr(int) @ grid[1], u: ptr(uint32) @ grid[1]):
    with partition(c, block[1]) as c_block:
        with group(block[1]):
            s: shared(int[64])
            lane: int @ thread[1] = id()
            with partition(s, thread[1], id()) as own:
                with group(thread[1]):
                    own[0] = 0
            with group(thread[1]):
                v: int = x[lane]
                atomic_add(s[v % 2], v, scope="block")
                atomic_max(c_block[0], v, order="acq_rel", scope="system")
                atomic_sub(c_block[1], v)
                old: uint32 = atomic_exchange(u[0], uint32(v))
                got: uint32 = atomic_compare_exchange(u[1], uint32(0), uint32(7))
            with partition(c_block, thread[1], 2 + id()) as mine:
                with group(thread[1]):
                    if lane < 2:
                        mine[0] = s[lane]


def case_counters():
    x = RNG.integers(0, 100, 64).astype(np.int32)
    c = np.array([x.max(), -x.sum(), x[x % 2 == 0].sum(), x[x % 2 == 1].sum()], np.int32)
    return counters, (1, 64), [x, np.zeros(4, np.int32), np.zeros(2, np.uint32)], {1: c}, 0


@prism("global")
@template(T=dtype)
@requires(grid[1], block[1], thread[64])
def updates(x: ptr(const(T)) @ grid[1], c: ptr(T) @ grid[1]):
    """Relaxed updates of shared memory, then of global memory, whose order does not matter."""
    with partition(c, block[1]) as c_block:
        with group(block[1]):
            s: shared(T[8])
            t: int @ thread[1] = id()
            with partition(s, thread[1], id()) as own:
                with group(thread[1]):
                    if t < 8:
                        own[0] = c_block[t]
            with group(thread[1]):
                v: T = x[t]
                atomic_add(s[0], v, scope="block")
                atomic_sub(s[1], v)
                atomic_min(s[2], v, scope="block")
                atomic_max(s[3], v, scope="system")
                if T != float32 and T != float64:
                    atomic_and(s[4], v, scope="block")
                    atomic_or(s[5], v)
                    atomic_xor(s[6], v, scope="block")
                if atomic_exchange(s[7], v, scope="block") == v:
                    atomic_compare_exchange(s[7], v, v, scope="block")
            with group(thread[1]):
                if t < 7:
                    atomic_add(c_block[8], s[t], scope="system")
                    atomic_min(c_block[16], s[t])
                    atomic_max(c_block[17], s[t], scope="block", order="acq_rel")
                    if T != float32 and T != float64:
                        atomic_xor(c_block[9 + t], s[t])
                        atomic_and(c_block[18], s[t])
                        atomic_or(c_block[19], s[t])


def case_updates(kind):
    x, c = RNG.integers(1, 60, 64).astype(kind), np.zeros(20, kind)
    c[:8], c[16], c[18] = 100, 90, 127
    ways = [np.add, np.subtract, np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor]
    if np.issubdtype(kind, np.floating):
        x -= kind.type(30)
        s, wanted = np.array([*(way.reduce([c[0], *x]) for way in ways[:4]), *[100] * 3], kind), c.copy()
        wanted[8], wanted[16], wanted[17] = s.sum(), min(90, s.min()), s.max(initial=0)
    else:
        with np.errstate(over="ignore"):
            s, wanted = np.array([way.reduce(np.array([100, *x], kind)) for way in ways], kind), c.copy()
            wanted[8], wanted[9:16], wanted[16], wanted[17] = s.sum(), s, min(90, s.min()), s.max(initial=0)
            wanted[18], wanted[19] = np.bitwise_and.reduce([c[18], *s]), np.bitwise_or.reduce(s)
    return updates, (1, 64), [x, c], {1: wanted}, 0


@prism("global")
@requires(grid[1], thread[1])
def extremes(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], bits: ptr(uint32) @ grid[1]):
    """The least and the greatest of a cell and a value, as bits: of NaN, infinity, zeros of both signs."""
    t: int @ thread[1] = id()
    with partition(y, thread[1], id()) as cell, partition(bits, thread[1], id() * 2) as out, group(thread[1]):
        before: float = cell[0]
        atomic_min(cell[0], x[t])
        out[0] = bitcast(cell[0], uint32)
        cell[0] = before
        atomic_max(cell[0], x[t])
        out[1] = bitcast(cell[0], uint32)


def case_extremes():
    edges = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 2.5, -2.5], np.float32)
    y, x = np.repeat(edges, 8), np.tile(edges, 8)
    wanted = np.empty((64, 2), np.uint32)
    for k, (b, v) in enumerate(zip(y, x, strict=True)):
        if np.isnan(b) or np.isnan(v):
            wanted[k] = (b if np.isnan(b) else v).view(np.uint32)
        else:
            pair = sorted((b, v), key=lambda z: (z, not np.signbit(z)))
            wanted[k] = [z.view(np.uint32) for z in pair]
    return extremes, (1, 64), [x, y, np.zeros(128, np.uint32)], {2: wanted}, 0


@prism("global")
@requires(grid[1], block[1], thread[64])
def shorts(
    x: ptr(const(half)) @ grid[1], b: ptr(const(bf16)) @ grid[1], y: ptr(half) @ grid[1], z: ptr(bf16) @ grid[1],
    pairs: ptr(uint32) @ grid[1],
):  # fmt: skip
    """Sums of floats of 16 bits, in shared and global memory, alone and in pairs: exact, so that their order does not matter."""
    with group(block[1]):
        s: shared(bf16[2])
        t: int @ thread[1] = id()
        with partition(s, thread[1], id()) as own, group(thread[1]):
            if t < 2:
                own[0] = bf16(0)
        with group(thread[1]):
            atomic_add(s[t % 2], b[t], scope="block")
            atomic_add(y[0], x[t])
            atomic_sub(y[1], x[t], order="acq_rel")
            atomic_add_f16x2(pairs[0], pack_f16x2(float(x[t]), 1.0))
            atomic_add_bf16x2(pairs[1], pack_bf16x2(float(b[t]), 1.0), scope="system")
        with group(thread[1]):
            if t < 2:
                atomic_sub(z[t], s[t])


def case_shorts():
    x, b = RNG.integers(-3, 4, 64).astype(np.float16), RNG.integers(-3, 4, 64).astype(np.float32)
    upper = lambda *values: np.array(values, np.float32).view(np.uint32) >> 16
    y = np.array([5 + x.sum(), -x.sum()], np.float16)
    z = upper(-b[::2].sum(), 7 - b[1::2].sum())
    bits = lambda value: int(np.float16(value).view(np.uint16))
    pairs = np.array([bits(x.sum()) | bits(64) << 16, upper(b.sum())[0] | upper(64)[0] << 16])
    given = [x, upper(*b).astype(np.uint16), np.array([5, 0], np.float16), upper(0, 7).astype(np.uint16)]
    return shorts, (1, 64), [*given, np.zeros(2, np.uint32)], {2: y, 3: z, 4: pairs}, 0


@prism("global")
@requires(grid[1], block[1], thread[32])
def scalars(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: ptr(int) @ grid[1]):
    grid_dependency_wait()
    with partition(y, thread[1], id()) as out:
        with partition(n, thread[1], id()) as count:
            with group(thread[32]):
                value: float @ thread[1] = x[id()]
                same: uint32 @ thread[1] = match_any(int(value))
                most: int @ thread[32] = warp_max(int(value))
                first: bool @ thread[1] = elect()
                with group(thread[1]):
                    out[0] = fma(exp(value), 2.0, bitcast(bitcast(value, uint32), float))
                    count[0] = popcount(same) * 100 + most + (1000 if first else 0) * 0
    grid_dependency_launch()


def case_scalars():
    x = RNG.integers(0, 9, 32).astype(np.float32)
    n = np.array([(x == v).sum() * 100 + x.max() for v in x], np.int32)
    return scalars, (1, 32), [x, np.zeros(32, np.float32), np.zeros(32, np.int32)], {1: 2 * np.exp(x) + x, 2: n}, 1e-5


@prism("global")
@requires(grid[1], block[1], thread[32])
def hinted(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1]):
    lane: int @ thread[1] = id()
    with partition(y, thread[1], id() * 8) as out:
        with group(thread[1]):
            v: vector(float, 4) = load_vector(x[lane * 8], 4, cache="no_allocate")
            w: vector(float, 4) = load_vector(x[lane * 8 + 4], 4, cache="streaming")
            store_vector(out[0], v, cache="streaming")
            store_vector(out[4], w, cache="no_allocate")


def case_hinted():
    x = RNG.normal(size=256).astype(np.float32)
    return hinted, (1, 32), [x, np.zeros(256, np.float32)], {1: x}, 0


@prism("global")
@requires(grid[1], thread[32])
def exchanged(x: ptr(const(float)) @ grid[1], b: ptr(const(int8)) @ grid[1], y: ptr(float) @ grid[1]):
    me: int @ thread[1] = id()
    with partition(y, thread[1], id() * 8) as out:
        with group(thread[32]):
            v: vector(float, 4) @ thread[1] = load_vector(x[me * 4], 4)
            w: vector(int8, 2) @ thread[1] = load_vector(b[me * 2], 2)
            other: vector(float, 4) @ thread[1] = shuffle_xor(v, 1)
            first: vector(float, 4) @ thread[32] = broadcast(v, 3)
            below: vector(int8, 2) @ thread[1] = shuffle_up(w, 2)
            with group(thread[1]):
                for k in range(0, 4):
                    out[k] = other[k] + first[k]
                for k in range(0, 2):
                    out[4 + k] = float(below[k])


def case_exchanged():
    x, b = RNG.normal(size=(2, 32, 4)).astype(np.float32), RNG.integers(-9, 9, (2, 32, 2)).astype(np.int8)
    y, lanes = np.zeros((2, 32, 8), np.float32), np.arange(32)
    y[..., :4] = x[:, lanes ^ 1] + x[:, 3:4]
    y[..., 4:6] = b[:, np.where(lanes < 2, lanes, lanes - 2)]
    return exchanged, (1, 64), [x.ravel(), b.ravel(), np.zeros(512, np.float32)], {2: y}, 0


CASES = {f.__name__.removeprefix("case_"): f for f in (
    case_paper_mma, case_staged_mma, case_transpose_8x8, case_counters, case_scalars, case_hinted,
    case_exchanged, case_extremes, case_shorts,
)} | {
    f"updates-{kind}": functools.partial(case_updates, np.dtype(kind))
    for kind in ("int32", "uint32", "int64", "uint64", "float32", "float64")
}  # fmt: skip
