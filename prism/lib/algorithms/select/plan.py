"""Which kernels a selection takes, in what configuration, and what they are launched with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prism.host.lazies import LazyInfo
from prism.host.plan import OUT, WORDS, Buffer, Machine, Plan, Scratch, Step, instance_of, nothing, size_of
from prism.kernels import select as kernels
from prism.lang.surface import Kernel
from prism.lang.types import SCALARS
from prism.lang.types.structs import dtype_called
from prism.lib.algorithms.scan.api import past
from prism.lib.algorithms.scan.plan import number_of, words_for
from prism.runtime.arrays import ArrayInfo
from prism.runtime.instance import Instance

KEPT = "kept"
"""What the number of elements that are kept is called, where it is a result."""
LENGTHS = "lengths"
"""What the lengths of runs are called."""
_CONTROL = 64  # bytes before the words: the counter and the epoch, in a sector of their own
_MOVED = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "complex128"}
_COMPARED = {"bool": "uint8", "float16": "float32", "bfloat16": "float32"}
_TESTED = ("float32", "float64", "complex64", "complex128")
_PLACE = "uint16"  # what positions in a tile are kept as
_APART = ("T", "TI", "M", "C", "TEST", "OWN", "THREADS", "ITEMS", "WIDTH", "BLOCKS", "WORDS")
_ENCODED = ("T", "H", "TI", "C", "THREADS", "ITEMS", "WIDTH", "BLOCKS", "WORDS")
_LONG = ("M", "C", "TEST", "OWN", "EDGES", "GIVEN", "THREADS", "ITEMS", "WIDTH", "BLOCKS", "WORDS")
_LONG_APART = ("O", "D", "W", "OTHER", "OTHER_GIVEN", "WAYS", *(name for name in _LONG if name != "EDGES"))
_SPLIT = ("T", "TI", "M", "C", "TEST", "BYTES", "THREADS", "ITEMS", "WIDTH", "BLOCKS", "WORDS")
_BITS = 32  # elements of a tile that a thread has at most, a bit for each; of long arrays of bytes several parts
_PART = 64
_ROWS = 16  # what a thread of the kernels behind a selection does, at least


@dataclass(frozen=True, slots=True)
class Kind:
    """The types that a selection moves and tests: see the kernel's template. `number`: the test is given one, in "mask"."""

    moved: str = _PLACE
    given: str = "uint8"
    mask: str = "uint8"
    compared: str = "uint8"
    own: bool = False
    edges: bool = False
    places: bool = False
    test: Kernel | None = None
    number: bool = False

    @property
    def size(self) -> int:
        """Bytes of an element in memory, or of its flag: what configurations go by."""
        read = ([] if self.own else [self.mask]) + ([] if self.places else [self.given])
        return max(map(size_of, read))

    @property
    def of_bytes(self) -> bool:
        """Whether what is asked is which bytes of a mask are not zero."""
        return not self.own and self.test is None and self.mask == self.compared == "uint8"

    def template(self, c: kernels.Configuration) -> dict[str, Any]:
        """Return the template arguments, with those of a configuration."""
        width = math.gcd(c.items, max(1, 16 // self.size)) if c.width <= 16 else c.width
        return {
            **c.template(), "WIDTH": width, "T": self.moved, "H": held_as(self.moved, c.items), "TI": self.given, "M": self.mask,
            "C": self.compared, "TO": "int64" if self.places else self.moved, "TEST": self.test or kernels.is_set,
            "OWN": self.own, "EDGES": self.edges, "PLACES": self.places, **({"GIVEN": True} if self.number else {}),
            **({"BYTES": True} if self.of_bytes and width % 4 == 0 else {}),
        }  # fmt: skip

    def configurations(self, *, aligned: bool = True) -> tuple[kernels.Configuration, ...]:
        """Return how few elements, short and long arrays on a GPU are cut into tiles, and longer ones; `aligned`: to 16 bytes."""
        size = min(size for size in kernels.DEVICE if size >= min(self.size, 16))
        long = kernels.PLACES if self.places else kernels.EDGES if self.edges else kernels.DEVICE
        packed = self.size == 1 and not self.places and held_as(self.moved) != self.moved
        found = kernels.FEW[size], kernels.SHORT[size], kernels.PACKED if packed and not self.edges else long[size]
        if not (aligned and packed and (self.own or self.of_bytes)):
            return found
        return *found, *(kernels.BYTES if self.own else kernels.BYTES_MASKED)

    def configuration(self, n: int, *, aligned: bool = True) -> kernels.Configuration:
        """Return how an array of `n` elements on a GPU is cut into tiles; `aligned`: to 16 bytes."""
        return cut_of(n, self.configurations(aligned=aligned))


def cut_of(
    n: int, found: Sequence[kernels.Configuration], middle: kernels.Configuration | None = None
) -> kernels.Configuration:
    """Return how `n` elements are cut into tiles, where `found` says how few, short arrays and longer ones are.

    `middle`: one of these, for arrays that are not as long as the others are for.
    """
    few, short, *longer = found
    if n <= kernels.FEW_TILES * few.tile:
        return few
    usual = {c: kernels.LONGER_TILES if c.items > _PART else kernels.LONG_TILES for c in longer}
    least = {c: c.tile * (kernels.MIDDLE_TILES if c == middle else tiles) for c, tiles in usual.items()}
    return next((c for c in reversed(longer) if n >= least[c]), short)


def held_as(moved: str, items: int = 4) -> str:
    """Return what a tile's elements are held as, of which a thread has `items`: bytes four in a word, where there are so many."""
    return "uint32" if moved == "uint8" and items % 4 == 0 else moved


def moved_as(info: ArrayInfo, name: str, function: str = "") -> str:
    """Return the type that elements are moved as, of an array that a function calls so: of memory any of their size.

    Raises:
        TypeError: there is none.
    """
    if not isinstance(info, LazyInfo) and info.dtype.itemsize in _MOVED:
        return _MOVED[info.dtype.itemsize]
    try:
        moves = size_of(info.scalar) in _MOVED
    except TypeError:  # a type that kernels don't have
        moves = False
    if not moves:
        missing = f"which {function} does not support" if function else "which is not supported"
        raise TypeError(f"`{name}` has dtype {info.dtype}, {missing}")
    return info.scalar


def own_kind(info: ArrayInfo) -> Kind:
    """Return the types that elements are moved and tested as of which a function is asked: bytes of memory are moved as such."""
    scalar = info.scalar
    known = SCALARS.get(scalar)
    of_bytes = not isinstance(info, LazyInfo) and (
        scalar == "bool" or (known is not None and known.integral and known.bits == 8)
    )
    moved = "uint8" if of_bytes else scalar
    return Kind(moved, moved, compared=scalar, own=True)


def tested_as(info: ArrayInfo, name: str) -> tuple[str, str]:
    """Return the type that elements to be tested are read as, and that they are compared as.

    Raises:
        TypeError: they are neither numbers nor bools.
    """
    scalar = info.scalar
    known = SCALARS.get(scalar)
    if known is not None and known.integral and not isinstance(info, LazyInfo):
        return _MOVED[known.bits // 8], _MOVED[known.bits // 8]
    if scalar in _COMPARED:
        return (scalar if scalar != "bool" or isinstance(info, LazyInfo) else "uint8"), _COMPARED[scalar]
    if scalar in _TESTED or (known is not None and known.integral):
        return scalar, scalar
    raise TypeError(f"`{name}` has dtype {info.dtype}, which is not supported")


def zero(scalar: str) -> Any:
    """Return a number of a kernel's type, as a launch takes it."""
    return 0.0 if scalar == "bfloat16" else number_of(np.zeros((), dtype_called(scalar))[()])


def select(
    kind: Kind,
    n: int,
    room: int,
    machine: Machine,
    x: ArrayInfo | None,
    mask: ArrayInfo | None,
    y: Buffer,
    kept: Buffer,
) -> tuple[Step, int, str]:
    """Return the step that selects of `n` elements, at most `room`; and how many bytes of words it has, with their tag.

    `y`: memory of the library, so aligned.
    """
    host = machine.host
    aligned = past(x) == 0 == (0 if kind.own else past(mask))
    c = tiles_of(kind, n, host=host, aligned=aligned)
    template, tiles = kind.template(c), -(-n // c.tile)
    instance = instance_for(kind, c)
    words, blocks = words_for(tiles), _blocks_of(c, tiles, instance, machine)

    def skew(info: ArrayInfo | None) -> int:
        return -1 if host or info is None or past(info) < 0 else past(info) % template["WIDTH"]

    marks = "x" if x is None else "mask"  # of positions `x` is the mask
    step = Step(
        instance,
        blocks,
        c.threads,
        {
            "x": nothing(kind.given) if kind.places else Buffer("x"),
            "mask": nothing(kind.mask) if kind.own and not kind.number else Buffer(marks),
            "y": y, "kept": kept, "n": n, "room": room,
            "skew": skew(x), "mask_skew": skew(x if mask is None else mask), "y_skew": -1 if host else 0,
            "otherwise": zero(kind.moved), "unset": zero(kind.compared),
            "words": Buffer(WORDS, _CONTROL, "uint64", words), "capacity": words, "control": Buffer(WORDS, 0, "uint64", 1),
        },
    )  # fmt: skip
    return step, _CONTROL + 8 * words, f"select {words}"


def is_once(c: kernels.Configuration) -> bool:
    """Whether a block has a tile of its own in a configuration, where there are few."""
    return c in kernels.FEW.values()


def _blocks_of(c: kernels.Configuration, tiles: int, instance: Instance, machine: Machine) -> int:
    """Return how many blocks do so many tiles."""
    if machine.host:
        return 1
    return tiles if is_once(c) else min(tiles, c.blocks * machine.multiprocessors, machine.wave(instance, c.threads))


def instance_for(kind: Kind, c: kernels.Configuration) -> Instance:
    """Return the kernel that selects, in a configuration."""
    found = kind.template(c)
    if c.items <= _BITS:
        return instance_of(kernels.select, {**found, **_once(c)})
    long = {name: found[name] for name in _LONG if name in found}
    return instance_of(kernels.select_bytes, {**long, "PARTS": c.items // _PART})


def _once(c: kernels.Configuration) -> dict[str, Any]:
    return {"ONCE": True} if is_once(c) else {}


def apart_for(kinds: Sequence[Kind], c: kernels.Configuration) -> Instance:
    """Return the kernel that splits apart, in a configuration."""
    found = apart_of(kinds, c)
    if c.items <= _BITS:
        return instance_of(kernels.split_apart, {**found, **_once(c)})
    long = {name: found[name] for name in _LONG_APART if name in found}
    return instance_of(kernels.split_bytes, {**long, "PARTS": c.items // _PART})


def encode_configurations(kind: Kind, *, aligned: bool = True) -> tuple[kernels.Configuration, ...]:
    """Return how few elements, short and long arrays on a GPU are cut into tiles whose runs are found; `aligned`: to 16 bytes."""
    size = min(size for size in kernels.DEVICE if size >= min(kind.size, 16))
    found = kernels.FEW[size], kernels.APART[size], kernels.ENCODED[size]
    of_bytes = kind.moved == kind.given == kind.compared == "uint8"
    return (*found, kernels.BYTES_ENCODED) if aligned and of_bytes else found


def encode_of(kind: Kind, c: kernels.Configuration) -> dict[str, Any]:
    """Return the template of run lengths."""
    found = kind.template(c)
    return {**{name: found[name] for name in _ENCODED}, **_once(c)}


def encode_for(kind: Kind, c: kernels.Configuration) -> Instance:
    """Return the kernel of run lengths, in a configuration."""
    if c.items > _BITS and kind.size == 1:
        return instance_of(kernels.encode_bytes, {**c.template(), "WIDTH": c.width})
    return instance_of(kernels.encode, encode_of(kind, c))


def encode(kind: Kind, given: ArrayInfo, room: int, machine: Machine, kept: Buffer) -> tuple[Step, int, str]:
    """Return the step that finds runs, at most `room`; and how many bytes of words it has, with their tag."""
    n, host = given.size, machine.host
    c = tiles_of(kind, n, host=True) if host else cut_of(n, encode_configurations(kind, aligned=past(given) == 0))
    tiles = -(-n // c.tile)
    instance, words = encode_for(kind, c), words_for(tiles)
    blocks = _blocks_of(c, tiles, instance, machine)
    skew = -1 if host or past(given) < 0 else past(given) % dict(instance.template)["WIDTH"]
    step = Step(
        instance, blocks, c.threads,
        {
            "x": Buffer("x"), "y": Buffer(OUT), "lengths": Buffer(LENGTHS), "kept": kept, "n": n, "room": room,
            "skew": skew, "y_skew": -1 if host else 0, "otherwise": zero(kind.moved), "unset": zero(kind.compared),
            "words": Buffer(WORDS, _CONTROL, "uint64", words), "capacity": words, "control": Buffer(WORDS, 0, "uint64", 1),
        },
    )  # fmt: skip
    return step, _CONTROL + 8 * words, f"encode {words}"


def paired_configurations(keys: Kind, values: Kind) -> tuple[kernels.Configuration, ...]:
    """Return how few elements, short and long arrays on a GPU are cut into tiles of keys and values."""
    size = min(size for size in kernels.DEVICE if size >= min(max(keys.size, values.size), 16))
    return kernels.FEW[size], kernels.APART[size], kernels.PAIRED[size]


def paired_of(keys: Kind, values: Kind, c: kernels.Configuration) -> dict[str, Any]:
    """Return the template of the first of runs of keys, with values."""
    held = [held_as(kind.moved, c.items) for kind in (keys, values)]
    found = {**encode_of(keys, c), "WIDTH": _widest((keys, values)).template(c)["WIDTH"], "H": held[0]}
    return {**found, "V": values.moved, "HV": held[1], "VI": values.given}


def unique_pairs(
    kinds: tuple[Kind, Kind], labels: ArrayInfo, given: ArrayInfo, room: int, machine: Machine, out: Buffer, kept: Buffer
) -> tuple[Step, int, str]:  # fmt: skip
    """Return the step that finds runs of keys, at most `room`, and their first values, which go to `out`; else as `encode`."""
    n, host, (keys, values) = given.size, machine.host, kinds
    c = tiles_of(keys, n, host=True) if host else cut_of(n, paired_configurations(keys, values))
    tiles = -(-n // c.tile)
    template = paired_of(keys, values, c)
    instance, words = instance_of(kernels.unique_pairs, template), words_for(tiles)
    blocks = _blocks_of(c, tiles, instance, machine)

    def skew(info: ArrayInfo) -> int:
        return -1 if host or past(info) < 0 else past(info) % template["WIDTH"]

    step = Step(
        instance, blocks, c.threads,
        {
            "keys": Buffer("keys"), "x": Buffer("x"), "y": Buffer("unique"), "z": out, "kept": kept, "n": n, "room": room,
            "skew": skew(labels), "x_skew": skew(given), "out_skew": -1 if host else 0, "otherwise": zero(keys.moved),
            "x_otherwise": zero(values.moved), "unset": zero(keys.compared),
            "words": Buffer(WORDS, _CONTROL, "uint64", words), "capacity": words, "control": Buffer(WORDS, 0, "uint64", 1),
        },
    )  # fmt: skip
    return step, _CONTROL + 8 * words, f"unique pairs {words}"


def split_apart(kinds: Sequence[Kind], given: ArrayInfo, masks: Sequence[ArrayInfo], machine: Machine) -> Plan:
    """Return the plan that puts elements into two or three arrays, by masks of such kinds, or by tests of the elements."""
    kind, second, ways = kinds[0], kinds[-1], len(kinds) + 1
    n, host = given.size, machine.host
    read = [given, *(info for of, info in zip(kinds, masks, strict=False) if not of.own)]
    found = apart_configurations(kinds, aligned=all(past(info) == 0 for info in read))
    middle = kernels.APART_MIDDLE.get(_widest(kinds).size)
    c = tiles_of(kind, n, host=True) if host else cut_of(n, found, middle)
    template, tiles = apart_of(kinds, c), -(-n // c.tile)
    instance = apart_for(kinds, c)
    words, blocks = words_for(tiles), _blocks_of(c, tiles, instance, machine)

    def skew(number: int) -> int:
        info = given if number < 0 else masks[number] if number < len(masks) else None
        return -1 if host or info is None or past(info) < 0 else past(info) % template["WIDTH"]

    def mark(name: str, of: Kind, there: bool) -> Any:
        return Buffer(name) if there and (of.number or not of.own) else nothing(of.mask)

    bytes_of_words = 8 if ways == 2 else 16
    step = Step(
        instance, blocks, c.threads,
        {
            "x": Buffer("x"), "mask": mark("mask", kind, there=True), "other": mark("other", second, there=ways == 3),
            "y": Buffer(OUT), "z": Buffer("second") if ways == 3 else nothing(kind.moved), "rest": Buffer("rest"),
            "kept": Buffer(KEPT), "other_kept": Buffer(KEPT, 8) if ways == 3 else nothing("int64"),
            "n": n, "skew": skew(-1), "mask_skew": skew(0), "other_skew": skew(1), "out_skew": -1 if host else 0,
            "otherwise": zero(kind.moved), "unset": zero(kind.compared), "other_unset": zero(second.compared),
            "words": Buffer(WORDS, _CONTROL, "uint64", words * bytes_of_words // 8), "capacity": words,
            "control": Buffer(WORDS, 0, "uint64", 1),
        },
    )  # fmt: skip
    return Plan((step,), _CONTROL + bytes_of_words * words, f"split in {ways} {words}")


def _widest(kinds: Sequence[Kind]) -> Kind:
    return max(kinds, key=lambda one: one.size)


def apart_configurations(kinds: Sequence[Kind], *, aligned: bool = True) -> tuple[kernels.Configuration, ...]:
    """Return how few elements, short and long arrays on a GPU are split apart, and longer ones; `aligned`: to 16 bytes."""
    size = min(size for size in kernels.DEVICE if size >= min(_widest(kinds).size, 16))
    packed = size == 1 and held_as(kinds[0].moved) != kinds[0].moved
    long = kernels.APART_PACKED if packed else kernels.PARTS[len(kinds) + 1][size]
    middle = (kernels.APART_MIDDLE[size],) if size in kernels.APART_MIDDLE else ()
    found = kernels.FEW[size], kernels.APART[size], *middle, long
    if not (aligned and packed and all(kind.own or kind.of_bytes for kind in kinds)):
        return found
    return *found, *kernels.BYTES_APART[len(kinds) + 1]


def apart_of(kinds: Sequence[Kind], c: kernels.Configuration) -> dict[str, Any]:
    """Return the template of a split into an array for each kind, and one for the rest."""
    kind, second, ways = kinds[0], kinds[-1], len(kinds) + 1
    found = {**kind.template(c), "WIDTH": _widest(kinds).template(c)["WIDTH"]}
    more = {
        "H": held_as(kind.moved, c.items),
        "O": second.mask,
        "D": second.compared,
        "OTHER": second.test or kernels.is_set,
    }
    word = "uint32" if ways == 2 else "uint64"
    if kind.of_bytes and second.of_bytes and found["WIDTH"] % 4 == 0:
        more["BYTES"] = True
    if kind.number:
        more["GIVEN"] = True
    if ways == 3 and second.number:
        more["OTHER_GIVEN"] = True
    return {**{name: found[name] for name in _APART}, **more, "W": word, "WAYS": ways}


def split(kind: Kind, given: ArrayInfo, mask: ArrayInfo, counting: Plan, machine: Machine) -> Plan:
    """Return the plan that counts what a mask says, and puts that before the rest. `counting`: the plan of the first step."""
    n, host = given.size, machine.host
    size = min(size for size in kernels.SPLIT if size >= min(kind.size, 16))
    c = kernels.HOST_SMALL if host else kernels.SPLIT[size]
    template = split_of(kind, c)
    instance, tiles = instance_of(kernels.split, template), -(-n // c.tile)
    words, begin = words_for(tiles), -(-counting.words // _CONTROL) * _CONTROL  # behind those of the counting

    def skew(info: ArrayInfo) -> int:
        return -1 if host or past(info) < 0 else past(info) % template["WIDTH"]

    step = Step(
        instance, 1 if host else min(tiles, machine.wave(instance, c.threads)), c.threads,
        {
            "x": Buffer("x"), "mask": Buffer("mask"), "y": Buffer(OUT), "kept": Buffer(KEPT), "n": n, "skew": skew(given),
            "mask_skew": skew(mask), "otherwise": zero(kind.moved), "unset": zero(kind.compared),
            "words": Buffer(WORDS, begin + _CONTROL, "uint64", 2 * words), "capacity": words,
            "control": Buffer(WORDS, begin, "uint64", 1),
        },
    )  # fmt: skip
    tag = f"split {words} behind {counting.tag}"
    return Plan((*counting.steps, step), begin + _CONTROL + 16 * words, tag, counting.scratch, counting.lent)


def split_of(kind: Kind, c: kernels.Configuration) -> dict[str, Any]:
    """Return the template of a split."""
    found = kind.template(c)
    return {name: found[name] for name in _SPLIT if name in found}


def tiles_of(kind: Kind, n: int, *, host: bool, aligned: bool = True) -> kernels.Configuration:
    """Return how `n` elements are cut into tiles; `aligned`: arrays are to 16 bytes."""
    if host:
        return kernels.HOST_SMALL if n <= 8 * kernels.HOST_SMALL.tile else kernels.HOST_LARGE
    return kind.configuration(n, aligned=aligned)


def fill(scalar: str, y: Buffer, kept: Buffer, n: int, value: Any, each: int = 1, *, host: bool = False) -> Step:
    """Return the step that puts a value behind what was kept, into an array of `n`; of elements that are `each` of its own."""
    numbers: Mapping[str, Any] = {"n": n, "each": each, "value": value}
    return _behind(kernels.fill_rest, {"T": scalar}, n, {"y": y, "kept": kept, **numbers}, host=host)


def axes(
    shape: tuple[int, ...], places: Buffer, kept: Buffer | None, room: int, outs: list[Buffer], step: int, *, host: bool
) -> list[Step]:
    """Return the steps that make indices along axes of positions in an array of a shape."""
    size, inner, steps = math.prod(shape), math.prod(shape), []
    template = {"I": "uint32" if size < 1 << 32 else "int64", "COUNTED": kept is not None}
    for extent, out in zip(shape, outs, strict=True):
        inner //= extent
        numbers = {"room": room, "inner": inner, "extent": extent, "step": step}
        given = {"positions": places, "kept": kept or nothing("int64"), "y": out, **numbers}
        steps.append(_behind(kernels.take_axis, template, room, given, host=host))
    return steps


def _behind(kernel: Kernel, template: dict[str, Any], n: int, arguments: Mapping[str, Any], *, host: bool) -> Step:
    blocks = 1 if host else min(-(-n // (kernels.BEHIND * _ROWS)), 1 << 12)
    return Step(instance_of(kernel, {**template, "THREADS": kernels.BEHIND}), blocks, kernels.BEHIND, arguments)


__all__ = [
    "KEPT",
    "LENGTHS",
    "Kind",
    "Plan",
    "Scratch",
    "split_apart",
    "apart_configurations",
    "apart_for",
    "apart_of",
    "axes",
    "encode",
    "encode_configurations",
    "encode_for",
    "encode_of",
    "fill",
    "instance_for",
    "moved_as",
    "paired_configurations",
    "paired_of",
    "select",
    "split",
    "split_of",
    "tested_as",
    "unique_pairs",
    "zero",
]
