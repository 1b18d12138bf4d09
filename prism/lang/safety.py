"""What is known of a program's safety: what is proved, what is not, and what the program is taken at its word for.

Every verdict that the compiler comes to is here, whatever part of it came to it:

- `partition`: whether the parts of a partition are disjoint;
- `trip`: whether one partition's elements, in two trips of a loop, are apart where nothing orders the trips;
- `overlap`: that two units meet only as they may, through partitions that say `races="allow"`;
- `asynchronous`: whether two copies that are under way at the same time touch different elements; `store`: the same of stores
  that are said to be `disjoint`;
- `alias`: that the memory of two parameters lies apart;
- `assumption`: what `assume` says, which each launch tests where it speaks of the launch alone;
- `wait`: that a wait for other threads ends; `word`: that one thread alone publishes a mailbox's word;
- `text`: what `unsafe` and `extern` do; `intrinsic`: what one of the user's own does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from prism.lang import tree
from prism.lang.barriers import overlap
from prism.lang.diagnostics import Span, source_text
from prism.lang.facts.assumptions import launch_assumptions
from prism.lang.facts.budget import most_threads
from prism.lang.facts.definitions import facts
from prism.lang.facts.waits import publications, waits
from prism.lang.keep.bases import Value
from prism.lang.lower.skew import unskew
from prism.lang.skeleton import certificate_of
from prism.lang.tree.inlined import owner
from prism.lang.tree.plan import Elided, Plan, Program, Wait
from prism.lang.tree.walk import statements, terms

PROVED, CHECKED, NOT_PROVED, ASSUMED, BELIEVED = "proved", "checked", "not proved", "assumed", "believed"
STATUSES = (PROVED, CHECKED, NOT_PROVED, ASSUMED, BELIEVED)
TESTED = "it speaks of the launch alone, and each launch from Python tests it"


class Verdict(Value):
    """One thing that must hold for a program to be right.

    `kind` is one of those above. `status`: `proved`; `checked` on the host by each launch; `not proved`, neither that it holds
    nor that it does not; `assumed`, as the program says, and tested by every checked run; `believed`, because the program says
    so. `what` it is about, in words, at `line` of `function`; `reason`: why it has that status.
    """

    kind: str
    status: str
    function: str
    line: int
    what: str
    reason: str

    def __str__(self) -> str:
        return f"`{self.function}`, line {self.line}: {self.what}: {self.reason}"

    def facts(self) -> Mapping[str, Any]:
        """Return it as JSON takes it; its status is said where it stands."""
        return {
            "kind": self.kind,
            "function": self.function,
            "line": self.line,
            "what": self.what,
            "reason": self.reason,
        }


def verdicts(program: Program) -> tuple[Verdict, ...]:
    """Return every verdict on a program, callees first, each once."""
    seen, threads = unskew(program), most_threads(program.entry)
    found: dict[Verdict, None] = {}
    for function in seen.functions:
        judged = (
            one for _, one in (*partitions(function, threads), *unordered_verdicts(function, seen.plans[function]))
        )
        found.update(dict.fromkeys((*judged, *_believed_verdicts(function))))
    return tuple(found)


def safety(program: Program) -> Mapping[str, Any]:
    """Return a program's safety report, as JSON takes it; the same for the same program.

    `functions`: how many were checked, each against every rule. `barriers` and `waits`: how many were inferred, by kind, for
    every schedule. `verdicts`: how many are proved, and each that is checked, not proved, assumed or believed. `certificate`:
    what the checker of certificates says of the barriers.
    """
    seen = unskew(program)
    plans = [seen.plans[function] for function in seen.functions]
    return {
        "functions": len(seen.functions),
        "barriers": dict(sorted(Counter(b.kind for plan in plans for b in plan.barriers).items())),
        "waits": sum(isinstance(op, Wait) for plan in plans for op in plan.operations),
        "verdicts": count_verdicts(verdicts(program)),
        "certificate": certificate_of(program).facts,
    }


def count_verdicts(found: tuple[Verdict, ...]) -> Mapping[str, Any]:
    """Return how many are proved, and the others by their status."""
    listed = {status: [one.facts() for one in found if one.status == status] for status in STATUSES if status != PROVED}
    return {PROVED: sum(one.status == PROVED for one in found), **listed}


def describe_verdicts(found: tuple[Verdict, ...]) -> Iterator[str]:
    """Yield lines for people: how many have each status, and each that is not proved. Nothing of `checked` where nothing is."""
    numbers = [(sum(one.status == status for one in found), status) for status in STATUSES]
    yield ", ".join(f"{number} {status}" for number, status in numbers if number or status != CHECKED)
    for status in STATUSES[1:]:
        listed = [one for one in found if one.status == status]
        if listed:
            yield f"{status}:"
            yield from (f"  {one}" for one in listed)


# -- what is proved, or not -----------------------------------------------------------------------------------------------------


def partitions(function: tree.Function, threads: int) -> Iterator[tuple[Span, Verdict]]:
    """Yield the verdict on each partition of a function, with where it stands."""
    for _, verdict in overlap.verdicts(function, facts(function, threads)):
        view, meaning = verdict.view, verdict.view.view
        status, reason = PROVED if verdict.status == "disjoint" else NOT_PROVED, verdict.reason
        if status == NOT_PROVED and meaning is not None and meaning.races == "allow":
            status, reason = BELIEVED, 'it says races="allow": an overlap of its parts is meant'
        elif status == NOT_PROVED and meaning is not None and meaning.races == "none":
            status, reason = ASSUMED, 'it says races="none", which every checked run tests'
        name = owner(function, view.span) or function.name
        yield view.span, Verdict("partition", status, name, view.span.line, f"partition `{view.name}`", reason)


def unordered_verdicts(function: tree.Function, plan: Plan) -> Iterator[tuple[Span, Verdict]]:
    """Yield a verdict for two accesses each that nothing orders, though it is not proved that they never meet; and where."""
    for one in plan.elided:
        span, roots = one.second.span, (one.first.root, one.second.root)
        if one.unproved == "overlap" and roots[0] is not roots[1]:
            what = "parameters " + ", ".join(sorted(f"`{root.name}`" for root in roots))
            reason = f"they may overlap, and {one.reason}: then units touch only what is their own"
            yield span, Verdict("alias", BELIEVED, function.name, function.span.line, what, reason)
        elif one.unproved:
            name = owner(function, span) or function.name
            status = NOT_PROVED if one.vague else ASSUMED if one.unproved == "store" else BELIEVED
            yield span, Verdict(one.unproved, status, name, span.line, _pair(one), one.reason)


def _pair(one: Elided) -> str:
    first, second = one.first, one.second
    return (
        f"{first.kind} of `{first.root.name}` as `{first.text}` (line {first.span.line}), "
        f"then {second.kind} of it as `{second.text}`"
    )


# -- what is believed -----------------------------------------------------------------------------------------------------------


def _believed_verdicts(function: tree.Function) -> Iterator[Verdict]:
    yield from _memory_verdict(function)
    for st in statements(function.body):
        if isinstance(st, tree.Assume | tree.Distinct):
            name, what = owner(function, st.span) or function.name, f"`{source_text(st.span, 'assume(...)')}`"
            tested = st in launch_assumptions(function)
            status, reason = (CHECKED, TESTED) if tested else (ASSUMED, "every checked run tests it")
            yield Verdict("assumption", status, name, st.span.line, what, reason)
        if isinstance(st, tree.Unsafe):
            effects = "it does what is declared" if st.listed else "it does what its text mentions"
            kind, text = _text(function, st)
            name = owner(function, st.span) or function.name
            yield Verdict("text", BELIEVED, name, st.span.line, f"`{kind}` {text!r}", effects)
    for span, what in waits(function):
        name = owner(function, span) or function.name
        reason = "other threads must let it end, and not wait for this one; checked runs look for waits without end"
        yield Verdict("wait", ASSUMED, name, span.line, f"the wait of `{what}`", reason)
    for span, box in publications(function):
        name = owner(function, span) or function.name
        reason = "one thread alone publishes a word, or others receive any of them; checked runs look for two"
        yield Verdict("word", ASSUMED, name, span.line, f"what is published in `{box}`", reason)
    yield from _own_intrinsics(function)


def _memory_verdict(function: tree.Function) -> Iterator[Verdict]:
    """Yield one verdict on a kernel's memory: none of it is said to overlap, and some is written."""
    kernel = function.kind == "global"
    memory = [p for p in function.parameters if isinstance(p.type, tree.Pointer | tree.TensorMap)]
    pairs = [(a, b) for n, a in enumerate(memory) for b in memory[n + 1 :] if not (_const(a.type) and _const(b.type))]
    taken = [(a, b) for a, b in pairs if not any({a.name, b.name} <= names for names in function.may_alias)]
    if kernel and taken:
        named = dict.fromkeys(p.name for pair in taken for p in pair)
        what = "parameters " + ", ".join(f"`{name}`" for name in named)
        reason = "taken to lie apart, which each launch from Python looks at"
        yield Verdict("alias", BELIEVED, function.name, function.span.line, what, reason)


def _const(type_: object) -> bool:
    return isinstance(type_, tree.Pointer) and type_.const


def _own_intrinsics(function: tree.Function) -> Iterator[Verdict]:
    for st in statements(function.body):
        for e in terms(st):
            if isinstance(e, tree.Apply) and e.intrinsic.source == "user":
                name = owner(function, e.span) or function.name
                reason = "one of your own: it is said to do " + (e.intrinsic.effect or "nothing to memory")
                yield Verdict("intrinsic", BELIEVED, name, e.span.line, f"`{e.intrinsic.name}`", reason)


def describe_trusted(program: Program) -> list[str]:
    """Return two lines for each text that the program takes at its word: where and what it is, and what it is said to do."""
    lines = []
    for function in program.functions:
        for st in statements(function.body):
            if isinstance(st, tree.Unsafe):
                kind, text = _text(function, st)
                effects = [f"{k} {e.symbol.name}" for e, k in st.accesses] + [f"write {s.name}" for s in st.writes]
                how = "declared" if st.listed else "from its text"
                meaning = "has a meaning on the CPU" if st.meaning is not None else "no meaning on the CPU"
                lines.append(f"{st.span.file}:{st.span.line}: {kind} in {function.name}: {text}")
                lines.append(f"    {', '.join(effects) or 'touches nothing'} ({how}); {meaning}")
    return lines or ["no unsafe text, no extern functions"]


def _text(function: tree.Function, st: tree.Unsafe) -> tuple[str, str]:
    """Return what kind of text it is, and its beginning."""
    text = " ".join(st.text.split())
    return "extern" if st.span == function.span else "unsafe", text if len(text) < 60 else f"{text[:57]}..."
