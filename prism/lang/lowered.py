"""A program as it is emitted: fills issued ahead of the trips that need them, and a body for each role."""

from __future__ import annotations

from prism.lang import whole
from prism.lang.plan import Program
from prism.lang.skew import skewed
from prism.lang.specialise import specialise


def lower(program: Program) -> Program:
    """Return the program with its rings' fills ahead and its roles apart; each barrier is still met by whole units."""
    made = specialise(skewed(program))
    whole.check(made)
    return made
