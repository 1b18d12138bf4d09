"""Groups of `wgmma` in parts: a wait means what it does on the hardware, or nothing is said.

Tests of prism/lang/skeleton: groups.
"""

from __future__ import annotations

import pytest

from prism.lang.certify.text import Statement
from prism.lang.skeleton.groups import join_parts
from prism.lang.skeleton.rings import PART, Unsaid

GROUP, ALL, NEWEST = ("group", "wgmma", 0), ("settle", "wgmma", 0), ("settle", "wgmma", 1)


def only(low: int, high: int, *inner: Statement) -> Statement:
    return ("only", 0, low, high, ("seq", *inner))


def block(*inner: Statement) -> Statement:
    return ("if", "block", ("seq", *inner), ("seq",))


@pytest.mark.parametrize(
    "body",
    [
        (GROUP, PART, GROUP, ALL),
        (GROUP, PART, GROUP, GROUP, NEWEST),  # the newest has one part
        (only(0, 64, GROUP, PART), only(0, 64, GROUP, ALL)),
        (only(0, 64, GROUP, PART, GROUP), only(64, 128, GROUP, NEWEST)),
        (GROUP, PART, ("fence", "shared"), GROUP, ("loop", 0, "block", ("seq", GROUP, NEWEST))),
        (GROUP, PART, GROUP, block(GROUP), ALL),
    ],
)
def test_waits_that_mean_the_same(body: tuple[Statement, ...]) -> None:
    joined = join_parts(("seq", *body), 128)
    assert "part" not in str(joined) and str(joined).count("group") == str(body).count("group")


@pytest.mark.parametrize(
    "body",
    [
        (GROUP, PART, GROUP, NEWEST),
        (GROUP, PART, ALL, GROUP),  # nobody waits for a part that stands alone
        (block(GROUP, PART), GROUP, ALL),
        (GROUP, PART, ("loop", 0, "block", ("seq", GROUP)), ALL),
        (GROUP, PART, GROUP, ("loop", 0, "block", ("seq", NEWEST))),
        (GROUP, PART, GROUP, block(GROUP), NEWEST),
        (only(0, 64, GROUP, PART), only(0, 32, GROUP), ALL),
    ],
)
def test_waits_that_do_not(body: tuple[Statement, ...]) -> None:
    with pytest.raises(Unsaid):
        join_parts(("seq", *body), 128)
