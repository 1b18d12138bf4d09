"""The cumulative sum of an array that lies in several processes, a part in each: nobody ever has the whole.

    mpiexec -n 4 python examples/distributed_scan.py                     NumPy's arrays, over MPI (mpi4py), on any machine
    torchrun --nproc-per-node 2 examples/distributed_scan.py --dtensor   torch's DTensor, over NCCL, a GPU a process

Each process makes its shard, scans it together with the others, and checks its own part against what the sum must be.
"""

from __future__ import annotations

import os
import sys

import numpy as np

import prism

LENGTH = 1000  # of the shard of rank 0; each rank behind has 100 more


def by_mpi() -> str:
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rank = comm.Get_rank()
    shard = np.full(LENGTH + 100 * rank, rank + 1, np.int64)
    found = prism.dist.scan(shard, comm=comm)
    before = sum((LENGTH + 100 * r) * (r + 1) for r in range(rank))
    np.testing.assert_array_equal(found, before + (rank + 1) * np.arange(1, len(shard) + 1))
    return f"rank {rank} of {comm.Get_size()}: {len(shard)} elements, from {found[0]} to {found[-1]}"


def by_dtensor() -> str:
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
    rank = mesh.get_rank()
    x = DTensor.from_local(torch.full((LENGTH,), rank + 1, device="cuda"), mesh, [Shard(0)])
    # torch.cumsum(x, 0) would copy the whole array to each GPU first. Here one element travels.
    y = DTensor.from_local(prism.dist.scan(x.to_local(), comm=mesh.get_group()), mesh, x.placements)
    found = y.to_local()
    before = sum(LENGTH * (r + 1) for r in range(rank))
    wanted = before + (rank + 1) * torch.arange(1, LENGTH + 1, device="cuda")
    assert torch.equal(found, wanted), "a sum is wrong"
    torch.distributed.destroy_process_group()
    return f"rank {rank} of {mesh.size()}: {LENGTH} elements, from {int(found[0])} to {int(found[-1])}"


if __name__ == "__main__":
    line = by_dtensor() if "--dtensor" in sys.argv else by_mpi()
    print(f"{line}\n", end="", flush=True)  # one piece, which no other rank's line cuts in two
