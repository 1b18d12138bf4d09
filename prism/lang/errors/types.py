"""Errors about types."""

from __future__ import annotations

import re

from prism.lang.diagnostics import Error, Named


class NotAType(Error, code="type"):
    """An annotation that names no type."""

    title = "this is not a type of Prism"
    label = "not a type"
    note_templates = (
        "types are int8 ... uint64, float, double, bool, T[n], ptr(T), ptr(const(T)), shared(T[n]), vector(T, n), mailbox(T),"
        " fragment(T, m, n), CUtensorMap(T, m, n)",
    )
    help_template = "write the type before the `@`: `x: int @ thread[1]`"


class SharedParameter(Named, code="type"):
    """A kernel's parameter declared as a shared object."""

    title = "the kernel's parameter `{name}` is a shared tile, and the host has none to pass"
    label = "shared memory is a block's own"
    help_template = "declare `{name}` inside the kernel, in a block's code; device functions take whole tiles"


class KernelParameter(Named, code="type"):
    """A kernel's parameter that a host cannot pass."""

    title = "the kernel's parameter `{name}` is {type}, which lies in registers: the host has none to pass"
    label = "not a type of the host's"
    help_template = (
        "take `{name}: ptr(T) @ grid[1]`, or declare it inside the kernel; device functions take arrays and fragments"
    )
    type: str


class NotAPerspective(Error, code="bound-wf"):
    """Something else where a perspective belongs."""

    title = "this is not a perspective"
    label = "expected a level with a size"
    change: str = "write `grid[1]`, `block[1]`, `warp[k]` or `thread[n]`"


class MissingPlace(Named, code="syntax"):
    """A parameter or result without a perspective."""

    title = "`{name}` has no perspective"
    label = "which threads agree on it?"
    help_template = (
        "add one: `{name}: {type} @ thread[1]`, or block[1] or grid[1] where all their threads pass the same"
    )
    type: str


class VectorSize(Error, code="type"):
    """A vector that is no machine word."""

    title = "`vector({element}, {length})` is not a word of at most 16 bytes"
    label = "too long, or not a power of two"
    help_template = "use `16 // T.bytes` elements, or fewer"
    element: str
    length: int


class ArrayExtent(Error, code="type"):
    """An extent or alignment that isn't a positive constant."""

    title = "the size of an array is a positive compile-time constant"
    label = "not one"
    help_template = "use a number, a constexpr or a template parameter"


class SharedExtent(ArrayExtent, code="shared-alloc"):
    """R25: a size of shared memory that isn't a positive constant."""

    title = "the size and alignment of shared memory are positive compile-time constants"
    help_template = "use a number, a constexpr or a template parameter; in a kernel `shared(T[n])` may vary"


class Mismatch(Error, code="type"):
    """A value of one type where another is needed."""

    title = "expected {expected}, found {found}"
    label = "this is {found}"
    help_template = "{hint}"
    expected: str
    found: str
    hint: str


class Operands(Error, code="type"):
    """An operator that the operands' types don't have."""

    title = "`{op}` does not take {left} and {right}"
    label = "here"
    help_template = "{hint}"
    op: str
    left: str
    right: str
    hint: str


class IntegerDivision(Error, code="type"):
    """`/` of two integers: a fraction is meant by one reader, a whole number by the other."""

    title = "`/` of two integers could mean a whole number or a fraction"
    label = "{left} / {right}"
    help_template = "write `{quotient}` for the whole number, which drops the fraction; `{fraction}` for the fraction"
    left: str
    right: str
    texts: tuple[str, str]
    augmented: bool = False

    @property
    def quotient(self) -> str:
        """The whole number, as it is written."""
        one, two = map(operand, self.texts)
        return f"{one} //{'=' if self.augmented else ''} {two}"

    @property
    def fraction(self) -> str:
        """The fraction, as it is written."""
        one, two = self.texts
        return f"{one} = float({one}) / {operand(two)}" if self.augmented else f"float({one}) / {operand(two)}"


class MixedSigns(Error, code="type"):
    """A difference, quotient or comparison of a signed and an unsigned integer, which C++ takes both as unsigned."""

    title = "`{left} {op} {right}` would take both as {common}"
    label = "a signed and an unsigned integer"
    note_templates = ("a negative number would become a large one{difference}",)
    help_template = "convert one: `{as_signed}` takes both as they are; `{as_unsigned}`, where none is negative"
    op: str
    left: str
    right: str
    common: str
    texts: tuple[str, str]

    @property
    def difference(self) -> str:
        """What else is wrong with a difference."""
        return ", and a negative difference too" if self.op == "-" else ""

    def _converted(self, kind: str, to: str) -> str:
        sides = zip((self.left, self.right), self.texts, strict=True)
        return f" {self.op} ".join(f"{to}({text})" if side.startswith(kind) else operand(text) for side, text in sides)

    @property
    def as_signed(self) -> str:
        """The expression of signed numbers."""
        return self._converted("u", "int64")

    @property
    def as_unsigned(self) -> str:
        """The expression of unsigned numbers."""
        return self._converted("i", self.common)


def operand(text: str) -> str:
    """Return a text as one operand: in brackets, where it is more than a name, a number, a call or an element."""
    return text if re.fullmatch(r"[\w.]+(\([^()]*\)|\[[^][]*\])?", text) else f"({text})"


class ConditionType(Error, code="cond"):
    """A condition that isn't a bool."""

    title = "a condition is a bool, this is {found}"
    label = "this is {found}"
    help_template = "compare it: `{operand} != 0`"
    found: str
    text: str

    @property
    def operand(self) -> str:
        """The condition as one operand: `!=` binds more than `&` does in C, and less in Python."""
        return operand(self.text)


class LiteralRange(Error, code="type"):
    """A literal that its type can't hold."""

    title = "{value} does not fit {type}"
    label = "out of range"
    help_template = "{remedy}"
    value: str
    type: str

    @property
    def remedy(self) -> str:
        """The number of the type that has the same bits, where there is one."""
        found, number = re.fullmatch(r"(u?)int(\d+)", self.type), int(self.value)
        least = int(found[2]) if found is not None else 8
        wider = next((f"int{n}" for n in (8, 16, 32, 64) if n >= least and -(1 << n - 1) <= number < 1 << n - 1), "")
        wider = wider or ("uint64" if 0 <= number < 1 << 64 else "")
        if found is None or not wider:
            return "an integer has at most 64 bits"
        bits = int(found[2])
        if not -(1 << (bits - 1)) <= number < 1 << bits:
            return f"use a type that holds it, `{wider}`"
        same = hex(number % (1 << bits)) if found[1] else str(number - (1 << bits))
        return f"`{same}` has these bits; else use a type that holds it, `{wider}`"


class FloatRange(Error, code="type"):
    """A constant beyond the largest number of a float's type."""

    title = "{value} does not fit {type}"
    label = "larger than the largest {type}"
    help_template = "use a type that holds it, `{wider}`; infinity is `math.inf`"
    value: str
    type: str

    @property
    def wider(self) -> str:
        """The next float that holds it."""
        return "float32" if self.type not in ("float32", "bfloat16") and abs(float(self.value)) < 3.4e38 else "float64"


class NotCallable(Error, code="type"):
    """Something called that is no function."""

    title = "`{text}` cannot be called"
    label = "not a device function, an intrinsic or a type"
    help_template = "call a function marked `@prism.device`, an intrinsic, or a type as a conversion: `int64(x)`"
    text: str


class NotAValue(Error, code="type"):
    """A construct, perspective or function used as a value."""

    title = "`{text}` is not a value"
    label = "used where a value is needed"
    help_template = "{hint}"
    text: str
    hint: str


class Indices(Named, code="type"):
    """A wrong number of subscripts."""

    title = "`{name}` takes {number}, {given} given"
    label = "here"
    help_template = "{how}"
    wanted: int
    given: int

    @property
    def how(self) -> str:
        """What to write."""
        if not self.wanted:
            return f"write `{self.name}[()]`: it is one element, as the partition's lambda has no parameters"
        return f"give {self.wanted}: one for each dimension, or for each parameter of the partition's lambda"

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


class IndexRange(Named, code="type"):
    """A constant index outside its array."""

    title = "index {index} is outside `{name}`, which has {extent} elements"
    label = "out of bounds"
    help_template = "valid indices are 0 to {last}"
    index: int
    extent: int
    last: int


class NotSubscriptable(Error, code="type"):
    """A subscript on something without elements."""

    title = "{found} has no elements"
    label = "not an array, a pointer or a vector"
    help_template = "subscript arrays, pointers, shared objects, vectors and views of them"
    found: str


class WholeArray(Named, code="type"):
    """An array or pointer used as a number, or assigned whole."""

    title = "`{name}` is {type}: it cannot be {use} as a whole"
    label = "used as a whole"
    help_template = "use its elements, `{name}[i]`"
    type: str
    use: str


class ArrayInitial(Named, code="type"):
    """An initial value of an array other than a list or `{0}`."""

    title = "`{name}` is {type}: an array begins as a list of its elements, as `{{0}}`, or without values"
    label = "neither a list nor `{{0}}`"
    help_template = "write the elements in brackets, `[a, b]`, or assign each, `{name}[i] = ...`"
    type: str


class ListLength(Named, code="type"):
    """A list with more or fewer values than the array has elements."""

    title = "`{name}` is {type}: {extent} values belong here, and {given} are listed"
    label = "{given} of {extent}"
    help_template = "list all of them; `= {{0}}` sets every element to zero, and `{name}[i] = ...` one of them"
    type: str
    extent: int
    given: int


class ListDepth(Named, code="type"):
    """A value where an array of several extents takes a list."""

    title = "`{name}` is {type}: a list of {extent} values belongs here"
    label = "no list"
    help_template = "write a list for each extent, the outermost first: `[[a, b], [c, d]]` of an array [2][2]"
    type: str
    extent: int


class Misaligned(Named, code="type"):
    """A vector access that is surely not aligned."""

    title = "a vector of {width} elements of `{name}` is read or written {rest} element(s) past a multiple of {width}"
    label = "not aligned"
    note_templates = ("the hardware moves a vector only from an address that is a multiple of its size",)
    help_template = "start at a multiple of {width} elements, use a shorter vector, or access the elements one by one"
    width: int
    rest: int


class VectorItems(Named, code="type"):
    """A vector made of the wrong number of components."""

    title = "`{name}` is made of {length} components, or of one that all take; {given} given"
    label = "here"
    help_template = "write `{name}({items})`, or `{name}(x)`"
    length: int
    given: int
    items: str


class NoField(Named, code="type"):
    """A field that a struct does not have."""

    title = "the struct `{struct}` has no field `{name}`"
    label = "no field of it"
    help_template = "its fields are {fields}"
    struct: str
    fields: str


class TupleItem(Error, code="type"):
    """A result of several values, one of which is no number."""

    title = "a result of several values has scalars, not {found}"
    label = "not a scalar"
    help_template = "return a struct of all of them (`@struct`), or write through a pointer parameter"
    found: str


class UnpackValue(Error, code="type"):
    """`a, b = x` of one number."""

    title = "an assignment unpacks {type} into several variables"
    label = "one value; a struct, a vector, or a function's tuple has several"
    help_template = "write one assignment a line, or a value for each: `a, b = b, a`"
    type: str


class UnpackCount(Error, code="type"):
    """`a, b = x` of more or fewer than two fields."""

    title = "`{text}` has {have} value(s), {names} name(s) are assigned"
    label = "it is {type}"
    help_template = "name all {have}, in their order"
    text: str
    type: str
    have: int
    names: int


class FieldOfMemory(Named, code="type"):
    """A field of an element of memory as the target of an assignment."""

    title = "a field of `{name}[...]`, which is memory, is not assigned alone"
    label = "one field of an element"
    note_templates = ("an element of memory is read and written whole",)
    help_template = "copy the element into a local, `v: {struct} = {name}[...]`, assign `v.{field}`, and store `v`"
    struct: str
    field: str


class StructUse(Error, code="type"):
    """A struct where a type of numbers belongs."""

    title = "{what}, and `{struct}` is {found}"
    label = "of `{struct}`"
    help_template = "{hint}"
    what: str
    struct: str
    found: str
    hint: str


class VectorCast(Error, code="type"):
    """`float4_cast` of something else than an element of memory of its scalar."""

    title = "`{cast}` takes an element of memory that holds {element}"
    label = "{found}"
    help_template = (
        "write `{cast}(p[i])` to load, `{cast}[p[i]] = v` to store, with `p` a pointer or shared object of {element}"
    )
    cast: str
    element: str
    found: str


class Speech(Named, code="type"):
    """`assert_`, `print_` or `breakpoint` with other arguments than theirs."""

    title = "`{name}` does not take these arguments"
    label = "here"
    help_template = "write `{usage}`{rest}"
    usage: str
    rest: str = "; the text is a literal"


class AssumedMemory(Error, code="type"):
    """An assumption that reads memory, or has an effect."""

    title = "an assumption is of values alone"
    label = "this reads memory, or does more than compute"
    help_template = "read it into a variable before, `v: int32 = x[i]`, and write `assume(v > 0)`"


class DistinctValue(Error, code="type"):
    """`distinct` of what is no integer."""

    title = "`distinct` takes integers, and this is {type}"
    label = "here"
    help_template = "give it the numbers that decide which elements a unit has: `assume(distinct(tile))`"
    type: str


class DistinctNowhere(Error, code="type"):
    """`distinct` of values that the whole grid agrees on."""

    title = "all units have these values: they tell none of them from another"
    label = "the grid agrees on this"
    help_template = "declare the number for the units that it is to tell apart: `tile: int32 @ block[1] = ...`"


class PrintFields(Error, code="type"):
    """A format that does not fit its values."""

    title = "the text has {fields} field(s) `{{}}`, and {given} value(s) follow it"
    label = "here"
    help_template = "write one `{{}}` for each value; `{{{{` and `}}}}` stand for braces"
    fields: int
    given: int


class Unroll(Error, code="loop"):
    """An unroll factor that isn't a positive constant."""

    title = "`unroll` is True, False or a positive compile-time number"
    label = "not one"
    help_template = "write `unroll=True` to unroll the whole loop, `unroll=4` for four trips at a time"


class NoValue(Named, code="type"):
    """A call without a result used as a value."""

    title = "`{name}` returns nothing"
    label = "used as a value"
    help_template = "call it as a statement of its own, or give it a result: `-> int @ thread[1]`"
