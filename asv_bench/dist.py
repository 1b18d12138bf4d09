"""prism.dist over the GPUs of a host, beside one GPU's time, NCCL's all_gather and torch's DTensor.

    torchrun --nproc-per-node 2 asv_bench/dist.py [--most 33] [--sizes 20,30] [--rounds 7] [--only scan,sort] [--json FILE]
    torchrun --nproc-per-node 2 asv_bench/dist.py --engine gloo --only matmul         (also where both ranks share a GPU)
    torchrun --nproc-per-node 2 asv_bench/dist.py --comm nccl4py                      (or cupy; torch's group by default)

Weak scaling: each rank has as many bytes, from 2^20 to 2^most. `one`: `prism.lib`'s function of one shard; `work`: what a rank
has to do at least, which of a scan is a reduction and a scan; of a product `one` is as much as a rank multiplies, on one GPU,
and `sent` a product that sends as much, and multiplies next to nothing.
Times are of the host, from a barrier to the end of the call on all ranks: the slowest rank counts; medians of rounds, one GPU's
and all GPUs' in turn. The barrier's end is in memory that ranks share: NCCL's lets them go up to 40 us apart. `loop`: so many
calls one behind the other, without a barrier between them. `DTensor`: torch's own. That results are right,
tests/gpu/dist_ranks.py tells.
"""

from __future__ import annotations

import argparse
import faulthandler
import functools
import importlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

import prism
from prism.dist import _windows

SCALED = ("scan", "sum", "histogram", "flatnonzero", "select")
NAMES = (*SCALED, "sort", "argsort")
WARM = 24
"""Rounds before those that count: calls are learnt, and graphs are tried, in the first dozen."""
LOOPED = 1 << 22
"""Bytes of shards that are measured in a loop, too."""
PEERED = (20, 24, 28)
LOGS = (20, 22, 24, 26, 28, 30, 32, 33)
SORTED_LOGS = (20, 24, 28, 30, 32)
SORTED = ("uint32", "float32", "uint64")
PRODUCTS = ((8192, 8192, 8192), (16384, 8192, 8192), (4096, 14336, 4096))
OVER_THE_HOST = {"columns": (4096, 1 << 18, 2048), "inner": (8192, 2048, 1 << 18)}
"""Much to multiply of what is sent: gloo sends less than a hundredth of what NVLink does."""


@functools.cache
def doors() -> Any:
    """Return a word for each rank, in memory that all of them have, and the file that it is: of one host."""
    made = [tempfile.mkstemp(dir="/dev/shm")[1] if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(made)
    found = np.memmap(made[0], np.int64, "r+" if dist.get_rank() else "w+", shape=dist.get_world_size())
    dist.barrier()
    return found


def meet() -> None:
    """Wait until all ranks are here, and their GPUs have nothing to do."""
    words = doors()
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    words[dist.get_rank()] += 1
    mine = words[dist.get_rank()]
    while (words < mine).any():
        pass


def slowest(calls: list[Callable[[], Any]], rounds: int) -> list[float]:
    """Return the medians of the seconds that the slowest rank takes for each of several calls, made in turn."""
    times: list[list[float]] = [[] for _ in calls]
    for number in range(-WARM, rounds):
        for call, found in zip(calls, times, strict=True):
            meet()
            begin = time.perf_counter()
            result = call()
            torch.cuda.synchronize()
            if number >= 0:
                found.append(time.perf_counter() - begin)
            del result
    took = torch.tensor(times, device="cuda", dtype=torch.float64)
    dist.all_reduce(took, op=dist.ReduceOp.MAX)
    return [statistics.median(row) for row in took.tolist()]


def by_loop(calls: list[Callable[[], Any]], times: int) -> list[float]:
    """Return the seconds that the slowest rank takes for a call, of so many made one behind the other."""
    found = []
    for call in calls:
        for _ in range(WARM):
            call()
        meet()
        begin = time.perf_counter()
        for _ in range(times):
            call()
        torch.cuda.synchronize()
        found.append((time.perf_counter() - begin) / times)
    took = torch.tensor(found, device="cuda", dtype=torch.float64)
    dist.all_reduce(took, op=dist.ReduceOp.MAX)
    return [float(one) for one in took.tolist()]


def calls_of(name: str, x: Any, group: Any) -> list[Callable[[], Any]]:
    """Return the calls of one GPU, of what a rank has to do at least, and of all."""
    ways: dict[str, dict[str, Any]] = {
        "histogram": {"bins": 256, "range": (0, 1 << 20)},
        "select": {"condition": lambda value: value > 1 << 19},  # a half
    }
    how = ways.get(name, {})
    here, everywhere = getattr(prism.lib, name), getattr(prism.dist, name)
    one = lambda: here(x, **how)  # noqa: E731
    work = {"scan": lambda: (prism.lib.reduce(x), one())}
    return [one, work.get(name, one), lambda: everywhere(x, comm=group, **how)]


def measure(name: str, x: Any, group: Any, rounds: int) -> dict[str, Any]:
    calls = calls_of(name, x, group)
    one, work, everywhere = slowest(calls, rounds)
    kind = str(x.dtype).rpartition(".")[2]
    row = {"name": name, "bytes": x.numel() * x.element_size(), "dtype": kind, "ranks": dist.get_world_size()}
    if name in NAMES[len(SCALED) :] and row["bytes"] >= 1 << 28 and (rate := sent_rate(calls[2])):
        row["sent_gbs"] = rate / 1e9
    if row["bytes"] <= LOOPED:
        row["loop_work_us"], row["loop_all_us"] = (1e6 * took for took in by_loop(calls[1:], 200))
    return row | {"one_us": one * 1e6, "work_us": work * 1e6, "all_us": everywhere * 1e6}


def sent_rate(sort: Callable[[], Any]) -> float:
    """Return how many bytes a second a rank sends in a sort: from the first piece's begin to the last one's end.

    0 where the engine sends.
    """
    send, marks, many = _windows.Windows.send, [], []

    def timed(windows: Any, rank: int, parts: Any, places: Any, after: Any = None, aside: bool = True) -> None:
        ends = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        stream = torch.cuda.ExternalStream(windows.stream)
        ends[0].record(stream)
        send(windows, rank, parts, places, after, aside)
        ends[1].record(stream)
        marks.append(ends)
        many.append(sum(one.nbytes for one in parts))

    rates = []
    _windows.Windows.send = timed  # type: ignore[method-assign]
    for _ in range(5):
        marks.clear()
        many.clear()
        meet()
        sort()
        torch.cuda.synchronize()
        if marks:
            rates.append(sum(many) / max(marks[0][0].elapsed_time(end) for _, end in marks) * 1e3)
    _windows.Windows.send = send  # type: ignore[method-assign]
    return statistics.median(rates or [0.0])


def multiply(m: int, n: int, k: int, split: str, group: Any, rounds: int) -> dict[str, Any]:
    """Time a product of bfloat16, of which a rank multiplies as much as one GPU alone: B's columns, or k, grow with the ranks."""
    size = dist.get_world_size()
    a, b = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for shape in ((m, k), (k, n)))
    x = a[: m // size] if split == "columns" else a
    little = (x, b[:, :64].contiguous()) if split == "columns" else (a[:, :64].contiguous(), b[:64])
    calls: list[Callable[[], Any]] = [
        lambda: prism.lib.matmul(a, b),
        lambda: prism.dist.matmul(*little, comm=group, split=split),
        lambda: prism.dist.matmul(x, b, comm=group, split=split),
    ]
    one, sent, everywhere = slowest(calls, rounds)
    row = {"name": f"matmul {split}", "m": m, "n": n, "k": k, "dtype": "bfloat16", "ranks": size}
    if dist.get_backend() == "nccl":
        row["dtensor_us"] = slowest([product_of_dtensors(x, b, split)], 3)[0] * 1e6
    return row | {"one_us": one * 1e6, "work_us": one * 1e6, "sent_us": sent * 1e6, "all_us": everywhere * 1e6}


def say(row: dict[str, Any]) -> None:
    if dist.get_rank():
        return
    if "one_us" not in row:
        print(f"{row['name']} of {row['bytes']} bytes a rank, {row['ranks']} GPUs: {row['all_us']:.1f} us", flush=True)
        return
    what = (
        f"2^{row['bytes'].bit_length() - 1} bytes a rank" if "bytes" in row else f"{row['m']} x {row['n']} x {row['k']}"
    )
    beyond = row["all_us"] - row["work_us"]
    text = f"{row['name']:>15} {row['dtype']:>8} {what}: one GPU {row['one_us']:9.1f} us, work {row['work_us']:9.1f}, "
    text += f"{row['ranks']} GPUs {row['all_us']:9.1f}, {beyond:+.1f}, share {row['work_us'] / row['all_us']:.3f}"
    if "loop_all_us" in row:
        text += f"; in a loop {row['loop_work_us']:.1f}, {row['loop_all_us']:.1f}"
    if "sent_gbs" in row:
        text += f"; sent at {row['sent_gbs']:.0f} GB/s"
    if "dtensor_us" in row:
        text += f"; DTensor {row['dtensor_us']:.1f}"
    if "sent_us" in row:
        hidden = row["one_us"] + row["sent_us"] - row["all_us"]
        text += f"; sent alone {row['sent_us']:.1f}, hidden {hidden / min(row['one_us'], row['sent_us']):.2f} of the shorter"
    print(text, flush=True)


def communicator(kind: str) -> Any:
    """Return what ranks send by: torch's group, or one of NCCL's own, made anew."""
    if kind == "torch":
        return dist.group.WORLD
    rank, size = dist.get_rank(), dist.get_world_size()
    if kind == "cupy":
        nccl = importlib.import_module("cupy.cuda.nccl")
        importlib.import_module("cupy").cuda.Device(torch.cuda.current_device()).use()
    else:
        nccl = importlib.import_module("nccl.core")
    token = [bytes(nccl.get_unique_id()) if kind == "nccl4py" else nccl.get_unique_id()] if rank == 0 else [None]
    dist.broadcast_object_list(token)
    if kind == "cupy":
        return nccl.NcclCommunicator(size, token[0], rank)
    return nccl.Communicator.init(size, rank, nccl.UniqueId.from_bytes(token[0]))


def scales(log: int, only: list[str], rounds: int, group: Any = None) -> Iterator[Callable[[], dict[str, Any]]]:
    """Yield what measures shards of 2^log bytes."""
    group = dist.group.WORLD if group is None else group
    x = torch.randint(0, 1 << 20, (1 << log >> 2,), device="cuda", dtype=torch.int32)
    for name in (name for name in SCALED if name in only):
        yield functools.partial(measure, name, x, group, rounds)
    if "all_gather" in only and log <= 30 and dist.get_backend() == "nccl":
        yield functools.partial(all_gather, x)
    for name in ("scan", "sum"):
        if name in only and log in PEERED:
            yield functools.partial(by_dtensor, name, x)
    if log not in SORTED_LOGS:
        return
    words = torch.randint(-(1 << 62), 1 << 62, (1 << log >> 3,), device="cuda")
    for name in (name for name in NAMES[len(SCALED) :] if name in only):
        for kind in SORTED if name == "sort" else SORTED[:1]:
            numbers = (
                torch.randn(1 << log >> 2, device="cuda") if kind == "float32" else words.view(getattr(torch, kind))
            )
            yield functools.partial(measure, name, numbers, group, max(3, rounds // 2))


def everything(
    most: int, only: list[str], rounds: int, logs: list[int], group: Any
) -> Iterator[Callable[[], dict[str, Any]]]:
    """Yield what measures each row."""
    if dist.get_backend() == "nccl":
        yield functools.partial(all_gather, torch.zeros(96, dtype=torch.uint8, device="cuda"))
    for log in (log for log in LOGS if log <= most and (not logs or log in logs)):
        yield from scales(log, only, rounds, group)
        torch.cuda.empty_cache()
    for split in ("columns", "inner") if "matmul" in only else ():
        for shape in PRODUCTS if dist.get_backend() == "nccl" else (OVER_THE_HOST[split],):
            yield functools.partial(multiply, *shape, split, group, rounds)


def all_gather(x: Any) -> dict[str, Any]:
    """Time NCCL's own copy of all shards to all ranks: of 96 bytes it is what each call waits for."""
    size, nbytes = dist.get_world_size(), x.numel() * x.element_size()
    back = torch.empty(size * x.numel(), dtype=x.dtype, device="cuda")
    (least,) = slowest([lambda: dist.all_gather_into_tensor(back, x)], 50 if nbytes < 1 << 20 else 5)
    return {"name": "all_gather", "bytes": nbytes, "ranks": size, "all_us": least * 1e6}


def numbers_in(text: str) -> list[int]:
    """Return the numbers that an option lists."""
    return [int(one) for one in text.split(",")]


@record  # the starter shows the traceback of the rank that ended first
def main() -> int:
    faulthandler.enable()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=33, help="log2 of the bytes of the largest shard")
    parser.add_argument("--sizes", type=numbers_in, default=[], help="only these")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--engine", choices=("nccl", "gloo"), default="nccl")
    parser.add_argument("--comm", choices=("torch", "cupy", "nccl4py"), default="torch")
    parser.add_argument("--only", default=",".join((*NAMES, "all_gather", "matmul")))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    end, rows = time.monotonic() + options.seconds, []
    gpu = int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count()
    torch.cuda.set_device(gpu)
    dist.init_process_group(options.engine, device_id=torch.device("cuda", gpu) if options.engine == "nccl" else None)
    group = communicator(options.comm)
    for work in everything(options.most, options.only.split(","), options.rounds, options.sizes, group):
        going = torch.tensor([time.monotonic() < end], device="cuda", dtype=torch.int32)
        dist.broadcast(going, 0)  # ranks go on together
        if going:
            rows.append(work() | {"comm": options.comm})
            say(rows[-1])
    if dist.get_rank() == 0:
        os.unlink(doors().filename)
    if options.json and dist.get_rank() == 0:
        options.json.write_text(json.dumps({"dist": rows}, indent=1) + "\n")
    dist.destroy_process_group()
    return 0


def dtensor_of(x: Any, axis: int) -> Any:
    """Return torch's array over all ranks of which this rank has a shard, along an axis."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard

    return DTensor.from_local(x, init_device_mesh("cuda", (dist.get_world_size(),)), [Shard(axis)])


def by_dtensor(name: str, x: Any) -> dict[str, Any]:
    """Time torch's sum, or its cumulative sum along a sharded axis: that copies the whole to each rank first."""
    whole = dtensor_of(x, 0)
    calls = {
        "scan": lambda: torch.cumsum(whole, 0, dtype=torch.int32),
        "sum": lambda: torch.sum(whole, dtype=torch.int32).full_tensor(),
    }
    (took,) = slowest([calls[name]], 5)
    nbytes = x.numel() * x.element_size()
    return {"name": f"DTensor {name}", "bytes": nbytes, "ranks": dist.get_world_size(), "all_us": took * 1e6}


def product_of_dtensors(x: Any, b: Any, split: str) -> Callable[[], Any]:
    """Return torch's product of matrices that are cut as by `split`."""
    from torch.distributed.tensor import Replicate, Shard

    if split == "columns":
        rows, columns = dtensor_of(x, 0), dtensor_of(b, 1)
        return lambda: torch.matmul(rows.redistribute(placements=[Replicate()]), columns)
    rows, columns = dtensor_of(x, 1), dtensor_of(b, 0)
    return lambda: torch.matmul(rows, columns).redistribute(placements=[Shard(0)])


if __name__ == "__main__":
    sys.exit(main())
