"""Raw results of `prism bench run` as asv's: what was measured on a GPU, recorded for a commit.

    python asv_bench/publish/record.py RAW [--commit HASH] [--note TEXT] [--machine h200]

RAW is the folder that `prism bench run` wrote. Each class in benchmarks/ that reads raw results is asked for all its figures;
what RAW has not is left out. What was recorded for the commit before, and is not in RAW, stays. `asv run` doesn't write this
file: it would measure nothing here, and puts the path of its Python into the file's name. A note, which asv leaves alone, says
what the commit alone doesn't: later edits, or another compiler.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1]
COLUMNS = ["result", "params", "version"]
ENVIRONMENT = "existing"


def tracked() -> Iterator[tuple[str, type, Callable[..., float]]]:
    """Find the classes' `track_` functions: each with its name, as asv has it, and its class."""
    for path in sorted((HERE / "benchmarks").glob("*.py")):
        module = importlib.import_module(f"benchmarks.{path.stem}")
        for kind in (k for _, k in inspect.getmembers(module, inspect.isclass) if k.__module__ == module.__name__):
            for name, function in inspect.getmembers(kind, inspect.isfunction):
                if name.startswith("track_"):
                    yield f"{path.stem}.{kind.__name__}.{name}", kind, function


def combinations(kind: type) -> tuple[list[list[Any]], list[tuple[Any, ...]]]:
    """Return a class's parameters, and all combinations of them, the last changing fastest."""
    params = list(getattr(kind, "params", ()))
    if params and not isinstance(params[0], (list, tuple)):
        params = [params]
    return [list(values) for values in params], list(itertools.product(*params))


def figure(kind: type, function: Callable[..., float], chosen: tuple[Any, ...]) -> float | None:
    """Return one figure, None where it was not measured."""
    try:
        return float(function(kind(), *chosen))
    except NotImplementedError:
        return None


def figures() -> dict[str, list[Any]]:
    """Return all that the raw results have, in asv's form: a benchmark's figures, its parameters and its version."""
    found = {}
    for name, kind, function in tracked():
        params, chosen = combinations(kind)
        values = [figure(kind, function, each) for each in chosen]
        if any(value is not None for value in values):
            version = function.version  # type: ignore[attr-defined]
            found[name] = [values, [[repr(value) for value in values] for values in params], version]
    return found


def commit_of(text: str) -> tuple[str, int]:
    """Return a commit's whole hash, and when it was made, in milliseconds."""
    command = ["git", "-C", str(HERE), "show", "--no-patch", "--format=%H %ct", text]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    name, seconds = done.stdout.split()
    return name, 1000 * int(seconds)


def machine_of(raw: Path, name: str, results: Path) -> dict[str, Any]:
    """Return what asv wants to know of a machine: what RAW tells, else what is known. Other facts are another series."""
    known: dict[str, Any] = {}
    for path in (results / name / "machine.json", raw / "machine.json"):
        told = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        known |= {key: str(value) for key, value in told.items() if value}
    facts = {key: known.get(key, "") for key in ("arch", "cpu", "num_cpu", "os", "ram", "gpu")}
    return {**facts, "machine": name, "version": 1}


def record(raw: Path, commit: str, machine: str, results: Path, note: str | None = None) -> Path:
    """Write the file of a commit's results on a machine; return its path.

    Raises:
        ValueError: the folder has no results.
    """
    os.environ["PRISM_BENCH_RESULTS"] = str(raw)
    found = figures()
    if not found:
        raise ValueError(f"{raw} has no results of `prism bench run`")
    name, date = commit_of(commit)
    facts = machine_of(raw, machine, results)
    path = results / machine / f"{name[:8]}-{ENVIRONMENT}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    told = before.get("note", "") if note is None else note
    listed = {
        "commit_hash": name,
        "env_name": ENVIRONMENT,
        "date": date,
        "params": {**{key: value for key, value in facts.items() if key != "version"}, "python": ""},
        "python": "",
        "requirements": {},
        "env_vars": {},
        "result_columns": COLUMNS,
        "results": dict(sorted({**before.get("results", {}), **found}.items())),
        "durations": {},
        **({"note": told} if told else {}),
        "version": 2,
    }
    path.write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    (path.parent / "machine.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return path


def main() -> int:
    """Record a folder's results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("raw", type=Path, help="the folder that `prism bench run` wrote")
    parser.add_argument("--commit", default="HEAD", help="what was measured (default: HEAD)")
    parser.add_argument("--machine", default="h200", help="the machine's name in asv (default: h200)")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="asv's folder (default: this one's)")
    parser.add_argument("--note", help="what else is to be known of what was measured")
    options = parser.parse_args()
    try:
        print(record(options.raw, options.commit, options.machine, options.results, options.note))
    except (ValueError, subprocess.CalledProcessError) as error:
        sys.exit(f"record.py: {error}")
    return 0


sys.path.insert(0, str(HERE))
if __name__ == "__main__":
    sys.exit(main())
