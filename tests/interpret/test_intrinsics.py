"""Intrinsics in whole kernels: checked, synchronised, run on the reference machine, and compiled for the GPU.

Tests of prism/interpret: apply, memory, operands; prism/lang/check: extend, intrinsics, registers.
"""

# ruff: noqa: F821 - locals that are declared, and not yet assigned

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES
from prism.interpret.errors import MisalignedError, NoMeaningError, RaceError, UninitialisedError
from prism.lang import (
    atomic_compare_exchange,
    block,
    const,
    double,
    elect,
    fence,
    grid,
    group,
    half,
    id,
    intrinsic,
    ldmatrix,
    load_acquire,
    load_relaxed,
    load_vector,
    mma_m16n8k4_f64,
    mma_m16n8k8_tf32,
    partition,
    ptr,
    requires,
    shared,
    store_relaxed,
    store_release,
    thread,
    uint32,
    vector,
)
from prism.launcher import deduce_template
from tests.interpret.intrinsic_kernels import CASES


@pytest.mark.parametrize("name", CASES)
def test_on_the_reference_machine(name):
    kernel, shape, arguments, wanted, tolerance = CASES[name]()
    kernel[shape](*arguments, check=True)
    for k, want in wanted.items():
        assert np.allclose(arguments[k].astype(np.float64).reshape(want.shape), want, tolerance, tolerance)


@pytest.mark.parametrize("name", CASES)
def test_compiles(name):
    kernel, _, arguments, *_ = CASES[name]()
    assert prism.compile(kernel, deduce_template(kernel, arguments, {}), arch="sm_90a").cubin


# -- order ----------------------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], thread[1])
def ordered(x: ptr(int) @ grid[1], flag: ptr(int) @ grid[1], y: ptr(int) @ grid[1], fences: bool @ grid[1]):
    me: int @ thread[1] = id()
    with partition(x, thread[1], races="allow") as data:
        with partition(y, thread[1], id()) as out:
            with group(thread[1]):
                if me == 0:
                    data[0] = 42
                    if fences:
                        fence("release")
                        store_relaxed(flag[0], 1)
                    else:
                        store_release(flag[0], 1)
                else:
                    seen: int = 0
                    while seen == 0:
                        if fences:
                            seen = load_relaxed(flag[0])
                        else:
                            seen = load_acquire(flag[0])
                    if fences:
                        fence("acquire")
                    out[0] = data[0]


@prism("global")
@requires(grid[1], thread[1])
def unordered(x: ptr(int) @ grid[1], flag: ptr(int) @ grid[1], y: ptr(int) @ grid[1], fences: bool @ grid[1]):
    me: int @ thread[1] = id()
    with partition(x, thread[1], races="allow") as data:
        with partition(y, thread[1], id()) as out:
            with group(thread[1]):
                if me == 0:
                    data[0] = 42
                    if fences:
                        fence("acquire")
                    store_relaxed(flag[0], 1)
                else:
                    seen: int = 0
                    while seen == 0:
                        seen = load_relaxed(flag[0])
                    if fences:
                        fence("acquire")
                    out[0] = data[0]


def message(fences):
    return np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(2, np.int32), fences


@pytest.mark.parametrize("fences", [False, True])
def test_release_and_acquire_order(fences):
    arguments = message(fences)
    ordered[2, 1](*arguments, check=True)
    assert arguments[2].tolist() == [0, 42]
    with pytest.raises(RaceError):
        unordered[2, 1](*message(fences), check=True)
    assert prism.compile(ordered).cubin


@pytest.mark.parametrize("fences", [False, True], ids=["no fence", "a fence that does not release"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_help_names_the_fences_that_would_order(fences: bool, schedule: str) -> None:
    """The word is shown that was handed over and orders nothing: where it is written, and where it is read."""
    with pytest.raises(RaceError) as caught:
        unordered[2, 1](*message(fences), check=True, schedule=schedule)
    assert "`fence()`" in caught.value.barrier and "store_release" in caught.value.barrier
    text = str(caught.value)
    assert "thread 0 of block 0 writes a word here" in text and "thread 0 of block 1 reads the word here" in text


@prism("global")
@requires(grid[1], thread[1])
def apart(x: ptr(int) @ grid[1], words: ptr(int) @ grid[1]):
    me: int @ thread[1] = id()
    with partition(x, thread[1], races="allow") as data, group(thread[1]):
        store_relaxed(words[me], load_relaxed(words[2 + me]))
        data[0] = me


def test_no_fence_is_named_where_no_word_is_handed_over() -> None:
    with pytest.raises(RaceError) as caught:
        apart[2, 1](np.zeros(1, np.int32), np.zeros(4, np.int32), check=True)
    assert "fence" not in caught.value.barrier and "word here" not in str(caught.value)


@prism("global")
@requires(grid[1], thread[1])
def locked(lock: ptr(int) @ grid[1], count: ptr(int) @ grid[1]):
    with partition(count, thread[1], races="allow") as c:
        with group(thread[1]):
            while atomic_compare_exchange(lock[0], 0, 1, order="acquire") != 0:
                pass
            c[0] = c[0] + 1
            store_release(lock[0], 0)


def test_a_lock_excludes():
    lock, count = np.zeros(1, np.int32), np.zeros(1, np.int32)
    locked[8, 1](lock, count, check=True)
    assert count[0] == 8 and lock[0] == 0


# -- faults ---------------------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[32])
def skewed(x: ptr(const(half)) @ grid[1]):
    with group(block[1]):
        s: shared(half[128], align=16)
        lane: int @ thread[1] = id()
        with partition(s, thread[1], id() * 4) as mine:
            with group(thread[1]):
                for i in range(0, 4):
                    mine[i] = x[lane]
        r: uint32[1] @ thread[1]
        with group(thread[32]):
            ldmatrix(s[lane % 8 * 8 + 4], r)


@prism("global")
@requires(grid[1], block[1], thread[32])
def unwritten(x: ptr(const(half)) @ grid[1]):
    with group(thread[32]):
        a: uint32[4] @ thread[1]
        b: uint32[2] @ thread[1]
        c: float[4] @ thread[1] = {0}
        mma_m16n8k8_tf32(a, b, c)


@pytest.mark.parametrize("kernel, error", [(skewed, MisalignedError), (unwritten, UninitialisedError)])
def test_faults(kernel, error):
    with pytest.raises(error):
        kernel[1, 32](np.zeros(128, np.float16), check=True)


# -- architectures --------------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], thread[32])
def modern(y: ptr(double) @ grid[1]):
    with group(thread[32]):
        a: double[2] @ thread[1] = {0}
        b: double[1] @ thread[1] = {0}
        c: double[4] @ thread[1] = {0}
        mma_m16n8k4_f64(a, b, c)
        chosen: bool @ thread[1] = elect()


def test_an_older_architecture_is_refused():
    assert prism.compile(modern, arch="sm_90").cubin
    with pytest.raises(prism.CompileError) as caught:
        prism.compile(modern, arch="sm_80")
    assert [e.code for e in caught.value.errors] == ["arch", "arch"]
    text = str(caught.value)
    assert "`mma_m16n8k4_f64` needs sm_90, and this is compiled for sm_80" in text
    assert "mma_m16n8k4_f64(a, b, c)" in text and "chosen: bool @ thread[1] = elect()" in text


# -- the user's own -------------------------------------------------------------------------------------------------------


@intrinsic("__vadd2(a, b)", meaning=lambda a, b: (a + b & 0xFFFF) | ((a >> 16) + (b >> 16)) << 16)
def add_pairs(a: uint32 @ thread[1], b: uint32 @ thread[1]) -> uint32:
    """add_pairs(a, b): the sums of both halves."""


@intrinsic('unsigned int r; asm("brev.b32 %0, %1;" : "=r"(r) : "r"(x)); return r;')
def turned(x: uint32 @ thread[1]) -> uint32:
    pass


@intrinsic("for (int i = 0; i < 4; ++i) v[i] = p[i] * scale;",
           meaning=lambda memory, p, v, scale: [v.__setitem__((..., i), memory.load(p, i) * scale) for i in range(4)],
           effects={"v": "write"})  # fmt: skip
def load_scaled(p: ptr(const(float)) @ thread[1], v: float[4] @ thread[1], scale: float @ thread[1]):
    pass


@intrinsic("__reduce_or_sync(0xffffffffu, x)", min_arch="sm_80",
           meaning=lambda x, limit: np.bitwise_or.reduce(x, axis=-1, keepdims=True) + 0 * x)  # fmt: skip
def united(x: uint32 @ thread[1], limit: uint32 @ thread[32]) -> uint32 @ thread[32]:
    pass


@prism("global")
@requires(grid[1], thread[1])
def adds(x: ptr(uint32) @ grid[1], y: ptr(const(float)) @ grid[1], z: ptr(float) @ grid[1]):
    with partition(x, thread[1], id()) as mine:
        with partition(z, thread[1], id()) as out:
            with group(thread[1]):
                v: float[4]
                mine[0] = add_pairs(mine[0], mine[0])
                load_scaled(y[0], v, 3.0)
                out[0] = v[3]


@prism("global")
@requires(grid[1], thread[1])
def turns(x: ptr(uint32) @ grid[1]):
    with partition(x, thread[1], id()) as mine:
        with group(thread[1]):
            mine[0] = turned(mine[0])


@prism("global")
@requires(grid[1], thread[32])
def unites(x: ptr(uint32) @ grid[1]):
    with partition(x, thread[1], id()) as mine:
        with group(thread[32]):
            word: uint32 @ thread[1] = mine[0]
            all: uint32 @ thread[32] = united(word, uint32(5))
            with group(thread[1]):
                mine[0] = all


def test_intrinsics_of_the_users_own():
    x, z = np.arange(64, dtype=np.uint32) + 0xFFFF, np.zeros(64, np.float32)
    want = (2 * x & 0xFFFF) | (x >> 16) * 2 << 16
    adds[2, 32](x, np.arange(4, dtype=np.float32), z, check=True)
    assert (x == want & 0xFFFFFFFF).all() and (z == 9).all()
    unites[1, 32](y := (1 << np.arange(32)).astype(np.uint32), check=True)
    assert (y == 2**32 - 1).all()
    assert prism.compile(adds).cubin and prism.compile(unites).cubin and prism.compile(turns).cubin
    with pytest.raises(prism.CompileError, match="needs sm_80"):
        prism.compile(unites, arch="sm_75")


def test_without_a_meaning_the_machine_refuses_it_by_name():
    with pytest.raises(NoMeaningError, match="`turned` has no meaning on the reference machine"):
        turns[1, 32](np.zeros(32, np.uint32))


def test_a_users_collective_needs_its_threads():
    @prism("global")
    @requires(grid[1], thread[16])
    def few(x: ptr(const(uint32)) @ grid[1]):
        with group(thread[16]):
            all: uint32 @ thread[1] = united(x[0], uint32(5))

    with pytest.raises(prism.CompileError) as caught:
        prism.check(few)
    assert caught.value.code == "call-bound"


def declared(text, name="mine", **options):
    def python(a: uint32 @ thread[1]) -> uint32:
        pass

    python.__name__ = name
    return intrinsic(text, **options)(python)


@pytest.mark.parametrize("text", ["f(a", "f(a))", "{ a; ", "a]; [", '"', "/* a", "}\n{", "#define a"])
def test_text_that_does_not_close_is_refused(text):
    with pytest.raises(ValueError, match="`mine`"):
        declared(text)


@pytest.mark.parametrize("name", ["printf", "linux", "_hidden", "px_mine", "é"])
def test_names_that_cuda_has_are_free(name):
    mine = declared("a + 1u", name)

    @prism.lang.prism("global")
    @requires(grid[1], thread[1])
    def called(y: ptr(uint32) @ grid[1]):
        i: uint32 @ thread[1] = id()
        with partition(y, thread[1], i) as part, group(thread[1]):
            part[0] = mine(i)

    assert prism.compile(called, arch="sm_90a").cubin


@pytest.mark.parametrize("name", ["shuffle", "exp"])
def test_names_that_are_taken_are_refused(name):
    with pytest.raises(ValueError, match=name):
        declared("a", name)


def test_effects_and_architectures_are_checked():
    assert declared('f("(", a)').doc
    with pytest.raises(ValueError, match="effects"):
        declared("a", effects={"a": "write"})
    with pytest.raises(ValueError, match="sm_90"):
        declared("a", min_arch="hopper")


def test_results_of_the_papers_form():
    @prism("global")
    @requires(grid[1], thread[32])
    def three(x: ptr(const(uint32)) @ grid[1]):
        with group(thread[32]):
            v: uint32 @ thread[1] = 0
            c: float[4] @ thread[1] = {0}
            intrinsic.mma(v, v, v, v, v, v, c[0], c[1], c[2], c[3], out=[c[0], c[1], c[2]])

    with pytest.raises(prism.CompileError, match="gives 4 results, and `out=` names 3"):
        prism.check(three)


def test_a_hint_for_const_memory_needs_const_memory():
    @prism("global")
    @requires(grid[1], thread[1])
    def kernel(x: ptr(float) @ grid[1]):
        with partition(x, thread[1], id() * 4) as mine:
            with group(thread[1]):
                v: vector(float, 4) = load_vector(mine[0], 4, cache="no_allocate")

    with pytest.raises(prism.CompileError, match="is for what is read"):
        prism.check(kernel)
