"""What a GPU is given, of every algorithm of the manifest, run by the reference machine: tiles, kernels and widths are the GPU's.

Tests of prism/host/machine.py.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
import pytest

import prism
from prism import lib
from prism.host import call
from prism.host.machine import Host
from prism.host.plan import Step
from prism.lib.cases import Case, cases
from tests.lib.calls import LAYOUTS, check

# Not hgemm: its copies have padded rows, and `run_on_host` takes arrays without gaps. tests/kernels/test_hgemm.py has them.
CASES = [case for case in cases() if case.function != "hgemm"]
# Sizes at which a GPU has other kernels than one block, each for some of the cases: what is tried is a sample.
SIZES = ((1000,), (4097,), (16_385,), (33,), (2,))


@pytest.fixture(autouse=True)
def as_a_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The reference machine, which says that it is a small GPU."""
    for name, value in (("host", False), ("arch", "sm_90a"), ("multiprocessors", 4)):
        monkeypatch.setattr(Host, name, value)
    monkeypatch.setattr(Host, "wave", lambda self, instance, threads: 3)
    monkeypatch.setattr(prism.interpret, "run", functools.partial(prism.interpret.run, check=True))
    call.forget()
    yield
    call.forget()


def test_plans_are_those_of_a_gpu() -> None:
    lib.sum(np.ones(16_385))
    (known,) = call._known.values()
    assert known.decision.plan is not None
    (step,) = known.decision.plan.steps
    assert isinstance(step, Step) and dict(step.instance.template)["VECTORIZED"] and step.blocks > 1


@pytest.mark.parametrize(("number", "case"), list(enumerate(CASES)), ids=str)
def test_what_a_gpu_is_given(number: int, case: Case) -> None:
    for turn in (number, number + 3 * len(CASES) // 2):
        shape = SIZES[turn % len(SIZES)] if len(case.shapes[0]) == 1 else case.shapes[turn % len(case.shapes)]
        arrays = case.arrays(shape, case.dtypes[turn % len(case.dtypes)])
        check(case, arrays, functools.partial(LAYOUTS["3 past"], np)) if turn % 2 else check(case, arrays)
