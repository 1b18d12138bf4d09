"""What `prism info` finds: versions, the compiler, GPUs, artifacts, the cache; and what to do about what is missing."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_DISTRIBUTIONS = ("numpy", "cuda-core", "cuda-bindings", "nvidia-cuda-nvrtc", "cupy-cuda13x", "cupy-cuda12x", "torch")


def facts() -> Mapping[str, Any]:
    """Return all that is found, as JSON takes it; `advice` says what to do. Nothing is raised for what is missing."""
    found: dict[str, Any] = {
        "prism": {
            "version": importlib.import_module("prism").__version__,
            "folder": str(Path(__file__).parents[1]),
            "python": platform.python_version(),
            "system": platform.platform(),
        },
        "packages": packages(),
        "compiler": compiler(),
        "gpus": gpus(),
        "artifacts": artifact_summary(),
        "cache": cache(),
    }
    return {**found, "advice": advice(found)}


def packages() -> dict[str, str | None]:
    """Return the versions of the packages that Prism uses; None for those that aren't installed."""
    found: dict[str, str | None] = {}
    for name in _DISTRIBUTIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def compiler() -> dict[str, Any]:
    """Return NVRTC's version and the architectures it knows, or why it can't be used."""
    from prism.runtime.compile import MissingCompiler, nvrtc_version, supported_archs

    try:
        version = "{}.{}".format(*nvrtc_version())
        return {"nvrtc": version, "architectures": [f"sm_{number}" for number in supported_archs()]}
    except MissingCompiler as error:
        return {"nvrtc": None, "why": str(error)}


def gpus() -> dict[str, Any]:
    """Return the driver's version and each GPU, or why there is none."""
    from prism.runtime.device import device
    from prism.runtime.driver import DeviceError, check, driver

    try:
        cuda = driver()
        version = int(check(cuda.cuDriverGetVersion(), "asking the driver"))
        count = int(check(cuda.cuDeviceGetCount(), "asking the driver"))
    except DeviceError as error:
        return {"driver": None, "devices": [], "why": str(error), "status": error.code}
    listed = []
    for ordinal in range(count):
        try:
            one = device(ordinal)
        except DeviceError as error:
            listed.append({"ordinal": ordinal, "why": str(error)})
            continue
        capability = "{}.{}".format(*one.capability)
        listed.append({"ordinal": ordinal, "name": one.name, "capability": capability, "arch": one.arch,
                       "multiprocessors": one.sm_count, "shared_bytes": one.shared_limit})  # fmt: skip
    return {"driver": f"{version // 1000}.{version % 1000 // 10}", "devices": listed}


def artifact_summary() -> dict[str, Any]:
    """Return what the package has compiled ahead of time, by architecture, and whether it was built from these sources."""
    from prism.runtime import artifacts, packs
    from prism.runtime.instance import sources_digest

    by_arch = {}
    for arch in artifacts.architectures():
        listed = artifacts.read_manifest(arch)
        there = artifacts.manifest(arch)
        compilers = sorted({str(facts["compiler"]) for facts in listed})
        by_arch[arch] = {"kernels": len(listed), "bytes": sum(int(facts["bytes"]) for facts in listed),
                         "packs": len(there.packs), "packed": sum(packed for packed, _ in there.packs.values()),
                         "current": there.sources == sources_digest(), "nvrtc": compilers}  # fmt: skip
    return {"folder": str(artifacts.FOLDER), "trouble": packs.trouble(), "architectures": by_arch}


def cache() -> dict[str, Any]:
    """Return where the user's cache is, what is in it, and what is wrong with it, if anything."""
    from prism.runtime.store import Store

    found = Store()
    entries, nbytes = found.size()
    return {"folder": None if found.directory is None else str(found.directory), "entries": entries, "bytes": nbytes,
            "limit": found.max_bytes, "trouble": found.trouble()}  # fmt: skip


def advice(found: Mapping[str, Any]) -> list[str]:
    """Return what to do about what is missing, the most important first."""
    lines = []
    gpu, nvrtc, shipping = found["gpus"], found["compiler"], found["artifacts"]["architectures"]
    if nvrtc["nvrtc"] is None:
        lines.append(f"no kernel can be compiled here, only launched from artifacts: {nvrtc['why']}")
    if gpu["driver"] is None and os.path.exists("/proc/driver/nvidia"):
        lines.append(f"there is an NVIDIA driver, but it can't be used: {gpu['why']}")
    elif gpu["driver"] is None:
        lines.append("there is no GPU here: NumPy arrays run on the reference machine; all but launches on a GPU works")
    elif not any(found["packages"][name] for name in ("cupy-cuda13x", "cupy-cuda12x", "torch")):
        lines.append('no array library for the GPU is installed: pip install "prism-gpu[cuda13]" brings CuPy')
    for one in gpu["devices"]:
        if "why" in one:
            lines.append(f"GPU {one['ordinal']} can't be used: {one['why']}")
        elif not _ready(one["arch"], shipping):
            lines.append(f"no kernels are compiled ahead of time for GPU {one['ordinal']} ({one['arch']}): each is compiled at "
                         f"its first use, and kept; prism build --arch {one['arch']} compiles them all now")  # fmt: skip
    lines += _unusable(found["artifacts"])
    if found["cache"]["trouble"]:
        lines.append(
            f"compiled kernels are not kept: {found['cache']['trouble']}; set PRISM_CACHE_DIR to a folder of your own"
        )
    return lines


def _unusable(artifacts: Mapping[str, Any]) -> list[str]:
    """Return what to do about artifacts that are there, and of no use."""
    lines, by_arch = [], artifacts["architectures"]
    if by_arch and artifacts["trouble"]:
        lines.append(f"what is compiled ahead of time can't be used: {artifacts['trouble']}")
    stale = [arch for arch, facts in by_arch.items() if not facts["current"]]
    if stale:
        lines.append(f"what is compiled ahead of time for {', '.join(stale)} is of other sources: run prism build")
    return lines


def _ready(arch: str, shipping: Mapping[str, Any]) -> bool:
    from prism.runtime.artifacts import runs_on

    return any(target in shipping for target in runs_on(arch))


def describe(found: Mapping[str, Any]) -> str:
    """Return what was found, as text."""
    prism, gpu, stored = found["prism"], found["gpus"], found["cache"]
    packages = ", ".join(f"{name} {version}" for name, version in found["packages"].items() if version)
    lines = [
        f"prism      {prism['version']}, {prism['folder']}",
        f"python     {prism['python']}, {prism['system']}",
        f"packages   {packages}",
        f"compiler   {'NVRTC ' + found['compiler']['nvrtc'] if found['compiler']['nvrtc'] else 'none'}",
        f"driver     {'CUDA ' + gpu['driver'] if gpu['driver'] else 'none: ' + gpu['why']}",
    ]
    for one in gpu["devices"]:
        what = one.get("why") or f"{one['name']}, {one['arch']}, {one['multiprocessors']} multiprocessors"
        lines.append(f"GPU {one['ordinal']}      {what}")
    by_arch = found["artifacts"]["architectures"]
    for arch, facts in by_arch.items():
        old = "" if facts["current"] else ", of other sources"
        size = f"{facts['bytes'] / 2**20:.1f} MiB in {facts['packs']} packs of {facts['packed'] / 2**20:.1f}"
        lines.append(f"{arch:10} {facts['kernels']} kernels ahead of time, {size}{old}")
    if not by_arch:
        lines.append("artifacts  none: kernels are compiled at their first use")
    where = stored["folder"] or "no folder"
    size = f"{stored['entries']} kernels, {stored['bytes'] / 2**20:.1f} of at most {stored['limit'] / 2**20:.0f} MiB"
    lines.append(f"cache      {where}: {size}")
    return "".join(f"{line}\n" for line in [*lines, *(f"=> {line}" for line in found["advice"])])
