"""`prism check`, `explain`, `emit` and `export`: what is done with one kernel. None of them needs a GPU."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prism.command.output import DONE, FOUND, UNPROVED, CommandError, write
from prism.command.progress import Bar
from prism.command.sources import program_of, target
from prism.runtime.keys import ARCH


def run_check(options: argparse.Namespace) -> int:
    """`prism check`: say what was checked, how many barriers it has, and what is not proved; with `--schedules`, run it.

    4 where `--strict` is given and something is not proved, or the certificate is rejected.
    """
    from prism.lang.safety import describe_trusted, describe_verdicts, safety, verdicts
    from prism.lang.skeleton import certificate_of, describe

    if options.schedules is not None:
        return run_schedules(options)
    for name, given in (("--arguments", options.arguments), ("--seed", options.seed)):
        if given:
            raise CommandError(f"`{name}` is of a run: pass `--schedules N`, too, which runs the kernel N times")
    program = program_of(options)
    require_shape(program, options)
    barriers = sum(len(plan.barriers) for plan in program.plans.values())
    shared = program.layouts[program.entry].bytes
    names = [f"`{one.name}`" for one in program.layouts[program.entry].sized.values()]
    sized = f", and {' and '.join(names)} as the launch says" if names else ""
    listed = "".join(f"{line}\n" for line in describe_trusted(program)) if options.unsafe else ""
    said = "".join(f"{line}\n" for line in describe_verdicts(verdicts(program)))
    text = (
        f"{program.entry.name}: {len(program.functions)} functions checked, {barriers} barriers inferred, "
        f"{shared} bytes of shared memory{sized}\n{said}"
    )
    certified = certificate_of(program)
    shown = str(certified) if options.certificate else ""
    text = f"{text}{describe(certified)}\n{listed}{shown}"
    facts = {"kernel": program.entry.name, "shared_bytes": shared, **safety(program)} if options.json else None
    if facts is not None and options.certificate:
        facts = {**facts, "certificate": {**facts["certificate"], "text": shown}}
    write(options, text, facts)
    return strictly(options, program)


def strictly(options: argparse.Namespace, program: Any) -> int:
    """Return the exit status of a check that found no fault."""
    from prism.lang.certify import REJECTED
    from prism.lang.safety import NOT_PROVED, verdicts
    from prism.lang.skeleton import certificate_of

    if not options.strict:
        return DONE
    rejected = certificate_of(program).finding.status == REJECTED
    return UNPROVED if rejected or any(one.status == NOT_PROVED for one in verdicts(program)) else DONE


def require_shape(program: Any, options: argparse.Namespace) -> None:
    """Refuse a number of blocks or threads that the kernel does not take, though nothing is run.

    Raises:
        CommandError: it takes no such launch.
    """
    from prism.interpret import shapes

    if options.blocks is not None or options.threads is not None:
        try:
            shapes.shape_of(program, options.blocks, options.threads)
        except shapes.InputError as error:
            raise CommandError(str(error)) from None


def run_schedules(options: argparse.Namespace) -> int:
    """`prism check --schedules N`: what the reference machine finds; 1 where it finds a fault."""
    from prism.interpret import explore, shapes

    bar = Bar(quiet=options.json, patient=True)
    try:
        told = explore.parse_arguments(options.arguments)
        program = program_of(options, told)
        shape = shapes.shape_of(program, options.blocks, options.threads)
        with contextlib.redirect_stdout(sys.stderr if options.json else sys.stdout):  # what the kernel prints
            report = explore.explore(
                program,
                shape,
                told,
                options.schedules,
                options.seed,
                lambda done, total: bar.show("schedules", done, total),
            )
    except shapes.InputError as error:
        raise CommandError(str(error)) from None
    except MemoryError as error:
        why = f": {error}" if str(error) else ""
        raise CommandError(f"there is not enough memory for the arguments{why}") from None
    finally:
        bar.close()
    command = " ".join(shlex.quote(part) for part in (options.kernel, *(f"-t{text}" for text in options.template)))
    write(options, explore.describe_report(program, report, command), run_facts(program.entry.name, report))
    return FOUND if report.findings else strictly(options, program)


def run_facts(name: str, report: Any) -> Mapping[str, Any]:
    """Return what runs under schedules found, as JSON takes it; `along`: of a kernel that asks about the axes of its launch."""
    blocks, threads = report.shape.along
    findings = [
        {
            "code": found.error.code,
            "message": str(found.error),
            "seed": found.seed,
            "schedule": found.schedule,
            "arguments": found.arguments,
            "times": found.times,
        }
        for found in report.findings
    ]
    return {
        "kernel": name,
        "blocks": report.shape.blocks,
        "threads": report.shape.threads,
        **({"along": {"blocks": blocks, "threads": threads}} if report.shape.axes else {}),
        "seeds": [report.seeds.start, report.seeds.stop],
        "schedules": list(report.schedules),
        "arguments": report.arguments,
        "findings": findings,
    }


def run_explain(options: argparse.Namespace) -> int:
    """`prism explain`: the source with its barriers, as text or as a page; or their numbers alone."""
    from prism.compiler import DEFAULT_ARCH, resources
    from prism.explanation import Resources, account, describe_counts, explain, explain_page

    program = program_of(options)
    page = options.output is not None and options.output.suffix in (".html", ".htm")
    arch = options.arch or (DEFAULT_ARCH if page and not options.count else None)
    said = None if arch is None else resources(program, target(arch))
    if options.json:
        found = account(program) if said is None else account(program, said)
        write(options, "", dataclasses.asdict(found))
    elif options.count:
        write(options, describe_counts(account(program)))
    elif page and said is not None:
        write(options, explain_page(program, said))
    else:
        write(options, explain(program, said if isinstance(said, Resources) else None) + "\n")
    return DONE


def run_emit(options: argparse.Namespace) -> int:
    """`prism emit`: the CUDA C++, the header that launches it, or the PTX."""
    from prism.compiler import Compiled
    from prism.lang.lower.limits import check_architecture
    from prism.runtime.export import header

    program = entry_of(options) if options.header or options.ptx or options.json else program_of(options)
    arch = target(options.arch) if options.ptx else require_spelled(options.arch)
    if options.header or options.ptx or options.json:
        check_architecture(program, arch)
    compiled = Compiled(program, arch)
    if options.json:
        facts = {**compiled.entry.to_json(), "header": header(compiled.entry)}
        write(options, "", {**facts, "ptx": compiled.ptx} if options.ptx else facts)
    elif options.header:
        write(options, header(compiled.entry))
    elif options.ptx:
        write(options, compiled.ptx)
    else:
        from prism.lang.emit import emit
        from prism.lang.pipeline import lower

        write(options, emit(lower(program)).source)
    return DONE


def require_spelled(arch: str) -> str:
    """Return the architecture; what needs no compiler takes any that is spelled as one.

    Raises:
        CommandError: it is no architecture.
    """
    from prism.lang.intrinsics.declaration import OLDEST_ARCH, supports

    if not ARCH.fullmatch(arch):
        raise CommandError(f"an architecture is written as in `sm_90a`, not {arch!r}")
    if not supports(arch, OLDEST_ARCH):
        raise CommandError(f"the oldest architecture that kernels are for is `{OLDEST_ARCH}`: {arch!r} is none of them")
    return arch


def run_export(options: argparse.Namespace) -> int:
    """`prism export`: a cubin, and a JSON beside it that says how it is launched."""
    from prism.compiler import Compiled
    from prism.lang.lower.limits import check_architecture

    program = entry_of(options)
    check_architecture(program, target(options.arch))
    compiled = Compiled(program, options.arch)
    folder: Path = options.folder
    stem = f"{compiled.entry.title}-{options.arch}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{stem}.cubin").write_bytes(compiled.binary.cubin)
        facts = export_json(compiled, f"{stem}.cubin")
        (folder / f"{stem}.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandError(f"can't write into {folder}: {error.strerror}") from None
    lines = f"{folder / stem}.cubin: {len(compiled.binary.cubin)} bytes, {compiled.registers} registers\n{folder / stem}.json\n"
    write(options, lines, facts)
    return DONE


def entry_of(options: argparse.Namespace) -> Any:
    """Return the program of a kernel that can be launched.

    Raises:
        CommandError: it is a device function.
    """
    program = program_of(options)
    if program.entry.kind != "global":
        raise CommandError(f"`{program.entry.name}` is a device function: it is compiled into the kernels that call it")
    return program


def export_json(compiled: Any, cubin: str) -> Mapping[str, Any]:
    """Return the JSON of an exported kernel."""
    from prism.lang.safety import safety
    from prism.runtime.export import description

    return description(compiled.entry, compiled.binary, cubin, safety(compiled.program))
