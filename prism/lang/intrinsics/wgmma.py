"""wgmma: a warpgroup multiplies two tiles and adds the product to a fragment; and a warpgroup's registers.

One `wgmma` of the language takes the product over all of K: a step of 32 bytes of K (of 16-bit rows, where K is the outer
extent: 16 rows) is one instruction for each 64 rows of the accumulator. Each reads its operands through a descriptor: where they
begin, the swizzle, and two strides.

    K-major (rows x K)        8 rows of one span are the pattern: `stride` from 8 rows to the next; K goes on inside the span,
                              then in the next slab
    MN-major (K x columns)    8 rows of K of one span are the pattern: `stride` from 8 rows of K to the next, `leading` from
                              a slab to the next

The first operand may be a fragment instead: of 16-bit elements a thread's part of an accumulator is what the instruction takes of
the operand, 4 registers of 8 elements that follow one another for each step. Of 8-bit elements threads exchange some first, but
where the fragment is declared as an `operand`.

Products are exact; the hardware's order and rounding of their sum is not specified: the meaning sums in float64 and rounds
once. Integers are exact, modulo 2^32. Of tf32 numbers the low 13 bits are ignored. Products of 8-bit floats Hopper adds with
fewer bits than a float32 has: docs/intrinsics.md.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np

from prism.lang.intrinsics.asynchronous import SHARED
from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.matrix import unpack
from prism.lang.keep.bases import Value
from prism.lang.types import (
    BFLOAT16,
    BOOL,
    FLOAT8_E4M3FN,
    FLOAT8_E5M2,
    FLOAT16,
    FLOAT32,
    INT8,
    INT32,
    UINT8,
    Fragment,
    Scalar,
    tiles,
)  # fmt: skip
from prism.lang.types.perspective import WARPGROUP1
from prism.lang.types.shorts import values_of

Values = np.ndarray[Any, Any]
ROWS = 64
STEP_BYTES = 32
_LAYOUT = {128: 1, 64: 2, 32: 3}
_KINDS = {
    BFLOAT16: "bf16", FLOAT16: "f16", FLOAT32: "tf32", FLOAT8_E4M3FN: "e4m3", FLOAT8_E5M2: "e5m2", INT8: "s8", UINT8: "u8",
}  # fmt: skip
FLOATS_OF_8_BITS = {"e4m3": FLOAT8_E4M3FN, "e5m2": FLOAT8_E5M2}


def columns_allowed(integers: bool) -> tuple[int, ...]:
    """Return the numbers of columns that a fragment may have."""
    return tuple(n for n in range(8, 257, 8) if not integers or n <= 24 or n % 16 == 0)


def kind_of(binding: Binding, operand: str) -> str:
    """Return an operand's type as PTX spells it."""
    held = held_of(binding) if operand == "a" else None
    scalar = binding.tiles[operand].element if held is None else held.element
    return _KINDS.get(scalar, "") if isinstance(scalar, Scalar) else ""


def held_of(binding: Binding) -> Fragment | None:
    """Return the fragment that is the first operand; None where a tile is."""
    return binding.fragments.get("a")


def is_transposed(binding: Binding, operand: str) -> bool:
    """Whether K is an operand's outer extent."""
    return bool(binding.statics.get(f"transpose_{operand}"))


def _k_extent(binding: Binding, operand: str) -> int | None:
    """Return how much of K there is from where a tile operand begins: None where that is no constant."""
    held = held_of(binding) if operand == "a" else None
    if held is not None:
        return held.columns
    axis = 0 if is_transposed(binding, operand) else 1
    start = binding.starts.get(operand, (0, 0))
    first, shape = start[axis] if len(start) == 2 else None, tiles.extents(binding.tiles[operand])
    return None if first is None else shape[axis] - first


def extents(binding: Binding, operand: str) -> tuple[int, int]:
    """Return how many rows and columns of an operand the product reads, from where it begins."""
    k = _k_extent(binding, operand) or 0
    accumulator = binding.fragments["accumulator"]
    other = accumulator.rows if operand == "a" else accumulator.columns
    return (k, other) if is_transposed(binding, operand) else (other, k)


# -- what is wrong ----------------------------------------------------------------------------------------------------


def _problem(binding: Binding) -> str:
    in_memory = ("b",) if held_of(binding) else ("a", "b")
    for operand in in_memory:
        if found := _tile_problem(binding, operand):
            return found
    a, b = kind_of(binding, "a"), kind_of(binding, "b")
    if a != b and {a, b} not in ({"s8", "u8"}, set(FLOATS_OF_8_BITS)):
        held = held_of(binding)
        what, of_a = ("the tiles", binding.tiles["a"]) if held is None else ("`a` and `b`", held)
        return f"{what} hold {of_a.element} and {binding.tiles['b'].element}: they must be of one type"
    if found := _fragment_problem(binding.fragments["accumulator"], a) or _held_problem(binding):
        return found
    for operand in in_memory:
        if found := start_problem(binding, operand, binding.starts.get(operand, (0, 0))):
            return found
        if found := _whole_problem(binding, operand):
            return found
    k_of_a, k_of_b = _k_extent(binding, "a"), _k_extent(binding, "b")
    if k_of_a != k_of_b:
        return (
            f"`a` has {k_of_a} elements along K, and `b` {k_of_b}: all of K is multiplied, from where each tile begins"
        )
    return ""


def _tile_problem(binding: Binding, operand: str) -> str:
    tile = binding.tiles[operand]
    if tile.space != "shared" or tile.shape is None:
        return f"`{operand}` is a tile: a shared object, or a ring's copy, by its name, or an element of it"
    if tile.element not in _KINDS:
        return f"a tile of a wgmma holds {', '.join(map(str, _KINDS))}, not {tile.element}"
    if len(tile.shape) != 2:
        return f"`{operand}` has {len(tile.shape)} extent(s); a tile of a wgmma has two"
    row = tile.shape[1] * tile.element.bytes
    if not tile.swizzle:
        fits = next((span for span in (128, 64, 32) if row % span == 0), None)
        change = f"declare it with `swizzle={fits}`" if fits else "make its rows a multiple of 32 bytes, and swizzle it"
        return f"`{operand}` has no swizzle, and wgmma reads swizzled tiles: {change}"
    if found := tiles.shape_problem(tile.element, tile.shape, tile.swizzle):
        return found
    if tile.shape[0] % 8:
        return f"`{operand}` has {tile.shape[0]} rows; a tile of a wgmma has a multiple of 8"
    if is_transposed(binding, operand) and tile.element.bytes != 2:
        return f"`transpose_{operand}` is for 16-bit elements; {tile.element} tiles have K as their last extent"
    return ""


def _whole_problem(binding: Binding, operand: str) -> str:
    """A tile that is named whole is all read, but for what fills its rows up to whole spans of the swizzle."""
    tile, axis = binding.tiles[operand], 1 if is_transposed(binding, operand) else 0
    assert tile.shape is not None
    has, read, span = tile.shape[axis], extents(binding, operand)[axis], tile.swizzle // tile.element.bytes
    if operand not in binding.whole or has == read or (axis == 1 and has == -(-read // span) * span):
        return ""
    what, extent = ("row", "column")[axis], ("rows", "columns")[operand == "b"]
    first = f"to take the first {read}, name the place, `{operand}[0, 0]`"
    return f"`{operand}` has {has} {what}s, and the accumulator {read} {extent}: {first}"


def _fragment_problem(fragment: Fragment, kind: str) -> str:
    sums = (
        (INT32,) if kind in ("s8", "u8") else (FLOAT32, FLOAT16) if kind in ("f16", *FLOATS_OF_8_BITS) else (FLOAT32,)
    )
    if fragment.threads != 128:
        return f"the accumulator is a fragment of a warpgroup, not of {fragment.threads} threads"
    if fragment.element not in sums:
        return f"{kind} products are added in {' or '.join(map(str, sums))}, not in {fragment.element}"
    if fragment.rows % ROWS:
        return f"the accumulator has a multiple of {ROWS} rows, not {fragment.rows}"
    if fragment.columns not in columns_allowed(INT32 in sums):
        which = "8, 16, 24, or a multiple of 16 up to 256" if INT32 in sums else "a multiple of 8 up to 256"
        return f"the accumulator has {which} columns, not {fragment.columns}"
    return ""


def _held_problem(binding: Binding) -> str:
    """What is wrong with the first operand, where it is a fragment."""
    held, rows = held_of(binding), binding.fragments["accumulator"].rows
    if held is None:
        return ""
    if held.element.bytes > 2:
        return f"`a` in registers is a fragment of 16-bit or 8-bit elements, not of {held.element}: name a tile"
    if is_transposed(binding, "a"):
        return "`transpose_a` is for tiles: of a fragment the rows are those of the accumulator"
    if held.rows != rows:
        return f"`a` has {held.rows} rows, and the accumulator {rows}"
    step = STEP_BYTES // held.element.bytes
    if held.columns % step:
        return f"`a` has {held.columns} columns; {held.element} takes a multiple of {step} along K"
    return ""


def start_units(binding: Binding, operand: str) -> tuple[int, int]:
    """Return of what number of rows, and of columns, a tile operand's first is a multiple."""
    tile = binding.tiles[operand]
    return 8, (tile.swizzle if is_transposed(binding, operand) else STEP_BYTES) // tile.element.bytes


def start_problem(binding: Binding, operand: str, start: tuple[int | None, ...]) -> str:
    """Return why a tile operand cannot begin at these indices, or the empty string; what is None is not looked at.

    The checker asks with the constants of the source.
    """
    tile, k_axis = binding.tiles[operand], 0 if is_transposed(binding, operand) else 1
    assert tile.shape is not None
    size, what = tile.element.bytes, ("row", "column")
    if len(start) != 2:
        return f"`{operand}` begins at a row and a column"
    if start[k_axis] is None:
        return f"the {what[k_axis]} where `{operand}` begins is a constant: it says how much of K there is"
    units = start_units(binding, operand)
    counts = extents(binding, operand)
    for axis, first in enumerate(start):
        if first is None:
            continue
        if first % units[axis]:
            return f"`{operand}` begins at a {what[axis]} that is a multiple of {units[axis]}, not at {first}"
        if first < 0 or first + counts[axis] > tile.shape[axis]:
            last = first + counts[axis] - 1
            return f"`{operand}` reads {what[axis]}s {first} to {last}, and the tile has {tile.shape[axis]}"
    step = STEP_BYTES // size
    if counts[k_axis] <= 0 or counts[k_axis] % step:
        return (
            f"`{operand}` has {counts[k_axis]} elements along K; {kind_of(binding, operand)} takes a multiple of {step}"
        )
    return ""


# -- C++ --------------------------------------------------------------------------------------------------------------


class Descriptor(Value):
    """How one operand's descriptors are made: `text()` is its C++ type, which px_wgmma takes.

    `span` is the swizzle; `slab` the bytes from a slab to the next; `first` the byte inside the span where K begins (K-major).
    """

    span: int
    slab: int
    first: int = 0
    transposed: bool = False

    @property
    def fields(self) -> tuple[int, int, int]:
        """`leading` and `stride` in bytes, and the code of the layout."""
        return self.slab if self.transposed else 16, 8 * self.span, _LAYOUT[self.span]

    def offset(self, step: int, strip: int = 0) -> int:
        """Return how many bytes after the operand's first that of one step, for one strip of 64 rows, begins."""
        if self.transposed:
            return step * (STEP_BYTES // 2) * self.span + strip * (2 * ROWS // self.span * self.slab)
        slab, inside = divmod(self.first + step * STEP_BYTES, self.span)
        return slab * self.slab + inside - self.first + strip * ROWS * self.span

    def encode(self, address: int, step: int, strip: int = 0) -> int:
        """Return the descriptor of one step, for one strip of 64 rows, of an operand that begins at a shared address."""
        leading, stride, layout = self.fields
        at = address + self.offset(step, strip)
        return (at & 0x3FFFF) >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | layout << 62

    def text(self) -> str:
        """Return the C++ type."""
        return f"px_operand<{self.span}, {self.slab}, {self.first}, {str(self.transposed).lower()}>"


_OPERAND = f"""\
template <int SPAN, int SLAB, int FIRST, bool TRANSPOSED> struct px_operand {{
    static constexpr int transposed = TRANSPOSED;
    static __device__ __forceinline__ unsigned int first(const void* tile) {{
        return (px_smem(tile) & 0x3FFFFu) >> 4 | (TRANSPOSED ? SLAB >> 4 : 1) << 16;
    }}
    static __device__ __forceinline__ unsigned long long at(unsigned int first, int step, int strip = 0) {{
        const int inside = FIRST + step * {STEP_BYTES};
        const int offset = TRANSPOSED ? step * {STEP_BYTES // 2} * SPAN + strip * ({2 * ROWS} / SPAN * SLAB)
                                      : inside / SPAN * SLAB + inside % SPAN - FIRST + strip * {ROWS} * SPAN;
        const unsigned int high = SPAN / 2 | (SPAN == 128 ? 1u : SPAN == 64 ? 2u : 3u) << 30;
        return (unsigned long long)high << 32 | first + offset / 16;
    }}
}};
"""


def descriptor(binding: Binding, operand: str) -> Descriptor:
    """Return how a tile operand's descriptors are made."""
    tile, swapped = binding.tiles[operand], is_transposed(binding, operand)
    start = binding.starts.get(operand, (0, 0))
    first = 0 if swapped else (start[1] or 0) * tile.element.bytes % tile.swizzle
    return Descriptor(tile.swizzle, tiles.slab_bytes(tile), first, swapped)


def _lines(items: Iterable[str]) -> str:
    """Return a list over several lines of C++."""
    return textwrap.fill(", ".join(items), width=110).replace("\n", "\n        ")


class _Instruction(Value):
    """One wgmma.mma_async: columns, the types of its operands and its sum.

    `held`: the first is in registers; `ready`: as the instruction takes it.
    """

    columns: int
    a: str
    b: str
    sum: Scalar
    held: bool = False
    ready: bool = True

    @property
    def k(self) -> int:
        return {"bf16": 16, "f16": 16, "tf32": 8}.get(self.a, 32)

    @property
    def name(self) -> str:
        kinds = self.a if self.a == self.b else f"{self.a}_{self.b}"
        kinds += ("_f16sum" if self.sum == FLOAT16 else "") + ("_held" if self.held else "")
        kinds += "_ready" if self.held and self.k == 32 and self.ready else ""
        return f"px_wgmma_n{self.columns}_{kinds}"

    def text(self) -> str:
        """Return the helper that issues one."""
        halves, sum_ = self.sum == FLOAT16, {INT32: "s32", FLOAT16: "f16"}.get(self.sum, "f32")
        count = self.columns // (4 if halves else 2)
        letter, kept = "f" if self.sum == FLOAT32 else "r", self.columns // 2
        held = "unsigned int" if halves else self.sum.cuda
        d = "reinterpret_cast<unsigned int*>(d)" if halves else "d"
        what = f"wgmma.mma_async.sync.aligned.m64n{self.columns}k{self.k}.{sum_}.{self.a}.{self.b}"
        registers = _lines(f"%{i}" for i in range(count)).replace("\n        ", ' "\n        "')
        scales = "" if self.sum == INT32 else ", 1, 1"
        words = 4 if self.held else 1  # of the first operand
        rest = count + words
        swaps = (f", %{rest + 2}" if self.held else f", %{rest + 2}, %{rest + 3}") if self.k == 16 else ""
        outs = _lines(f'"+{letter}"(d[{i}])' for i in range(count))
        first = ", ".join(f'"r"(a[{i}])' for i in range(4)) if self.held else '"l"(a)'
        swapped = "" if not swaps else ', "n"(SWAP_B)' if self.held else ', "n"(SWAP_A), "n"(SWAP_B)'
        ins = f'{first}, "l"(b), "r"(accumulate){swapped}'
        a = ", ".join(f"%{count + i}" for i in range(words))
        a, type_a, swap_a = (
            (f"{{{a}}}", "const unsigned int*", "") if self.held else (a, "unsigned long long", "int SWAP_A, ")
        )
        return (
            f"template <{swap_a}int SWAP_B> static __device__ __forceinline__ void {self.name}_step(\n"
            f"    {held}* d, {type_a} a, unsigned long long b, int accumulate) {{\n"
            f'    asm volatile("{{\\n\\t.reg .pred p;\\n\\tsetp.ne.b32 p, %{rest + 1}, 0;\\n\\t"\n'
            f'        "{what} {{"\n        "{registers}}}, "\n        "{a}, %{rest}, p{scales}{swaps};\\n\\t}}"\n'
            f"        : {outs}\n        : {ins});\n}}\n"
            + (self._held_text(count, kept, d) if self.held else self._text(count, kept, d))
        )

    def _text(self, count: int, kept: int, d: str) -> str:
        """Return the helper that issues all of a product's."""
        return (
            f"template <int STEPS, typename A, typename B, int KEPT> static __device__ __forceinline__ void {self.name}(\n"
            f"    {self.sum.cuda} (&d)[KEPT], const void* a, const void* b, bool accumulate = true) {{\n"
            "    const unsigned int first_a = A::first(a), first_b = B::first(b);\n#pragma unroll\n"
            "    for (int k = 0; k < STEPS; ++k)\n#pragma unroll\n"
            f"        for (int s = 0; s < KEPT / {kept}; ++s)\n            {self.name}_step<A::transposed, B::transposed>(\n"
            f"                {d} + s * {count}, A::at(first_a, k, s), B::at(first_b, k), k > 0 || accumulate);\n}}\n"
        )

    def _held_text(self, count: int, kept: int, d: str) -> str:
        """Return the helper that issues all of a product's whose first operand is in registers."""
        given, before, words = "T (&a)[HELD]", "", "reinterpret_cast<const unsigned int*>(a)"
        if not self.ready:
            given, before, words = "px_held<T, HELD>& a", "    px_lay(a);\n", "a.words"
        return (
            "template <int STEPS, typename B, int KEPT, typename T, int HELD>\n"
            f"static __device__ __forceinline__ void {self.name}(\n"
            f"    {self.sum.cuda} (&d)[KEPT], {given}, const void* b, bool accumulate = true) {{\n{before}"
            "    const unsigned int first_b = B::first(b);\n"
            f"    const unsigned int* words = {words};\n#pragma unroll\n"
            "    for (int k = 0; k < STEPS; ++k)\n#pragma unroll\n"
            f"        for (int s = 0; s < KEPT / {kept}; ++s)\n            {self.name}_step<B::transposed>(\n"
            f"                {d} + s * {count}, words + 4 * (s * STEPS + k), B::at(first_b, k), k > 0 || accumulate);\n}}\n"
        )


def _instruction(binding: Binding) -> _Instruction:
    fragment = binding.fragments["accumulator"]
    held = held_of(binding)
    ready = held is None or held.operand or held.element.bytes > 1
    kinds = kind_of(binding, "a"), kind_of(binding, "b")
    return _Instruction(fragment.columns, *kinds, fragment.element, held is not None, ready)


def steps(binding: Binding) -> int:
    """Return how many instructions one wgmma becomes, for each 64 rows of the accumulator."""
    return (_k_extent(binding, "a") or 0) // _instruction(binding).k


def _cuda(binding: Binding, accumulator: str, a: str, b: str, accumulate: str = "") -> str:
    operands = ", ".join([accumulator, a, b, *([accumulate] if accumulate else [])])
    layouts = ", ".join(descriptor(binding, operand).text() for operand in "ab" if operand in binding.tiles)
    return f"{_instruction(binding).name}<{steps(binding)}, {layouts}>({operands})"


def _preamble(binding: Binding) -> str:
    return "\n".join([SHARED, _OPERAND, _instruction(binding).text()])


# -- meaning ----------------------------------------------------------------------------------------------------------


def numbers(tile: Values, kind: str) -> Values:
    """Return a tile's elements, as they are stored, as float64 or int64. bfloat16 may be its bits, or float32."""
    tile = np.asarray(tile)
    match kind:
        case "bf16" if tile.dtype == np.uint16:
            return (tile.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        case "bf16" | "f16":
            return tile.astype(np.float64)
        case "tf32":
            return unpack(np.ascontiguousarray(tile, np.float32).view(np.uint32), "tf32")[..., 0]
        case "e4m3" | "e5m2" if tile.dtype.kind == "f":
            return tile.astype(np.float64)
        case "e4m3" | "e5m2":
            return np.asarray(values_of(tile, FLOATS_OF_8_BITS[kind]), np.float64)
        case _:
            return tile.astype(np.int64)


def _meaning(binding: Binding, a: Values, b: Values, accumulator: Values, accumulate: Any = None) -> Values:
    left, right = numbers(a, kind_of(binding, "a")), numbers(b, kind_of(binding, "b"))
    left = left.swapaxes(-1, -2) if is_transposed(binding, "a") else left
    right = right if is_transposed(binding, "b") else right.swapaxes(-1, -2)
    sum_ = binding.fragments["accumulator"].element
    with np.errstate(all="ignore"):
        total = np.matmul(left, right)
        held = np.asarray(accumulator).astype(total.dtype)
        if accumulate is not None:
            kept = np.broadcast_to(np.asarray(accumulate, bool).reshape(-1, 1, 1), held.shape)
            held = np.where(kept, held, held.dtype.type(0))
        total = total + held
        return total.astype(np.uint32).view(np.int32) if sum_ == INT32 else np.asarray(total.astype(sum_.numpy))


wgmma = Intrinsic(
    name="wgmma",
    doc=(
        "wgmma(acc, a, b, transpose_a=False, transpose_b=False, accumulate=True): acc += A * B over all of K, or "
        "A * B where not `accumulate`; acc is a fragment of M x N, M a multiple of 64; a and b are swizzled shared tiles, "
        "M x K and N x K (transposed: K x M and K x N), or what begins at a[i, k]; a may be a fragment of 16-bit or 8-bit "
        "elements, M x K, which is read until the wgmma has been waited for; of bfloat16, float16, float32 (taken as "
        "tf32), int8, uint8, float8_e4m3fn or float8_e5m2; of the last two, and of int8 and uint8, b may be of the other."
    ),
    parameters=(
        Parameter("accumulator", "fragment", "", unit=WARPGROUP1, effect="update"),
        Parameter("a", "tile", unit=WARPGROUP1, exact=False, registers=True),
        Parameter("b", "tile", "", unit=WARPGROUP1, exact=False),
        Parameter("transpose_a", "static", default=False, optional=True, choices=(False, True)),
        Parameter("transpose_b", "static", default=False, optional=True, choices=(False, True)),
        Parameter("accumulate", "value", BOOL, unit=WARPGROUP1, optional=True),
    ),
    cuda=_cuda,
    preamble=_preamble,
    meaning=_meaning,
    requires=WARPGROUP1,
    allows=lambda scalar: scalar in _KINDS,
    allows_text="bfloat16, float16, float32, float8_e4m3fn, float8_e5m2, int8 or uint8",
    problem=_problem,
    min_arch="sm_90a",
    asynchronous="wgmma",
    source="PTX ISA 9.7.15.5.2 wgmma.mma_async",
)


# -- registers --------------------------------------------------------------------------------------------------------

REGISTERS = 65536


def launched_registers(threads: int) -> int:
    """Return the registers a thread that a block of so many threads starts with, where it has its multiprocessor for itself."""
    return min(REGISTERS // threads // 8 * 8, 255)


def _set_registers(binding: Binding, launched: int = 168) -> str:
    count = int(binding.statics["n"])
    return f'asm volatile("setmaxnreg.{"inc" if count > launched else "dec"}.sync.aligned.u32 {count};")'


set_registers = Intrinsic(
    name="set_registers",
    doc=(
        "set_registers(n): from here on each thread of the warpgroup has n registers, a multiple of 8 from 24 to 256: what some "
        "give back, others may take. Stands first in a role."
    ),
    parameters=(Parameter("n", "static", INT32, choices=tuple(range(24, 257, 8))),),
    cuda=_set_registers,
    meaning=lambda binding, *_: np.zeros((1, 1)),
    requires=WARPGROUP1,
    min_arch="sm_90a",
    source="PTX ISA, setmaxnreg",
)

WARPGROUPS = (wgmma, set_registers)
