"""What the reason of a partition that is not proved proposes, is applied: then it is proved. Tests of barriers/unproved.py."""

from __future__ import annotations

import re

import pytest

import prism
from prism.lang.safety import NOT_PROVED, PROVED, verdicts
from tests.generated.programs import loaded

HEAD = """
import prism
from prism.lang import array, assume, attr, block, grid, group, id, int32, partition, ptr, requires, shared, thread

@prism.kernel
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
"""
MERGE = """def kernel(n: int32 @ grid[1]):
    with group(block[1]):
        s: shared(int32[128])
        t: int32 @ thread[1] = id()
        stride: int32 @ block[1] = 64
        while stride > 0:
            # here
            low: int32 @ thread[1] = t // stride * 2 * stride + t % stride
            with partition(s, thread[1], lambda h: low + h * stride) as pair, group(thread[1]):
                pair[0] = 1
                pair[1] = 2
            stride = stride // 2
"""
TILE = """def kernel(n: int32 @ grid[1]):
    with group(block[1]):
        tile: shared(int32[9, 33])
        a: int32 @ thread[1] = id(1)
        b: int32 @ thread[1] = id(0)
        # here
        with partition(tile, thread[1], lambda p, q: (a + p, b + q)) as slot, group(thread[1]):
            for p in range(0, 9 - a, 8):
                for q in range(0, 33 - b, 32):
                    slot[p, q] = 1
"""
APART = """def kernel(y: ptr(int32) @ grid[1], step: int32 @ grid[1]):
    with partition(y, block[1], id() * step) as out, group(block[1]):
        # here
        t: int32 @ thread[1] = id()
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = 1
"""


def partitions_of(body: str) -> list[prism.lang.safety.Verdict]:
    """The verdicts on a kernel's partitions."""
    with loaded(HEAD + body) as names:
        return [one for one in verdicts(prism.check(names["kernel"])) if one.kind == "partition"]


def reason(body: str) -> str:
    (found,) = [one for one in partitions_of(body) if one.status == NOT_PROVED]
    return found.reason


def mended(body: str, line: str) -> bool:
    """Whether a line in the place for it is enough."""
    return all(one.status == PROVED for one in partitions_of(body.replace("# here", line)))


def test_a_name_that_is_assigned_again_is_copied() -> None:
    said = reason(MERGE)
    assert "no condition or bound in sight" in said and "`stride` is assigned again" in said
    (line,) = re.findall(r"`(now: [^`]+)`", said)
    assert line == "now: int32 @ block[1] = stride"
    head, tail = MERGE.split("# here")
    changed = tail.replace("stride", "now").replace("now = now // 2", "stride = stride // 2")
    assert mended(f"{head}# here{changed}", line)


def test_axes_of_a_block_are_bounded() -> None:
    said = reason(TILE)
    assert "the launch says how long each axis of a block is: bound `a` and `b`" in said
    (line,) = re.findall(r"`(assume\([^`]+\))`", said)
    assert mended(TILE, line)


def test_an_argument_is_bounded() -> None:
    assert "if what you know of `step` keeps them apart, say so with `assume`" in reason(APART)
    assert mended(APART, "assume(step >= 64)")


@pytest.mark.parametrize("body", [MERGE, TILE, APART], ids=["again", "axes", "argument"])
def test_another_line_mends_nothing(body: str) -> None:
    assert not mended(body, "assume(True)")
