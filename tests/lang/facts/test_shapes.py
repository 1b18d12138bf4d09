"""How many blocks and threads a kernel takes, and what is said of other numbers."""

import pytest

from prism.lang.facts.budget import MAX_BLOCKS, shape_fault


@pytest.mark.parametrize(
    ("number", "multiple", "most"), [(1, None, 1024), (1024, 32, 1024), (96, 96, 96), (MAX_BLOCKS, 1, MAX_BLOCKS)]
)
def test_what_is_taken(number: int, multiple: int | None, most: int) -> None:
    assert shape_fault("scan", "threads", number, multiple, most) is None


def test_what_is_not() -> None:
    assert shape_fault("scan", "threads", 1025, None, 1024) == "`scan` takes 1 to 1024 threads a block, not 1025"
    assert shape_fault("scan", "blocks", 0, 2, 8) == "`scan` takes 1 to 8 blocks, not 0"
    fault = shape_fault("scan", "threads", 48, 32, 1024)
    assert fault == "`scan` needs a multiple of 32 threads a block (its @requires), not 48"
