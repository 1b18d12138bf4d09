"""Certificates as text: what theory/proofs reads, and this package. One form a line; the body, a statement a line.

(certificate 1)
(kernel "name")
(threads 128)
(space k u)                        bytes: two threads that touch one of them are in one unit u
(object o k lo hi "name")          bytes lo .. hi - 1 of space k
(mbarrier m c n way k "name")      of n copies of rings of cycle c, k arrivals a round; way: filled, (filled s), free or (free d)
(ring o m)                         object o is a ring; mbarrier m says which of its copies are filled
(near i)                           access i, whose row is below, is sure to be to the memory of the thread's own block
(access i o kind "where")          kind: read, write, atomic, atomic_block
(fact i j part c origin "why")     if accesses i and j touch one byte, their threads are in one unit c, or they never do
(body s)                           see docs/certificates.md
(beyond stage "what")              in place of a body: what cannot be said yet
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Unit = Any
"""`("thread", n)`, `"block"`, `("cluster", n)` or `"grid"`."""
Statement = tuple[Any, ...]
TOKENS = re.compile(r'\s*(?:([()])|"([^"]*)"|([^\s()"]+))')


class Malformed(ValueError):
    """A text that is no certificate."""


@dataclass(slots=True)
class Certificate:
    """What is claimed of one kernel in blocks of `threads`."""

    kernel: str
    threads: int
    spaces: dict[int, Unit] = field(default_factory=dict)
    objects: dict[int, tuple[int, int, int, str]] = field(default_factory=dict)
    mbarriers: dict[int, tuple[int, int, int, int, int, str]] = field(default_factory=dict)
    """Cycle, copies, stage (0: a copy is free; 1: filled; 2: changed; ...), how many rounds late, arrivals of a round, name."""
    rings: dict[int, int] = field(default_factory=dict)
    near: set[int] = field(default_factory=set)
    accesses: dict[int, tuple[int, str, str]] = field(default_factory=dict)
    facts: dict[tuple[int, int, int | str], list[tuple[Unit, str, str]]] = field(default_factory=dict)
    body: Statement = ("seq",)
    beyond: tuple[int, str] | None = None

    def __str__(self) -> str:
        return "\n".join(_lines(self)) + "\n"


def _lines(found: Certificate) -> Iterator[str]:
    yield "(certificate 1)"
    yield f"(kernel {_quoted(found.kernel)})"
    yield f"(threads {found.threads})"
    yield from (f"(space {k} {_atom(unit)})" for k, unit in found.spaces.items())
    yield from (f"(object {o} {k} {lo} {hi} {_quoted(name)})" for o, (k, lo, hi, name) in found.objects.items())
    for m, (c, n, stage, late, need, name) in found.mbarriers.items():
        way = f"(free {late})" if late else ("free", "filled", f"(filled {stage})")[min(stage, 2)]
        yield f"(mbarrier {m} {c} {n} {way} {need} {_quoted(name)})"
    yield from (f"(ring {o} {m})" for o, m in found.rings.items())
    yield from (f"(near {i})" for i in sorted(found.near))
    yield from (f"(access {i} {o} {kind} {_quoted(where)})" for i, (o, kind, where) in found.accesses.items())
    for (i, j, part), facts in found.facts.items():
        yield from (f"(fact {i} {j} {part} {_atom(c)} {origin} {_quoted(why)})" for c, origin, why in facts)
    if found.beyond is not None:
        yield f"(beyond {found.beyond[0]} {_quoted(found.beyond[1])})"
        return
    yield "(body"
    yield from _statement(found.body, " ")
    yield ")"


def _statement(s: Statement, indent: str) -> Iterator[str]:
    head = " ".join(_atom(part) for part in s if not _is_statement(part))
    inner = [part for part in s if _is_statement(part)]
    if not inner:
        yield f"{indent}({head})"
        return
    yield f"{indent}({head}"
    for part in inner:
        yield from _statement(part, indent + " ")
    yield f"{indent})"


HEADS = frozenset({"seq", "acc", "bar", "if", "loop", "loop1", "only", "round"})
HEADS |= {"wait", "tell", "later", "load", "copy", "fence", "group", "settle", "drain", "own", "lend", "order"}


def _is_statement(part: object) -> bool:
    return isinstance(part, tuple) and part[0] in HEADS


def _atom(part: object) -> str:
    return f"({' '.join(map(_atom, part))})" if isinstance(part, tuple) else str(part)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "/").replace('"', "'").replace("\n", " ") + '"'


def parse(text: str) -> Certificate:
    """Return the certificate that a text has. Raises Malformed."""
    try:
        return _certificate(read_forms(text))
    except (ValueError, IndexError, KeyError, TypeError) as error:
        raise Malformed(f"no certificate: {error}") from None


def read_forms(text: str) -> list[Any]:
    """Return the forms of a text: tuples of words, numbers and forms."""
    stack: list[list[Any]] = [[]]
    for match in TOKENS.finditer(text):
        paren, quoted, atom = match.groups()
        if paren == "(":
            stack.append([])
        elif paren == ")":
            done = tuple(stack.pop())
            stack[-1].append(done)
        elif quoted is not None:
            stack[-1].append(quoted)
        elif atom is not None:
            stack[-1].append(int(atom) if re.fullmatch(r"-?\d+", atom) else atom)
    if len(stack) != 1:
        raise Malformed("a parenthesis is open")
    return stack[0]


def _way(way: Any) -> tuple[int, int]:
    """Return the stage of some mbarriers, and how many rounds late their arrivals are."""
    match way:
        case "free":
            return 0, 0
        case "filled":
            return 1, 0
        case ("free", late):
            return 0, late
        case ("filled", stage) if stage > 1:
            return stage, 0
        case _:
            raise Malformed("neither filled nor free")


def _certificate(forms: list[Any]) -> Certificate:  # noqa: C901
    if not forms or forms[0] != ("certificate", 1):
        raise Malformed("it does not begin with `(certificate 1)`")
    found, bodies = Certificate("", 0), 0
    for head, *rest in forms[1:]:
        match head:
            case "kernel":
                (found.kernel,) = rest
            case "threads":
                (found.threads,) = rest
            case "space":
                found.spaces[rest[0]] = rest[1]
            case "object":
                found.objects[rest[0]] = (rest[1], rest[2], rest[3], rest[4])
            case "mbarrier":
                m, c, n, way, need, name = rest
                found.mbarriers[m] = (c, n, *_way(way), need, name)
            case "ring":
                found.rings[rest[0]] = rest[1]
            case "near":
                found.near.add(*rest)
            case "access":
                found.accesses[rest[0]] = (rest[1], rest[2], rest[3])
            case "fact":
                found.facts.setdefault((rest[0], rest[1], rest[2]), []).append((rest[3], rest[4], rest[5]))
            case "beyond":
                found.beyond = (rest[0], rest[1])
            case "body":
                found.body, bodies = rest[0] if len(rest) == 1 else ("seq", *rest), bodies + 1
            case _:
                raise Malformed(f"there is no `({head} ...)`")
    if bodies != 1 and found.beyond is None:
        raise Malformed("it has not one body")
    return found
