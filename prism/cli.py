"""The `prism` command: check, explain and emit kernels from a file, build the package's artifacts."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from prism.lang.diagnostics import CompileError, InternalError
from prism.lang.surface import Kernel

USAGE_ERROR = 2


class CommandError(Exception):
    """A command that cannot be carried out as typed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0 done, 1 the program breaks a rule, 2 the command itself is wrong."""
    options = parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        return code
    except CompileError as error:
        print(error.render(colour=sys.stderr.isatty()), file=sys.stderr)
        return 1
    except (CommandError, InternalError) as error:
        print(f"prism: {error}", file=sys.stderr)
        return USAGE_ERROR


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    top = argparse.ArgumentParser(
        prog="prism",
        description="Check, explain and compile GPU kernels written in Prism. Needs no GPU.",
        epilog="A kernel is named FILE:NAME (scan.py:scan_kernel) or MODULE:NAME (prism.kernels.scan:scan_kernel).",
    )
    top.add_argument("--version", action="version", version=f"prism {importlib.import_module('prism').__version__}")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, run, text in (
        ("check", run_check, "check a kernel against the rules, and infer its barriers"),
        ("explain", run_explain, "print a kernel's source with the inferred barriers in place, and why each is there"),
        ("emit", run_emit, "print the CUDA C++ of a kernel, which stands alone"),
    ):
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        command.add_argument("kernel", metavar="FILE:KERNEL", help="a file or module, a colon, and the kernel's name")
        command.add_argument(
            "-t", "--template", action="append", default=[], metavar="NAME=VALUE",
            help="a template argument: a number, true or false, a dtype (int32), or a function as MODULE:NAME; may be repeated. "
            "Without any, the file's `EXAMPLES[kernel name]` is used where there is one",
        )  # fmt: skip
        if name == "check":
            command.add_argument(
                "--unsafe", action="store_true", help="list every `unsafe` and `extern` that it relies on"
            )
            run_arguments(command)
        if name == "explain":
            command.add_argument(
                "--count",
                action="store_true",
                help="only how many barriers a thread meets, once and in each loop's trip",
            )
            command.add_argument(
                "--arch", metavar="sm_90a", help="compile it, to tell the registers a thread (a page: sm_90a anyway)"
            )
        also = "; a page where it ends in .html" if name == "explain" else ""
        command.add_argument("-o", "--output", type=Path, help=f"write to this file instead of the terminal{also}")
        command.set_defaults(run=run)
    build = commands.add_parser("build", help="compile the library's kernels into the package, ahead of time",
                                description="Compile the library's kernels into the package, ahead of time.")  # fmt: skip
    build.add_argument(
        "--arch", action="append", metavar="sm_90a", help="an architecture; may be repeated (default: sm_90a)"
    )
    build.add_argument("--output", type=Path, help="the folder to write (default: the package's own artifacts)")
    build.set_defaults(run=run_build)
    return top


def run_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options that run a kernel on the reference machine."""
    runs = command.add_argument_group(
        "running it", "On the reference machine, which needs no GPU and reports every race, deadlock and access out of bounds. "
        "A seed decides the schedule, and the arguments that are not given.",
    )  # fmt: skip
    runs.add_argument("--schedules", type=int, metavar="N", help="run the kernel under N schedules")
    runs.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="S",
        help="the first schedule's seed; the next ones count up (default: 0)",
    )
    runs.add_argument("--blocks", type=int, metavar="N", help="blocks of a launch (default: the fewest above one)")
    runs.add_argument(
        "--threads", type=int, metavar="N", help="threads a block (default: as `requires` says, but at least two warps)"
    )
    runs.add_argument(
        "-a", "--arguments", action="append", default=[], metavar="NAME=VALUE,...",
        help="arguments: a number, or memory as [1024] or int32[1024], with :0, :range or :random for what is in it; may be "
        "repeated. Memory of no given size is as large as the kernel reaches, numbers are random",
    )  # fmt: skip


def run_check(options: argparse.Namespace) -> int:
    """`prism check`: say what was checked and how many barriers it has; with `--schedules`, run it too."""
    if options.schedules is not None:
        return run_schedules(options)
    program = program_of(options)
    barriers = sum(len(plan.barriers) for plan in program.plans.values())
    shared = program.layouts[program.entry].bytes
    listed = "".join(f"{line}\n" for line in trusted(program)) if options.unsafe else ""
    write(options, f"{program.entry.name}: {len(program.functions)} functions checked, {barriers} barriers inferred, "
                   f"{shared} bytes of shared memory\n{listed}")  # fmt: skip
    return 0


def run_schedules(options: argparse.Namespace) -> int:
    """`prism check --schedules N`: what the reference machine finds; 1 where it finds a fault."""
    from prism import explore

    try:
        told = explore.given(options.arguments)
        program = program_of(options, told)
        shape = explore.shape_of(program, options.blocks, options.threads)
        report = explore.explore(program, shape, told, options.schedules, options.seed)
    except explore.InputError as error:
        raise CommandError(str(error)) from None
    command = " ".join(shlex.quote(part) for part in (options.kernel, *(f"-t{text}" for text in options.template)))
    write(options, explore.described(program, report, command))
    return 1 if report.findings else 0


def trusted(program: Any) -> list[str]:
    """Return a line for each text that the program takes at its word."""
    from prism.lang.place import statements
    from prism.lang.tree import Unsafe

    found = [
        (function, st) for function in program.functions for st in statements(function.body) if isinstance(st, Unsafe)
    ]
    lines = []
    for function, st in found:
        kind = "extern" if st.span == function.span else "unsafe"
        effects = [f"{k} {e.symbol.name}" for e, k in st.accesses] + [f"write {s.name}" for s in st.writes]
        how = "declared" if st.listed else "from its text"
        meaning = "has a meaning on the CPU" if st.meaning is not None else "no meaning on the CPU"
        text = " ".join(st.text.split())
        lines.append(
            f"{st.span.file}:{st.span.line}: {kind} in {function.name}: {text if len(text) < 60 else text[:57] + '...'}"
        )
        lines.append(f"    {', '.join(effects) or 'touches nothing'} ({how}); {meaning}")
    return lines or ["no unsafe text, no extern functions"]


def run_explain(options: argparse.Namespace) -> int:
    """`prism explain`: the source with its barriers, as text or as a page; or their numbers alone."""
    from prism.compiler import DEFAULT_ARCH, resources
    from prism.lang.explain import Resources, account, counted, explain, explain_page

    program = program_of(options)
    page = options.output is not None and options.output.suffix in (".html", ".htm")
    arch = options.arch or (DEFAULT_ARCH if page and not options.count else None)
    try:
        said = None if arch is None else resources(program, arch)
    except ValueError as error:
        raise CommandError(str(error)) from None
    if options.count:
        write(options, counted(account(program)))
    elif page and said is not None:
        write(options, explain_page(program, said))
    else:
        write(options, explain(program, said if isinstance(said, Resources) else None) + "\n")
    return 0


def run_emit(options: argparse.Namespace) -> int:
    """`prism emit`: the CUDA C++."""
    from prism.lang.emit import emit

    write(options, emit(program_of(options)).source)
    return 0


def run_build(options: argparse.Namespace) -> int:
    """`prism build`: artifacts for the library's kernels."""
    from prism.lib.artifacts import build

    for line in build(options.arch or ["sm_90a"], folder=options.output):
        print(line, flush=True)
    return 0


def write(options: argparse.Namespace, text: str) -> None:
    """Print, or write the file that `-o` names."""
    if options.output is None:
        sys.stdout.write(text)
    else:
        options.output.write_text(text, encoding="utf-8")


# -- kernels and template arguments ---------------------------------------------------------------------------------------


def program_of(options: argparse.Namespace, told: Mapping[str, Any] | None = None) -> Any:
    """Return the program that the command names; arguments `told` with a dtype give the template's dtypes."""
    from prism.compiler import check

    module, kernel = find(options.kernel)
    template = dict(argument(module, text) for text in options.template)
    example = dict(getattr(module, "EXAMPLES", {}).get(kernel.__name__, {}))
    if told:
        template = deduced(kernel, told, template, example)
    return check(kernel, template or example)


def deduced(
    kernel: Kernel, told: Mapping[str, Any], template: dict[str, Any], example: dict[str, Any]
) -> dict[str, Any]:
    """Return the template arguments: those given, those that the arguments' dtypes imply, then the example's."""
    from prism import explore, launcher
    from prism.lang.check import parsed_of

    names = [parameter.name for parameter in parsed_of(kernel).parameters]
    dtypes = [told[name].dtype if name in told else None for name in names]
    samples = [0 if dtype is None else explore.sample(dtype) for dtype in dtypes]
    implied = launcher.deduced(kernel, samples, template)
    return implied if template or not example else {**example, **implied}


def find(name: str) -> tuple[ModuleType, Kernel]:
    """Return the module and the kernel that `FILE:NAME` or `MODULE:NAME` names."""
    place, _, kernel_name = name.rpartition(":")
    if not place:
        raise CommandError(f"name a kernel as FILE:NAME, not {name!r}")
    module = load(place)
    found = getattr(module, kernel_name, None)
    if not isinstance(found, Kernel):
        have = ", ".join(n for n, value in vars(module).items() if isinstance(value, Kernel)) or "none"
        raise CommandError(f"{place} has no kernel {kernel_name!r}; it has: {have}")
    return module, found


def load(place: str) -> ModuleType:
    """Import a file or a module."""
    path = Path(place)
    if path.suffix != ".py":
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            raise CommandError(f"no module {place!r}: {error}") from None
    if not path.is_file():
        raise CommandError(f"no file {place}")
    inside = importable(path)
    if inside is not None:
        return importlib.import_module(inside)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{place} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.resolve().parent))
    spec.loader.exec_module(module)
    return module


def importable(path: Path) -> str | None:
    """Return the name by which a file of this package's own is imported: `kernels/scan/x.py` is `prism.kernels.scan.x`."""
    for name in ("prism.kernels", "prism.lib"):
        part = importlib.import_module(name)
        for root in part.__path__:
            resolved = path.resolve()
            if resolved.is_relative_to(Path(root).resolve()):
                parts = resolved.relative_to(Path(root).resolve()).with_suffix("").parts
                return ".".join((name, *parts)).removesuffix(".__init__")
    return None


def argument(module: ModuleType, text: str) -> tuple[str, object]:
    """Return the name and value of `NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not equals:
        raise CommandError(f"a template argument is written NAME=VALUE, not {text!r}")
    if value.lower() in ("true", "false"):
        return name, value.lower() == "true"
    for convert in (int, float):
        try:
            return name, convert(value)
        except ValueError:
            continue
    if ":" in value:
        return name, find(value)[1]
    return name, getattr(module, value, value)


if __name__ == "__main__":
    raise SystemExit(main())
