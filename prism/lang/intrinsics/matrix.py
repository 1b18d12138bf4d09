"""Matrix fragments: `mma` on the tensor cores, and `ldmatrix`, `stmatrix` between shared memory and fragments.

A warp multiplies an M x K by a K x N tile and adds it to an M x N one. Each lane holds a few elements of each, in local
arrays at thread[1]. With g = lane / 4, t = lane % 4, and P elements in a register (P = 4 bytes / element; float64: 1):

    fragment  register r, element j of it   row                    column
    a         M x K                         g + 8 * (r % (M/8))    (r / (M/8)) * 4P + t * P + j
    b         K x N                         r * 4P + t * P + j     g
    c         M x N, one element each       g + 8 * (r / 2)        2 * t + r % 2
    c         of float16, two each          g + 8 * r              2 * t + j
    ldmatrix  8 x 8 of 16 bits, register r  g (matrix r)           2 * t + j; transposed: row 2 * t + j, column g

For tf32 the low 13 bits of each word are ignored (the number is truncated, not rounded): so in the meaning too. Products
are exact; the hardware's order and rounding of their sum is not specified: the meaning sums in float64 and rounds once.
Of float64 one product after the other is added to c, in the order of k, by fma: an H200's sums are these, to the bit.
Integers are exact, modulo 2^32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.memory import VECTOR, Memory, Values, scalar_of, vector_cuda
from prism.lang.intrinsics.packed import from_float, pack, to_float
from prism.lang.intrinsics.special import fused_multiply_add
from prism.lang.keep.bases import Value
from prism.lang.types import FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT16, FLOAT32, FLOAT64, INT32, UINT32, Scalar, Vector
from prism.lang.types.perspective import WARP1
from prism.lang.types.shorts import bits_of, values_of

LANE = np.arange(32)
GROUP, IN_GROUP = LANE // 4, LANE % 4


class Shape(Value):
    """One mma: its tile, the type of its operands (as PTX names it), of its accumulator, and the first architecture.

    `other`: the type of b, where it is not that of a. `with_`: how single bits are multiplied, `and` or `xor`.
    """

    m: int
    n: int
    k: int
    kind: str
    accumulator: Scalar
    arch: str
    other: str = ""
    with_: str = ""

    @property
    def name(self) -> str:
        """`m16n8k8_tf32`, `m16n8k16_s8_u8`, `m16n8k16_f16_in_f16`, `m16n8k256_b1_xor`."""
        parts = [self.kind, self.other, self.with_, "in_f16" if self.accumulator == FLOAT16 else ""]
        return f"m{self.m}n{self.n}k{self.k}_{'_'.join(filter(None, parts))}"

    @property
    def kinds(self) -> tuple[str, str]:
        """The types of a and b."""
        return self.kind, self.other or self.kind

    @property
    def bits(self) -> int:
        """The size of an operand's element."""
        return {"tf32": 32, "f16": 16, "bf16": 16, "f64": 64, "s4": 4, "u4": 4, "b1": 1}.get(self.kind, 8)

    @property
    def total(self) -> Scalar:
        """The type of a register of c."""
        return UINT32 if self.accumulator == FLOAT16 else self.accumulator

    @property
    def per_total(self) -> int:
        """Elements in a register of c."""
        return 2 if self.accumulator == FLOAT16 else 1

    @property
    def per_register(self) -> int:
        """Elements in a register."""
        return max(1, 32 // self.bits)

    @property
    def register(self) -> Scalar:
        """The type of a register of a and b."""
        return FLOAT64 if self.kind == "f64" else UINT32

    @property
    def registers(self) -> tuple[int, int, int]:
        """How many registers of a, b and c a lane has."""
        return (
            self.m * self.k // 32 // self.per_register,
            self.k * self.n // 32 // self.per_register,
            self.m * self.n // 32 // self.per_total,
        )


def places(shape: Shape, operand: str) -> tuple[Values, Values]:
    """Return row and column of every element that a warp holds, of shape (32, registers, elements a register)."""
    a, b, c = shape.registers
    p, tall = shape.per_register, shape.m // 8
    g, t = GROUP[:, None, None], IN_GROUP[:, None, None]
    if operand == "c":
        at = np.arange(c * shape.per_total).reshape(1, c, shape.per_total)
        return np.broadcast_arrays(g + 8 * (at // 2), 2 * t + at % 2)  # type: ignore[return-value]
    r, j = np.arange(a if operand == "a" else b)[None, :, None], np.arange(p)[None, None, :]
    if operand == "a":
        return np.broadcast_arrays(g + 8 * (r % tall), r // tall * 4 * p + t * p + j)  # type: ignore[return-value]
    return np.broadcast_arrays(r * 4 * p + t * p + j, g)  # type: ignore[return-value]


def unpack(registers: Values, kind: str) -> Values:
    """Return registers (..., count) as the numbers they hold, (..., count, elements a register)."""
    if kind == "f64":
        return registers[..., None]
    words = np.ascontiguousarray(registers).astype(np.uint32, copy=False)[..., None]
    match kind:
        case "tf32":
            return (words & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
        case "f16" | "bf16":
            return to_float(words.view(np.uint16), kind).astype(np.float64)
        case "e4m3" | "e5m2":
            scalar = FLOAT8_E4M3FN if kind == "e4m3" else FLOAT8_E5M2
            return np.asarray(values_of(words.view(np.uint8), scalar).astype(np.float64))
        case "s8" | "u8":
            return words.view(np.int8 if kind == "s8" else np.uint8).astype(np.int64)
        case _:
            bits = 1 if kind == "b1" else 4
            parts = (words >> np.arange(0, 32, bits, dtype=np.uint32)).astype(np.int64) & (1 << bits) - 1
            return np.where(parts > 7, parts - 16, parts) if kind == "s4" else parts


def multiply(shape: Shape, a: Values, b: Values, c: Values) -> Values:
    """Return the accumulators of a * b + c: registers of shape (warps, 32, count) in, the same out."""
    warps, exact = a.shape[0], np.int64 if shape.accumulator.integral else np.float64
    tiles = []
    rows, columns = places(shape, "c")
    with np.errstate(all="ignore"):
        for operand, registers, extent in (("a", a, (shape.m, shape.k)), ("b", b, (shape.k, shape.n))):
            tile = np.zeros((warps, *extent), exact)
            tile[(slice(None), *places(shape, operand))] = unpack(registers, shape.kinds[operand == "b"])
            tiles.append(tile)
        if shape.kind == "f64":
            total = c
            for k in range(shape.k):
                total = fused_multiply_add(tiles[0][:, rows[..., 0], k], tiles[1][:, k, columns[..., 0]], total)
            return np.asarray(total)
        products = np.matmul(tiles[0], tiles[1])
        if shape.with_ == "xor":  # bits that differ: those of either, less those of both, twice
            products = tiles[0].sum(axis=2, keepdims=True) + tiles[1].sum(axis=1, keepdims=True) - 2 * products
        if shape.accumulator == FLOAT16:
            return pack(from_float(products[:, rows, columns] + unpack(c, "f16"), "f16"))
        total = products[:, rows[..., 0], columns[..., 0]] + c.astype(exact)
        if shape.accumulator.integral:
            total = total.astype(np.uint32).view(np.int32)
        return np.asarray(total.astype(shape.accumulator.numpy))


def _instruction(shape: Shape) -> str:
    out = {"float": f"f{shape.accumulator.bits}", "int": "s32"}[shape.accumulator.kind]
    bits = f".{shape.with_}.popc" if shape.with_ else ""
    return f"mma.sync.aligned.m{shape.m}n{shape.n}k{shape.k}.row.col.{out}.{'.'.join(shape.kinds)}.{out}{bits}"


def _mma_text(shape: Shape) -> str:
    counts = shape.registers
    a, b, c = counts
    letter = {"float64": "d", "float32": "f", "int32": "r", "uint32": "r"}
    operands, at = [], 0
    for count in (c, a, b):
        operands.append("{" + ", ".join(f"%{at + k}" for k in range(count)) + "}")
        at += count
    outs = ", ".join(f'"+{letter[shape.total.name]}"(c[{k}])' for k in range(c))
    ins = [f'"{letter[shape.register.name]}"({x}[{k}])' for x, count in (("a", a), ("b", b)) for k in range(count)]
    head = f"{shape.register.cuda} (&a)[{a}], const {shape.register.cuda} (&b)[{b}], {shape.total.cuda} (&c)[{c}]"
    return (
        f"static __device__ __forceinline__ void px_mma_{shape.name}(const {head}) {{\n"
        f'    asm volatile("{_instruction(shape)} {operands[0]}, {operands[1]}, {operands[2]}, {operands[0]};"\n'
        f"                 : {outs} : {', '.join(ins)});\n}}\n"
    )


def _mma(shape: Shape) -> Intrinsic:
    """Return the mma of a shape on local arrays: c += a * b."""
    a, b, c = shape.registers
    kinds = [*dict.fromkeys(shape.kinds)]
    what = {"tf32": "tf32 words", "f64": "doubles"}.get(
        shape.kind, f"{shape.per_register} {' and '.join(kinds)} a word"
    )
    times = f", bits multiplied by {shape.with_} and counted" if shape.with_ else ""
    held = f"c {shape.total}[{c}]{' (2 float16 a word)' if shape.per_total == 2 else ''}"

    def meaning(binding: Binding, x: Values, y: Values, z: Values) -> None:
        z[...] = multiply(shape, x, y, z)

    return Intrinsic(
        name=f"mma_{shape.name}",
        doc=(
            f"mma_{shape.name}(a, b, c): c += a * b, {shape.m}x{shape.k} by {shape.k}x{shape.n}: a {shape.register}[{a}], "
            f"b {shape.register}[{b}] ({what}), {held}, all @ thread[1]{times}."
        ),
        parameters=(
            Parameter("a", "array", shape.register, length=(a,)),
            Parameter("b", "array", shape.register, length=(b,)),
            Parameter("c", "array", shape.total, effect="update", length=(c,)),
        ),
        cuda=lambda binding, *texts: f"px_mma_{shape.name}({', '.join(texts)})",
        preamble=lambda binding: _mma_text(shape),
        meaning=meaning,
        requires=WARP1,
        min_arch=shape.arch,
        source=f"PTX ISA, {_instruction(shape)}",
    )


def _pairs(*kinds: str) -> list[tuple[str, str]]:
    """Return all pairs of types, the second empty where it is the first."""
    return [(a, "" if a == b else b) for a in kinds for b in kinds]


SHAPES = (
    *(Shape(16, 8, k, "tf32", FLOAT32, "sm_80") for k in (4, 8)),
    Shape(16, 8, 8, "f16", FLOAT32, "sm_75"),
    Shape(16, 8, 16, "f16", FLOAT32, "sm_80"),
    *(Shape(16, 8, k, "bf16", FLOAT32, "sm_80") for k in (8, 16)),
    *(Shape(16, 8, k, "f16", FLOAT16, "sm_80" if k == 16 else "sm_75") for k in (8, 16)),
    *(Shape(16, 8, k, a, INT32, "sm_80", b) for a, b in _pairs("s8", "u8") for k in (16, 32)),
    *(Shape(16, 8, k, a, INT32, "sm_80", b) for a, b in _pairs("s4", "u4") for k in (32, 64)),
    *(Shape(16, 8, k, "b1", INT32, "sm_80", with_=how) for how in ("and", "xor") for k in (128, 256)),
    *(Shape(16, 8, 32, a, FLOAT32, "sm_89", b) for a, b in _pairs("e4m3", "e5m2")),
    Shape(8, 8, 4, "f64", FLOAT64, "sm_80"),
    *(Shape(16, 8, k, "f64", FLOAT64, "sm_90") for k in (4, 8, 16)),
)
ARRAY_MMAS = tuple(map(_mma, SHAPES))


# -- the paper's form ---------------------------------------------------------------------------------------------------

_BY_KIND = {"tf32": Shape(16, 8, 8, "tf32", FLOAT32, "sm_80")} | {
    kind: Shape(16, 8, 16, kind, FLOAT32, "sm_80") for kind in ("f16", "bf16")
}
_OPERANDS = (*(f"a{k}" for k in range(4)), "b0", "b1", *(f"c{k}" for k in range(4)))


def _shape(binding: Binding) -> Shape:
    return _BY_KIND[str(binding.statics.get("kind") or "tf32")]


def _value_text(binding: Binding) -> str:
    shape = _shape(binding)
    formals = ", ".join(f"{'float' if name[0] == 'c' else 'unsigned int'} {name}" for name in _OPERANDS)
    arrays = (
        "    const unsigned int a[4] = {a0, a1, a2, a3}, b[2] = {b0, b1};\n    float c[4] = {c0, c1, c2, c3};\n"
        f"    px_mma_{shape.name}(a, b, c);\n    px_vector<float, 4> d;\n    memcpy(&d, c, sizeof(d));\n    return d;\n"
    )
    head = f"static __device__ __forceinline__ {vector_cuda(FLOAT32, 4)} px_mma_of_{shape.kind}({formals})"
    return f"{VECTOR}\n{_mma_text(shape)}\n{head} {{\n{arrays}}}\n"


def _value_meaning(binding: Binding, *operands: Values) -> Values:
    a, b, c = (np.stack(np.broadcast_arrays(*part), axis=-1) for part in (operands[:4], operands[4:6], operands[6:]))
    return multiply(_shape(binding), a, b, c)


mma = Intrinsic(
    name="mma",
    doc=(
        'mma(a0, a1, a2, a3, b0, b1, c0, c1, c2, c3, kind="tf32"): a * b + c as a vector of four; as in Typed Perspectives: '
        "`intrinsic.mma(..., out=[d0, d1, d2, d3])`. Tiles 16x8 by 8x8 of tf32, or 16x16 by 16x8 of f16 or bf16."
    ),
    parameters=(
        *(Parameter(name, "value", FLOAT32 if name[0] == "c" else UINT32) for name in _OPERANDS),
        Parameter("kind", "static", default="tf32", optional=True, choices=tuple(_BY_KIND)),
    ),
    result=Vector(FLOAT32, 4),
    cuda=lambda binding, *texts: f"px_mma_of_{_shape(binding).kind}({', '.join(texts)})",
    preamble=_value_text,
    meaning=_value_meaning,
    requires=WARP1,
    min_arch="sm_80",
    source="PTX ISA, mma.sync.aligned.m16n8k8 and .m16n8k16",
)


# -- between shared memory and fragments ----------------------------------------------------------------------------------


def _matrix_text(store: bool) -> str:
    """Return the overloads for 1, 2 and 4 matrices, each also transposed."""
    lines = []
    for count in (1, 2, 4):
        for trans in (False, True):
            name = f"px_{'st' if store else 'ld'}matrix{'_trans' if trans else ''}"
            what = f"{'st' if store else 'ld'}matrix.sync.aligned.m8n8.x{count}{'.trans' if trans else ''}.shared.b16"
            const = "const " if store else ""
            registers = "{" + ", ".join(f"%{k + store}" for k in range(count)) + "}"
            operands = ", ".join(f'"{"" if store else "="}r"(r[{k}])' for k in range(count))
            address = '"r"((unsigned int)__cvta_generic_to_shared(p))'
            asm = (
                f'"{what} [%0], {registers};" :: {address}, {operands} : "memory"'
                if store
                else f'"{what} {registers}, [%{count}];" : {operands} : {address} : "memory"'
            )
            lines.append(
                f"static __device__ __forceinline__ void {name}({'' if store else 'const '}void* p, "
                f"{const}unsigned int (&r)[{count}]) {{\n    asm volatile({asm});\n}}"
            )
    return "\n".join(lines) + "\n"


def _matrix_cuda(name: str) -> Any:
    def cuda(binding: Binding, element: str, registers: str) -> str:
        return f"px_{name}{'_trans' if binding.statics.get('trans') else ''}({element}, {registers})"

    return cuda


def _rows(binding: Binding, memory: Memory, element: Any, registers: Values) -> tuple[int, Values, int]:
    """Check the rows' addresses; return how many matrices, which threads give a row, and the elements of a row."""
    count, length = registers.shape[-1], 16 // scalar_of(binding).bytes
    given = np.tile(8 * count > LANE, registers.size // count // 32)
    memory.align(element, length, given)
    return count, given, length


def _ldmatrix_meaning(binding: Binding, memory: Memory, element: Any, registers: Values) -> None:
    count, given, length = _rows(binding, memory, element, registers)
    rows = memory.load_row(element, length, where=given)
    rows = bits_of(rows, scalar_of(binding)) if scalar_of(binding).coded else np.ascontiguousarray(rows)
    halves = rows.view(np.uint16).reshape(-1, 4, 8, 8)[:, :count]
    if binding.statics.get("trans"):
        halves = halves.swapaxes(-1, -2)
    words = np.ascontiguousarray(halves).view(np.uint32).reshape(-1, count, 32)  # row g, word t: lane 4 g + t
    registers[...] = words.swapaxes(1, 2).reshape(registers.shape)


def _stmatrix_meaning(binding: Binding, memory: Memory, element: Any, registers: Values) -> None:
    count, given, length = _rows(binding, memory, element, registers)
    words = np.ascontiguousarray(np.asarray(registers).reshape(-1, 32, count).swapaxes(1, 2))
    halves = words.view(np.uint16).reshape(-1, count, 8, 8)
    if binding.statics.get("trans"):
        halves = halves.swapaxes(-1, -2)
    rows = np.zeros((len(halves), 4, 8, 8), np.uint16)
    rows[:, :count] = halves
    values = rows.reshape(-1, 8).view(scalar_of(binding).numpy)
    if scalar_of(binding).coded:
        values = values_of(values, scalar_of(binding))
    memory.store_row(element, values, where=given)


def _matrix_problem(binding: Binding) -> str:
    scalar = scalar_of(binding)
    if binding.statics.get("trans") and scalar.bits != 16:
        return f"a transposed matrix has 16-bit elements, not {scalar}"
    return ""


def _matrix(name: str, doc: str, store: bool, arch: str, meaning: Any) -> Intrinsic:
    return Intrinsic(
        name=name,
        doc=doc,
        parameters=(
            Parameter("row", "element", unit=WARP1, effect="write" if store else "read", exact=False, near=True),
            Parameter("registers", "array", UINT32, effect="read" if store else "write", length=(1, 2, 4)),
            Parameter("trans", "static", default=False, optional=True, choices=(False, True)),
        ),
        cuda=_matrix_cuda(name),
        preamble=lambda binding: _matrix_text(store),
        meaning=meaning,
        requires=WARP1,
        allows=lambda scalar: scalar.kind != "bool",
        allows_text="a number",
        problem=_matrix_problem,
        min_arch=arch,
        source=f"PTX ISA, {name}",
    )


ldmatrix = _matrix(
    "ldmatrix",
    "ldmatrix(p[i], r, trans=False): bring r's 1, 2 or 4 matrices of 8 rows of 16 bytes from shared memory into r, a uint32[1, "
    "2, 4] @ thread[1]; lane l gives the address of row l % 8 of matrix l / 8, aligned to 16 bytes.",
    False, "sm_75", _ldmatrix_meaning,
)  # fmt: skip
stmatrix = _matrix(
    "stmatrix",
    "stmatrix(p[i], r, trans=False): the reverse of ldmatrix: write the 1, 2 or 4 matrices in r to shared memory.",
    True, "sm_90", _stmatrix_meaning,
)  # fmt: skip

MATRIX = (*ARRAY_MMAS, mma, ldmatrix, stmatrix)
