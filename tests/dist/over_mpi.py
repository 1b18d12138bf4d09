"""prism.dist over MPI, with NumPy's shards: `mpiexec -n 4 python -m tests.dist.over_mpi`. Ends with 1 if a result is wrong."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from mpi4py import MPI

import prism
from tests.dist.ranks import cut

COMM = MPI.COMM_WORLD


def together(shard: Any) -> np.ndarray[Any, Any]:
    return np.concatenate(COMM.allgather(shard))


def main() -> int:
    rank, size = COMM.Get_rank(), COMM.Get_size()
    x = np.random.default_rng(0).integers(0, 50, 60, dtype=np.int32)
    own = cut(x, [60] + [0] * (size - 1))[rank]
    np.testing.assert_array_equal(together(prism.dist.scan(own, comm=COMM)), np.cumsum(x, dtype=np.int32))
    own = cut(x, [60 * (r + 1) // size - 60 * r // size for r in range(size)])[rank]
    np.testing.assert_array_equal(together(prism.dist.scan(own, comm=COMM)), np.cumsum(x, dtype=np.int32))
    np.testing.assert_array_equal(prism.dist.argmax(own, comm=COMM), x.argmax())
    np.testing.assert_array_equal(prism.dist.bincount(own, comm=COMM), np.bincount(x))
    np.testing.assert_array_equal(together(prism.dist.sort(own, comm=COMM)), np.sort(x))
    try:
        prism.dist.scan(x if rank else x.astype(np.float32), comm=COMM)
    except ValueError as error:
        told = COMM.allgather(str(error))
        assert len(set(told)) == 1 and "ranks disagree" in told[0], told
    else:
        assert size == 1, "ranks that disagree were not told so"
    print(f"rank {rank} of {size}: right", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception as error:  # others wait for this rank: MPI ends them
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        COMM.Abort(1)
