"""How far long work is, on the error stream: a bar with the time that is left; where that is no terminal, a line now and then."""

from __future__ import annotations

import sys
import time


def say_time(seconds: float) -> str:
    """Return a time as it is said: `40 s`, `12 min`, `3 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Bar:
    """A progress bar of one stage after another."""

    WIDTH, SECONDS = 30, 15.0

    def __init__(self, *, quiet: bool = False, patient: bool = False) -> None:
        """`quiet`: say nothing. `patient`: nothing before a second has gone, and nothing where there is no terminal."""
        self.live = sys.stderr.isatty()
        self.quiet = quiet or patient and not self.live
        self.patient = patient
        self.said = self.begun = time.monotonic()
        self.stage, self.open = "", False

    def show(self, stage: str, done: int, total: int) -> None:
        """Say that `done` of `total` steps of a stage are done."""
        now = time.monotonic()
        due = done == total or now - self.said >= (0.1 if self.live else self.SECONDS)
        if self.quiet or not due or self.patient and not self.open and (done == total or now - self.begun < 1):
            return
        if stage != self.stage:
            self.stage, self.begun = stage, self.begun if self.patient else self.said
        self.said = now
        if not self.live:
            print(f"{stage}: {done} of {total}", file=sys.stderr, flush=True)
            return
        full = self.WIDTH * done // total
        left = f"{say_time((now - self.begun) / max(done, 1) * (total - done)):>6} left"
        if done < min(total / 100, 16):  # the first of many steps have what comes before all of them, as imports
            left = " " * len(left)
        text = f"\r{stage:8}[{'#' * full}{'.' * (self.WIDTH - full)}] {done}/{total}  {left} "
        self.open = done < total
        print(text, end="" if self.open else "\n", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the line."""
        if self.open:
            print(file=sys.stderr)
            self.open = False
