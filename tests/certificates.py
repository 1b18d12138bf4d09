"""Certificates of programs as they are given: also of plans that the compiler would refuse to emit."""

from __future__ import annotations

from prism.lang.lower.limits import allocate_named
from prism.lang.pipeline import as_emitted
from prism.lang.skeleton import Certified, certify
from prism.lang.tree.plan import Lowered, Program


def certified(program: Program) -> Certified:
    """Return the certificate of a program with its plan as it is, with what the checker says."""
    apart = as_emitted(program)
    try:
        named = allocate_named(apart)
    except ValueError:
        named = {}
    return certify(Lowered(apart, named), program)
