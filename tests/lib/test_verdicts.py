"""What is proved of the kernels that ship: no more may be left open than is known here."""

import pytest

from prism.lang.safety import Verdict
from tests.lib.verdicts import Figures, figures


def verdict(kind: str, status: str) -> Verdict:
    return Verdict(kind, status, "f", 3, "`x`", "why")


def test_what_is_counted() -> None:
    found = Figures()
    found.add(
        "m:f", [verdict("partition", "proved")] * 3 + [verdict("trip", "not proved"), verdict("alias", "believed")]
    )
    found.add("m:g", [verdict("assumption", "assumed"), verdict("text", "believed")])
    assert (found.kernels, found.total) == (2, 5) and found.share("not proved") == 0.2
    assert found.share("not proved", "assumed", "believed") == 0.4
    assert "2 kernels, 5 verdicts: 3 proved (60.0%)" in str(found)
    assert ("not proved", "m:f", "f:3", "trip", "`x`", "why") in found.unproved


def test_reductions_of_whole_arrays_and_scans_of_one_tile_are_proved() -> None:
    """Behind calls, under conditions that leave one block."""
    for only in ("single_pass:reduce", "small:scan_once"):
        found = figures(every=120, jobs=1, only=only)
        assert found.statuses["proved"] > 2 and not found.unproved, found


def test_columns_of_several_elements_are_proved() -> None:
    """Small terms of an index are bounded by a condition on their sum, and by how many warps there are."""
    found = figures(every=24, jobs=1, only="reduce.axis")
    assert found.statuses["proved"] > 40 and not found.unproved, found


@pytest.mark.fuzz
def test_all_that_ships() -> None:
    """No more is left open than docs/proved.md counts: 2.7 % not proved, 19.4 % in all, and a little room."""
    found = figures()
    assert found.share("not proved") <= 0.03, found
    assert found.share("not proved", "assumed", "believed") <= 0.21, found
