"""The form of a row in the tables of faults."""

from __future__ import annotations

from dataclasses import dataclass

from theory.bundl import step, typing
from theory.bundl.observe import CORRECTED, Version
from theory.bundl.perspectives import Shape
from theory.bundl.search import Grammar


@dataclass(frozen=True)
class Fault:
    """A rule that is at fault, and a program that shows it.

    `version` is the corrected calculus with the rule at fault alone put back; with it, the program does what `printed` says,
    one of `observe.KINDS` (or "see test": a lemma's fault, which no program's runs show). `corrected` is what the corrected
    calculus does: "runs" or "ill-typed", or where the program is run in spite of its type (`typed` false), "stuck".
    `new`: found by running the calculus, not by reading it. `strict`: the rule refuses too much, and lets through nothing bad.
    `grammar`: where a search for smaller programs was made; `smallest`: whether it found none.
    """

    name: str
    rule: str
    where: str
    wrong: str
    correction: str
    text: str
    shape: Shape
    printed: str
    corrected: str
    version: Version = CORRECTED
    new: bool = False
    typed: bool = True
    uniform: bool = False
    grammar: Grammar | None = None
    smallest: bool | None = None


@dataclass(frozen=True)
class Fine:
    """A rule that seemed wrong and is not, or whose slip does no harm; tests/theory/bundl/test_fine.py has its test."""

    name: str
    rule: str
    where: str
    doubt: str
    argument: str


def printed_back(rules: str = "", steps: str = "") -> Version:
    """Return the corrected calculus with these rules of the printed one."""
    return Version(
        typing.mix(typing.corrected, typing.printed, *rules.split()),
        step.mix(step.corrected, step.printed, *steps.split()),
    )


def forms(words: str) -> frozenset[str]:
    """Return the words."""
    return frozenset(words.split())


CODE = "lower partition group destruct"
