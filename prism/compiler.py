"""`prism.check`, `prism.compile`, `prism.explain`: what the compiler does, as functions."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prism.lang.pipeline import build, check_architecture
from prism.lang.plan import Program
from prism.lang.surface import Kernel

DEFAULT_ARCH = "sm_90a"


@dataclass(frozen=True)
class Compiled:
    """A kernel compiled for one architecture; the parts are made when they are first asked for.

    `cuda` is the CUDA C++ text, `cubin` the machine code, `registers` and `spills` what ptxas says, `shared_bytes` the dynamic
    shared memory, `program` the checked tree with its synchronisation plan.
    """

    program: Program
    arch: str

    @functools.cached_property
    def entry(self) -> Any:
        """The runtime's view of the kernel."""
        from prism.runtime.build import entry_of

        return entry_of(self.program, self.arch)

    @functools.cached_property
    def cuda(self) -> str:
        """The CUDA C++ text, which stands alone."""
        text: str = self.entry.source
        return text

    @functools.cached_property
    def cubin(self) -> bytes:
        """The machine code: from the package's artifacts, the user's cache, or compiled now; needs no GPU."""
        from prism.runtime.code import machine_code

        return machine_code(self.cuda, self.arch)

    @functools.cached_property
    def _binary(self) -> Any:
        from prism.runtime.compile import compile_cubin

        return compile_cubin(self.cuda, self.arch)

    @property
    def registers(self) -> int:
        """Registers a thread."""
        return int(self._binary.registers)

    @property
    def spills(self) -> int:
        """Bytes of registers spilled to local memory, a thread."""
        return int(self._binary.spills)

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block, in bytes."""
        return int(self.entry.shared_bytes)

    def explain(self, *, html: bool = False) -> str:
        """Return the source with its inferred barriers, and why each is there; `html`: as a page, which has the registers too."""
        from prism.lang.explain import explain, explain_page

        return explain_page(self.program, resources(self.program, self.arch)) if html else explain(self.program)


def check(kernel: Kernel, template: Mapping[str, object] | None = None) -> Program:
    """Check a kernel or device function, infer its barriers, and return the program; nothing is compiled.

    `template` gives its template arguments: dtypes (NumPy's, Python's or Prism's), numbers, device functions.
    Raises CompileError: with `.code`, `.rule`, `.span`, `.notes`, `.help`, and `.errors` where there are several.
    """
    require_kernel(kernel)
    return build(kernel, template)


def compile(kernel: Kernel, template: Mapping[str, object] | None = None, arch: str = DEFAULT_ARCH) -> Compiled:
    """Compile a kernel for an architecture such as `sm_90a`; needs no GPU.

    Raises CompileError for a program that breaks a rule, or that needs a later architecture (code `arch`), ValueError for an
    unknown architecture, TypeError for anything but a kernel.
    """
    require_kernel(kernel)
    if kernel.kind != "global":
        raise TypeError(f"`{kernel.__name__}` is a device function; compile a kernel that calls it")
    program = build(kernel, template)
    check_architecture(program, arch)
    return Compiled(program, arch)


def explain(
    kernel: Kernel, template: Mapping[str, object] | None = None, *, html: bool = False, arch: str | None = None
) -> str:
    """Return a kernel's source with its inferred barriers in place, what forces each, and what needed none.

    `html`: as a page that stands alone, with the graph of the accesses and the map of shared memory as pictures. With `arch`,
    such as `sm_90a`, the kernel is compiled for it, and the explanation has the registers a thread.
    """
    from prism.lang.explain import Resources, explain_page
    from prism.lang.explain import explain as explain_program

    program = check(kernel, template)
    said = None if arch is None else resources(program, arch)
    if html:
        return explain_page(program) if said is None else explain_page(program, said)
    return explain_program(program, said if isinstance(said, Resources) else None)


def resources(program: Program, arch: str) -> Any:
    """Return what compiling a program for an architecture says of its registers and stack, or as text why nothing is known.

    Raises CompileError for a program that needs a later architecture, ValueError for an unknown one.
    """
    from prism.lang.explain import Resources
    from prism.runtime.compile import MissingCompiler

    if program.entry.kind != "global":
        return "those of its callers: a device function is compiled into them"
    check_architecture(program, arch)
    try:
        binary = Compiled(program, arch)._binary
    except MissingCompiler:
        return "not known: NVRTC, which compiles kernels, is not on this machine"
    return Resources(binary.arch, binary.registers, binary.stack, binary.spills)


def require_kernel(kernel: object) -> None:
    """Raise TypeError for what is no kernel."""
    if not isinstance(kernel, Kernel):
        kind = type(kernel).__name__
        raise TypeError(f"expected a function marked @prism(...), not {kind}")
