"""Atomic accesses: what each does, one thread after the other, and what their orders are spelled as."""

import itertools
import re

import numpy as np
import pytest

from prism.lang.intrinsics import TABLE, Binding
from prism.lang.intrinsics.atomics import ORDERS, SCOPES
from prism.lang.types import FLOAT32, FLOAT64, INT32, INT64, UINT32, UINT64
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


@pytest.mark.parametrize("scalar", [INT32, UINT32, INT64, UINT64, FLOAT32, FLOAT64], ids=str)
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
        binding = Binding(UINT32 if name == "atomic_increment" else INT32, {"order": order, "scope": scope})
        text = TABLE[name].preamble(binding)
        assert f"atom.{order}.{SCOPES[scope]}." in text or order == "relaxed" and "asm" not in text


@pytest.mark.parametrize("scope", SCOPES)
def test_relaxed_ones_are_of_the_memory_that_they_are_of(scope):
    """No atomic is on a generic address where the memory is known: shared, or a parameter's."""
    names = [
        (name, scalar)
        for name in STEPS
        for scalar in (INT32, UINT32, INT64, UINT64, FLOAT32, FLOAT64)
        if TABLE[name].allows(scalar)
    ] + [("atomic_compare_exchange", scalar) for scalar in (INT32, UINT64, FLOAT32, FLOAT64)]
    preambles, lines = [], []
    for k, (name, scalar) in enumerate(names):
        binding = Binding(scalar, {"scope": scope})
        call = f"{TABLE[name].cuda(binding, f'({scalar.cuda}*)PLACE + {k}', *['1'] * (1 + name.endswith('compare_exchange')))};"
        preambles.append(TABLE[name].preamble(binding))
        lines += [call.replace("PLACE", "own"), call.replace("PLACE", "p")]
    body = "\n".join(lines)
    cuda = f"""{"".join(preambles)}
extern "C" __global__ void kernel(double* p) {{ __shared__ double own[64];
{body}
}}"""
    ptx = compile_ptx(cuda, "sm_90a")
    found = re.findall(r"\b(atom|red)\.((?:\w|::|\.)+)", ptx)
    assert len(found) == 2 * len(names)
    assert sum("shared" in of for _, of in found) == len(names) == sum("global" in of for _, of in found)
    assert all(("cta" in of) == (scope == "block") and ("sys" in of) == (scope == "system") for _, of in found)
