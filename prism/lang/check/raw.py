"""R27 UNSAFE and R29 EXTERN: text for the emitted code, and what it reads and writes, which is taken at its word."""

from __future__ import annotations

from collections.abc import Iterable

from prism.lang import surface, tree
from prism.lang.check.env import Env, Role, constant, declaration_label, fail, refuse_write
from prism.lang.check.expressions import visible
from prism.lang.check.table import statement_rule
from prism.lang.cuda.raw_text import words_of
from prism.lang.diagnostics import Span
from prism.lang.errors import perspective as rules
from prism.lang.errors import raw as errors
from prism.lang.parse import syntax as s
from prism.lang.types import Mailbox, Pointer, TensorMap


@statement_rule(s.Unsafe)
def check_unsafe(env: Env, st: s.Unsafe) -> tree.Stmt:
    """`unsafe("text", reads=[...], writes=[...], meaning=f)`: without the lists, all that it mentions is read and written."""
    if not (isinstance(st.text, s.Literal) and isinstance(st.text.value, str)):
        fail(errors.UnsafeText(span=st.text.span))
    given = dict(st.keywords)
    for name, value in st.keywords:
        if name not in ("reads", "writes", "meaning"):
            fail(errors.UnsafeKeyword(span=value.span, name=name))
    meaning = given.get("meaning")
    if meaning is not None and not (isinstance(meaning, s.Resolved) and callable(meaning.value)):
        fail(errors.UnsafeMeaning(span=meaning.span))
    text = st.text.value
    reads, writes = (effect_symbols(env, given.get(name)) for name in ("reads", "writes"))
    # Words that stand for variables or memory in scope: a role's name says nothing to CUDA.
    words = (word for word in words_of(text) if word in env.names and not isinstance(env.names[word], Role))
    names = {word: visible(env, word, st.span) for word in words}
    listed = "reads" in given or "writes" in given
    if not listed:
        reads = tuple(names.values())
        writes = tuple(symbol for symbol in reads if may_be_written(env, symbol))
    for symbol in writes:
        writable(env, symbol, st.span, checked=listed)
    return statement(
        env, text, names, reads, writes, st.span, listed, None if meaning is None else meaning.value, returns=False
    )


def effect_symbols(env: Env, e: s.Expr | None) -> tuple[tree.Symbol, ...]:
    """Return the names of a list of effects."""
    if e is None:
        return ()
    items = e.items if isinstance(e, s.Braces) else (e,)
    for item in items:
        if not isinstance(item, s.Name):
            fail(errors.UnsafeName(span=item.span))
    return tuple(visible(env, item.name, item.span) for item in items if isinstance(item, s.Name))


def may_be_written(env: Env, symbol: tree.Symbol) -> bool:
    """Whether a name is not const."""
    return (
        constant(env, symbol) is None
        and not isinstance(symbol.type, TensorMap)
        and not (isinstance(symbol.type, Pointer) and symbol.type.const)
    )


def writable(env: Env, symbol: tree.Symbol, span: Span, *, checked: bool) -> None:
    """R17 CONST for what the text writes; R8 for what it says that it writes."""
    if not may_be_written(env, symbol):
        refuse_write(symbol, span, str(symbol.type))
    if checked and not isinstance(symbol.type, Pointer) and not symbol.perspective <= env.code:
        fail(
            rules.WriteUp(
                span=span, name=symbol.name, place=symbol.perspective, code_perspective=env.code,
                labels=(declaration_label(symbol),),
            )
        )  # fmt: skip


def statement(
    env: Env,
    text: str,
    names: dict[str, tree.Symbol],
    reads: tuple[tree.Symbol, ...],
    writes: tuple[tree.Symbol, ...],
    span: Span,
    listed: bool,
    meaning: object,
    *,
    returns: bool,
) -> tree.Unsafe:
    """Return the typed statement."""
    every = tuple(dict.fromkeys((*reads, *writes)))
    accesses = tuple((whole(symbol, span), "write" if symbol in writes else "read") for symbol in memory(every))
    locals_ = tuple(symbol for symbol in writes if not isinstance(symbol.type, Pointer))
    return tree.Unsafe(
        text=text, names=names, uses=every, writes=locals_, accesses=accesses, listed=listed, meaning=meaning, code=env.code,
        returns=returns, span=span,
    )  # fmt: skip


def memory(symbols: Iterable[tree.Symbol]) -> Iterable[tree.Symbol]:
    """Return those of some names that are memory."""
    return (symbol for symbol in symbols if isinstance(symbol.type, Pointer))


def whole(symbol: tree.Symbol, span: Span) -> tree.Element:
    """Return any element of an object: which ones the text touches is not known."""
    assert isinstance(symbol.type, Pointer)
    element = symbol.type.element
    type_ = element.element if isinstance(element, Mailbox) else element
    return tree.Element(symbol=symbol, indices=(), type=type_, perspective=symbol.perspective, span=span)


# -- extern ---------------------------------------------------------------------------------------------------------------


def extern_body(
    env: Env, parsed: s.Function, given: surface.External, parameters: tuple[tree.Symbol, ...], *, returns: bool
) -> tree.Body:
    """R29 EXTERN: the signature and the effects are trusted; without lists, pointers are read, and those not const written."""
    known = {symbol.name: symbol for symbol in parameters}
    span = dict(parsed.decorators).get("extern", parsed.span)
    for name in (*(given.reads or ()), *(given.writes or ())):
        symbol = known.get(name)
        if symbol is None or not isinstance(symbol.type, Pointer):
            fail(errors.ExternEffect(span=span, name=name, function=parsed.name))
    listed = given.reads is not None or given.writes is not None
    reads = tuple(known[name] for name in given.reads or ()) if listed else parameters
    writes = (
        tuple(known[name] for name in given.writes or ())
        if listed
        else tuple(symbol for symbol in memory(reads) if may_be_written(env, symbol))
    )
    for symbol in writes:
        writable(env, symbol, span, checked=False)
    reads = tuple(dict.fromkeys((*reads, *(p for p in parameters if not isinstance(p.type, Pointer)))))
    every = statement(env, given.text, known, reads, writes, parsed.span, listed, given.meaning, returns=returns)
    return (every,)
