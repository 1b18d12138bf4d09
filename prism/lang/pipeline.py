"""The stages in order: parse, instantiate, check, place, sync. `build` is the way from a kernel to a program."""

from __future__ import annotations

from collections.abc import Mapping

from prism.lang import surface
from prism.lang.check import check
from prism.lang.check.env import fail
from prism.lang.emit import allocate_named
from prism.lang.errors import calls as errors
from prism.lang.place import place
from prism.lang.plan import Layout, Program
from prism.lang.sync import plan
from prism.lang.tree import Function


def build(kernel: surface.Kernel, template: Mapping[str, object] | None = None) -> Program:
    """Return the checked and synchronised program of a kernel or device function. Raises CompileError."""
    functions = check(kernel, template)
    layouts: dict[Function, Layout] = {}
    for function in functions:
        layouts[function] = place(function, layouts)
        check_shared_limit(function, layouts[function])
    program = Program(functions[-1], functions, plan(functions, layouts), layouts)
    try:
        allocate_named(program)
    except ValueError:
        fail(errors.NamedBarriers(span=program.entry.span, name=program.entry.name))
    return program


def check_shared_limit(function: Function, layout: Layout) -> None:
    """R16 CALL-SMEM: a function and its callees use no more shared memory than its `requires` says."""
    if function.shared_limit is not None and layout.bytes > function.shared_limit:
        fail(
            errors.CallSharedMemory(
                span=function.span, name=function.name, needs=layout.bytes, allows=function.shared_limit
            )
        )
