"""prism.dist over the GPUs of a host, beside one GPU's time, NCCL's all_gather and torch's DTensor.

    torchrun --nproc-per-node 2 asv_bench/dist.py [--most 30] [--rounds 7] [--seconds 60] [--json FILE]

Weak scaling: each rank has as many bytes, from 2^20 to 2^most. `share`: the time of `prism.lib`'s function of one shard, by the
call's. Times are of the host, from a barrier to the end of the call on all ranks: the slowest rank counts; medians of rounds.
That results are right, tests/gpu/dist_ranks.py tells.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import prism

NAMES = ("scan", "sum", "histogram", "flatnonzero", "sort", "argsort")


def slowest(call: Callable[[], Any], rounds: int) -> float:
    """Return the median of the seconds that the slowest rank takes."""
    times = []
    for number in range(-2, rounds):
        torch.cuda.synchronize()
        dist.barrier()
        begin = time.perf_counter()
        found = call()
        torch.cuda.synchronize()
        took = torch.tensor([time.perf_counter() - begin], device="cuda", dtype=torch.float64)
        dist.all_reduce(took, op=dist.ReduceOp.MAX)
        if number >= 0:
            times.append(float(took))
        del found
    return statistics.median(times)


def of(name: str, x: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return the call of one GPU, and of all."""
    how: dict[str, Any] = {"bins": 256, "range": (0, 1 << 20)} if name == "histogram" else {}
    here, everywhere = getattr(prism.lib, name), getattr(prism.dist, name)
    return lambda comm: here(x, **how), lambda comm: everywhere(x, comm=comm, **how)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=30, help="log2 of the bytes of the largest shard")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl")
    rank, size, group = dist.get_rank(), dist.get_world_size(), dist.group.WORLD
    say = print if rank == 0 else (lambda *_, **__: None)
    rows: list[dict[str, Any]] = []
    small, back = (
        torch.zeros(512, dtype=torch.uint8, device="cuda"),
        torch.zeros(512 * size, dtype=torch.uint8, device="cuda"),
    )
    least = slowest(lambda: dist.all_gather_into_tensor(back, small), 50)
    say(f"{size} GPUs: NCCL's all_gather of 512 bytes a rank takes {least * 1e6:.1f} us", flush=True)
    for log in (20, 24, 28, 30, 33):
        if log > options.most:
            break
        x = torch.randint(0, 1 << 20, (1 << log >> 2,), device="cuda", dtype=torch.int32)
        for name in NAMES:
            going = torch.tensor([time.monotonic() < end], device="cuda")
            dist.broadcast(going, 0)  # ranks go on together
            if not going or log > 31 and "sort" in name:
                continue
            here, everywhere = of(name, x)
            one, all_ = (
                slowest(lambda here=here: here(group), options.rounds),
                slowest(lambda f=everywhere: f(group), options.rounds),
            )
            row = {"name": name, "bytes": 1 << log, "ranks": size, "one_us": one * 1e6, "all_us": all_ * 1e6}
            moved = (1 << log) * (size - 1) / size * (3 if name == "argsort" else 1)
            extra = (
                f", exchange at {moved / max(all_ - one, 1e-9) / 1e9:.0f} GB/s a rank beyond it"
                if "sort" in name
                else ""
            )
            say(f"{name:>12} 2^{log} bytes a rank: one GPU {one * 1e6:9.1f} us, {size} GPUs {all_ * 1e6:9.1f} us, "
                f"+{(all_ - one) * 1e6:.1f} us, share {one / all_:.3f}{extra}", flush=True)  # fmt: skip
            rows.append(row)
        if log <= 28:
            theirs = dtensor_cumsum(x)
            say(f"     DTensor's cumsum of the same: {theirs}", flush=True)
        del x
        torch.cuda.empty_cache()
    if options.json and rank == 0:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    dist.destroy_process_group()
    return 0


def dtensor_cumsum(x: Any) -> str:
    """Return in words what torch's cumulative sum along a sharded axis takes: it copies the whole to each rank first."""
    try:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import DTensor, Shard

        mesh = init_device_mesh("cuda", (dist.get_world_size(),))
        whole = DTensor.from_local(x, mesh, [Shard(0)])
        return f"{slowest(lambda: torch.cumsum(whole, 0), 5) * 1e6:.1f} us"
    except Exception as error:  # of whatever kind: the row says it
        return f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"


if __name__ == "__main__":
    sys.exit(main())
