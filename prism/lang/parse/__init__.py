"""A Python function in, the syntax tree out. What Python allows and Prism doesn't is an error here.

Nothing of the function is evaluated: its text is read. Only the constructs (`group`, `partition`, `range`, ...) are
recognised by what their name stands for in the function's globals and closure: they may be imported under any name.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from prism.lang import surface
from prism.lang.diagnostics import CompileError, Error, Span
from prism.lang.errors import syntax as errors
from prism.lang.parse import scopes
from prism.lang.parse import syntax as s
from prism.lang.parse.expressions import (
    OPERATORS,
    UNKNOWN,
    Context,
    application,
    arguments,
    expression,
    several,
    value_of,
)
from prism.lang.parse.extent import count_statements, measure
from prism.lang.parse.jumps import without_jumps
from prism.lang.parse.source import find

N = TypeVar("N", bound=ast.AST)
R = TypeVar("R")


def parse(kernel: surface.Kernel) -> s.Function:
    """Return a function's syntax tree. Several independent errors are raised together."""
    python = inspect.unwrap(kernel.python)  # of a foreign decorator, which is reported
    try:
        source, node = find(python)
    except RecursionError:  # of Python's own parser, which takes the whole file
        line = python.__code__.co_firstlineno
        here = Span(python.__code__.co_filename, line, 0, line, 1)
        raise CompileError(errors.TooDeep(span=here, name=python.__name__)) from None
    c = Context(source, python, frozenset(kernel.template))
    try:
        function = _function(c, node, measure(c, node))
    except RecursionError:
        raise CompileError(errors.TooDeep(span=source.name_span(node), name=node.name)) from None
    if c.errors:
        raise CompileError(*c.errors)
    return function


# -- The function -----------------------------------------------------------------------------------------------------


def _function(c: Context, node: ast.FunctionDef, length: int) -> s.Function:
    if type_parameters := getattr(node, "type_params", None):
        first = type_parameters[0]
        c.errors.append(errors.TypeParameters(span=c.span(first), name=first.name))
    decorators = tuple(_decorator(c, decorator) for decorator in node.decorator_list)
    parameters = _parameters(c, node.args, None if c.nested is not None else c.python.__defaults__ or ())
    result = place = None
    if node.returns is not None and not (isinstance(node.returns, ast.Constant) and node.returns.value is None):
        result, place = _guard(c, _result, node.returns) or (None, None)
    body = _body(c, node.body)
    code = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    extern = len(code) == 1 and isinstance(code[0], ast.Pass)
    function = s.Function(
        span=c.source.name_span(node), name=node.name, parameters=parameters, result=result, result_place=place,
        body=body, extern=extern, decorators=decorators, length=length,
    )  # fmt: skip
    return without_jumps(function)


def _guard(c: Context, part: Callable[[Context, N], R], node: N) -> R | None:
    """Parse a part; where that fails keep its errors, and those of the statements inside it, and return None."""
    try:
        return part(c, node)
    except CompileError as error:
        c.errors.extend(error.errors)
        for body in _bodies(node):
            _body(c, body)
        return None


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    match node:
        case ast.If() | ast.While() | ast.For():
            yield from (node.body, node.orelse)
        case ast.With():
            yield node.body
        case ast.Match():
            yield from (case.body for case in node.cases)
        case _:
            return


def _decorator(c: Context, node: ast.expr) -> tuple[str, Span]:
    function = node.func if isinstance(node, ast.Call) else node
    found = c.resolve(function)
    ours = isinstance(found, surface.PrismModule) or str(getattr(found, "__module__", "")).split(".")[0] == "prism"
    if found is not UNKNOWN and not ours:
        c.errors.append(errors.ForeignDecorator(span=c.span(node), text=c.text(function)))
    return c.text(function).rpartition(".")[2], c.span(node)


def _parameters(c: Context, a: ast.arguments, values: Sequence[object] | None) -> tuple[s.Parameter, ...]:
    """`values`: what Python made of the defaults; it has not seen those of a function that is inside another."""
    for star, arg in (("*", a.vararg), ("**", a.kwarg)):
        if arg is not None:
            c.errors.append(errors.VariadicParameter(span=c.span(arg), text=f"{star}{arg.arg}", name=arg.arg))
    for arg in a.posonlyargs:
        c.errors.append(errors.ParameterMarker(span=c.span(arg), name=arg.arg, how="positional", marker="/"))
    if a.vararg is None:
        for arg in a.kwonlyargs:
            c.errors.append(errors.ParameterMarker(span=c.span(arg), name=arg.arg, how="keyword", marker="*"))
    positional = [*a.posonlyargs, *a.args]
    missing = len(positional) - len(a.defaults)
    known = [None] * len(a.defaults) if values is None else values
    defaults = dict(zip(positional[missing:], zip(a.defaults, known, strict=False), strict=False))
    found = [_guard(c, lambda c, arg: _parameter(c, arg, defaults.get(arg)), arg) for arg in positional]
    return tuple(parameter for parameter in found if parameter is not None)


def _parameter(c: Context, arg: ast.arg, given: tuple[ast.expr, object] | None) -> s.Parameter:
    if arg.annotation is None:
        raise CompileError(errors.MissingAnnotation(span=c.span(arg), name=arg.arg))
    annotation, place = _annotation(c, arg.annotation)
    default = None if given is None else _default(c, *given)
    return s.Parameter(span=c.span(arg), name=arg.arg, annotation=annotation, place=place, default=default)


def _default(c: Context, node: ast.expr, value: object) -> s.Expr:
    """The number that Python has evaluated; the text, where it has template parameters, which have no value yet."""
    named = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()  # of a number of NumPy's
    if isinstance(value, bool | int | float) and not named & c.template:
        return s.Literal(span=c.span(node), value=value)
    return expression(c, node)


def _result(c: Context, node: ast.expr) -> tuple[s.Expr, s.Expr | None]:
    """Split what stands behind `->`, which may be several types."""
    return _annotation(c, node, result=True)


def _annotation(c: Context, node: ast.expr, *, result: bool = False) -> tuple[s.Expr, s.Expr | None]:
    """Split `type @ place` at its last `@`."""
    match node:
        case ast.Constant(value=str()):
            raise CompileError(errors.QuotedAnnotation(span=c.span(node)))
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            return several(c, left) if result else _type(c, left), expression(c, right)
        case _:
            return _type(c, node), None


def _type(c: Context, node: ast.expr) -> s.Expr:
    """Roles, too, are a type: of parameters."""
    if isinstance(node, ast.Call) and c.resolve(node.func) is surface.roles:
        return application(c, node)
    return expression(c, node)


# -- Statements -------------------------------------------------------------------------------------------------------


def _body(c: Context, nodes: Sequence[ast.stmt]) -> s.Body:
    """Parse statements; those with errors are left out, and their errors kept."""
    found = [_guard(c, _statement, node) for node in nodes]
    return tuple(statement for statement in found if statement is not None)


def _statement(c: Context, node: ast.stmt) -> s.Stmt:  # noqa: C901
    span = c.source.keyword(node)
    match node:
        case ast.Pass():
            return s.Pass(span=span)
        case ast.Break():
            return s.Break(span=span)
        case ast.Continue():
            return s.Continue(span=span)
        case ast.Return(value=value):
            return s.Return(span=span, value=None if value is None else several(c, value))
        case ast.Expr():
            return _evaluate(c, node)
        case ast.AnnAssign():
            return _declare(c, node)
        case ast.Assign():
            return _assign(c, node)
        case ast.AugAssign():
            return _augment(c, node)
        case ast.If(test=test, body=then, orelse=otherwise):
            condition = expression(c, test)
            return s.If(
                span=c.header(node, test), condition=condition, then=_body(c, then), otherwise=_body(c, otherwise)
            )
        case ast.While():
            return _while(c, node)
        case ast.For():
            return _for(c, node)
        case ast.With():
            return _with(c, node)
        case ast.Match():
            return _split(c, node)
        case ast.FunctionDef():
            return _nested(c, node)
        case ast.Nonlocal() if c.nested is not None:
            return s.Pass(span=span)
        case _:
            raise c.unsupported_error(node)


def _evaluate(c: Context, node: ast.Expr) -> s.Stmt:
    span = c.span(node)
    match node.value:
        case ast.Constant(value=value) if isinstance(value, str) or value is ...:
            return s.Pass(span=span)
        case ast.Call() as call:
            if c.resolve(call.func) is surface.unsafe:
                return _unsafe(c, call)
            return s.Evaluate(span=span, value=expression(c, call))
        case ast.Compare(left=left, ops=[ast.Eq()]):
            expression(c, node.value)
            raise CompileError(errors.NoEffect(span=span, change=f"to assign, write `{c.text(left)} = ...`"))
        case value:
            expression(c, value)
            raise CompileError(errors.NoEffect(span=span, change="assign the value to a variable, or remove the line"))


def _unsafe(c: Context, call: ast.Call) -> s.Unsafe:
    if len(call.args) != 1:
        raise scopes.misuse(c, call, "unsafe", "takes one text", f"{len(call.args)} arguments")
    values, keywords = arguments(c, call)
    return s.Unsafe(span=c.span(call), text=values[0], keywords=keywords)


def _declare(c: Context, node: ast.AnnAssign) -> s.Declare:
    if not isinstance(node.target, ast.Name):
        change = "declare the array or variable itself, once, and assign its elements without a type"
        raise CompileError(_bad_target(c, node.target, "declare", "a plain name", change))
    annotation, place = _annotation(c, node.annotation)
    value = None if node.value is None else value_of(c, node.value)
    name, name_span = node.target.id, c.span(node.target)
    return s.Declare(span=c.span(node), name=name, name_span=name_span, annotation=annotation, place=place, value=value)


def _assign(c: Context, node: ast.Assign) -> s.Stmt:
    if (named := scopes.roles(c, node)) is not None:
        return named
    if len(node.targets) > 1:
        last, value = c.text(node.targets[-1]), c.text(node.value)
        raise CompileError(errors.ChainedAssignment(span=c.span(node), last=last, value=value))
    match node.targets[0], node.value:
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            left, right = tuple(_target(c, e) for e in targets), tuple(expression(c, e) for e in values)
            return s.Together(span=c.span(node), targets=left, values=right)
        case ast.Tuple(elts=targets), whole if not isinstance(whole, ast.Tuple):
            left = tuple(_target(c, e) for e in targets)
            return s.Unpack(span=c.span(node), targets=left, value=expression(c, whole))
    return s.Assign(span=c.span(node), target=_target(c, node.targets[0]), value=value_of(c, node.value))


def _augment(c: Context, node: ast.AugAssign) -> s.Augment:
    if isinstance(node.op, ast.MatMult | ast.Pow):
        raise c.unsupported_error(node, node.op)
    op, value = OPERATORS[type(node.op)], expression(c, node.value)
    return s.Augment(span=c.span(node), target=_target(c, node.target), op=op, value=value)


def _target(c: Context, node: ast.expr) -> s.Expr:
    match node:
        case ast.Name() | ast.Subscript() | ast.Attribute():
            return expression(c, node)
        case ast.Tuple() | ast.List():
            raise CompileError(errors.Unpacking(span=c.span(node)))
        case _:
            change = "assign to a local, an element `a[i]`, a component `v[0]` or a field `v.x`"
            raise CompileError(_bad_target(c, node, "assign to", "a name or an element", change))


def _bad_target(c: Context, node: ast.expr, verb: str, expected: str, change: str) -> Error:
    return errors.BadTarget(span=c.span(node), verb=verb, text=c.text(node), expected=expected, change=change)


def _while(c: Context, node: ast.While) -> s.While:
    if node.orelse:
        c.errors.append(errors.LoopElse(span=c.span(node.orelse[0]), loop="while"))
    return s.While(span=c.header(node, node.test), condition=expression(c, node.test), body=_body(c, node.body))


def _loop_over(c: Context, name: str, values: ast.expr) -> str:
    """Return how a loop over what is no range is written: numbers that are listed stand in an array, and that is indexed."""
    if not isinstance(values, ast.Tuple | ast.List):
        return f"loop over the indices: `for i in range(n):`, and use `{c.text(values)}[i]` for `{name}`"
    if bounds := _bounds(values.elts):
        return f"write `for {name} in range({bounds}):`"
    listed, number = ", ".join(map(ast.unparse, values.elts)), len(values.elts)
    kind = "float32" if any(isinstance(e, ast.Constant) and type(e.value) is float for e in values.elts) else "int"
    return (
        f"list them in an array, `{name}_values: {kind}[{number}] = [{listed}]`, then "
        f"`for {name}_index in range({number}):` with `{name}_values[{name}_index]` for `{name}`"
    )


def _bounds(listed: list[ast.expr]) -> str:
    """Return what `range` takes for numbers that are listed, if they are as far apart as each other; nothing otherwise."""
    try:
        numbers = [ast.literal_eval(one) for one in listed]
    except ValueError:
        return ""
    step = numbers[1] - numbers[0] if len(numbers) > 1 and all(type(one) is int for one in numbers) else 0
    if not step or numbers != [*range(numbers[0], numbers[-1] + step, step)]:
        return ""
    first = "" if not numbers[0] and step == 1 else f"{numbers[0]}, "
    return f"{first}{numbers[-1] + (1 if step > 0 else -1)}" + ("" if step == 1 else f", {step}")


def _for(c: Context, node: ast.For) -> s.For:
    if node.orelse:
        c.errors.append(errors.LoopElse(span=c.span(node.orelse[0]), loop="for"))
    if not isinstance(node.target, ast.Name):
        raise CompileError(errors.LoopTarget(span=c.span(node.target), text=c.text(node.target)))
    call = node.iter
    if not isinstance(call, ast.Call) or c.resolve(call.func) is not range:
        raise CompileError(errors.NotRange(span=c.span(call), change=_loop_over(c, node.target.id, call)))
    start, stop, step, unroll = _range(c, call)
    return s.For(
        span=c.header(node, call), name=node.target.id, name_span=c.span(node.target),
        start=start, stop=stop, step=step, unroll=unroll, body=_body(c, node.body),
    )  # fmt: skip


def _range(c: Context, call: ast.Call) -> tuple[s.Expr, s.Expr, s.Expr, s.Expr | None]:
    span = c.span(call)
    bounds, keywords = arguments(c, call)
    for keyword in call.keywords:
        if keyword.arg != "unroll":
            raise CompileError(errors.RangeArguments(span=c.span(keyword), fault=f"has no `{keyword.arg}=`"))
    zero, one = s.Literal(span=span, value=0), s.Literal(span=span, value=1)
    unroll = dict(keywords).get("unroll")
    match bounds:
        case [stop]:
            return zero, stop, one, unroll
        case [start, stop]:
            return start, stop, one, unroll
        case [start, stop, step]:
            return start, stop, step, unroll
        case _:
            raise CompileError(errors.RangeArguments(span=span, fault=f"{len(bounds)} arguments"))


def _nested(c: Context, node: ast.FunctionDef) -> s.Nested:
    """A function inside another one: constants, its name and its bound are known from around it, all else is its own."""
    every = [*_own_nodes(node)]
    shared = frozenset(name for n in every if isinstance(n, ast.Nonlocal) for name in n.names)
    bound = {n.id for n in every if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} - shared
    bound |= {n.arg for n in every if isinstance(n, ast.arg)} | {
        n.name for n in every if isinstance(n, ast.FunctionDef)
    }
    inside = replace(c, nested=(c.nested or frozenset()) | bound)
    declared = {n.target.id for n in every if isinstance(n, ast.AnnAssign | ast.For) and isinstance(n.target, ast.Name)}
    for n in every:
        for target in _assigned(c, n):
            if target.id in bound - declared:
                raise CompileError(errors.NestedAssign(span=c.span(target), name=target.id))
    requires: tuple[s.Expr, ...] | None = None
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        if call is not None and c.resolve(call.func) is surface.requires and not call.keywords:
            requires = arguments(c, _open_quotes(call))[0]
        elif not _marks_device(c, decorator):
            raise CompileError(errors.NestedDecorator(span=c.span(decorator), text=c.text(decorator), name=node.name))
    function = _function(inside, node, count_statements(node))
    return s.Nested(span=function.span, function=function, requires=requires, shared=shared)


def _open_quotes(bound: ast.Call) -> ast.Call:
    """Return a bound in which `thread["THREADS"]` is `thread[THREADS]`; of a text that is no expression, as it was."""
    bound = copy.deepcopy(bound)
    for node in ast.walk(bound):
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
        ):
            with suppress(SyntaxError):
                size = ast.parse(node.slice.value.strip(), mode="eval").body
                for part in ast.walk(size):
                    ast.copy_location(part, node.slice)
                node.slice = size
    return bound


def _assigned(c: Context, node: ast.AST) -> Iterator[ast.Name]:
    """Yield the names that a statement gives another value; one that names an index function, or roles, declares them."""
    if isinstance(node, ast.AugAssign):
        yield from (n for n in (node.target,) if isinstance(n, ast.Name))
    elif isinstance(node, ast.Assign) and not isinstance(node.value, ast.Lambda):
        roles = isinstance(node.value, ast.Call) and c.resolve(node.value.func) is surface.roles
        for target in () if roles else node.targets:
            every = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            yield from (n for n in every if isinstance(n, ast.Name))


def _own_nodes(node: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those of the bodies of functions inside it."""
    left: list[ast.AST] = [node.args, *node.body]
    for one in left:
        yield one
        if not isinstance(one, ast.FunctionDef):
            left.extend(ast.iter_child_nodes(one))


def _marks_device(c: Context, decorator: ast.expr) -> bool:
    """Whether a decorator is `@device`, or `@prism("device")`."""
    if not isinstance(decorator, ast.Call):
        return c.resolve(decorator) is surface.device
    found = c.resolve(decorator.func)
    kind = decorator.args[0] if decorator.args else None
    device = isinstance(kind, ast.Constant) and kind.value == "device"
    return device and (found is surface.mark or isinstance(found, surface.PrismModule))


# -- Constructs -------------------------------------------------------------------------------------------------------


def _with(c: Context, node: ast.With) -> s.Stmt:
    return scopes.scope(c, node)(_body(c, node.body))


def _split(c: Context, node: ast.Match) -> s.Split:
    level = node.subject
    span = c.header(node, level)
    if isinstance(level, ast.Call) and c.resolve(level.func) is surface.split:
        if len(level.args) != 1 or level.keywords:
            raise scopes.misuse(c, level, "split", "takes one level", "`thread`, `warp`, `warpgroup` or `block`")
        level = level.args[0]
    elif not isinstance(c.resolve(level), surface.LevelName):
        name = level.func if isinstance(level, ast.Call) else level
        unknown = isinstance(name, ast.Name) and name.id == "split" and c.resolve(name) is UNKNOWN
        raise CompileError((errors.SplitUnknown if unknown else errors.NotSplit)(span=c.span(level)))
    parsed = expression(c, level)
    arms = [_guard(c, _case, case) for case in node.cases]
    return s.Split(span=span, level=parsed, arms=tuple(arm for arm in arms if arm is not None))


def _case(c: Context, case: ast.match_case) -> s.Case:
    if case.guard is not None:
        c.errors.append(errors.CaseGuard(span=c.span(case.guard)))
    size = _guard(c, _size, case.pattern)
    body = _body(c, case.body)
    span = c.span(case.pattern)
    return s.Case(span=span, size=s.Literal(span=span, value=0) if size is None else size, body=body)


def _size(c: Context, pattern: ast.pattern) -> s.Expr:
    """`case 32`, `case config.WARPS`, and `case WARPS`, which Python takes for a capture."""
    match pattern:
        case ast.MatchValue(value=value) if not isinstance(value, ast.Constant) or isinstance(value.value, int):
            return expression(c, value)
        case ast.MatchAs(pattern=None, name=str() as name):
            return s.Name(span=c.span(pattern), name=name)
        case _:
            raise CompileError(errors.case_pattern(c.span(pattern), c.text(pattern), isinstance(pattern, ast.MatchAs)))
