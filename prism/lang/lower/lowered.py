"""A program as it is emitted: fills issued ahead of the trips that need them, and a body for each role."""

from __future__ import annotations

from prism.lang.barriers import whole
from prism.lang.lower.skew import skewed
from prism.lang.lower.specialise import specialise
from prism.lang.tree.plan import Program


def lower(program: Program) -> Program:
    """Return the program with its rings' fills ahead and its roles apart; each barrier is still met by whole units."""
    made = specialise(skewed(program))
    whole.check(made)
    return made
