"""prism.dist over several GPUs of a host: weak scaling, what a call costs beside its work, products."""

from __future__ import annotations

from typing import Any

from benchmarks import raw

RANKS = [2, 4, 8]
COMMS = ["torch", "cupy", "nccl4py"]
"""What ranks send by: torch's group of NCCL, CuPy's communicator, or nccl4py's."""
SCALED = [("scan", "int32"), ("sum", "int32"), ("histogram", "int32"), ("flatnonzero", "int32"), ("select", "int32")]
SORTED = [("sort", "uint32"), ("sort", "float32"), ("sort", "uint64"), ("argsort", "uint32")]
LOGS = [20, 22, 24, 26, 28, 30, 32, 33]
PRODUCTS = ["8192 x 8192 x 8192", "16384 x 8192 x 8192", "4096 x 14336 x 4096"]


def _row(name: str, dtype: str, log: int, ranks: int, comm: str) -> dict[str, Any]:
    return raw.row(raw.read("dist")["dist"], name=name, dtype=dtype, bytes=1 << log, ranks=ranks, comm=comm)


class Share:
    """A rank's own work, as one GPU does it, by the time of all of them: 1 is weak scaling without loss."""

    params = ([f"{name} {dtype}" for name, dtype in SCALED + SORTED], LOGS, RANKS, COMMS)
    param_names = ("call", "log2 of the bytes a rank", "ranks", "communicator")

    @raw.tracked("share (work/all)")
    def track_share(self, call: str, log: int, ranks: int, comm: str) -> float:
        found = _row(*call.split(), log, ranks, comm)
        return raw.number(found, "work_us") / raw.number(found, "all_us")


class Beyond:
    """What a call takes beside a rank's own work."""

    params = Share.params
    param_names = Share.param_names

    @raw.tracked("us")
    def track_beyond(self, call: str, log: int, ranks: int, comm: str) -> float:
        found = _row(*call.split(), log, ranks, comm)
        return raw.number(found, "all_us") - raw.number(found, "work_us")


class Loops:
    """What a small call takes beside a rank's own work, of calls one behind the other."""

    params = Share.params
    param_names = Share.param_names

    @raw.tracked("us")
    def track_beyond(self, call: str, log: int, ranks: int, comm: str) -> float:
        found = _row(*call.split(), log, ranks, comm)
        return raw.number(found, "loop_all_us") - raw.number(found, "loop_work_us")


class Reads:
    """What goes from each rank of a long sort to others, from the first piece's begin to the last one's end."""

    params = ([f"{name} {dtype}" for name, dtype in SORTED], [28, 30, 32], RANKS, COMMS)
    param_names = Share.param_names

    @raw.tracked("GB/s")
    def track_gbs(self, call: str, log: int, ranks: int, comm: str) -> float:
        return raw.number(_row(*call.split(), log, ranks, comm), "sent_gbs")


class Products:
    """A product's rate on each of several GPUs, by one GPU's."""

    params = (["columns", "inner"], PRODUCTS, RANKS, COMMS)
    param_names = ("split", "m x n x k", "ranks", "communicator")

    @raw.tracked("share (one/all)")
    def track_share(self, split: str, shape: str, ranks: int, comm: str) -> float:
        m, n, k = map(int, shape.split(" x "))
        found = raw.row(raw.read("dist")["dist"], name=f"matmul {split}", m=m, n=n, k=k, ranks=ranks, comm=comm)
        return raw.number(found, "one_us") / raw.number(found, "all_us")
