"""Names of users' in C++: every name, at every position, is one of our own, and says nothing to the compiler.

Tests of prism/runtime/export.py.
"""

from __future__ import annotations

import importlib.util
import itertools
import keyword
import re
import sys
import unicodedata
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("hypothesis")
from hypothesis import example, given
from hypothesis import strategies as st

import prism
from prism.interpret import run
from prism.lang import (
    CompileError,
    Kernel,
    const,
    dtype,
    grid,
    group,
    id,
    intrinsic,
    partition,
    ptr,
    requires,
    template,
    thread,
)
from prism.lang import struct as marked
from prism.lang.cuda.names import function_name, plain, variable_name
from prism.lang.cuda.raw_text import rename_words, words_of
from prism.lang.emit import emit
from prism.lang.pipeline import build, lower
from prism.lang.types import INT32
from prism.lang.types.structs import Struct, scalar_called, struct_of
from prism.runtime.compile import compile_cubin
from prism.runtime.export import header
from tests.lang.cuda.test_injection import tokens

OURS = re.compile(r"[A-Za-z](?:_?[A-Za-z0-9])*_")
WORDS = """
    printf CUDART_VERSION NULL INFINITY NAN linux unix assert main threadIdx blockIdx warpSize memcpy float4 dim3 clock int
    float double char void class struct union template typename operator new delete this namespace auto register register_
    signed unsigned static extern inline const volatile constexpr sizeof switch case default do goto throw catch private public
    and_eq xor bitand compl not_eq asm typeid mutable friend using virtual wchar_t char8_t co_await concept requires_ noexcept
    px_t px_b px_s px_shared px_grid px_follow px_warp px_k0 px_stop1 px_ prism_ prism_f prism_everywhere px_bar px_row_slot
    x x_ _x __x x__ x___y _ __ ___ __CUDA_ARCH__ __global__ __syncthreads _Bool _A e1 L u8 R x_2 x_2_ va_start STD cudaMalloc
    é größe ñandú 名前 имя ª µ x٣ ﬁ item word bits real imag x_offset mine_offset self cls math
""".split()
"""Python takes each as a name; to C++ or to the emitter most say something."""
NAMES = list(
    dict.fromkeys(unicodedata.normalize("NFKC", w) for w in WORDS if w.isidentifier() and not keyword.iskeyword(w))
)

EVERYWHERE = """
from prism.lang import block, const, constexpr, dtype, float32, grid, group, id, int32, one, partition, prism, ptr, requires
from prism.lang import roles, shared, struct, template, thread, unsafe, warp

@struct
class Pair:
    {0}: int32
    other: float32

@prism("device")
@requires(thread[1])
def {1}({2}: int32 @ thread[1], by: int32 @ thread[1]) -> int32 @ thread[1]:
    return {2} + by

@prism("global")
@template({3}=constexpr(int))
@requires(grid[1], block[1], thread[64])
def {4}({5}: ptr(const(Pair)) @ grid[1], {6}: ptr(int32) @ grid[1], {7}: int32 @ grid[1]):
    with partition({6}, block[1], 64 * id()) as {8}, group(block[1]):
        {9}: shared(int32[64])
        {10}: int32 @ thread[1] = id()
        with partition({8}, thread[1], {10}) as {11}, partition({9}, thread[1], lambda {12}: {10} + {12}) as {13}:
            with group(thread[1]):
                {14}: int32 = 0
                {15}: int32[2] = [1, 2]
                for {16} in range({7}):
                    {14} += {16} + {15}[{16} % 2]
                unsafe("{14} = {14} + 1;  // {14}", reads=[{14}], writes=[{14}])
                held: Pair = {5}[{10}]
                {13}[0] = {1}({14}, {3}) + held.{0}
                {11}[0] = {13}[0]
"""
POSITIONS = 17
OF_PRISM = {"template", "const", "constexpr", "struct", "int", "float", "double"}
"""What a program cannot call its own things everywhere."""
numbers = itertools.count()


def module_of(path: Path, text: str) -> ModuleType:
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    spec = importlib.util.spec_from_file_location(f"named_{next(numbers)}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module


def everywhere(folder: Path, names: list[str]) -> tuple[Kernel, dict[str, int]]:
    module = module_of(folder / "everywhere.py", EVERYWHERE.format(*names))
    found = {getattr(module, n) for n in dir(module) if isinstance(getattr(module, n), Kernel)}
    (kernel,) = (k for k in found if k.kind == "global")
    return kernel, {names[3]: 5}


def words(source: str) -> list[str]:
    return [t for t in tokens(source) if re.fullmatch(r"[A-Za-z_]\w*", t)]


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The tokens of the kernel whose names are ordinary, numbered in the order in which they come."""
    kernel, given_ = everywhere(tmp_path_factory.mktemp("usual"), [f"name{k}" for k in range(POSITIONS)])
    return anonymous(emit(lower(build(kernel, given_))).source)


def anonymous(source: str) -> list[str]:
    """A text's tokens, with numbers for the names that end as users' do, and for functions and structs."""
    known: dict[str, str] = {}
    return [
        known.setdefault(t, f"#{len(known)}")
        if re.fullmatch(r"prism_\w*|px_struct_\w*|\w*_", t) and not t.startswith("__")
        else t
        for t in tokens(source)
    ]


def programs() -> list[list[str]]:
    """All names, so many to a program, and none there that would be spelled as another: that may be one of another function."""
    found: list[list[str]] = []
    for name in (n for n in NAMES if n not in OF_PRISM):
        room = (p for p in found if len(p) < POSITIONS and plain(name) not in map(plain, p))
        into = next(room, None)
        found = found if into is not None else [*found, []]
        (found[-1] if into is None else into).append(name)
    return [[*p, *(f"more{k}" for k in range(POSITIONS - len(p)))] for p in found]


@pytest.mark.parametrize("turn", range(POSITIONS))
def test_every_name_at_every_position_changes_nothing_but_names(tmp_path: Path, usual: list[str], turn: int) -> None:
    """The text is that of ordinary names, one for one."""
    for some in programs():
        some = some[turn:] + some[:turn]
        if some[0].startswith("__"):  # in a class they are Python's own
            some[0] = "field"
        source = emit(lower(build(*everywhere(tmp_path, some)))).source
        assert anonymous(source) == usual, some


@pytest.mark.parametrize("name", sorted(OF_PRISM))
def test_words_of_the_language_as_names(tmp_path: Path, usual: list[str], name: str) -> None:
    """They are taken for names, or refused: by Prism, or by Python where a function hides what a decorator needs."""
    for at in range(POSITIONS):
        names = [f"name{k}" for k in range(POSITIONS)]
        names[at] = name
        try:
            assert anonymous(emit(lower(build(*everywhere(tmp_path, names)))).source) == usual, at
        except CompileError as error:
            assert "bug in Prism" not in str(error), at
        except TypeError as error:
            assert at == 1 and "is a device function" in str(error), at


def test_nvrtc_takes_all_of_them_at_once(tmp_path: Path) -> None:
    """Each as a parameter, a local, a field and a function, in one kernel."""
    own = [
        n for n in dict.fromkeys(NAMES) if n not in ("struct", "template", "const", "x", "y", "mine", "int", "float")
    ]
    import unicodedata

    own = list({unicodedata.normalize("NFKC", n): n for n in own})
    fields = [n for n in own if not n.startswith("__")]
    text = f"""
from prism.lang import grid, group, id, int32, partition, prism, ptr, requires, struct, thread

@struct
class Record:
{chr(10).join(f"    {n}: int32" for n in fields)}

{
        "".join(
            f'''
@prism("device")
@requires(thread[1])
def f_{n}({n}: int32 @ thread[1]) -> int32 @ thread[1]:
    return {n} + {k}
'''
            for k, n in enumerate(own)
        )
    }
@prism("global")
@requires(grid[1], thread[1])
def kernel(y: ptr(Record) @ grid[1], {", ".join(f"{n}: int32 @ grid[1]" for n in own[::2])}):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        record_: Record = mine[0]
{chr(10).join(f"        {n}: int32 = {k}" for k, n in enumerate(own) if k % 2)}
{chr(10).join(f"        record_.{n} = record_.{n} + f_{m}({m})" for n, m in zip(fields, own, strict=False))}
        mine[0] = record_
"""
    kernel = module_of(tmp_path / "all.py", text).kernel
    program = build(kernel)
    source = emit(lower(program)).source
    assert compile_cubin(source, "sm_90a").cubin
    y = np.zeros(1, struct_of_kernel(program))
    run(program, 1, 1, [y, *range(len(own[::2]))], check=True)
    expected = [(k // 2 if k % 2 == 0 else k) + k for k in range(len(fields))]
    assert list(y[0]) == expected


def struct_of_kernel(program: object) -> np.dtype:
    found = program.entry.parameters[0].type.element  # type: ignore[attr-defined]
    assert isinstance(found, Struct)
    return found.dtype


# -- every character ----------------------------------------------------------------------------------------------------


def test_every_character() -> None:
    for first in range(0, sys.maxunicode + 1, 40):
        name = "".join(map(chr, range(first, min(first + 40, sys.maxunicode + 1))))
        assert OURS.fullmatch(f"{plain.__wrapped__(name)}_"), hex(first)
        assert re.fullmatch(r"prism_[A-Za-z0-9_]*", function_name(name, ())), hex(first)


@given(st.lists(st.text(st.characters(), max_size=100), max_size=8))
def test_names_are_told_apart(names: list[str]) -> None:
    taken: set[str] = set()
    found = [variable_name(name, taken) for name in names]
    assert len(set(found)) == len(names) and all(map(OURS.fullmatch, found)) and taken == set(found)


def test_nothing_of_nvrtcs_ends_as_users_names_do() -> None:
    """Its built-in headers stand in the library as they are: of all words in them, none would be taken for a user's."""
    nvidia = pytest.importorskip("nvidia")
    found = [p for root in nvidia.__path__ for p in Path(root).glob("**/*nvrtc-builtins*")]
    if not found:
        pytest.skip("NVRTC is not the one of PyPI")
    text = found[0].read_bytes()
    macros = set(re.findall(rb"#\s*define\s+(\w+)", text))
    assert {b"CUDART_VERSION", b"__CUDA_ARCH_LIST__", b"NULL"} & macros
    assert not [m for m in macros if OURS.fullmatch(m.decode())]


def test_nothing_of_the_emitters_ends_as_users_names_do() -> None:
    from prism.lang.emit import pieces
    from prism.lang.intrinsics import asynchronous

    texts = [*pieces._HELPERS.values(), *asynchronous.HELPERS.values(), pieces.TENSOR_MAP]
    ours = {w for text in texts for w in words(text)}
    assert {w for w in ours if OURS.fullmatch(w)} == set()
    assert not {w for w in ours if re.fullmatch(r"px_bar_.*|px_.*_(slot|phase)", w)}, "what rings have"


# -- fields of NumPy's records --------------------------------------------------------------------------------------------


@prism.lang.prism("global")
@template(T=dtype)
@requires(grid[1], thread[1])
def copied(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1]):
    i: prism.lang.int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] = x[i]


EVIL = 'a; %>; extern "C" __global__ void evil(int* p) <% *p = 42; %> struct px_q <% int z'
FIELDS = [
    EVIL, "a[4]", "class", "int", "é", "a b", "a\nb", "a*/b", "//", "\\", "??/", "\ud800", "\u202e", "a:int32,b", "{}", "a}",
    "%20", "%", "a_", "_", "1", "x" * 5000, "#define int float", "\u2028", "NULL", "a{", "=", "\0x",
]  # fmt: skip


def definition(source: str) -> str:
    (line,) = re.findall(r"^struct __align__\(\d+\) px_struct_.*$", source, re.M)
    return line


def record(*names: str) -> np.dtype:
    return np.dtype([(name, np.int32) for name in names], align=True)


@given(st.lists(st.text(st.characters(), min_size=1, max_size=20), min_size=1, max_size=5, unique=True))
@example(["a", "a_", "a ", " a", "a!"])
@example(FIELDS)
def test_fields_have_names_of_our_own(names: list[str]) -> None:
    struct = struct_of(record(*names))
    assert struct is not None and struct.names == tuple(names)
    assert scalar_called(struct.key) == struct and struct.key.isascii()
    line = definition(emit(lower(build(copied, {"T": struct}))).source)
    found = re.fullmatch(r"struct __align__\(\d+\) px_struct_[0-9a-f]{16} \{((?: int [A-Za-z0-9_]+;)+) \};", line)
    assert found, line
    fields = re.findall(r"int (\w+);", found[1])
    assert len(set(fields)) == len(names) and all(map(OURS.fullmatch, fields))


def test_no_kernel_comes_in_by_a_fields_name() -> None:
    source = emit(lower(build(copied, {"T": struct_of(record(EVIL, "b"))}))).source
    made = compile_cubin(source, "sm_90a")
    assert b"evil" not in made.cubin and "<%" not in "".join(tokens(source))


def test_nvrtc_takes_every_field() -> None:
    x = np.zeros(2, record(*FIELDS))
    for k, name in enumerate(FIELDS):
        x[name] = k
    struct = struct_of(x.dtype)
    assert compile_cubin(emit(lower(build(copied, {"T": struct}))).source, "sm_90a").cubin
    y = np.zeros_like(x)
    copied[1, 2](x, y, check=True)
    assert np.array_equal(x, y)


def test_a_key_is_that_of_one_struct() -> None:
    """`a:int32,b` is one field, and no two."""
    one, two = struct_of(record("a:int32,b")), struct_of(record("a", "b"))
    assert one is not None and two is not None
    assert one != two and one.key != two.key and one.cuda != two.cuda
    assert scalar_called(one.key) == one and scalar_called(two.key) == two


# -- text that users write -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v = v + 1;", "V = V + 1;"),
        ('"v" v // v', '"v" V // v'),
        ("/* v */ v 'v' '\"' v", "/* v */ V 'v' '\"' V"),
        ('R"x(v")y" v)x" v', 'R"x(v")y" v)x" V'),
        ("a.v a->v a . v ns::v", "a.v a->v a . v ns::v"),
        ("1'000 + v", "1'000 + V"),
        ("0x1v + 1.v + .5f + v", "0x1v + 1.v + .5f + V"),
        ("vv v_ _v v1 v", "vv v_ _v v1 V"),
        ("v.scale + p[0].scale + q->scale", "V.S + p[0].S + q->S"),
        ("threadIdx.scale + scale", "threadIdx.scale + scale"),
        ("f(v...)", "f(V...)"),
        ("é + v", "é + V"),
        ("µ + v", "µ + V"),
        ("'", "'"),
        ('"v', '"V'),
    ],
)
def test_names_in_raw_text(text: str, expected: str) -> None:
    assert rename_words(text, {"v": lambda: "V"}, {"scale": "S"}) == expected
    assert ("v" in words_of(text)) == ("V" in expected)


@marked
class Affine:
    scale: prism.lang.float32
    x: prism.lang.float32


@prism.lang.prism("device")
@prism.lang.extern("auto g = f; g.scale = f.scale * threadIdx.x; (&g)->x += f.x + *printf; return g;")
@requires(thread[1])
def raised(f: Affine @ thread[1], printf: ptr(const(prism.lang.float32)) @ thread[1]) -> Affine @ thread[1]:
    pass


@prism.lang.prism("global")
@requires(grid[1], thread[1])
def raises(y: ptr(Affine) @ grid[1], CUDART_VERSION: ptr(const(prism.lang.float32)) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        before: Affine = mine[0]
        after: Affine = raised(before, CUDART_VERSION)
        mine[0] = after


def test_fields_in_raw_text() -> None:
    source = emit(lower(build(raises))).source
    assert "g.scale_ = f_.scale_ * threadIdx.x; (&g)->x_ += f_.x_ + *printf_;" in source
    assert compile_cubin(source, "sm_90a").cubin


def test_operands_of_intrinsics() -> None:
    @intrinsic("printf + int_ /* printf */ + linux")
    def CUDART_VERSION(
        printf: prism.lang.int32 @ thread[1], int_: prism.lang.int32 @ thread[1], linux: prism.lang.int32 @ thread[1]
    ) -> prism.lang.int32: ...

    @intrinsic("2 * printf")
    def other(printf: prism.lang.int32 @ thread[1]) -> prism.lang.int32: ...

    @prism.lang.prism("global")
    @requires(grid[1], thread[1])
    def kernel(y: ptr(prism.lang.int32) @ grid[1]):
        with partition(y, thread[1], id()) as mine, group(thread[1]):
            mine[0] = CUDART_VERSION(mine[0], 1, other(2))

    source = emit(lower(build(kernel))).source
    assert "return printf_ + int_2_ /* printf */ + linux_;" in source or "return printf_ + int_ /* printf */" in source
    assert compile_cubin(source, "sm_90a").cubin


def test_intrinsics_of_one_name_are_told_apart_by_their_text() -> None:
    """C++ would choose the second for `int*`, where the first is meant."""

    def first() -> object:
        @intrinsic("p[0] + 1")
        def got(p: ptr(const(prism.lang.int32))) -> prism.lang.int32: ...

        return got

    def second() -> object:
        @intrinsic("p[0] + 2", effects={"p": "read"})
        def got(p: ptr(prism.lang.int32)) -> prism.lang.int32: ...

        return got

    one, two = first(), second()

    @prism.lang.prism("global")
    @requires(grid[1], thread[1])
    def kernel(y: ptr(prism.lang.int32) @ grid[1]):
        with partition(y, thread[1], 2 * id()) as mine, group(thread[1]):
            mine[1] = one(mine[0]) + two(mine[0])

    source = emit(lower(build(kernel))).source
    assert len(set(re.findall(r"px_user_got_[0-9a-f]{8}\(", source))) == 2
    assert compile_cubin(source, "sm_90a").cubin


# -- functions, headers ---------------------------------------------------------------------------------------------------


def test_functions_whose_names_would_be_one() -> None:
    """`f` twice gives `prism_f_2`, which is what `f_2` is called too."""

    def device(k: int, name: str) -> Kernel:
        @prism.lang.prism("device")
        @requires(thread[1])
        def f(x: prism.lang.int32 @ thread[1]) -> prism.lang.int32 @ thread[1]:
            return x + k

        f.__name__ = name
        return f

    a, b, c, d = device(1, "f"), device(2, "f"), device(4, "f_2"), device(8, "f 2")

    @prism.lang.prism("global")
    @requires(grid[1], thread[1])
    def kernel(y: ptr(prism.lang.int32) @ grid[1]):
        with partition(y, thread[1], id()) as mine, group(thread[1]):
            mine[0] = a(0) + b(0) + c(0) + d(0)

    program = build(kernel)
    assert len({f.identifier for f in program.functions}) == 5
    assert compile_cubin(emit(lower(program)).source, "sm_90a").cubin


def test_a_safe_name_of_a_kernel_is_seen_from_outside() -> None:
    compiled = prism.compile(copied, {"T": INT32})
    assert compiled.entry.name == "prism_copied" and b"prism_copied" in compiled.cubin


@pytest.mark.parametrize("name", ["class", "a b", "*/ int evil;", "a\nint evil;", "é", "\ud800", "launch"])
def test_headers_for_cpp(name: str) -> None:
    @prism.lang.prism("global")
    @requires(grid[1], thread[1])
    def kernel(status: ptr(prism.lang.int32) @ grid[1], threads: prism.lang.int32 @ grid[1]):
        with partition(status, thread[1], id()) as mine, group(thread[1]):
            mine[0] = threads

    kernel.__name__ = name
    text = header(prism.compile(kernel).entry)
    assert "evil" not in [t for t in tokens(text) if t == "evil"]
    assert "std::int32_t* status_" in text and "std::int32_t threads_" in text
