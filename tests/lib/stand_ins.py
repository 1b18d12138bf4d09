"""What stands in for CUDA in tests of what the library launches."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class Launcher:
    """A kernel's launcher that tells `note(blocks, threads, stream, values)` what it is launched with, and launches nothing."""

    ordinal = 0

    def __init__(self, note: Callable[[int, int, int, tuple[Any, ...]], None]) -> None:
        self.note = note

    def __call__(self, blocks: int, threads: int, stream: int, values: Any) -> None:
        self.note(blocks, threads, stream, tuple(values))

    def resident_blocks(self, threads: int) -> int:
        return 264

    def prepare(self, blocks: int, threads: int, values: Any) -> tuple[Any, ...]:
        words, configuration = list(values), SimpleNamespace(stream=0)

        def launch() -> int:
            self.note(blocks, threads, configuration.stream, tuple(words))
            return 0

        return words, configuration, launch, (), None
