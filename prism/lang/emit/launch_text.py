"""What a launch computes (launch_tests.py) as an expression of C++: for the kernel, and for who launches it from a header."""

from __future__ import annotations

from collections.abc import Sequence

from prism.lang.cuda.names import type_cuda
from prism.lang.facts.launch_tests import Code
from prism.lang.types.structs import scalar_called

_LOGIC = {"and": "&&", "or": "||"}
_SIGNS = {"neg": "-", "~": "~", "cast": ""}


def launch_text(code: Code, names: Sequence[str], blocks: str, threads: str) -> str:
    """Return a number of the launch in C++; `names`: of its arguments, by position; `blocks`, `threads`: of what counts them.

    Each operation is made in its own type, whose values the host has found to fit.
    """

    def text(part: Code) -> str:
        return launch_text(part, names, blocks, threads)

    match code:
        case ("number", value):
            return f"{int(value)}ll"
        case ("argument", position):
            return str(names[position])
        case ("count", of_blocks, of_threads, times, size, _):
            units = f"{blocks if of_blocks else '1'} * {threads if of_threads else '1'}"
            return f"(1ll * {units} * {times} / {size})"
        case ("if", condition, one, two):
            return f"({text(condition)} ? (long long)({text(one)}) : (long long)({text(two)}))"
        case (str(op), str(type_), *operands):
            name = _cuda(type_)
            return _operator(op, name, [f"({name})({text(each)})" for each in operands])
        case (op, *operands):
            return _condition(op, [text(each) for each in operands])
    raise ValueError(f"no number as Prism writes it: {code!r}")


def _operator(op: str, name: str, operands: Sequence[str]) -> str:
    """Return an operation of numbers of a type, which are converted to it before."""
    if op in ("minimum", "maximum"):
        left, right = operands
        return f"({left} {'<' if op == 'minimum' else '>'} {right} ? {left} : {right})"
    if len(operands) == 1:
        return f"({name})({_SIGNS[op]}{operands[0]})"
    return f"({name})({operands[0]} {op} {operands[1]})"


def _condition(op: str, operands: Sequence[str]) -> str:
    return f"!({operands[0]})" if op == "not" else f"({operands[0]} {_LOGIC.get(op, op)} {operands[1]})"


def _cuda(type_: str) -> str:
    scalar = scalar_called(type_)
    assert scalar is not None
    return type_cuda(scalar)
