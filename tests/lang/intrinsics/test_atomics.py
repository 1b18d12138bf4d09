"""Atomic accesses: what each does, one thread after the other, and what their orders are spelled as.

Tests of prism/lang/intrinsics: atomics, fences.
"""

import itertools
import re

import numpy as np
import pytest

import prism
from prism.lang import bfloat16, float16, float32, float64, grid, group, int16, ptr, requires, thread, uint32
from prism.lang.emit.halves import short_pieces
from prism.lang.intrinsics import TABLE, Binding
from prism.lang.intrinsics.atomics import ORDERS, SCOPES
from prism.lang.types import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT32, INT64, UINT32, UINT64
from prism.lang.types.shorts import round_bf16
from prism.runtime.compile import compile_ptx


class Cells:
    """Memory without checks; it notes what is ordered."""

    def __init__(self, cells):
        self.cells, self.notes = cells, []

    def load(self, reference, offset=0, atomic=False, where=None):
        assert atomic
        self.notes.append("load")
        return self.cells[reference]

    def store(self, reference, value, offset=0, atomic=False, where=None):
        assert atomic
        self.notes.append("store")
        self.cells[reference] = value

    def update(self, reference, step, order, added=None):
        self.notes.append(order)
        old = []
        for k, i in enumerate(reference):
            old.append(self.cells[i])
            self.cells[i] = step(self.cells[i], k)
        return np.array(old)

    def order(self, reference, order):
        self.notes.append(order)

    def fence(self, order):
        self.notes.append(f"fence {order}")


STEPS = {
    "atomic_add": lambda a, b: a + b, "atomic_sub": lambda a, b: a - b, "atomic_min": min, "atomic_max": max,
    "atomic_and": lambda a, b: a & b, "atomic_or": lambda a, b: a | b, "atomic_xor": lambda a, b: a ^ b,
    "atomic_exchange": lambda a, b: b, "atomic_increment": lambda a, b: a + 1 if a < b else 0,
}  # fmt: skip


@pytest.mark.parametrize("scalar", [INT32, UINT32, INT64, UINT64, FLOAT16, FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize("name", STEPS)
def test_updates_go_thread_after_thread(name, scalar):
    intrinsic = TABLE[name]
    if not intrinsic.allows(scalar):
        assert scalar.kind == "float" or name == "atomic_increment"
        return
    rng = np.random.default_rng(3)
    start, at = rng.integers(0, 100, 4).astype(scalar.numpy), rng.integers(0, 4, 32)
    value = rng.integers(0, 100, 32).astype(scalar.numpy)
    memory = Cells(start.copy())
    old = intrinsic.meaning(Binding(scalar, {"order": "acq_rel"}), memory, at, value)
    cells = [start.dtype.type(c) for c in start]
    with np.errstate(over="ignore"):
        for k in range(32):
            assert old[k] == cells[at[k]]
            cells[at[k]] = start.dtype.type(STEPS[name](cells[at[k]], value[k]))
    assert (memory.cells == cells).all() and memory.notes == ["acq_rel"]


EDGES = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5, -2.5, 1e-44, -1e-44]


def bits_of_extremum(name, before, value, kind):
    """The bits that stand there after it: the first NaN's; of numbers, by an order in which -0 is below 0."""
    if np.isnan(before) or np.isnan(value):
        return (before if np.isnan(before) else value).tobytes()
    choose = min if name == "atomic_min" else max
    return choose((x for x in (before, value)), key=lambda x: (float(x), not np.signbit(x))).tobytes()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["atomic_min", "atomic_max"])
def test_extrema_of_floats(name, kind):
    pairs = np.array(list(itertools.product(EDGES, EDGES)), kind)
    memory = Cells(pairs[:, 0].copy())
    binding = Binding({np.float32: FLOAT32, np.float64: FLOAT64}[kind])
    old = TABLE[name].meaning(binding, memory, np.arange(len(pairs)), pairs[:, 1])
    assert old.tobytes() == pairs[:, 0].tobytes()
    for now, (before, value) in zip(memory.cells, pairs, strict=True):
        assert now.tobytes() == bits_of_extremum(name, before, value, kind), (before, value, now)
    numpy = np.minimum if name == "atomic_min" else np.maximum
    assert np.array_equal(memory.cells, numpy(pairs[:, 0], pairs[:, 1]), equal_nan=True)


def test_sums_of_floats_of_16_bits_are_rounded():
    x = np.array([1.0, 256.0, -0.0078125, 3.0], np.float32)
    for scalar, most in ((FLOAT16, 2048), (BFLOAT16, 256)):
        cells = np.array([most], np.float16 if scalar == FLOAT16 else np.float32)
        for name, sign in (("atomic_add", 1), ("atomic_sub", -1)):
            memory, value, wanted = Cells(cells.copy()), (sign * x).astype(cells.dtype), []
            old = TABLE[name].meaning(Binding(scalar), memory, np.zeros(4, int), value)
            now = np.float32(most)
            for v in x:
                wanted.append(now)
                now = np.float32(np.float16(now + v)) if scalar == FLOAT16 else round_bf16(now + v)[()]
            assert old.tolist() == wanted and memory.cells[0] == now
            assert old[1] == most  # a tie, to even: 1 is lost


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_sums_of_pairs(kind):
    a = np.arange(1, 6, dtype=np.float32)
    words = TABLE[f"pack_{kind}x2"].meaning(Binding(None), a, -2 * a)
    memory = Cells(np.array([words[0], 0], np.uint32))
    old = TABLE[f"atomic_add_{kind}x2"].meaning(
        Binding(UINT32, {"order": "release"}), memory, np.array([0, 0, 1, 0]), words[1:]
    )
    parts = [TABLE[f"unpack_{kind}x2"].meaning(Binding(None, {"part": p}), memory.cells).tolist() for p in (0, 1)]
    assert parts == [[11, 4], [-22, -8]] and memory.notes == ["release"]
    assert old.tolist()[0] == words[0] and old.tolist()[2] == 0


def test_compare_exchange_compares_bits():
    memory = Cells(np.array([0.0, np.nan, 3], np.float32))
    at, expected = np.array([0, 1, 2]), np.array([-0.0, np.nan, 3], np.float32)
    old = TABLE["atomic_compare_exchange"].meaning(Binding(FLOAT32), memory, at, expected, np.float32(9))
    assert np.array_equal(old, [0, np.nan, 3], equal_nan=True)
    assert memory.cells.tolist() == [0, 9, 9]


def test_loads_acquire_after_and_stores_release_before():
    memory = Cells(np.zeros(4, np.int32))
    TABLE["store_release"].meaning(Binding(INT32), memory, np.array([1]), 5)
    assert TABLE["load_acquire"].meaning(Binding(INT32), memory, np.array([1])) == [5]
    TABLE["fence"].meaning(Binding(None, {"order": "release"}), memory)
    TABLE["fence"].meaning(Binding(None), memory)
    assert memory.notes == ["release", "store", "load", "acquire", "fence release", "fence acq_rel"]
    TABLE["grid_dependency_wait"].meaning(Binding(None), memory)
    TABLE["grid_dependency_launch"].meaning(Binding(None), memory)


@pytest.mark.parametrize("order, scope", list(itertools.product(ORDERS, SCOPES)))
def test_order_and_scope_are_in_the_instruction(order, scope):
    for name in (*STEPS, "atomic_compare_exchange"):
        for scalar in (UINT32,) if name == "atomic_increment" else (INT32, FLOAT32):
            text = TABLE[name].preamble(Binding(scalar, {"order": order, "scope": scope}))
            assert f"atom.{order}.{SCOPES[scope]}." in text or order == "relaxed" and "asm" not in text
    for name, scalar in (("atomic_add", FLOAT16), ("atomic_sub", BFLOAT16), ("atomic_add_bf16x2", UINT32)):
        text = TABLE[name].preamble(Binding(scalar, {"order": order, "scope": scope}))
        assert text.count(f"atom.{order}.{SCOPES[scope]}.") >= 3


@pytest.mark.parametrize("scope", SCOPES)
def test_relaxed_ones_are_of_the_memory_that_they_are_of(scope):
    """No atomic is on a generic address where the memory is known: shared, or a parameter's."""
    names = [
        (name, scalar)
        for name in STEPS
        for scalar in (INT32, UINT32, INT64, UINT64, FLOAT32, FLOAT64, FLOAT16, BFLOAT16)
        if TABLE[name].allows(scalar)
    ] + [("atomic_compare_exchange", scalar) for scalar in (INT32, UINT64, FLOAT32, FLOAT64)]
    names += [("atomic_add_f16x2", UINT32), ("atomic_add_bf16x2", UINT32)]
    preambles, lines = [], []
    for k, (name, scalar) in enumerate(names):
        binding = Binding(scalar, {"scope": scope})
        operands = [f"({scalar.cuda})1"] * (1 + name.endswith("compare_exchange"))
        call = f"{TABLE[name].cuda(binding, f'({scalar.cuda}*)PLACE + {k}', *operands)};"
        preambles.append(TABLE[name].preamble(binding))
        lines += [call.replace("PLACE", "own"), call.replace("PLACE", "p")]
    body = "\n".join(lines)
    pieces = "\n".join(short_pieces("".join(preambles)))
    cuda = f"""{pieces}
{"".join(preambles)}
extern "C" __global__ void kernel(double* p) {{ __shared__ double own[64];
{body}
}}"""
    ptx = compile_ptx(cuda, "sm_90a")
    found = re.findall(r"\b(atom|red)\.((?:\w|::|\.)+)", ptx)
    assert len(found) == 2 * len(names)
    assert sum("shared" in of for _, of in found) == len(names) == sum("global" in of for _, of in found)
    assert all(("cta" in of) == (scope == "block") and ("sys" in of) == (scope == "system") for _, of in found)


@pytest.mark.parametrize(
    ("name", "scalar", "fits"),
    [
        ("atomic_add", bfloat16, True),
        ("atomic_add", int16, False),
        ("atomic_min", float64, True),
        ("atomic_max", float16, False),
        ("atomic_exchange", float16, False),
        ("atomic_or", float32, False),
        ("atomic_add_f16x2", uint32, True),
        ("atomic_add_bf16x2", float32, False),
    ],
    ids=str,
)
def test_what_each_is_of(name, scalar, fits):
    intrinsic = TABLE[name]

    @prism.lang.prism("global")
    @requires(grid[1], thread[1])
    def kernel(p: ptr(scalar) @ grid[1]):
        with group(thread[1]):
            intrinsic(p[0], scalar(1))

    if fits:
        assert prism.compile(kernel, arch="sm_90a").cubin
        return
    with pytest.raises(prism.CompileError, match=f"`{name}`.*{intrinsic.allows_text}, not {scalar}") as caught:
        prism.check(kernel)
    assert caught.value.code == "type"
