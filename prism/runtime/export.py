"""A compiled kernel for other programs: machine code with a JSON that says how it is launched, and a header for C++."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from prism.lang.cuda.names import comment, function_name, variable_name
from prism.lang.emit.launch_text import launch_text
from prism.lang.facts.rooms import APART, Sized
from prism.lang.types.structs import Struct
from prism.runtime.arguments import argument_layout
from prism.runtime.compile import Binary
from prism.runtime.entry import Entry, EntryParameter
from prism.runtime.launch import GRID_WORD

FORMAT = "prism-export-1"
STATIC_LIMIT = 48 << 10
"""Bytes of dynamic shared memory that a kernel can have without being asked for."""

_C = {
    "bool": "bool", "int8": "std::int8_t", "int16": "std::int16_t", "int32": "std::int32_t", "int64": "std::int64_t",
    "uint8": "std::uint8_t", "uint16": "std::uint16_t", "uint32": "std::uint32_t", "uint64": "std::uint64_t",
    "float32": "float", "float64": "double",
}  # fmt: skip


def description(entry: Entry, binary: Binary, cubin: str, safety: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return how an exported kernel is launched, as JSON takes it (docs/command_line.md has the format).

    `cubin` is the name of the file with its machine code; `safety` what is known of its safety.
    """
    parameters = (*entry.parameters, *(GRID_WORD if entry.cooperative else ()))
    return {
        "format": FORMAT,
        "name": entry.name,
        "arch": entry.arch,
        "cubin": cubin,
        "sha256": hashlib.sha256(binary.cubin).hexdigest(),
        "compiler": f"NVRTC {binary.compiler}",
        "registers": binary.registers,
        "stack": binary.stack,
        "spills": binary.spills,
        "shared_bytes": entry.shared_bytes,
        "sized": [
            {"name": one.name, "bytes": one.bytes, "length": _length(one, [p.name for p in entry.parameters])}
            for one in entry.sized
        ],
        "thread_multiple": entry.thread_multiple,
        "block_multiple": entry.block_multiple,
        "max_threads": entry.max_threads,
        "grid_threads": entry.grid_threads,
        "block_threads": entry.block_threads,
        "cooperative": entry.cooperative,
        "assumed": [{"text": each.text, "line": each.line} for each in entry.assumed],
        "parameters": [
            {"name": p.name, "kind": p.kind, "dtype": p.dtype, "const": p.const, "offset": offset, "size": size}
            | ({"box": list(p.box), "swizzle": p.swizzle} if p.kind == "map" else {})
            for p, (offset, size) in zip(parameters, argument_layout(parameters), strict=True)
        ],
        "safety": safety,
    }


def header(entry: Entry) -> str:
    """Return a header with which C++ launches the kernel, whose CUDA text is compiled by itself and linked.

    It has one function, `prism::launch_NAME(blocks, threads, stream, ...)`, which checks the launch against the kernel's bound.
    """
    taken: set[str] = set()
    parameters = [(p, variable_name(p.name, taken)) for p in entry.parameters]
    if entry.cooperative:
        parameters.append((GRID_WORD[0], "grid_word"))
    listed = "".join(f",\n        {_declaration(p, name)}" for p, name in parameters)
    pointers = ", ".join(_address(p, name) for p, name in parameters)
    maps = "#include <cuda.h>  // CUtensorMap\n" if any(p.kind == "map" for p in entry.parameters) else ""
    size = "shared_bytes" if entry.sized else str(entry.shared_bytes)
    shared = _sizes(entry, [name for _, name in parameters])
    if entry.sized or entry.shared_bytes > STATIC_LIMIT:
        shared += f"""    if (cudaError_t status = cudaFuncSetAttribute(
            function, cudaFuncAttributeMaxDynamicSharedMemorySize, {size})) return status;
"""
    launch = "cudaLaunchCooperativeKernel" if entry.cooperative else "cudaLaunchKernel"
    limits = [f"threads < 1 || threads > {entry.max_threads}", "blocks < 1"]
    for what, multiple in (("threads", entry.thread_multiple), ("blocks", entry.block_multiple)):
        if multiple is not None and multiple > 1:
            limits.append(f"{what} % {multiple} != 0")
    if entry.block_threads is not None:
        limits.append(f"threads != {entry.block_threads}")
    if entry.grid_threads is not None:
        limits.append(f"1ull * blocks * threads > {entry.grid_threads}ull")
    return f"""// Launches `{comment(entry.title)}`. Made by `prism emit --header`; the kernel is what `prism emit` writes:
// compile that as a file of its own, with nvcc -arch={entry.arch} -c, and link. This header needs no nvcc.
#pragma once
#include <cstdint>
{maps}#include <cuda_runtime_api.h>

extern "C" void {entry.name}();  // stands for the kernel; not to be called

namespace prism {{

{_comment(entry)}
inline cudaError_t {function_name(entry.title, (), "launch_")}(
        unsigned blocks, unsigned threads, cudaStream_t stream{listed}) {{
    if ({" || ".join(limits)}) return cudaErrorInvalidConfiguration;
    const void* function = reinterpret_cast<const void*>(&{entry.name});
{shared}    void* arguments[] = {{{pointers or "nullptr"}}};
    return {launch}(function, dim3(blocks), dim3(threads), arguments, {size}, stream);
}}

}}  // namespace prism
"""


def _length(one: Sized, names: Sequence[str]) -> str:
    return launch_text(one.code, names, "blocks", "threads")


def _sizes(entry: Entry, names: Sequence[str]) -> str:
    """Return what computes the shared memory of a launch, where that sizes objects."""
    lines = [f"    std::uint64_t shared_bytes = {entry.shared_bytes};"] if entry.sized else []
    for one in entry.sized:
        length = _length(one, names)
        lines.append(
            f"    if ({length} < 0) return cudaErrorInvalidConfiguration;  // the length of `{comment(one.name)}`"
        )
        lines.append(
            f"    shared_bytes = (shared_bytes + {APART - 1}) / {APART} * {APART} + std::uint64_t({length}) * {one.bytes};"
        )
    return "".join(f"{line}\n" for line in lines)


def _comment(entry: Entry) -> str:
    lines = [f"Enqueue `{entry.title}` on a stream. Pointers are to memory of the device."]
    if entry.thread_multiple is not None and entry.thread_multiple > 1:
        lines.append(f"`threads` a block: a multiple of {entry.thread_multiple}, at most {entry.max_threads}.")
    if entry.block_multiple is not None and entry.block_multiple > 1:
        lines.append(f"`blocks`: a multiple of {entry.block_multiple}.")
    if entry.cooperative:
        lines.append(
            "All blocks must run at once. `grid_word`: a word of device memory, zero at first, that no other launch uses."
        )
    lines += [
        f"`{p.name}`: {p.dtype}, the bits of it." for p in entry.parameters if p.kind != "map" and p.dtype in _BITS
    ]
    lines += [f"What the kernel assumes, and nothing checks here: `{each.text}`." for each in entry.assumed]
    lines.append(
        "Returns cudaErrorInvalidConfiguration, and launches nothing, where the kernel does not admit the launch."
    )
    return "\n".join(f"/// {comment(line)}" for line in lines)


_BITS = {
    "float8_e4m3fn": "std::uint8_t",
    "float8_e5m2": "std::uint8_t",
    "float16": "std::uint16_t",
    "bfloat16": "std::uint16_t",
}


def _declaration(parameter: EntryParameter, name: str) -> str:
    if parameter.kind == "map":
        return f"const CUtensorMap& {name}"
    const = "const " if parameter.const else ""
    if parameter.kind == "pointer":
        return f"{const}{_C.get(parameter.dtype, 'void')}* {name}"
    if isinstance(parameter.scalar, Struct):
        return f"const void* {name} /* its {parameter.scalar.bytes} bytes */"
    return f"{_C.get(parameter.dtype) or _BITS[parameter.dtype]} {name}"


def _address(parameter: EntryParameter, name: str) -> str:
    if parameter.kind == "map":
        return f"const_cast<CUtensorMap*>(&{name})"
    if parameter.kind == "scalar" and isinstance(parameter.scalar, Struct):
        return f"const_cast<void*>({name})"
    return f"&{name}"
