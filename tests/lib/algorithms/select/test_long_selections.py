"""What the sanitizer watches of selections of long arrays reaches each kernel of them, and each size of tiles.

Tests of prism/lib/algorithms/select: plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from prism.host import call, machine
from prism.host.machine import Host
from prism.host.plan import Step
from prism.kernels import select as kernels
from tests.lib.long_selections import Long, limits, long_selections

CALLS = list(long_selections())
OF_BYTES = {"select_bytes", "split_bytes", "encode_bytes"}


@pytest.fixture(autouse=True)
def as_a_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The reference machine, which says that it is a small GPU."""
    for name, value in (("host", False), ("arch", "sm_90a"), ("multiprocessors", 4)):
        monkeypatch.setattr(Host, name, value)
    monkeypatch.setattr(Host, "wave", lambda self, instance, threads: 3)
    call.forget()
    yield
    call.forget()


def launched(one: Long, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Make a call, compare its results, and return the kernels, with how many elements a thread has of a tile."""
    found: list[tuple[str, int]] = []
    run_step = machine.run_step

    def note(step: Step, *given: Any, **options: Any) -> None:
        found.append((step.instance.kernel.__name__, dict(step.instance.template).get("ITEMS", 0)))
        run_step(step, *given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(machine, "run_step", note)
        for name, value in limits(one.longest).items():
            patch.setattr(kernels, name, value)
        results = one.function(*one.given)
    assert np.array_equal(np.concatenate(results) if isinstance(results, tuple) else results, one.wanted), one.text
    return found


def test_each_kernel_of_long_bytes_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {
        (name, items, one.text.split(",")[0].removesuffix(" of uint8"))
        for one in CALLS
        if "uint8" in one.text
        for name, items in launched(one, monkeypatch)
    }
    by = {"compress", "select", "select by a function that no interval is of", "unique_consecutive"}
    split = {"split", "split by a function", "split3", "split3 by functions"}
    wanted = {("select_bytes", items, text) for items in (64, 128) for text in by}
    wanted |= {("split_bytes", items, text) for items in (64, 128) for text in split}
    assert found == wanted | {("encode_bytes", 64, "run_length_encode"), ("select", 32, "flatnonzero")}
