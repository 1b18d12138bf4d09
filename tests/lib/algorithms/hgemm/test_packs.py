"""Operands of a product on the tensor cores that are copied first, so that they have K inside.

Tests of prism/lib/algorithms/hgemm/plan.py; kernels/sgemm/pack.py of 16 and 8 bits.
"""

import ml_dtypes
import numpy as np
import pytest

from prism.interpret import run
from prism.kernels.hgemm import Configuration
from prism.lib.algorithms.hgemm.api import decide_hgemm
from prism.runtime.arrays import describe
from tests.lib.algorithms.sgemm.test_ring import gpu


def plan_of(a, b, packed: int):
    """The launches of a product some of whose operands are copied first."""
    cut = Configuration(64, 64, 2, 1, packed=packed)
    out = "float32" if a.dtype.itemsize == 1 else None
    decision = decide_hgemm({"a": describe(a), "b": describe(b)}, None, gpu(), cut=cut, out_dtype=out)
    assert decision.plan is not None and not decision.copied
    return decision.plan


@pytest.mark.parametrize("packed", [1, 2, 3])
def test_copies_have_k_inside(packed: int) -> None:
    """And rows that begin at multiples of 128 bytes, of columns, or of rows that begin elsewhere."""
    random = np.random.default_rng(packed)
    a = random.normal(size=(72, 24)).astype(np.float16).T
    b = random.normal(size=(72, 40)).astype(np.float16)
    plan = plan_of(a, b, packed)
    *copies, made = plan.steps
    memory = np.zeros(plan.scratch // 2, np.float16)
    assert len(copies) == packed.bit_count()
    for name, number, operand in (("a", 1, a), ("b", 2, b.T)):
        taken = made.arguments[f"map_{name}"]
        if not packed & number:
            assert taken.buffer.name == name
            continue
        (step,) = [one for one in copies if one.arguments["x"].name == name]
        given, first = step.arguments, step.arguments["out"].offset // 2
        assert (taken.buffer.name, taken.buffer.offset) == ("scratch", 2 * first)
        assert (taken.shape, taken.strides) == (operand.shape, (256, 2))
        x = (a if name == "a" else b).ravel(order="K")
        numbers = [given[field] for field in ("rs", "cs", "m", "n")]
        run(
            step.instance.program, step.blocks, step.threads, (x, *numbers, memory[first:], given["stride"]), check=True
        )
        found = memory[first:][: operand.shape[0] * 128].reshape(-1, 128)
        assert np.array_equal(found[:, :72], operand)
    cut = dict(made.instance.template)["CUT"]
    assert (cut.transpose_a, cut.transpose_b) == (not packed & 1, not packed & 2)
    assert [made.arguments[name] for name in ("m", "n", "k")] == [24, 40, 72]


def test_rows_of_8_bits_that_begin_inside_sectors() -> None:
    a, b = (np.zeros((size, 48), ml_dtypes.float8_e4m3fn) for size in (24, 40))
    copy, made = plan_of(a, b.T, 1).steps
    assert made.arguments["map_a"].strides == (64, 1) and made.arguments["map_b"].strides == (48, 1)
    assert [copy.arguments[name] for name in ("rs", "cs", "m", "n", "stride")] == [48, 1, 24, 48, 64]
