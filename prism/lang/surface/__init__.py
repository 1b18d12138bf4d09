"""The names that a kernel file imports. They only record: the compiler reads the source of the decorated function."""

from __future__ import annotations

import html
import inspect
import operator
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from inspect import Signature
from types import FunctionType
from typing import Any

from prism.lang.diagnostics import ProgramError
from prism.lang.keep.bases import Value
from prism.lang.keep.help_text import signature as signature_from
from prism.lang.keep.help_text import tells_help
from prism.lang.keep.records import is_record_class
from prism.lang.surface.pages import construct_help, takes
from prism.lang.surface.signature import signature_of
from prism.lang.surface.templates import TemplateName, check_default, read_size
from prism.lang.types import SCALARS, Scalar, Vector
from prism.lang.types.perspective import WARP, WARPGROUP, Level, Perspective
from prism.lang.types.structs import COMPLEX64, COMPLEX128, struct


@dataclass(slots=True)
class Hooks:
    """What the package puts above the language: launching and showing a kernel, and the collectives behind `block.scan`."""

    launch: Callable[..., Any] | None = None
    collectives: Callable[[str], Any] | None = None
    explain: Callable[[Kernel], str] | None = None


HOOKS = Hooks()


@tells_help
class LevelName(Value):
    """`grid`, `block`, `thread`, `warp`, `warpgroup`: subscripted a perspective; attributes are the library's collectives."""

    name: str
    level: Level
    scale: int = 1

    __iter__ = None  # not a sequence, for all its subscript

    def __getitem__(self, size: int | str) -> Perspective:
        """Return so many of it. A text is of a bound, and names template parameters, which Python does not know there."""
        return Perspective(self.level, (read_size(size) if isinstance(size, str) else size) * self.scale)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or HOOKS.collectives is None or self.name not in COLLECTIVE:
            raise AttributeError(name)
        return getattr(HOOKS.collectives(self.name), name)

    @property
    def __name__(self) -> str:
        return self.name

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self.collectives})

    @property
    def collectives(self) -> list[str]:
        """The names of the library's collectives for this level."""
        if HOOKS.collectives is None or self.name not in COLLECTIVE:
            return []
        return list(HOOKS.collectives(self.name).__all__)

    def help_text(self) -> str:
        """Return what `help` shows: what the level is, and its collectives."""
        told = construct_help(self.name, LEVELS[self.name])
        listed = textwrap.fill(", ".join(f"{self.name}.{name}" for name in self.collectives), 100)
        return f"{told}\n\nCollectives, each with a `help` of its own:\n\n{listed}" if listed else told

    def help_signature(self) -> Signature:
        """Return what the index is: a level is subscripted, not called."""
        return signature_from("n")


COLLECTIVE = ("grid", "thread", "warp", "block")
"""The levels that have collectives."""
LEVELS = {
    "grid": "grid[1]: all blocks of a launch",
    "block": "block[n]: n blocks of a cluster; block[1]: one block",
    "warp": "warp[n]: thread[32 * n]",
    "warpgroup": "warpgroup[n]: thread[128 * n]",
    "thread": "thread[n]: n threads that start at a multiple of n",
}
grid = LevelName("grid", Level.GRID)
block = LevelName("block", Level.BLOCK)
thread = LevelName("thread", Level.THREAD)
warp = LevelName("warp", Level.THREAD, WARP)
warpgroup = LevelName("warpgroup", Level.THREAD, WARPGROUP)


@tells_help
class Construct(Value):
    """A construct of the language; calling it in Python gives a record, so that annotations can be evaluated."""

    name: str
    doc: str = ""

    @property
    def __name__(self) -> str:
        return self.name

    def help_text(self) -> str:
        """Return what `help` shows: its line, and the form, the perspective and the example of its page."""
        return construct_help(self.name, self.doc)

    def help_signature(self) -> Signature:
        """Return what it takes."""
        return signature_from(takes(self.name, self.doc))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return Record(self.name, args, tuple(kwargs.items()))

    def __rmatmul__(self, other: object) -> tuple[object, object]:
        return (other, self)


class CeilDivide(Construct):
    """`cdiv(a, b)`: on the host a number, so that a launch has it as the kernel does."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 2 and not kwargs and all(hasattr(each, "__index__") for each in args):
            return -(-operator.index(args[0]) // operator.index(args[1]))
        return Record(self.name, args, tuple(kwargs.items()))


class Record(Value):
    """An applied construct, as in `ptr(const(T))`; `@ perspective` is allowed on it. The compiler reads the source."""

    name: str
    args: tuple[Any, ...]
    keywords: tuple[tuple[str, Any], ...] = ()

    def __getitem__(self, _: object) -> Record:
        return self

    __iter__ = None  # not a sequence, for all its subscript


group = Construct("group", "with group(unit): every unit inside the current one runs the body")
split = Construct("split", "match split(level): different units run different arms")
partition = Construct("partition", "with partition(x, unit, offset) as y: y is each unit's own part of x")
claim = Construct("claim", "with claim(x, unit) as y: y is x for the one unit whose arm uses it")
async_ = Construct("async_", "with async_(x) as y: y is the destination of asynchronous copies")
wgmma_async = Construct("wgmma_async", "with wgmma_async(): the wgmmas inside are issued as one group")
roles = Construct("roles", "a, b = roles(warpgroup, 2, 1): a static split whose arms have names")
turns = Construct("turns", "with turns(role): the role's units run the body one after the other, round after round")
one = Construct("one", "with one(thread): the first such unit of the current one runs the body")
id = Construct("id", "id(): the index of the target's unit inside the current one; id(unit) names the unit")
count = Construct(
    "count",
    "count(unit): how many such units the current one has; count(unit, axis): along an axis; count(acc): a thread's part of a "
    "fragment",
)
row = Construct("row", "row(acc, i): the row of element i of this thread's part of a fragment")
column = Construct("column", "column(acc, i): the column of element i of this thread's part of a fragment")
cdiv = CeilDivide("cdiv", "cdiv(a, b): a / b rounded up, for a >= 0 and b > 0: in a kernel, and on the host")
assert_ = Construct("assert_", 'assert_(condition, "text"): ends the kernel with the text where it does not hold')
assume = Construct(
    "assume", "assume(condition): it holds here, says the program; the compiler may build on it, checked runs test it"
)
distinct = Construct(
    "distinct", "assume(distinct(a, ...)): no two units of a launch ever have the same values here, says the program"
)
static_assert = Construct(
    "static_assert",
    'static_assert(condition, "text"): demands it of constants: the program is refused where it does not hold',
)
print_ = Construct("print_", 'print_("x = {}", x): prints a line for each unit that the code speaks for')
BREAKPOINT = Construct(
    "breakpoint", "breakpoint(): on the reference machine Python's debugger opens; on a GPU nothing happens"
)
unsafe = Construct("unsafe", 'unsafe("text"): text for the emitted code')
ptr = Construct("ptr", "ptr(T): memory that several threads reach; ptr(const(T)) is read only")
array = Construct(
    "array", "array(T, 2): an array of the host's, of any strides: x[i, j], x.shape[0]; of const(T) to read"
)
const = Construct("const", "const(T): never assigned")
constexpr = Construct("constexpr", "constexpr(int), constexpr(Cut): a compile-time value, or a record of such")
shared = Construct("shared", "shared(T[n]): an object in the block's shared memory; ring=k: k copies, visited in turn")
fragment = Construct("fragment", "fragment(T, rows, columns): a matrix that a warpgroup or a warp keeps in registers")
CUtensorMap = Construct(
    "CUtensorMap",
    "CUtensorMap(T, rows, columns, swizzle=128): a matrix, or an array of up to 5 axes, that is copied a tile at a time",
)
vector = Construct("vector", "vector(T, n): n scalars moved as one word of at most 16 bytes")
mailbox = Construct("mailbox", "mailbox(T): a word between blocks, written by publish and read by receive")
dtype = Construct("dtype", "a template parameter that stands for a scalar type")
function = Construct("function", "a template parameter that stands for a device function")


class VectorCast(Value):
    """`float4_cast(p[i])` loads a vector from p[i] on, `float4_cast[p[i]] = v` stores one: 16 bytes at once, aligned."""

    name: str
    vector: Vector

    def __call__(self, *_: Any) -> Any:
        raise TypeError(
            f"`{self.name}` belongs in a kernel: call it inside a function marked @prism.kernel or @prism.device"
        )

    def __getitem__(self, _: object) -> Any:
        return self()


bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, *_floats = SCALARS.values()
float8_e4m3fn, float8_e5m2, float16, bfloat16, float32, float64 = _floats
uint, half, bf16, double = uint32, float16, bfloat16, float64
complex64, complex128 = COMPLEX64, COMPLEX128
c_int, c_float = int32, float32
int8_t, int16_t, int32_t, int64_t = int8, int16, int32, int64
uint8_t, uint16_t, uint32_t, uint64_t = uint8, uint16, uint32, uint64
float2, float4, double2 = Vector(float32, 2), Vector(float32, 4), Vector(float64, 2)
int2, int4, uint2, uint4 = Vector(int32, 2), Vector(int32, 4), Vector(uint32, 2), Vector(uint32, 4)
half2, half8 = Vector(float16, 2), Vector(float16, 8)
float2_cast, float4_cast = VectorCast("float2_cast", float2), VectorCast("float4_cast", float4)
int2_cast, int4_cast = VectorCast("int2_cast", int2), VectorCast("int4_cast", int4)
uint2_cast, uint4_cast = VectorCast("uint2_cast", uint2), VectorCast("uint4_cast", uint4)
double2_cast, half2_cast, half8_cast = (
    VectorCast(name, kind) for name, kind in (("double2_cast", double2), ("half2_cast", half2), ("half8_cast", half8))
)


Shape = int | tuple[int, ...] | None
"""Blocks or threads of a launch: how many, or how many along each of up to three axes; None: the fewest that the bound admits."""


@dataclass(eq=False)
class Kernel:
    """A Python function marked as a kernel or a device function, with what its other decorators recorded. Hashed by identity.

    `kernel[blocks, threads](*arguments)`, or `kernel.launch`, launches a `global` one: on NumPy arrays the reference machine runs
    it. A notebook shows its explanation.
    """

    python: FunctionType
    kind: str
    requires: tuple[Perspective, ...] | None = None
    smem: int | None = None
    cooperative: bool = False
    template: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()
    may_alias: tuple[frozenset[str], ...] = ()
    external: External | None = None

    def __post_init__(self) -> None:
        self.__name__ = self.python.__name__
        self.__qualname__ = self.python.__qualname__
        self.__module__ = self.python.__module__
        self.__doc__ = self.python.__doc__

    def __repr__(self) -> str:
        mark = "kernel" if self.kind == "global" else self.kind
        return f"<@prism.{mark} {self.__module__}.{self.__qualname__}>"

    def __getattr__(self, name: str) -> Any:
        if name == "__signature__":
            return signature_of(self.python, self.template, self.defaults)
        if name == "__wrapped__":  # so `inspect.getsource` and a notebook's `kernel??` find the text
            return self.python
        raise AttributeError(f"{self!r} has no attribute {name!r}")

    def __get__(self, instance: object, owner: Any = None) -> Kernel:
        return self  # as a routine does, whose signature `help` shows

    __iter__ = None  # not a sequence, for all its subscript

    def __getitem__(self, shape: Any) -> Callable[..., Any]:
        """Return a launcher for `kernel[blocks, threads]` or `kernel[blocks]`; tuples give numbers along up to three axes."""

        def launch(*arguments: Any, **options: Any) -> Any:
            if HOOKS.launch is None:
                raise RuntimeError("launching needs the `prism` package, not `prism.lang` alone")
            try:
                return HOOKS.launch(self, shape, *arguments, **options)
            except ProgramError as error:
                error.__traceback__ = None  # it says where the kernel is wrong: frames end with the caller's
                raise

        return launch

    def launch(
        self, *arguments: Any, blocks: Shape = None, threads: Shape = None, stream: Any = None, **options: Any
    ) -> None:
        """Launch the kernel: the same as `kernel[blocks, threads](*arguments, stream=stream, **options)`.

        Blocks or threads that are left out are as few as its `@requires` admits. `options` are `template`, and on the host
        `check`, `schedule` and `seed`: see `prism.launcher.launch`, which says what is raised.
        """
        try:
            self[blocks, threads](*arguments, stream=stream, **options)
        except ProgramError as error:
            error.__traceback__ = None
            raise

    def __reduce__(self) -> str:
        """It is pickled as a function is, by its name, and not copied: `copy.deepcopy` gives the same kernel."""
        return self.__qualname__

    def _repr_html_(self) -> str:
        """The explained source, for a notebook; the name where it can't be told without template arguments."""
        if HOOKS.explain is None:
            return f"<code>{html.escape(self.__name__)}</code>"
        text: str = HOOKS.explain(self)
        return text

    def __call__(self, *_: Any, **__: Any) -> Any:
        if self.kind == "global":
            raise TypeError(f"`{self.__name__}` is a kernel: launch it as {self.__name__}[blocks, threads](...)")
        raise TypeError(f"`{self.__name__}` is a device function: call it inside a kernel")


def _pending(python: Any) -> dict[str, Any]:
    if isinstance(python, Kernel):
        return {}
    if not isinstance(inspect.unwrap(python), FunctionType):  # another decorator's is an error where the text is read
        kind = "a class" if isinstance(python, type) else f"a {type(python).__name__}"
        raise TypeError(
            f"a decorator of Prism's stands above a function written with `def`, not above {kind}: {python!r}"
        )
    pending: dict[str, Any] = python.__dict__.setdefault("__prism__", {})
    return pending


def _record(target: Any, **facts: Any) -> Any:
    if isinstance(target, Kernel):
        for name, value in facts.items():
            setattr(
                target,
                name,
                getattr(target, name) + value if isinstance(value, tuple) and name != "requires" else value,
            )
    else:
        pending = _pending(target)
        for name, value in facts.items():
            pending[name] = pending.get(name, ()) + value if isinstance(value, tuple) and name != "requires" else value
    return target


def kernel(python: FunctionType) -> Kernel:
    """Mark a kernel's entry: `@prism.kernel`, which *Typed Perspectives* spells `@prism("global")`."""
    return Kernel(python, "global", **_pending(python))


def device(python: FunctionType) -> Kernel:
    """Mark a function that kernels call: `@prism.device`, which *Typed Perspectives* spells `@prism("device")`."""
    return Kernel(python, "device", **_pending(python))


def mark(kind: str) -> Callable[[FunctionType], Kernel]:
    """`@prism("global")` or `@prism("device")`."""
    if kind not in ("global", "device"):
        raise ValueError(f'@prism takes "global" (a kernel) or "device" (a function that kernels call), not {kind!r}')
    return kernel if kind == "global" else device


def requires(*bound: Any, smem: int | str | None = None, cooperative: bool = False) -> Callable[[Any], Any]:
    """State the units that the function may rely on, one entry a level, and the bytes of shared memory it may use.

    `cooperative`: all blocks of the grid run at once, so that they can wait for one another: the compiler may put barriers of the
    whole grid. A launch of more blocks than the device holds at once is refused. A device function that needs it says so too.
    A size that names template parameters is in quotes, as `thread["THREADS"]`: Python does not know such names.
    """
    if not isinstance(cooperative, bool):
        raise TypeError(f"`cooperative` is True or False, not {cooperative!r}")
    limit = read_size(smem) if isinstance(smem, str) else smem
    return lambda target: _record(target, requires=bound, smem=limit, cooperative=cooperative)


def template(*listed: Any, **named: Any) -> Callable[[Any], Any]:
    """Declare template parameters: `T=dtype, N=constexpr(int), OP=function`; *Typed Perspectives* writes `[("N", c_int), ...]`.

    `dtype(default=float32)`, `constexpr(int, default=128)` and `function(default=add)` need not be given. A default may be a
    function of parameters before it: `constexpr(int, default=lambda N: N // 2)`. `constexpr(Cut)`, of a frozen dataclass or a
    `NamedTuple`, is a record of constants: `CUT.BM` is one of its fields, or a property.
    """
    if len(listed) > 1 or not all(isinstance(each, list | tuple | Mapping) for each in listed):
        raise TypeError(
            "@template takes parameters by name, `N=constexpr(int)`, or one list of pairs of a name and a kind"
        )
    parameters = dict(listed[0]) if listed else {}
    parameters.update(named)
    defaults = dict[str, Any]()
    for name, kind in parameters.items():
        if isinstance(kind, Record) and [key for key, _ in kind.keywords] == ["default"]:
            ((_, defaults[name]),) = kind.keywords
            check_default(name, defaults[name], list(parameters)[: list(parameters).index(name)])
            kind = {dtype.name: dtype, function.name: function}.get(kind.name) or Record(kind.name, kind.args)
            parameters[name] = kind
        number = isinstance(kind, Record) and kind.name == constexpr.name and not kind.keywords
        given = kind.args[0] if number and kind.args else None
        if isinstance(given, type) and is_dataclass(given) and not is_record_class(given):
            raise TypeError(f"@template: the record `{name}` can change: write `@dataclass(frozen=True)` at its class")
        if not (number or kind in (dtype, function, constexpr, int, float, bool) or isinstance(kind, Scalar)):
            raise TypeError(f"@template: `{name}` is dtype, function or constexpr(int), not {kind!r}")
    names = sys._getframe(1).f_globals
    for name in parameters:
        names.setdefault(name, TemplateName(name))
    return lambda target: _record(target, template=parameters, defaults=defaults)


def _texts(decorator: str, *given: object) -> None:
    """Refuse what a decorator was given that is no text; it would be met only when the kernel is compiled."""
    for text in given:
        if not isinstance(text, str):
            raise TypeError(f"@{decorator} takes text, not {text!r}")


def attr(text: str) -> Callable[[Any], Any]:
    """Put an attribute on the emitted function, as `__launch_bounds__(THREADS, 1)`; template names in it are replaced."""
    _texts("attr", text)
    return lambda target: _record(target, attributes=(text,))


class External(Value):
    """What `@extern` says of a function whose body is just `pass`."""

    text: str
    reads: tuple[str, ...] | None = None
    writes: tuple[str, ...] | None = None
    meaning: Callable[..., Any] | None = None


def extern(
    text: str,
    *,
    reads: Sequence[str] | None = None,
    writes: Sequence[str] | None = None,
    meaning: Callable[..., Any] | None = None,
) -> Callable[[Any], Any]:
    """Give the body of a function in CUDA C++; its own body is `pass`. The signature and the effects are taken at their word.

    `text` names the parameters as the signature does, and returns a result with `return`. `reads` and `writes` list the pointer
    parameters that it touches (left out: all are read, and those not const written). `meaning`, a Python function of the
    same parameters, is what the reference machine runs.
    """
    _texts("extern", text, *(reads or ()), *(writes or ()))
    read, written = (None if names is None else tuple(names) for names in (reads, writes))
    return lambda target: _record(target, external=External(text, read, written, meaning))


def may_alias(*names: str) -> Callable[[Any], Any]:
    """Say that these pointer parameters may overlap; others are taken not to."""
    _texts("may_alias", *names)
    return lambda target: _record(target, may_alias=(frozenset(names),))


class PrismModule(type(sys)):  # type: ignore[misc]
    """The package `prism` itself, callable: `import prism` and then `@prism("global")`."""

    def __call__(self, kind: str) -> Callable[[FunctionType], Kernel]:
        return mark(kind)


__all__ = [
    "array", "assert_", "assume", "async_", "attr", "bf16", "bfloat16", "block", "bool_", "c_float", "c_int", "cdiv", "claim",
    "column", "complex128", "complex64", "const", "constexpr", "count", "CUtensorMap", "device", "distinct", "double",
    "double2", "double2_cast", "dtype", "extern", "float16", "float2", "float2_cast", "float32", "float4", "float4_cast",
    "float64", "float8_e4m3fn", "float8_e5m2", "fragment", "function", "grid", "group", "half", "half2", "half2_cast", "half8",
    "half8_cast", "id", "int16", "int16_t", "int2", "int2_cast", "int32", "int32_t", "int4", "int4_cast", "int64", "int64_t",
    "int8", "int8_t", "Kernel", "kernel", "mailbox", "may_alias", "one", "partition", "print_", "ptr", "requires", "roles",
    "row", "shared", "split", "static_assert", "struct", "template", "thread", "turns", "uint", "uint16", "uint16_t", "uint2",
    "uint2_cast", "uint32", "uint32_t", "uint4", "uint4_cast", "uint64", "uint64_t", "uint8", "uint8_t", "unsafe", "vector",
    "warp", "warpgroup", "wgmma_async",
]  # fmt: skip
"""The names that `prism.lang` hands on to kernel files; what is behind them is asked for by its name."""
