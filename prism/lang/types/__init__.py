"""Types of the language: scalars, vectors of up to 16 bytes, arrays, fragments, pointers, tiles, tensor maps, mailboxes.

Structs are scalars too: structs.py.
"""

from __future__ import annotations

from typing import Any

from prism.lang.keep.bases import Plain, value


@value
class Scalar(Plain):
    """A number: `kind` is `bool`, `int`, `uint` or `float`; `cuda` its C++ name; `numpy` NumPy's, of how it is stored.

    NumPy has no bfloat16 and no floats of 8 bits: an array of these on the host holds their bits, as unsigned integers. A struct
    is one of kind `struct`, and its `numpy` a dtype.
    """

    name: str
    kind: str
    bits: int
    cuda: str
    numpy: Any

    @property
    def bytes(self) -> int:
        """Size in memory, in bytes."""
        return max(1, self.bits // 8)

    @property
    def integral(self) -> bool:
        """Whether it is a signed or unsigned integer (not bool)."""
        return self.kind in ("int", "uint")

    @property
    def short(self) -> bool:
        """Whether it is a float of 16 or 8 bits, which in C++ is a class of our own."""
        return self.kind == "float" and self.bits <= 16

    @property
    def stored(self) -> bool:
        """Whether it is for storage alone, and has no operators: a float of 8 bits."""
        return self.kind == "float" and self.bits == 8

    @property
    def coded(self) -> bool:
        """Whether NumPy has no such numbers: memory on the host holds their bits, and they are computed with as float32."""
        return self.kind == "float" and self.numpy != self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __getitem__(self, _: object) -> Scalar:
        """`float32[4] @ thread[1]`, as Python evaluates an annotation; the compiler reads the source instead."""
        return self

    __iter__ = None  # not a sequence, for all its subscript


BOOL = Scalar("bool", "bool", 8, "bool", "bool")
INT8 = Scalar("int8", "int", 8, "signed char", "int8")
INT16 = Scalar("int16", "int", 16, "short", "int16")
INT32 = Scalar("int32", "int", 32, "int", "int32")
INT64 = Scalar("int64", "int", 64, "long long", "int64")
UINT8 = Scalar("uint8", "uint", 8, "unsigned char", "uint8")
UINT16 = Scalar("uint16", "uint", 16, "unsigned short", "uint16")
UINT32 = Scalar("uint32", "uint", 32, "unsigned int", "uint32")
UINT64 = Scalar("uint64", "uint", 64, "unsigned long long", "uint64")
FLOAT8_E4M3FN = Scalar("float8_e4m3fn", "float", 8, "px_e4m3", "uint8")
FLOAT8_E5M2 = Scalar("float8_e5m2", "float", 8, "px_e5m2", "uint8")
FLOAT16 = Scalar("float16", "float", 16, "px_half", "float16")
BFLOAT16 = Scalar("bfloat16", "float", 16, "px_bf16", "uint16")
FLOAT32 = Scalar("float32", "float", 32, "float", "float32")
FLOAT64 = Scalar("float64", "float", 64, "double", "float64")
SCALARS = {
    s.name: s
    for s in (
        BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT16, BFLOAT16, FLOAT32,
        FLOAT64,
    )
}  # fmt: skip
ALIASES = {"half": FLOAT16, "bf16": BFLOAT16}


@value
class Vector(Plain):
    """`length` scalars moved as one word of at most 16 bytes; components are `v[k]`."""

    element: Scalar
    length: int

    @property
    def bytes(self) -> int:
        """Size in memory, and alignment, in bytes."""
        return self.element.bytes * self.length

    def __str__(self) -> str:
        return f"vector({self.element}, {self.length})"


@value
class Mailbox(Plain):
    """A word between blocks: written by `publish`, read by `receive`, never by plain loads and stores."""

    element: Scalar

    @property
    def bytes(self) -> int:
        """The value and a tag of the same size (at least 4 bytes) in one atomic word; beyond 8 bytes, in two such words."""
        return 8 if self.element.bytes <= 4 else 16 if self.element.bytes <= 8 else 32

    def __str__(self) -> str:
        return f"mailbox({self.element})"


@value
class Array(Plain):
    """An array of each owner's own: registers of a thread, `T[n]` or `T[n][m]`."""

    element: Scalar | Vector
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        n = 1
        for extent in self.shape:
            n *= extent
        return n

    def __str__(self) -> str:
        return f"{self.element}" + "".join(f"[{n}]" for n in self.shape)


@value
class Fragment(Plain):
    """A `rows` x `columns` matrix that a warpgroup (128 threads) or a warp (32) owns; each thread keeps a part in registers.

    Which thread has which element is the tensor cores' layout of an accumulator, of 64 rows (a warp's: 16); a matrix of more
    rows is several such, one below the other. Where `operand`, of elements of 8 bits, it is that of a wgmma's first operand. See
    `tree.Place`.
    """

    element: Scalar
    rows: int
    columns: int
    threads: int = 128
    operand: bool = False

    @property
    def size(self) -> int:
        """Number of elements a thread keeps."""
        return self.rows * self.columns // self.threads

    @property
    def strip(self) -> int:
        """Number of those in 64 rows (of a warp's: in 16)."""
        return self.columns // 2

    def __str__(self) -> str:
        return f"fragment({self.element}, {self.rows}, {self.columns}{', operand=True' if self.operand else ''})"


SWIZZLES = (0, 32, 64, 128)


@value
class TensorMap(Plain):
    """A view of a matrix in global memory that the tensor copy engine reads and writes a tile at a time.

    `box` is a tile's shape, outermost first, as the shared tile's; `swizzle` the span in bytes in which the engine permutes
    16-byte pieces of shared memory (0: none). A tile that it is copied to or from has the same element, shape and swizzle.
    """

    element: Scalar
    box: tuple[int, ...]
    swizzle: int = 0

    def __str__(self) -> str:
        extents = ", ".join(map(str, self.box))
        return f"CUtensorMap({self.element}, {extents}{f', swizzle={self.swizzle}' if self.swizzle else ''})"


@value
class Pointer(Plain):
    """Memory that several threads can reach. `space` is `global` or `shared`.

    `shape` is known for shared objects, and for views that name one of them, or one copy of a ring, whole. `ring` is the number
    of copies of a shared object declared `ring=k` (0: no ring; a view names one copy and has 0). `swizzle` is how a tile of
    two extents lies in its bytes: see TensorMap. Indices are logical, row and column, whatever the swizzle. `axes`: of an array
    of the host's, how many indices an element has; its extents and strides are the launch's (see `tree.Symbol.axes`).
    """

    element: Scalar | Vector | Mailbox
    const: bool = False
    space: str = "global"
    shape: tuple[int, ...] | None = None
    ring: int = 0
    swizzle: int = 0
    axes: int = 0

    @property
    def rank(self) -> int:
        """How many indices an element has."""
        return self.axes or len(self.shape or (0,))

    def __str__(self) -> str:
        if self.axes:
            return f"array({f'const({self.element})' if self.const else self.element}, {self.axes})"
        if self.space == "shared" and self.shape is not None:
            if isinstance(self.element, Mailbox):
                return "shared(mailbox)"
            ring = f", ring={self.ring}" if self.ring else ""
            swizzle = f", swizzle={self.swizzle}" if self.swizzle else ""
            text = f"shared({Array(self.element, self.shape)}{ring}{swizzle})"
            return f"const({text})" if self.const else text
        return f"ptr(const({self.element}))" if self.const else f"ptr({self.element})"


@value
class Void(Plain):
    """The type of a call that returns nothing."""

    def __str__(self) -> str:
        return "nothing"


VOID = Void()
Type = Scalar | Vector | Array | Fragment | TensorMap | Pointer | Void
