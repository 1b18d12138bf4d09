"""Two trees of Prism in one process: which of them `import prism` names, and what each has compiled."""

from __future__ import annotations

import functools
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

OURS = ("__main__", "revisions", "revision_cells", "revision_trees")
"""Modules that stay, whichever tree is named."""


class NotCompiled(Exception):
    """A kernel would have to be compiled."""


def compiled_folder() -> Path:
    """Return the folder of what was compiled, which the variable REVISIONS_CACHE names."""
    folder = Path(os.environ.get("REVISIONS_CACHE", "/tmp/prism_revisions"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Tree:
    """A tree, whose modules are those that names stand for inside of `with tree:`."""

    scripts: set[str] = set()
    """Names of what stands in the folders `asv_bench` of all trees."""

    def __init__(self, root: Path) -> None:
        self.root, self.modules, self.away = root, dict[str, ModuleType](), dict[str, ModuleType]()
        self.paths = [str(root), str(root / "asv_bench")]
        self.compiles, self.depth = False, 0
        self.scripts |= {path.stem for path in (root / "asv_bench").glob("*.py")} - {*OURS}

    def __enter__(self) -> Tree:
        self.depth += 1
        if self.depth == 1:
            self.away = self._take_away()
            sys.modules.update(self.modules)
            sys.path[:0] = self.paths
        return self

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
        if self.depth == 0:
            del sys.path[: len(self.paths)]
            self.modules = self._take_away()
            sys.modules.update(self.away)

    def _take_away(self) -> dict[str, ModuleType]:
        """Remove what is a tree's, by its name: other modules may be imported by being looked at."""
        names = [name for name in sys.modules if name.split(".")[0] == "prism" or name in self.scripts]
        return {name: sys.modules.pop(name) for name in names}

    def begin(self, compiles: bool) -> None:
        """Import the library; keep what is compiled by what is asked for, so that no kernel is checked twice."""
        self.compiles = compiles
        with self:
            import prism.lib
            from prism.runtime import instance

            assert prism.__file__ is not None and Path(prism.__file__).is_relative_to(self.root), prism.__file__
            instance._launcher = self._launcher(instance)

    @property
    def lib(self) -> Any:
        """The library's functions. Inside of `with tree:` alone."""
        import prism.lib

        return prism.lib

    def _launcher(self, module: Any) -> Any:
        from prism.runtime.build import entry_of
        from prism.runtime.code import machine_code
        from prism.runtime.device import device, load
        from prism.runtime.entry import Entry
        from prism.runtime.launch import Launcher, prepare

        folder = compiled_folder() / module.sources_digest()
        folder.mkdir(exist_ok=True)

        @functools.cache
        def launcher(wanted: Any, ordinal: int) -> Any:
            path = None if wanted.request is None else folder / wanted.request
            if path is not None and path.exists():
                head, _, cubin = path.read_bytes().partition(b"\n")
                entry = Entry.from_json(json.loads(head), source="")
                return Launcher(entry, load(cubin, entry.name, ordinal, entry.shared_bytes))
            if path is not None and not self.compiles:
                raise NotCompiled
            entry = entry_of(wanted.program, device(ordinal).arch)
            if path is not None:
                head = json.dumps(entry.to_json(source=False)).encode()
                made = path.with_suffix(f".{os.getpid()}")
                made.write_bytes(head + b"\n" + machine_code(entry.source, entry.arch, alike=True))
                made.rename(path)
            return prepare(entry, ordinal)

        return launcher
