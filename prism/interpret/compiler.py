"""A function compiled once into closures."""

from __future__ import annotations

from prism.interpret.scope import Code, Scope, Shop
from prism.interpret.statements import compile_body
from prism.lang.tree import Function


def compile_function(shop: Shop, function: Function) -> Code:
    """Return a function's code; functions are compiled once a program."""
    found = shop.codes.get(function)
    if found is not None:
        return found
    scope = Scope(shop, function, function.bound.code, shop.program.layouts.get(function))
    plan = shop.program.plans.get(function)
    if plan is not None:
        scope.before, scope.after, scope.completes = plan.before(), plan.after(), plan.completes
        scope.cycles = {ring: cycle for cycle in plan.cycles if cycle.leads is None for ring in cycle.rings}
        scope.leads = {ring: cycle for cycle in plan.cycles if cycle.leads is not None for ring in cycle.rings}
    parameters = tuple(scope.slot(parameter) for parameter in function.parameters)
    body = compile_body(scope, function.body)
    bytes_ = max(scope.high, scope.layout.bytes if scope.layout is not None else 0)
    code = shop.codes[function] = Code(function, body, scope.count, bytes_, parameters)
    return code
