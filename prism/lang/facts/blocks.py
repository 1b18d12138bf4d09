"""Blocks of exactly so many threads, as `static_assert(count(thread[1]) == n, ...)` demands them."""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang.diagnostics import CompileError, Label, Span
from prism.lang.errors.demands import BlockSize
from prism.lang.facts.budget import most_threads
from prism.lang.keep.bases import Value
from prism.lang.tree import Function
from prism.lang.tree.plan import Program
from prism.lang.tree.walk import calls, statements


def threads_of(program: Program) -> int | None:
    """Return of how many threads each block of a launch must be; None: that the bound alone says."""
    return next((threads for function in program.functions for threads, _ in function.demands), None)


def check_blocks(functions: tuple[Function, ...]) -> None:
    """Refuse demands that a kernel's bound, its `__launch_bounds__` or another demand contradict; `functions`: callees first."""
    entry = functions[-1]
    if entry.kind != "global":
        return
    multiple, most = entry.bound.thread or 1, most_threads(entry)
    seen: _Demand | None = None
    for found in sorted(_demands(functions), key=lambda found: (found.at.file != entry.file, found.at.line)):
        why = ""
        labels: tuple[Label, ...] = ()
        if found.threads % multiple:
            why = f"`{entry.name}` is launched with a multiple of {multiple} threads a block"
        elif found.threads > most:
            why = f"`{entry.name}` is launched with at most {most} threads a block"
        elif seen is not None and seen.threads != found.threads:
            why = f"{seen.threads} are demanded too"
            labels = (Label(seen.at, f"this demands blocks of {seen.threads} threads"),)
        if why:
            cause = () if found.at is found.span else (Label(found.span, "demanded here"),)
            error = BlockSize(span=found.at, name=found.name, threads=found.threads, why=why, labels=(*labels, *cause))
            raise CompileError(error)
        seen = seen or found


class _Demand(Value):
    """So many threads, demanded by a function at `span`, which is called `at` some place: of a kernel, `span` itself."""

    name: str
    threads: int
    span: Span
    at: Span


def _demands(functions: tuple[Function, ...]) -> Iterator[_Demand]:
    """Yield what is demanded, the callers' own before that of what they call."""
    for function in reversed(functions):
        for threads, span in function.demands:
            yield _Demand(function.name, threads, span, _call(function, functions) or span)


def _call(function: Function, functions: tuple[Function, ...]) -> Span | None:
    """Return where a function is called first, by the broadest caller; None of the kernel itself."""
    for caller in reversed(functions):
        for statement in statements(caller.body):
            for call in calls(statement):
                if call.function is function:
                    return call.span
    return None
