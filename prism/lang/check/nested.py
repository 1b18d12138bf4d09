"""Functions that are defined inside others, and why a function is compiled into its callers."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from prism.lang import surface, tree
from prism.lang.check.elements import construct_of
from prism.lang.check.env import Env, Functions, Nested, fail
from prism.lang.check.table import declaration_rule
from prism.lang.diagnostics import Span
from prism.lang.errors import calls as errors
from prism.lang.keep.bases import Value
from prism.lang.parse import syntax as s


class Why(Value):
    """What of a function keeps it from being one of its own: where that is, and in words that follow its name."""

    span: Span
    short: str
    long: str


def look_why(session: Functions, kernel: surface.Kernel, template: Mapping[str, object]) -> Why | None:
    """Return why a function is compiled into its callers; None of others.

    It takes their memory or a role; declares a ring, or has turns, whose rounds are counted from the kernel's start; names what
    is around it; or is given such a function.
    """
    function = session.instance(kernel, template)
    for p in function.parameters:
        a, the = kind_of(p.annotation)
        if a:
            return Why(p.span, f"takes {a}", f"takes {the} `{p.name}`")
    if isinstance(kernel, Nested) and kernel.captured:
        name = min(kernel.captured)
        return Why(function.span, "names what is around it", f"names `{name}`, of the function around it")
    for name, value in template.items():
        if isinstance(value, Nested) and value.captured:
            text = f"is given `{value.__name__}`, which names what is around it"
            return Why(function.span, f"is given a function, `{name}`, which names what is around it", text)
    counted = counted_in(session, kernel, function)
    if counted is None:
        return None
    if isinstance(counted, s.Turns):
        return Why(counted.span, "has turns", "has turns of a role's units")
    return Why(counted.span, "declares a ring", "declares a ring, or calls what does")


def reason(session: Functions, kernel: surface.Kernel, template: Mapping[str, object]) -> str:
    """Return why a function is compiled into its callers, in words that follow its name."""
    why = session.why_compiled_in(kernel, template)
    return "" if why is None else why.short


def kind_of(e: s.Expr) -> tuple[str, str]:
    """Return in words what a parameter is that keeps a function from being one of its own; nothing of any other."""
    construct = construct_of(e)
    if construct is None:
        return "", ""
    assert isinstance(e, s.Call)
    if construct is surface.const and len(e.arguments) == 1:
        return kind_of(e.arguments[0])
    if construct is surface.roles:
        return "a role", "the role"
    if construct is surface.array:
        return "an array with axes", "the array"
    if construct is not surface.shared:
        return "", ""
    ring = any(name == "ring" for name, _ in e.keywords)
    return ("a ring", "the ring") if ring else ("a shared tile", "the shared tile")


# -- what is counted from the kernel's start -----------------------------------------------------------------------------


def counted_in(session: Functions, kernel: surface.Kernel, function: s.Function) -> s.Node | None:
    """Return where a function declares a ring, has turns, or calls or passes on a function that may; None where it does not."""
    if not may_declare(session, kernel, set()):
        return None
    for node in nodes(function.body):
        if isinstance(node, s.Turns) or (isinstance(node, s.Declare) and kind_of(node.annotation)[0] == "a ring"):
            return node
        called = node.value if isinstance(node, s.Resolved) else None
        if isinstance(called, surface.Kernel) and may_declare(session, called, set()):
            return node
    return None


def may_declare(session: Functions, kernel: surface.Kernel, seen: set[surface.Kernel]) -> bool:
    """Whether a function's text, or that of one that it names, has a ring or turns in it, under whatever condition."""
    if kernel in seen or kernel.external is not None:
        return False
    seen.add(kernel)
    if kernel not in session.mentioned:
        rings, names = mentions(session.syntax_of(kernel))
        named = (named_object(kernel, node) for node in names)
        # each once, in their order
        session.mentioned[kernel] = rings, tuple(dict.fromkeys(one for one in named if isinstance(one, surface.Kernel)))
    rings, called = session.mentioned[kernel]
    return rings or any(may_declare(session, other, seen) for other in called)


@functools.lru_cache(maxsize=1024)
def mentions(function: s.Function) -> tuple[bool, tuple[s.Node, ...]]:
    """Return whether a text declares something with copies, or has turns; and the names in it, with their attributes."""
    every = tuple(nodes(function.body))
    given = [
        node.annotation.keywords
        for node in every
        if isinstance(node, s.Declare) and isinstance(node.annotation, s.Call)
    ]
    rings = any(name == "ring" for keywords in given for name, _ in keywords)
    rings = rings or any(isinstance(node, s.Turns) for node in every)
    return rings, tuple(node for node in every if isinstance(node, s.Name | s.Attribute | s.Resolved))


def named_object(kernel: surface.Kernel, e: s.Node) -> Any:
    """Return what a free name, or an attribute of one, stands for; None where that is not known."""
    match e:
        case s.Resolved(value=value):
            return value
        case s.Name(name=name):
            python = kernel.python
            free = python.__code__.co_freevars
            if name not in free:
                return python.__globals__.get(name)
            try:
                return dict(zip(free, python.__closure__ or (), strict=False))[name].cell_contents
            except ValueError:
                return None
        case s.Attribute(base=base, name=name):
            return getattr(named_object(kernel, base), name, None)
        case _:
            return None


def nodes(part: object) -> Iterator[s.Node]:
    """Yield all nodes of a piece of syntax, outer before inner."""
    if isinstance(part, tuple):
        for one in part:
            yield from nodes(one)
    elif isinstance(part, s.Node):
        yield part
        for one in type(part)._fields:
            yield from nodes(getattr(part, one.name))


# -- functions inside others ----------------------------------------------------------------------------------------------


def _given(body: object) -> frozenset[str]:
    """Return the names of functions that a text calls as what a template was given, and which name what is around them."""
    values = (node.value for node in nodes(body) if isinstance(node, s.Resolved))
    return frozenset(value.__name__ for value in values if isinstance(value, Nested) and value.captured)


@declaration_rule(s.Nested)
def check_nested(env: Env, st: s.Nested) -> tuple[tree.Body, Env]:
    """A name for a function; its body is checked where it is called."""
    if st.function.extern:
        fail(errors.Extern(span=st.function.span, name=st.function.name))
    own = s.locals_of(st.function) - st.shared
    names = {node.name for node in nodes((st.function.body, st.function.parameters)) if isinstance(node, s.Name)}
    requires = None if st.requires is None else tuple(getattr(e, "value", e) for e in st.requires)
    captured = frozenset(name for name in names - own if name in env.names or name == st.function.name)
    captured |= _given(st.function.body)
    function = Nested(env.context.kernel, st.function, requires, captured)
    function.env = env.name(st.function.name, function)
    return (), function.env
