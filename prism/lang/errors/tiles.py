"""Errors of tiles, tensor maps and fragments: how they are declared, and what takes them."""

from __future__ import annotations

import re

from prism.lang.diagnostics import Error, Named
from prism.lang.types.perspective import Perspective

# -- Shared tiles -----------------------------------------------------------------------------------------------------


class SharedKeyword(Named, code="shared-alloc"):
    """R25: an argument that `shared` doesn't have."""

    title = "`shared` has no argument `{name}`"
    label = "not known"
    help_template = "its arguments are the array's type, `align=`, `ring=` and `swizzle=`"


class Swizzle(Error, code="shared-alloc"):
    """R25: a swizzle that the hardware or the shape does not have."""

    title = "`swizzle={swizzle}` does not fit {type}: {fault}"
    label = "this swizzle"
    note_templates = ("a swizzle permutes the 16-byte pieces of each span of so many bytes, in eight rows at a time",)
    swizzle: str
    type: str
    fault: str
    change: str


class SwizzlePointer(Error, code="call-ptr"):
    """R15: a swizzled tile passed as a pointer."""

    title = "the elements of `{actual}` are swizzled, so it cannot be passed as a pointer"
    label = "swizzle={swizzle}"
    help_template = (
        "declare the parameter `shared(T[n, m], swizzle={swizzle})`, the whole tile; or `{actual}` without `swizzle=`"
    )
    actual: str
    swizzle: int


class SwizzleRebind(SwizzlePointer, code="ptr-rebind"):
    """R28: a swizzled tile given to a pointer."""

    title = "the elements of `{actual}` are swizzled, so no pointer can stand for it"
    help_template = "name a part of it with `partition` or `claim`, or declare it without `swizzle=`"


class ClusterPointer(Error, code="call-ptr"):
    """R15: an object of a cluster passed as a pointer."""

    title = "each of {blocks} blocks has a part of `{actual}`, so it cannot be passed as a pointer"
    label = "in the memory of {blocks} blocks"
    help_template = (
        "declare the parameter `shared(T[{blocks}, n]) @ block[{blocks}]`, the whole object; or pass its elements"
    )
    actual: str
    blocks: int


class ClusterRebind(ClusterPointer, code="ptr-rebind"):
    """R28: an object of a cluster given to a pointer."""

    title = "each of {blocks} blocks has a part of `{actual}`, so no pointer can stand for it"
    help_template = "use `{actual}` itself, whose first index is a block, or name a part of it with `partition`"


class ClusterExtent(Named, code="shared-alloc"):
    """R25: an object of a cluster without an extent for its blocks."""

    title = "`{name}` is shared by the {blocks} blocks of a cluster, and its first extent is {first}"
    label = "not {blocks}"
    note_templates = ("`{name}[r, ...]` is the part that lies in the cluster's block r",)
    help_template = "give it one part a block: `shared(T[{blocks}, ...])`"
    blocks: int
    first: int


# -- Tensor maps ------------------------------------------------------------------------------------------------------


class MapArguments(Error, code="type"):
    """`CUtensorMap` without what the compiler must know of it."""

    title = "this tensor map {fault}"
    label = "this type"
    help_template = "give the element, the box and the swizzle: `CUtensorMap(bf16, 128, 64, swizzle=128)`"
    fault: str


class MapBox(Error, code="type"):
    """A box or swizzle that the copy engine does not have."""

    title = "there is no {type}: {fault}"
    label = "this type"
    note_templates = (
        "the copy engine moves boxes of at most 256 elements an extent, in rows of a multiple of 16 bytes",
    )
    help_template = "choose a box that it can move, as `CUtensorMap(bf16, 128, 64, swizzle=128)`"
    type: str
    fault: str


class MapPlace(Named, code="type"):
    """A tensor map that is no parameter at grid[1]."""

    title = "the tensor map `{name}` is {what}"
    label = "not a parameter @ grid[1]"
    note_templates = ("the host makes a tensor map, and passes it to the kernel by value",)
    help_template = "make it a parameter: `{name}: const(CUtensorMap(...)) @ grid[1]`"
    what: str


class MapUse(Named, code="type"):
    """A tensor map used as memory or as a value."""

    title = "`{name}` is a tensor map: only tensor copies take it"
    label = "used otherwise"
    help_template = (
        "name the tile that begins at an element: `tma_load(tile, {name}[i, j])`, `tma_store({name}[i, j], tile)`"
    )


class Operand(Named, code="type"):
    """An operand that is no tile, no tile of a tensor map, or no fragment."""

    title = "`{parameter}` of `{name}` is {wanted}"
    label = "this is {found}"
    parameter: str
    wanted: str
    found: str
    change: str


class OperandElement(Named, code="type"):
    """Operands of an intrinsic that hold different elements."""

    title = "`{parameter}` of `{name}` holds {found}, and `{other}` holds {wanted}"
    label = "holds {found}"
    help_template = "declare both with the same element"
    parameter: str
    found: str
    other: str
    wanted: str


# -- Fragments --------------------------------------------------------------------------------------------------------


class FragmentShape(Error, code="type"):
    """A fragment that the tensor cores do not have."""

    title = "there is no {type}: {fault}"
    label = "this type"
    help_template = "write `fragment(T, 64 * m, n) @ warpgroup[1]` or `fragment(T, 16, n) @ warp[1]`, n a multiple of 8"
    type: str
    fault: str


class FragmentPlace(Named, code="decl"):
    """R6: a fragment of another unit than a warpgroup or a warp."""

    title = "the fragment `{name}` is declared at {place}"
    label = "neither a warpgroup nor a warp"
    note_templates = ("the tensor cores spread a matrix over the 128 threads of a warpgroup, or the 32 of a warp",)
    help_template = "declare it @ warpgroup[1] (64 rows, or a multiple) or @ warp[1] (16 rows)"
    place: Perspective


class FragmentCode(Named, code="read-up"):
    """R7: an element of a fragment in code for several threads."""

    title = "each thread keeps its own elements of `{name}`, and this code speaks for {code_perspective}"
    label = "whose element?"
    help_template = (
        "put it inside `with group(thread[1]):`; `row({name}, i)` and `column({name}, i)` say where element i lies"
    )
    code_perspective: Perspective


class FragmentValue(Named, code="type"):
    """A fragment given something else than a number that fills it."""

    title = "the fragment `{name}` is filled with a constant only"
    label = "not a literal number"
    help_template = "write `{name} = 0`, or assign its elements one by one inside `with group(thread[1]):`"


class FragmentName(Error, code="type"):
    """`row`, `column` or `count` of something else."""

    title = "`{function}` takes a fragment{more}"
    label = "not one"
    help_template = "write `{usage}`, with `acc` the name of a fragment"
    function: str
    more: str
    usage: str


class SizedKeyword(Named, code="shared-alloc"):
    """R25: an object that is sized at launch, with what needs a constant size."""

    title = "`{name}=` is for shared memory of a constant size"
    label = "the length beside it is the launch's"
    help_template = "leave `{name}` out, or give a constant length: a number, a constexpr or a template parameter"


class SizedType(Named, code="shared-alloc"):
    """R25: a length that is no integer."""

    title = "the length of the shared object `{name}` is an integer, not {type}"
    label = "not an integer"
    help_template = "declare what it is made of as an integer, such as int32"
    type: str


class SizedAxes(Error, code="shared-alloc"):
    """R25: an object of two axes that is sized at launch."""

    title = "shared memory that is sized at launch has one axis, not two"
    label = "an extent is no constant"
    element: str
    rows: str
    columns: str

    @property
    def change(self) -> str:
        """What to write."""
        rows, columns = (f"({one})" if re.search(r"\W", one) else one for one in (self.rows, self.columns))
        return (
            f"write `shared({self.element}[{rows} * {columns}])`, and `[i * {columns} + j]` for an element; "
            f"a partition may give it two axes again, `lambda i, j: (row + i) * {columns} + j`"
        )


class SizedLimit(Named, code="shared-alloc"):
    """R25: an object that is sized at launch, in a kernel whose shared memory is bounded when it is compiled."""

    title = "`{name}` is sized at launch, and `@requires` bounds the kernel's shared memory by `smem`"
    label = "not known when the bound is looked at"
    help_template = "leave `smem` out: a launch that needs more than a block can have is refused"


class SizedPlace(Named, code="shared-alloc"):
    """R25: an object that is sized at launch, where a launch cannot size it."""

    title = "`{name}` has no constant length, and cannot be sized at launch: {fault}"
    label = "not a constant"
    help_template = (
        "declare it in a kernel, in code at block[1], of a length made of the launch's arguments and `count(...)`, and pass it "
        "on; or write a constant: as large as it ever needs to be"
    )
    fault: str
