"""`prism build`, `info` and `bench`: what is compiled ahead of time, what is found on this machine, how fast it is."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from prism.command.output import DONE, FOUND, CommandError, write
from prism.command.progress import Bar, say_time

# -- build ----------------------------------------------------------------------------------------------------------------


def run_build(options: argparse.Namespace) -> int:
    """`prism build`: the library's kernels, as artifacts."""
    from prism.command.sources import target
    from prism.lib.artifacts import build
    from prism.lib.shipped_kernels import ARCHITECTURES
    from prism.runtime.packs import MissingLZMA

    if options.jobs is not None and options.jobs < 1:
        raise CommandError(f"--jobs must be >= 1, not {options.jobs}")
    bar = Bar(quiet=options.quiet or options.json)
    try:
        if options.output is not None:  # before minutes of work
            options.output.mkdir(parents=True, exist_ok=True)
        result = build(
            [target(arch) for arch in options.arch or ARCHITECTURES],
            folder=options.output,
            jobs=options.jobs,
            progress=lambda now: bar.show(now.stage, now.done, now.total),
        )
    except OSError as error:
        raise CommandError(f"can't write the artifacts: {error}") from None
    except MissingLZMA as error:
        raise CommandError(str(error)) from None
    finally:
        bar.close()
    lines = [f"{result.folder}: {sum(result.by_arch.values())} kernels, {result.nbytes / 2**20:.1f} MiB packed into "
             f"{result.packed / 2**20:.1f}, {result.compiled} compiled, {result.kept} up to date"]  # fmt: skip
    for arch, number in result.by_arch.items():
        without = f", {result.without[arch]} need another architecture" if arch in result.without else ""
        lines.append(f"  {arch}: {number} kernels{without}")
    lines += [f"  {line}" for line in result.spilling]
    facts = dataclasses.asdict(result)
    output, options.output = options.output, None  # of `build` it is a folder
    write(options, "\n".join(lines) + "\n", facts)
    options.output = output
    return DONE


# -- info -----------------------------------------------------------------------------------------------------------------


def run_info(options: argparse.Namespace) -> int:
    """`prism info`: what is found, and what to do about what is missing."""
    from prism.command.info import describe, facts

    found = facts()
    write(options, describe(found), found)
    return DONE


# -- bench ----------------------------------------------------------------------------------------------------------------


def dashboard() -> list[str]:
    """Return the scripts of `prism bench run`: each algorithm's own, and those of all."""
    from prism.lib.algorithms import MANIFEST

    return [*(script for one in MANIFEST for script in one.scripts), "algorithms", "first_call", "host_time"]


def run_bench(options: argparse.Namespace) -> int:
    """`prism bench`: list the benchmark scripts, or run some and keep what they print."""
    folder = benchmarks(options.folder)
    if options.scripts == ["run"]:
        options.scripts, options.results = dashboard(), options.results or folder / "raw"
    scripts = {path.stem: path for path in sorted(folder.glob("*.py")) if about(path)}
    if not options.scripts:
        lines = [f"in {folder}:", *(f"  {name:10} {about(path)}" for name, path in scripts.items())]
        write(options, "\n".join(lines) + "\n", {name: about(path) for name, path in scripts.items()})
        return DONE
    unknown = [name for name in options.scripts if name not in scripts]
    if unknown:
        raise CommandError(f"no benchmark {unknown[0]!r} in {folder}; there are: {', '.join(scripts) or 'none'}")
    if options.results is not None:
        options.results.mkdir(parents=True, exist_ok=True)
        facts = json.dumps(machine_facts(), indent=1)
        (options.results / "machine.json").write_text(f"{facts}\n", encoding="utf-8")
    codes, begun = {}, time.monotonic()
    for number, name in enumerate(options.scripts):
        left = (time.monotonic() - begun) / max(number, 1) * (len(options.scripts) - number)
        rest = f", some {say_time(left)} left" if number else ""
        print(f"== {name}: script {number + 1} of {len(options.scripts)}{rest}", file=sys.stderr, flush=True)
        codes[name] = run_script(scripts[name], options)
    write(
        options, "".join(f"{name}: {'done' if not code else f'exit {code}'}\n" for name, code in codes.items()), codes
    )
    return FOUND if any(codes.values()) else DONE


def run_script(path: Path, options: argparse.Namespace) -> int:
    """Run one script with the arguments behind `--`; its results go into `--results`, where that is given."""
    extra = options.rest
    if options.results is not None:
        extra = [*extra, "--json", str(options.results / f"{path.stem}.json")]
    paths = [str(path.parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    out = sys.stderr if options.json else None
    return subprocess.run([sys.executable, str(path), *extra], env=environment, stdout=out, check=False).returncode


def machine_facts() -> dict[str, Any]:
    """Return what is to be known of this machine beside what was measured on it."""
    from prism.command.info import compiler, gpus, packages

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = gpus()
    return {
        "os": f"{platform.system()} {platform.release()}",
        "arch": platform.machine(),
        "cpu": _processor(),
        "num_cpu": str(os.cpu_count()),
        "ram": f"{memory >> 30} GiB",
        "gpu": ", ".join(str(one.get("name", "?")) for one in found["devices"]),
        "driver": found["driver"],
        "nvrtc": compiler()["nvrtc"],
        "packages": packages(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def benchmarks(folder: Path | None) -> Path:
    """Return the folder of the benchmark scripts: as given, of the current directory, or of the checkout that is run."""
    places = [folder] if folder is not None else [Path("asv_bench"), Path(__file__).parents[2] / "asv_bench"]
    for place in places:
        if place.is_dir():
            return place
    raise CommandError(
        "the benchmarks are in the repository (asv_bench/), not in the wheel: name the folder with --folder"
    )


def about(path: Path) -> str:
    """Return a script's first line of documentation; nothing for a module that is not run by itself."""
    try:
        text = path.read_text(encoding="utf-8")
        documented = ast.get_docstring(ast.parse(text)) or ""
    except (OSError, SyntaxError, UnicodeDecodeError):
        return ""
    return documented.splitlines()[0] if documented and "__main__" in text else ""
