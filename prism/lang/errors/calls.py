"""Errors of calls: bounds, arguments, recursion, shared memory, what this version cannot compile."""

from __future__ import annotations

from prism.lang.diagnostics import Error, Named
from prism.lang.types import Type
from prism.lang.types.perspective import Perspective


class CallBound(Named, code="call-bound"):
    """R13: a callee whose bound the caller cannot give."""

    title = "`{name}` must be run by {needs} together, and the code here has only {bound}"
    label = "called by code that speaks for {code_perspective}"
    needs: str
    bound: str
    code_perspective: Perspective
    narrowed: bool

    @property
    def change(self) -> str:
        """Where the call can go, or what the function must require."""
        if self.narrowed:
            return f"move the call out of the group or arm that narrows the code, to where {self.needs} runs together"
        return f"require it of this function's callers too: put {self.needs}, or a multiple, into its `@requires(...)`"


class CallCooperative(Named, code="call-bound"):
    """R13: a callee whose blocks wait for one another, in a kernel whose blocks need not run at once."""

    title = "`{name}` needs all blocks of the grid to run at once, and `{caller}` does not ask for that"
    label = "called here"
    help_template = "write `cooperative=True` in the `@requires` of `{caller}` too"
    caller: str


class CallArguments(Named, code="type"):
    """A wrong number of arguments, or an argument given twice."""

    title = "`{name}` takes {wanted}, {given}"
    label = "this call"
    wanted: str
    given: str
    parameters: str
    named: str = ""

    @property
    def change(self) -> str:
        """What a function is combined with is a template argument, and given by name."""
        return f"pass the function by name, `{self.named}`" if self.named else f"its parameters are: {self.parameters}"


class ParameterDefault(Named, code="type"):
    """A default that is no number, or of a parameter that takes none."""

    title = "parameter `{name}` {problem}"
    label = "numbers and bools that are known at compile time are defaults"
    help_template = "write a number, a bool or an expression of template parameters, or pass `{name}` at each call"
    problem: str


class CallScalar(Named, code="call-scalar"):
    """R14: a scalar argument that varies where the callee needs agreement."""

    title = "the argument `{parameter}` of `{name}` must agree across {needed}, but {what} varies per {has}"
    label = "varies per {has}"
    help_template = "pass a value @ {needed} or broader, or declare the parameter @ {has}"
    parameter: str
    needed: Perspective
    what: str
    has: Perspective


class IntrinsicScalar(CallScalar):
    """R14: an intrinsic's operand that varies where its threads must agree."""

    help_template = "pass a value @ {needed} or broader"


class CallArray(Named, code="call-ptr"):
    """R15: a local array whose owners are not the callee's."""

    title = "`{parameter}` of `{name}` is an array of each {needed}; `{actual}` is one of each {has}"
    label = "one array for each {has}"
    help_template = "declare `{actual}` @ {needed}, or the parameter @ {has}"
    parameter: str
    needed: Perspective
    actual: str
    has: Perspective


class CallPointer(Named, code="call-ptr"):
    """R15: a pointer argument whose owners are not the callee's."""

    title = (
        "`{parameter}` of `{name}` may be written, so it takes memory of exactly {needed}; `{actual}` belongs to {has}"
    )
    label = "belongs to {has}"
    help_template = "partition or claim `{actual}` for {needed} and pass the new name"
    parameter: str
    needed: Perspective
    actual: str
    has: Perspective


class CallPointerNarrow(Named, code="call-ptr"):
    """R15: a const pointer argument narrower than the callee's parameter."""

    title = "`{parameter}` of `{name}` is read by {needed} together, but `{actual}` belongs to {has}"
    label = "belongs to {has}"
    help_template = "pass memory that {needed} or more threads share"
    parameter: str
    needed: Perspective
    actual: str
    has: Perspective


class CallConst(Named, code="call-ptr"):
    """R15, R17: a const pointer passed where the callee may write."""

    title = "`{actual}` is const, and `{parameter}` of `{name}` may be written"
    label = "const"
    help_template = "declare the parameter const, or pass what may be written"
    parameter: str
    actual: str


class CallType(Named, code="type"):
    """An argument of the wrong type."""

    title = "`{parameter}` of `{name}` takes {wanted}, found {found}"
    label = "this is {found}"
    help_template = "{hint}"
    parameter: str
    wanted: str
    found: str
    hint: str


class CallKernel(Named, code="type"):
    """A kernel called from a kernel."""

    title = "`{name}` is a kernel: it is launched from the host, not called"
    label = "marked `global`"
    help_template = "mark it `@prism.device` to call it from other functions"


class IntrinsicType(Named, code="type"):
    """An intrinsic applied to a type that it doesn't have."""

    title = "`{name}` takes {allowed}, not {found}"
    label = "this is {found}"
    help_template = "convert the operand, or write the operation with others"
    allowed: str
    found: str


class IntrinsicProblem(Named, code="type"):
    """An intrinsic applied to what it has the types for, but not together."""

    title = "`{name}` cannot be applied so: {problem}"
    label = "this application"
    help_template = "`prism help {name}` says how it is called"
    problem: str


class IntrinsicResults(Named, code="type"):
    """`out=[...]` of a number of targets that is not the number of results."""

    title = "`{name}` gives {gives}, and `out=` names {given}"
    label = "this list"
    help_template = "name one element or variable for each result: `out=[d[0], d[1], d[2], d[3]]`"
    gives: str
    given: int


class MatrixNarrow(Named, code="call-ptr"):
    """R15: memory that several threads access together, through a name that belongs to fewer."""

    title = "`{name}` accesses `{actual}` by {needed} together, but it belongs to {has}"
    label = "belongs to {has}"
    actual: str
    needed: Perspective
    has: Perspective
    change: str


class StaticArgument(Named, code="template"):
    """An intrinsic's compile-time argument that is none."""

    title = "`{parameter}` of `{name}` is a compile-time constant"
    label = "not one"
    help_template = "pass a literal, a constexpr or a template parameter"
    parameter: str


class OperandRange(Named, code="type"):
    """A constant operand that the hardware would take modulo something."""

    title = "`{parameter}` of `{name}` is from 0 to {last}, and this is {value}"
    label = "not between 0 and {last}"
    help_template = (
        "a warp has 32 lanes: pass a number from 0 to {last}; whole warps exchange values through shared memory"
    )
    parameter: str
    value: str
    last: int


class StaticChoice(Named, code="template"):
    """An intrinsic's compile-time argument that is none of its choices."""

    title = "`{parameter}` of `{name}` is one of {allowed}"
    label = "none of them"
    help_template = "pass one of {allowed}"
    parameter: str
    allowed: str


class CallLambda(Error, code="call-ptr"):
    """R15: a view made by a lambda that does more than shift, passed as a pointer."""

    title = "`{actual}` is a part whose elements do not lie side by side, so it cannot be passed as a pointer"
    label = "not `offset + i`"
    help_template = (
        "pass a part made with an offset, or by `lambda i: offset + i`, or a row's, by `lambda i: (row, offset + i)`"
    )
    actual: str


class CallElement(Named, code="call-ptr"):
    """R15: an element of memory where a pointer is asked for."""

    title = "`{parameter}` of `{name}` takes memory, and an element of `{memory}` is a number"
    label = "no name of memory"
    note_templates = ("what begins at an element is a part of `{memory}`: a partition says whose it is",)
    help_template = "name it, `with partition({memory}, {unit}, lambda i: {index}) as part:`, and pass `part`"
    parameter: str
    memory: str
    unit: Perspective
    index: str


class Effects(Error, code="type"):
    """Several accesses to memory in one statement, of which a call is one."""

    title = "the order of these accesses to memory is not defined: a call and another access in one statement"
    label = "this call reads or writes memory"
    note_templates = ("a barrier that they need could not stand between them",)
    help_template = "assign the call's result to a variable first"


class EffectsGiven(Effects, code="type"):
    """A call that touches memory, and is given what is read from memory in the same statement."""

    help_template = (
        "read what it is given into a variable first, `value: {type} @ {perspective} = {element}`, and pass that"
    )
    element: str
    type: Type
    perspective: Perspective


class IndexEffect(Error, code="type"):
    """A call that touches memory inside an index, an offset or a bound of a loop."""

    title = "an index, an offset or a bound of a loop cannot call something that reads or writes memory"
    label = "called there"
    help_template = "assign the result to a variable first, and use that"


class NamedBarriers(Named, code="group"):
    """More named barriers than the hardware has."""

    title = "`{name}` needs more than the hardware's 15 named barriers"
    label = "barriers among parts of a block are needed in this kernel"
    note_templates = ("a barrier of thread[n] takes one id for each n threads that a block can have",)
    help_template = 'bound the block\'s size, as `@attr("__launch_bounds__(256)")`, or use larger groups'


class ElementArgument(Named, code="type"):
    """An intrinsic's address operand that is no element of memory."""

    title = "`{parameter}` of `{name}` is an element of memory{kind}"
    label = "not one"
    help_template = "pass `p[i]`, with `p` a pointer, a shared object or a view of one"
    parameter: str
    kind: str = ""


class OtherElement(Named, code="type"):
    """An operand in shared memory, where the instruction is for global memory, or the other way round."""

    title = "`{parameter}` of `{name}` is in {space} memory, and `{memory}` is {found}"
    label = "in {found} memory"
    help_template = "name {space} memory; threads copy from one to the other by plain loads and stores"
    parameter: str
    memory: str
    space: str

    @property
    def found(self) -> str:
        """Where the memory is."""
        return "global" if self.space == "shared" else "shared"


class OtherArgument(OtherElement, code="call-ptr"):
    """R15: memory of one space for a pointer by which a function's copies go to the other."""

    title = "`{name}` needs `{parameter}` in {space} memory, and `{memory}` is {found}"
    help_template = "pass {space} memory; threads copy from one to the other by plain loads and stores"


class FarElement(Named, code="type"):
    """An operand in another block's shared memory, of an instruction that takes the block's own alone."""

    title = "`{parameter}` of `{name}` is in the block's own shared memory, and this may be in another block's"
    label = "of any of {blocks} blocks"
    help_template = (
        "let each block do it for its own part: index `{memory}` by a name declared `b: int32 @ block[1] = id()`, in code of "
        "block[{blocks}], and never assigned; copy what other blocks have by plain loads and stores"
    )
    parameter: str
    memory: str
    blocks: int


class VectorElement(Named, code="type"):
    """An intrinsic of numbers in memory, given memory of vectors."""

    title = "`{name}` takes an element of memory that holds numbers, and `{memory}` holds {found}"
    label = "a vector"
    help_template = (
        "declare memory of {element}, {length} times as many; `v = {memory}[i]`, `{memory}[i] = v` move whole vectors"
    )
    memory: str
    found: str
    element: str
    length: int


class CallSharedMemory(Named, code="call-smem"):
    """R16: more shared memory than `requires` allows."""

    title = "`{name}` needs {needs} bytes of shared memory with its callees, and `@requires` allows {allows}"
    label = "does not fit"
    help_template = "write `smem={needs}` in `@requires`, or leave `smem` out to have it computed"
    needs: int
    allows: int


class SharedLimit(Error, code="call-smem"):
    """R16: a limit that is no number of bytes."""

    title = "`smem` is a number of bytes, known at compile time, not `{text}`"
    label = "this limit"
    help_template = "write `smem=1024`, or leave `smem` out to have it computed"
    text: str


class Recursion(Named, code="recursion"):
    """R30: a function that calls itself, directly or through others."""

    title = "`{name}` calls itself{through}"
    label = "recursive call"
    note_templates = ("shared memory and barriers are planned at compile time, so the depth of calls must be known",)
    help_template = "write it as a loop"
    through: str


class Extern(Named, code="extern"):
    """R29: a function without a body."""

    title = "`{name}` has no body"
    label = "just `pass`"
    help_template = 'write the body in Prism, or give it in CUDA C++: `@extern("return ...;")`'


class ReturnValue(Named, code="type"):
    """A return that does not fit the function's result."""

    title = "`{name}` {problem}"
    label = "this return"
    help_template = "{hint}"
    problem: str
    hint: str


class ReturnMissing(Named, code="type"):
    """A function with a result that can end without one."""

    title = "`{name}` can end without returning its {result}"
    label = "declared to return {result}"
    help_template = "end it with `return value`"
    result: str


class ReturnVaries(Named, code="write-down"):
    """R8: a returned value narrower than the declared result."""

    title = "`{name}` returns one value for each {needed}, but {what} varies per {has}"
    label = "varies per {has}"
    help_template = "combine the values with a collective, or declare the result @ {has}"
    needed: Perspective
    what: str
    has: Perspective
