"""On a terminal a long run of tests says how long it still takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests import left


class Lines(list[str]):
    """A reporter that keeps what it is to write."""

    def ensure_newline(self) -> None:
        pass

    def write_line(self, line: str) -> None:
        self.append(line)


def test_a_line_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(left, "time", SimpleNamespace(monotonic=lambda: clock.now))
    lines: Any = Lines()
    watch = left.TimeLeft(lines)
    watch.pytest_sessionstart(SimpleNamespace(testscollected=1000))  # type: ignore[arg-type]
    for _ in range(100):
        clock.now += 1
        for when in ("setup", "call", "teardown"):
            watch.pytest_runtest_logreport(SimpleNamespace(when=when))  # type: ignore[arg-type]
    assert lines == ["59 of 1,000 tests, some 16 min left"]
