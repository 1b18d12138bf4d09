"""What the end of a run says of the time that it took."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from tests.spent import KEY, MOST, account, folder_of, lines, pace, spent


def report(name: str, seconds: float | None = None) -> Any:
    return SimpleNamespace(nodeid=name, user_properties=[] if seconds is None else [(KEY, seconds)])


def test_folders() -> None:
    assert folder_of("tests/kernels/test_scan.py::test_a[1/2]") == "kernels"
    assert folder_of("tests/lang/check/test_calls.py::test_a") == "lang/check"
    assert folder_of("tests/test_mirror.py::test_a") == "tests"


def test_what_is_said() -> None:
    reports = [report("tests/kernels/test_a.py::test_a", 3.0), report("tests/kernels/test_a.py::test_a")]
    reports += [report("tests/docs/test_b.py::test_b", MOST), report("tests/docs/test_b.py::test_c", 0.2)]
    count, took = account(reports)
    assert (count, took) == (3, {"kernels": 3.0, "docs": MOST + 0.2})
    first, *folders, last = lines(count, took)
    assert first.startswith("3 tests took 1203 s") and folders == [f"{MOST + 0.2:8.1f} s  docs"]
    assert last.startswith("That is too much") and len(lines(1, type(took)(docs=MOST / 2))) == 2


def test_each_test_says_what_it_took(request: pytest.FixtureRequest) -> None:
    """The properties of a test get it as the test ends; those of the tests before this one have it."""
    before = [item for item in request.session.items if item is not request.node and dict(item.user_properties)]
    assert all(0 <= dict(item.user_properties)[KEY] <= spent() for item in before)
    if request.session.items[0] is not request.node and not hasattr(request.config, "workerinput"):
        assert before


def test_the_pace_is_of_this_process_and_no_clock() -> None:
    begun = time.process_time()
    took = pace()
    assert 0 < 3 * took <= 1000 * (time.process_time() - begun)
