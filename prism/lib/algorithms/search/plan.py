"""Which kernels a search in a sorted table takes, and what they are launched with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from prism.host.plan import OUT, WORDS, Buffer, Machine, Plan, Scratch, Step, instance_of, nothing, size_of
from prism.kernels import lookup as kernels
from prism.lang.surface import Kernel
from prism.lib.algorithms.scan.api import past
from prism.lib.algorithms.select.plan import zero
from prism.runtime.arrays import ArrayInfo
from prism.runtime.instance import Instance

ORDER = "order"
"""The number that says which way edges run."""
_ORDER_THREADS = 1024
_THREADS = 256  # of kernels that have a thread for each element
_VECTORS = 4  # of 16 bytes that a thread has under way
_TILES = 2  # of a block, from which on values are long
_RATIO = 64  # of the table's elements to values: where there are more, no tree is made


@dataclass(frozen=True, slots=True)
class Kind:
    """The types of a table, of values and of what is compared, and on which side of equal elements values belong."""

    table: str
    values: str
    compared: str
    right: bool

    @property
    def size(self) -> int:
        """Bytes of what is compared."""
        return size_of(self.compared)

    def sample(self) -> dict[str, Any]:
        """Return the template of what makes a tree."""
        return {"T": self.table, "C": self.compared, "LOG": kernels.fan_of(self.size), "THREADS": _THREADS}

    def few(self) -> dict[str, Any]:
        """Return the template of what looks up few values."""
        return {"T": self.table, "V": self.values, "C": self.compared, "RIGHT": self.right, "THREADS": _THREADS}

    def lookup(self, c: kernels.Configuration, *, long: bool = False) -> dict[str, Any]:
        """Return the template of what looks up many; `long`: so many that each block of a GPU has several tiles."""
        wide = self.size // 4
        items = max(c.items // wide, 2)
        return {
            "T": self.table, "V": self.values, "C": self.compared, "RIGHT": self.right, "LOG": kernels.fan_of(self.size),
            "NODES": c.nodes // wide, "THREADS": c.threads, "BLOCKS": c.blocks,
            "ITEMS": kernels.LONG.get(self.compared, items) if long else items,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cut:
    """How a table is cut up: a tree of `1 << levels` groups of `FAN**depth` elements, by a configuration."""

    configuration: kernels.Configuration
    levels: int
    depth: int


def kind_of(table: ArrayInfo, values: ArrayInfo, *, right: bool) -> Kind:
    """Return the types of a search.

    Of complex numbers both must be `converted` to what is compared, where they are of others.

    Raises:
        TypeError: one is neither of numbers nor of bools.
    """
    found = _read_as(table), _read_as(values)
    dtypes = [np.dtype("float32" if one == "bfloat16" else one) for one in found]
    common = np.result_type(*dtypes)
    if common.kind == "c":
        return Kind(common.name, common.name, common.name, right)
    if common.itemsize < 4:
        common = np.dtype(np.float32 if common.kind == "f" else np.int32)
    return Kind(*found, common.name, right)


def _read_as(info: ArrayInfo) -> str:
    name = "uint8" if info.scalar == "bool" else info.scalar
    kind = np.dtype(info.dtype).kind
    if name != "bfloat16" and (kind not in "biufc" or info.dtype.itemsize > (16 if kind == "c" else 8)):
        raise TypeError(f"dtype {info.dtype} is not supported")
    return name


def cut(n: int, compared: str, arch: str = "") -> Cut:
    """Return how a table of `n` elements, which are `compared` as that type, is cut up.

    `arch`: the GPU's, "" of the host.
    """
    size = size_of(compared)
    log = kernels.fan_of(size)
    small, *larger = kernels.DEVICE if arch else kernels.HOST
    if int("0" + "".join(filter(str.isdigit, arch))) in kernels.NARROW:
        larger = []
    for c in (small, *larger):
        most, depth = c.nodes * 4 // size, 0
        while (n - 1) >> (log * depth) >= most:
            depth += 1
        if not larger or c is not small or depth < 2:
            break
    groups = ((n - 1) >> (log * depth)) + 1
    levels = max(1, (groups - 1).bit_length())
    return Cut(c, levels, depth)


def search(
    kind: Kind, table: ArrayInfo, values: ArrayInfo, result: ArrayInfo | None, machine: Machine, *, down: bool = False
) -> Plan:
    """Return the plan of a search for at least one value. `down`: the table is one from its end on, and positions too."""
    n, m, host = table.size, values.size, machine.host
    numbers = {"n": n, "m": m, "first": n if down else 0, "sign": -1 if down else 1}
    if m < kernels.FEW or m < n // _RATIO or not n or kind.compared.startswith("complex"):
        arrays = {"x": Buffer("x"), "v": Buffer("v"), "y": Buffer(OUT)}
        few = instance_of(kernels.lookup_few, kind.few())
        return Plan((Step(few, -(-m // _THREADS), _THREADS, {**arrays, **numbers}),))
    found, log, scratch = cut(n, kind.compared, machine.arch), kernels.fan_of(kind.size), Scratch()
    c, levels, depth = found.configuration, found.levels, found.depth
    rows = sum((((n - 1) >> (log * k) >> log) + 1) << log for k in range(1, depth))
    shape = {"n": n, "levels": levels, "depth": depth}
    steps: list[Step] = []
    if depth:
        made = {
            "nodes": scratch.take(kind.compared, 1 << levels),
            "rows": scratch.take(kind.compared, rows),
            "sound": scratch.take("int64", 1),
        }
        blocks = 1 if host else min(-(-max(rows, 1 << levels) // _THREADS), 8 * machine.multiprocessors)
        steps.append(
            Step(instance_of(kernels.sample, kind.sample()), blocks, _THREADS, {"x": Buffer("x"), **made, **shape})
        )
    else:
        made = {"nodes": nothing(kind.compared), "rows": nothing(kind.compared), "sound": nothing("int64")}
    each = kernels.LONG.get(kind.compared, 0) * c.threads * c.blocks * _TILES
    template = kind.lookup(c, long=not host and m >= each * machine.multiprocessors)
    instance = instance_of(kernels.lookup, template)
    tiles = -(-m // (c.threads * template["ITEMS"]))
    skew = past(values)
    step = Step(
        instance, min(tiles, machine.wave(instance, c.threads)), c.threads,
        {
            "x": Buffer("x"), "v": Buffer("v"), "y": Buffer(OUT), **made, **shape, **numbers,
            "skew": -1 if host or skew < 0 else skew % 2, "x_aligned": not host and past(table) == 0,
            "y_aligned": not host and past(result) == 0, "otherwise": np.dtype(kind.compared).type(0).item(),
        },
    )  # fmt: skip
    return Plan((*steps, step), scratch=scratch.used)


def first_of(read: str, compared: str, test: Kernel) -> dict[str, Any]:
    """Return the template of what finds the first element."""
    width = max(1, 16 // size_of(read))
    # Bytes each take a register: of 64 a thread some spilled, and 2^20 of which none is took 3.3 us, 2^24 13.1, 2^28 148 on an
    # H200; so 2.5, 11.2 and 141.
    items, blocks = (32, 5) if width == 16 else (width * _VECTORS, 4)
    sizes = {"THREADS": _THREADS, "ITEMS": items, "WIDTH": width, "BLOCKS": blocks}
    return {"M": read, "C": compared, "TEST": test, **sizes}


def first(read: str, compared: str, test: Kernel, mask: ArrayInfo, machine: Machine) -> Plan:
    """Return the plan that finds the first element, of at least one, of which a test holds."""
    template = first_of(read, compared, test)
    instance, width = instance_of(kernels.find_first, template), template["WIDTH"]
    skew = -1 if machine.host or past(mask) < 0 else past(mask) % width
    arguments = {
        "mask": Buffer("mask"), "y": Buffer(OUT), "n": mask.size, "skew": skew, "unset": zero(compared),
        "control": Buffer(WORDS, 0, "uint64", 2),
    }  # fmt: skip
    blocks = min(-(-mask.size // (_THREADS * template["ITEMS"])), machine.wave(instance, _THREADS))
    return Plan((Step(instance, blocks, _THREADS, arguments),), 16, "find")


def order_of(edges: ArrayInfo) -> Plan:
    """Return the plan that says which way edges run, at least two of them, where the host looks."""
    given = {"edges": Buffer("bins"), "order": Buffer(ORDER), "n": edges.size}
    return Plan((Step(orders(_read_as(edges)), 1, _ORDER_THREADS, given),))


def orders(scalar: str) -> Instance:
    """Return the kernel that says which way edges of a type run."""
    return instance_of(kernels.order_of_edges, {"T": scalar, "THREADS": _ORDER_THREADS})


__all__ = ["ORDER", "Cut", "Kind", "cut", "first", "first_of", "kind_of", "order_of", "orders", "search"]
