"""What is known of a program's safety: what the compiler proved, what it left to checked runs, what it takes at its word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from prism.lang import overlap, races
from prism.lang.budget import most_threads
from prism.lang.place import statements
from prism.lang.plan import Program, Wait
from prism.lang.skew import shown
from prism.lang.tree import Stmt, Unsafe


def safety(program: Program) -> Mapping[str, Any]:
    """Return a program's safety report, as JSON takes it; the same for the same program.

    `functions`: how many were checked, each against every rule. `barriers` and `waits`: how many were inferred, by kind, for
    every schedule. `partitions`: how many are proved disjoint, and those that are not: the reference machine checks them as
    it runs. `trusted`: each text that is taken at its word (see `trusted`).
    """
    seen = shown(program)
    threads = most_threads(program.entry)
    verdicts = [
        (function, verdict)
        for function in seen.functions
        for _, verdict in overlap.verdicts(function, races.facts(function, threads))
    ]
    plans = [seen.plans[function] for function in seen.functions]
    return {
        "functions": len(seen.functions),
        "barriers": dict(sorted(Counter(b.kind for plan in plans for b in plan.barriers).items())),
        "waits": sum(isinstance(op, Wait) for plan in plans for op in plan.operations),
        "partitions": {
            "proved": sum(verdict.status == "disjoint" for _, verdict in verdicts),
            "checked by runs": [
                f"`{verdict.view.name}` in `{function.name}`, line {verdict.view.span.line}: {verdict.reason}"
                for function, verdict in verdicts
                if verdict.status != "disjoint"
            ],
        },
        "trusted": [f"{kind} in `{function.name}`: {text}" for function, _, kind, text in _texts(program)],
    }


def trusted(program: Program) -> list[str]:
    """Return two lines for each text that the program takes at its word: where and what it is, and what it is said to do."""
    lines = []
    for function, st, kind, text in _texts(program):
        effects = [f"{k} {e.symbol.name}" for e, k in st.accesses] + [f"write {s.name}" for s in st.writes]
        how = "declared" if st.listed else "from its text"
        meaning = "has a meaning on the CPU" if st.meaning is not None else "no meaning on the CPU"
        lines.append(f"{st.span.file}:{st.span.line}: {kind} in {function.name}: {text}")
        lines.append(f"    {', '.join(effects) or 'touches nothing'} ({how}); {meaning}")
    return lines or ["no unsafe text, no extern functions"]


def _texts(program: Program) -> list[tuple[Any, Any, str, str]]:
    """Return each text's function, statement, kind, and its beginning."""
    found: list[tuple[Any, Stmt]] = [
        (function, st) for function in program.functions for st in statements(function.body) if isinstance(st, Unsafe)
    ]
    texts = []
    for function, st in found:
        assert isinstance(st, Unsafe)
        text = " ".join(st.text.split())
        kind = "extern" if st.span == function.span else "unsafe"
        texts.append((function, st, kind, text if len(text) < 60 else f"{text[:57]}..."))
    return texts
