"""What moves bytes between ranks: a communicator that the caller has, behind one small protocol. Nothing is started here.

A message is a contiguous array of uint8, of NumPy where the engine is `on_host`, else of CuPy or torch on a GPU. Messages are
queued on the stream that is current for that library, behind what made them.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

_NOTHING = contextlib.nullcontext()


class Engine(Protocol):
    """A rank's end of a communicator. Each collective is called by all ranks, in the same order.

    It may have three more: `gather_again(part, made)`, which returns what does `all_gather` of these two at the least cost of the
    host's; `windows`, as `prism.dist._windows.Windows`; and `comm`, the communicator that it is made of.
    """

    rank: int
    size: int

    @property
    def on_host(self) -> bool | None:
        """Where messages lie: True on the host, False on a GPU, None where either will do."""

    @property
    def library(self) -> str:
        """Whose arrays small messages on a GPU are: `torch` or `cupy`."""

    def all_gather(self, part: Any, made: Any) -> None:
        """Put the parts of all ranks, of as many bytes each, into `made`, in the order of ranks."""

    def all_to_all(self, parts: Any, made: Any, sent: Sequence[int], received: Sequence[int]) -> None:
        """Send `sent[r]` bytes of `parts`, which lie in the order of ranks, to each rank r, and put what comes into `made`."""


_groups: weakref.WeakKeyDictionary[Any, tuple[int, int, bool | None]] = weakref.WeakKeyDictionary()
"""Rank, size and reach of torch's groups, which are slow to ask."""


def _reach(backends: str) -> bool | None:
    """Return where messages of a group lie, as `on_host`, by its backends: `cpu:gloo,cuda:nccl`."""
    of = dict(one.split(":", 1) for one in backends.split(",") if ":" in one)
    gpu = "nccl" in of.get("cuda", backends)
    return None if gpu and "cpu" in of else not gpu


class Group:
    """A ProcessGroup of torch: of NCCL, gloo or MPI."""

    library = "torch"

    def __init__(self, group: Any) -> None:
        self._torch = sys.modules["torch"]
        self._dist, self._group = self._torch.distributed, group
        self.comm = group
        if (facts := _groups.get(group)) is None:
            facts = _groups[group] = group.rank(), group.size(), _reach(self._dist.get_backend_config(group))
        self.rank, self.size, self.on_host = facts
        if self.rank < 0:
            raise ValueError("`comm`: this process is not in the ProcessGroup")

    def _tensor(self, message: Any) -> Any:
        if isinstance(message, self._torch.Tensor):
            return message
        return self._torch.from_numpy(message) if isinstance(message, np.ndarray) else self._torch.as_tensor(message)

    def all_gather(self, part: Any, made: Any) -> None:
        whole = self._tensor(made)
        if not whole.is_cuda:
            self._dist.all_gather(list(whole.chunk(self.size)), self._tensor(part), group=self._group)
        else:
            with _current(self._torch, part):
                self._dist.all_gather_into_tensor(whole, self._tensor(part), group=self._group)

    def gather_again(self, part: Any, made: Any) -> Callable[[], None]:
        """Return what does `all_gather` of these tensors: without what torch asks of them in each call, where that can be."""
        options = getattr(self._dist.distributed_c10d, "AllgatherOptions", None)
        if not part.is_cuda or options is None or not hasattr(self._group, "_allgather_base"):
            return lambda: self.all_gather(part, made)
        how, gather = options(), self._group._allgather_base
        how.asyncOp = False  # on the current stream

        def again() -> None:
            work = gather(made, part, how)
            if work is not None:
                work.wait()

        return again

    def all_to_all(self, parts: Any, made: Any, sent: Sequence[int], received: Sequence[int]) -> None:
        with _current(self._torch, parts):
            given = self._tensor(made), self._tensor(parts), list(received), list(sent)
            self._dist.all_to_all_single(*given, group=self._group)


class Mpi:
    """A Comm of mpi4py. `cuda`: its MPI reads and writes memory of GPUs."""

    library = "cupy"

    def __init__(self, comm: Any, cuda: bool = False) -> None:
        self._comm, self.on_host = comm, None if cuda else True
        self.rank, self.size = comm.Get_rank(), comm.Get_size()

    def all_gather(self, part: Any, made: Any) -> None:
        _wait_for(part)
        self._comm.Allgather(part, made)

    def all_to_all(self, parts: Any, made: Any, sent: Sequence[int], received: Sequence[int]) -> None:
        _wait_for(parts)
        self._comm.Alltoallv([parts, (sent, _starts(sent))], [made, (received, _starts(received))])


class Nccl4Py:
    """A Communicator of nccl4py."""

    on_host = False
    library = "cupy"

    def __init__(self, comm: Any) -> None:
        self.comm = self._comm = comm
        self._group = sys.modules["nccl.core"].group
        self.rank, self.size = comm.rank, comm.nranks

    def all_gather(self, part: Any, made: Any) -> None:
        self._comm.allgather(part, made, stream=_stream(part))

    def all_to_all(self, parts: Any, made: Any, sent: Sequence[int], received: Sequence[int]) -> None:
        stream = _stream(parts)
        with self._group():
            for peer, given, taken in _pieces(parts, made, sent, received):
                if len(given):
                    self._comm.send(given, peer, stream=stream)
                if len(taken):
                    self._comm.recv(taken, peer, stream=stream)


class CupyNccl:
    """An NcclCommunicator of CuPy."""

    on_host = False
    library = "cupy"

    def __init__(self, comm: Any) -> None:
        self.comm = self._comm = comm
        self._nccl = importlib.import_module("cupy.cuda.nccl")
        self.rank, self.size = comm.rank_id(), comm.size()

    def all_gather(self, part: Any, made: Any) -> None:
        self.gather_again(part, made)()

    def gather_again(self, part: Any, made: Any) -> Callable[[], None]:
        """Return what does `all_gather` of these arrays."""
        given = address_of(part), address_of(made), len(part), self._nccl.NCCL_UINT8
        return lambda: self._comm.allGather(*given, _stream(part))

    def all_to_all(self, parts: Any, made: Any, sent: Sequence[int], received: Sequence[int]) -> None:
        stream, kind = _stream(parts), self._nccl.NCCL_UINT8
        self._nccl.groupStart()
        for peer, given, taken in _pieces(parts, made, sent, received):
            if len(given):
                self._comm.send(address_of(given), len(given), kind, peer, stream)
            if len(taken):
                self._comm.recv(address_of(taken), len(taken), kind, peer, stream)
        self._nccl.groupEnd()


def cuda_aware(comm: Any) -> Mpi:
    """Return an mpi4py Comm whose MPI reads and writes memory of GPUs, as an argument `comm`: nothing goes over the host.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        Of an MPI that was built with CUDA. There is no way to ask it: without this function arrays on a GPU travel over the host.

    Raises
    ------
    TypeError
        It is no communicator of mpi4py.
    """
    if not hasattr(comm, "Alltoallv"):
        raise TypeError(f"`comm` must be an mpi4py Comm, not {type(comm).__qualname__}")
    return Mpi(comm, cuda=True)


def engine_of(comm: Any) -> Engine:
    """Return the engine of a communicator, told by what it is.

    Raises:
        TypeError: it is none that is known.
        ValueError: this process is not in it.
    """
    if all(hasattr(comm, name) for name in ("rank", "size", "on_host", "library", "all_gather", "all_to_all")):
        engine: Engine = comm
        return engine
    kinds = [(kind.__module__.partition(".")[0], kind.__name__) for kind in type(comm).__mro__]
    if ("torch", "ProcessGroup") in kinds:
        return Group(comm)
    if hasattr(comm, "Alltoallv") and hasattr(comm, "Get_rank"):
        return Mpi(comm)
    if ("nccl", "Communicator") in kinds:
        return Nccl4Py(comm)
    if ("cupy", "NcclCommunicator") in kinds or ("cupy_backends", "NcclCommunicator") in kinds:
        return CupyNccl(comm)
    raise TypeError(
        "`comm` must be a torch ProcessGroup, an mpi4py Comm, an nccl4py Communicator or a CuPy NcclCommunicator, "
        f"not {type(comm).__qualname__}"
    )


def _starts(counts: Sequence[int]) -> list[int]:
    return [0, *itertools.accumulate(counts)][:-1]


def _pieces(parts: Any, made: Any, sent: Sequence[int], received: Sequence[int]) -> list[tuple[int, Any, Any]]:
    """Return each rank with what goes there and the place of what comes from there."""
    spots = zip(_starts(sent), sent, _starts(received), received, strict=True)
    return [(rank, parts[a : a + n], made[b : b + m]) for rank, (a, n, b, m) in enumerate(spots)]


def _stream(message: Any) -> int:
    """Return the stream that is current for a message's library."""
    if type(message).__module__.partition(".")[0] == "torch":
        found: int = sys.modules["torch"].cuda.current_stream(message.device).cuda_stream
        return found
    return int(sys.modules["cupy"].cuda.get_current_stream().ptr)


def _current(torch: Any, message: Any) -> Any:
    """Return the context in which torch works on the stream of a message."""
    if isinstance(message, np.ndarray | torch.Tensor):
        return _NOTHING
    from prism.host.memory import working
    from prism.runtime.arrays import describe

    seen = torch.as_tensor(message)
    return working(describe(seen), _stream(message))


def address_of(message: Any) -> int:
    """Return where an array of CuPy or torch begins."""
    return int(message.data_ptr() if hasattr(message, "data_ptr") else message.data.ptr)


def _wait_for(message: Any) -> None:
    """Wait for what makes a message on a GPU: MPI knows no streams."""
    if isinstance(message, np.ndarray):
        return
    if type(message).__module__.partition(".")[0] == "torch":
        sys.modules["torch"].cuda.current_stream(message.device).synchronize()
    else:
        sys.modules["cupy"].cuda.get_current_stream().synchronize()
