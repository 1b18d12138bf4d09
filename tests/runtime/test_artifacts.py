"""Machine code that ships: found by source and by request, the same bytes each time, and never used when damaged."""

import json
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from prism.runtime import artifacts
from prism.runtime.artifacts import Made
from prism.runtime.compile import Binary
from prism.runtime.entry import Entry, EntryParameter

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
    found = artifacts.requested("request 1", "sm_90a", "digest", folder=tmp_path)
    assert found is not None and found.entry["name"] == "prism_fill"
    assert artifacts.requested("request 1", "sm_90a", "another", folder=tmp_path) is None
    assert artifacts.requested("request 3", "sm_90a", "digest", folder=tmp_path) is None


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
    assert [facts["report"] for facts in artifacts.listed("sm_80", tmp_path)] == ["report 2"]


def test_artifacts_of_another_architecture_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="sm_80"):
        artifacts.write([Made(Entry("k", "", "sm_80", ()), BINARY)], folder=tmp_path)


@pytest.mark.parametrize("damage", ["flip", "truncate", "append", "delete", "path", "keys", "types", "line"])
def test_damaged_artifacts_are_not_used(tmp_path: Path, damage: str) -> None:
    (path,) = artifacts.write([ONE], folder=tmp_path)
    cubin = next(tmp_path.rglob("*.cubin"))
    data = cubin.read_bytes()
    head, line = path.read_text().splitlines()
    facts = json.loads(line)
    match damage:
        case "flip":
            cubin.write_bytes(data[:-1] + b"x")
        case "truncate":
            cubin.write_bytes(data[:-1])
        case "append":
            cubin.write_bytes(data + b"x")
        case "delete":
            cubin.unlink()
        case "path":
            facts["file"] = "../../etc/passwd"
        case "keys":
            del facts["sha256"]
        case "types":
            facts["file"] = 3
    line = json.dumps(facts)
    path.write_text(f"{head}\n{line[:-1] if damage == 'line' else line}\n")
    artifacts.manifest.cache_clear()
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert artifacts.find(SOURCE, "sm_90a", folder=tmp_path) is None
    assert artifacts.kept(facts["key"], "sm_90a", folder=tmp_path) is None, "and quietly, for who builds it again"


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"format": 1}', '{"format": 1, "requests": [], "sources": "", "absent": []}']
)
def test_a_damaged_manifest_lists_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "sm_90a").mkdir()
    (tmp_path / "sm_90a" / "manifest.jsonl").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert artifacts.find(SOURCE, "sm_90a", folder=tmp_path) is None
        assert artifacts.requested("request 1", "sm_90a", "", folder=tmp_path) is None


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
