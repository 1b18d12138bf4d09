"""Rings and what is in flight: which uses of a name are refused while copies are under way (R24), and where a ring may stand."""

from __future__ import annotations

from prism.lang import tree
from prism.lang.check.env import Env, declaration_label, fail, why_here
from prism.lang.diagnostics import Label, Span
from prism.lang.errors import asynchronous as errors
from prism.lang.parse import syntax as s
from prism.lang.types import Pointer
from prism.lang.types.perspective import BLOCK


def check_opened(env: Env, symbol: tree.Symbol, span: Span, use: str) -> None:
    """A ring is opened before it is used; R24 ASYNC: what is in flight is only the destination of copies."""
    if not isinstance(symbol.type, Pointer):
        return
    if use != "open":
        no_ring(symbol, span)
    if symbol in env.context.flights and use not in ("open", "copy"):
        source = symbol
        while source in env.context.flights and source.view is not None:
            source = source.view.source
        labels = (Label(symbol.span, "opened here"),)
        fail(errors.AsyncUse(span=span, name=symbol.name, source=source.name, labels=labels))
    if use != "open" and (slot := copy_of(symbol)) is not None:
        (env.context.loads if use == "load" else env.context.uses).setdefault(slot, span)


def no_ring(symbol: tree.Symbol, span: Span) -> None:
    """A ring's own name stands for no copy."""
    if isinstance(symbol.type, Pointer) and symbol.type.ring:
        copies = f"{symbol.type.ring} cop{'y' if symbol.type.ring == 1 else 'ies'}"
        fail(errors.RingUse(span=span, name=symbol.name, copies=copies, labels=(declaration_label(symbol),)))


def into_ring(env: Env, function: str, symbol: tree.Symbol, span: Span) -> None:
    """R24 ASYNC: a load's end is known to a ring only, and a function does not know the ring of what it is passed."""
    root = symbol.root()
    if isinstance(root.type, Pointer) and root.type.ring:
        return
    labels = (Label(root.span, "declared here"),)
    passed = root.parameter and env.context.host.kind == "device"
    error = errors.LoadInFunction if passed else errors.LoadDestination
    fail(error(span=span, function=function, root=root.name, labels=labels))


def copy_of(symbol: tree.Symbol) -> tree.Symbol | None:
    """Return the view that opened the ring of which a name is a copy, or a part of one; None where there is none."""
    while (view := symbol.view) is not None:
        if isinstance(view.source.type, Pointer) and view.source.type.ring:
            return symbol
        symbol = view.source
    return None


def one_use(env: Env, symbol: tree.Symbol) -> None:
    """R24 ASYNC: a copy of a ring that is loaded in a scope is used in another one."""
    load, use = env.context.loads.get(symbol), env.context.uses.get(symbol)
    if load is not None and use is not None:
        env.context.errors.append(errors.LoadMixed(span=use, name=symbol.name, labels=(Label(load, "loaded here"),)))


def in_flight(source: tree.Symbol, st: s.Claim) -> int:
    """Return how many visits later asynchronous readers are waited for: fewer than the ring has copies."""
    if st.in_flight is None:
        return 0
    copies = source.type.ring if isinstance(source.type, Pointer) else 0
    value = st.in_flight.value if isinstance(st.in_flight, s.Literal) else None
    if not copies:
        fault, change = "is for rings, and this is none", "leave `in_flight` out, or declare the object with `ring=`"
    elif type(value) is not int or value < 0:
        fault, change = "is a constant number of visits, 0 or more", "write `in_flight=1`, or leave it out"
    elif value >= copies:
        fault = f"is {value}, and the ring has {copies} cop{'y' if copies == 1 else 'ies'}"
        change = f"write a smaller number, or declare the ring with `ring={value + 1}` or more"
    else:
        return value
    labels = (Label(source.span, "declared here"),)
    fail(errors.InFlight(span=st.in_flight.span, name=source.name, fault=fault, change=change, labels=labels))


def in_loops(env: Env) -> bool:
    """Whether the code is in loops, the block's or such as the whole grid goes round: a ring stands before the outermost."""
    return any(step.kind == "loop" for step in (*env.outside, *env.path))


def check_ring(env: Env, name: str, span: Span) -> None:
    """A ring stands in a block's code: its visits are counted from the kernel's start, through all loops around."""
    if env.code != BLOCK:
        fail(errors.RingPlace(span=span, name=name, where=f"in code that speaks for {env.code}", labels=why_here(env)))
