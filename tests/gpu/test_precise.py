"""Roles with copies of one float's arithmetic: they make as many trips as each other, and as the reference machine."""

from __future__ import annotations

import numpy as np
import pytest

from tests.generated import edge_floats
from tests.generated.edges_verify import judged
from tests.generated.programs import HEAD, loaded
from tests.lang.emit.test_rounding import LOOP

cupy = pytest.importorskip("cupy")


def test_roles_make_the_same_trips() -> None:
    """Rounded once, `f * r + d` would be below the limit twice; rounded twice, three times. It hung."""
    with loaded(HEAD + LOOP.format(condition="f < limit", update="f = g + d", T="float32")) as names:
        y, x = cupy.zeros(64, np.int32), cupy.ones(32, np.float32)
        numbers = map(np.float32, (1.2039634, 0.0027385002, 0.9350724, 1.3614491))
        names["kernel"][1, 64](y, x, *numbers)
        assert (y == 3).all()


@pytest.mark.parametrize("seed", range(24))
def test_limits_that_are_met_exactly(seed: int) -> None:
    found = judged(edge_floats.program(seed), seed, device=True)
    assert found.kind == "right", found.found
