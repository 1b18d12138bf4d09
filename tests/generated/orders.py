"""Whether what the compiler does depends on the order that sets have: programs of each kind, with hashes of another salt.

    python -m tests.generated.orders SALT KIND FIRST COUNT      print, for each program, a digest of its verdicts, plans and text

Nodes of the tree are hashed by where they are in memory, so that sets of them have another order in each run. A salt makes it
another one for sure. Two salts have to give the same lines.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator

from prism.lang.keep.bases import Frozen

MODULUS = 2**61 - 1
GOLDEN = 0x9E3779B97F4A7C15


def salt_hashes(salt: int) -> None:
    """Hash all that is compared by identity otherwise: before any of it is in a set."""
    Frozen.__hash__ = lambda self: id(self) // 16 * (GOLDEN * (2 * salt + 1)) % MODULUS >> 7  # type: ignore[method-assign]


def described(text: str) -> str:
    """Return all that is found out about a program, or the error that refuses it."""
    import prism
    from prism.lang.diagnostics import CompileError
    from prism.lang.emit import emit
    from prism.lang.pipeline import lower
    from prism.lang.safety import describe_verdicts, verdicts
    from tests.generated.programs import loaded

    with loaded(text) as names:
        try:
            program = prism.check(names["kernel"])
            return "\n".join([*describe_verdicts(verdicts(program)), *plans(program), str(emit(lower(program)))])
        except CompileError as error:
            return str(error)


def plans(program: object) -> Iterator[str]:
    """Yield each step of each plan, and what was left out."""
    for plan in program.plans.values():  # type: ignore[attr-defined]
        for one in (plan, plan.skewed):
            if one is not None:
                yield from (f"{b.kind} {b.unit} {b.before.span} {b.first.span} {b.second.span}" for b in one.barriers)
                yield from (f"{type(op).__name__} {op.side} {op.at.span}" for op in one.operations)
                yield from (f"{e.first.span} {e.second.span} {e.reason} {e.unproved}" for e in one.elided)


def main() -> None:
    """Run from the command line."""
    salt, kind, first, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    salt_hashes(salt)
    from tests.generated.edges_verify import module_of

    module = module_of(kind)
    for seed in range(first, first + count):
        if kind == "distinct":  # its own programs are those of its own `verify`
            text = module.HEAD + module.Writer(seed).text()
        else:
            edge = module.program(seed)
            text = edge.head + edge.text
        found = re.sub(r"generated \d+", "generated", described(text))
        print(seed, hashlib.sha256(found.encode()).hexdigest()[:16], flush=True)


if __name__ == "__main__":
    main()
