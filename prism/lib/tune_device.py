"""What `prism tune` measures on a GPU: a choice put into its table, its kernels made ready, checked, and timed.

Times are between two events, around a graph of launches, so that the host's time does not count. Buffers are taken in turn,
together larger than the L2.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from prism.host import call
from prism.host.machine import Gpu, Ready
from prism.host.plan import OUT, Plan
from prism.lib.tune import Table, Unusable, tables
from prism.runtime.arrays import ArrayInfo
from prism.runtime.compile import MachineCodeError
from prism.runtime.device import device, using
from prism.runtime.driver import DeviceError, check, driver

L2 = 64 << 20
_SECONDS = 2e-3
"""What one measurement lasts, about."""
_MOST = 100
"""Launches in a graph."""
_BYTES = (1 << 26, 1 << 28, 1 << 30)
"""The sizes of arrays whose times decide: long ones, which go by these tables."""

Launch = Callable[[int], None]
"""Launches on the arrays of a number; numbers are taken in turn."""


class Timer:
    """A GPU that measures choices. Used as a context: its memory and its stream are given back in the end.

    Raises:
        DeviceError: there is no such GPU, or it has not enough memory.
    """

    def __init__(self, ordinal: int = 0, bytes_: tuple[int, ...] = _BYTES) -> None:
        self.device = device(ordinal)
        self.gpu = Gpu(ordinal)
        self.bytes = bytes_
        self._held = contextlib.ExitStack()

    def __enter__(self) -> Timer:
        cuda = driver()
        self._held.enter_context(using(self.device.ordinal))
        self.stream = int(check(cuda.cuStreamCreate(1), "making a stream"))
        self._held.callback(cuda.cuStreamDestroy, self.stream)
        self._events = [self._event() for _ in range(2)]
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def _event(self) -> Any:
        event = check(driver().cuEventCreate(0), "making an event")
        self._held.callback(driver().cuEventDestroy, event)
        return event

    @contextlib.contextmanager
    def memory(self, nbytes: int, values: Any = None) -> Iterator[int]:
        """Give memory for the length of a block; `values` fill it, again and again."""
        cuda = driver()
        address = int(check(cuda.cuMemAlloc(nbytes), f"allocating {nbytes} bytes"))
        try:
            if values is not None:
                done = min(values.nbytes, nbytes)
                check(cuda.cuMemcpyHtoD(address, values.ctypes.data, done), "copying to the GPU")
                while done < nbytes:
                    part = min(done, nbytes - done)
                    check(cuda.cuMemcpyDtoD(address + done, address, part), "copying on the GPU")
                    done += part
                check(cuda.cuCtxSynchronize(), "copying on the GPU")
            yield address
        finally:
            cuda.cuMemFree(address)

    def read(self, address: int, count: int, dtype: Any) -> Any:
        """Return elements of the GPU's memory, when the stream has done its work."""
        cuda, found = driver(), np.empty(count, dtype)
        check(cuda.cuStreamSynchronize(self.stream), "waiting for the GPU")
        check(cuda.cuMemcpyDtoH(found.ctypes.data, address, found.nbytes), "copying from the GPU")
        return found

    def seconds(self, launch: Launch) -> float:
        """Return the seconds of a launch, of as many in a graph as take the time that one measurement lasts."""
        roughly = self._seconds(functools.partial(launch, 1))
        launches = min(_MOST, max(4, int(_SECONDS / max(roughly, 1e-6))))
        with self._graph(launch, launches) as graph:
            replay = functools.partial(self._replay, graph)
            replay()
            return self._seconds(replay) / launches

    def _seconds(self, work: Callable[[], object]) -> float:
        cuda, (begin, end) = driver(), self._events
        check(cuda.cuEventRecord(begin, self.stream), "timing")
        work()
        check(cuda.cuEventRecord(end, self.stream), "timing")
        check(cuda.cuEventSynchronize(end), "timing")
        return float(check(cuda.cuEventElapsedTime(begin, end), "timing")) * 1e-3

    def _replay(self, graph: Any) -> None:
        check(driver().cuGraphLaunch(graph, self.stream), "launching a graph")

    @contextlib.contextmanager
    def _graph(self, launch: Launch, launches: int) -> Iterator[Any]:
        """Give a graph of so many launches, which were made before: their kernels are ready."""
        cuda = driver()
        mode = cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        check(cuda.cuStreamBeginCapture(self.stream, mode), "capturing a graph")
        try:
            for i in range(launches):
                launch(i)
        finally:
            captured = cuda.cuStreamEndCapture(self.stream)
        found = check(captured, "capturing a graph")
        try:
            graph = check(cuda.cuGraphInstantiate(found, 0), "making a graph")
        finally:
            cuda.cuGraphDestroy(found)
        try:
            yield graph
        finally:
            cuda.cuGraphExecDestroy(graph)

    # -- What is measured -----------------------------------------------------------------------------------------------

    def measure(self, name: str, key: Any) -> Callable[[Any], Mapping[str, float]]:
        """Return the function that measures a choice for a key of a table."""
        return functools.partial(tables()[name].measure, self, key)

    def launcher(self, plan: Plan) -> Callable[[int, int], None]:
        """Return what launches a plan on an array and its result."""
        ready = Ready(plan, ("x", OUT), matrix(0, 0, 0, self.device.ordinal))
        return lambda x, y: ready((x, y), self.stream)

    def time(
        self,
        table: Table,
        key: Any,
        choice: Any,
        plan: Callable[[], Plan],
        source: tuple[Any, int],
        target: tuple[int, Any, int, Any],
    ) -> float:
        """Return the seconds of the plan that is made with a choice in its table, an element of its result looked at first.

        `source`: the values and bytes of `x`; `target`: the bytes of the result, its dtype, the element, what it must be.

        Raises:
            Unusable: the choice does not run here, or its result is wrong.
        """
        values, nbytes = source
        room, dtype, at, expected = target
        copies = max(2, -(-2 * L2 // (nbytes + room)))
        with self.memory(copies * nbytes, values) as x, self.memory(copies * max(room, 256)) as y:
            launch = self.ready(table, key, choice, lambda: self.launcher(plan()))
            launch(x, y)
            found = self.read(y + at * dtype.itemsize, 1, dtype)[0]
            if found != expected:
                raise Unusable(f"its result is {found}, not {expected}")
            step = max(room, 256)
            return self.seconds(lambda i: launch(x + i % copies * nbytes, y + i % copies * step))

    def ready(self, table: Table, key: Any, choice: Any, make: Callable[[], Any]) -> Any:
        """Return what `make` makes with a choice in the table, where it finds it.

        Raises:
            Unusable: it does not run here.
        """
        entries: dict[Any, Any] = table.entries  # type: ignore[assignment]
        before = entries[key]
        call.forget()
        try:
            entries[key] = choice
            return make()
        except (MachineCodeError, DeviceError, ValueError) as error:
            raise Unusable(str(error).splitlines()[0]) from error
        finally:
            entries[key] = before
            call.forget()


def by_bytes(seconds: Callable[[Timer, int, Any, int], float]) -> Callable[[Timer, int, Any], Mapping[str, float]]:
    """Return what measures a choice for elements of a size, in arrays of each of a timer's bytes."""
    return lambda timer, size, choice: {str(n): seconds(timer, size, choice, n) for n in timer.bytes}


def matrix(pointer: int, rows: int, columns: int, ordinal: int, transposed: bool = False) -> ArrayInfo:
    """Return the facts of a matrix of float16 on a GPU, row-major, or column-major where it is `transposed`."""
    strides = (2, 2 * rows) if transposed else (2 * columns, 2)
    return ArrayInfo("cai", "cuda", np.dtype("float16"), (rows, columns), strides, pointer, False, ordinal)


def values(kind: str) -> Any:
    """Return random elements, -1, 0 and 1 (modulo the type): their sums are small, so exact in any order."""
    return np.random.default_rng(0).integers(-1, 2, 1 << 20).astype(kind)


def sums(x: Any, n: int) -> Any:
    """Return a few numbers whose sum is that of the first `n` of `x` repeated, in its type."""
    whole, rest = divmod(n, len(x))
    with np.errstate(over="ignore"):
        return np.array([x.sum(dtype=x.dtype) * x.dtype.type(whole), x[:rest].sum(dtype=x.dtype)], x.dtype)
