"""prism.dist on GPUs: `torchrun --nproc-per-node 2 -m tests.gpu.dist_ranks [ENGINE ..] [long]`, a GPU a rank, or all on one.

Each function, with arrays of CuPy and torch, over NCCL by torch, by CuPy and by nccl4py (where each rank has a GPU), over gloo,
and by what an engine on the GPU is asked though ranks share one (`host-torch`, `host-cupy`); compared with the same function of
the whole array on this rank's GPU. `long`: with shards of more than 2^31 elements instead. Prints how many calls were right, or
ends with the first wrong one.
"""

from __future__ import annotations

import faulthandler
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import cupy
import numpy as np
import torch
import torch.distributed
from torch.distributed.elastic.multiprocessing.errors import record

import prism
from prism.dist import _merge, _products

LENGTH, KINDS = 100_003, ("int32", "float32")
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ("scan", "cumsum", "cummax", "sum", "max", "min", "any", "count_nonzero", "argmax", "argmin")),
    ("scan", {"exclusive": True, "reverse": True, "initial": 3}), ("reduce", {"op": "bitwise_xor"}),
    *((name, {}) for name in ("flatnonzero", "sort", "argsort", "median", "unique")),
    ("sort", {"descending": True}), ("top_k", {"k": 77}), ("bincount", {}), ("histogram", {"bins": 13}),
    ("histogram", {"bins": 256, "range": (0, 99)}),
    ("select", {"condition": lambda v: v > 41}),
]  # fmt: skip
ALIKE = {
    "sum",
    "max",
    "min",
    "any",
    "count_nonzero",
    "argmax",
    "argmin",
    "reduce",
    "median",
    "top_k",
    "bincount",
    "histogram",
}
"""What is the same on all ranks; of others a rank has its shard."""

AGAIN = {
    "scan",
    "cumsum",
    "cummax",
    "sum",
    "max",
    "min",
    "any",
    "count_nonzero",
    "reduce",
    "flatnonzero",
    "sort",
    "argsort",
    "histogram",
    "select",
}


class OverHost:
    """What an engine on the GPU is asked, where ranks share one: messages lie there, and travel over the host, by gloo."""

    on_host = False

    def __init__(self, group: Any, library: str) -> None:
        self._group, self.library = group, library
        self.rank, self.size = group.rank(), group.size()

    def all_gather(self, part: Any, made: Any) -> None:
        room = torch.empty(self.size * len(part), dtype=torch.uint8)
        torch.distributed.all_gather(list(room.chunk(self.size)), torch.from_numpy(host(part)), group=self._group)
        self._put(made, room)

    def all_to_all(self, parts: Any, made: Any, sent: Any, received: Any) -> None:
        room = torch.empty(len(made), dtype=torch.uint8)
        given = torch.from_numpy(host(parts))
        torch.distributed.all_to_all_single(room, given, list(received), list(sent), group=self._group)
        self._put(made, room)

    def _put(self, made: Any, room: Any) -> None:
        if isinstance(made, torch.Tensor):
            made.copy_(room)
        else:
            made.set(room.numpy())


def communicators(rank: int, size: int) -> Iterator[tuple[str, Any]]:
    """Yield each kind that there is, by its name."""
    asked = [name for name in sys.argv[1:] if name != "long"] or ["gloo", "host-torch", "nccl", "cupy", "nccl4py"]
    if "gloo" in asked:
        yield "gloo", torch.distributed.new_group(backend="gloo")
    for library in ("torch", "cupy"):
        if f"host-{library}" in asked:
            yield f"host-{library}", OverHost(torch.distributed.new_group(backend="gloo"), library)
    if torch.cuda.device_count() < size:
        return
    if "nccl" in asked:
        yield "nccl", torch.distributed.new_group(backend="nccl")
    nccl = importlib.import_module("cupy.cuda.nccl")
    if "cupy" in asked and nccl.available:
        token = from_first(rank, lambda: nccl.get_unique_id())
        yield "cupy", nccl.NcclCommunicator(size, token, rank)
    elif "cupy" in asked and rank == 0:
        print("cupy: not run, it finds no libnccl", flush=True)
    if "nccl4py" in asked and importlib.util.find_spec("nccl") is not None:
        core = importlib.import_module("nccl.core")
        token = from_first(rank, lambda: bytes(core.get_unique_id()))
        yield "nccl4py", core.Communicator.init(size, rank, core.UniqueId.from_bytes(token))
    elif "nccl4py" in asked and rank == 0:
        print("nccl4py: not run, it is not installed", flush=True)


def from_first(rank: int, make: Callable[[], Any]) -> Any:
    """Return on all ranks what the first one makes."""
    found = [make() if rank == 0 else None]
    torch.distributed.broadcast_object_list(found)
    return found[0]


def check_products(comm: Any, make: Callable[[Any], Any]) -> int:
    """Compare products of small integers, which are exact, with those of the whole matrices; return how many."""
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    _products._OPERATIONS = 1  # so that rows go in several messages
    for kind in ("float32", "float16"):
        for m, k, n in ((5000, 512, 384), (700, 4096, 264), (3, 96, 40)):
            random = np.random.default_rng(m)
            a, b = (random.integers(-2, 3, shape).astype(kind) for shape in ((m, k), (k, n)))
            wanted = a.astype("f4") @ b.astype("f4")
            cuts = [0, m // 3, *[m] * (size - 1)] if size > 1 else [0, m]  # of two ranks
            inner = [0, k // 4, *[k] * (size - 1)] if size > 1 else [0, k]
            columns = [n * r // size for r in range(size + 1)]
            own, mine, part = (slice(ends[rank], ends[rank + 1]) for ends in (cuts, columns, inner))
            even = slice(m * rank // size, m * (rank + 1) // size)
            for split, x, y, right in (
                ("rows", a[own], b, wanted[own]),
                ("columns", a[own], b[:, mine], wanted[:, mine]),
                ("inner", a[:, part], b[part], wanted[even]),
            ):
                here, there = make(x.copy()), make(y.copy())
                for time in range(4):
                    found = prism.dist.matmul(here, there, comm=comm, split=split)
                    text = f"matmul {split} {kind} {m}, time {time}"
                    np.testing.assert_array_equal(host(found), right.astype(kind), err_msg=text)
    return 18


def check_segments(whole: np.ndarray, cuts: list[int], make: Callable[[Any], Any], comm: Any) -> int:
    """Compare segments that cross from rank to rank with those of the whole array; return how many calls there were."""
    rank, tried = torch.distributed.get_rank(), 0
    middle = cuts[1]
    for starts in ([0, 5, middle - 1, middle + 3, LENGTH - 1], [7], [], [0, *range(11, LENGTH, 997)]):
        kept = np.array([s for s in starts if 0 <= s < LENGTH], np.int64)
        own = kept[(kept >= cuts[rank]) & (kept < cuts[rank + 1])] - cuts[rank]
        x = make(whole[cuts[rank] : cuts[rank + 1]])
        for op in ("add", "maximum"):
            found = joined(host(prism.dist.segmented_scan(x, make(own), op, comm=comm)))
            right = host(prism.lib.segmented_scan(make(whole), make(kept), op))
            np.testing.assert_array_equal(found, right, err_msg=f"segmented_scan {op} {starts[:5]} {whole.dtype}")
            found = joined(host(prism.dist.segmented_reduce(x, make(own), op, comm=comm)))
            ends = np.array([*kept, LENGTH], np.int64)
            right = host(prism.lib.segmented_reduce(make(whole), make(ends), op)) if len(kept) else whole[:0]
            np.testing.assert_array_equal(found, right, err_msg=f"segmented_reduce {op} {starts[:5]} {whole.dtype}")
            tried += 2
    return tried


def check_long(comm: Any) -> int:
    """Check shards of more than 2^31 elements, whose results are known; return how many calls there were."""
    rank, size, length = torch.distributed.get_rank(), torch.distributed.get_world_size(), (1 << 31) + 5
    x = cupy.ones(length, np.int8)
    assert prism.dist.sum(x, comm=comm) == size * length
    found = prism.dist.scan(x, comm=comm)
    for begin in range(0, length, 1 << 28):
        wanted = cupy.arange(begin + 1, min(begin + (1 << 28), length) + 1) + rank * length
        assert (found[begin : begin + (1 << 28)] == (wanted & 255).astype(np.uint8).view(np.int8)).all(), begin
    del found
    x[-2] = 2 + rank
    assert prism.dist.argmax(x, comm=comm) == size * length - 2
    assert int(prism.dist.flatnonzero(x == 2 + rank, comm=comm)[0]) == (rank + 1) * length - 2
    assert prism.dist.bincount(x.view(np.uint8), comm=comm)[1] == size * (length - 1)
    kept = prism.dist.select(x, x != 1, comm=comm)
    assert kept.tolist() == [2 + rank]
    return 6


def joined(shard: np.ndarray) -> np.ndarray:
    """Return the shards of all ranks as one array."""
    shards: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(shards, shard)
    return np.concatenate(shards)


def host(value: Any) -> Any:
    """Return arrays on the host, also those of a tuple."""
    if isinstance(value, tuple):
        return tuple(map(host, value))
    return value.cpu().numpy() if isinstance(value, torch.Tensor) else cupy.asnumpy(value)


def check(
    name: str, how: dict[str, Any], whole: np.ndarray, cuts: list[int], make: Callable[[Any], Any], comm: Any
) -> None:
    """Compare a call with the library's of the whole array; those that are made in another way from the third time on, often."""
    rank = torch.distributed.get_rank()
    own = make(whole[cuts[rank] : cuts[rank + 1]])
    wanted = host(getattr(prism.lib, name)(make(whole), **how))
    short = _merge._SHORT
    for time in range(4 if name in AGAIN else 1):
        _merge._SHORT = short if time < 2 else 0  # then sorts go as those of long arrays do, in pieces
        given = host(getattr(prism.dist, name)(own, comm=comm, **how))
        if name not in ALIKE:
            given = joined(given)
        pairs = zip(given, wanted, strict=True) if isinstance(given, tuple) else [(given, wanted)]
        for found, right in pairs:
            # Integers, and floats that hold small integers, are summed up exactly below 2^24; edges of bins are computed alike.
            np.testing.assert_array_equal(found, right, err_msg=f"{name} {how} {whole.dtype}, time {time}")
            assert np.asarray(found).dtype == np.asarray(right).dtype, (name, how)
    _merge._SHORT = short


@record  # the starter shows the traceback of the rank that ended first
def main() -> None:
    faulthandler.enable()
    torch.distributed.init_process_group("gloo")
    _merge._PIECE = 1 << 16
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    gpu = int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count()
    torch.cuda.set_device(gpu)
    cupy.cuda.Device(gpu).use()
    random, right = np.random.default_rng(0), 0
    for kind, comm in communicators(rank, size):
        if "long" in sys.argv:
            right = check_long(comm)
        for dtype in KINDS if "long" not in sys.argv else ():
            whole = random.integers(0, 100, LENGTH).astype(dtype)
            for first in (LENGTH // size, 0):
                rest = np.sort(random.integers(first, LENGTH, size - 2)) if size > 2 else []
                cuts = [0, first, *map(int, rest), LENGTH][: size + 1] if size > 1 else [0, LENGTH]
                for make in (cupy.asarray, lambda x: torch.from_numpy(x.copy()).cuda()):
                    for name, how in OPTIONS:
                        if (name, dtype) in (("bincount", "float32"),) or how.get("op") and dtype == "float32":
                            continue
                        check(name, how, whole, cuts, make, comm)
                        right += 1
                        if rank == 0 and right % 20 == 0:
                            print(f"{kind}: {right} calls so far", flush=True)
                    right += check_segments(whole, cuts, make, comm)
            right += check_products(comm, cupy.asarray) if dtype == KINDS[0] else 0
        right += check_products(comm, lambda x: torch.from_numpy(x).cuda()) if "long" not in sys.argv else 0
        for wrong in (np.zeros(3, "float32"), np.zeros(3, "int32")):
            try:
                prism.dist.scan(cupy.asarray(wrong if rank else np.zeros(3, "float32")), comm=comm)
                assert wrong.dtype == np.float32
            except ValueError as error:
                assert "ranks disagree" in str(error) and wrong.dtype == np.int32, error
        if rank == 0:
            print(f"{kind}: {right} calls are right on {size} ranks", flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
