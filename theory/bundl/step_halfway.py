"""Readings between the printed steps and the corrected ones, in neither calculus: kept to show what fails with them."""

from __future__ import annotations

from prism.lang.types.perspective import Perspective
from theory.bundl import syntax
from theory.bundl.step_data import s_alloc, s_claim, s_lower, s_partition
from theory.bundl.work import StepRule, Work


def _move_binding(w: Work, source: str, name: str) -> None:
    """Move the binding of `name` from eta to the memory that has `source`."""
    bound = w.eta[name]
    w.eta = w.eta.drop(name)
    w.bind_beside(source, name, bound)


def s_partition_there(w: Work, s: syntax.Partition, pi: Perspective, p: int) -> syntax.Stmt:
    """S-Partition, but y is bound where x is, as `rename` has it, and not in eta"""
    result = s_partition(w, s, pi, p)
    _move_binding(w, s.source, s.name)
    return result


def s_claim_there(w: Work, s: syntax.Claim, pi: Perspective, p: int) -> syntax.Stmt:
    """S-Claim, but y is bound where x is"""
    result = s_claim(w, s, pi, p)
    _move_binding(w, s.source, s.name)
    return result


def s_lower_there(w: Work, s: syntax.Lower, pi: Perspective, p: int) -> syntax.Stmt:
    """S-Lower, but y is bound where x is"""
    result = s_lower(w, s, pi, p)
    _move_binding(w, s.source, s.name)
    return result


THERE: dict[str, StepRule] = {
    "S-Partition": s_partition_there,
    "S-Claim": s_claim_there,
    "S-Lower": s_lower_there,
}


def s_alloc_again(w: Work, s: syntax.Alloc, pi: Perspective, p: int) -> syntax.Stmt:
    """S-Alloc, but each thread that comes makes the cells zero, those of its unit's other members too"""
    place = (s.name, len(w.frames), None if s.kind is syntax.Kind.LOCAL else w.unit(pi, p))
    w.set_memory(s.kind, w.memory(s.kind).drop(*[(place, i) for i in range(s.count)]))
    return s_alloc(w, s, pi, p)
