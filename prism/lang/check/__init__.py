"""Check: from a kernel and its template arguments to a typed tree, with every function that it reaches.

One function per rule, named as the rule is: expressions.py (R7, R19), ids.py (R12), assign.py (R6, R8, R17, R18, R25, R28),
statements.py (R9-R11), data.py (R2-R5, R20-R23), calls.py and intrinsics.py (R13-R15, R26), here R1, R26, R29, R30 and the
function itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from prism.lang import surface, tree
from prism.lang import syntax as s
from prism.lang.check import annotation
from prism.lang.check.env import Context, Env, Poison, Poisoned, fail
from prism.lang.check.fragments import placed
from prism.lang.check.purity import is_pure, trusted
from prism.lang.check.raw import extern_body
from prism.lang.check.registers import check_registers
from prism.lang.check.statements import check_body
from prism.lang.check.tiles import check_map_parameter
from prism.lang.diagnostics import CompileError, Error, Label, Span
from prism.lang.errors import calls as call_errors
from prism.lang.errors import names as name_errors
from prism.lang.errors import perspective as rules
from prism.lang.errors import raw as raw_errors
from prism.lang.errors import types as type_errors
from prism.lang.instantiate import PYTHON_TYPES, instantiate
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.parse import parse
from prism.lang.perspective import Bound, Level, Perspective
from prism.lang.structs import scalar_called, struct_of
from prism.lang.types import ALIASES, VOID, Array, Fragment, Mailbox, Pointer, Scalar, TensorMap, Vector

PARSED: dict[surface.Kernel, s.Function] = {}


def check(kernel: surface.Kernel, template: Mapping[str, object] | None = None) -> tuple[tree.Function, ...]:
    """Return the kernel and every function it calls, callees first, all checked. Raises CompileError."""
    session = Session()
    session(kernel, template or {}, None)
    return tuple(session.done.values())


def parsed_of(kernel: surface.Kernel) -> s.Function:
    """Return the kernel's syntax tree; parsed once."""
    if kernel not in PARSED:
        PARSED[kernel] = parse(kernel)
    return PARSED[kernel]


@dataclass(eq=False)
class Session:
    """The functions checked so far, by kernel and template arguments; callable as `resolve` from inside the rules."""

    done: dict[tuple[object, ...], tree.Function] = field(default_factory=dict)
    failed: set[tuple[object, ...]] = field(default_factory=set)
    open: list[surface.Kernel] = field(default_factory=list)

    def parsed(self, kernel: surface.Kernel) -> s.Function:
        """Return a callee's syntax tree."""
        return parsed_of(kernel)

    def __call__(self, kernel: surface.Kernel, template: Mapping[str, object], call: Span | None) -> tree.Function:
        """Return the checked instance; errors inside it carry the first call that asked for it (R30: no recursion)."""
        parsed = parsed_of(kernel)
        bound_template = bind_template(kernel, parsed, template, call)
        key = (kernel, *sorted(bound_template.items(), key=lambda item: item[0]))
        if key in self.done:
            return self.done[key]
        if key in self.failed:
            raise Poisoned
        if kernel in self.open:
            through = [k.__name__ for k in self.open[self.open.index(kernel) + 1 :]]
            text = " through " + ", ".join(f"`{name}`" for name in through) if through else ""
            fail(call_errors.Recursion(span=call or parsed.span, name=kernel.__name__, through=text))
        self.open.append(kernel)
        try:
            function = check_function(self, kernel, parsed, bound_template)
        except (CompileError, Poisoned) as failure:
            self.failed.add(key)
            if call is None or isinstance(failure, Poisoned):
                raise
            raise CompileError(*(traced(error, kernel, bound_template, call) for error in failure.errors)) from None
        finally:
            self.open.pop()
        self.done[key] = replace(function, identifier=self.identifier(kernel))
        return self.done[key]

    def identifier(self, kernel: surface.Kernel) -> str:
        """Return a C++ name that is unique in the program."""
        name = re.sub(r"\W", "_", kernel.__name__, flags=re.ASCII)
        taken = sum(1 for function in self.done.values() if function.name == kernel.__name__)
        return f"prism_{name}" + (f"_{taken + 1}" if taken else "")


def traced(error: Error, kernel: surface.Kernel, template: Mapping[str, object], call: Span) -> Error:
    """Return the error with one more step of the call chain."""
    given = ", ".join(f"{name}={show(value)}" for name, value in template.items())
    text = f"`{kernel.__name__}` is called here" + (f", with {given}" if given else "")
    return replace(error, trace=(*error.trace, Label(call, text)))


def show(value: object) -> str:
    """Return a template argument as a message shows it."""
    return getattr(value, "__name__", None) or getattr(value, "name", None) or str(value)


# -- templates ------------------------------------------------------------------------------------------------------------


def bind_template(
    kernel: surface.Kernel, parsed: s.Function, given: Mapping[str, object], call: Span | None
) -> dict[str, object]:
    """R26 TEMPLATE: every parameter has a compile-time value of its kind."""
    span = call or parsed.span
    have = ", ".join(kernel.template) or "none"
    for name in given:
        if name not in kernel.template:
            fail(name_errors.TemplateUnknown(span=span, name=name, function=kernel.__name__, have=have))
    bound: dict[str, object] = {}
    for name, kind in kernel.template.items():
        if name not in given:
            fail(name_errors.TemplateMissing(span=span, name=name, function=kernel.__name__))
        bound[name] = template_argument(kernel, name, kind, given[name], span)
    return bound


def template_argument(kernel: surface.Kernel, name: str, kind: object, value: object, span: Span) -> object:
    """Return a template argument in the form that the compiler uses, or fail."""
    if kind is surface.dtype:
        scalar = as_scalar(value)
        if scalar is not None:
            return scalar
        wanted = "a dtype"
    elif kind is surface.function:
        if isinstance(value, surface.Kernel | Intrinsic):
            return value
        wanted = "a device function"
    else:
        if isinstance(value, bool | int | float):
            return value
        if hasattr(value, "item") and getattr(value, "shape", None) == ():
            return value.item()
        wanted = "a number"
    where = value.span if isinstance(value, s.Node) else span
    given = "a run-time value" if isinstance(value, s.Node) else f"`{show(value)}`"
    fail(name_errors.TemplateKind(span=where, name=name, function=kernel.__name__, wanted=wanted, given=given))


def as_scalar(value: object) -> Scalar | None:
    """Return the scalar type that a dtype argument names: ours, Python's, NumPy's or a name."""
    if isinstance(value, Scalar):
        return value
    if isinstance(value, type) and value in PYTHON_TYPES:
        return PYTHON_TYPES[value]
    name = value if isinstance(value, str) else getattr(value, "name", None) or getattr(value, "__name__", "")
    if isinstance(value, np.dtype) and (found := struct_of(value)) is not None:
        return found
    plain = str(name).rstrip("_")
    return scalar_called(plain) or ALIASES.get(plain)


# -- one function ---------------------------------------------------------------------------------------------------------


def check_function(
    session: Session, kernel: surface.Kernel, parsed: s.Function, template: Mapping[str, object]
) -> tree.Function:
    """Check one instance: its bound (R1), its parameters, its result, its body."""
    if parsed.extern and kernel.external is None:
        fail(call_errors.Extern(span=parsed.span, name=parsed.name))
    spans = dict(parsed.decorators)
    bound = check_requires(kernel, parsed, template, spans.get("requires", parsed.span))
    if kernel.cooperative and bound.grid is None:
        fail(rules.BoundCooperative(span=spans.get("requires", parsed.span), name=parsed.name, bound=str(bound)))
    function = instantiate(kernel, parsed, template)
    context = Context(kernel, session, bound_span=spans.get("requires"), entry=bound.code)
    env = Env(context, bound, {}, {})
    parameters: list[tree.Symbol] = []
    for parameter in function.parameters:
        try:
            symbol = check_parameter(parameter, kernel.kind)
            parameters.append(symbol)
            env = env.bind(symbol)
        except CompileError as failure:
            context.errors.extend(failure.errors)
            env = replace(env, names={**env.names, parameter.name: Poison()})
    check_result(context, function)
    if kernel.external is not None:
        if not parsed.extern:
            fail(raw_errors.ExternBody(span=parsed.span, name=parsed.name))
        returns = context.result not in (None, VOID)
        body = extern_body(env, parsed, kernel.external, tuple(parameters), returns=returns)
    else:
        body = check_body(env, function.body)
    if context.silent and not context.errors:
        raise Poisoned
    if context.result not in (None, VOID) and not context.errors and not always_returns(body):
        text = f"{context.result} @ {context.result_perspective}"
        context.errors.append(call_errors.ReturnMissing(span=parsed.span, name=parsed.name, result=text))
    if context.errors:
        raise CompileError(*context.errors)
    attributes = tuple(fill(text, template) for text in kernel.attributes)
    check_registers(kernel.kind, attributes, bound, body, parsed.span)
    limit = shared_limit(kernel, template, dict(parsed.decorators).get("requires", parsed.span))
    return tree.Function(
        name=parsed.name, identifier=parsed.name, kind=kernel.kind, bound=bound, parameters=tuple(parameters),
        result=context.result or VOID, result_perspective=context.result_perspective, body=body, shared_limit=limit,
        attributes=attributes, may_alias=kernel.may_alias,
        pure=is_pure(tuple(parameters), context.result or VOID, body), template=template, file=parsed.span.file, span=parsed.span,
        trusts=trusted(tuple(parameters), body), cooperative=kernel.cooperative,
    )  # fmt: skip


def shared_limit(kernel: surface.Kernel, template: Mapping[str, object], span: Span) -> int | None:
    """R16 CALL-SMEM: return what `smem=` says, a number of bytes or nothing."""
    limit = value_of(kernel.smem, template, span)
    if limit is not None and (type(limit) is not int or limit < 0):
        fail(call_errors.SharedLimit(span=span, text=show(limit)))
    return limit


def value_of(given: object, template: Mapping[str, object], span: Span) -> object:
    """Return what a decorator was given; for the name of a template parameter, its argument."""
    if not isinstance(given, surface.TemplateName):
        return given
    if given.name not in template:
        fail(name_errors.TemplateUnbound(span=span, name=given.name))
    return given.value(template)


def check_requires(kernel: surface.Kernel, parsed: s.Function, template: Mapping[str, object], span: Span) -> Bound:
    """R1 BOUND-WF: at most one entry a level, positive constant sizes, threads below every broader entry."""
    if not kernel.requires:
        example = "grid[1], block[1], thread[32]" if kernel.kind == "global" else "thread[1]"
        fail(rules.BoundMissing(span=parsed.span, name=parsed.name, example=example))
    entries: dict[Level, int] = {}
    for entry in kernel.requires:
        if not isinstance(entry, Perspective):
            fail(rules.BoundValue(span=span, text=entry.name if isinstance(entry, surface.LevelName) else str(entry)))
        size = value_of(entry.size, template, span)
        if not isinstance(size, int) or size < 1 or (entry.level == Level.GRID and size != 1):
            fail(rules.BoundValue(span=span, text=f"{entry.level}[{size}]"))
        if entry.level in entries:
            fail(rules.BoundTwice(span=span, level=str(entry.level), first=entries[entry.level], second=size))
        entries[entry.level] = size
    grid, block, thread = (entries.get(level) for level in (Level.GRID, Level.BLOCK, Level.THREAD))
    if grid is not None and block is None:
        block = 1
    bound = Bound(grid, block, thread, whole=block is not None)
    if thread is None:
        bound = Bound(grid, block, 1)
    if kernel.kind == "global" and grid is None:
        fail(rules.BoundKernel(span=span, name=parsed.name, bound=str(bound)))
    return bound


def check_parameter(parameter: s.Parameter, kind: str) -> tree.Symbol:
    """Return a parameter's symbol."""
    meaning = annotation.read(parameter.annotation)
    if parameter.place is None:
        fail(type_errors.MissingPlace(span=parameter.span, name=parameter.name, type=str(meaning.type)))
    if meaning.shared:
        fail(type_errors.SharedParameter(span=parameter.annotation.span, name=parameter.name))
    if isinstance(meaning.type, Mailbox):
        fail(type_errors.NotAType(span=parameter.annotation.span))
    place, type_ = annotation.place(parameter.place), meaning.type
    if isinstance(type_, TensorMap):
        check_map_parameter(parameter.name, place, parameter.place.span)
    if isinstance(type_, Array | Fragment) and kind == "global":
        fail(type_errors.KernelParameter(span=parameter.annotation.span, name=parameter.name, type=str(type_)))
    if isinstance(type_, Fragment):
        type_ = placed(type_, parameter.name, place, parameter.annotation.span, parameter.place.span)
    return tree.Symbol(parameter.name, type_, place, parameter.span, parameter=True, const=meaning.const)


def check_result(context: Context, function: s.Function) -> None:
    """Read the declared result, if there is one."""
    if function.result is None:
        return
    context.result_declared = True
    if isinstance(function.result, s.Literal) or (
        isinstance(function.result, s.Resolved) and function.result.value is None
    ):
        context.result = VOID
        return
    found = annotation.read(function.result).type
    if not isinstance(found, Scalar | Vector | Pointer):
        fail(type_errors.NotAType(span=function.result.span))
    context.result = found
    if function.result_place is None:
        fail(
            type_errors.MissingPlace(
                span=function.result.span, name=f"the result of {function.name}", type=str(context.result)
            )
        )
    context.result_perspective = annotation.place(function.result_place)


def always_returns(body: tree.Body) -> bool:
    """Whether every path through a statement list ends in a return (or never ends)."""
    for statement in body:
        if isinstance(statement, tree.Return) or (isinstance(statement, tree.Unsafe) and statement.returns):
            return True
        if isinstance(statement, tree.If) and always_returns(statement.then) and always_returns(statement.otherwise):
            return True
    return False


def fill(text: str, template: Mapping[str, object]) -> str:
    """Return an attribute's text with template parameters replaced by their numbers."""

    def value(match: re.Match[str]) -> str:
        found = template.get(match.group(0))
        return str(int(found)) if isinstance(found, bool | int) else match.group(0)

    return re.sub(r"[A-Za-z_]\w*", value, text)
