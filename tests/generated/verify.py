"""What is verified of a generated program: the checker, inferred barriers, three schedules with every check, NVRTC.

`verified` does all but the last; `accepted` gives many programs' texts to NVRTC at once, for most of its time is its start.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Sequence

import prism
from prism.interpret import SCHEDULES, run
from prism.lang.certify import REJECTED
from prism.lang.skeleton import certificate_of
from prism.lang.tree.plan import Program
from prism.runtime.build import entry_of
from prism.runtime.compile import AssemblerError, MachineCodeError, SlowCodeError, compile_cubin
from prism.runtime.entry import Entry
from tests.generated.programs import Generated, loaded

ARCH = "sm_90a"
ENTRY = re.compile(r'extern "C" __global__[^\n]*?\b(prism_\w+)\(')


class Wrong(AssertionError):
    """Something that a legal program must not show; the message says what."""


def schedules_of(seed: int) -> tuple[str, ...]:
    """Return the three schedules of a program: blocks in their order, any order, and one that is unfair in some way."""
    others = [name for name in SCHEDULES if name not in ("round-robin", "random")]
    return "round-robin", "random", others[seed % len(others)]


def results(built: Program, generated: Generated, schedule: str, seed: int, *, check: bool) -> tuple[bytes, list[str]]:
    """Return the bytes of all results of a run, and the lines that it printed, in no order."""
    arguments = generated.inputs(seed % 4)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        run(built, generated.blocks, generated.threads, arguments, check=check, schedule=schedule, seed=seed)
    return bytes(arguments[0].tobytes() + arguments[2].tobytes()), sorted(said.getvalue().splitlines())


def verified(generated: Generated, *, seed: int = 2, thorough: bool = True) -> tuple[Entry, bytes]:
    """Check, synchronise, emit and run a program: one result under every schedule. Return its entry, and the result's bytes.

    `thorough`: under all schedules; and it is built twice, with one text, and run without checks, to the same result.
    """
    with loaded(generated.text) as names:
        built = prism.check(names["kernel"])
        entry = entry_of(built, ARCH)
        if (certificate := certificate_of(built)).finding.status == REJECTED:
            raise Wrong(f"its certificate is rejected: {certificate.finding.reason}")
        if thorough and entry_of(prism.check(names["kernel"]), ARCH).source != entry.source:
            raise Wrong("the emitted text depends on more than the program")
        how = SCHEDULES if thorough else schedules_of(seed)
        first, *others = [results(built, generated, schedule, seed, check=True) for schedule in how]
        if any(other != first for other in others):
            raise Wrong("the result depends on the schedule")
        if thorough and results(built, generated, SCHEDULES[0], seed, check=False) != first:
            raise Wrong("the result depends on being checked")
    return entry, first[0]


def joined(texts: Sequence[str]) -> str:
    """Return several programs as one: each in a namespace, its kernels under names of their own."""
    spaces = []
    for k, text in enumerate(texts):
        for name in set(ENTRY.findall(text)):
            text = re.sub(rf"\b{name}\b", f"{name}_{k}", text)
        spaces.append(f"namespace program_{k} {{\n{text}\n}}")
    return "\n".join(spaces)


def accepted(texts: Sequence[str]) -> dict[int, str]:
    """Compile programs to machine code, together. Return what NVRTC says of those that it refuses, by number: none."""
    try:
        if texts:
            compile_cubin(joined(texts) if len(texts) > 1 else texts[0], ARCH)
    except SlowCodeError:  # compiled: wgmmas beside a call, such as that of `print_`, are only slow
        return {}
    except (AssemblerError, MachineCodeError) as error:
        if len(texts) == 1:
            return {0: f"{type(error).__name__}: {error.log}"}
        half = len(texts) // 2
        found = {**accepted(texts[:half]), **{half + k: log for k, log in accepted(texts[half:]).items()}}
        return found or {0: f"NVRTC refuses these programs only together\n{error.log}"}
    return {}
