"""A kernel as the runtime knows it: text, parameters, and the shapes of launch that it admits; no trees."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.lang.facts.launch_tests import Assumed
from prism.lang.facts.rooms import Sized
from prism.lang.keep.bases import Value
from prism.lang.types import Scalar
from prism.lang.types.structs import Struct, dtype_called, scalar_called

MAX_THREADS = 1024
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}")
_ARCH = re.compile(r"sm_[1-9][0-9]{1,2}[af]?")


class EntryParameter(Value):
    """One parameter: `kind` is `pointer`, `scalar` or `map`; `dtype` NumPy's name of the scalar, or of what is pointed to, or a
    struct's key.

    A pointer's `dtype` is its element's scalar, also where elements are vectors or mailboxes. A `map` is an array as the tensor
    copy engine sees it: `box` is the shape of its tiles, outermost first, `swizzle` how they lie in shared memory. A pointer
    with `axes` is an array of so many: behind all parameters that a launch is given come, for each such array, the extents of its
    axes and their strides in elements.

    Raises:
        ValueError: the kind or the dtype is none that Prism knows.
    """

    name: str
    kind: str
    dtype: str
    const: bool = False
    box: tuple[int, ...] = ()
    swizzle: int = 0
    axes: int = 0

    def __post_init__(self) -> None:
        if self.kind not in ("pointer", "scalar", "map"):
            raise ValueError(f"parameter `{self.name}`: kind must be 'pointer', 'scalar' or 'map', not {self.kind!r}")
        if scalar_called(self.dtype) is None:
            raise ValueError(f"parameter `{self.name}`: unknown dtype {self.dtype!r}")

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype of the scalar, or of what is pointed to: uint16 for the bits of bfloat16."""
        return dtype_called(self.dtype)

    @property
    def scalar(self) -> Scalar:
        """The scalar, or that of what is pointed to."""
        found = scalar_called(self.dtype)
        assert found is not None
        return found

    @property
    def align(self) -> int:
        """What an array for it must be aligned to beyond its elements' own types, in bytes; 1: to nothing."""
        return self.scalar.align if isinstance(self.scalar, Struct) else 1


class Entry(Value):
    """A compiled kernel's text and contract.

    `shared_bytes` is dynamic shared memory. `thread_multiple` and `block_multiple` say what the numbers of threads a
    block and of blocks must be multiples of (None: any); `max_threads` is the largest block, `block_threads` the only size
    of one (None: any), `grid_threads` how many threads all blocks may have together. `cooperative`: all blocks must run at
    once, and behind its other parameters the kernel takes the address of a word at which they meet, zero at first.
    `programmatic`: it waits by itself for the kernel before it on the stream, and may be launched before that one is complete.
    `assumed`: what each launch must be, as the kernel's `assume`s say. `sized`: shared objects whose length the launch says,
    which stand behind the `shared_bytes` that all launches have. `axes`: along how many axes its blocks and threads are
    numbered; the numbers along each are its last parameters.

    Raises:
        ValueError: the name is no C identifier, the architecture not of the form `sm_90a`, or a number out of range.
    """

    name: str
    source: str
    arch: str
    parameters: tuple[EntryParameter, ...]
    shared_bytes: int = 0
    thread_multiple: int | None = None
    block_multiple: int | None = None
    max_threads: int = MAX_THREADS
    cooperative: bool = False
    programmatic: bool = False
    grid_threads: int | None = None
    block_threads: int | None = None
    assumed: tuple[Assumed, ...] = ()
    axes: int = 0
    sized: tuple[Sized, ...] = ()

    @property
    def title(self) -> str:
        """The kernel's name in messages: as its author wrote it."""
        return self.name.removeprefix("prism_")

    def __post_init__(self) -> None:
        if not _IDENTIFIER.fullmatch(self.name):
            raise ValueError(f"an entry's name must be a C identifier, not {self.name!r}")
        if not _ARCH.fullmatch(self.arch):
            raise ValueError(f"an architecture is written as in `sm_90a`, not {self.arch!r}")
        if self.shared_bytes < 0:
            raise ValueError(f"shared_bytes must be >= 0, not {self.shared_bytes}")
        if not 1 <= self.max_threads <= MAX_THREADS:
            raise ValueError(f"max_threads must be in 1..{MAX_THREADS}, not {self.max_threads}")
        numbers = (
            ("thread_multiple", self.thread_multiple),
            ("block_multiple", self.block_multiple),
            ("grid_threads", self.grid_threads),
            ("block_threads", self.block_threads),
        )
        for label, multiple in numbers:
            if multiple is not None and multiple < 1:
                raise ValueError(f"{label} must be >= 1 or None, not {multiple}")
        named = [*(each.arguments() for each in self.assumed), *(each.arguments() for each in self.sized)]
        if any(n >= len(self.parameters) for positions in named for n in positions):
            raise ValueError("an assumption, or a length, speaks of an argument that there is not")

    def to_json(self, *, source: bool = True) -> dict[str, Any]:
        """Return what `json.dumps` takes; without the text where `source` is false."""
        found: dict[str, Any] = {
            "name": self.name,
            "arch": self.arch,
            "parameters": [
                [
                    *(p.name, p.kind, p.dtype, p.const),
                    *([list(p.box), p.swizzle] if p.kind == "map" else [[], 0, p.axes] if p.axes else []),
                ]
                for p in self.parameters
            ],
            "shared_bytes": self.shared_bytes,
            "thread_multiple": self.thread_multiple,
            "block_multiple": self.block_multiple,
            "max_threads": self.max_threads,
            "cooperative": self.cooperative,
            "programmatic": self.programmatic,
            "grid_threads": self.grid_threads,
            "block_threads": self.block_threads,
            "assumed": [each.to_json() for each in self.assumed],
            **({"axes": self.axes} if self.axes else {}),
            **({"sized": [each.to_json() for each in self.sized]} if self.sized else {}),
        }
        return {**found, "source": self.source} if source else found

    @classmethod
    def from_json(cls, found: Mapping[str, Any], *, source: str | None = None) -> Entry:
        """Return the entry that `to_json` wrote; `source` stands in where it was left out.

        Raises:
            ValueError: something is missing, or not of the kind that `to_json` writes.
        """
        try:
            text = found["source"] if source is None else source
            entry = cls(
                name=_typed(found["name"], str),
                source=_typed(text, str),
                arch=_typed(found["arch"], str),
                parameters=tuple(_parameter(*facts) for facts in found["parameters"]),
                shared_bytes=_typed(found["shared_bytes"], int),
                thread_multiple=_typed(found["thread_multiple"], int, None),
                block_multiple=_typed(found["block_multiple"], int, None),
                max_threads=_typed(found["max_threads"], int),
                cooperative=_typed(found.get("cooperative", False), bool),
                programmatic=_typed(found.get("programmatic", False), bool),
                grid_threads=_typed(found.get("grid_threads"), int, None),
                block_threads=_typed(found.get("block_threads"), int, None),
                assumed=tuple(map(Assumed.from_json, found["assumed"])),
                axes=_typed(found.get("axes", 0), int),
                sized=tuple(map(Sized.from_json, found.get("sized", ()))),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not an entry as Prism writes it: {error}") from error
        return entry


def _parameter(
    name: Any, kind: Any, dtype: Any, const: Any, box: Any = (), swizzle: Any = 0, axes: Any = 0
) -> EntryParameter:
    text = _typed(name, str), _typed(kind, str), _typed(dtype, str), _typed(const, bool)
    return EntryParameter(*text, tuple(_typed(n, int) for n in box), _typed(swizzle, int), _typed(axes, int))


def _typed(value: Any, kind: type, *others: Any) -> Any:
    if type(value) is kind or (value is None and None in others):
        return value
    raise TypeError(f"expected {kind.__name__}, found {value!r}")
