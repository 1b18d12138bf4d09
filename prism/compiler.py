"""`prism.check`, `prism.compile`, `prism.explain`, `prism.source`: what the compiler does, as functions."""

from __future__ import annotations

import builtins
import html
import itertools
import linecache
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from prism.lang.diagnostics import CompileError
from prism.lang.intrinsics.declaration import OLDEST_ARCH, supports
from prism.lang.keep.memo import lazy_property
from prism.lang.lower.limits import check_architecture
from prism.lang.pipeline import build
from prism.lang.surface import Kernel
from prism.lang.tree.plan import Program
from prism.runtime.keys import ARCH

if TYPE_CHECKING:
    from prism.lang.skeleton import Certified

DEFAULT_ARCH = "sm_90a"


@dataclass(frozen=True)
class Compiled:
    """A kernel compiled for one architecture; the parts are made when they are first asked for.

    `cuda` is the CUDA C++ text, `ptx` the compiler's text, `cubin` the machine code, `registers` and `spills` what ptxas says,
    `shared_bytes` the dynamic shared memory, `program` the checked tree with its synchronisation plan. A notebook shows it as the
    page of `explain(html=True)`.
    """

    program: Program
    arch: str

    @lazy_property
    def entry(self) -> Any:
        """The runtime's view of the kernel."""
        from prism.runtime.build import entry_of

        return entry_of(self.program, self.arch)

    @lazy_property
    def cuda(self) -> str:
        """The CUDA C++ text, which stands alone."""
        text: str = self.entry.source
        return text

    @lazy_property
    def cubin(self) -> bytes:
        """The machine code: from the package's artifacts, the user's cache, or compiled now; needs no GPU."""
        from prism.runtime.code import machine_code

        return machine_code(self.cuda, self.arch)

    @lazy_property
    def ptx(self) -> str:
        """The PTX: what the compiler makes of the text before the assembler."""
        from prism.runtime.compile import compile_ptx

        return compile_ptx(self.cuda, self.arch)

    @lazy_property
    def binary(self) -> Any:
        """What the assembler made and said, compiled now: a `prism.runtime.compile.Binary`."""
        from prism.runtime.compile import compile_cubin

        return compile_cubin(self.cuda, self.arch)

    @lazy_property
    def certificate(self) -> Certified:
        """What is claimed of the kernel's barriers, whose `str` is the text, and as `finding` what the checker says of it."""
        from prism.lang.skeleton import certificate_of

        return certificate_of(self.program)

    @property
    def registers(self) -> int:
        """Registers a thread."""
        return int(self.binary.registers)

    @property
    def spills(self) -> int:
        """Bytes of registers spilled to local memory, a thread."""
        return int(self.binary.spills)

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block, in bytes."""
        return int(self.entry.shared_bytes)

    def explain(self, *, html: bool = False) -> str:
        """Return the source with its inferred barriers, and why each is there; `html`: as a page, which has the registers too."""
        from prism.explanation import explain, explain_page

        return explain_page(self.program, resources(self.program, self.arch)) if html else explain(self.program)

    def _repr_html_(self) -> str:
        """The explained source, for a notebook."""
        return frame_page(self.explain(html=True))


_numbers = itertools.count(1)


def source(text: str, /, **names: Any) -> ModuleType:
    """Return a module that is made from a text. Its kernels are compiled from the text, and errors show its lines.

    In the text you can use the names of `prism.lang`, and those that you give. It may import others. It may be indented
    as a whole.

    Raises
    ------
    SyntaxError
        The text is not Python. What running the text raises comes through, too.

    Examples
    --------
    >>> scale = prism.source('''
    ...     @kernel
    ...     @requires(grid[1], thread[1])
    ...     def scale(x: ptr(float32) @ grid[1], a: float32 @ grid[1]):
    ...         with partition(x, thread[1], id()) as mine, group(thread[1]):
    ...             mine[0] *= a
    ... ''').scale
    """
    from prism import lang

    if not isinstance(text, str):
        raise TypeError(f"`prism.source` takes the text of a module, not {type(text).__qualname__}")
    text = textwrap.dedent(text)
    module = ModuleType(f"prism_source_{next(_numbers)}")
    module.__file__ = file = f"<{module.__name__}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    vars(module).update({name: getattr(lang, name) for name in lang.__all__}, **names)
    exec(builtins.compile(text, file, "exec", dont_inherit=True), vars(module))
    return module


def check(kernel: Kernel, template: Mapping[str, object] | None = None) -> Program:
    """Check a kernel or device function, infer its barriers, and return the program; nothing is compiled.

    `template` gives its template arguments: dtypes (NumPy's, Python's or Prism's), numbers, device functions.
    Raises CompileError: with `.code`, `.rule`, `.span`, `.notes`, `.help`, and `.errors` where there are several.
    """
    require_kernel(kernel)
    require_template(template)
    try:
        return build(kernel, template)
    except CompileError as error:
        error.__traceback__ = None  # it says where the kernel is wrong: frames end with the caller's
        raise


def compile(kernel: Kernel, template: Mapping[str, object] | None = None, arch: str = DEFAULT_ARCH) -> Compiled:
    """Compile a kernel for an architecture such as `sm_90a`; needs no GPU.

    Raises CompileError for a program that breaks a rule, or that needs a later architecture (code `arch`), ValueError for an
    unknown architecture, TypeError for anything but a kernel.
    """
    require_kernel(kernel)
    require_template(template)
    if kernel.kind != "global":
        raise TypeError(f"`{kernel.__name__}` is a device function; compile a kernel that calls it")
    if not isinstance(arch, str):
        raise TypeError(f"an architecture is text, as in 'sm_90a', not {type(arch).__qualname__}")
    if not ARCH.fullmatch(arch):
        raise ValueError(f"an architecture is written as in `sm_90a`, not {arch!r}")
    if not supports(arch, OLDEST_ARCH):
        raise ValueError(f"the oldest architecture that kernels are for is `{OLDEST_ARCH}`: {arch!r} is none of them")
    try:
        program = build(kernel, template)
        check_architecture(program, arch)
    except CompileError as error:
        error.__traceback__ = None
        raise
    return Compiled(program, arch)


def explain(
    kernel: Kernel, template: Mapping[str, object] | None = None, *, html: bool = False, arch: str | None = None
) -> str:
    """Return a kernel's source with its inferred barriers in place, what forces each, and what needed none.

    `html`: as a page that stands alone, with the graph of the accesses and the map of shared memory as pictures. With `arch`,
    such as `sm_90a`, the kernel is compiled for it, and the explanation has the registers a thread.
    """
    from prism.explanation import Resources, explain_page
    from prism.explanation import explain as explain_program

    try:
        program = check(kernel, template)
        said = None if arch is None else resources(program, arch)
    except CompileError as error:
        error.__traceback__ = None
        raise
    if html:
        return explain_page(program) if said is None else explain_page(program, said)
    return explain_program(program, said if isinstance(said, Resources) else None)


def notebook_html(kernel: Kernel) -> str:
    """Return what a notebook shows of a kernel: the page of its explanation in a frame, or the message of its error.

    A kernel with a template is shown with its file's `EXAMPLES`; where there are none, its name and its template.
    """
    from prism.explanation import explain_page

    examples = kernel.python.__globals__.get("EXAMPLES")
    template = examples.get(kernel.__name__, {}) if isinstance(examples, dict) else {}
    if not kernel.template.keys() - kernel.defaults.keys() <= set(template):
        wants = ", ".join(kernel.template)
        return (
            f"<code>{html.escape(kernel.__name__)}</code>: explained by <code>prism.explain(kernel, {{{wants}}})</code>"
        )
    try:
        return frame_page(explain_page(build(kernel, template)))
    except CompileError as error:
        return f"<pre>{html.escape(error.render())}</pre>"


def frame_page(page: str) -> str:
    """Return a page in a frame of its own, so that its style and a notebook's leave each other alone."""
    return f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: 40em; border: 1px solid #8888"></iframe>'


def resources(program: Program, arch: str) -> Any:
    """Return what compiling a program for an architecture says of its registers and stack, or as text why nothing is known.

    Raises CompileError for a program that needs a later architecture, ValueError for an unknown one.
    """
    from prism.explanation import Resources
    from prism.runtime.compile import MissingCompiler

    if program.entry.kind != "global":
        return "those of its callers: a device function is compiled into them"
    check_architecture(program, arch)
    try:
        binary = Compiled(program, arch).binary
    except MissingCompiler:
        return "not known: NVRTC, which compiles kernels, is not on this machine"
    return Resources(binary.arch, binary.registers, binary.stack, binary.spills)


def require_template(template: object) -> None:
    """Raise TypeError for what is no dict of template arguments."""
    if not isinstance(template, Mapping | None):
        raise TypeError(f"`template` must be a dict of template arguments, not {type(template).__qualname__}")


def require_kernel(kernel: object) -> None:
    """Raise TypeError for what is no kernel."""
    if not isinstance(kernel, Kernel):
        kind = type(kernel).__name__
        raise TypeError(f"expected a function marked @prism.kernel or @prism.device, not {kind}")
