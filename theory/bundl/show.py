"""The printer of Bundl's text form; `text` has the form and the parser."""

from __future__ import annotations

from collections.abc import Callable

from theory.bundl import syntax as x
from theory.bundl.syntax import ArrayOf, Base, Expr, Stmt

WIDTH = 110


def show(term: x.Node) -> str:
    """Return the text of a program, a statement or an expression."""
    if isinstance(term, x.Program):
        return "\n".join([*_header(term), _statement(term.body, "")]) + "\n"
    if isinstance(term, (x.Var, x.Int, x.Float, x.Bool, x.Id, x.Index, x.Bop, x.Cmp)):
        return _expr(term)
    if isinstance(term, x.Function):
        return _function(term)
    return _statement(term, "")  # type: ignore[arg-type]


def _header(term: x.Program) -> list[str]:
    lines = [f"budget {term.budget}"] if term.budget else []
    for given in term.inputs:
        lines.append(f"input {given.name} : {given.element.value} = [{', '.join(map(_literal, given.cells))}]")
    return lines + [_function(function) for function in term.functions]


def _function(term: x.Function) -> str:
    head = f"fun {term.name}({_params(term.params)}) @ {term.at} uses {term.budget} "
    return head + _block(term.body, "", len(head))


def _params(params: tuple[x.Param, ...]) -> str:
    return ", ".join(f"{param.name} : {_type(param.type)} @ {param.at}" for param in params)


def _type(type_: Base | ArrayOf) -> str:
    return type_.value if isinstance(type_, Base) else f"{type_.element.value}[]{type_.kind.value}"


def _literal(value: bool | int | float) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _expr(e: Expr, nested: bool = False) -> str:
    match e:
        case x.Var(name):
            return name
        case x.Int(value) | x.Float(value) | x.Bool(value):
            return _literal(value)
        case x.Id():
            return "id"
        case x.Index(array, index):
            return f"{_expr(array, True)}[{_expr(index)}]"
        case x.Bop(op, left, right) | x.Cmp(op, left, right):
            text = f"{_expr(left, True)} {op} {_expr(right, True)}"
            return f"({text})" if nested else text


def _block(s: Stmt, indent: str, used: int) -> str:
    """Return `{ s }`, on one line where it fits."""
    flat = _statement(s, None)
    if len(indent) + used + len(flat) + 4 <= WIDTH:
        return f"{{ {flat} }}"
    inner = indent + "  "
    return f"{{\n{inner}{_statement(s, inner)}\n{indent}}}"


def _statement(s: Stmt, indent: str | None) -> str:
    """Return the text of a statement whose first line is already indented; on one line if `indent` is None."""

    def block(body: Stmt, used: int = 60) -> str:
        return f"{{ {_statement(body, None)} }}" if indent is None else _block(body, indent, used)

    if isinstance(s, x.Seq):
        first = _statement(s.first, indent)
        if isinstance(s.first, x.Seq):
            first = block(s.first, 4)
        return f"{first};{' ' if indent is None else chr(10) + indent}{_statement(s.second, indent)}"
    if isinstance(s, x.RUNTIME):
        return _runtime(s, block)
    return _source(s, block)


def _source(s: Stmt, block: Callable[[Stmt], str]) -> str:  # noqa: C901
    match s:
        case x.Skip():
            return "skip"
        case x.Call(function, args):
            return f"{function}({', '.join(_expr(e) for e in args)})"
        case x.Split(left, right, first, second):
            return f"split({left}, {right}) {block(first)} {block(second)}"
        case x.Destruct(body):
            return f"destruct {block(body)}"
        case x.Group(parts, body):
            return f"group {parts} {block(body)}"
        case x.Assign(name, value):
            return f"{name} = {_expr(value)}"
        case x.Store(array, index, value):
            return f"{_expr(array, True)}[{_expr(index)}] = {_expr(value)}"
        case x.Declare(name, type_, pi, value, body):
            return f"let {name} : {_type(type_)} @ {pi} = {_expr(value)} {block(body)}"
        case x.Alloc(name, kind, element, count, body, at):
            place = "" if at is None else f"@ {at} "
            return f"alloc {name} : {element.value}[{count}] {kind.value} {place}{block(body)}"
        case x.If(test, then, other):
            return f"if {_expr(test)} {block(then)} else {block(other)}"
        case x.While(test, body):
            return f"while {_expr(test)} {block(body)}"
        case x.Partition(psi, source, name, parts, body, view):
            where = f" at ({_expr(view.offset)}, {_expr(view.step)}, {_expr(view.length)})" if view else ""
            return f"partition {psi}: {source} as {name} by {parts}{where} {block(body)}"
        case x.Claim(psi, source, name, size, body, arm):
            return f"claim {psi}: {source} as {name} at {size}{f' arm {arm}' if arm else ''} {block(body)}"
        case x.Lower(psi, source, name, body):
            return f"lower {psi}: {source} as {name} {block(body)}"
        case x.AsyncPartition(phi, source, name, body):
            return f"async {phi}: {source} as {name} {block(body)}"
        case x.AsyncMemcpy(phi, target, source):
            return f"async_memcpy {phi}: {target} from {source}"
        case x.Memcpy(target, source):
            return f"memcpy {target} from {source}"
    raise TypeError(f"{s!r} is not a source statement")


def _runtime(s: Stmt, block: Callable[[Stmt], str]) -> str:
    match s:
        case x.Init(psi) | x.Dec(psi) | x.Wait(psi):
            return f"{type(s).__name__.lower()} {psi}"
        case x.Free(count):
            return f"free {count}"
        case x.Leave(name, kind, count):
            return f"leave {name}[{count}] {kind.value}"
        case x.Arm(size, index, body):
            return f"arm {index} of {size} {block(body)}"
        case x.Scope(name, type_, pi, body, hides, held):
            more = (f" hides {hides}" if hides else "") + (f" holds {held}" if held else "")
            return f"scope {name} : {_type(type_)} @ {pi}{more} {block(body)}"
        case x.Frame(params, pi, budget, body):
            return f"frame ({_params(params)}) @ {pi} uses {budget} {block(body)}"
    raise TypeError(f"{s!r} is not a run-time form")
