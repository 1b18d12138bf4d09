"""Which kernels of the package ran on the reference machine with all its checks, and under which schedules: for safety reports.

    PRISM_RAN=FOLDER python -m pytest -p tests.ran tests/kernels -k "schedule or resident"
    PRISM_RAN=FOLDER python -m pytest -p tests.ran tests/kernels/test_scan_small.py tests/kernels/test_segmented_reduce.py
    PRISM_RAN=FOLDER python -m pytest -p tests.ran tests/lib/test_algorithms.py -k schedule -m "fuzz or not fuzz"
    (FOLDER must be there; `-n 2` is fine: each process writes a file of its own)
    python -m tests.ran FOLDER          # writes prism/lib/runs.json, if each kernel that ships was run

The last is of all algorithms in the manifest, by their cases. Only programs as the compiler made them count, not those that a
test spoils, and only runs in which no fault was found.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import prism.interpret
from prism.lang import pipeline
from prism.lang.check import as_scalar
from prism.lib import shipped_kernels
from prism.lib.artifacts import module_digest
from prism.runtime.instance import request_key

FILE = Path(__file__).parents[1] / "prism" / "lib" / "runs.json"
made: dict[int, tuple[Any, str, str]] = {}
"""Programs by identity, kept: the kernel's name, and the key of it with its template arguments."""
seen: dict[tuple[str, str, str], int] = {}
"""Runs by kernel, key and schedule."""


def replace(original: Callable[..., Any], wrapper: Callable[..., Any]) -> None:
    """Put a function in another's place, in every module that has it by now."""
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is original:
                setattr(module, name, wrapper)


def named(template: Mapping[str, Any] | None) -> tuple[tuple[str, Any], ...]:
    """Return template arguments as plans write them: types by their names, also where a test gives a dtype of NumPy's."""
    given = [(name, value, as_scalar(value)) for name, value in (template or {}).items()]
    return tuple((name, value if one is None else getattr(one, "key", one.name)) for name, value, one in given)


def watch() -> None:
    """Note what is built and run from here on."""
    build, run = pipeline.build, prism.interpret.run

    @functools.wraps(build)
    def building(kernel: Any, template: Any = None, *rest: Any, **options: Any) -> Any:
        program = build(kernel, template, *rest, **options)
        key = request_key(kernel, named(template))
        if key is not None:
            made[id(program)] = (program, f"{kernel.__module__}:{kernel.__qualname__}", key)
        return program

    @functools.wraps(run)
    def running(program: Any, *rest: Any, check: bool = False, schedule: str = "round-robin", **options: Any) -> None:
        run(program, *rest, check=check, schedule=schedule, **options)
        if check and id(program) in made:
            _, kernel, key = made[id(program)]
            seen[kernel, key, schedule] = seen.get((kernel, key, schedule), 0) + 1

    replace(build, building)
    replace(run, running)


def pytest_sessionfinish() -> None:
    """Write what this process ran."""
    rows = [[*where, number] for where, number in sorted(seen.items())]
    Path(os.environ["PRISM_RAN"], f"{os.getpid()}.json").write_text(json.dumps(rows))


def merged(folder: Path) -> dict[str, dict[str, Any]]:
    """Return, of each kernel, the digest of its module, the schedules, with how many template arguments it was, and how often."""
    rows = [row for path in sorted(folder.glob("*.json")) for row in json.loads(path.read_text())]
    return {
        kernel: {
            "module": module_digest(kernel),
            "instances": len({key for name, key, _, _ in rows if name == kernel}),
            "runs": sum(number for name, _, _, number in rows if name == kernel),
            "schedules": sorted({schedule for name, _, schedule, _ in rows if name == kernel}),
        }
        for kernel in sorted({name for name, *_ in rows})
    }


def shipping() -> frozenset[str]:
    """Return the kernels that ship, for any architecture."""
    kernels = {one.kernel for arch in shipped_kernels.ARCHITECTURES for one in shipped_kernels.instances(arch)}
    return frozenset(f"{kernel.__module__}:{kernel.__qualname__}" for kernel in kernels)


def without(found: Iterable[str]) -> list[str]:
    """Return the kernels that ship, and were not run."""
    return sorted(shipping() - set(found))


if __name__ == "__main__":
    ran = merged(Path(sys.argv[1]))
    if missing := without(ran):
        sys.exit(f"{FILE.name} stays as it is: {', '.join(missing)} ship, and were not run in any schedule")
    FILE.write_text(json.dumps(ran, indent=1) + "\n", encoding="utf-8")
    print(f"{len(ran)} kernels")
elif "PRISM_RAN" in os.environ:
    watch()
