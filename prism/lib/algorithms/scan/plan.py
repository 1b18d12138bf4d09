"""Which kernel a scan takes, in what configuration, and what it is launched with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prism.host.plan import WORDS, Buffer, Machine, Number, Plan, Step, X, Y, instance_of, nothing, size_of
from prism.kernels import scan as kernels
from prism.lang.surface import Kernel
from prism.lang.types import SCALARS
from prism.lang.types.structs import dtype_called
from prism.lib.operators import BY_NAME, Operator

_COMPUTED = {"float16": "float32", "bfloat16": "float32", "bool": "uint8"}
_REGISTER = {"int8": "int32", "uint8": "uint32", "int16": "int32", "uint16": "uint32"}
_FORMS = {"add": kernels.SUM, "maximum": kernels.MAX, "minimum": kernels.MIN}
_LOGICAL = {"maximum": kernels.OR, "bitwise_or": kernels.OR, "minimum": kernels.AND, "bitwise_and": kernels.AND}
_SAME = {kernels.OR: BY_NAME["maximum"], kernels.AND: BY_NAME["minimum"]}
_NO_HEADS = nothing("uint32")  # what is read of it where rows are the segments
RUNS = ("unique", "y", "runs")
"""What runs of equal keys are reduced to: their keys, their results, and how many there are."""
_FEWEST_WORDS = 4096
_CONTROL = 64  # bytes before the words: the counter and the epoch, in a sector of their own
_STRIPS = 2048  # words for counters and epochs, one a strip
_ENOUGH_THREADS = 448  # a multiprocessor: so many that have columns of their own keep enough loads under way
_ENOUGH_STRIPS = 1.8  # a multiprocessor: so many blocks with a strip of their own do
_LINE = 128  # bytes of memory
_MOST_TOTALS = 1056  # that a block looks back at for one tile of a shared strip, of all its columns


@dataclass(frozen=True, slots=True)
class Task:
    """What a scan computes: its operator, and the names of the types of elements and of results.

    Sums of floats of 16 bits are computed in float32, and bools as uint8 of 0 and 1.
    """

    operator: Operator
    given: str
    result: str
    exclusive: bool = False
    reverse: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype that it computes in, as the operator sees it."""
        return dtype_called(_COMPUTED.get(self.result, self.result))

    @property
    def types(self) -> tuple[str, str, str]:
        """The types that the kernel loads, computes in and stores: where signs don't matter, one kernel serves both.

        They do where floats become integers: -3.0 is no unsigned number.
        """
        given = self.given  # bool, too: whatever is not 0 is true
        result = "uint8" if self.result == "bool" else self.result
        computed = _COMPUTED.get(self.result, self.result)
        if self.operator.modular and self.dtype.kind == "i" and SCALARS[given].kind != "float":
            return (f"u{given}" if given == computed else given), f"u{computed}", f"u{result}"
        return given, computed, result

    @property
    def template(self) -> dict[str, Any]:
        """The template arguments that follow."""
        given, computed, result = self.types
        return {"TI": given, "T": computed, "TO": result, "OP": self.operator.function}

    @property
    def scan_template(self) -> dict[str, Any]:
        """Those of scans."""
        return {**self.template, "EXCLUSIVE": self.exclusive, "REVERSE": self.reverse}

    def identity(self, *, shown: bool = False) -> Any:
        """Return the operator's identity, as a NumPy scalar of the kernel's type; `shown`: what a result begins with.

        Raises:
            TypeError: it has none for this dtype.
        """
        found = self.operator.identity_of(self.dtype, shown=shown)
        if self.result == "bool":
            found = np.uint8(found != 0)
        return found.view(self.types[1]) if found.dtype.kind in "iu" else found

    @property
    def grouped(self) -> bool:
        """Whether how elements are grouped shows in the result's last bits: in those of floats, and of structs."""
        return self.dtype.kind in "fcV"

    @property
    def bytes(self) -> int:
        """Bytes of an element in registers, as it is loaded or as it is computed: what configurations go by."""
        return max(self.dtype.itemsize, size_of(self.types[0]))

    @property
    def small(self) -> bool:
        """Whether elements and results are of one type of one or two bytes, or bools of an operator with a form for them."""
        given, _, result = self.types
        return (given == result and size_of(given) <= 2) or self.logical is not None

    @property
    def logical(self) -> int | None:
        """The form of scan_packed that it has of bools, whose bytes may be any; or None."""
        known = self.result == "bool" and BY_NAME.get(self.operator.name) is self.operator
        return _LOGICAL.get(self.operator.name) if known else None

    def word_bytes(self) -> int:
        """Bytes of a mailbox."""
        return 8 if self.dtype.itemsize <= 4 else 16 if self.dtype.itemsize <= 8 else 32

    def width(self, items: int, widest: int = 16) -> int:
        """Return how many elements a vectorised access has: a divisor of `items`, at most 16 bytes of either type."""
        given, _, result = self.types
        return math.gcd(items, min(widest, 16 // max(size_of(given), size_of(result))))


@dataclass(frozen=True, slots=True)
class Shape:
    """The array as three axes, of which the middle one is scanned; `aligned`: all pointers are, to 16 bytes.

    `past`: how many elements stand between an address that is and the array's, and the result's; -1: it is not known.
    """

    outer: int
    n: int
    inner: int
    aligned: bool = False
    past: tuple[int, int] = (-1, -1)

    @property
    def skews(self) -> tuple[int, int]:
        """What stands between aligned addresses and the arrays', in elements, as far as it is known."""
        return (0, 0) if self.aligned else self.past

    def tile(self, width: int) -> tuple[int, int, bool]:
        """Return how far before the arrays tiles begin, how far past aligned elements are read, and whether they are written so.

        That is by vectors of `width` elements; -1: how far is not known.
        """
        given, result = self.skews
        return (0, -1, False) if result < 0 else (result % width, (given - result) % width if given >= 0 else -1, True)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.outer * self.n * self.inner


@dataclass(frozen=True, slots=True)
class Way:
    """A kernel, its template, and how it is launched: with `numbers` and `arrays` by the names of its parameters.

    `blocks` is how many it has work for, in multiples of `multiple`, at least so many; `scratch` how its scratch memory is laid
    out ("" where it needs none), for so many `words`, of so many `strips` of `columns`.
    """

    kernel: Kernel
    template: Mapping[str, Any]
    threads: int
    blocks: int
    numbers: Mapping[str, Any]
    scratch: str = ""
    words: int = 0
    strips: int = 1
    columns: int = 1
    multiple: int = 1
    arrays: Mapping[str, Buffer] = field(default_factory=lambda: {"x": X, "y": Y})


def tile_numbers(size: int, tile: tuple[int, int, bool]) -> dict[str, Any]:
    """Return the numbers of a kernel that takes tiles of an array which may begin anywhere; `tile` is as from `Shape.tile`."""
    before, skew, y_aligned = tile
    return {"n": size, "before": before, "skew": skew, "y_aligned": y_aligned}


def words_for(tiles: int) -> int:
    """Return how many mailboxes to keep for so many tiles: a few sizes only, each with a counter and epoch of its own."""
    words = _FEWEST_WORDS
    while words < tiles:
        words *= 4
    return words


# -- Which kernel ---------------------------------------------------------------------------------------------------------


def flat(task: Task, shape: Shape) -> Way:
    """Return how a whole array of one dimension is scanned on a GPU: by one block, once over, or in many tiles."""
    size, bytes_, common = shape.size, task.dtype.itemsize, task.scan_template
    items = 16 // bytes_
    begin = shape.tile(task.width(items))
    if (size + begin[0]) * bytes_ <= kernels.BLOCK_THREADS * 16:
        template = {**common, "THREADS": kernels.BLOCK_THREADS, "ITEMS": items, "WIDTH": task.width(items)}
        return Way(kernels.scan_block, template, kernels.BLOCK_THREADS, 1, tile_numbers(size, begin))
    every = bytes_ == 16 or task.operator is BY_NAME["add"]
    for most, vectors, blocks in kernels.ONCE if every else kernels.ONCE_OTHERS:
        items = min(vectors * (16 // bytes_), kernels.ONCE_ITEMS)
        tile = kernels.ONCE_THREADS * items
        if size * bytes_ <= most and size <= kernels.ONCE_TILES * tile:
            template = {**common, "THREADS": kernels.ONCE_THREADS, "ITEMS": items, "WIDTH": task.width(items)}
            template |= {"BLOCKS": blocks, "WORDS": 1}
            begin = shape.tile(task.width(items))
            tiles = -(-(size + begin[0]) // tile)
            how = (kernels.ONCE_THREADS, tiles, tile_numbers(size, begin), "flat", _FEWEST_WORDS)
            return Way(kernels.scan_once, template, *how, multiple=tiles)
    return many_tiles(task, shape)


def many_tiles(task: Task, shape: Shape) -> Way:
    """Return how a long array of one dimension is scanned on a GPU."""
    if task.small and shape.skews[1] >= 0 and shape.skews[0] >= 0:
        return plan_packed(task, shape, kernels.DEVICE[size_of(task.types[0])])
    c = kernels.UNPACKED[task.bytes] if task.bytes <= 2 else kernels.DEVICE[task.bytes]
    width = task.width(c.items)
    template = {**task.scan_template, **c.template(), "WIDTH": width, "STABLE": task.grouped}
    begin = shape.tile(width)
    tiles = -(-(shape.size + begin[0]) // c.tile)
    return Way(kernels.scan, template, c.threads, tiles, tile_numbers(shape.size, begin), "flat", words_for(tiles))


def plan_packed(task: Task, shape: Shape, c: kernels.Configuration) -> Way:
    """Return how a long array of elements of one or two bytes is scanned on a GPU."""
    (given, computed, result), form, operator = task.types, kernels.ANY, task.operator
    if task.logical is not None:  # of 0 and 1 both names of an operator are the same
        given, computed, form, operator = result, _REGISTER[computed], task.logical, _SAME[task.logical]
    elif BY_NAME.get(task.operator.name) is task.operator:  # in more bits it gives the same, cut off
        computed, form = _REGISTER.get(computed, computed), _FORMS.get(task.operator.name, form)
    template = {"TI": given, "T": computed, "OP": operator.function, "FORM": form}
    template |= {**c.template(), "EXCLUSIVE": task.exclusive, "REVERSE": task.reverse, "STABLE": task.grouped}
    begin = shape.tile(c.width)
    tiles = -(-(shape.size + begin[0]) // c.tile)
    numbers = {"n": shape.size, "before": begin[0], "skew": begin[1]}
    return Way(kernels.scan_packed, template, c.threads, tiles, numbers, "flat", words_for(tiles))


def segments(
    task: Task, shape: Shape, heads: int, period: int, key: str = "uint32", flags: Buffer = _NO_HEADS,
    *, host: bool = False, keys_aligned: bool = False,
) -> Way:  # fmt: skip
    """Return how an array of one dimension is scanned by segments; `flags`, bits or keys, say where they begin.

    `keys_aligned`: keys are to 16 bytes.
    """
    c = _host(shape.size) if host else kernels.for_segments(task.bytes, heads)
    width = c.width if host else task.width(c.items, c.width)
    template = {**task.scan_template, **c.template(), "WIDTH": width}
    template |= {"HEADS": heads, "K": key, "KEYED": _key_width(width, key, keys_aligned and not host)}
    tiles = -(-shape.size // c.tile)
    numbers = {"n": shape.size, "period": period, "aligned": shape.aligned and not host}
    how = (c.threads, 1 if host else tiles, numbers, "segments", words_for(tiles))
    return Way(kernels.scan_segments, template, *how, arrays={"x": X, "y": Y, "heads": flags})


def columns(task: Task, shape: Shape, multiprocessors: int) -> Way:
    """Return how columns are scanned on a GPU: one or several a thread, strips of them a block, or blocks that share a strip."""
    c, common = kernels.for_columns(task.bytes, size_of(task.types[0])), task.scan_template
    numbers = {"outer": shape.outer, "n": shape.n, "inner": shape.inner}
    widths = [pair for pair in _widths(task, c) if pair[0] == 1 or (shape.aligned and shape.inner % pair[0] == 0)]
    for each, _ in widths:
        threads = shape.outer * shape.inner // each
        if threads >= _ENOUGH_THREADS * multiprocessors or shape.n <= c.items // each:
            template = {**common, **c.by_thread(each)}
            blocks = -(-threads // c.threads)
            return Way(kernels.scan_columns_by_thread, template, c.threads, blocks, numbers, multiple=blocks)
    width = widths[0][1]
    line = max(1, _LINE // task.bytes // width)
    lanes, shared = _strip(shape, c, width, line, multiprocessors)
    narrow = lanes * width < 32 and (shared or shape.outer <= multiprocessors)
    if narrow and (found := whole_rows(task, shape, width, multiprocessors)) is not None:
        return found
    sharing = c.sharing(lanes * width, width)
    tiles = -(-shape.n // sharing.rows(lanes * width))
    if not shared or tiles == 1:
        lanes = min(wider for wider in _own(width, line) if wider >= lanes)
        template, strips = {**common, **c.by_block(width, lanes)}, _strips(shape, lanes * width)
        return Way(kernels.scan_columns, template, template["THREADS"], strips, numbers, multiple=strips)
    strips = _strips(shape, lanes * width)
    template = {**common, **sharing.template(width, lanes)}
    words = _column_words(tiles)
    return Way(
        kernels.scan_columns_shared, template, sharing.threads, strips * tiles, numbers, "columns", words, strips, lanes * width,
        strips,
    )  # fmt: skip


def whole_rows(task: Task, shape: Shape, width: int, multiprocessors: int) -> Way | None:
    """Return how few columns are scanned on a GPU that no vectors have: by tiles of whole rows, which blocks share; or None."""
    choice, (fewest, most) = kernels.WHOLE_ROWS.get(task.bytes, ()), kernels.WHOLE_ROWS_COLUMNS
    if width > 1 or not choice or not fewest <= shape.inner <= most or shape.outer > _STRIPS:
        return None
    large, small = choice
    enough = shape.outer * shape.n >= 2 * multiprocessors * large.rows(shape.inner)
    rows = large if enough else small
    tiles = -(-shape.n // rows.rows(shape.inner))
    apart = 1 << (shape.inner - 1).bit_length()  # so few sizes of scratch memory are kept
    numbers = {"outer": shape.outer, "n": shape.n, "inner": shape.inner, "apart": apart}
    template = {**task.scan_template, **rows.template()}
    return Way(
        kernels.scan_whole_rows, template, rows.threads, shape.outer * tiles, numbers, "columns", _column_words(tiles),
        shape.outer, apart, shape.outer,
    )  # fmt: skip


def _column_words(tiles: int) -> int:
    """Return for how many tiles there are words, of which each column of a strip has one: one of a few numbers."""
    words = 16
    while words < tiles:
        words *= 4
    return words


def _strip(
    shape: Shape, c: kernels.ColumnConfiguration, width: int, line: int, multiprocessors: int
) -> tuple[int, bool]:
    """Return how many lanes a strip has, and whether several blocks share it.

    A block has a strip of its own where there are enough, and none is narrower than a `line` of memory, in lanes. Shared ones
    are of at most 32 columns, and as wide as a block can look back at the totals of all that share. Of the lanes that there could
    be only some are taken, so that all kernels ship.
    """
    enough = _ENOUGH_STRIPS * multiprocessors
    for lanes in _own(width, line):
        if lanes >= line and _strips(shape, lanes * width) >= enough:
            return lanes, False
    some = _strip_lanes(width)
    fitting = [lanes for lanes in some if lanes * width < 2 * shape.inner]  # no wider than the columns are
    for lanes in fitting or some[-1:]:
        fits = c.blocks * multiprocessors * lanes * width <= _MOST_TOTALS * _strips(shape, lanes * width)
        if fits or lanes * width <= c.narrow:
            break
    own = min(wider for wider in _own(width, line) if wider >= lanes)
    return (lanes, True) if _strips(shape, own * width) < enough else (own, False)


def _own(width: int, line: int) -> tuple[int, ...]:
    """Return the lanes that a strip can have that is a block's own, for vectors of `width`."""
    if width == 1:
        return (32, 4)
    return (32, line, 4) if width == 8 else (32, 16, 8)


def _strip_lanes(width: int) -> tuple[int, ...]:
    """Return the lanes that a strip can have that blocks share, for vectors of `width`."""
    return (32, 4) if width == 1 else tuple(lanes for lanes in (16, 8, 4, 2, 1) if lanes * width <= 32)


def _widths(task: Task, c: kernels.ColumnConfiguration) -> tuple[tuple[int, int], ...]:
    """Return how wide vectors of columns are, of threads and of strips: as wide as they can be, and of one element."""
    widest = task.width(c.items, c.widest)
    return tuple(dict.fromkeys(((widest, math.gcd(widest, task.width(c.strip, c.widest))), (1, 1))))


def all_columns(task: Task) -> Iterator[tuple[Kernel, Mapping[str, Any]]]:
    """Yield all that `columns` chooses among, whatever the shape: kernels and their templates."""
    c, common = kernels.for_columns(task.bytes, size_of(task.types[0])), task.scan_template
    for each, width in _widths(task, c):
        yield kernels.scan_columns_by_thread, {**common, **c.by_thread(each)}
        for lanes in _own(width, max(1, _LINE // task.bytes // width)):
            yield kernels.scan_columns, {**common, **c.by_block(width, lanes)}
        for lanes in _strip_lanes(width):
            yield kernels.scan_columns_shared, {**common, **c.sharing(lanes * width, width).template(width, lanes)}
    for rows in kernels.WHOLE_ROWS.get(task.bytes, ()):
        yield kernels.scan_whole_rows, {**common, **rows.template()}


def _strips(shape: Shape, columns: int) -> int:
    return shape.outer * -(-shape.inner // columns)


def on_device(task: Task, shape: Shape, multiprocessors: int) -> Way:
    """Return how an array on a GPU is scanned."""
    if shape.outer * shape.inner == 1:
        return flat(task, shape)
    if shape.n == 1 or shape.inner == 1:
        return segments(task, shape, kernels.ROWS, shape.n)
    return columns(task, shape, multiprocessors)


def on_host(task: Task, shape: Shape) -> Way:
    """Return how an array is scanned on the reference machine, which runs all threads of a block in one NumPy operation."""
    common = task.scan_template
    if shape.inner > 1 and shape.n > 1:
        numbers, columns = {"outer": shape.outer, "n": shape.n, "inner": shape.inner}, shape.outer * shape.inner
        if columns >= 1024 or shape.n <= 64:
            threads = min(1024, -(-columns // 32) * 32)
            template = {**common, "THREADS": threads, "ITEMS": 1, "WIDTH": 1}
            return Way(kernels.scan_columns_by_thread, template, threads, 1, numbers)
        lanes = min(32, 1 << (shape.inner - 1).bit_length())
        template = {**common, "THREADS": 1024, "ITEMS": 8, "WIDTH": 1, "BLOCKS": 1, "TX": lanes}
        return Way(kernels.scan_columns, template, 1024, 1, numbers)
    if shape.outer * shape.inner == 1:
        c = kernels.HOST_SMALL if shape.size <= 4 * kernels.HOST_SMALL.tile else kernels.HOST_LARGE
        template, words = {**common, **c.template(), "STABLE": False}, words_for(-(-shape.size // c.tile))
        return Way(kernels.scan, template, c.threads, 1, tile_numbers(shape.size, (0, -1, False)), "flat", words)
    return segments(task, shape, kernels.ROWS, shape.n, host=True)


def _host(size: int) -> kernels.Configuration:
    return kernels.HOST_SEGMENTS_SMALL if size <= 4 * kernels.HOST_SEGMENTS_SMALL.tile else kernels.HOST_SEGMENTS_LARGE


def runs(task: Task, n: int, aligned: bool, key: str, host: bool = False, *, keys_aligned: bool = False) -> Way:
    """Return how runs of equal keys are reduced: arrays `keys` and `x`, and results `RUNS`."""
    c = _host(n) if host else kernels.for_runs(task.bytes, size_of(key))
    width = c.width if host else task.width(c.items, c.width)
    keyed = _key_width(width, key, keys_aligned and not host)
    template = {**task.template, **c.template(), "K": key, "WIDTH": width, "KEYED": keyed}
    tiles = n // c.tile + 1  # of the elements and one more place
    arrays = {"keys": Buffer("keys"), "x": X, **{name: Buffer(name) for name in RUNS}}
    numbers = {"n": n, "aligned": aligned and not host}
    blocks = 1 if host else tiles
    return Way(kernels.reduce_runs, template, c.threads, blocks, numbers, "segments", words_for(tiles), arrays=arrays)


def _key_width(width: int, key: str, aligned: bool) -> int:
    """Return how many keys are read at once: a divisor of `width`, of at most 16 bytes."""
    return math.gcd(width, 16 // size_of(key)) if aligned else 1


# -- What it is launched with ---------------------------------------------------------------------------------------------


def number_of(value: Any) -> Any:
    """Return a NumPy scalar as a launch takes it: Python's number, but a struct as it is."""
    return value if value.dtype.kind in "cV" else value.item()


def begin_number(initial: Any) -> Any:
    """Return what a launch begins with: a number of the call, or a value of the kernel's type as `number_of` gives it."""
    return initial if isinstance(initial, Number) else number_of(initial)


def plan(way: Way, task: Task, initial: Any, machine: Machine) -> Plan:
    """Return a way as a plan, on a machine: with `initial`, in the kernel's type or as memory, and with its scratch memory."""
    chosen, blocks = instance_of(way.kernel, way.template), way.blocks
    if way.multiple < blocks and not machine.host:
        most = machine.wave(chosen, way.threads)
        times = most // way.multiple if most >= 2 * way.multiple else -(-most // way.multiple)
        blocks = min(blocks, times * way.multiple)
    numbers = {**way.numbers, "identity": number_of(task.identity()), "initial": begin_number(initial)}
    memory, nbytes, tag = _words(way, task.word_bytes())
    step = Step(chosen, blocks, way.threads, {**way.arrays, **numbers, **memory})
    return Plan((step,), nbytes, tag)


def _words(way: Way, word_bytes: int) -> tuple[dict[str, Any], int, str]:
    """Return the arguments for a way's scratch memory, how many bytes it has, and a tag: one for all that lay it out the same."""
    words = Buffer(WORDS, _CONTROL, "uint64", way.words * word_bytes // 8)
    found = {"words": words, "capacity": way.words, "control": Buffer(WORDS, 0, "uint64", 1)}
    match way.scratch:
        case "flat":
            return found, _CONTROL + way.words * word_bytes, f"scan {word_bytes} {way.words}"
        case "segments":
            marks = Buffer(WORDS, _CONTROL + way.words * word_bytes, "uint64", way.words)
            size = _CONTROL + way.words * (word_bytes + 8)
            return {**found, "marks": marks}, size, f"segments {word_bytes} {way.words}"
        case "columns":
            many = way.strips * way.words * way.columns * word_bytes
            words = Buffer(WORDS, 8 * _STRIPS, "uint64", many // 8)
            found |= {"words": words, "control": Buffer(WORDS, 0, "uint64", way.strips)}
            return found, 8 * _STRIPS + many, f"columns {word_bytes} {way.words} {way.columns}"
        case _:
            return {}, 0, ""
