"""How long a run of the tests still takes: on a terminal a line a minute. tests/conftest.py has pytest load it."""

from __future__ import annotations

import time

import pytest

from prism.command.progress import say_time

SECONDS = 60.0
"""How often a line is written. A run that is shorter has none."""


class TimeLeft:
    """Counts the tests that have ended. With pytest-xdist it stands in the process that the others report to."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self.terminal = terminal
        self.begun = self.said = time.monotonic()
        self.done = 0
        self.session: pytest.Session | None = None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Keep the session, which knows how many tests there are."""
        self.session = session

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write how many tests have ended, and how long the others take if they take as long."""
        self.done += report.when == "teardown"
        now, total = time.monotonic(), self.session.testscollected if self.session else 0
        if now - self.said < SECONDS or not 0 < self.done < total:
            return
        self.said = now
        left = (now - self.begun) / self.done * (total - self.done)
        self.terminal.ensure_newline()
        self.terminal.write_line(f"{self.done:,} of {total:,} tests, some {say_time(left)} left")
