"""What memory intrinsics ask of memory on the reference machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism.interpret.checker import Checker
from prism.interpret.errors import MisalignedError
from prism.interpret.frame import Frame
from prism.interpret.gathers import gathers_of
from prism.interpret.lanes import anywhere, unwrap
from prism.interpret.reach import note_gather
from prism.interpret.regions import Reference, Region
from prism.interpret.shares import allows_overlap
from prism.interpret.versions import Versions


def _add_in_turn(data: Any, index: Any, amounts: Any) -> Any:
    """Add integers to elements, one after the other, each modulo 2^bits; return what each element was before its addition."""
    turns = np.argsort(index, kind="stable")
    places, given = index[turns], amounts[turns]
    sums = np.cumsum(given, dtype=data.dtype) - given
    heads = np.concatenate([np.ones(min(1, len(places)), bool), places[1:] != places[:-1]])
    before = np.empty(index.shape, data.dtype)
    before[turns] = data[places] + (sums - sums[heads][np.cumsum(heads) - 1])
    np.add.at(data, index, amounts)
    return before


class IntrinsicMemory:
    """What a memory intrinsic's meaning works on: `prism.lang.intrinsics.memory.Memory` for the threads that run it now."""

    def __init__(self, frame: Frame, lanes: Any, checker: Checker | None, dtype: np.dtype[Any], near: bool) -> None:
        self.frame, self.lanes, self.checker, self.dtype, self.near = frame, lanes, checker, dtype, near
        self.learnt: dict[int, Any] = {}  # what the writes whose values were loaded had been handed

    def _at(self, reference: Reference, offset: Any, kind: str, atomic: bool, where: Any = None) -> Any:
        index, lanes = reference.index + np.asarray(offset, np.int64), self.lanes
        if where is not None:
            index, lanes = index[where], lanes[where]
        if self.checker is not None:
            self.checker.access(self.frame, reference.region, index, lanes, kind, atomic, near=self.near)
        return unwrap(index)

    def load(self, reference: Reference, offset: Any = 0, atomic: bool = False, where: Any = None) -> Any:
        """Read one element a thread."""
        index = self._at(reference, offset, "read", atomic, where)
        found = reference.region.data[index]
        if atomic and where is None and self._stale(reference.region) is not None:
            return self._load_stale(reference.region, index, found)
        if atomic:
            self._meet(reference.region, index, "saw")
        if where is None:
            return found
        result = np.zeros(len(where), found.dtype)
        result[where] = found
        return result

    def store(self, reference: Reference, value: Any, offset: Any = 0, atomic: bool = False, where: Any = None) -> None:
        """Write one element a thread."""
        if not atomic and self.checker is not None and allows_overlap(reference.parts):
            index = self._share(reference, np.asarray(offset, np.int64), value, where)
        else:
            index = self._at(reference, offset, "write", atomic, where)
        data, stale = reference.region.data, self._stale(reference.region) if atomic else None
        if atomic:
            self._meet(reference.region, index, "show")
            self.frame.block.machine.progress += 1
        before: Any = data[index].copy() if stale is not None else None
        data[index] = value if where is None or np.ndim(value) == 0 else np.asarray(value)[where]
        if stale is not None:
            for k, at in enumerate(index):
                lane = self.lanes[k] if where is None else self.lanes[where][k]
                stale.write(self._key(reference.region, at), self._thread(lane), before[k], data[at])

    def _share(self, reference: Reference, offset: Any, value: Any, where: Any) -> Any:
        """Check a store that other units may make too; return the indices."""
        index, lanes = reference.index + offset, self.lanes
        if where is not None:
            index, lanes, value = index[where], lanes[where], value if np.ndim(value) == 0 else np.asarray(value)[where]
        assert self.checker is not None
        self.checker.share(self.frame, reference.region, index, lanes, value, reference.parts)
        return index

    def load_row(self, reference: Reference, count: int, where: Any = None) -> Any:
        """Read elements that follow one another: a row a thread."""
        index = self._row(reference, count, "read", where)
        found = reference.region.data[index]
        if where is None:
            return found
        result = np.zeros((len(where), count), found.dtype)
        result[where] = found
        return result

    def store_row(self, reference: Reference, values: Any, where: Any = None) -> None:
        """Write elements that follow one another: a row a thread, or one for all."""
        count = np.shape(values)[-1]
        if self.checker is not None and allows_overlap(reference.parts):
            columns = (self._share(reference, k, values[..., k], where) for k in range(count))
            index = np.stack(list(columns), axis=1)
        else:
            index = self._row(reference, count, "write", where)
        for k in range(count):
            value = values[..., k]
            reference.region.data[index[:, k]] = value if where is None or np.ndim(value) == 0 else value[where]

    def _row(self, reference: Reference, count: int, kind: str, where: Any) -> Any:
        """Return the indices of rows, of shape (active, count); checked, the first elements of all before the second ones."""
        start, lanes = (reference.index, self.lanes) if where is None else (reference.index[where], self.lanes[where])
        index = start[:, None] + np.arange(count)
        if self.checker is not None:
            self.checker.access(self.frame, reference.region, index.T.ravel(), np.tile(lanes, count), kind)
        return unwrap(index)

    def update(self, reference: Reference, step: Callable[[Any, int], Any], order: str, added: Any = None) -> Any:
        """Replace each thread's element by `step(element, k)`, one thread after the other, and return the values before.

        In which order threads come nobody promises: in that of their numbers; by the schedule "reversed" from the last one on, by
        "random" in any. `added`: integers, where `step` adds them: then all threads' are added at once.
        """
        index, data = self._at(reference, 0, "update", True), reference.region.data
        before = np.empty(index.shape, data.dtype)
        self._meet(reference.region, index, "saw")
        self._meet(reference.region, index, "show")
        self._order(reference.region, index, order)
        changed, stale = False, self._stale(reference.region)
        turns = self.frame.block.machine.order(len(index))
        if added is not None and stale is None:
            amounts = np.broadcast_to(np.asarray(added).astype(data.dtype), index.shape)
            self.frame.block.machine.progress += bool(amounts.any())
            before[turns] = _add_in_turn(data, index[turns], amounts[turns])
            return before
        for k in turns:
            at = index[k]
            before[k] = data[at]
            data[at] = step(before[k], k)
            changed = changed or data[at] != before[k]
            if stale is not None:
                stale.update(self._key(reference.region, at), self._thread(self.lanes[k]))
                stale.write(self._key(reference.region, at), self._thread(self.lanes[k]), before[k], data[at])
        self.frame.block.machine.progress += bool(changed)
        return before

    def _stale(self, region: Region) -> Versions | None:
        """Return the old values that loads may see, where there are any."""
        return None if region.shadow is None else region.shadow.clocks.stale

    def _key(self, region: Region, at: Any) -> tuple[int, int]:
        assert region.shadow is not None
        return region.shadow.number, region.first + int(at) * region.width

    def _load_stale(self, region: Region, index: Any, newest: Any) -> Any:
        """Read, thread by thread, the newest value or an old one."""
        stale = self._stale(region)
        assert stale is not None
        found = newest.copy()
        for k, at in enumerate(index):
            key, thread = self._key(region, at), self._thread(self.lanes[k])
            old = stale.read(key, thread)
            row = stale.clocks.find_release(*key, thread) if old is None else old[1]
            if old is not None:
                found[k] = old[0]
            self.learnt[thread] = row
            stale.clocks.learnt(thread, row, row)
        return found

    def order(self, reference: Reference, order: str) -> None:
        """Order what these threads did before (release), or do next (acquire), by their elements."""
        if order == "acquire" and self.learnt:
            assert reference.region.shadow is not None
            for thread, row in self.learnt.items():
                reference.region.shadow.clocks.learn(thread, row)
            return
        self._order(reference.region, reference.index, order)

    def fence(self, order: str) -> None:
        """Order by the atomic accesses that stand before it (acquire) or come after it (release)."""
        clocks = self.frame.block.machine.clocks
        if clocks is None:
            return
        for lane in self.lanes:
            clocks.fence(self._thread(lane), order, self.near)

    def _thread(self, lane: Any) -> int:
        return self.frame.block.number * self.frame.block.machine.threads + int(lane)

    def _meet(self, region: Region, index: Any, how: str) -> None:
        """Note what relaxed accesses saw or showed, which fences of their threads make an order."""
        if region.shadow is None or not region.shadow.clocks.fences(how):
            return
        meet = getattr(region.shadow.clocks, how)
        for lane, at in zip(self.lanes, index, strict=False):
            meet(region.shadow.number, region.first + int(at) * region.width, self._thread(lane))

    def _order(self, region: Region, index: Any, order: str) -> None:
        if region.shadow is None or order == "relaxed":
            return
        clocks, number = region.shadow.clocks, region.shadow.number
        for lane, at in zip(self.lanes, index, strict=True):
            location, thread = region.first + int(at) * region.width, self._thread(lane)
            if order in ("acquire", "acq_rel"):
                clocks.acquire(number, location, thread)
            if order in ("release", "acq_rel"):
                clocks.release(number, location, thread)

    def align(self, reference: Reference, elements: int, where: Any = None) -> None:
        """Report an address that is no multiple of `elements` elements."""
        if self.checker is None:
            return
        region = reference.region
        size = region.data.itemsize
        bad = (region.address + reference.index * size) % (elements * size) != 0
        if where is not None:
            bad &= where
        if anywhere(bad):
            at = int(bad.argmax())
            name, size = f"{region.name}[{int(reference.index[at])}]", elements * size
            text = f"a vector of {elements} elements at `{name}` is not aligned to {size} bytes"
            raise self.checker.fault(MisalignedError, self.frame, int(self.lanes[at]), text, "vector access here")

    def publish(self, reference: Reference, value: Any, epoch: Any) -> None:
        """Write value and tag as one word."""
        index, data = self._box(reference, 0, None), reference.region.data
        if self.checker is not None:
            self.checker.publish(self.frame, reference.region, index, self.lanes)
        bits = np.asarray(value)
        if bits.dtype.names:
            bits = _words(bits, data["value"])
        if data.ndim > 1:
            epoch = np.asarray(epoch)[..., None]
        word = data.dtype["value"]
        if bits.dtype.kind == "f":
            bits = bits.view(f"u{bits.dtype.itemsize}")
        data["value"][index] = bits.astype(word)
        data["tag"][index] = np.asarray(epoch).astype(word)
        self.frame.block.machine.progress += 1

    def ready(self, reference: Reference, offset: Any, epoch: Any, mask: Any) -> Any:
        """Return, a thread, whether the word's tag is `epoch`; True, and nothing is read, where `mask` is False."""
        index = self._box(reference, offset, mask)
        tags = reference.region.data["tag"][index]
        wanted = np.asarray(epoch).astype(tags.dtype)
        arrived = (
            (tags == wanted)
            if tags.ndim == 1
            else (tags == np.broadcast_to(wanted, tags.shape[:1])[:, None]).all(axis=1)
        )
        return arrived | ~np.asarray(mask)

    def take(self, reference: Reference, offset: Any, mask: Any) -> Any:
        """Return the words' values; anything, and nothing is read, where `mask` is False."""
        bits = reference.region.data["value"][self._box(reference, offset, mask)]
        if self.dtype.names:
            return _records(bits, self.dtype)
        if self.dtype.kind == "f":
            return bits.astype(f"u{self.dtype.itemsize}").view(self.dtype)
        return bits.astype(self.dtype)

    def give(self, values: Any) -> int:
        """Give what these warps have to all of the cluster."""
        self.frame.block.machine.progress += 1
        if self.checker is not None:
            note_gather(self.frame, self.checker.span)
        return gathers_of(self.frame.block).give(self.frame.block, self.lanes, values)

    def collect(self, number: int) -> Any:
        """Return what all warps have given this block, once they have."""
        return gathers_of(self.frame.block).collect(self.frame.block, number)

    def _box(self, reference: Reference, offset: Any, mask: Any) -> Any:
        index = reference.index + np.asarray(offset, np.int64)
        if mask is not None:
            index = np.where(mask, index, 0)
        if self.checker is not None:
            self.checker.bounds(self.frame, reference.region, index, self.lanes)
        return unwrap(index)


def _words(records: Any, like: Any) -> Any:
    """Return the bytes of structs in words as `like` has them, zeros behind them: one, or two, a struct."""
    flat = np.ascontiguousarray(records).reshape(-1)
    pair = like.shape[1:]
    room = np.zeros((len(flat), like.dtype.itemsize * (pair[0] if pair else 1)), np.uint8)
    room[:, : records.dtype.itemsize] = flat.view(np.uint8).reshape(len(flat), -1)
    return room.view(like.dtype).reshape((*records.shape, *pair))


def _records(words: Any, dtype: np.dtype[Any]) -> Any:
    """Return the structs that words hold: the inverse of `_words`."""
    rows = np.ascontiguousarray(words).view(np.uint8).reshape(len(words), -1)
    return np.ascontiguousarray(rows[:, : dtype.itemsize]).view(dtype).reshape(-1)
