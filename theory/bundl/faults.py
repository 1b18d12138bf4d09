"""Every rule of the printed calculus that seemed wrong, decided: with a program on which it misbehaves, or an argument.

    Fault       a program, what the printed rule does with it, what the corrected one does, and the correction
    Fine        what seemed wrong and is not, and why
    FAULTS      by name; FINE likewise
    happened(fault) -> (misdeeds printed, what comes of it corrected)

The tables are in `faults_typing`, `faults_steps`, `faults_proofs` and `faults_fine`; tests/theory/bundl/test_faults.py runs each
row, and docs/bundl.md is made from them by `report`.
"""

from __future__ import annotations

from theory.bundl.fault import Fault, Fine, printed_back
from theory.bundl.faults_fine import FINE_ROWS
from theory.bundl.faults_proofs import PROOF_FAULTS
from theory.bundl.faults_steps import STEP_FAULTS
from theory.bundl.faults_typing import TYPING_FAULTS
from theory.bundl.observe import CORRECTED, misdeeds, observe
from theory.bundl.text import parse

__all__ = ["FAULTS", "FINE", "Fault", "Fine", "run_fault", "printed_back"]


def _by_name(rows: list[Fault]) -> dict[str, Fault]:
    found = {row.name: row for row in rows}
    assert len(found) == len(rows), "two faults of one name"
    return found


FAULTS = _by_name([*TYPING_FAULTS, *STEP_FAULTS, *PROOF_FAULTS])
FINE = {row.name: row for row in FINE_ROWS}


def run_fault(fault: Fault) -> tuple[frozenset[str], str]:
    """Run a fault's program with the printed rule put back, and with the corrected rules alone.

    Return the misdeeds of the first, and of the second "runs" (every schedule ends, in one result, each state well typed),
    "ill-typed", or else what it came to.
    """
    program = parse(fault.text)
    reference = observe(
        program, fault.shape, CORRECTED, typed=fault.typed, uniform=fault.uniform, invariants=fault.typed
    )
    seen = observe(
        program,
        fault.shape,
        fault.version,
        typed=fault.typed,
        uniform=fault.uniform,
        invariants=fault.printed == "preservation",
        until=fault.printed,
    )
    corrected = "runs" if reference.good else ", ".join(sorted(reference.ends))
    return misdeeds(seen, reference), corrected
