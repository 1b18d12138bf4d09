"""What a product with weights of 4 or 8 bits comes to: one launch of few rows, two of many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from prism.host.plan import NO_MAP, Buffer, Machine, Map, Plan, Reach, Scratch, Step, instance_of, nothing
from prism.kernels import mixed as kernels
from prism.kernels.hgemm import Configuration, blocks, group_m
from prism.kernels.mixed import DEEP, FewCut, Weights
from prism.lang.types import SCALARS
from prism.lib.algorithms.sgemm.ring import ARCH
from prism.lib.views import View
from prism.runtime.tensor_maps import PIECE


@dataclass(frozen=True, slots=True)
class Mixed:
    """What is multiplied, as matrices: `x`, m x k; `weights`, packed, of `bits`; `scales` and `zeros`; `out`, m x n."""

    x: View
    weights: View
    scales: View
    zeros: View | None
    out: View
    bits: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """m, n, k."""
        return self.x.shape[0], self.out.shape[1], self.x.shape[1]

    @property
    def size(self) -> int:
        """Elements of K in a group."""
        return self.x.shape[1] // self.scales.shape[0]

    @property
    def fine(self) -> bool:
        """Whether a step of K may have two groups."""
        return self.scales.shape[0] > 1 and self.size % DEEP != 0


def decide_plan(found: Mixed, machine: Machine, cut: FewCut | Configuration | None = None) -> Plan:
    """Return the plan; `cut`: the tiles, whatever suits."""
    m, n, k = found.shape
    few = kernels.HOST_FEW if machine.host else kernels.FEW if machine.arch == ARCH else m
    if cut is None:
        if m <= few:
            cut = kernels.few_cut(found.bits, m, n, machine.multiprocessors, zeros=found.zeros is not None)
        else:
            cut = kernels.HOST if machine.host else kernels.choose(m, n, k, machine.multiprocessors)
    if isinstance(cut, FewCut):
        return Plan((_few(found, cut),), lent=True)
    scratch = Scratch()
    steps = _many(found, machine, cut, scratch)
    return Plan(steps, scratch=scratch.used, lent=True)


def _factors(found: Mixed) -> dict[str, Any]:
    """Return what kernels take of scales and zero points."""
    scales, zeros = found.scales, found.zeros
    return {
        "scales": Reach("scales"), "zeros": nothing("uint8") if zeros is None else Reach("zeros"),
        "scale_k": scales.strides[0] // scales.size, "scale_n": scales.strides[1] // scales.size,
        "zero_k": 0 if zeros is None else zeros.strides[0], "zero_n": 0 if zeros is None else zeros.strides[1],
    }  # fmt: skip


def _result(found: Mixed) -> dict[str, Any]:
    """Return what they take of the result, and of sizes."""
    (m, n, k), out = found.shape, found.out
    stride = out.strides[0] // out.size
    return {"out": Reach(out.name, out.offset), "stride": stride, "m": m, "n": n, "k": k, "size": found.size}


def _few(found: Mixed, cut: FewCut) -> Step:
    m, n, _ = found.shape
    given = _factors(found) | _result(found)
    side_by_side = given["scale_n"] == 1 and (found.zeros is None or given["zero_n"] == 1)
    whole = side_by_side and n % cut.columns == 0
    cut = replace(cut, fine=found.fine, zeros=found.zeros is not None, whole=whole)
    given |= {"x": Reach(found.x.name, found.x.offset), "apart": found.x.strides[0] // found.x.size}
    given |= {"packed": Reach(found.weights.name)}
    kernel = instance_of(kernels.multiply_few, {"T": found.x.scalar, "TS": found.scales.scalar, "CUT": cut})
    return Step(kernel, -(-m // cut.rows) * -(-n // cut.columns), cut.threads, given)


def _many(found: Mixed, machine: Machine, cut: Configuration, scratch: Scratch) -> tuple[Step, Step]:
    """Return the launches of a product of many rows: first what weights are made with is put side by side."""
    (m, n, _), out = found.shape, found.out
    pitch, rows = -(-n // cut.bm) * cut.bm, found.scales.shape[0] + found.fine
    room = scratch.take("uint32", 2 * rows * pitch)
    given = _factors(found) | {
        "factors": room,
        "n": n,
        "groups": found.scales.shape[0],
        "pitch": pitch,
        "many": rows * pitch,
    }
    facts = {"T": out.scalar, "TS": found.scales.scalar, "BITS": found.bits, "ZEROS": found.zeros is not None}
    threads = kernels.THREADS
    first = Step(instance_of(kernels.prepare_factors, facts), -(-rows * pitch // threads), threads, given)
    plain = not machine.host and (not out.fits_tensor_copy(1) or n * out.size % PIECE != 0)
    tile = cut.cut(transpose_a=False, transpose_b=False, out_bytes=SCALARS[out.scalar].bytes, trans=True)
    facts = {"T": out.scalar, "CUT": tile, "WEIGHTS": Weights(found.bits, found.fine), "PLAIN": plain}
    strips, tiles, each = found.weights.shape
    row = tiles * each
    words = Map(Buffer(found.weights.name, 0, "int32", strips * row), (strips, row), (4 * row, 4))
    down, across = cut.tiles(n, m)
    given = _result(found) | {"map_w": words, "map_x": found.x.map, "map_out": NO_MAP if plain else out.map}
    given |= {"unread": NO_MAP, "none": nothing("float32"), "factors": room, "pitch": pitch}
    given |= {"down": group_m(cut, down, across, machine.multiprocessors)}
    many = 2 if machine.host else blocks(cut, down, across, machine.multiprocessors)
    return first, Step(instance_of(kernels.multiply_packed, facts), many, cut.threads, given)


__all__ = ["Mixed", "decide_plan"]
