"""prism.dist with NumPy's shards, in processes: over MPI or torch's gloo. Ends with 1 if a result is wrong.

mpiexec -n 4 python -m tests.dist.over_engines
torchrun --nproc-per-node 4 -m tests.dist.over_engines gloo
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import prism
from tests.dist.ranks import cut


def by_mpi() -> tuple[Any, int, int, Callable[[Any], list[Any]]]:
    """Return the communicator, this rank, how many there are, and what gathers objects."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    return comm, comm.Get_rank(), comm.Get_size(), comm.allgather


def by_gloo() -> tuple[Any, int, int, Callable[[Any], list[Any]]]:
    """As `by_mpi`, of torch's group."""
    import torch.distributed as dist

    dist.init_process_group("gloo")

    def gather(mine: Any) -> list[Any]:
        found = [None] * dist.get_world_size()
        dist.all_gather_object(found, mine)
        return found

    return dist.group.WORLD, dist.get_rank(), dist.get_world_size(), gather


def check(comm: Any, rank: int, size: int, gather: Callable[[Any], list[Any]]) -> None:
    """Compare functions with NumPy's of the whole array. Raises AssertionError."""

    def together(shard: Any) -> np.ndarray[Any, Any]:
        return np.concatenate(gather(shard))

    x = np.random.default_rng(0).integers(0, 50, 60, dtype=np.int32)
    own = cut(x, [60] + [0] * (size - 1))[rank]
    np.testing.assert_array_equal(together(prism.dist.scan(own, comm=comm)), np.cumsum(x, dtype=np.int32))
    own = cut(x, [60 * (r + 1) // size - 60 * r // size for r in range(size)])[rank]
    np.testing.assert_array_equal(together(prism.dist.scan(own, comm=comm)), np.cumsum(x, dtype=np.int32))
    np.testing.assert_array_equal(prism.dist.argmax(own, comm=comm), x.argmax())
    np.testing.assert_array_equal(prism.dist.bincount(own, comm=comm), np.bincount(x))
    np.testing.assert_array_equal(together(prism.dist.flatnonzero(own % 3, comm=comm)), np.flatnonzero(x % 3))
    np.testing.assert_array_equal(together(prism.dist.sort(own, comm=comm)), np.sort(x))
    try:
        prism.dist.scan(x if rank else x.astype(np.float32), comm=comm)
    except ValueError as error:
        told = gather(str(error))
        assert len(set(told)) == 1 and "ranks disagree" in told[0], told
    else:
        assert size == 1, "ranks that disagree were not told so"


def main() -> int:
    comm, rank, size, gather = by_gloo() if "gloo" in sys.argv else by_mpi()
    try:
        check(comm, rank, size, gather)
    except Exception as error:  # others wait for this rank: MPI ends them
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        if hasattr(comm, "Abort"):
            comm.Abort(1)
        return 1
    print(f"rank {rank} of {size}: right\n", end="", flush=True)  # one piece, which no other rank's line cuts in two
    if "gloo" in sys.argv:  # else torch's threads may still run when rank 0 ends, which aborts it
        import torch.distributed as dist

        dist.barrier()
        dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
