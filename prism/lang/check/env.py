"""What a rule may look at: the bound in force, the names in scope, and the way from the function's entry to here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Protocol

from prism.lang import surface, tree
from prism.lang.diagnostics import CompileError, Error, Fields, Label, Span
from prism.lang.errors import calls as call_errors
from prism.lang.errors import inlined, ownership, roles
from prism.lang.errors import names as name_errors
from prism.lang.errors import perspective as rules
from prism.lang.keep.bases import Frozen, Value
from prism.lang.parse import syntax as s
from prism.lang.types import Pointer, Type
from prism.lang.types.perspective import THREAD, Bound, Level, Perspective


class Poisoned(Exception):
    """A name or callee whose fault was already reported: its uses say nothing more."""


class Poison(Value):
    """What a name stands for after its declaration failed."""


class Role(Frozen):
    """What `a, b = roles(...)` names: units `first .. first + size - 1` of `level` inside the current unit of `code`."""

    name: str
    span: Span
    level: Level
    first: int
    size: int
    code: Perspective
    have: int | None
    scale: int = 1
    """Of how many of the level's units one is that it is counted in: 128, of a role of warpgroups."""

    @property
    def unit(self) -> Perspective:
        """What the role's code speaks for."""
        return Perspective(self.level, self.size)

    def is_like(self, other: Role) -> bool:
        """Whether two names stand for the same units."""
        return (self.level, self.first, self.size) == (other.level, other.first, other.size)


class Nested(surface.Kernel):
    """A device function that is defined inside another one: `syntax`, in which constants are folded, and what is in scope there.

    `captured`: the names of it that stand for something of the function around it.
    """

    syntax: s.Function
    env: Env
    captured: frozenset[str]

    def __init__(
        self, outer: surface.Kernel, syntax: s.Function, requires: tuple[Any, ...] | None, captured: frozenset[str]
    ) -> None:
        super().__init__(outer.python, "device", requires)
        self.__name__, self.__doc__ = syntax.name, None
        self.__qualname__ = f"{outer.__qualname__}.<locals>.{syntax.name}"
        self.syntax, self.captured = syntax, captured


class Step(Frozen):
    """One change of perspective on the way in: `kind` is group, arm, partition, claim, async, batch, turns or loop.

    `first`: where an arm's units start among those of the code outside it. `role`: whose arm it is, or whose claim.
    """

    kind: str
    span: Span
    unit: Perspective
    text: str
    first: int = 0
    role: Role | None = None


class Functions(Protocol):
    """The functions of the program that is checked, as rules of calls ask for them."""

    mentioned: dict[surface.Kernel, tuple[bool, tuple[surface.Kernel, ...]]]
    """Of each function that was looked at, whether its text declares a ring, and the functions that it names."""

    def __call__(self, kernel: surface.Kernel, template: Mapping[str, object], call: Span | None) -> tree.Function:
        """Return the checked instance; errors inside it carry the call."""

    def syntax_of(self, kernel: surface.Kernel) -> s.Function:
        """Return a function's syntax tree."""

    def instance(self, kernel: surface.Kernel, template: Mapping[str, object]) -> s.Function:
        """Return a function's syntax tree with these template arguments in it, all of them."""

    def why_compiled_in(self, kernel: surface.Kernel, template: Mapping[str, object]) -> Any:
        """Return why a function is compiled into its callers, as `nested.look_why` says it."""

    def compiled_in(
        self, kernel: surface.Kernel, template: Mapping[str, object], call: Span
    ) -> dict[str, object] | None:
        """Return all template arguments of a function that is compiled into its callers; None for any other."""

    def open_instance(
        self, kernel: surface.Kernel, template: Mapping[str, object], call: Span | None
    ) -> AbstractContextManager[None]:
        """Check an instance inside; its errors carry the call, and are reported once."""


@dataclass(eq=False, slots=True)
class Expansion:
    """What stands before a statement that is checked: the bodies of functions that are compiled in, whose values it takes.

    `values`: these, by their calls. `whole`: the expression that is all of the statement's value.
    """

    whole: s.Expr | None
    before: list[tree.Stmt] = field(default_factory=list)
    values: dict[s.Expr, tree.Expr] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Context:
    """What belongs to one function while it is checked."""

    kernel: surface.Kernel
    resolve: Functions
    errors: list[Error] = field(default_factory=list)
    claims: dict[tree.Symbol, Step] = field(default_factory=dict)
    loop_variables: set[tree.Symbol] = field(default_factory=set)
    result: Type | None = None
    result_perspective: Perspective | None = None
    result_declared: bool = False
    bound_span: Span | None = None
    entry: Perspective | None = None
    silent: bool = False
    lives: dict[tree.Symbol, tuple[int, ...]] = field(default_factory=dict)
    scopes: int = 0
    flights: set[tree.Symbol] = field(default_factory=set)
    """Names of what asynchronous copies write meanwhile: those that `async_` opened, and views of them."""
    loads: dict[tree.Symbol, Span] = field(default_factory=dict)
    uses: dict[tree.Symbol, Span] = field(default_factory=dict)
    """Copies of rings (the views that opened them) that bulk or tensor loads fill, and those that something else uses."""
    rings: list[tree.Stmt] = field(default_factory=list)
    """Declarations of rings in the loop that is checked, which stand before it."""
    writers: dict[tree.Symbol, tuple[int, int]] = field(default_factory=dict)
    """Which thread of the owner's threads copies to a name on the owner's behalf."""
    into: surface.Kernel | None = None
    """The function that has the text: another one, where this function is compiled into it."""
    inlined: tree.Inlined | None = None
    """That call, of the function's text."""
    why: str = ""
    """What keeps it from being a function of its own, in words that follow its name."""
    first: Perspective | None = None
    """What the host's code speaks for."""
    last: s.Return | None = None
    """The return at its end, where it is compiled in, and what that gives."""
    value: tree.Expr | None = None
    expansion: Expansion | None = None
    """None where what is checked may not be evaluated, or more than once."""
    fixed: Mapping[tree.Symbol, tree.Symbol] = field(default_factory=dict)
    """Arrays that are const here, though not where they were declared: by which parameter."""
    template: Mapping[str, object] = field(default_factory=dict)
    """The function's compile-time arguments."""
    pieces: dict[tree.Symbol, Pointer] = field(default_factory=dict)
    """Parameters that stand for a part of a larger tile, each with the type of a tile that it has as a parameter."""
    demands: list[tuple[int, Span]] = field(default_factory=list)
    """Of how many threads its block must be, and where that is said."""
    launch: tuple[tree.Symbol, ...] = ()
    """The numbers of blocks, then of threads, along each axis of a launch, where the kernel asks for an index along one."""

    @property
    def host(self) -> surface.Kernel:
        """The function that the code will be part of."""
        return self.into or self.kernel


class Env(Value):
    """The environment of a rule; immutable, passed down."""

    context: Context
    bound: Bound
    names: Mapping[str, Meaning]
    hidden: Mapping[tree.Symbol, tree.Symbol]
    path: tuple[Step, ...] = ()
    scope: tuple[int, ...] = ()
    outside: tuple[Step, ...] = ()
    """The way to the call, of a function that is compiled in and has only its parameters in scope."""

    @property
    def code(self) -> Perspective:
        """The perspective of the code here."""
        return self.bound.code

    def bind(self, symbol: tree.Symbol) -> Env:
        """Return the environment with one more name."""
        return self.name(symbol.name, symbol)

    def name(self, name: str, meaning: Meaning) -> Env:
        """Return the environment in which a name stands for something: where that is Poison, its uses are silently wrong."""
        names = {**self.names, name: meaning}
        return Env(self.context, self.bound, names, self.hidden, self.path, self.scope, self.outside)

    def hide(self, source: tree.Symbol, view: tree.Symbol) -> Env:
        """Return the environment in which `source` goes by the name of `view` (R21)."""
        return replace(self, hidden={**self.hidden, source: view})

    def enter(self, step: Step, bound: Bound | None = None) -> Env:
        """Return the environment after a change of perspective."""
        return replace(self, path=(*self.path, step), bound=bound if bound is not None else self.bound)

    def nest(self) -> Env:
        """Return the environment of a statement list of its own."""
        self.context.scopes += 1
        scope = (*self.scope, self.context.scopes)
        return Env(self.context, self.bound, self.names, self.hidden, self.path, scope, self.outside)

    def lookup(self, name: str, span: Span) -> tree.Symbol:
        """Return the symbol that a name stands for; raises Poisoned or fails with code `name`."""
        symbol = self.names.get(name)
        if symbol is None:
            fail(name_errors.OutOfScope(span=span, name=name))
        if isinstance(symbol, Poison):
            raise Poisoned
        if isinstance(symbol, Role):
            fail(roles.RoleValue(span=span, name=name, labels=(Label(symbol.span, "named here"),)))
        if isinstance(symbol, Nested):
            fail(inlined.FunctionValue(span=span, name=name, labels=(Label(symbol.syntax.span, "defined here"),)))
        return symbol

    def role(self, name: str, span: Span) -> Role:
        """Return the role that a name stands for."""
        role = self.names.get(name)
        if isinstance(role, Role):
            return role
        if role is None:
            fail(roles.NotARole(span=span, name=name, found="not in scope"))
        symbol = self.lookup(name, span)
        labels = (Label(symbol.span, f"`{name}` is declared here"),)
        fail(roles.NotARole(span=span, name=name, found=f"a {symbol.type}", labels=labels))


Meaning = tree.Symbol | Poison | Role | Nested
"""What a name stands for."""


@contextmanager
def in_parts(env: Env) -> Iterator[None]:
    """Check inside what may not be evaluated, or more than once: no function's body can stand before it."""
    outer, env.context.expansion = env.context.expansion, None
    try:
        yield
    finally:
        env.context.expansion = outer


def fail(error: Error) -> NoReturn:
    """Raise one error."""
    raise CompileError(error)


def why_here(env: Env) -> tuple[Label, ...]:
    """Return labels for what fixed the code's perspective: the innermost group or arm, else the function's bound."""
    for step in reversed(env.path):
        if step.kind in ("group", "arm"):
            return (Label(step.span, f"the code speaks for {step.unit} from here"),)
    if env.context.bound_span is not None:
        return (Label(env.context.bound_span, f"the function's bound is {env.bound}"),)
    return ()


def is_narrowed(env: Env) -> bool:
    """Whether a group or arm stands between the function's entry and here."""
    return any(step.kind in ("group", "arm") for step in env.path)


def refuse_bound(env: Env, name: str, needs: Perspective, span: Span, labels: tuple[Label, ...]) -> NoReturn:
    """R13 CALL-BOUND: fail since what is called here needs units that the code does not have."""
    facts: Fields = {"name": name, "needs": str(needs), "bound": str(env.bound), "code_perspective": env.code}
    fail(call_errors.CallBound(span=span, narrowed=is_narrowed(env), labels=labels, **facts))


def constant(env: Env, symbol: tree.Symbol) -> tree.Symbol | None:
    """Return the const name by which a local or an array goes here; None where it may be assigned."""
    return symbol if symbol.const else env.context.fixed.get(symbol)


def declaration_label(symbol: tree.Symbol) -> Label:
    """Return a label for where a symbol comes from."""
    return Label(symbol.span, f"`{symbol.name}` lives at {symbol.perspective}")


def refuse_write(symbol: tree.Symbol, span: Span, type_: str) -> NoReturn:
    """R17 CONST: fail since a name of this type is written."""
    fail(ownership.ConstWrite(span=span, name=symbol.name, type=type_, labels=(declaration_label(symbol),)))


def require_own(symbol: tree.Symbol, span: Span) -> None:
    """R18 PTR-WRITE: fail where the name that one thread stores through is not its own."""
    if symbol.perspective != THREAD:
        labels = (declaration_label(symbol),)
        fail(ownership.StoreView(span=span, name=symbol.name, place=symbol.perspective, labels=labels))


def refuse_const(env: Env, symbol: tree.Symbol, span: Span) -> None:
    """R17 CONST: fail where what is to be written, a local or an array, goes by a const name here."""
    if (const := constant(env, symbol)) is not None:
        refuse_write(const, span, f"const({const.type})")


def require_no_broader(env: Env, symbol: tree.Symbol, span: Span) -> None:
    """R8 WRITE-UP: fail where what is assigned is broader than the code."""
    if not symbol.perspective <= env.code:
        facts: Fields = {"name": symbol.name, "place": symbol.perspective, "code_perspective": env.code}
        fail(rules.WriteUp(span=span, labels=(declaration_label(symbol), *why_here(env)), **facts))


def culprit(e: tree.Expr, needed: Perspective) -> tree.Expr:
    """Return the innermost part of an expression that makes it narrower than `needed`."""
    parts = [] if opaque(e) else [part for part in tree.operands(e) if not needed <= part.perspective]
    if not parts:
        return e
    return culprit(next((part for part in parts if part.perspective == e.perspective), parts[0]), needed)


def opaque(e: tree.Expr) -> bool:
    """Whether an expression's perspective is declared by a function, not made of its operands'."""
    return (isinstance(e, tree.Call) and not e.function.pure) or (
        isinstance(e, tree.Apply) and e.intrinsic.result_unit is not None
    )


def describe(e: tree.Expr) -> str:
    """Return how to speak of an expression in a message."""
    match e:
        case tree.Var():
            return f"`{e.symbol.name}`"
        case tree.Item() | tree.Element():
            return f"`{e.symbol.name}[...]`"
        case tree.Place():
            return f"`{'column' if e.axis else 'row'}({e.symbol.name}, ...)`"
        case tree.Id():
            return "`id()`"
        case tree.Call():
            return f"the result of `{e.function.name}`"
        case tree.Apply():
            return f"the result of `{e.intrinsic.name}`"
        case _:
            return "this value"


def evidence(e: tree.Expr, needed: Perspective, *labels: Label) -> Fields:
    """Return what an error says of a value narrower than `needed`: what of it varies, where that stands and comes from."""
    found = culprit(e, needed)
    if isinstance(found, tree.Var | tree.Item | tree.Element) and found.symbol.perspective == found.perspective:
        labels = (declaration_label(found.symbol), *labels)
    return {"span": found.span, "what": describe(found), "has": e.perspective, "labels": labels}


def changing(e: tree.Expr) -> str:
    """Return the name of the memory that `e` loads from and that others may write meanwhile, or the empty string."""
    if isinstance(e, tree.Element) and isinstance(e.symbol.type, Pointer):
        pointer = e.symbol.type
        if pointer.space == "global" and not pointer.const and e.symbol.perspective > THREAD:
            return e.symbol.name
    return next((name for part in tree.operands(e) if (name := changing(part))), "")
