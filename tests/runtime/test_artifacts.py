"""Machine code that ships: found by source and by request, the same bytes each time, and never used when damaged.

Tests of prism/runtime/packs.py.
"""

import json
import random
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from prism.lang.facts.launch_tests import Assumed
from prism.lib.artifacts import Result, _Checked, _compile_all
from prism.runtime import artifacts, packs
from prism.runtime.artifacts import Made
from prism.runtime.compile import Binary
from prism.runtime.entry import Entry, EntryParameter
from prism.runtime.launch import AssumedError, Launcher

SOURCE = 'extern "C" __global__ void prism_fill(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = n; }'
PARAMETERS = (EntryParameter("x", "pointer", "float32"), EntryParameter("n", "scalar", "int32"))
ENTRY = Entry("prism_fill", SOURCE, "sm_90a", PARAMETERS, 16, 32, None, 128)
BINARY = Binary(b"\x7fELF machine code", "sm_90a", "13.5", 10, 8, 0, "")
ONE = Made(ENTRY, BINARY, ("request 1",), "report 1")
OTHER = Made(Entry("prism_other", SOURCE + "\n", "sm_90a", ()), BINARY, ("request 2",), "report 2")
REPORTS = {"report 1": {"functions": 1}, "report 2": {"functions": 2}}


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_artifacts_are_found_by_source(tmp_path: Path) -> None:
    (path,) = artifacts.write([ONE], folder=tmp_path)
    assert path == tmp_path / "sm_90a" / "manifest.jsonl"
    found = artifacts.find(SOURCE, "sm_90a", folder=tmp_path)
    assert found is not None and found.cubin == BINARY.cubin
    assert (found.registers, found.stack, found.spills, found.compiler) == (10, 8, 0, "13.5")
    assert Entry.from_json(found.entry, source=SOURCE) == ENTRY
    assert artifacts.find(SOURCE, "sm_80", folder=tmp_path) is None
    assert artifacts.find(SOURCE + " ", "sm_90a", folder=tmp_path) is None


def test_artifacts_are_found_by_request_where_the_sources_are_the_same(tmp_path: Path) -> None:
    artifacts.write([ONE, OTHER], folder=tmp_path, sources="digest")
    found = artifacts.find_request("request 1", "sm_90a", "digest", folder=tmp_path)
    assert found is not None and found.entry["name"] == "prism_fill"
    assert artifacts.find_request("request 1", "sm_90a", "another", folder=tmp_path) is None
    assert artifacts.find_request("request 3", "sm_90a", "digest", folder=tmp_path) is None


def test_what_is_assumed_of_launches_travels_with_an_artifact(tmp_path: Path) -> None:
    few = Assumed("n <= 4", 3, ("<=", ("argument", 1), ("number", 4)))
    artifacts.write([Made(replace(ENTRY, assumed=(few,)), BINARY, ("request 1",))], folder=tmp_path, sources="digest")
    found = artifacts.find_request("request 1", "sm_90a", "digest", folder=tmp_path)
    assert found is not None
    loaded: Any = SimpleNamespace(function=11, device=SimpleNamespace(ordinal=0))
    with pytest.raises(
        AssumedError, match=r"`fill` assumes `n <= 4` \(line 3\), which does not hold of this launch: n = 5"
    ):
        Launcher(Entry.from_json(found.entry, source=""), loaded)(16, 32, 0, (4096, 5))


def test_two_kernels_of_one_text_that_do_not_assume_the_same_are_refused() -> None:
    few = Assumed("n <= 4", 3, ("<=", ("argument", 1), ("number", 4)))
    kernels = [_Checked(f"request {n}", (replace(ENTRY, assumed=one),), {}, "") for n, one in enumerate(((), (few,)))]
    with pytest.raises(ValueError, match="two kernels have one text, and do not assume the same of a launch"):
        _compile_all(None, {"sm_90a": {}}, kernels, Result(Path()), lambda _: None)  # type: ignore[arg-type]


def test_artifacts_are_the_same_bytes_whatever_the_order(tmp_path: Path) -> None:
    artifacts.write([ONE, OTHER], folder=tmp_path / "a", reports=REPORTS)
    artifacts.write([OTHER, ONE], folder=tmp_path / "b", reports=dict(reversed(REPORTS.items())))
    first, second = (bytes_of(tmp_path / d) for d in "ab")
    assert first == second and len(first) == 4
    artifacts.write([ONE], folder=tmp_path / "a")
    assert len(bytes_of(tmp_path / "a")) == 3, "what is no longer built is removed"
    assert artifacts.reports(tmp_path / "a") == {"report 1": {"functions": 1}}


def test_one_architecture_leaves_another_alone(tmp_path: Path) -> None:
    artifacts.write([ONE], folder=tmp_path, reports=REPORTS)
    plain = Made(replace(OTHER.entry, arch="sm_80"), replace(BINARY, arch="sm_80"), (), "report 2")
    artifacts.write([plain], folder=tmp_path, reports=REPORTS)
    assert artifacts.architectures(tmp_path) == ("sm_80", "sm_90a")
    assert artifacts.find(SOURCE, "sm_90a", folder=tmp_path) is not None
    assert artifacts.reports(tmp_path) == REPORTS
    assert [facts["report"] for facts in artifacts.read_manifest("sm_80", tmp_path)] == ["report 2"]


def test_artifacts_of_another_architecture_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="sm_80"):
        artifacts.write([Made(Entry("k", "", "sm_80", ()), BINARY)], folder=tmp_path)


@pytest.mark.parametrize(
    "damage",
    ["flip", "truncate", "append", "delete", "link", "path", "other", "offset", "keys", "types", "line", "sizes"],
)
def test_damaged_artifacts_are_not_used(tmp_path: Path, damage: str) -> None:
    (path,) = artifacts.write([ONE], folder=tmp_path)
    pack = next(tmp_path.rglob("*.xz"))
    data = pack.read_bytes()
    head, line = path.read_text().splitlines()
    facts = json.loads(line)
    match damage:
        case "flip":
            pack.write_bytes(data[:-40] + bytes([data[-40] ^ 1]) + data[-39:])
        case "truncate":
            pack.write_bytes(data[:-1])
        case "append":
            pack.write_bytes(data + b"x")
        case "delete":
            pack.unlink()
        case "link":
            pack.write_bytes(packs.pack("prism_fill", [BINARY.cubin[::-1]])[1])
        case "path":
            facts["pack"] = "../../etc/passwd"
            head = head.replace(pack.name, facts["pack"])
        case "other":
            facts["pack"] = "prism_fill-0123456789abcdef.xz"
        case "offset":
            facts["offset"] = 1
        case "sizes":
            head = re.sub(r"\[(\d+), \d+\]", r"[\1, 9999]", head)
        case "keys":
            del facts["sha256"]
        case "types":
            facts["offset"] = None
    line = json.dumps(facts)
    path.write_text(f"{head}\n{line[:-1] if damage == 'line' else line}\n")
    artifacts.manifest.cache_clear()
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert artifacts.find(SOURCE, "sm_90a", folder=tmp_path) is None
    assert artifacts.load_all("sm_90a", folder=tmp_path) == {}, "and quietly, for who builds it again"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"format": 1}',
        '{"format": 1, "requests": [], "sources": "", "absent": []}',
        '{"format": 2, "requests": {}, "sources": "", "absent": [], "packs": {"a": 1}}',
        '{"format": 2, "requests": {}, "sources": "", "absent": [], "packs": 7}',
    ],
)
def test_a_damaged_manifest_lists_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "sm_90a").mkdir()
    (tmp_path / "sm_90a" / "manifest.jsonl").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert artifacts.find(SOURCE, "sm_90a", folder=tmp_path) is None
        assert artifacts.find_request("request 1", "sm_90a", "", folder=tmp_path) is None


@pytest.mark.parametrize("arch", ["sm_90a", "../sm_90a", "sm_90a/../../etc", "", "sm_90a\n"])
def test_no_artifacts_at_all(tmp_path: Path, arch: str) -> None:
    assert artifacts.find(SOURCE, arch, folder=tmp_path / "none") is None
    assert artifacts.architectures(tmp_path / "none") == () and artifacts.reports(tmp_path / "none") == {}


@pytest.mark.parametrize(
    ("arch", "expected"),
    [
        ("sm_80", ["sm_80"]),
        ("sm_89", ["sm_89", "sm_88", "sm_87", "sm_86", "sm_85", "sm_84", "sm_83", "sm_82", "sm_81", "sm_80"]),
        ("sm_90a", ["sm_90a", "sm_90"]),
        ("sm_103a", ["sm_103a", "sm_103", "sm_102", "sm_101", "sm_100"]),
        ("sm_120a", ["sm_120a", "sm_120"]),
    ],
)
def test_whose_machine_code_runs_where(arch: str, expected: list[str]) -> None:
    assert list(artifacts.runs_on(arch)) == expected


# -- Packs ----------------------------------------------------------------------------------------------------------------


def many(number: int, seed: int = 0) -> list[Made]:
    """As many kernels, of two names, whose machine code differs from one to the next in a few words."""
    draw = random.Random(seed)
    code = bytearray(draw.randbytes(20_000))
    made = []
    for index in range(number):
        for _ in range(5):
            code[draw.randrange(len(code))] = draw.randrange(256)
        entry = Entry(f"prism_{'ab'[index % 2]}", f"{SOURCE} // {seed} {index}", "sm_90a", ())
        made.append(
            Made(entry, replace(BINARY, cubin=bytes(code[: len(code) - 16 * draw.randrange(50)])), (f"{index}",))
        )
    return made


def test_kernels_that_are_alike_are_packed_together(tmp_path: Path) -> None:
    made = many(60)
    artifacts.write(made, folder=tmp_path, sources="digest")
    files = sorted((tmp_path / "sm_90a").glob("*.xz"))
    there = artifacts.manifest("sm_90a", tmp_path)
    assert set(there.packs) == {path.name for path in files} and 8 <= len(files) <= 14
    assert {path.name[:8] for path in files} == {"prism_a-", "prism_b-"}
    assert all(size <= packs.SIZE and nbytes == (tmp_path / "sm_90a" / name).stat().st_size
               for name, (nbytes, size) in there.packs.items())  # fmt: skip
    raw = sum(len(one.binary.cubin) for one in made)
    assert sum(path.stat().st_size for path in files) < raw / 5, "random bytes: only what is alike can be saved"
    with ThreadPoolExecutor(8) as pool:  # each thread finds its own
        found = list(pool.map(lambda n: artifacts.find_request(str(n), "sm_90a", "digest", folder=tmp_path), range(60)))
    assert [one and one.cubin for one in found] == [one.binary.cubin for one in made]
    assert {one.cubin for one in artifacts.load_all("sm_90a", folder=tmp_path).values()} == {
        one.binary.cubin for one in made
    }


def test_a_kernel_that_changed_changes_packs_of_its_name_alone(tmp_path: Path) -> None:
    made = many(60)
    artifacts.write(made, folder=tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "sm_90a").glob("*.xz")}
    made[0] = replace(made[0], binary=replace(BINARY, cubin=made[0].binary.cubin[::-1]))
    artifacts.write(made, folder=tmp_path)
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "sm_90a").glob("*.xz")}
    assert {k: v for k, v in before.items() if "_b-" in k} == {k: v for k, v in after.items() if "_b-" in k}
    assert len(after.items() - before.items()) == 1 and len(after) == len(before)


def test_a_large_kernel_has_a_pack_of_its_own() -> None:
    codes = {"small": b"x", "large": bytes(packs.SIZE + 1), "other": bytes(packs.SIZE - 1), "larger": bytes(1 << 20)}
    assert packs.groups(codes) == [["small", "other"], ["large"], ["larger"]]
    assert packs.groups({}) == []


def test_the_files_of_the_layout_before_are_removed(tmp_path: Path) -> None:
    old = tmp_path / "sm_90a" / "prism_fill-0123456789abcdef.cubin"
    old.parent.mkdir()
    old.write_bytes(b"")
    artifacts.write([ONE], folder=tmp_path)
    assert not old.exists()


def test_a_pack_is_a_file_that_xz_reads(tmp_path: Path) -> None:
    import lzma

    name, data = packs.pack("prism_fill", [b"one", b"two"])
    assert (name, data) == packs.pack("prism_fill", [b"onetwo"]) and lzma.decompress(data) == b"onetwo"
    (tmp_path / name).write_bytes(data)
    assert packs.unpack(tmp_path / name, len(data), 6) == b"onetwo"
    for wrong in ((len(data), 5), (len(data), 7), (len(data) - 1, 6), (len(data), 1 << 40), (-1, 6)):
        with pytest.raises(ValueError):
            packs.unpack(tmp_path / name, *wrong)


@pytest.mark.parametrize("folder", ["none", "built"])
def test_a_python_without_lzma_says_so(tmp_path: Path, folder: str) -> None:
    """It finds nothing and warns where there is something to find; and builds nothing."""
    artifacts.write([ONE], folder=tmp_path / "built", sources="digest")
    script = f"""
import sys, warnings
sys.modules |= dict.fromkeys(("lzma", "_lzma"))  # both: what starts Python here may have imported it
from pathlib import Path
from prism.lib.artifacts import build
from prism.runtime import artifacts, packs
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    assert artifacts.find_request("request 1", "sm_90a", "digest", folder=Path({str(tmp_path / folder)!r})) is None
print([str(one.message) for one in said])
try:
    build(["sm_90a"], folder=Path({str(tmp_path / "new")!r}), wanted=None)  # it asks for no kernel before it refuses
except packs.MissingLZMA as error:
    print(error, packs.trouble() == str(error))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    warned, refused = done.stdout.splitlines()
    assert ("compiled at its first use" in warned) == (folder == "built") and (warned == "[]") == (folder == "none")
    assert "built without the module lzma" in refused and refused.endswith("True") and not (tmp_path / "new").exists()
