"""The reference machine is fast enough to be used: it serves NumPy arrays."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import prism
from prism.interpret import run
from prism.kernels.scan import Configuration
from tests.kernels import test_scan as scans


def seconds(call: Callable[[], Any]) -> float:
    """Return what the second call takes: the first compiles."""
    call()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def test_the_scan() -> None:
    x = np.random.default_rng(0).integers(-1000, 1000, 2**20, dtype=np.int32)
    assert np.array_equal(prism.lib.scan(x), np.cumsum(x, dtype=np.int32))
    assert seconds(lambda: prism.lib.scan(x)) < 2


def test_the_scan_with_all_checks() -> None:
    cut = Configuration(threads=256, items=16, width=4, blocks=1)
    case = scans.ADD
    x, y = case.data(2**16), np.zeros(2**16, np.int32)
    program = scans.program("int32", case.function, False, cut)

    def checked() -> None:
        scratch = scans.Scratch("int32")
        run(
            program,
            4,
            cut.threads,
            (x, y, len(x), 0, -1, False, 0, 0, scratch.words, scratch.capacity, scratch.control),
            check=True,
        )

    assert seconds(checked) < 10
    assert np.array_equal(y, np.cumsum(x, dtype=np.int32))


def test_the_product() -> None:
    a, b = (np.random.default_rng(0).integers(-2, 3, (256, 256)).astype(np.float16) for _ in range(2))
    assert np.array_equal(prism.lib.hgemm(a, b), a.astype(np.float32) @ b.astype(np.float32))
    assert seconds(lambda: prism.lib.hgemm(a, b)) < 5
