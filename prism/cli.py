"""The `prism` command's grammar; what its commands do is in `prism.command`."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from prism.command.output import BROKEN, DONE, FOUND, INTERRUPTED, WRONG, CommandError, complain
from prism.lang.diagnostics import CompileError, InternalError
from prism.runtime.compile import AssemblerError, MissingCompiler, SlowCodeError

if TYPE_CHECKING:
    Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"

EPILOG = """\
A kernel is named FILE:NAME, as my.py:saxpy for a file of yours, or module:name, as prism.kernels.scan.small:scan_block.

exit status:
  0  done
  1  the program breaks a rule, or running it found a fault
  2  the command can't be carried out as typed, or on this machine
  3  an error of Prism's own, or of the compiler beneath it
  4  `check --strict`: something that must hold is not proved
  130  interrupted, as by Ctrl-C

`prism COMMAND --help` has a command's options, and examples.
"""


EXAMPLES = {
    "check": """\
  prism check prism.kernels.scan.small:scan_block
  prism check my.py:histogram --schedules 5                     on the CPU: races, deadlocks, bounds
  prism check my.py:saxpy --schedules 5 -a 'a=2,x=[1024]:random,y=[1024]:0,n=1000' --blocks 4 --threads 256
  prism check my.py:tile -t T=float32 -t ITEMS=4 --json""",
    "explain": """\
  prism explain prism.kernels.scan.small:scan_block
  prism explain my.py:saxpy -o page.html                        a page, with pictures
  prism explain prism.kernels.scan.small:scan_block --count""",
    "emit": """\
  prism emit my.py:saxpy -o saxpy.cu
  prism emit my.py:saxpy --header -o saxpy.h
  nvcc -arch=sm_90a main.cpp saxpy.cu                           main.cpp includes saxpy.h
  prism emit my.py:saxpy --ptx --arch sm_80""",
    "export": """\
  prism export my.py:saxpy --arch sm_80 -o folder               folder/saxpy-sm_80.cubin, folder/saxpy-sm_80.json""",
    "build": """\
  prism build                                                   for all architectures, into the package
  prism build --arch sm_90a --arch sm_80 --jobs 8
  prism build --arch sm_90a --output folder""",
    "info": """\
  prism info
  prism info --json -o machine.json                             for a report of a bug""",
    "bench": """\
  prism bench                                                   what there is
  prism bench run                                               the dashboard's, into asv_bench/raw; then `make bench`
  prism bench reduce --results results -- --sizes 20,28""",
    "tune": """\
  prism tune scan --keys 4,8 --rounds 5
  prism tune hgemm --keys 4096 -o tables.py
  prism tune hgemm --shapes shapes.txt""",
    "help": """\
  prism help                                                    all pages
  prism help call-bound                                         the page of an error
  prism help partition                                          the page of a construct
  prism help block.scan                                         what `help` says of a collective, or an intrinsic
  prism help two buffers                                        the places that have these words""",
}


class _Help(argparse.HelpFormatter):
    """Help whose examples stay as they are written."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("examples:") else super()._fill_text(text, width, indent)


class _Parser(argparse.ArgumentParser):
    """A parser of which a line that is typed wrongly is a `CommandError`, as all else that is wrong."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message}; `{self.prog} --help` says how it is typed")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code (see `prism.command.output`)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a character of a path shows its number
            stream.reconfigure(errors="backslashreplace")
    if not given:
        parser().print_help(sys.stderr)
        return WRONG
    cut = given.index("--") if "--" in given else len(given)
    options = argparse.Namespace(json="--json" in given[:cut])
    try:
        options = parser().parse_args(given[:cut])
        options.rest = given[cut + 1 :]  # what another program is given
        code: int = options.run(options)
        return code
    except KeyboardInterrupt:
        print("prism: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # who reads the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (CompileError, CommandError, MissingCompiler, InternalError, AssemblerError, SlowCodeError) as error:
        complain(options, error)
        return FOUND if isinstance(error, CompileError) else WRONG if isinstance(error, _TYPED) else BROKEN


_TYPED = (CommandError, MissingCompiler)
"""Errors of the command as it is typed, or of this machine."""


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    top = _Parser(
        prog="prism",
        description="Check, explain and compile GPU kernels written in Prism. Only `bench` and `tune` need a GPU.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"prism {importlib.import_module('prism').__version__}")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    add_check(commands)
    add_explain(commands)
    add_emit(commands)
    add_export(commands)
    add_build(commands)
    add_info(commands)
    add_bench(commands)
    add_tune(commands)
    add_help(commands)
    return top


def add(
    commands: Commands, name: str, run: str, text: str, more: str = "", *, kernel: bool = False
) -> argparse.ArgumentParser:
    """Add a command; `run` names the function of `prism.command` that carries it out, imported when it is."""
    command = commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.{' ' if more else ''}{more}",
        epilog=f"examples:\n{EXAMPLES[name]}",
        formatter_class=_Help,
    )
    if kernel:
        add_kernel(command)
    command.add_argument(
        "--json", action="store_true", help="print one JSON document, of errors too, for other programs"
    )
    command.set_defaults(run=_later(run))
    return command


def _later(name: str) -> Callable[[argparse.Namespace], int]:
    module, _, function = name.partition(":")

    def run(options: argparse.Namespace) -> int:
        code: int = getattr(importlib.import_module(f"prism.command.{module}"), function)(options)
        return code

    return run


def add_kernel(command: argparse.ArgumentParser) -> None:
    """Add what names a kernel."""
    command.add_argument("kernel", metavar="FILE:NAME", help="a file or a module, a colon, and the kernel's name")
    command.add_argument(
        "-t", "--template", action="append", default=[], metavar="NAME=VALUE",
        help="a template argument: a number, true or false, a dtype (int32), or a function as module:name; may be repeated. "
        "Without any, the file's `EXAMPLES[kernel name]` is used where there is one",
    )  # fmt: skip


def add_arch(command: argparse.ArgumentParser) -> None:
    """Add the architecture to compile for."""
    command.add_argument(
        "--arch", default="sm_90a", metavar="ARCH", help="the architecture to compile for (default: sm_90a)"
    )


def add_output(command: argparse.ArgumentParser, also: str = "") -> None:
    """Add the file to write."""
    command.add_argument("-o", "--output", type=Path, help=f"write to this file instead of the terminal{also}")


def add_check(commands: Commands) -> None:
    """Add `prism check`."""
    command = add(commands, "check", "kernels:run_check", "check a kernel against the rules, and infer its barriers",
                  "Says how many functions and barriers there are, and what is not proved or believed.", kernel=True)  # fmt: skip
    command.add_argument(
        "--strict",
        action="store_true",
        help="end with status 4 where something is not proved, or the certificate is rejected",
    )
    command.add_argument(
        "--certificate", action="store_true", help="print the certificate of its barriers, which a checker reads"
    )
    command.add_argument("--unsafe", action="store_true", help="list every `unsafe` and `extern` that it relies on")
    add_output(command)
    runs = command.add_argument_group(
        "running it", "On the reference machine, which needs no GPU and reports every race, deadlock and access out of bounds. "
        "A seed decides the schedule, and the arguments that are not given.",
    )  # fmt: skip
    runs.add_argument("--schedules", type=int, metavar="N", help="run the kernel under N schedules")
    runs.add_argument("--seed", type=int, default=0, metavar="S",
                      help="the first schedule's seed; the next ones count up (default: 0)")  # fmt: skip
    runs.add_argument("--blocks", type=numbers_along, metavar="N[xN]",
                      help="blocks of a launch, as 4, or along axes, as 2x2 (default: the fewest above one)")  # fmt: skip
    runs.add_argument("--threads", type=numbers_along, metavar="N[xN]",
                      help="threads a block, as 64 or 8x8 (default: as `requires` says, but at least two warps)")  # fmt: skip
    runs.add_argument(
        "-a", "--arguments", action="append", default=[], metavar="NAME=VALUE,...",
        help="arguments: a number, or memory as [1024], int32[1024] or [8x8], with :0, :range or :random for what is in it; "
        "may be repeated. Memory of no given size is as large as the kernel reaches, numbers are random",
    )  # fmt: skip


def numbers_along(text: str) -> tuple[int, ...]:
    """Return the numbers along axes of an option."""
    from prism.interpret.shapes import parse_along

    try:
        return parse_along(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_explain(commands: Commands) -> None:
    """Add `prism explain`."""
    command = add(commands, "explain", "kernels:run_explain",
                  "print a kernel's source with the inferred barriers in place, and why each is there", kernel=True)  # fmt: skip
    command.add_argument("--count", action="store_true",
                         help="only how many barriers a thread meets, once and in each loop's trip")  # fmt: skip
    command.add_argument(
        "--arch", metavar="ARCH", help="compile it, to tell the registers a thread (a page: sm_90a anyway)"
    )
    add_output(command, "; a page where it ends in .html")


def add_emit(commands: Commands) -> None:
    """Add `prism emit`."""
    command = add(commands, "emit", "kernels:run_emit", "print the CUDA C++ of a kernel, which stands alone",
                  "nvcc compiles it as it is. `--header` prints a C++ header that launches it.", kernel=True)  # fmt: skip
    what = command.add_mutually_exclusive_group()
    what.add_argument(
        "--header", action="store_true", help="the C++ header instead: one function, which checks the launch"
    )
    what.add_argument("--ptx", action="store_true", help="the PTX instead, for --arch")
    add_arch(command)
    add_output(command)


def add_export(commands: Commands) -> None:
    """Add `prism export`."""
    command = add(commands, "export", "kernels:run_export", "write a kernel's machine code, and how it is launched",
                  "CuPy's RawModule, cuda.core and the driver load the cubin.",
                  kernel=True)  # fmt: skip
    add_arch(command)
    command.add_argument("-o", "--folder", type=Path, default=Path(),
                         help="where to write NAME-ARCH.cubin and NAME-ARCH.json (default: here)")  # fmt: skip


def add_build(commands: Commands) -> None:
    """Add `prism build`."""
    command = add(commands, "build", "machine:run_build", "compile the library's kernels into the package, ahead of time",
                  "Needs no GPU. Compiles what is missing or changed, and gives the same bytes each time.")  # fmt: skip
    command.add_argument("--arch", action="append", metavar="ARCH",
                         help="an architecture; may be repeated (default: all that ship, sm_80 to sm_120)")  # fmt: skip
    command.add_argument("-j", "--jobs", type=int, metavar="N", help="processes (default: one a core)")
    command.add_argument("-q", "--quiet", action="store_true", help="no progress bar")
    command.add_argument("-o", "--output", type=Path, help="the folder to write (default: the package's own artifacts)")


def add_info(commands: Commands) -> None:
    """Add `prism info`."""
    command = add(commands, "info", "machine:run_info", "say what is found here, and what to do about what is missing",
                  "GPUs, driver, compiler, artifacts, cache, versions.")  # fmt: skip
    add_output(command)


def add_bench(commands: Commands) -> None:
    """Add `prism bench`."""
    command = add(commands, "bench", "machine:run_bench", "list the repository's benchmark scripts, or run some",
                  "Arguments behind `--` go to the scripts. They need a GPU.")  # fmt: skip
    command.add_argument(
        "scripts", nargs="*", metavar="SCRIPT", help="which to run; none: list them; `run`: those of the dashboard"
    )
    command.add_argument("--folder", type=Path, help="where they are (default: asv_bench, here or in the checkout)")
    command.add_argument(
        "--results",
        type=Path,
        metavar="FOLDER",
        help="have each write its results here, as SCRIPT.json (of `run`: raw, in the scripts' folder)",
    )


def add_tune(commands: Commands) -> None:
    """Add `prism tune`."""
    command = add(commands, "tune", "tune:run_tune", "choose the library's configurations again, by measuring on this GPU",
                  "Prints the tables to paste. Needs a GPU; minutes for each table.")  # fmt: skip
    command.add_argument("table", nargs="*", metavar="TABLE",
                         help="scan, reduce or hgemm; several may be named (default: scan and reduce)")  # fmt: skip
    command.add_argument("--keys", metavar="KEY,...",
                         help="bytes an element, as 4,8; of hgemm shapes, as 4096,64x8192x8192 (default: all)")  # fmt: skip
    command.add_argument("--shapes", type=Path, metavar="FILE",
                         help="of hgemm: shapes, as 4096x14336x4096 NT, one a line; the best choice of each is kept in the cache "
                              "and taken by later calls on this GPU")  # fmt: skip
    command.add_argument("--device", type=int, default=0, metavar="N", help="the GPU (default: 0)")
    command.add_argument(
        "--rounds", type=int, default=5, metavar="N", help="how often the best are measured (default: 5)"
    )
    add_output(command)


def add_help(commands: Commands) -> None:
    """Add `prism help`."""
    command = add(
        commands, "help", "pages:run_help", "print a page of the documentation, or find words in all pages",
        "Pages are those of errors, constructs, the language, the library and the tutorials. Needs no network.",
    )  # fmt: skip
    command.add_argument("topic", nargs="*", metavar="TOPIC",
                         help="an error's code, a name, a page, or words to look for (default: the list of pages)")  # fmt: skip
    add_output(command)


if __name__ == "__main__":
    raise SystemExit(main())
