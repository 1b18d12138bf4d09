"""The stages, in order, each once. `build` is the way from a kernel to a program, `lower` from there to the form that is emitted.

    check            kernel, template   -> functions   parse, instantiate and check each function that the kernel reaches
    check_blocks     functions          -> none        the sizes of blocks that they ask for go together
    split            functions          -> functions   the kernel's loops, where their conditions can be left out of pieces
    lay_out          functions          -> layouts     scopes and alignment judged, shared memory placed
    plan             functions, layouts -> plans       barriers, and the waits of rings
    assemble         all of these       -> Program     mbarriers placed behind the objects; whether clusters end together

    skew             Program            -> Program     fills issued ahead of the trips that need them
    specialise       Program            -> Program     a body for each role
    judge            both forms         -> none        whole units come to each barrier; the shared memory is enough
    allocate_named   Program            -> numbers     one in the hardware for each named barrier
    allocate_turns   Program, numbers   -> Lowered     others for the units that take turns

What comes behind runs no stage: `prism.explanation` and `safety` take the Program, as it was written, `emit` the Lowered; the
reference machine takes either form, as the schedule says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from prism.lang import surface
from prism.lang.barriers import cluster, whole_units
from prism.lang.barriers.scopes import check_scopes
from prism.lang.barriers.spaces import Asked, check_spaces
from prism.lang.check import check, reuse
from prism.lang.check.env import fail
from prism.lang.diagnostics import CompileError
from prism.lang.errors import calls as errors
from prism.lang.errors import rings
from prism.lang.errors.syntax import TooDeep
from prism.lang.facts.align import check_alignment
from prism.lang.facts.blocks import check_blocks
from prism.lang.keep.collection import defer_collection
from prism.lang.keep.memo import memoize
from prism.lang.lower.gathers import check_gathers
from prism.lang.lower.limits import allocate_named, check_shared_limit
from prism.lang.lower.place import place, with_mbarriers
from prism.lang.lower.skew import skew, unskew
from prism.lang.lower.specialise import specialise
from prism.lang.lower.split_loops import lost_fills, split_loops, splits_products
from prism.lang.lower.turns import allocate_turns
from prism.lang.sync import plan
from prism.lang.tree import For, Function, Symbol
from prism.lang.tree.inlined import add_calls
from prism.lang.tree.plan import Layout, Lowered, Note, Plan, Program
from prism.lang.tree.walk import statements

Functions = tuple[Function, ...]
"""Checked functions, callees first."""


def build(kernel: surface.Kernel, template: Mapping[str, object] | None = None) -> Program:
    """Return the checked and synchronised program of a kernel or device function, which can be lowered. Raises CompileError."""
    with defer_collection():
        functions = check(kernel, template)
        try:
            check_blocks(functions)
            apart = split(functions)
            return synchronise(functions) if apart is functions else synchronise_split(apart, functions)
        except CompileError as failure:
            raise CompileError(*(add_calls(error, functions) for error in failure.errors)) from None
        except RecursionError:
            raise CompileError(TooDeep(span=functions[-1].span, name=functions[-1].name)) from None


def split(functions: Functions) -> Functions:
    """Return the functions with the kernel's loops split; the same functions where none is."""
    entry = functions[-1]
    apart = split_loops(entry) if entry.kind == "global" else entry
    return functions if apart is entry else (*functions[:-1], apart)


def synchronise_split(apart: Functions, functions: Functions) -> Program:
    """Return the program with its loops split or as it was written: what is better of what is legal."""
    # Products in pieces stay under way. Rings' scopes under conditions need pieces only where they are refused without.
    failures: list[CompileError] = []
    for form in (apart, functions) if splits_products(apart[-1]) else (functions, apart):
        try:
            program = synchronise(form, _why_whole(apart, failures) if form is functions else ())
            return _better(program, functions) if form is apart else program
        except CompileError as failure:
            failures.append(failure)
    one, two = failures if form is functions else reversed(failures)
    # What is wrong is told of the loops as they were written, but for what is right in pieces.
    skipped = isinstance(two.errors[0], rings.Skipped) and not isinstance(one.errors[0], rings.Skipped | rings.Uneven)
    raise (one if skipped else two) from None


def _better(split: Program, functions: Functions) -> Program:
    """Return the program in pieces; as it was written where its rings are filled ahead then, by those who use them."""
    if not lost_fills(split.plans[split.entry]):
        return split
    try:
        whole = synchronise(functions)
    except CompileError:
        return split
    return whole if whole.plans[whole.entry].skews else split


def _why_whole(apart: Functions, failures: Sequence[CompileError]) -> tuple[Note, ...]:
    loops = [s for s in statements(apart[-1].body) if isinstance(s, For) and s.part]
    loop = loops[0] if loops else apart[-1]
    return tuple(
        Note(loop.span, f"the loop is not split at its conditions: {failure.errors[0].title_text}")
        for failure in failures
    )


def synchronise(functions: Functions, notes: tuple[Note, ...] = ()) -> Program:
    """Return the program of checked functions, which can be lowered; with notes on the kernel."""
    cluster.check_near(functions)
    layouts = lay_out(functions)
    plans = dict(plan(functions, layouts))
    if notes:
        entry = functions[-1]
        plans[entry] = replace(plans[entry], notes=(*plans[entry].notes, *notes))
    program = assemble(functions, plans, layouts)
    lower(program)  # kept with the program: who emits it finds it there
    return program


@memoize
def lower(program: Program) -> Lowered:
    """Return what is emitted of a program; made once. Raises CompileError where the hardware has no place for it."""
    apart = as_emitted(program)
    judge(program, apart)
    try:
        named = allocate_named(apart)
    except ValueError:
        return fail(errors.NamedBarriers(span=program.entry.span, name=program.entry.name))
    return Lowered(apart, named, allocate_turns(apart, named))


@memoize
def as_emitted(program: Program) -> Program:
    """Return the form of a program that is emitted, not judged; made once. The machine runs what nobody would emit, too."""
    return specialise(skew(program))


def lay_out(functions: Functions) -> dict[Function, Layout]:
    """Return where each function's shared memory lies, once its scopes and alignments are judged."""
    layouts: dict[Function, Layout] = {}
    scopes: dict[Function, frozenset[Symbol]] = {}
    spaces: dict[Function, Asked] = {}
    for function in functions:
        memo = reuse.notes(function) if function.kind == "device" else {}
        if "layout" not in memo:
            check_alignment(function)
            memo["scopes"] = check_scopes(function, scopes)
            memo["spaces"] = check_spaces(function, spaces)
            memo["layout"] = place(function, layouts)
        layouts[function], scopes[function], spaces[function] = memo["layout"], memo["scopes"], memo["spaces"]
        check_shared_limit(function, layouts)
    return layouts


def assemble(functions: Functions, plans: Mapping[Function, Plan], layouts: Mapping[Function, Layout]) -> Program:
    """Return the program, with the mbarriers of the kernel's plan behind its objects, and what a cluster does at its ends."""
    entry = functions[-1]
    plans = {**plans, entry: cluster.decide(functions, plans)}
    room, rooms = check_gathers(functions)
    layout = replace(layouts[entry], room=room, rooms=rooms)
    layouts = {**layouts, entry: with_mbarriers(layout, plans[entry])}
    check_shared_limit(entry, layouts)
    return Program(entry, functions, plans, layouts)


def judge(program: Program, apart: Program) -> None:
    """Judge a program as it is written and as it is emitted: each barrier is met by whole units, its shared memory is enough."""
    for form in dict.fromkeys((program, apart)):
        whole_units.check(form)
    check_shared_limit(program.entry, unskew(program).layouts)
