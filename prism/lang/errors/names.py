"""Errors about names, constants and template arguments."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from prism.lang.diagnostics import Error, Named, Span


class NotDefined(Named, code="name"):
    """A name that nothing binds."""

    title = "`{name}` is not defined"
    label = "no local, parameter, constant or function of this name is in scope here"
    change: str


class CudaName(Named, code="name"):
    """A name of CUDA C++ that Prism writes otherwise, or not at all."""

    title = "CUDA's `{name}` does not exist in Prism"
    label = "a name of CUDA C++"
    change: str


BARRIER = "remove the line: Prism infers the barriers from the accesses to memory; `prism explain` shows where they are"
INDEX = (
    "write `t: int @ thread[1] = id()` in code that speaks for the block: `id()` is the index of a unit in its parent"
)
SHUFFLE = "use `{}`, in code that speaks for the warp: `with group(warp[1]):`"
CUDA = {
    "__syncthreads": BARRIER,
    "__syncwarp": BARRIER,
    "syncthreads": BARRIER,
    "threadIdx": INDEX,
    "blockIdx": "write `b: int @ block[1] = id()` in code that speaks for the grid",
    "blockDim": "write `count(thread[1])` in code that speaks for the block",
    "gridDim": "write `count(block[1])` in code that speaks for the grid",
    "warpSize": "write `32`",
    "laneId": INDEX,
    "__shfl_sync": SHUFFLE.format("shuffle(value, lane)"),
    "__shfl_up_sync": SHUFFLE.format("shuffle_up(value, delta)"),
    "__shfl_down_sync": SHUFFLE.format("shuffle_down(value, delta)"),
    "__shfl_xor_sync": SHUFFLE.format("shuffle_xor(value, mask)"),
    "__ballot_sync": SHUFFLE.format("ballot(predicate)"),
    "__any_sync": SHUFFLE.format("warp_any(predicate)"),
    "__all_sync": SHUFFLE.format("warp_all(predicate)"),
    "atomicAdd": "use `atomic_add(p[i], value)`",
    "atomicMax": "use `atomic_max(p[i], value)`",
    "atomicMin": "use `atomic_min(p[i], value)`",
    "atomicExch": "use `atomic_exchange(p[i], value)`",
    "atomicCAS": "use `atomic_compare_exchange(p[i], expected, value)`",
    "printf": 'write `print_("x = {}", x)`',
    "make_float4": "write `float4(x, y, z, w)`; or load one, `float4_cast(p[i])`",
    "make_float2": "write `float2(x, y)`",
    "make_int4": "write `int4(x, y, z, w)`",
    "make_uint4": "write `uint4(x, y, z, w)`",
    "make_int2": "write `int2(x, y)`",
    "make_uint2": "write `uint2(x, y)`",
    "expf": "write `exp(x)`, or `fast_exp(x)`",
    "__expf": "write `fast_exp(x)`",
    "sqrtf": "write `sqrt(x)`, or `fast_sqrt(x)`",
    "rsqrtf": "write `rsqrt(x)`",
    "fmaf": "write `fma(a, b, c)`",
    "fmaxf": "write `max(a, b)`",
    "fminf": "write `min(a, b)`",
    "fabsf": "write `abs(x)`",
    "__popc": "write `popcount(x)`",
    "__clz": "write `clz(x)`",
    "__ffs": "write `first_set(x)`",
    "__brev": "write `reverse_bits(x)`",
    "__reduce_add_sync": SHUFFLE.format("warp_sum(value)"),
    "__ldg": "declare the pointer `ptr(const(T))`, and load with `p[i]`",
    "__threadfence": "use `publish` and `receive` on a `mailbox`, or `order=` of `atomic_add`",
}


DECLARE = "declare it before its use, as `{}: int @ thread[1] = 0`, or import it at the top of the file"


WHERE = "write `a if condition else b`, of one element"


def not_defined(span: Span, name: str, known: Iterable[str], ours: Collection[str]) -> Error:
    """Return the error for a name that nothing binds; `known` may have been meant, and `ours`, the names of `prism.lang`."""
    if name in CUDA:
        return CudaName(span=span, name=name, change=CUDA[name])
    if name in ours:
        return NotDefined(span=span, name=name, change=f"import it: `from prism.lang import {name}`")
    if name in OTHERWISE:
        meant = OTHERWISE[name]
        return NotDefined(span=span, name=name, change=f"write `{meant}`, with `from prism.lang import {meant}`")
    near = difflib.get_close_matches(name, [*known, *ours], 1, 0.66)
    change = f"did you mean `{near[0]}`?" if near else DECLARE.format(name)
    return NotDefined(span=span, name=name, change=change)


class OutOfScope(Named, code="name"):
    """A local used after its block ended."""

    title = "`{name}` is not in scope here"
    label = "its block has ended, or it is declared later"
    note_templates = ("a name lives from its declaration to the end of the block that declares it, as in C",)
    help_template = "declare `{name}` in the block that encloses both uses"


class Undeclared(Named, code="name"):
    """An assignment to a name without a declaration in scope."""

    title = "`{name}` is assigned, but not declared"
    label = "no declaration of it is in scope here"
    note_templates = ("a declaration gives the type and perspective; it lasts to the end of its block, as in C",)
    help_template = "declare it here, or in the block around: `{name}: {type} @ thread[1] = ...`"
    type: str = "int"


class PythonBuiltin(Named, code="name"):
    """A builtin of Python that kernels don't have."""

    title = "Python's `{name}` does not exist in a kernel"
    label = "a function of the Python interpreter"
    change: str


HOST = "use an intrinsic of `prism.lang`, or compute it before the launch and pass it as an argument"
PYTHON = {
    "print": 'write `print_("x = {}", x)`',
    "round": "write `round_(x)`, or `int(x)`, which drops the fraction",
    "pow": "import `pow` from `prism.lang`",
    "sum": "add in a loop; over the threads of a block or a warp, `block.reduce(x, OP=add)` of `prism.lib.thread.operators`",
    "len": "of an array, `x: array(T, 1)`, write `x.shape[0]`; how many elements a pointer reaches is an argument of its own",
}


def python_builtin(span: Span, name: str) -> Error:
    """Return the error for a function of Python's interpreter."""
    return PythonBuiltin(span=span, name=name, change=PYTHON.get(name, HOST))


class NotConstant(Named, code="name"):
    """A closed-over or global object that is neither a constant nor part of the language."""

    title = "`{name}` is a Python {kind}, which a kernel cannot use"
    label = "closed over from Python"
    note_templates = ("a kernel can use numbers, dtypes, perspectives, device functions and intrinsics from outside",)
    kind: str
    array: bool = False

    @property
    def change(self) -> str:
        """An array is an argument; of anything else the numbers are, or they are template arguments."""
        if self.array:
            return f"pass it as an argument: `{self.name}: ptr(const(T)) @ grid[1]`"
        return "pass its numbers as arguments, or as template arguments, `N=constexpr(int)`"


class ClassAttribute(Named, code="name"):
    """What a class has a name for, and a kernel no use."""

    title = "`{name}` is a Python {kind}: of a class or an enum a kernel takes numbers"
    label = "no number"
    help_template = "give it a number, or pass what is meant as an argument"
    kind: str


class AttributeNumber(Error, code="name"):
    """Launch bounds that are no numbers."""

    title = "`{text}` in `__launch_bounds__` {why}"
    label = "on this function"
    help_template = "write numbers, template parameters, numbers of the file, and arithmetic on them"
    text: str
    why: str


class AttributeText(Error, code="name"):
    """A text that would not end where the attribute does."""

    title = "`@attr` takes an attribute, as `__noinline__` or `__maxnreg__(64)`: names, numbers, arithmetic, closed brackets"
    label = "on this function"
    help_template = "code of your own goes into `unsafe`, or into a function with `@extern`"


class AttributeName(Named, code="name"):
    """An attribute that says what the compiler decides, or an unknown one."""

    title = "`@attr` takes no `{name}`"
    label = "on this function"
    change: str


SHAPE = "`@requires` says it: `block[n]` for clusters of n blocks, `thread[n]` for blocks of a multiple of n threads"
ATTRIBUTES = {"__cluster_dims__": SHAPE, "__block_size__": SHAPE}
"""Attributes of CUDA C++ that are written otherwise."""


class HostFunction(Named, code="name"):
    """A function or a type of NumPy's, or of `math`."""

    title = "`{name}` works on the host, and not in a kernel"
    label = "a function or a type of Python's"
    change: str


NO_SUCH = "`prism.lang` has no such function: compute it before the launch, or write it as a device function"
OTHERWISE = {
    "fabs": "absolute", "round": "round_", "rint": "round_", "fmax": "maximum", "fmin": "minimum", "power": "pow",
    "isnan": "is_nan", "isinf": "is_inf", "isfinite": "is_finite", "signbit": "sign_bit", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "arctan2": "atan2", "gamma": "tgamma", "gammaln": "lgamma",
}  # fmt: skip
"""Functions of the host's that go by another name here."""


class PlainFunction(Named, code="name"):
    """A Python function without @prism called or mentioned."""

    title = "`{name}` is a plain Python function"
    label = "not marked for the GPU"
    help_template = "put `@prism.device` and `@requires(thread[1])` on it"


REDUCTIONS = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}
"""The operators of what NumPy calls by these names: here each is a `reduce`."""


def reduction(base: str, name: str) -> str:
    """Return how a reduction that NumPy has by a name is written; nothing of another name."""
    if base not in ("thread", "warp", "block") or name not in REDUCTIONS:
        return ""
    call = f"{base}.reduce(value, OP=operators.{REDUCTIONS[name]})"
    return f"write `{call}`, with `from prism.lib.thread import operators`"


class NoAttribute(Named, code="name"):
    """`module.name` that the module lacks."""

    title = "`{base}` has no `{name}`"
    label = "unknown"
    base: str

    @property
    def change(self) -> str:
        """What to write instead."""
        spelling = f"check the spelling; `dir({self.base})` in Python lists what there is"
        return reduction(self.base, self.name) or spelling


class TemplateUnbound(Named, code="template"):
    """A template parameter used by a function that does not declare it; or a quoted name of a bound that nothing has."""

    title = "`{name}` is no template parameter of this function"
    label = "not in its `@template`"
    help_template = "add it to this function's `@template(...)`"


class TemplateMissing(Named, code="template"):
    """No value for a template parameter."""

    title = "no value for the template parameter `{name}` of `{function}`"
    label = "cannot be deduced from the arguments"
    function: str
    change: str


class TemplateUnknown(Named, code="template"):
    """A template argument that the function does not have."""

    title = "`{function}` has no parameter `{name}`"
    label = "unknown"
    note_templates = ("its template parameters are: {have}",)
    function: str
    have: str
    meant: str = ""

    @property
    def change(self) -> str:
        """A name that differs in case alone is meant."""
        return (
            f"write `{self.meant}`" if self.meant else f"remove it, or add it to `@template(...)` of `{self.function}`"
        )


class TemplateDefault(Named, code="template"):
    """A default of a template parameter that ends in an error."""

    title = "the default of the template parameter `{name}` of `{function}` cannot be computed: {fault}"
    label = "declared here"
    note_templates = ("a default is a function of the template parameters before it, and of nothing else",)
    help_template = "mend the default, or pass `{name}` by name"
    function: str
    fault: str


class TemplateKind(Named, code="template"):
    """A template argument of the wrong kind."""

    title = "the template parameter `{name}` of `{function}` takes {wanted}, not {given}"
    label = "given here"
    note_templates = ("template arguments are compile-time values",)
    help_template = "pass {wanted}; a value known only at run time must be an ordinary parameter"
    function: str
    wanted: str
    given: str


class NotFolded(Named, code="template"):
    """A constexpr whose value isn't known at compile time."""

    title = "the value of constexpr `{name}` is not known at compile time"
    label = "depends on run-time values"
    help_template = "declare `{name}` without constexpr, or make it a template parameter"


class PerspectiveSize(Error, code="bound-wf"):
    """`thread[n]` with an n that is no positive constant."""

    title = "the size of a perspective is a positive constant"
    label = "not one"
    help_template = "write `{level}[1]`, or a number, constexpr or template parameter in the brackets"
    level: str


class ShiftCount(Error, code="type"):
    """A constant shift by a count that no type has."""

    title = "a shift by {count} in a constant expression"
    label = "not between 0 and 63"
    help_template = "shift by less than the type's bits, or check the constants that make the count"
    count: int


class ShiftBeyond(Error, code="type"):
    """A shift by a constant that the type of what is shifted doesn't have as many bits for."""

    title = "a shift by {count} of {type}"
    label = "not between 0 and {last}"
    note_templates = ("what such a shift gives is not defined in C++",)
    help_template = "shift by less, or convert what is shifted to a wider type first: `int64(x)`"
    count: int
    type: str
    last: int


class NotFinite(Error, code="type"):
    """A constant expression whose value is no finite number, where one is needed."""

    title = "this constant expression has no value that a number of its type can hold"
    label = "infinite, not a number, or too large"
    help_template = "check the constants or template arguments that it is made of"


class DivisionByZero(Error, code="type"):
    """A constant division by zero."""

    title = "division by zero"
    label = "always zero"
    help_template = "check the constants or template arguments that make the divisor"
