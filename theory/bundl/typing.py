"""The type system, twice: `printed` and `corrected` are tables of the rules in `typing_expressions`, `_code` and `_data`.

What the two share is one function. A corrected table with one printed rule put back is `mix(corrected, printed, "T-Claim")`.
"""

from __future__ import annotations

from theory.bundl import syntax
from theory.bundl.judgement import GRID_CODE, Checker, Code, Context, IllTyped, Rules, premise
from theory.bundl.perspectives import ONE_GRID, Shape, align_corrected, align_printed, order_nested, order_printed
from theory.bundl.typing_code import CORRECTED_CODE, PRINTED_CODE
from theory.bundl.typing_data import CORRECTED_DATA, PRINTED_DATA
from theory.bundl.typing_expressions import CORRECTED_EXPRESSIONS, PRINTED_EXPRESSIONS

__all__ = [
    "Checker",
    "Code",
    "Context",
    "IllTyped",
    "check",
    "check_program",
    "corrected",
    "mix",
    "printed",
    "well_typed",
]


def root_context(program: syntax.Program, upto: int | None = None) -> Context:
    """Return the G that a program starts with: its functions (the first `upto`) and its inputs."""
    g = Context()
    for function in program.functions[:upto]:
        g = g.bind(function.name, function.at, function.type)
    if upto is None:
        for given in program.inputs:
            g = g.bind(given.name, ONE_GRID, syntax.ArrayOf(given.element, syntax.Kind.GLOBAL))
    return g


def t_program_printed(rules: Rules, program: syntax.Program, shape: Shape, used: set[str] | None = None) -> int:
    """V-Function for each function: fns, x_i :^pi t_i .. |-^pi_m s; and G |-^(Grid,1)_m s for the program."""
    checker = Checker(rules, shape, used)
    functions = root_context(program).functions()
    for function in program.functions:
        g = functions
        for param in function.params:
            g = g.bind(param.name, function.at, param.type)
        _fits(function, checker.stmt(g, Code(function.at, function.at.size), function.body))
    return _fits(program, checker.stmt(root_context(program), GRID_CODE, program.body))


def t_program(rules: Rules, program: syntax.Program, shape: Shape, used: set[str] | None = None) -> int:
    """V-Function for each function, over those before it: fns, x_i :^q_i t_i .. |-^pi_m s; and G |-^(Grid,1)_m s.

    All terms are source terms, names of functions and inputs differ, and no function calls itself.
    """
    checker = Checker(rules, shape, used)
    names = [function.name for function in program.functions] + [given.name for given in program.inputs]
    premise(len(set(names)) == len(names), "Program", "a name is given twice", program)
    premise(syntax.is_source(program), "Program", "a run-time form in the source", program)
    for index, function in enumerate(program.functions):
        g = root_context(program, index)
        for later in program.functions[index:]:
            g = g.hide(later.name)
        for param in function.params:
            premise(not g.is_bound(param.name), "Program", f"{param.name} is taken", function)
            g = g.bind(param.name, param.at, param.type)
        _fits(function, checker.stmt(g, Code(function.at, checker.whole(function.at)), function.body))
    return _fits(program, checker.stmt(root_context(program), GRID_CODE, program.body))


def _fits(term: syntax.Function | syntax.Program, need: int) -> int:
    premise(need <= term.budget, "Program", lambda: f"needs {need} bytes of shared memory, may use {term.budget}", term)
    return need


printed = Rules(
    "printed",
    order_printed,
    align_printed,
    PRINTED_EXPRESSIONS,
    {**PRINTED_CODE, **PRINTED_DATA},
    t_program_printed,
)

corrected = Rules(
    "corrected",
    order_nested,
    align_corrected,
    CORRECTED_EXPRESSIONS,
    {**CORRECTED_CODE, **CORRECTED_DATA},
    t_program,
)


def mix(rules: Rules, other: Rules, *names: str) -> Rules:
    """Return `rules` with the rules called `names` taken from `other`."""
    return rules.swap(other, *names)


def check_program(rules: Rules, program: syntax.Program, shape: Shape, used: set[str] | None = None) -> int:
    """Return the least m at which the program types, or raise IllTyped; `used` collects the names of the rules."""
    return rules.program(rules, program, shape, used)


def check(rules: Rules, g: Context, code: Code, s: syntax.Stmt, shape: Shape) -> int:
    """Return the least m with `G |-^pi_m s`, or raise IllTyped."""
    return Checker(rules, shape).stmt(g, code, s)


def well_typed(rules: Rules, program: syntax.Program, shape: Shape) -> bool:
    """Whether the program has a type."""
    try:
        check_program(rules, program, shape)
    except IllTyped:
        return False
    return True


def why_not(rules: Rules, program: syntax.Program, shape: Shape) -> tuple[str, str, syntax.Node | None] | None:
    """Return (rule, premise that fails, term), or None for a program that has a type."""
    try:
        check_program(rules, program, shape)
    except IllTyped as error:
        return error.rule, error.why, error.term
    return None
