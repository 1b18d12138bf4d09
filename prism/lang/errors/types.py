"""Errors about types."""

from __future__ import annotations

import re

from prism.lang.diagnostics import Error


class NotAType(Error):
    """An annotation that names no type."""

    code = "type"
    title = "this is not a type of Prism"
    label = "not a type"
    note_templates = (
        "types are int8 ... uint64, float, double, bool, T[n], ptr(T), ptr(const(T)), shared(T[n]), vector(T, n), mailbox(T),"
        " fragment(T, m, n), CUtensorMap(T, m, n)",
    )
    help_template = "write the type before the `@`: `x: int @ thread[1]`"


class SharedParameter(Error):
    """A kernel's parameter declared as a shared object."""

    code = "type"
    title = "the kernel's parameter `{name}` is a shared tile, and the host has none to pass"
    label = "shared memory is a block's own"
    help_template = "declare `{name}` inside the kernel, in a block's code; device functions take whole tiles"
    name: str


class KernelParameter(Error):
    """A kernel's parameter that a host cannot pass."""

    code = "type"
    title = "the kernel's parameter `{name}` is {type}, which lies in registers: the host has none to pass"
    label = "not a type of the host's"
    help_template = (
        "take `{name}: ptr(T) @ grid[1]`, or declare it inside the kernel; device functions take arrays and fragments"
    )
    name: str
    type: str


class NotAPerspective(Error):
    """Something else where a perspective belongs."""

    code = "bound-wf"
    rule = "R1"
    title = "this is not a perspective"
    label = "expected a level with a size"
    help_template = "{change}"
    change: str = "write `grid[1]`, `block[1]`, `warp[k]` or `thread[n]`"


class MissingPlace(Error):
    """A parameter or result without a perspective."""

    code = "syntax"
    title = "`{name}` has no perspective"
    label = "which threads agree on it?"
    help_template = (
        "add one: `{name}: {type} @ thread[1]`, or block[1] or grid[1] where all their threads pass the same"
    )
    name: str
    type: str


class VectorSize(Error):
    """A vector that is no machine word."""

    code = "type"
    title = "`vector({element}, {length})` is not a word of at most 16 bytes"
    label = "too long, or not a power of two"
    help_template = "use `16 // T.bytes` elements, or fewer"
    element: str
    length: int


class ArrayExtent(Error):
    """An extent or alignment that isn't a positive constant."""

    code = "type"
    title = "the size of an array is a positive compile-time constant"
    label = "not one"
    help_template = "use a number, a constexpr or a template parameter"


class SharedExtent(ArrayExtent):
    """R25: a size of shared memory that isn't a positive constant."""

    code = "shared-alloc"
    rule = "R25"
    title = "the size and alignment of shared memory are positive compile-time constants"
    label = "not one"
    help_template = "use a number, a constexpr or a template parameter: as large as it ever needs to be"


class Mismatch(Error):
    """A value of one type where another is needed."""

    code = "type"
    title = "expected {expected}, found {found}"
    label = "this is {found}"
    help_template = "{hint}"
    expected: str
    found: str
    hint: str


class Operands(Error):
    """An operator that the operands' types don't have."""

    code = "type"
    title = "`{op}` does not take {left} and {right}"
    label = "here"
    help_template = "{hint}"
    op: str
    left: str
    right: str
    hint: str


class ConditionType(Error):
    """A condition that isn't a bool."""

    code = "cond"
    rule = "R9"
    title = "a condition is a bool, this is {found}"
    label = "this is {found}"
    help_template = "compare it: `{operand} != 0`"
    found: str
    text: str

    @property
    def operand(self) -> str:
        """The condition as one operand: `!=` binds more than `&` does in C, and less in Python."""
        return self.text if re.fullmatch(r"[\w.]+(\(.*\)|\[.*\])?", self.text) else f"({self.text})"


class LiteralRange(Error):
    """A literal that its type can't hold."""

    code = "type"
    title = "{value} does not fit {type}"
    label = "out of range"
    help_template = "{remedy}"
    value: str
    type: str

    @property
    def remedy(self) -> str:
        """The number of the type that has the same bits, where there is one."""
        found, number = re.fullmatch(r"(u?)int(\d+)", self.type), int(self.value)
        if found is None:
            return "an integer has at most 64 bits"
        bits = int(found[2])
        if not -(1 << (bits - 1)) <= number < 1 << bits:
            return "use a wider type"
        same = hex(number % (1 << bits)) if found[1] else str(number - (1 << bits))
        return f"`{same}` has these bits; else use a {'signed' if found[1] else 'wider'} type"


class NotCallable(Error):
    """Something called that is no function."""

    code = "type"
    title = "`{text}` cannot be called"
    label = "not a device function, an intrinsic or a type"
    help_template = 'call a function marked `@prism("device")`, an intrinsic, or a type as a conversion: `int64(x)`'
    text: str


class NotAValue(Error):
    """A construct, perspective or function used as a value."""

    code = "type"
    title = "`{text}` is not a value"
    label = "used where a value is needed"
    help_template = "{hint}"
    text: str
    hint: str


class Indices(Error):
    """A wrong number of subscripts."""

    code = "type"
    title = "`{name}` takes {number}, {given} given"
    label = "here"
    help_template = "give {wanted}: one per dimension, or per argument of the partition's lambda"
    name: str
    wanted: int
    given: int

    @property
    def number(self) -> str:
        """How many indices, in words."""
        return "1 index" if self.wanted == 1 else f"{self.wanted} indices"


class OffsetIndices(Indices):
    """An offset that gives a wrong number of indices."""

    title = "an offset into `{name}` is {number}, {given} given"
    help_template = "an offset of {wanted} is a lambda: `lambda {names}: {places}`"

    @property
    def names(self) -> str:
        """The lambda's parameters."""
        return ", ".join("ijkl"[: self.wanted]) if self.wanted <= 4 else "i, ..."

    @property
    def places(self) -> str:
        """What the lambda gives, for first elements at r, c, ..."""
        sums = ", ".join(f"{first} + {i}" for first, i in zip("rcst", "ijkl"[: self.wanted], strict=False))
        return f"({sums})" if self.wanted > 1 else sums


class IndexRange(Error):
    """A constant index outside its array."""

    code = "type"
    title = "index {index} is outside `{name}`, which has {extent} elements"
    label = "out of bounds"
    help_template = "valid indices are 0 to {last}"
    index: int
    name: str
    extent: int
    last: int


class NotSubscriptable(Error):
    """A subscript on something without elements."""

    code = "type"
    title = "{found} has no elements"
    label = "not an array, a pointer or a vector"
    help_template = "subscript arrays, pointers, shared objects, vectors and views of them"
    found: str


class WholeArray(Error):
    """An array or pointer used as a number, or assigned whole."""

    code = "type"
    title = "`{name}` is {type}: it cannot be {use} as a whole"
    label = "used as a whole"
    help_template = "use its elements, `{name}[i]`"
    name: str
    type: str
    use: str


class ArrayInitial(Error):
    """An initial value of an array other than a list or `{0}`."""

    code = "type"
    title = "`{name}` is {type}: an array begins as a list of its elements, as `{{0}}`, or without values"
    label = "neither a list nor `{{0}}`"
    help_template = "write the elements in brackets, `[a, b]`, or assign each, `{name}[i] = ...`"
    name: str
    type: str


class ListLength(Error):
    """A list with more or fewer values than the array has elements."""

    code = "type"
    title = "`{name}` is {type}: {extent} values belong here, and {given} are listed"
    label = "{given} of {extent}"
    help_template = "list all of them; `= {{0}}` sets every element to zero, and `{name}[i] = ...` one of them"
    name: str
    type: str
    extent: int
    given: int


class ListDepth(Error):
    """A value where an array of several extents takes a list."""

    code = "type"
    title = "`{name}` is {type}: a list of {extent} values belongs here"
    label = "no list"
    help_template = "write a list for each extent, the outermost first: `[[a, b], [c, d]]` of an array [2][2]"
    name: str
    type: str
    extent: int


class Misaligned(Error):
    """A vector access that is surely not aligned."""

    code = "type"
    title = "a vector of {width} elements of `{name}` is read or written {rest} element(s) past a multiple of {width}"
    label = "not aligned"
    note_templates = ("the hardware moves a vector only from an address that is a multiple of its size",)
    help_template = "start at a multiple of {width} elements, use a shorter vector, or access the elements one by one"
    name: str
    width: int
    rest: int


class VectorItems(Error):
    """A vector made of the wrong number of components."""

    code = "type"
    title = "`{name}` is made of {length} components, or of one that all take; {given} given"
    label = "here"
    help_template = "write `{name}({items})`, or `{name}(x)`"
    name: str
    length: int
    given: int
    items: str


class NoField(Error):
    """A field that a struct does not have."""

    code = "type"
    title = "the struct `{struct}` has no field `{name}`"
    label = "no field of it"
    help_template = "its fields are {fields}"
    struct: str
    name: str
    fields: str


class TupleItem(Error):
    """A result of several values, one of which is no number."""

    code = "type"
    title = "a result of several values has scalars, not {found}"
    label = "not a scalar"
    help_template = "return a struct of all of them (`@struct`), or write through a pointer parameter"
    found: str


class UnpackValue(Error):
    """`a, b = x` of one number."""

    code = "type"
    title = "an assignment unpacks {type} into several variables"
    label = "one value; a struct, a vector, or a function's tuple has several"
    help_template = "write one assignment a line, or a value for each: `a, b = b, a`"
    type: str


class UnpackCount(Error):
    """`a, b = x` of more or fewer than two fields."""

    code = "type"
    title = "`{text}` has {have} value(s), {names} name(s) are assigned"
    label = "it is {type}"
    help_template = "name all {have}, in their order"
    text: str
    type: str
    have: int
    names: int


class FieldOfMemory(Error):
    """A field of an element of memory as the target of an assignment."""

    code = "type"
    title = "a field of `{name}[...]`, which is memory, is not assigned alone"
    label = "one field of an element"
    note_templates = ("an element of memory is read and written whole",)
    help_template = "copy the element into a local, `v: {struct} = {name}[...]`, assign `v.{field}`, and store `v`"
    name: str
    struct: str
    field: str


class StructUse(Error):
    """A struct where a type of numbers belongs."""

    code = "type"
    title = "{what}, and `{struct}` is {found}"
    label = "of `{struct}`"
    help_template = "{hint}"
    what: str
    struct: str
    found: str
    hint: str


class VectorCast(Error):
    """`float4_cast` of something else than an element of memory of its scalar."""

    code = "type"
    title = "`{cast}` takes an element of memory that holds {element}"
    label = "{found}"
    help_template = (
        "write `{cast}(p[i])` to load, `{cast}[p[i]] = v` to store, with `p` a pointer or shared object of {element}"
    )
    cast: str
    element: str
    found: str


class Speech(Error):
    """`assert_`, `print_` or `breakpoint` with other arguments than theirs."""

    code = "type"
    title = "`{name}` does not take these arguments"
    label = "here"
    help_template = "write `{usage}`{rest}"
    name: str
    usage: str
    rest: str = "; the text is a literal"


class AssumedMemory(Error):
    """An assumption that reads memory, or has an effect."""

    code = "type"
    title = "an assumption is of values alone"
    label = "this reads memory, or does more than compute"
    help_template = "read it into a variable before, `v: int32 = x[i]`, and write `assume(v > 0)`"


class DistinctValue(Error):
    """`distinct` of what is no integer."""

    code = "type"
    title = "`distinct` takes integers, and this is {type}"
    label = "here"
    help_template = "give it the numbers that decide which elements a unit has: `assume(distinct(tile))`"
    type: str


class DistinctNowhere(Error):
    """`distinct` of values that the whole grid agrees on."""

    code = "type"
    title = "all units have these values: they tell none of them from another"
    label = "the grid agrees on this"
    help_template = "declare the number for the units that it is to tell apart: `tile: int32 @ block[1] = ...`"


class PrintFields(Error):
    """A format that does not fit its values."""

    code = "type"
    title = "the text has {fields} field(s) `{{}}`, and {given} value(s) follow it"
    label = "here"
    help_template = "write one `{{}}` for each value; `{{{{` and `}}}}` stand for braces"
    fields: int
    given: int


class Unroll(Error):
    """An unroll factor that isn't a positive constant."""

    code = "loop"
    rule = "R10"
    title = "`unroll` is True, False or a positive compile-time number"
    label = "not one"
    help_template = "write `unroll=True` to unroll the whole loop, `unroll=4` for four trips at a time"


class NoValue(Error):
    """A call without a result used as a value."""

    code = "type"
    title = "`{name}` returns nothing"
    label = "used as a value"
    help_template = "call it as a statement of its own, or give it a result: `-> int @ thread[1]`"
    name: str
