"""Check: from a kernel and its template arguments to a typed tree, with every function that it reaches.

One function per rule, named as the rule is: expressions.py (R7), parts.py (R19), ids.py (R12), assign.py (R6, R8, R17, R18, R25,
R28), statements.py (R9-R11), data.py (R2-R5, R20-R23), arguments.py, calls.py and intrinsics.py (R13-R15, R26), here R1, R26,
R29, R30 and the function itself. table.py has the rule of each kind of node.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from prism.lang import surface, tree
from prism.lang.check import (
    assign,
    asynchronous,
    calls,
    data,
    expressions,
    nested,
    parts,
    raw,
    reuse,
    roles,
    statements,
    tuple_assign,
    turns,
)
from prism.lang.check.attributes import attributes_of
from prism.lang.check.body import check_body
from prism.lang.check.env import Context, Env, Nested, Poison, Poisoned, fail
from prism.lang.check.launch_axes import axes_named, launch_parameters
from prism.lang.check.nested import Why, look_why
from prism.lang.check.purity import is_pure, trusted_pointers
from prism.lang.check.raw import extern_body
from prism.lang.check.registers import check_registers
from prism.lang.check.reuse import Checked, Key
from prism.lang.check.signature import (
    check_parameter,
    check_requires,
    check_result,
    hidden_parameters,
    shared_limit,
    show,
)
from prism.lang.cuda.names import function_name
from prism.lang.diagnostics import CompileError, Error, Fields, Label, Span
from prism.lang.errors import calls as call_errors
from prism.lang.errors import inlined
from prism.lang.errors import names as name_errors
from prism.lang.errors import perspective as rules
from prism.lang.errors import raw as raw_errors
from prism.lang.errors import records as record_errors
from prism.lang.errors import syntax as syntax_errors
from prism.lang.errors.demands import Demand
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.keep.keys import exact_items
from prism.lang.keep.records import is_record_class, items_of
from prism.lang.parse import parse
from prism.lang.parse import syntax as s
from prism.lang.parse.constants import PYTHON_TYPES
from prism.lang.parse.extent import MOST_FUNCTIONS, MOST_STATEMENTS
from prism.lang.parse.instantiate import instantiate
from prism.lang.parse.records import is_constant
from prism.lang.parse.views import Viewed, Written, rewrite
from prism.lang.surface.templates import compute_default
from prism.lang.types import ALIASES, VOID, Scalar
from prism.lang.types.structs import scalar_called, struct_of

RULES = (expressions, parts, calls, statements, assign, tuple_assign, data, roles, asynchronous, turns, raw, nested)
"""Every module whose rules stand in the table, which imports none of them."""

PARSED: MutableMapping[surface.Kernel, s.Function] = weakref.WeakKeyDictionary()


def check(kernel: surface.Kernel, template: Mapping[str, object] | None = None) -> tuple[tree.Function, ...]:
    """Return the kernel and every function it calls, callees first, all checked. Raises CompileError."""
    session = Session()
    try:
        session(kernel, template or {}, None)
    except Exceeded as exceeded:
        entry = parsed_of(kernel)
        error = syntax_errors.TooManyReached(span=entry.span, name=entry.name, what=exceeded.what, most=exceeded.most)
        raise CompileError(error) from None
    return tuple(checked.function for checked in session.done.values())


def parsed_of(kernel: surface.Kernel) -> s.Function:
    """Return the kernel's syntax tree: one and the same for all threads, as nodes are compared by identity."""
    if isinstance(kernel, Nested | Viewed | Written):
        return kernel.syntax
    found = PARSED.get(kernel)
    return PARSED.setdefault(kernel, parse(kernel)) if found is None else found


@dataclass(eq=False)
class Exceeded(Exception):
    """There is more of something in the program than is looked at. It is no CompileError: nothing goes on behind it."""

    what: str
    most: int


@dataclass(eq=False)
class Session:
    """The functions checked so far, by kernel and template arguments; callable as `resolve` from inside the rules."""

    done: dict[Key, Checked] = field(default_factory=dict)
    failed: set[Key] = field(default_factory=set)
    open: list[surface.Kernel] = field(default_factory=list)
    instances: dict[Key, s.Function] = field(default_factory=dict)
    reasons: dict[Key, Why | None] = field(default_factory=dict)
    mentioned: dict[surface.Kernel, tuple[bool, tuple[surface.Kernel, ...]]] = field(default_factory=dict)
    reached: list[dict[Key, Checked]] = field(default_factory=lambda: [{}])
    """What each function that is being checked has reached so far, callees first; and before them, what was asked for."""
    functions: int = 0
    statements: int = 0

    def syntax_of(self, kernel: surface.Kernel) -> s.Function:
        """Return a callee's syntax tree."""
        return parsed_of(kernel)

    def __call__(self, kernel: surface.Kernel, template: Mapping[str, object], call: Span | None) -> tree.Function:
        """Return the checked instance; errors inside it carry the first call that asked for it."""
        parsed = parsed_of(kernel)
        bound_template = bind_template(kernel, parsed, template, call)
        key = key_of(kernel, bound_template)
        if key not in self.done:
            self.functions += 1
            self.count(parsed)
        if key not in self.done and not self.reuse(key, bound_template):
            self.reached.append({})
            try:
                with self.open_instance(kernel, bound_template, call):
                    try:
                        # What is compiled into its callers is not checked without one.
                        alone = call is None and kernel.kind == "device"
                        if alone and (why := self.why_compiled_in(kernel, bound_template)) is not None:
                            fail(inlined.CallAlone(span=why.span, name=kernel.__name__, why=why.short, long=why.long))
                        function = check_function(self, kernel, parsed, bound_template)
                    except RecursionError:
                        raise CompileError(syntax_errors.TooDeep(span=parsed.span, name=parsed.name)) from None
            finally:
                reached = self.reached.pop()
            self.done[key] = Checked(replace(function, identifier=identifier(kernel, self.done)), reached)
            reuse.earlier_checks(kernel, bound_template).append(self.done[key])
        for other, checked in (*self.done[key].reached.items(), (key, self.done[key])):
            self.reached[-1].setdefault(other, checked)
        return self.done[key].function

    def count(self, parsed: s.Function) -> None:
        """Count a function's statements, before they are looked at. Raises Exceeded where the program has become too large."""
        self.statements += parsed.length
        if self.functions > MOST_FUNCTIONS:
            raise Exceeded("functions", MOST_FUNCTIONS)
        if self.statements > MOST_STATEMENTS:
            raise Exceeded("statements", MOST_STATEMENTS)

    def reuse(self, key: Key, template: Mapping[str, object]) -> bool:
        """Take a function as it was checked for another program, where it and what it reaches have the same names in this one."""
        for one in reuse.earlier_checks(_kernel_of(key), template):
            every, done = {**one.reached, key: one}, dict(self.done)
            for other, checked in every.items():
                if other not in done and checked.function.identifier == identifier(_kernel_of(other), done):
                    done[other] = checked
            if all(done.get(other) is checked for other, checked in every.items()):
                self.done = done
                return True
        return False

    @contextmanager
    def open_instance(
        self, kernel: surface.Kernel, template: Mapping[str, object], call: Span | None
    ) -> Iterator[None]:
        """Check an instance inside; its errors carry the call, and are reported once. R30: it does not come to itself."""
        key = key_of(kernel, template)
        if key in self.failed:
            raise Poisoned
        if kernel in self.open:
            through = [k.__name__ for k in self.open[self.open.index(kernel) + 1 :]]
            text = " through " + ", ".join(f"`{name}`" for name in through) if through else ""
            fail(call_errors.Recursion(span=call or parsed_of(kernel).span, name=kernel.__name__, through=text))
        self.open.append(kernel)
        try:
            yield
        except (CompileError, Poisoned) as failure:
            self.failed.add(key)
            if call is None or isinstance(failure, Poisoned):
                raise
            own = [error for error in failure.errors if isinstance(error, Demand) and not error.called]
            if own:  # nothing else that is wrong with such constants is the function's fault
                raise CompileError(*(error.at(call) for error in own)) from None
            raise CompileError(*(add_call(error, kernel, template, call) for error in failure.errors)) from None
        finally:
            self.open.pop()

    def instance(self, kernel: surface.Kernel, template: Mapping[str, object]) -> s.Function:
        """Return a function's syntax tree with these template arguments in it, all of them."""
        key = key_of(kernel, template)
        if key not in self.instances:
            if isinstance(kernel, Viewed):
                folded = instantiate(kernel, parsed_of(kernel.base), template)
                self.instances[key] = rewrite(kernel, folded, parsed_of)
            else:
                parsed = parsed_of(kernel)
                self.instances[key] = parsed if isinstance(kernel, Nested) else instantiate(kernel, parsed, template)
        return self.instances[key]

    def why_compiled_in(self, kernel: surface.Kernel, template: Mapping[str, object]) -> Why | None:
        """Return why a function is compiled into its callers; None of others."""
        key = key_of(kernel, template)
        if key not in self.reasons:
            self.reasons[key] = look_why(self, kernel, template)
        return self.reasons[key]

    def compiled_in(
        self, kernel: surface.Kernel, template: Mapping[str, object], call: Span
    ) -> dict[str, object] | None:
        """Return all template arguments of a function that is compiled into its callers; None for any other."""
        bound_template = bind_template(kernel, parsed_of(kernel), template, call)
        if reuse.earlier_checks(kernel, bound_template):
            return None  # it was checked by itself
        with self.open_instance(kernel, bound_template, call):
            found = self.why_compiled_in(kernel, bound_template)
        if found is not None:  # each call has the body for itself
            self.count(parsed_of(kernel))
        return None if found is None else bound_template


def identifier(kernel: surface.Kernel, done: Mapping[Key, Checked]) -> str:
    """Return a function's name in C++, which is unique in a program that has these others."""
    return function_name(kernel.__name__, {checked.function.identifier for checked in done.values()})


def key_of(kernel: surface.Kernel, template: Mapping[str, object]) -> Key:
    """Return what names an instance."""
    return (kernel, *exact_items(template.items()))


def _kernel_of(key: Key) -> surface.Kernel:
    assert isinstance(key[0], surface.Kernel)
    return key[0]


def add_call(error: Error, kernel: surface.Kernel, template: Mapping[str, object], call: Span) -> Error:
    """Return the error with one more step of the call chain."""
    given = ", ".join(f"{name}={show(value)}" for name, value in template.items())
    text = f"`{kernel.__name__}` is called here" + (f", with {given}" if given else "")
    return replace(error, trace=(*error.trace, Label(call, text)))


# -- templates ------------------------------------------------------------------------------------------------------------


def bind_template(
    kernel: surface.Kernel, parsed: s.Function, given: Mapping[str, object], call: Span | None
) -> dict[str, object]:
    """R26 TEMPLATE: every parameter has a compile-time value of its kind: given, or its default."""
    span = call or parsed.span
    have = ", ".join(kernel.template) or "none"
    for name in given:
        if name not in kernel.template:
            fail(name_errors.TemplateUnknown(span=span, name=name, function=kernel.__name__, have=have))
    bound: dict[str, object] = {}
    for name, kind in kernel.template.items():
        if name not in given and name in kernel.defaults:
            bound[name] = default_argument(kernel, parsed, name, bound)
            continue
        if name not in given:
            host = f'give it: `template={{"{name}": ...}}`, on the command line `-t {name}=...`'
            change = host if call is None else f"pass it by name: `{name}=...`"
            fail(name_errors.TemplateMissing(span=span, name=name, function=kernel.__name__, change=change))
        bound[name] = template_argument(kernel, name, kind, given[name], span)
    return bound


def default_argument(kernel: surface.Kernel, parsed: s.Function, name: str, bound: Mapping[str, object]) -> object:
    """R26 TEMPLATE: return the default of a parameter, which may be computed of those before it."""
    span = dict(parsed.decorators).get("template", parsed.span)
    try:
        value = compute_default(kernel.defaults[name], bound)
    except Exception as error:  # whatever a function of the user's raises
        fault = f"{type(error).__name__}: {error}"
        fail(name_errors.TemplateDefault(span=span, name=name, function=kernel.__name__, fault=fault))
    return template_argument(kernel, name, kernel.template[name], value, span)


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
    elif (record := record_kind(kind)) is not None:
        if type(value) is record:
            require_constants(kernel, name, value, span)
            return value
        wanted = f"a `{record.__name__}`"
    else:
        if hasattr(value, "item") and getattr(value, "shape", None) == ():
            value = value.item()
        known = number_kind(kind)
        wanted = "a number" if known is None else WANTED[known.kind]
        if isinstance(value, TAKEN[known.kind] if known is not None else bool | int | float):
            return value
    where = value.span if isinstance(value, s.Node) else span
    given = repr(value) if isinstance(value, str) else f"`{show(value)}`"
    given = "a run-time value" if isinstance(value, s.Node) else given
    fail(name_errors.TemplateKind(span=where, name=name, function=kernel.__name__, wanted=wanted, given=given))


def record_kind(kind: object) -> type | None:
    """Return the class of records that `constexpr(Cut)` declares a template parameter to have; None of other declarations."""
    found = kind.args[0] if isinstance(kind, surface.Record) and kind.args else None
    return found if is_record_class(found) else None


def require_constants(kernel: surface.Kernel, name: str, record: object, span: Span) -> None:
    """R26 TEMPLATE: the fields of a record are constants."""
    for field_name, value in items_of(record):
        if not is_constant(value):
            facts: Fields = {"name": name, "field": field_name, "kind": type(value).__name__}
            fail(record_errors.RecordField(span=span, function=kernel.__name__, **facts))


WANTED = {"int": "an integer", "uint": "an integer", "bool": "True or False", "float": "a number"}
TAKEN: Mapping[str, Any] = {"int": int, "uint": int, "bool": bool, "float": bool | int | float}
"""What a `constexpr` of such a type takes, and in words."""


def number_kind(kind: object) -> Scalar | None:
    """Return the type that `constexpr(int)`, or `int`, declares a template parameter to have; None of other declarations."""
    if isinstance(kind, surface.Record) and kind.name == surface.constexpr.name and len(kind.args) == 1:
        kind = kind.args[0]
    found = as_scalar(kind) if isinstance(kind, type | Scalar) else None
    return found if found is not None and found.kind in TAKEN else None


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
    spans = dict(parsed.decorators)
    bound = check_requires(kernel, parsed, template, spans.get("requires", parsed.span))
    if kernel.cooperative and bound.grid is None:
        fail(rules.BoundCooperative(span=spans.get("requires", parsed.span), name=parsed.name, bound=str(bound)))
    function = session.instance(kernel, template)
    context = Context(kernel, session, bound_span=spans.get("requires"), entry=bound.code, template=template)
    env = Env(context, bound, {}, {})
    parameters, env = check_parameters(env, function)
    check_result(context, function)
    if parsed.extern and kernel.external is None:  # what is wrong with its signature is said with it
        raise CompileError(*context.errors, call_errors.Extern(span=parsed.span, name=parsed.name))
    if kernel.external is not None:
        if not parsed.extern:
            fail(raw_errors.ExternBody(span=parsed.span, name=parsed.name))
        returns = context.result not in (None, VOID)
        body = extern_body(env, parsed, kernel.external, parameters, returns=returns)
    else:
        body = check_body(env, function.body)
    if context.silent and not context.errors:
        raise Poisoned
    if context.result not in (None, VOID) and not context.errors and not always_returns(body):
        text = f"{context.result} @ {context.result_perspective}"
        context.errors.append(call_errors.ReturnMissing(span=parsed.span, name=parsed.name, result=text))
    if context.errors:
        raise CompileError(*context.errors)
    attributes = attributes_of(kernel, template, spans.get("attr", parsed.span))
    check_registers(kernel.kind, attributes.launch_bounds, bound, body, parsed.span)
    limit = shared_limit(kernel, template, dict(parsed.decorators).get("requires", parsed.span))
    return tree.Function(
        name=parsed.name, identifier=parsed.name, kind=kernel.kind, bound=bound, parameters=parameters,
        result=context.result or VOID, result_perspective=context.result_perspective, body=body, shared_limit=limit,
        attributes=attributes.texts, launch_bounds=attributes.launch_bounds, may_alias=kernel.may_alias,
        pure=is_pure(parameters, context.result or VOID, body), template=template, file=parsed.span.file, span=parsed.span,
        trusts=trusted_pointers(parameters, body), cooperative=kernel.cooperative,
        demands=tuple(context.demands), axes=len(context.launch) // 2,
    )  # fmt: skip


def check_parameters(env: Env, function: s.Function) -> tuple[tuple[tree.Symbol, ...], Env]:
    """Return the parameters' symbols, those that a launch computes behind them; and the environment of the body."""
    context = env.context
    parameters: list[tree.Symbol] = []
    for parameter in function.parameters:
        try:
            symbol = check_parameter(parameter, context.kernel.kind)
            parameters.append(symbol)
            env = env.bind(symbol)
        except CompileError as failure:
            context.errors.extend(failure.errors)
            env = env.name(parameter.name, Poison())
    if context.kernel.kind == "global":
        context.launch = launch_parameters(axes_named(function), function.span)
    return (*parameters, *hidden_parameters(tuple(parameters)), *context.launch), env


def always_returns(body: tree.Body) -> bool:
    """Whether every path through a statement list ends in a return (or never ends)."""
    for statement in body:
        if isinstance(statement, tree.Return) or (isinstance(statement, tree.Unsafe) and statement.returns):
            return True
        if isinstance(statement, tree.If) and always_returns(statement.then) and always_returns(statement.otherwise):
            return True
    return False
