"""Asynchronous copies: `cp_async` a few bytes a thread, bulk copies of consecutive memory, tensor copies of a tile.

They go on after the statement that issues them. The compiler waits for them before anything uses what they write, or
overwrites what they read: asynchronous.py has the instructions for that.
"""

from __future__ import annotations

from math import lcm, prod
from typing import Any

from prism.lang.intrinsics.asynchronous import SHARED, Transfer
from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.memory import scalar_of
from prism.lang.types import BOOL, INT32, Pointer, Scalar, TensorMap, Vector, tiles

CACHES = ("", "evict_first", "evict_last")
CACHE = Parameter("cache", "static", default="", optional=True, choices=CACHES)
CACHE_TEXT = '`cache`: "evict_first", "evict_last" (what the L2 does with it).'
DISJOINT = Parameter("disjoint", "static", default=False, optional=True, choices=(False, True))
DISJOINT_TEXT = (
    "A store waits for earlier ones of its block that may go to the same place; `disjoint=True`: what this statement stores, in "
    "every trip and by every block, goes to different places. The reference machine checks that."
)
BULK_BYTES = 16
HEAD = "static __device__ __forceinline__"


def _policy(cache: str) -> str:
    """Return the helper that makes a cache policy: not volatile, so that it is made once."""
    return f"""\
{HEAD} unsigned long long px_policy_{cache}() {{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::{cache}.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}}
"""


def pieces(cache: str, text: str) -> str:
    """Return the text of a copy behind what it needs: addresses in shared memory, and the policy of its `cache`."""
    return "\n".join([SHARED, *([_policy(cache)] if cache else []), text])


def hint_name(name: str, cache: str) -> str:
    """Return the name of a copy with a hint for the L2."""
    return f"{name}_{cache}" if cache else name


def _element(binding: Binding, name: str) -> Scalar | Vector:
    """Return what the memory of an operand, that is an element, holds."""
    length = binding.lengths.get(name)
    return scalar_of(binding) if length is None else Vector(scalar_of(binding), length)


def cache_of(binding: Binding) -> str:
    """Return what a call says of the L2; nothing where it says nothing."""
    return str(binding.statics.get("cache") or "")


# -- cp_async ---------------------------------------------------------------------------------------------------------


def _cp_async_bytes(binding: Binding) -> int:
    return int(binding.statics.get("bytes") or 16)


def _cp_async_cuda(binding: Binding, destination: str, source: str, valid: str = "") -> str:
    operands = ", ".join([destination, source, *([valid] if valid else [])])
    return f"px_cp_async<{_cp_async_bytes(binding)}>({operands})"


def _cp_async_preamble(binding: Binding) -> str:
    where = '"r"(px_smem(to)), "l"(__cvta_generic_to_global(from)), "n"(BYTES)'
    head = f"template <int BYTES> {HEAD} void px_cp_async(void* to, const void* from"
    return f"""\
{SHARED}
{head}) {{
    if (BYTES == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: {where} : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: {where} : "memory");
}}
{head}, int valid) {{
    if (BYTES == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %3;" :: {where}, "r"(valid) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" :: {where}, "r"(valid) : "memory");
}}
"""


def _cp_async_problem(binding: Binding) -> str:
    count, element = _cp_async_bytes(binding), _element(binding, "destination")
    if element != (source := _element(binding, "source")):
        return f"{source} would be copied to memory of {element}"
    return f"{count} bytes are less than one {element}" if count < element.bytes else ""


def _cp_async_meaning(binding: Binding, transfer: Transfer, destination: Any, source: Any, valid: Any = None) -> None:
    count, size = _cp_async_bytes(binding), _element(binding, "destination").bytes
    transfer.align(destination, count)
    if valid is not None:
        transfer.require((valid >= 0) & (valid <= count), f"`valid` is not from 0 to {count} bytes")
        transfer.require(valid % size == 0, f"`valid` is no multiple of an element's {size} bytes")
        transfer.align(source, count)
        transfer.copy(destination, source, count // size, valid // size)
        return
    transfer.align(source, count)
    transfer.copy(destination, source, count // size)


cp_async = Intrinsic(
    name="cp_async",
    doc=(
        "cp_async(s[i], p[j], bytes=16, valid=bytes): copy 4, 8 or 16 bytes of global memory into shared memory; `valid`: read "
        "only so many, and write zeros for the rest. Both addresses are multiples of `bytes`."
    ),
    parameters=(
        Parameter("destination", "element", effect="write", exact=False, near=True),
        Parameter("source", "element", exact=False, space="global"),
        Parameter("bytes", "static", INT32, default=16, optional=True, choices=(4, 8, 16)),
        Parameter("valid", "value", INT32, optional=True),
    ),
    cuda=_cp_async_cuda,
    preamble=_cp_async_preamble,
    meaning=_cp_async_meaning,
    problem=_cp_async_problem,
    min_arch="sm_80",
    asynchronous="cp_async",
    source="PTX ISA 9.7.9.25.3.1 cp.async",
)


# -- bulk copies ------------------------------------------------------------------------------------------------------


def _flat(binding: Binding, name: str) -> int | None:
    """Return the constant number of elements before a tile operand's start, or None."""
    tile, start = binding.tiles[name], binding.starts.get(name, ())
    shape = tile.shape or (0,) * len(start)
    if any(index is None for index in start) or len(start) != len(shape):
        return None
    flat = 0
    for index, extent in zip(start, shape, strict=True):
        flat = flat * extent + (index or 0)
    return flat


def whole_of(binding: Binding, name: str) -> int | None:
    """Return how many elements there are from a tile operand's start to its tile's end, or None."""
    tile, flat = binding.tiles[name], _flat(binding, name)
    return None if tile.shape is None or flat is None else prod(tile.shape) - flat


def bulk_problem(name: str) -> Any:
    """Return what says why a bulk copy does not take its end in shared memory, which is called so."""

    def problem(binding: Binding) -> str:
        tile = binding.tiles[name]
        size, whole, flat = tile.element.bytes, whole_of(binding, name), _flat(binding, name)
        if tile.space != "shared":
            return f"`{name}` is shared memory"
        if tile.swizzle:
            return f"a bulk copy moves bytes as they are, and the tile is swizzled: declare it without `swizzle={tile.swizzle}`"
        if tile.element != (other := _element(binding, "source" if name == "destination" else "destination")):
            return f"the tile holds {tile.element}, and the memory at the other end {other}"
        if flat is not None and flat * size % BULK_BYTES:
            return f"a bulk copy begins at a multiple of 16 bytes; `{name}` begins {flat * size} bytes into its object"
        if "n" in binding.given:
            return ""
        if whole is None:
            return "say how many elements: `n=...`"
        if whole <= 0 or whole * size % BULK_BYTES:
            return f"a bulk copy moves a multiple of 16 bytes, and {whole} {tile.element} have {whole * size}"
        return ""

    return problem


def bulk_bytes(binding: Binding, name: str, n: str) -> str:
    """Return the text of how many bytes a bulk copy moves: of `n` elements, or of the whole tile."""
    size = binding.tiles[name].element.bytes
    return f"(unsigned int)({n}) * {size}u" if n else f"{(whole_of(binding, name) or 0) * size}u"


def _bulk_cuda(what: str, tile: str) -> Any:
    """Return the call of a load or a store; of a load with the address of its mbarrier, `barrier=`."""

    def cuda(binding: Binding, destination: str, source: str, n: str = "", **barrier: str) -> str:
        operands = (destination, source, bulk_bytes(binding, tile, n), *barrier.values())
        return f"{hint_name(f'px_bulk_{what}', cache_of(binding))}({', '.join(operands)})"

    return cuda


def _bulk_load_preamble(binding: Binding) -> str:
    cache = cache_of(binding)
    hint, policy = (".L2::cache_hint", f', "l"(px_policy_{cache}())') if cache else ("", "")
    return pieces(cache, f"""\
{HEAD} void {hint_name("px_bulk_load", cache)}(void* to, const void* from, unsigned int bytes, void* barrier) {{
    if (bytes)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{hint} [%0], [%1], %2, [%3]"
                     "{", %4" if cache else ""};" :: "r"(px_smem(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes),
                     "r"(px_smem(barrier)){policy} : "memory");
}}
""")  # fmt: skip


def bulk_text(name: str, what: str, cache: str) -> str:
    """Return a function that the copy engine stores by, or combines: by the instruction `what`, from shared to global memory."""
    hint, policy = (".L2::cache_hint", f', "l"(px_policy_{cache}())') if cache else ("", "")
    return pieces(cache, f"""\
{HEAD} void {name}(void* to, const void* from, unsigned int bytes) {{
    if (bytes)
        asm volatile("{what.format(hint=hint)} [%0], [%1], %2{", %3" if cache else ""};"
                     :: "l"(__cvta_generic_to_global(to)), "r"(px_smem(from)), "r"(bytes){policy} : "memory");
}}
""")  # fmt: skip


def _bulk_store_preamble(binding: Binding) -> str:
    cache = cache_of(binding)
    return bulk_text(hint_name("px_bulk_store", cache), "cp.async.bulk.global.shared::cta.bulk_group{hint}", cache)


def bulk_count(binding: Binding, transfer: Transfer, name: str, ends: tuple[Any, Any], n: Any) -> Any:
    """Return how many elements a bulk copy moves: `n`, or all of the tile that is called so; its ends are looked at."""
    size = binding.tiles[name].element.bytes
    if n is not None:
        transfer.require(n >= 0, "`n` is negative")
        transfer.require(n * size % BULK_BYTES == 0, f"`n` times {size} bytes is no multiple of 16 bytes")
    for end in ends:
        transfer.align(end, BULK_BYTES)
    return whole_of(binding, name) if n is None else n


def _bulk_meaning(name: str) -> Any:
    def meaning(binding: Binding, transfer: Transfer, destination: Any, source: Any, n: Any = None) -> None:
        transfer.copy(destination, source, bulk_count(binding, transfer, name, (destination, source), n))

    return meaning


bulk_load = Intrinsic(
    name="bulk_load",
    doc=(
        'bulk_load(s, p[j], n=elements, cache=""): copy p[j : j + n] into the ring\'s tile s, or s[i :], by default all of it; '
        f"n elements and both addresses are multiples of 16 bytes. {CACHE_TEXT}"
    ),
    parameters=(
        Parameter("destination", "tile", effect="write", exact=False),
        Parameter("source", "element", exact=False, space="global"),
        Parameter("n", "value", INT32, optional=True),
        CACHE,
    ),
    cuda=_bulk_cuda("load", "destination"),
    preamble=_bulk_load_preamble,
    meaning=_bulk_meaning("destination"),
    problem=bulk_problem("destination"),
    min_arch="sm_90",
    asynchronous="load",
    source="PTX ISA 9.7.9.25.4.1 cp.async.bulk.shared::cluster.global.mbarrier",
)
bulk_store = Intrinsic(
    name="bulk_store",
    doc=(
        'bulk_store(p[j], s, n=elements, cache="", disjoint=False): copy the shared tile s, or s[i :], to p[j : j + n], by '
        f"default all of it; n elements and both addresses are multiples of 16 bytes. {CACHE_TEXT} {DISJOINT_TEXT}"
    ),
    parameters=(
        Parameter("destination", "element", effect="write", exact=False, space="global"),
        Parameter("source", "tile", exact=False),
        Parameter("n", "value", INT32, optional=True),
        CACHE,
        DISJOINT,
    ),
    cuda=_bulk_cuda("store", "source"),
    preamble=_bulk_store_preamble,
    meaning=_bulk_meaning("source"),
    problem=bulk_problem("source"),
    min_arch="sm_90",
    asynchronous="bulk",
    source="PTX ISA 9.7.9.25.4.1 cp.async.bulk.global.shared::cta.bulk_group",
)


# -- tensor copies ----------------------------------------------------------------------------------------------------


def box_problem(tile: Pointer, start: tuple[int | None, ...], tensor: TensorMap) -> str:
    """Return why a box of the tensor map is not what begins at `start` of the tile, or the empty string.

    The box is all of the tile; or, of a tile that is named by an element, whole rows that follow one another from there.
    """
    if found := tiles.map_problem(tensor):
        return found
    if tile.space != "shared" or tile.shape is None:
        return "a tensor copy's tile is a shared object, or a ring's copy, by its name"
    if tile.element != tensor.element:
        return f"the tile holds {tile.element}, and the tensor map {tensor.element}"
    if tile.swizzle != tensor.swizzle:
        return f"the tile has swizzle={tile.swizzle}, and the tensor map swizzle={tensor.swizzle}"
    box = tiles.extents_in(tile.shape, tensor.box)
    if box is None:
        return f"the tile has {_by(tile.shape)} elements, and the tensor map moves {_by(tensor.box)}"
    skipped = len(tile.shape) - len(box)
    shape, inner, rows = tile.shape[skipped:], start[skipped + 1 :], prod(box[1:-1])
    if any(index != 0 for index in inner):
        return "a tensor copy moves whole rows: the tile's other indices are 0"
    whole = shape == box and len(start) == len(tile.shape) and start[skipped] == 0
    # The engine takes and fills shared memory from multiples of 128 bytes on, and counts a swizzle's rows by addresses. What
    # begins at an index that is not known here is looked at by the reference machine.
    span = tile.swizzle or tile.element.bytes * (tile.shape[-1] if len(tile.shape) > 1 else 1)
    unit = lcm(tiles.ALIGNMENT[0], span * rows) // (span * rows)
    unit_is = "rows" if len(tile.shape) > 1 else "elements"
    kind = f"a part of a tile {'swizzled in spans' if tile.swizzle else f'with {unit_is}'} of {span} bytes"
    if tile.swizzle and not whole and box[0] % unit:
        return f"{kind} has a multiple of {unit} rows, not {box[0]}"
    first = start[skipped] if start else 0
    if first and first % unit:
        return f"{kind} begins at a multiple of {unit} {unit_is}, not at {first}"
    if first is not None and first + box[0] > shape[0]:
        return f"rows {first} to {first + box[0] - 1} are not in the tile, which has {shape[0]}"
    return ""


def _by(extents: tuple[int, ...]) -> str:
    return " x ".join(map(str, extents))


def tensor_problem(binding: Binding) -> str:
    """Return why a tensor copy does not take its tile, or its map; nothing where it does."""
    tile, tensor = binding.tiles["tile"], binding.maps["tensor"]
    if found := box_problem(tile, binding.starts.get("tile", ()), tensor):
        return found
    shape = tile.shape or ()
    if "tile" in binding.whole and shape != tiles.extents_in(shape, tensor.box):
        first = ", ".join("0" * len(shape))
        moves = f"the tile has {_by(shape)} elements, and the tensor map moves {_by(tensor.box)}"
        return f"{moves}; a part of a tile is named by its first element, as in `tile[{first}]`"
    multicast = int(binding.statics.get("multicast") or 0)
    return "" if 0 <= multicast < 1 << 16 else "`multicast` has a bit for each of at most 16 blocks of the cluster"


def _tensor_name(what: str, binding: Binding) -> str:
    multicast = "_multicast" if binding.statics.get("multicast") else ""
    multicast += "_relative" if multicast and binding.statics.get("relative") else ""
    return hint_name(f"px_tma_{what}_{len(binding.maps['tensor'].box)}d{multicast}", cache_of(binding))


def slabs_of(binding: Binding) -> str:
    """Return the template arguments that say in how many copies a tile goes, and how they lie."""
    tile = binding.tiles["tile"]
    count, columns = tiles.slabs(tile)
    return f"<{count}, {tiles.slab_bytes(tile)}, {columns}>"


def coordinates(rank: int, first: int) -> tuple[str, str, str]:
    """Return the formals, the instruction's operand, and asm's operands, from %`first` on: innermost first."""
    formals = ", ".join(f"int i{k}" for k in range(rank))
    given = ", ".join(f"%{first + k}" for k in range(rank))
    actual = [f'"r"(i{k})' for k in range(rank - 2, -1, -1)]
    return formals, f"{{{given}}}", ", ".join([f'"r"(i{rank - 1} + s * COLUMNS)', *actual])


def _tma_load_cuda(binding: Binding, tile: str, *operands: str, barrier: str = "") -> str:
    more = [f"{int(binding.statics['multicast'])}"] if binding.statics.get("multicast") else []
    return f"{_tensor_name('load', binding)}{slabs_of(binding)}({', '.join([tile, *operands, barrier, *more])})"


RELATIVE = """\
    unsigned int rank, mask = 0u;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#pragma unroll
    for (int block = 0; block < 16; ++block)
        if (blocks >> block & 1) mask |= 1u << (rank ^ block);
    blocks = mask;
"""
"""Of the blocks that are said relative to the block's own, those that they are."""


def _tma_load_preamble(binding: Binding) -> str:
    rank, cache, multicast = len(binding.maps["tensor"].box), cache_of(binding), bool(binding.statics.get("multicast"))
    formals, given, actual = coordinates(rank, 3)
    what = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes"
    what += ".multicast::cluster" * multicast + ".L2::cache_hint" * bool(cache)
    more, last = "", 3 + rank
    if multicast:
        formals, actual = f"{formals}, void* barrier, int blocks", f'{actual}, "h"((unsigned short)blocks)'
        more, last = f", %{last}", last + 1
    else:
        formals = f"{formals}, void* barrier"
    if cache:
        more, actual = f"{more}, %{last}", f'{actual}, "l"(px_policy_{cache}())'
    near = RELATIVE if multicast and binding.statics.get("relative") else ""
    return pieces(cache, f"""\
template <int COUNT, int BYTES, int COLUMNS>
{HEAD} void {_tensor_name("load", binding)}(void* tile, const void* map, {formals}) {{
{near}#pragma unroll
    for (int s = 0; s < COUNT; ++s)
        asm volatile("{what}"
                     " [%0], [%1, {given}], [%2]{more};"
                     :: "r"(px_smem(tile) + s * BYTES), "l"(map), "r"(px_smem(barrier)), {actual} : "memory");
}}
""")  # fmt: skip


def tile_call(name: str, binding: Binding, map: str, *operands: str) -> str:
    """Return the call of a function of `tile_text`."""
    return f"{name}{slabs_of(binding)}({', '.join([operands[-1], map, *operands[:-1]])})"


def tile_text(name: str, what: str, binding: Binding) -> str:
    """Return a function that the copy engine stores a tile by, or combines it: by the instruction `what`."""
    rank, cache = len(binding.maps["tensor"].box), cache_of(binding)
    formals, given, actual = coordinates(rank, 2)
    hint, more, policy = (".L2::cache_hint", f", %{2 + rank}", f', "l"(px_policy_{cache}())') if cache else ("", "", "")
    return pieces(cache, f"""\
template <int COUNT, int BYTES, int COLUMNS>
{HEAD} void {name}(const void* tile, const void* map, {formals}) {{
#pragma unroll
    for (int s = 0; s < COUNT; ++s)
        asm volatile("{what}{hint} [%1, {given}], [%0]{more};"
                     :: "r"(px_smem(tile) + s * BYTES), "l"(map), {actual}{policy} : "memory");
}}
""")  # fmt: skip


def _tma_store_cuda(binding: Binding, map: str, *operands: str) -> str:
    return tile_call(_tensor_name("store", binding), binding, map, *operands)


def _tma_store_preamble(binding: Binding) -> str:
    rank = len(binding.maps["tensor"].box)
    return tile_text(
        _tensor_name("store", binding), f"cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group", binding
    )


tma_load = Intrinsic(
    name="tma_load",
    doc=(
        'tma_load(s, map[i, j], multicast=0, relative=False, cache=""): copy the tile of the tensor that begins at [i, j] into '
        "the ring's tile s; zeros where it is outside the tensor. `multicast`: into the same place of these blocks of the "
        "cluster, a bit each; where `relative`, bit b is block r ^ b, if the block's own number is r. "
        f"{CACHE_TEXT}"
    ),
    parameters=(
        Parameter("tile", "tile", effect="write", exact=False),
        Parameter("tensor", "tensor"),
        Parameter("multicast", "static", INT32, default=0, optional=True),
        Parameter("relative", "static", BOOL, default=False, optional=True),
        CACHE,
    ),
    cuda=_tma_load_cuda,
    preamble=_tma_load_preamble,
    meaning=lambda binding, transfer, tile, tensor: transfer.load_tile(
        tile, tensor, int(binding.statics.get("multicast") or 0), bool(binding.statics.get("relative"))
    ),
    problem=tensor_problem,
    min_arch="sm_90",
    asynchronous="load",
    source="PTX ISA 9.7.9.25.5.2 cp.async.bulk.tensor",
)
tma_store = Intrinsic(
    name="tma_store",
    doc=(
        'tma_store(map[i, j], s, cache="", disjoint=False): copy the shared tile s to the tile of the tensor that begins at '
        f"[i, j], which are not negative; what is outside the tensor is not written. {CACHE_TEXT} {DISJOINT_TEXT}"
    ),
    parameters=(Parameter("tensor", "tensor", effect="write"), Parameter("tile", "tile", exact=False), CACHE, DISJOINT),
    cuda=_tma_store_cuda,
    preamble=_tma_store_preamble,
    meaning=lambda binding, transfer, tensor, tile: transfer.store_tile(tensor, tile),
    problem=tensor_problem,
    min_arch="sm_90",
    asynchronous="bulk",
    source="PTX ISA 9.7.9.25.5.2 cp.async.bulk.tensor",
)


# -- what a load completes --------------------------------------------------------------------------------------------


def load_bytes(binding: Binding) -> int | None:
    """Return the bytes that a bulk or tensor load completes on its mbarrier; None where only its operands say."""
    if "tensor" in binding.maps:
        return tiles.bytes_of(binding.maps["tensor"])
    whole = whole_of(binding, "destination")
    return None if "n" in binding.given or whole is None else whole * binding.tiles["destination"].element.bytes


COPIES = (cp_async, bulk_load, bulk_store, tma_load, tma_store)
