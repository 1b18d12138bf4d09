"""The stages, in order. `build` is the way from a kernel to a program; `emit` goes on from there.

    check        (kernel, template) -> functions      parse, instantiate and check each function that the kernel reaches
    lay_out      functions          -> layouts        scopes and alignment judged, shared memory placed
    plan         functions, layouts -> plans          barriers, and the waits of rings
    assemble     all of these       -> program        mbarriers placed behind the objects
    judge        program            -> program        what is emitted of it: whole units, shared memory, named barriers

`emit` begins with `lower` (lowered.py), which issues fills ahead and gives each role its body; so does the reference machine.
"""

from __future__ import annotations

from collections.abc import Mapping

from prism.lang import surface
from prism.lang.barriers import whole
from prism.lang.barriers.scopes import check_scopes
from prism.lang.check import again, check
from prism.lang.check.env import fail
from prism.lang.diagnostics import CompileError
from prism.lang.errors import calls as errors
from prism.lang.errors.syntax import TooDeep
from prism.lang.facts.align import check_alignment
from prism.lang.facts.blocks import check_blocks
from prism.lang.keep.uncollected import uncollected
from prism.lang.lower.limits import check_shared_limit
from prism.lang.lower.named import allocate_named
from prism.lang.lower.place import place, with_mbarriers
from prism.lang.lower.skew import shown, skewed
from prism.lang.sync import plan
from prism.lang.tree import Function, Symbol
from prism.lang.tree.inlined import traced
from prism.lang.tree.plan import Layout, Plan, Program

Functions = tuple[Function, ...]
"""Checked functions, callees first."""


def build(kernel: surface.Kernel, template: Mapping[str, object] | None = None) -> Program:
    """Return the checked and synchronised program of a kernel or device function. Raises CompileError."""
    with uncollected():
        functions = check(kernel, template)
        try:
            check_blocks(functions)
            layouts = lay_out(functions)
            plans = plan(functions, layouts)
            return judge(assemble(functions, plans, layouts))
        except CompileError as failure:
            raise CompileError(*(traced(error, functions) for error in failure.errors)) from None
        except RecursionError:
            raise CompileError(TooDeep(span=functions[-1].span, name=functions[-1].name)) from None


def lay_out(functions: Functions) -> dict[Function, Layout]:
    """Return where each function's shared memory lies, once its scopes and alignments are judged."""
    layouts: dict[Function, Layout] = {}
    scopes: dict[Function, frozenset[Symbol]] = {}
    for function in functions:
        memo = again.notes(function) if function.kind == "device" else {}
        if "layout" not in memo:
            check_alignment(function)
            memo["scopes"] = check_scopes(function, scopes)
            memo["layout"] = place(function, layouts)
        layouts[function], scopes[function] = memo["layout"], memo["scopes"]
        check_shared_limit(function, layouts)
    return layouts


def assemble(functions: Functions, plans: Mapping[Function, Plan], layouts: Mapping[Function, Layout]) -> Program:
    """Return the program, with the mbarriers of the kernel's plan behind its objects."""
    entry = functions[-1]
    layouts = {**layouts, entry: with_mbarriers(layouts[entry], plans[entry])}
    check_shared_limit(entry, layouts)
    return Program(entry, functions, plans, layouts)


def judge(program: Program) -> Program:
    """Return the program where what is emitted of it has a place: its barriers, its shared memory with fills ahead."""
    for one in dict.fromkeys((program, skewed(program))):
        whole.check(one)
    check_shared_limit(program.entry, shown(program).layouts)
    try:
        allocate_named(program)
    except ValueError:
        fail(errors.NamedBarriers(span=program.entry.span, name=program.entry.name))
    return program
