"""Old values of words that are accessed atomically: what a load may still see.

A load sees the newest value, or an older one, where nothing orders a newer one before it: no newer write that it knows of, and
no read of a newer value by itself or by a thread whose read it knows of. An atomic update takes the newest. What a load learns,
where it acquires, is what the write that it sees had been handed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prism.interpret.clocks import Clocks

KEPT = 6


@dataclass(slots=True)
class _Word:
    """A word's values, oldest first: each with who wrote it, at which step, and what acquiring it teaches.

    `dropped` values before them are forgotten. `seen`: for each thread the number of the newest value that it read, and when.
    """

    values: list[Any]
    writers: list[tuple[int, int]]
    rows: list[Any]
    dropped: int = 0
    seen: dict[int, tuple[int, int]] = field(default_factory=dict)


class Versions:
    """The old values of a launch's words."""

    def __init__(self, clocks: Clocks, random: np.random.Generator) -> None:
        self.clocks, self.random = clocks, random
        self.words: dict[int, dict[int, _Word]] = {}  # by memory, and by location in it

    def write(self, key: tuple[int, int], thread: int, before: Any, value: Any) -> None:
        """Note an atomic write, when it is made."""
        word = self._word(key)
        if word is None:
            shadow, location = key
            word = self.words.setdefault(shadow, {})[location] = _Word([before], [(thread, 0)], [None])
        word.values.append(value)
        word.writers.append((thread, int(self.clocks.own(thread))))
        word.rows.append(self.clocks.find_release(*key, thread))
        self._see(word, thread, word.dropped + len(word.values) - 1)
        if len(word.values) > KEPT:  # a load may then see fewer old values than on a GPU, never one that it could not
            word.dropped += 1
            for kept in (word.values, word.writers, word.rows):
                del kept[0]

    def read(self, key: tuple[int, int], thread: int) -> tuple[Any, Any] | None:
        """Return a value that a load may see and what acquiring it teaches, or None where it sees the newest."""
        word = self._word(key)
        if word is None:
            return None
        last = word.dropped + len(word.values) - 1
        first = max(word.dropped, self._newest_known(word, thread))
        chosen = int(self.random.integers(first, last + 1)) if self.random.integers(2) else last
        self._see(word, thread, chosen)
        at = chosen - word.dropped
        return None if chosen == last else (word.values[at], word.rows[at])

    def update(self, key: tuple[int, int], thread: int) -> None:
        """Note that the newest value is read."""
        word = self._word(key)
        if word is not None:
            self._see(word, thread, word.dropped + len(word.values) - 1)

    def forget(self, shadow: int, locations: Any) -> None:
        """Forget the old values of words that are written plainly, in one memory: a slice of locations, or a list of them."""
        words = self.words.get(shadow)
        if words:  # few: most memory has none, and what has some is written plainly, if at all, to begin with
            known = np.fromiter(words, np.int64, len(words))
            if isinstance(locations, slice):
                gone = (known >= locations.start) & (known < locations.stop)
            else:
                gone = np.isin(known, locations)
            for location in known[gone].tolist():
                del words[location]

    def _word(self, key: tuple[int, int]) -> _Word | None:
        shadow, location = key
        words = self.words.get(shadow)
        return None if words is None else words.get(location)

    def _see(self, word: _Word, thread: int, number: int) -> None:
        word.seen[thread] = (number, int(self.clocks.own(thread)))

    def _newest_known(self, word: _Word, thread: int) -> int:
        steps = self.clocks.steps
        # Coherence: a thread never goes back behind a value that it read, nor behind one whose read or write it knows of.
        found = word.seen[thread][0] if thread in word.seen else 0
        for reader, (number, clock) in word.seen.items():
            if number > found and steps(thread, reader) >= clock:
                found = number
        for at in range(len(word.writers) - 1, -1, -1):  # the newest first: those before it need not be asked
            writer, clock = word.writers[at]
            if word.dropped + at <= found:
                break
            if steps(thread, writer) >= clock:
                found = word.dropped + at
                break
        return found
