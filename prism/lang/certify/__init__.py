"""The checker of certificates: it reads what the compiler claims of a kernel's barriers, and agrees or does not.

It imports nothing of the compiler. The rules are defined a second time in Coq, and proved there (theory/proofs).
"""

from __future__ import annotations

from dataclasses import dataclass

from prism.lang.certify.checker import Checker
from prism.lang.certify.places import Rejected
from prism.lang.certify.text import Certificate, Malformed, parse

ACCEPTED, REJECTED, NOT_COVERED = "accepted", "rejected", "not covered"


@dataclass(frozen=True, slots=True)
class Finding:
    """What the checker says: `accepted`, `rejected` by a rule, or `not covered`; and why."""

    status: str
    rule: str = ""
    reason: str = ""


def check(certificate: Certificate) -> Finding:
    """Return what the checker says of a certificate."""
    if certificate.beyond is not None:
        return Finding(NOT_COVERED, "", certificate.beyond[1])
    return run(Checker(certificate))


def run(checker: Checker) -> Finding:
    """Return what a checker says."""
    try:
        checker.valid()
    except Rejected as rejected:
        return Finding(REJECTED, rejected.rule, rejected.what)
    return Finding(ACCEPTED)


def check_text(text: str) -> Finding:
    """Return what the checker says of a certificate's text; a text that is none is rejected."""
    try:
        return check(parse(text))
    except Malformed as error:
        return Finding(REJECTED, "form", str(error))


__all__ = [
    "ACCEPTED",
    "NOT_COVERED",
    "REJECTED",
    "Certificate",
    "Finding",
    "Malformed",
    "check",
    "check_text",
    "parse",
    "run",
]
