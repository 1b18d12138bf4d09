"""How sorted shards of many ranks are cut into parts that have about as many elements each (`prism.dist`)."""

from __future__ import annotations

import functools

from prism.host.plan import Buffer, Number, Plan, Step, instance_of, size_of
from prism.kernels import merge as kernels
from prism.kernels.merge.shards import HEAD
from prism.lib.algorithms.merge.plan import Kind

SAMPLED = ("x", "message", "n", "many")
"""What samples are taken of: a shard and its length, how many; and where they are put."""
CUT = ("x", "told", "cuts", "n", "rank", "whole")
"""What is cut: a shard, by all messages, `whole` samples in all."""
_THREADS = 1024
_HOST = 32  # of the reference machine, whose steps are a thread's


def row_of(kind: Kind, most: int) -> int:
    """Return the bytes of a message of so many samples at most."""
    nbytes: int = HEAD + -(-most * size_of(kind.keys) // HEAD) * HEAD
    return nbytes


@functools.cache
def sampling(kind: Kind, host: bool = False) -> Plan:
    """Return how `many` samples are taken of `n` elements, at least one."""
    x, message = Buffer("x"), Buffer("message")
    numbers = {"n": Number("n", dtype="int64"), "many": Number("many", dtype="int32")}
    threads = _HOST if host else _THREADS
    instance = instance_of(kernels.sample_run, {"T": kind.keys, "THREADS": threads})
    arrays = {"x": x, "head": message, "y": Buffer("message", HEAD)}
    return Plan((Step(instance, 1, threads, {**arrays, **numbers}),))


@functools.cache
def cutting(kind: Kind, ranks: int, most: int, parts: int, host: bool = False) -> Plan:
    """Return how a shard is cut into so many parts, by the messages of all ranks, with so many samples at most."""
    row, threads = row_of(kind, most), _HOST if host else _THREADS
    template = {"T": kind.keys, "LESS": kind.less, "THREADS": threads}
    arrays = {"x": Buffer("x"), "heads": Buffer("told"), "samples": Buffer("told", HEAD), "cuts": Buffer("cuts")}
    numbers = {
        "n": Number("n", dtype="int64"),
        "rank": Number("rank", dtype="int32"),
        "whole": Number("whole", dtype="int32"),
    }
    known = {"ranks": ranks, "most": most, "words": row // 8, "apart": row // size_of(kind.keys), "parts": parts}
    return Plan((Step(instance_of(kernels.cut_by_samples, template), 1, threads, {**arrays, **numbers, **known}),))


__all__ = ["CUT", "SAMPLED", "cutting", "row_of", "sampling"]
