"""The benchmarks are where asv finds them: a package, whose classes have parameters and a `track_` function."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest

FOLDER = Path(__file__).parents[1] / "asv_bench"


@pytest.mark.parametrize("name", ["scan", "reduce", "segments", "sgemm", "hgemm", "first_call", "host"])
def test_asv_finds_the_benchmarks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (FOLDER / "benchmarks" / "__init__.py").is_file()
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    module = importlib.import_module(f"benchmarks.{name}")
    classes = [value for value in vars(module).values() if isinstance(value, type) and hasattr(value, "params")]
    assert classes
    for found in classes:
        params = found.params if isinstance(found.params[0], list) else (found.params,)
        assert len(params) == len(found.param_names)
        assert any(name.startswith(("track_", "time_")) for name in vars(found))


SCAN = {"device": "a GPU", "host": 6e-6, "scan": [
    {"dtype": "int32", "size": 1 << 20, "prism": 5e-6, "cub": 1e-5, "copy": 4e-6},
    {"dtype": "float32", "size": 1 << 24, "prism": 4e-5, "cub": 2e-5, "copy": 4e-5},
]}  # fmt: skip
PRODUCTS = [{"shape": "4096", "rows": [
    {"name": "cuBLAS", "us": 200.0, "ratio": 1.0, "fault": ""}, {"name": "wrong", "us": 1.0, "ratio": 200.0, "fault": "1 of 9"},
    {"name": "slow", "us": 250.0, "ratio": 0.8, "fault": ""}, {"name": "best", "us": 160.0, "ratio": 1.25, "fault": ""},
    {"name": "lucky", "us": 100.0, "ratio": 2.0, "fault": ""},
], "again": [{"name": "best", "us": 160.0, "ratio": 1.25}, {"name": "wrong", "us": 1.0, "ratio": 200.0}]}]  # fmt: skip


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Raw results, recorded and drawn by the scripts that `make bench` calls."""
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "measure.json").write_text(json.dumps(SCAN))
    (raw / "hgemm.json").write_text(json.dumps(PRODUCTS))
    (raw / "machine.json").write_text(json.dumps({"gpu": "a GPU", "num_cpu": "2"}))
    if subprocess.run(["git", "-C", FOLDER, "rev-parse", "HEAD"], capture_output=True).returncode:
        pytest.skip("not a clone")
    for script, *arguments in (("record", raw), ("pictures", "--folder", tmp_path / "pictures")):
        command = [sys.executable, FOLDER / "publish" / f"{script}.py", *arguments, "--results", tmp_path / "results"]
        subprocess.run(command, check=True, capture_output=True)
    return tmp_path


def test_raw_results_become_asvs(recorded: Path) -> None:
    (path,) = (recorded / "results" / "h200").glob("*-existing.json")
    found = json.loads(path.read_text())
    assert (
        found["commit_hash"].startswith(path.name[:8]) and found["params"]["gpu"] == "a GPU" and found["version"] == 2
    )
    values, params, version = found["results"]["scan.Ratio.track_vs_cub"]
    kinds, sizes = ([eval(text) for text in axis] for axis in params)
    assert len(values) == len(kinds) * len(sizes) and version == "1"
    figures = {pair: value for pair, value in zip(product(kinds, sizes), values, strict=True) if value is not None}
    assert figures == {("int32", 1 << 20): pytest.approx(0.5), ("float32", 1 << 24): pytest.approx(2.0)}
    assert [v for v in found["results"]["hgemm.Best.track_vs_cublas"][0] if v is not None] == [pytest.approx(0.8)]
    assert "sgemm.Chosen.track_us" not in found["results"], "what was not run is not recorded"


def test_the_librarys_choice_of_products_of_float32(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read from what asv_bench/sgemm.py writes; a wrong result is no figure."""
    rows = [
        {"name": "ring", "us": 2.0, "ratio": 3.0, "fault": ""},
        {"name": "auto", "us": 4.0, "ratio": 1.25, "fault": ""},
    ]
    found = [{"shape": "256", "layout": "TN", "rows": []}, {"shape": "256", "layout": "NN", "rows": rows}]
    wrong = {"shape": "512", "layout": "NN", "rows": [{"name": "auto", "us": 1.0, "ratio": 5.0, "fault": "1 of 9"}]}
    (tmp_path / "sgemm.json").write_text(json.dumps({"device": "a GPU", "sgemm": [*found, wrong]}))
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    module = importlib.import_module("benchmarks.sgemm")
    monkeypatch.setenv(module.raw.VARIABLE, str(tmp_path))
    module.raw.read.cache_clear()
    chosen = module.Chosen()
    assert chosen.track_us("256") == 4.0 and chosen.track_vs_cublas("256") == 0.8
    with pytest.raises(NotImplementedError):
        chosen.track_us("512")
    module.raw.read.cache_clear()


def test_pictures_are_of_what_is_recorded(recorded: Path) -> None:
    assert sorted(path.name for path in (recorded / "pictures").iterdir()) == ["hgemm.svg", "scan.svg"]
    picture = ElementTree.parse(recorded / "pictures" / "scan.svg")
    assert {e.text for e in picture.iter("{http://www.w3.org/2000/svg}title")} == {
        "int32, 2^20: 2",
        "float32, 2^24: 0.5",
    }


def test_what_was_recorded_before_stays(recorded: Path) -> None:
    (recorded / "raw" / "hgemm.json").unlink()
    command = [sys.executable, FOLDER / "publish" / "record.py", recorded / "raw", "--results", recorded / "results"]
    subprocess.run(command, check=True, capture_output=True)
    (path,) = (recorded / "results" / "h200").glob("*-existing.json")
    assert "hgemm.Best.track_us" in json.loads(path.read_text())["results"]


def test_the_pictures_of_the_documentation_are_of_the_recorded_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(FOLDER), str(FOLDER.parent), *sys.path])
    publish = importlib.import_module("publish.pictures")
    made = publish.pictures(publish.newest("h200", FOLDER / "results"))
    folder = FOLDER.parent / "docs" / "pictures"
    assert made and {path.stem: path.read_text() for path in folder.glob("*.svg")} == made, (
        "run asv_bench/publish/pictures.py"
    )
