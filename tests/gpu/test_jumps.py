"""`return` and `continue` of some threads on the GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.lang.parse.test_jumps import ARMS, BOTH, RETURNS, TRIPS, WHILE, made, ran

cupy = pytest.importorskip("cupy")


@pytest.mark.parametrize(
    "body", [RETURNS, BOTH, ARMS, TRIPS, WHILE], ids=["return", "both", "block", "continue", "loops"]
)
def test_threads_that_are_done_do_nothing_more(tmp_path: Path, body: str) -> None:
    kernel = made(tmp_path, body)
    for n in (0, 3, 40):
        y = cupy.zeros(64, np.int32)
        kernel[2, 32](y, n)
        assert y.tolist() == ran(kernel, n)
