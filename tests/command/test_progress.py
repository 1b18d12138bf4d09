"""Long work says how far it is: a bar on a terminal, a line now and then elsewhere, nothing where it is asked to be quiet."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from prism.cli import main
from prism.command import progress
from prism.command.tune import Far


class Terminal(io.StringIO):
    """An error stream that is a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that goes on by what it is told."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(progress, "time", found)
    return found


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    bar = progress.Bar()
    for done in range(1, 5):
        clock.now += 10
        bar.show("compile", done, 4)
    bar.close()
    lines = sys.stderr.getvalue().split("\r")
    assert lines[1].startswith("compile [#######.......................] 1/4    30 s left")
    assert lines[4].endswith("4/4     0 s left \n")


def test_the_first_of_many_steps_says_no_time(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    bar = progress.Bar()
    for done in (1, 30):
        clock.now += 10
        bar.show("compile", done, 2000)
    lines = sys.stderr.getvalue().split("\r")
    assert "left" not in lines[1] and lines[2].endswith("30/2000  22 min left ")


def test_elsewhere_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    bar, silent, patient = progress.Bar(), progress.Bar(quiet=True), progress.Bar(patient=True)
    for done in range(1, 5):
        clock.now += 10
        for one in (bar, silent, patient):
            one.show("check", done, 4)
    assert sys.stderr.getvalue() == "check: 2 of 4\ncheck: 4 of 4\n"


def test_a_patient_bar_says_nothing_of_short_work(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    bar = progress.Bar(patient=True)
    for done in range(1, 4):
        clock.now += 0.2
        bar.show("schedules", done, 3)
    bar.close()
    assert sys.stderr.getvalue() == ""
    long = progress.Bar(patient=True)
    clock.now += 2
    long.show("schedules", 1, 3)
    long.close()
    assert "1/3     4 s left" in sys.stderr.getvalue() and sys.stderr.getvalue().endswith("\n")


def test_checks_under_schedules_say_how_far_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[tuple[str, int, int]] = []
    monkeypatch.setattr(progress.Bar, "show", lambda self, *now: said.append(now))
    example = Path(__file__).parents[2] / "examples" / "rope.py"
    given = "pairs=32,dim=4,x=[64]:random,y=[64]:0,base=13.0"
    assert (
        main(["check", f"{example}:turned", "--schedules", "3", "-a", given, "--blocks", "1", "--threads", "32"]) == 0
    )
    assert said == [("schedules", done, 3) for done in range(4)]


def test_times_are_said_shortly() -> None:
    assert [progress.say_time(s) for s in (0.4, 89, 91, 7200)] == ["0 s", "89 s", "2 min", "2.0 h"]
    far = Far(2)
    assert far.next().startswith(" (1 of 2, some 0 s left)") and far.next() == " (2 of 2)"
