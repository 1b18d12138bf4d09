"""Arrays of 2^31 elements and more: what plans count, and the last blocks of launches, on the reference machine.

No such array is here: its memory is asked for and hardly touched, and of the launch's blocks only the last ones run.
"""

from __future__ import annotations

import itertools
import math
import mmap
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prism
from prism.host.axes import Collapsed, c_strides, collapse
from prism.host.machine import run_step
from prism.host.plan import OUT, Buffer, Plan, Step
from prism.interpret.frame import Machine
from prism.lang.types.structs import dtype_called
from prism.lib import algorithms, operators, shipped_kernels
from prism.lib.algorithms.reduce import api as reductions
from prism.lib.algorithms.reduce import calls as reduce_calls
from prism.lib.algorithms.reduce.plan import plan_reduction, plan_search
from prism.lib.algorithms.scan import plan as scan_plans
from prism.lib.algorithms.scan.plan import Shape, Task
from tests.lib import long

GPU = shipped_kernels._Gpu("sm_90a", 132)
EXTENTS = (1, 2, 3, 7, 16, 20, 2**10, 2**20 + 1, 2**28, 2**30 - 1, 2**30, 2**31 - 1, 2**31 + 1023, 2**32 + 5, 2**36)
SHAPES = [s for s in itertools.product(EXTENTS, EXTENTS, (1, 2, 5, 64, 1 << 20)) if 2**28 <= math.prod(s) <= 2**37]
SUM = next(one for one in reductions.NAMED if one.name == "sum")
NORESERVE = 0x4000  # of Linux; Python names it from 3.13 on
INT8 = np.dtype(np.int8)


def stage_of(shape: tuple[int, ...]) -> Collapsed:
    stage = collapse(shape, c_strides(shape), (1,))
    assert stage is not None
    return stage


def plans(stage: Collapsed, dtype: Any) -> list[Plan]:
    """What a sum and a search along an axis launch."""
    work = reduce_calls.work_of(SUM, dtype)
    assert work is not None
    return [
        plan_reduction(work, [stage], 0, GPU),
        plan_search(reduce_calls.search_of(True, dtype), stage, 0, GPU),
    ]


def axis_facts(step: Step) -> dict[str, int]:
    """The numbers of a launch along an axis, by their names."""
    return {name: number for name, number in step.arguments.items() if not isinstance(number, Buffer)}


@pytest.mark.parametrize("dtype", ["int8", "float64"])
def test_axis_plans_past_2_31(dtype: str) -> None:
    """The ranges that tests/kernels/test_ranges.py takes for granted; and blocks for all units."""
    seen = set()
    for shape in SHAPES:
        for plan in plans(stage_of(shape), np.dtype(dtype)):
            for step in (step for step in plan.steps if step.instance.kernel.__name__ in ("reduce_axis", "find")):
                template, facts = dict(step.instance.template), axis_facts(step)
                assert 1 <= step.blocks < 2**31 and step.threads <= template["THREADS"]
                seen.add(template["U"])
                if template["U"] == "int32":
                    assert step.blocks * step.threads < 2**32
                    assert all(1 <= facts[name] <= 2**30 for name in ("units", "across", "splits"))
                lanes, wide = 1 << facts["lanes"], facts["wide"]
                room = step.blocks * 32 if wide else step.blocks * step.threads * template["UNITS"]
                assert facts["units"] * lanes <= room
                each = -(-facts["chunk"] // (lanes * (step.threads // 32 if wide else 1)))
                assert each < 2**31, "laps of one thread"
    assert seen == {"int32", "int64"}


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_scan_plans_past_2_31(dtype: str) -> None:
    tasks = [Task(operators.add, dtype, result) for result in (dtype, "int64" if dtype == "int8" else dtype)]
    for shape, task in itertools.product(SHAPES, tasks):
        way = scan_plans.on_device(task, Shape(*shape, True), 132)
        assert 1 <= way.multiple < 2**31 and way.words < 2**31
        if way.kernel.__name__ in ("scan_columns", "scan_columns_shared"):
            assert way.multiple < 2**16, "few strips"


def reserved(size: int, dtype: Any) -> Any:
    """An array of zeros, whose memory is there once it is touched."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE
    return np.frombuffer(mmap.mmap(-1, size * np.dtype(dtype).itemsize, flags=flags), dtype)


def run_last(monkeypatch: pytest.MonkeyPatch, step: Step, x: Any, y: Any, blocks: int = 2) -> None:
    """Run the last blocks of a launch."""
    monkeypatch.setattr(Machine, "order", lambda self, count: list(range(max(0, count - blocks), count)))
    arrays = {"x": x, OUT: y}
    run_step(step, lambda buffer, kind: arrays.get(buffer.name, np.zeros(0, dtype_called(kind))))


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("shape", [(2**31 + 1023, 2), (2**32 + 77, 2), (2**30 + 5, 16)])
def test_the_last_positions(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int], largest: bool) -> None:
    """`argmin` of (2^31 + 1023, 2) left its last 30 results unwritten: a lane was taken from an index of 32 bits."""
    plan = plan_search(reduce_calls.search_of(largest, INT8), stage_of((*shape, 1)), 0, GPU)
    (step,) = plan.steps
    x, y = reserved(math.prod(shape), INT8), reserved(shape[0], np.int64)
    rows = np.random.default_rng(0).integers(-100, 100, (100, shape[1])).astype(np.int8)
    x.reshape(shape)[-100:] = rows
    run_last(monkeypatch, step, x, y)
    wanted = rows.argmax(axis=1) if largest else rows.argmin(axis=1)
    most = min(100, shape[0] % 64)
    assert np.array_equal(y[-most:], wanted[-most:])


@pytest.mark.parametrize("shape", [(2**31 + 1023, 2), (2**32 + 77, 2), (2**30 + 5, 20)])
def test_the_last_sums(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int]) -> None:
    work = reduce_calls.work_of(SUM, INT8)
    assert work is not None
    (step,) = plan_reduction(work, [stage_of((*shape, 1))], 0, GPU).steps
    x, y = reserved(math.prod(shape), INT8), reserved(shape[0], np.uint64)
    rows = np.random.default_rng(0).integers(-100, 100, (100, shape[1])).astype(np.int8)
    x.reshape(shape)[-100:] = rows
    run_last(monkeypatch, step, x, y, blocks=8)  # a thread has several units, far apart
    assert np.array_equal(y[-5:].view(np.int64), rows.sum(axis=1, dtype=np.int64)[-5:])


@pytest.mark.parametrize("product", [prism.lib.hgemm, prism.lib.sgemm])
@pytest.mark.parametrize("shapes", [((2**31 - 1000, 0), (0, 8)), ((8, 0), (0, 2**31 - 1000))])
def test_extents_that_tiles_would_pass(product: Any, shapes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    dtype = np.float16 if product is prism.lib.hgemm else np.float32
    a, b = (np.zeros(shape, dtype) for shape in shapes)
    with pytest.raises(ValueError, match="an extent is too large"):
        product(a, b)


# -- Every function of the manifest ---------------------------------------------------------------------------------------


def test_every_function_has_a_test_past_2_31_or_is_like_one_that_has() -> None:
    own = [name for names in long.CHECKS.values() for name in names]
    elsewhere = [name for names in long.ELSEWHERE.values() for name in names]
    alike = [name for names in long.ALIKE.values() for name in names]
    listed = [name for one in algorithms.MANIFEST for name in one.functions]
    assert sorted(own + elsewhere + alike) == sorted(listed)
    assert long.ALIKE.keys() <= {*own, *elsewhere}
    folder = Path(__file__).parents[1] / "gpu"
    for module, names in long.ELSEWHERE.items():
        text = (folder / module).read_text()
        assert all(re.search(rf"\b{name}\b", text) for name in names), module


@pytest.mark.parametrize("check", long.CHECKS, ids=lambda check: check.__name__)
def test_the_checks_of_long_arrays_hold_for_short_ones(check: Any) -> None:
    check(np, 517)
