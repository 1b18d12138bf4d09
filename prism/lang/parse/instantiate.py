"""Instantiate: bind template arguments and closed-over constants, fold constants, drop the branches not taken.

In: a syntax tree with free names. Out: one in which every Name is a local of the function, and everything else that a name
stood for is a Literal or a Resolved object. A local declared `constexpr` disappears into its uses.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from prism.lang import surface
from prism.lang.diagnostics import CompileError, Error, Fields, source_text
from prism.lang.errors import calls as call_errors
from prism.lang.errors import names as errors
from prism.lang.errors import syntax as syntax_errors
from prism.lang.errors import types as type_errors
from prism.lang.intrinsics import NAMES, TABLE
from prism.lang.keep.bases import Value
from prism.lang.keep.records import is_record_class
from prism.lang.parse import syntax as s
from prism.lang.parse.constants import class_attribute, constant, fail, finite, is_enum, value_class
from prism.lang.parse.records import read_attribute
from prism.lang.surface import bindings
from prism.lang.types import SCALARS

BUILTINS: Mapping[str, object] = {
    "int": SCALARS["int32"],
    "float": SCALARS["float32"],
    "bool": SCALARS["bool"],
    "min": TABLE["minimum"],
    "max": TABLE["maximum"],
    "abs": TABLE["absolute"],
    "breakpoint": surface.BREAKPOINT,
}
OURS = frozenset({*surface.__all__, *NAMES, "CompileError", "InternalError", "intrinsic", "prism"})
"""The names of `prism.lang`, one of which may have been meant."""
LARGEST_POWER = 4096
MOST_FAULTS = 100
"""Errors of one statement list that are told: what follows is not looked at."""


class Scope(Value):
    """What names mean while folding: constants and index functions in force, locals, and where free names come from.

    `functions`: the locals that are functions.
    """

    kernel: surface.Kernel
    template: Mapping[str, object]
    locals: frozenset[str]
    constants: Mapping[str, s.Literal | s.Lambda]
    functions: frozenset[str] = frozenset()

    def bind(self, name: str, value: s.Literal | s.Lambda) -> Scope:
        """Return the scope with one more constexpr local, or index function."""
        return replace(self, constants={**self.constants, name: value})


def instantiate(kernel: surface.Kernel, parsed: s.Function, template: Mapping[str, object]) -> s.Function:
    """Return the function with `template` bound. Raises CompileError: `template`, `name`, `type`."""
    scope = Scope(kernel, template, s.locals_of(parsed), {})
    return fold_function(scope, parsed, replace(scope, locals=frozenset()))


def fold_function(scope: Scope, parsed: s.Function, outside: Scope) -> s.Function:
    """Fold a function's body and its signature; defaults as what is outside of it has them."""
    body, _ = fold_body(scope, parsed.body)
    parameters = tuple(
        replace(p, annotation=fold(scope, p.annotation), place=maybe(scope, p.place), default=maybe(outside, p.default))
        for p in parsed.parameters
    )
    return replace(
        parsed,
        parameters=parameters,
        result=maybe(scope, parsed.result),
        result_place=maybe(scope, parsed.result_place),
        body=body,
    )


def fold_in_part(kernel: surface.Kernel, parsed: s.Function, template: Mapping[str, object], e: s.Expr) -> s.Expr:
    """Return an annotation in which template parameters that have no value yet are names."""
    unknown = frozenset(kernel.template) - frozenset(template)
    return fold(Scope(kernel, template, s.locals_of(parsed) | unknown, {}), e)


# -- names ----------------------------------------------------------------------------------------------------------------


def lookup(scope: Scope, name: s.Name) -> s.Expr:
    """Return what a name stands for: a constant, an object of the language, or itself where it is a local."""
    if name.name in scope.constants:
        return replace(scope.constants[name.name], span=name.span)
    if name.name in scope.template:
        return constant(scope.template[name.name], name.name, name.span)
    if name.name in scope.locals:
        return name
    python = scope.kernel.python
    bindings.note(python, name.name)
    if name.name in python.__code__.co_freevars:
        cells = dict(zip(python.__code__.co_freevars, python.__closure__ or (), strict=False))
        try:
            return constant(cells[name.name].cell_contents, name.name, name.span)
        except ValueError:
            fail(errors.not_defined(name.span, name.name, (), OURS))
    if name.name in python.__globals__:
        return constant(python.__globals__[name.name], name.name, name.span)
    if name.name in BUILTINS:
        return s.Resolved(value=BUILTINS[name.name], text=name.name, span=name.span)
    if hasattr(builtins, name.name):
        fail(errors.python_builtin(name.span, name.name))
    fail(errors.not_defined(name.span, name.name, (*scope.locals, *scope.constants, *scope.template, *BUILTINS), OURS))


def python_function(scope: Scope, e: s.Expr) -> s.Expr:
    """Return a function of Python's that a name stands for, as an object; anything else as it is."""
    python = scope.kernel.python
    cells = dict(zip(python.__code__.co_freevars, python.__closure__ or (), strict=False))
    name = e.name if isinstance(e, s.Name) else ""
    bindings.note(python, name)
    try:
        found = cells[name].cell_contents if name in cells else python.__globals__.get(name)
    except ValueError:
        found = None
    return s.Resolved(value=found, text=name, span=e.span) if callable(found) else e


# -- expressions ----------------------------------------------------------------------------------------------------------


def maybe(scope: Scope, expression: s.Expr | None) -> s.Expr | None:
    """Fold an expression that may be absent."""
    return None if expression is None else fold(scope, expression)


def fold(scope: Scope, e: s.Expr) -> s.Expr:  # noqa: C901
    """Return the expression with names resolved and constants folded."""
    match e:
        case s.Name():
            return lookup(scope, e)
        case s.Literal():
            return finite(e)
        case s.Resolved():
            return e
        case s.Unary():
            return fold_unary(replace(e, operand=fold(scope, e.operand)))
        case s.Binary():
            return fold_binary(s.Binary(op=e.op, left=fold(scope, e.left), right=fold(scope, e.right), span=e.span))
        case s.Conditional():
            return fold_conditional(scope, e)
        case s.Call():
            keywords = tuple((k, fold(scope, v)) for k, v in e.keywords)
            function, arguments = fold_callee(scope, e.function), fold_all(scope, e.arguments)
            return fold_call(s.Call(function=function, arguments=arguments, keywords=keywords, span=e.span))
        case s.Subscript():
            numbers = all(isinstance(index, s.Literal) for index in e.indices)
            base, indices = fold(scope, e.base), fold_all(scope, e.indices)
            return fold_subscript(s.Subscript(base=base, indices=indices, span=e.span), not numbers)
        case s.Attribute(name="value", base=s.Attribute(base=owner) as member) if is_enum(fold(scope, owner)):
            return fold(scope, member)
        case s.Attribute():
            return fold_attribute(replace(e, base=fold(scope, e.base)))
        case s.Lambda():
            inner = replace(scope, locals=scope.locals | set(e.parameters))
            return replace(e, body=fold(inner, e.body))
        case s.Braces() | s.Listed() | s.Tuple():
            return replace(e, items=fold_all(scope, e.items))


def fold_callee(scope: Scope, e: s.Expr) -> s.Expr:
    """Fold what is called. A variable is not: in `row(acc, i)` the construct is meant, whatever else is called `row`."""
    known = (scope.constants, scope.template, scope.functions)
    if isinstance(e, s.Name) and e.name in scope.locals and not any(e.name in names for names in known):
        bindings.note(scope.kernel.python, e.name)
        outer = scope.kernel.python.__globals__.get(e.name, getattr(surface, e.name, None))
        if isinstance(outer, surface.Construct):
            return s.Resolved(value=outer, text=e.name, span=e.span)
    return fold(scope, e)


def fold_all(scope: Scope, expressions: tuple[s.Expr, ...]) -> tuple[s.Expr, ...]:
    """Fold each."""
    return tuple(fold(scope, e) for e in expressions)


def fold_unary(e: s.Unary) -> s.Expr:
    """Fold `-3`, `~3`, `not True`."""
    if not isinstance(e.operand, s.Literal) or isinstance(e.operand.value, str):
        return e
    value = e.operand.value
    if e.op == "not":
        return s.Literal(value=not truth(e.operand), span=e.span)
    if e.op == "-":
        return s.Literal(value=-value, span=e.span)
    try:
        return s.Literal(value=~int(value), span=e.span)
    except (OverflowError, ValueError):
        fail(errors.NotFinite(span=e.span))


def fold_binary(e: s.Binary) -> s.Expr:
    """Fold arithmetic on literals; `//` truncates, as in C; `is`-like tests on dtypes fold too."""
    if isinstance(e.left, s.Resolved) and isinstance(e.right, s.Resolved) and e.op in ("==", "!="):
        return s.Literal(value=(e.left.value == e.right.value) == (e.op == "=="), span=e.span)
    if isinstance(e.left, s.Literal) and e.op in ("and", "or"):
        return e.right if truth(e.left) == (e.op == "and") else e.left
    if not (isinstance(e.left, s.Literal) and isinstance(e.right, s.Literal)):
        return e if e.op != "**" else fail(syntax_errors.unsupported_error(e.span, "Pow"))
    a, b = e.left.value, e.right.value
    if isinstance(a, str) or isinstance(b, str):
        return s.Literal(value=(a == b) == (e.op == "=="), span=e.span) if e.op in ("==", "!=") else e
    if e.op in ("/", "//", "%") and b == 0:
        fail(errors.DivisionByZero(span=e.span))
    if e.op == "/" and isinstance(a, int) and isinstance(b, int):
        texts = source_text(e.left.span), source_text(e.right.span)
        fail(type_errors.IntegerDivision(span=e.span, left="int", right="int", texts=texts))
    try:
        if e.op in ("<<", ">>") and not 0 <= int(b) < 64:
            fail(errors.ShiftCount(span=e.right.span, count=int(b)))
        return finite(s.Literal(value=arithmetic(e.op, a, b), span=e.span))
    except (OverflowError, ValueError):
        fail(errors.NotFinite(span=e.span))


def arithmetic(op: str, a: bool | int | float, b: bool | int | float) -> bool | int | float:
    """Return `a op b` with C's integer division."""
    if op in ("/", "//", "%") and isinstance(a, int) and isinstance(b, int):
        quotient = abs(a) // abs(b) * (1 if (a >= 0) == (b >= 0) else -1)
        return a - quotient * b if op == "%" else quotient
    result: bool | int | float = _ARITHMETIC[op](a, b)
    return result


def power(a: bool | int | float, b: bool | int | float) -> int | float:
    """Return `a ** b`. Raises OverflowError or ValueError where it is no real number, or a huge one."""
    if abs(b) > LARGEST_POWER or (a == 0 and b < 0):
        raise OverflowError
    found: object = a**b
    if not isinstance(found, int | float):
        raise ValueError
    return found


_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": power, "<<": lambda a, b: int(a) << int(b), ">>": lambda a, b: int(a) >> int(b),
    "&": lambda a, b: int(a) & int(b), "|": lambda a, b: int(a) | int(b), "^": lambda a, b: int(a) ^ int(b),
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def truth(condition: s.Literal) -> bool:
    """R9 COND: return a constant condition's value, a bool."""
    if isinstance(condition.value, bool):
        return condition.value
    found = "text" if isinstance(condition.value, str) else "float" if isinstance(condition.value, float) else "int"
    fail(type_errors.ConditionType(span=condition.span, found=found, text=source_text(condition.span)))


def fold_conditional(scope: Scope, e: s.Conditional) -> s.Expr:
    """Fold `a if c else b`; with a constant condition only the chosen side is looked at."""
    condition = fold(scope, e.condition)
    if isinstance(condition, s.Literal):
        return fold(scope, e.then if truth(condition) else e.otherwise)
    return replace(e, condition=condition, then=fold(scope, e.then), otherwise=fold(scope, e.otherwise))


def fold_call(e: s.Call) -> s.Expr:
    """Fold `min`/`max` of literals; `cdiv(a, b)` is `(a + (b - 1)) // b`."""
    if isinstance(e.function, s.Resolved) and e.function.value is surface.cdiv:
        return ceil_divide(e)
    if isinstance(e.function, s.Resolved) and e.function.value in (TABLE["minimum"], TABLE["maximum"]):
        values = [a.value for a in e.arguments if isinstance(a, s.Literal) and not isinstance(a.value, str)]
        if len(values) == len(e.arguments) and values:
            return s.Literal(value=(min if e.function.value is TABLE["minimum"] else max)(values), span=e.span)
    return e


def ceil_divide(e: s.Call) -> s.Expr:
    """Return what `cdiv(a, b)` stands for: what is known of sums and quotients is known of it."""
    if len(e.arguments) != 2 or e.keywords:
        facts: Fields = {"wanted": "2 argument(s)", "given": f"{len(e.arguments)} given", "parameters": "a, b"}
        fail(call_errors.CallArguments(span=e.span, name="cdiv", **facts))
    a, b = e.arguments
    one = s.Literal(value=1, span=b.span)
    less = fold_binary(s.Binary(op="-", left=b, right=one, span=b.span))
    more = fold_binary(s.Binary(op="+", left=a, right=less, span=e.span))
    divisor: s.Expr = s.copy_tree(b)
    return fold_binary(s.Binary(op="//", left=more, right=divisor, span=e.span))


def fold_subscript(e: s.Subscript, named: bool) -> s.Expr:
    """Resolve `thread[32]` to a perspective; `named`: its size is not written as a number."""
    if not (isinstance(e.base, s.Resolved) and isinstance(e.base.value, surface.LevelName)):
        return e
    if len(e.indices) != 1 or not isinstance(e.indices[0], s.Literal) or type(e.indices[0].value) is not int:
        fail(errors.PerspectiveSize(span=e.span, level=e.base.value.name))
    if e.indices[0].value < 1:
        fail(errors.PerspectiveSize(span=e.span, level=e.base.value.name))
    unit = replace(e.base.value[e.indices[0].value], named=named)
    return s.Resolved(value=unit, text=f"{e.base.text}[{e.indices[0].value}]", span=e.span)


def fold_attribute(e: s.Attribute) -> s.Expr:
    """Resolve `module.name`, `block.scan`, `T.bytes`, `CUT.BM`."""
    if not isinstance(e.base, s.Resolved):
        return e
    if is_record_class(type(e.base.value)):
        return constant(read_attribute(e.base.value, e.base.text, e.name, e.span), f"{e.base.text}.{e.name}", e.span)
    bindings.note_attribute(e.base.value, e.name)
    if value_class(e.base.value):
        return class_attribute(e, e.base.value)
    try:
        value = getattr(e.base.value, e.name)
    except AttributeError:
        fail(errors.NoAttribute(span=e.span, base=e.base.text, name=e.name))
    return constant(value, f"{e.base.text}.{e.name}", e.span)


# -- statements -----------------------------------------------------------------------------------------------------------


def fold_body(scope: Scope, body: s.Body) -> tuple[s.Body, Scope]:
    """Fold a statement list; a constexpr local, or `f = lambda i: ...`, is in force from there to the list's end."""
    done: list[s.Stmt] = []
    faults: dict[str, Error] = {}
    for statement in body:
        if len(faults) >= MOST_FAULTS:
            break
        try:
            scope = fold_into(done, scope, statement)
        except CompileError as failure:
            for error in failure.errors:
                faults.setdefault(error.title_text, error)
    if faults:
        raise CompileError(*faults.values())
    return tuple(done), scope


def fold_into(done: list[s.Stmt], scope: Scope, statement: s.Stmt) -> Scope:
    """Add to `done` what a statement becomes; return the scope behind it."""
    if isinstance(statement, s.Declare) and is_constexpr(scope, statement.annotation):
        return bind_constexpr(scope, statement)
    if isinstance(statement, s.Nested):
        scope = replace(scope, functions=scope.functions | {statement.function.name})
    match statement:
        case s.Assign(target=s.Name(name=name), value=s.Lambda() as value):
            return scope.bind(name, named_lambda(scope, value))
    done.extend(fold_if(scope, statement) if isinstance(statement, s.If) else (fold_statement(scope, statement),))
    return scope


def named_lambda(scope: Scope, value: s.Lambda) -> s.Lambda:
    """Fold an index function: it stands for its text, and reads the names in it where it is applied."""
    found = fold(scope, value)
    assert isinstance(found, s.Lambda)
    return found


def is_constexpr(scope: Scope, annotation: s.Expr) -> bool:
    """Whether an annotation is `constexpr(...)`."""
    if not (isinstance(annotation, s.Call) and isinstance(annotation.function, s.Name | s.Attribute)):
        return False
    function = fold(scope, annotation.function)
    return isinstance(function, s.Resolved) and function.value is surface.constexpr


def bind_constexpr(scope: Scope, statement: s.Declare) -> Scope:
    """Bind `N: constexpr(int) = 2 * M`."""
    value = maybe(scope, statement.value)
    if not isinstance(value, s.Literal):
        fail(errors.NotFolded(span=statement.value.span if statement.value else statement.span, name=statement.name))
    return scope.bind(statement.name, value)


def fold_if(scope: Scope, statement: s.If) -> s.Body:
    """Fold an if; with a constant condition only the chosen body remains, in its own scope."""
    condition = fold(scope, statement.condition)
    if isinstance(condition, s.Literal):
        return fold_body(scope, statement.then if truth(condition) else statement.otherwise)[0]
    then, otherwise = fold_body(scope, statement.then)[0], fold_body(scope, statement.otherwise)[0]
    return (replace(statement, condition=condition, then=then, otherwise=otherwise),)


def fold_nested(scope: Scope, st: s.Nested) -> s.Nested:
    """Fold a function inside another one: what it binds itself hides what is around it."""
    requires = None if st.requires is None else fold_all(scope, st.requires)
    own = s.locals_of(st.function) - st.shared
    inner = replace(
        scope,
        locals=scope.locals | own,
        constants={name: value for name, value in scope.constants.items() if name not in own},
        template={name: value for name, value in scope.template.items() if name not in own},
    )
    return replace(st, function=fold_function(inner, st.function, scope), requires=requires)


def fold_statement(scope: Scope, st: s.Stmt) -> s.Stmt:  # noqa: C901
    """Fold the expressions and bodies of one statement."""

    def inner(body: s.Body) -> s.Body:
        return fold_body(scope, body)[0]

    match st:
        case s.Declare():
            value = maybe(scope, st.value)
            return replace(st, annotation=fold(scope, st.annotation), place=maybe(scope, st.place), value=value)
        case s.Together():
            return replace(st, targets=fold_all(scope, st.targets), values=fold_all(scope, st.values))
        case s.Unpack():
            return replace(st, targets=fold_all(scope, st.targets), value=fold(scope, st.value))
        case s.Assign() | s.Augment():
            return replace(st, target=fold(scope, st.target), value=fold(scope, st.value))
        case s.Evaluate():
            return replace(st, value=fold(scope, st.value))
        case s.While():
            return replace(st, condition=fold(scope, st.condition), body=inner(st.body))
        case s.For():
            start, stop, step = fold(scope, st.start), fold(scope, st.stop), fold(scope, st.step)
            return replace(st, start=start, stop=stop, step=step, unroll=maybe(scope, st.unroll), body=inner(st.body))
        case s.Return():
            return replace(st, value=maybe(scope, st.value))
        case s.Group():
            return replace(st, unit=fold(scope, st.unit), body=inner(st.body))
        case s.Split():
            arms = tuple(replace(arm, size=fold(scope, arm.size), body=inner(arm.body)) for arm in st.arms)
            return replace(st, level=fold(scope, st.level), arms=arms)
        case s.Partition():
            facts: Fields = {name: maybe(scope, getattr(st, name)) for name in ("source", "unit", "offset", "races")}
            return replace(st, **facts, body=inner(st.body))
        case s.Claim():
            facts = {name: maybe(scope, getattr(st, name)) for name in ("source", "unit", "offset", "in_flight")}
            return replace(st, **facts, body=inner(st.body))
        case s.Async():
            return replace(st, source=fold(scope, st.source), body=inner(st.body))
        case s.Roles():
            return replace(st, level=fold(scope, st.level), sizes=fold_all(scope, st.sizes))
        case s.One():
            return replace(st, level=fold(scope, st.level), body=inner(st.body))
        case s.Enter() | s.Turns() | s.Batch():
            return replace(st, body=inner(st.body))
        case s.Nested():
            return fold_nested(scope, st)
        case s.Unsafe():
            given = tuple((k, python_function(scope, v) if k == "meaning" else fold(scope, v)) for k, v in st.keywords)
            return replace(st, text=fold(scope, st.text), keywords=given)
        case _:
            return st
