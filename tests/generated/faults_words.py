"""Faults of names, types, text, pointers and vectors; faults.py says what an operator is, and has others."""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang import tree
from prism.lang.types import INT32, Array, Pointer, Scalar, Vector
from prism.lang.types.perspective import GRID, THREAD, Level
from tests.generated.faults import Fault, Lines, insert, is_nested, misfit, numbers, operator, pointers, swap
from tests.generated.faults_memory import calls_in, decorator
from tests.generated.sites import Site

# -- names, types, what Python has and Prism has not ------------------------------------------------------------------


@operator
def undefined_name(site: Site, text: Lines) -> Iterator[Fault]:
    """A name that nothing defines, read or assigned."""
    yield from insert(site, "name", 0, "zz: int @ thread[1] = zz_unknown + 1")
    yield from insert(site, "syntax" if is_nested(site, text) else "name", 0, "zz_unknown = 1")  # whose is it?


@operator
def python_only(site: Site, text: Lines) -> Iterator[Fault]:
    """A statement of Python's that the language has not."""
    for line in (
        "assert True",
        "import os",
        "raise ValueError",
        "global zz",
        "del zz",
        "x = y = 1",
        "zz = [k for k in 'a']",
    ):
        yield from insert(site, "syntax", 0, line)


@operator
def float_to_int(site: Site, text: Lines) -> Iterator[Fault]:
    """A float where an integer is wanted, unasked."""
    yield from insert(site, "type", 0, "zz: int @ thread[1] = 0.5")
    s = site.statement
    if isinstance(s, tree.Declare) and s.value is not None and s.symbol.type == INT32:
        yield from swap(text, s.value.span, "0.5", "type")


@operator
def bool_and_int(site: Site, text: Lines) -> Iterator[Fault]:
    """An integer as a condition, a comparison as a number."""
    number = "int(True)"
    yield from insert(site, "cond", 0, f"if {number}:", "    pass")
    yield from insert(site, "type", 0, "zz: bool @ thread[1] = 1")
    if isinstance(site.statement, tree.If | tree.While):
        yield from swap(text, site.statement.condition.span, number, "cond")


@operator
def wrong_rank(site: Site, text: Lines) -> Iterator[Fault]:
    """An index too many, of memory or of an array; a constant one that is out of range."""
    for s in site.visible():
        shape = s.type.shape if isinstance(s.type, Array) else None
        if shape is not None and isinstance(s.type, Array) and isinstance(s.type.element, Scalar):
            indices = [*map(str, (0,) * len(shape))]
            yield from insert(site, "type", 0, f"zz: bool @ thread[1] = {s.name}[{', '.join([*indices, '0'])}] == 0")
            indices[-1] = str(shape[-1])
            yield from insert(site, "type", 0, f"zz: bool @ thread[1] = {s.name}[{', '.join(indices)}] == 0")
    for s in [*pointers(site, const=True), *pointers(site, const=False)]:
        yield from insert(site, "type", 0, f"zz: bool @ thread[1] = {s.name}[0, 0, 0, 0] == 0")


# -- R6, R10, R3, R26: sizes and numbers that must be known ------------------------------------------------------------


@operator
def declare_for_units_not_there(site: Site, text: Lines) -> Iterator[Fault]:
    """R6: a local of units that are not guaranteed."""
    if site.bound.thread is not None and site.code.level > Level.THREAD:
        yield from insert(site, "decl", 0, f"zz: int @ thread[{misfit(site.bound.thread)}] = 0")


@operator
def loop_of_no_step(site: Site, text: Lines) -> Iterator[Fault]:
    """R10: a step of zero; an `unroll` that is known at run time."""
    yield from insert(site, "loop", 0, "for zz in range(0, 4, 0):", "    pass")
    yield from insert(site, "loop", 0, "for zz in range(4, unroll=id(thread[1])):", "    pass")


@operator
def case_of_none(site: Site, text: Lines) -> Iterator[Fault]:
    """R3: an arm of no threads."""
    if site.bound.thread is not None:
        yield from insert(site, "split-sum", 1, "match split(thread):", "    case 0:", "        pass")


@operator
def number_for_a_type(site: Site, text: Lines) -> Iterator[Fault]:
    """R26: a template's type is given as a number."""
    s = site.statement
    line = text[site.line - 1]
    if isinstance(s, tree.Declare) and isinstance(s.value, tree.Call) and line.count(", T=") == 1:
        for kind in ("int32", "uint32", "int64"):
            if f", T={kind}" in line:
                yield Fault(site.line, site.line + 1, (line.replace(f", T={kind}", ", T=3"),), "template", site.line)


# -- vectors ----------------------------------------------------------------------------------------------------------


@operator
def component_narrower(site: Site, text: Lines) -> Iterator[Fault]:
    """R7: a broad vector's component chosen by a narrow index, to be assigned."""
    for s in site.visible():
        if isinstance(s.type, Vector) and THREAD != s.perspective <= site.code and not s.const:
            yield from insert(site, "read-up", 0, f"{s.name}[id(thread[1])] = 0")


@operator
def vector_by_many(site: Site, text: Lines) -> Iterator[Fault]:
    """R18: a vector stored in code that speaks for more than one thread."""
    for s in pointers(site, const=False):
        kind = s.type.element if isinstance(s.type, Pointer) else None
        one = (
            s.view is None
            and len(getattr(s.type, "shape", None) or "i") == 1
            or s.view is not None
            and len(s.view.params) == 1
        )
        if site.code != THREAD and isinstance(kind, Scalar) and kind.name == "int32" and one:
            yield from insert(site, "ptr-write", 0, f"int2_cast[{s.name}[0]] = int2(1)")


@operator
def vector_of_another_length(site: Site, text: Lines) -> Iterator[Fault]:
    """A vector made of too few components."""
    yield from insert(site, "type", 0, "zz: int4 @ thread[1] = int4(1, 2)")


# -- R28 PTR-REBIND ---------------------------------------------------------------------------------------------------


@operator
def pointer_narrower(site: Site, text: Lines) -> Iterator[Fault]:
    """R28: a pointer of other owners to memory that may be written."""
    for s in pointers(site, const=False):
        if s.perspective != THREAD and isinstance(s.type, Pointer) and type(s.type.element) is Scalar:
            yield from insert(site, "ptr-rebind", 0, f"zz: ptr({s.type.element}) @ thread[1] = {s.name}")


@operator
def pointer_to_const(site: Site, text: Lines) -> Iterator[Fault]:
    """R28: a pointer that may write, to memory that nobody writes."""
    for s in pointers(site, const=True):
        if isinstance(s.type, Pointer) and type(s.type.element) is Scalar:  # of a struct the text may have no name
            yield from insert(site, "ptr-rebind", 0, f"zz: ptr({s.type.element}) @ thread[1] = {s.name}")


@operator
def pointer_of_another_element(site: Site, text: Lines) -> Iterator[Fault]:
    """R28: a pointer to elements of another type."""
    for s in [*pointers(site, const=True), *pointers(site, const=False)]:
        if isinstance(s.type, Pointer) and s.type.element != INT32:
            yield from insert(site, "ptr-rebind", 0, f"zz: ptr(const(int32)) @ thread[1] = {s.name}")


@operator
def pointer_laundered(site: Site, text: Lines) -> Iterator[Fault]:
    """R19: memory that may be written meanwhile, called const for several threads."""
    for s in pointers(site, const=False):
        kind = s.type
        plain = isinstance(kind, Pointer) and type(kind.element) is Scalar and kind.space == "global"
        if plain and THREAD != s.perspective == site.code:
            yield from insert(site, "ptr-read", 0, f"zz: ptr(const({kind.element})) @ {site.code} = {s.name}")


@operator
def pointer_fixed(site: Site, text: Lines) -> Iterator[Fault]:
    """R28: a shared object assigned; in a nested function that is another fault, of scope."""
    if is_nested(site, text):
        return
    for s in pointers(site, const=False):
        if isinstance(s.type, Pointer) and s.type.shape is not None and s.view is None:
            yield from insert(site, "ptr-rebind", 0, f"{s.name} = {s.name}")


@operator
def pointer_moved(site: Site, text: Lines) -> Iterator[Fault]:
    """R28: arithmetic on a pointer."""
    for s in [*pointers(site, const=True), *pointers(site, const=False)]:
        if (
            s.view is None
            and isinstance(s.type, Pointer)
            and s.type.shape is None
            and s.perspective <= site.code
            and not s.const
        ):
            yield from insert(site, "ptr-rebind", 0, f"{s.name} += 4")


# -- R27 UNSAFE, R29 EXTERN, what is said --------------------------------------------------------------------------------


@operator
def unsafe_text(site: Site, text: Lines) -> Iterator[Fault]:
    """R27: text known at run time, a keyword that is none, a meaning in place, an effect on an element."""
    for s in numbers(site):
        yield from insert(site, "unsafe", 0, f"unsafe({s.name})")
    yield from insert(site, "unsafe", 0, 'unsafe("// zz", changes=[])')
    yield from insert(site, "unsafe", 0, 'unsafe("// zz", reads=[], meaning=lambda: 0)')
    for s in pointers(site, const=False):
        yield from insert(site, "unsafe", 0, f'unsafe("// zz", writes=[{s.name}[0]])')


@operator
def unsafe_effects(site: Site, text: Lines) -> Iterator[Fault]:
    """R17 and R8 for what the text says that it writes."""
    for s in pointers(site, const=True):
        yield from insert(site, "const", 0, f'unsafe("// zz", writes=[{s.name}])')
    for s in numbers(site):
        if not s.perspective <= site.code and not s.const:
            yield from insert(site, "write-down", 0, f'unsafe("// zz", writes=[{s.name}])')


@operator
def speech_narrower(site: Site, text: Lines) -> Iterator[Fault]:
    """R9: an assertion, and a value printed, on which the code's threads do not agree."""
    if site.code != THREAD:
        yield from insert(site, "cond", 0, "assert_(id(thread[1]) > 3)")
        yield from insert(site, "cond", 0, 'print_("{}", id(thread[1]))')


@operator
def speech_malformed(site: Site, text: Lines) -> Iterator[Fault]:
    """A format without its values, a text that is none."""
    yield from insert(site, "type", 0, 'print_("{} {}", 1)')
    yield from insert(site, "type", 0, "assert_(True, 3)")


@operator
def extern_with_a_body(site: Site, text: Lines) -> Iterator[Fault]:
    """R29: a function with text for its body, and a body."""
    line = decorator(site, text)
    if line is not None and site.function.kind == "device" and not isinstance(site.statement, tree.Unsafe):
        yield Fault(line, line, ('@extern("// zz")',), "extern", site.function.span.line + 1)


@operator
def extern_without_text(site: Site, text: Lines) -> Iterator[Fault]:
    """R29: a function that is called, whose body is `pass`, and no text."""
    for call in calls_in(site.statement):
        line = (
            call.function.span.line if isinstance(call, tree.Call) and call.function.file == site.function.file else 0
        )
        if 1 < line < site.function.span.line and text[line - 2].startswith("@extern"):
            yield Fault(line - 1, line, (), "extern", line - 1)


# -- R24 ASYNC, rings --------------------------------------------------------------------------------------------------


@operator
def use_in_flight(site: Site, text: Lines) -> Iterator[Fault]:
    """R24: what copies write meanwhile is read, or written."""
    for way in site.ways:
        if (
            isinstance(way, tree.Async)
            and isinstance(way.view.type, Pointer)
            and site.names.get(way.view.name) is way.view
            and way.view not in site.hidden
        ):
            rank = len(way.view.view.params) if way.view.view is not None else 1
            element = f"{way.view.name}[{', '.join('0' * rank)}]"
            yield from insert(site, "async", 0, f"zz: bool @ thread[1] = {element} == 0")
            if site.code == THREAD:
                yield from insert(site, "async", 0, f"{element} = 0")


@operator
def copy_by_many(site: Site, text: Lines) -> Iterator[Fault]:
    """R18: an asynchronous copy that more than one thread issues."""
    if site.code == THREAD:
        return
    for s in pointers(site, const=False):
        for x in pointers(site, const=True):
            if isinstance(s.type, Pointer) and isinstance(x.type, Pointer) and s.view is None and x.view is None:
                same = s.type.element == x.type.element == INT32 and x.type.space == "global"
                if same and s.type.shape is not None and len(s.type.shape) == 1:
                    yield from insert(site, "ptr-write", 0, f"cp_async({s.name}[0], {x.name}[0], 4)")


@operator
def ring_by_its_name(site: Site, text: Lines) -> Iterator[Fault]:
    """A ring's own name, which stands for no copy."""
    for s in site.names.values():
        if isinstance(s.type, Pointer) and s.type.ring and s not in site.hidden and isinstance(s.type.element, Scalar):
            yield from insert(
                site, "ring", 0, f"zz: bool @ thread[1] = {s.name}[{', '.join('0' * len(s.type.shape or 'i'))}] == 0"
            )


# -- what only a later launch could order --------------------------------------------------------------------------------


@operator
def barrier_of_the_grid(site: Site, text: Lines) -> Iterator[Fault]:
    """The grid's memory written by all, then by others: no barrier joins the grid."""
    first_of_all = site.statement is site.function.body[0] and site.function.kind == "global"
    for s in pointers(site, const=False):
        if first_of_all and not site.function.cooperative and s.perspective == site.code == GRID:
            part = ("    with group(thread[1]):", "        zz[0] = 0")
            first, second = (f"with partition({s.name}, thread[1], id() + {k}) as zz:" for k in (0, 1))
            yield from insert(site, "grid-sync", 5, first, *part, second, *part)
