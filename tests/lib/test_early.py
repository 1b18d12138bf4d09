"""The library's kernels that begin early touch memory behind their wait for the kernel before, also in PTX.

The text reads memory through `const __restrict__` pointers, which makes `ld.global.nc` of such loads. Nothing else keeps NVRTC
from moving those to before the wait.
"""

from __future__ import annotations

import re

import pytest

from prism.runtime.build import entry_of
from prism.runtime.compile import compile_ptx
from tests.lib import ships
from tests.rarely import rarely

ARCH = "sm_90a"
WAIT = "griddepcontrol.wait;"
OWN = {"shared", "param", "const", "local"}  # spaces that the kernel before it doesn't write
PREFETCH = re.compile(r"(prefetch|prefetchu|cp\.async\.bulk\.prefetch)\b")
ACCESS = re.compile(r"(ld|ldu|st|atom|red|cp|multimem|tensormap|fence\.proxy\.tensormap)\b([\w.:]*)")


def accesses(lines: list[str]) -> list[str]:
    """Return the instructions that may touch memory of the grid. That of a cluster's blocks is reached by what `mapa` gives."""
    found, cluster = [], of_a_cluster(lines)
    for line in lines:
        text = re.sub(r"^(@!?%\w+\s+|\{\s*)*", "", line.strip())
        access, address = ACCESS.match(text), re.search(r"\[(%\w+)[\]+]", text)
        spaces = set(re.split(r"[.:]+", access[2])) if access else OWN
        mapped = address is not None and address[1] in cluster
        if not PREFETCH.match(text) and ("global" in spaces or not (OWN & spaces or mapped)):
            found.append(text)
    return found


def of_a_cluster(lines: list[str]) -> set[str]:
    """Return the registers that hold addresses of shared memory of a cluster: of `mapa`, and sums with them alone."""
    found: set[str] = set()
    made: dict[str, list[set[str]]] = {}
    for line in lines:
        if one := re.search(r"\bmapa\.u64\s+(%\w+),", line):
            made.setdefault(one[1], []).append({"mapa"})
        elif one := re.match(r"\s*(?:add|mov)\.\w+\s+(%\w+),(.*);", line):
            made.setdefault(one[1], []).append(set(re.findall(r"%\w+", one[2])))
    while more := {name for name, ways in made.items() if all(way & (found | {"mapa"}) for way in ways)} - found:
        found |= more
    return found


def before_the_wait(text: str) -> list[str]:
    """Return the instructions of a kernel in PTX that some thread reaches from its beginning without a wait."""
    lines = [line.strip() for line in text[text.index(".entry") :].splitlines()]
    labels = {line.removesuffix(":"): k for k, line in enumerate(lines) if re.fullmatch(r"\$?\w+:", line)}
    seen: set[int] = set()
    left = [0]
    while left:
        k = left.pop()
        if k in seen or k >= len(lines) or WAIT in lines[k]:
            continue
        seen.add(k)
        target = re.match(r"(@!?%\w+\s+)?bra(?:\.uni)?\s+([$\w]+);", lines[k])
        assert target or not re.match(r"(@!?%\w+\s+)?br", lines[k]), lines[k]  # another kind of branch
        if target:
            left.append(labels[target[2]])
        if not (target and target[1] is None) and lines[k] not in ("ret;", "exit;"):
            left.append(k + 1)
    return [lines[k] for k in sorted(seen)]


def test_before_the_wait() -> None:
    text = """.entry k() {
    @%p1 bra $L1;
    ld.global.u32 %r1, [%rd1];
    bra.uni $L2;
    $L1:
    griddepcontrol.wait;
    ld.global.u32 %r2, [%rd2];
    $L2:
    st.global.u32 [%rd3], %r1;
    ret;
    ld.global.u32 %r3, [%rd3];
    """
    assert accesses(before_the_wait(text)) == ["ld.global.u32 %r1, [%rd1];", "st.global.u32 [%rd3], %r1;"]


def test_accesses() -> None:
    plain = ["ld.param.u64 %rd1, [p];", "st.shared::cta.u32 [%r1], %r2;", "atom.shared.add.u32 %r1, [%r2], 1;"]
    asked = [
        "cp.async.bulk.prefetch.L2.global [%rd1], %r1;",
        "@%p1 prefetch.tensormap [%rd1];",
        "prefetch.global.L2 [%rd1];",
    ]
    touching = [
        "ld.global.nc.u32 %r1, [%rd1];", "@%p1 ld.relaxed.gpu.u32 %r1, [%rd1];", "{ ld.volatile.u32 %r1, [%rd1];",
        "st.u32 [%rd1], %r1;", "red.global.add.u32 [%rd1], 1;", "atom.add.u32 %r1, [%rd1], 1;",
        "cp.async.ca.shared.global [%r1], [%rd1], 16;",
    ]  # fmt: skip
    assert accesses([*plain, *asked, "add.s32 %r1, %r2, %r3;"]) == []
    assert len(accesses(touching)) == len(touching)
    mapped = ["mapa.u64 %rd1, %rd2, %r1;", "add.s64 %rd3, %rd1, %rd4;", "st.f32 [%rd3+16], %f1;", "ld.f32 %f2, [%rd1];"]
    other = ["add.s64 %rd5, %rd2, %rd4;", "st.f32 [%rd5], %f1;", "mov.u64 %rd1, %rd2;"]  # and %rd1 is both
    assert accesses(mapped) == [] and accesses([*mapped, *other]) == [mapped[2], mapped[3], other[1]]


OFTEN = ("reduce", "reduce_axis", "scan", "scan_once", "scan_block", "scan_packed")
PARTS = 8


@pytest.mark.parametrize("part", rarely(range(PARTS), but=[0]))
def test_no_access_stands_before_the_wait(part: int) -> None:
    """Of a kernel each, in parts of all: what is called most stands in the first."""
    firsts = {one.kernel: one for one in reversed(ships.kernels(ARCH))}
    others = [kernel for kernel in firsts if kernel.__name__ not in OFTEN]
    some = [*others[part::PARTS], *(kernel for kernel in firsts if kernel.__name__ in OFTEN and part == 0)]
    entries = {kernel: entry_of(firsts[kernel].program, ARCH) for kernel in some}
    early = {kernel: entry for kernel, entry in entries.items() if entry.programmatic}
    assert len(early) > 10 and (part or set(OFTEN) <= {k.__name__ for k in early})
    wrong = {}
    for kernel, entry in early.items():
        text = compile_ptx(entry.source, ARCH)
        assert WAIT in text and accesses(text.splitlines()), kernel.__name__
        if found := accesses(before_the_wait(text)):
            wrong[kernel.__name__] = found
    assert wrong == {}
