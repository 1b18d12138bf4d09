"""Choices that `prism tune TABLE --shapes FILE` measured on a GPU: kept in the user's cache, and read by later calls."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from prism.host.plan import Machine
from prism.runtime.code import prism_version, store
from prism.runtime.keys import FORMAT, digest


def _key(table: str, gpu: str) -> str:
    """Return what a GPU's choices are kept under; those of another version of Prism are not read."""
    return digest("prism tuned", FORMAT, table, gpu, prism_version())


@functools.lru_cache(maxsize=64)
def kept_choices(table: str, gpu: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the choices for a GPU of this name, by shape: the fields of each."""
    found = store().get(_key(table, gpu))
    return {} if found is None else json.loads(found.payload)


def keep(table: str, gpu: str, choices: Mapping[str, Mapping[str, Any]]) -> bool:
    """Keep choices beside those that were kept before; whether they are on disk, and so are read by later processes."""
    written = store().put(
        _key(table, gpu), json.dumps({**kept_choices(table, gpu), **choices}).encode(), {"table": table, "gpu": gpu}
    )
    kept_choices.cache_clear()
    return written


def choice(table: str, machine: Machine, shape: str) -> Mapping[str, Any] | None:
    """Return what was measured to be best for a shape on a machine; a machine that is only imagined has no name, and none."""
    name = getattr(machine, "name", "")
    return kept_choices(table, name).get(shape) if name else None
