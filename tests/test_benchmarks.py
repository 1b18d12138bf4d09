"""The benchmarks are where asv finds them: a package, whose classes have parameters and a `track_` function."""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import importlib
import io
import itertools
import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from prism.command.machine import dashboard
from prism.host.axes import collapse
from prism.lib import algorithms, operators
from prism.lib.algorithms.reduce import plan as reduce_plans
from prism.lib.algorithms.reduce import steps as reduce_steps
from prism.lib.cases import usual_cases

FOLDER = Path(__file__).parents[1] / "asv_bench"


MODULES = sorted({path.stem for path in (FOLDER / "benchmarks").glob("*.py")} - {"__init__", "raw"})


@pytest.mark.parametrize("name", MODULES)
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


def test_every_script_of_the_manifest_is_there() -> None:
    assert [name for name in dashboard() if not (FOLDER / f"{name}.py").is_file()] == []


def test_what_is_measured_of_all_algorithms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By NumPy's functions in the peers' places, and a clock that counts: a row a call, and its figures."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    script, recorded = (importlib.import_module(name) for name in ("algorithms", "benchmarks.algorithms"))
    listed = {str(case) for case in script.chosen([])}
    assert {"scan", "sum", "matmul", "hgemm"} <= listed == set(recorded.CALLS)
    assert {case.function for case in script.chosen(["scan", "sgemm"])} == {"scan", "sgemm"}
    assert [case.function for case in script.chosen(["nothing"])] == []
    (case,) = script.chosen(["scan"])
    assert script.shape_of(case, 10) == (1024,) and script.shape_of(script.chosen(["sgemm"])[0], 10) == (32, 32, 32)
    assert script.shape_of(script.chosen(["attention"])[0], 20) == (1, 16, 1024, 64)
    calls = script.calls_of(case, 10, {"cupy": np}, np.asarray)
    assert list(calls) == ["prism", "cupy"] and np.array_equal(calls["prism"](), calls["cupy"]())
    now = [0.0]

    def seconds(call: object) -> float:
        now[0] += 1e-6
        return now[0]

    assert script.medians(calls, 4, seconds) == pytest.approx({"prism": 6.5e-6, "cupy": 6.5e-6})
    rows = [{"case": "scan", "dtype": "int32", "log2": 20, "prism": 1e-6, "cupy": 3e-6}]
    (tmp_path / "algorithms.json").write_text(json.dumps({"algorithms": rows}))
    monkeypatch.setenv(recorded.raw.VARIABLE, str(tmp_path))
    recorded.raw.read.cache_clear()
    latency = recorded.Latency()
    assert latency.track_us("prism", "scan", 20) == 1.0 and latency.track_us("cupy", "scan", 20) == pytest.approx(3.0)
    with pytest.raises(NotImplementedError):
        latency.track_us("torch", "scan", 20)
    recorded.raw.read.cache_clear()


def test_tables_of_the_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script writes rows of calls that are named, asv reads them, and a picture and a table are made of the ratios."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), str(FOLDER.parent), *sys.path])
    tables, rows, publish = (
        importlib.import_module(name) for name in ("benchmarks.tables", "rows", "publish.pictures")
    )
    parser = argparse.ArgumentParser()
    written = rows.Rows("selection", parser)
    asked = parser.parse_args(["--json", str(tmp_path / "selection.json")])
    times = {"count": 10.0, "whole": 16.0, "torch": 40.0, "cub": 20.0, "copy": 9.0}
    written.add("compress float32 0.5", 24, times, 8.0)
    written.add("compress float32 0.5", 28, {"count": 10.0, "torch": 5.0})
    written.add("compress float32 0.7", 24, times)
    written.write(asked.json)
    said = capsys.readouterr().out.splitlines()
    assert "share 0.80  x cub 2.00  x torch 2.50" in said[0] and said[2].endswith("(not in the table)")
    monkeypatch.setenv(tables.raw.VARIABLE, str(tmp_path))
    tables.raw.read.cache_clear()
    found = tables.Selection()
    assert (
        found.track_vs_best("compress float32 0.5", 24) == 0.5
        and found.track_vs_best("compress float32 0.5", 28) == 2.0
    )
    assert tables.SelectionTimes().track_us("cub", "compress float32 0.5", 24) == 20.0
    for missing in (("compress float32 0.5", 20), ("split uint8 0.5", 24)):
        with pytest.raises(NotImplementedError):
            found.track_vs_best(*missing)
    tables.raw.read.cache_clear()
    params = [[repr(call) for call in ("compress float32 0.5", "split uint8 0.5")], ["20", "24"]]
    recorded = {"tables.Selection.track_vs_best": [[None, 0.5, None, None], params, "1"]}
    page = publish.with_tables(f"a\n{publish.TABLES_BEGIN}{publish.TABLES_END}b\n", publish.tables(recorded))
    assert (
        "| compress float32 0.5 | 2.00 |" in page and "split" not in page and page.endswith(f"{publish.TABLES_END}b\n")
    )
    assert "compress float32 0.5, 2^24: 2<" in publish.pictures(recorded)["selection"]


def test_every_script_of_the_manifest_has_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of its own benchmarks or of the tables; and each writes what it measured, where `prism bench run` asks for it."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), str(FOLDER.parent), *sys.path])
    tables, publish = importlib.import_module("benchmarks.tables"), importlib.import_module("publish.pictures")
    assert publish.tables_of_the_manifest() and set(publish.tables_of_the_manifest()) == set(publish.TABLES) == set(
        tables.CALLS
    )
    for name in dashboard():
        text = (FOLDER / f"{name}.py").read_text()
        if "arguments(__doc__" in text:  # what the scripts of attention share
            text += (FOLDER / "attention.py").read_text()
        assert f'Rows("{name}", parser)' in text if name in tables.CALLS else '"--json"' in text, name
        read = {path.stem for path in (FOLDER / "benchmarks").glob("*.py") if f'read("{name}")' in path.read_text()}
        assert name in tables.CALLS or read, name
    for script, calls in tables.CALLS.items():
        assert len(set(calls)) == len(calls)
        for kind in (script.title().replace("_", ""), f"{script.title().replace('_', '')}Times"):
            assert calls in getattr(tables, kind).params


def test_the_tables_of_the_documentation_are_of_the_recorded_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(FOLDER), str(FOLDER.parent), *sys.path])
    publish = importlib.import_module("publish.pictures")
    page = (FOLDER.parent / "docs" / "performance.md").read_text()
    made = publish.tables(publish.newest("h200", FOLDER / "results"))
    assert publish.with_tables(page, made) == page, "run asv_bench/publish/pictures.py"


def test_layers_are_those_that_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    script, recorded = importlib.import_module("hgemm_layers"), importlib.import_module("benchmarks.hgemm_layers")
    assert (recorded.LAYERS, recorded.ROWS) == (list(script.LAYERS), list(script.ROWS))
    assert script.mean([{"ratio": 0.5}, {"ratio": 2.0}]) == 1.0


def test_epilogues_are_those_that_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that is wrong, and one without torch.compile, is not recorded."""
    script = (FOLDER / "epilogues.py").read_text()
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    module = importlib.import_module("benchmarks.epilogues")
    assert f'SHAPES = "{",".join(module.SHAPES)}"' in script and all(
        f'"{name}": (' in script for name in module.EPILOGUES
    )
    row = {"shape": module.SHAPES[0], "prism": 2.0, "eager": 4.0, "compile": None, "bare": 1.0}
    rows = [{**row, "epilogue": name, "fault": fault} for name, fault in (("bias", ""), ("swiglu", "1 wrong"))]
    (tmp_path / "epilogues.json").write_text(json.dumps(rows))
    monkeypatch.setenv(module.raw.VARIABLE, str(tmp_path))
    module.raw.read.cache_clear()
    ratio = module.Ratio()
    assert (ratio.track_vs_eager(row["shape"], "bias"), ratio.track_vs_bare(row["shape"], "bias")) == (0.5, 2.0)
    for measure in (
        lambda: ratio.track_vs_compile(row["shape"], "bias"),
        lambda: ratio.track_vs_eager(row["shape"], "swiglu"),
    ):
        with pytest.raises(NotImplementedError):
            measure()
    module.raw.read.cache_clear()


def test_prism_and_its_peers_are_in_one_plot(monkeypatch: pytest.MonkeyPatch) -> None:
    """asv draws eight curves at first, of the first values of the first parameters."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    for name in (
        "scan.Latency",
        "reduce.Whole",
        "reduce.Axis",
        "sgemm.Square",
        "sgemm.Other",
        "hgemm.Square",
        "hgemm_float8.Square",
    ):
        module, _, kind = name.partition(".")
        found = getattr(importlib.import_module(f"benchmarks.{module}"), kind)
        assert found.param_names[0] == "impl" and found.params[0][0] == "prism" and 1 < len(found.params[0]) <= 8
        if name != "sgemm.Other":
            assert all(isinstance(value, int) for value in found.params[-1]), "asv draws curves along numbers alone"


def test_a_machine_without_facts_is_the_one_that_is_known(recorded: Path) -> None:
    """Results that lack a fact would be another series of asv's."""
    (recorded / "raw" / "machine.json").unlink()
    command = [sys.executable, FOLDER / "publish" / "record.py", recorded / "raw", "--results", recorded / "results"]
    subprocess.run(command, check=True, capture_output=True)
    (path,) = (recorded / "results" / "h200").glob("*-existing.json")
    assert json.loads(path.read_text())["params"]["gpu"] == "a GPU"


SCAN = {"device": "a GPU", "host": 6e-6, "scan": [
    {"dtype": "int32", "size": 1 << 20, "prism": 5e-6, "cub": 1e-5, "copy": 4e-6},
    {"dtype": "float32", "size": 1 << 24, "prism": 4e-5, "cub": 2e-5, "copy": 4e-5},
]}  # fmt: skip
PRODUCTS = [{"shape": "4096", "rows": [
    {"name": "cuBLAS", "us": 200.0, "ratio": 1.0, "fault": ""}, {"name": "wrong", "us": 1.0, "ratio": 200.0, "fault": "1 of 9"},
    {"name": "slow", "us": 250.0, "ratio": 0.8, "fault": ""}, {"name": "best", "us": 160.0, "ratio": 1.25, "fault": ""},
    {"name": "lucky", "us": 100.0, "ratio": 2.0, "fault": ""},
], "again": [{"name": "best", "us": 160.0, "ratio": 1.25}, {"name": "wrong", "us": 1.0, "ratio": 200.0}]}]  # fmt: skip


FIRST = {
    "sum": {"artifacts": {"import_ms": 9.0, "call_ms": 20.5, "checked": False}},
    "hgemm": {"artifacts": {"import_ms": 9.0, "call_ms": 48.0, "checked": False},
              "compiled": {"import_ms": 9.0, "call_ms": 1500.0, "checked": True}},
}  # fmt: skip


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Raw results, recorded and drawn by the scripts that `make bench` calls."""
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "measure.json").write_text(json.dumps(SCAN))
    (raw / "hgemm.json").write_text(json.dumps(PRODUCTS))
    (raw / "first_call.json").write_text(json.dumps(FIRST))
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
    assert figures == {("int32", 20): pytest.approx(0.5), ("float32", 24): pytest.approx(2.0)}
    assert [v for v in found["results"]["hgemm.Ratio.track_vs_cublas"][0] if v is not None] == [pytest.approx(0.8)]
    assert "sgemm.Square.track_us" not in found["results"], "what was not run is not recorded"


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
    square = module.Square()
    assert square.track_us("prism", 256) == 4.0 and square.track_us("cublas", 256) == 5.0
    assert module.Ratio().track_vs_cublas("256") == 0.8
    with pytest.raises(NotImplementedError):
        square.track_us("prism", 512)
    module.raw.read.cache_clear()


def test_products_of_8_bit_floats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read from what asv_bench/hgemm_float8.py writes."""
    rows = [
        {"name": name, "us": us, "ratio": 3.0 / us}
        for name, us in (("cuBLASLt", 3.0), ("library", 2.0), ("library, scales", 4.0))
    ]
    (tmp_path / "hgemm_float8.json").write_text(json.dumps([{"shape": "4096", "rows": rows}]))
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    module = importlib.import_module("benchmarks.hgemm_float8")
    monkeypatch.setenv(module.raw.VARIABLE, str(tmp_path))
    module.raw.read.cache_clear()
    square = module.Square()
    assert square.track_us("prism", 4096) == 2.0 and square.track_us("cublas", 4096) == 3.0
    assert (
        module.Ratio().track_vs_cublas("4096") == pytest.approx(2 / 3)
        and module.Scaled().track_us("prism", 4096) == 4.0
    )
    for measure in (lambda: square.track_us("prism", 512), lambda: module.Scaled().track_us("cublas", 4096)):
        with pytest.raises(NotImplementedError):
            measure()
    module.raw.read.cache_clear()


def test_products_of_other_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read from what asv_bench/hgemm_kinds.py and asv_bench/matmul.py write."""
    rows = [{"name": name, "us": 2.0, "ratio": 4.0} for name in ("library", "matmul")]
    (tmp_path / "hgemm_kinds.json").write_text(json.dumps([{"kind": "int8", "shape": "4096", "rows": rows}]))
    (tmp_path / "matmul.json").write_text(json.dumps([{"shape": "4096NT", "rows": rows}]))
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    kinds, matmul = (importlib.import_module(f"benchmarks.{name}") for name in ("hgemm_kinds", "matmul"))
    monkeypatch.setenv(kinds.raw.VARIABLE, str(tmp_path))
    kinds.raw.read.cache_clear()
    assert kinds.Ratio().track_vs_cublas("int8 4096") == 0.25 and matmul.Ratio().track_vs_cublas("4096NT") == 0.25
    for measure in (lambda: kinds.Ratio().track_vs_cublas("rows 4096"), lambda: matmul.Ratio().track_vs_cublas("512")):
        with pytest.raises(NotImplementedError):
            measure()
    kinds.raw.read.cache_clear()


def test_attention(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read from what asv_bench/attention.py writes; what was wrong, or not measured, has no figure."""
    row = {
        "us": {"prism": 8.0, "cudnn": 10.0, "flash": 16.0, "fa4": 12.0},
        "alone": {"prism": 9.0, "cudnn": 12.0},
        "error": {"prism": 1e-3},
    }
    rows = [{"shape": "128x2048c", "fault": "", **row}, {"shape": "64x2048", "fault": "prism: 1 of 9", **row}]
    (tmp_path / "attention.json").write_text(json.dumps(rows))
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    module = importlib.import_module("benchmarks.attention")
    parsed = [module.parse_shape(text) for text in (*module.SHAPES, *module.HELD_OUT)]
    assert len(set(parsed)) == len(parsed)
    assert module.parse_shape("128x2048cb/4") == module.Shape(128, 2048, causal=True, share=4, bytes=True)
    assert module.parse_shape("96x500h") == module.Shape(96, 500, half=True)
    half, whole = module.parse_shape("128x2048c/8").operations, module.parse_shape("64x2048").operations
    assert half * 2 == whole == 4 * 16_384 * 2048 * 2048
    with pytest.raises(ValueError):
        module.parse_shape("128c")
    monkeypatch.setenv(module.raw.VARIABLE, str(tmp_path))
    module.raw.read.cache_clear()
    assert module.Ratio().track_vs_best("128x2048c") == 0.8 and module.Ratio().track_alone_vs_best("128x2048c") == 0.75
    assert module.Time().track_us("prism", "128x2048c") == 8.0 and module.Alone().track_us("cudnn", "128x2048c") == 12.0
    assert module.Error().track_error("prism", "128x2048c") == 1e-3
    for impl, shape in (("flash", "128x2048c"), ("prism", "64x2048"), ("prism", "256x4096")):
        with pytest.raises(NotImplementedError):
            module.Alone().track_us(impl, shape)
    module.raw.read.cache_clear()


def test_the_table_of_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is recorded; the page's is of the recorded results, and empty where there are none."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), str(FOLDER.parent), *sys.path])
    publish, made = (importlib.import_module(f"publish.{name}") for name in ("pictures", "attention_table"))
    params = [["'prism'", "'cudnn'"], ["'128x2048c'", "'64x2048c'"]]
    times, errors = [800.0, None, 1000.0, None], [1e-3, None, 2e-3, None]
    recorded = {"attention.Time.track_us": [times, params, "2"], "attention.Error.track_error": [errors, params, "1"]}
    assert made.table(recorded).splitlines()[2:] == ["| 128 | 2,048 | causal | 137 |  |  | 172 | 1.25 |  | 0.50 |"]
    page = made.PAGE.read_text()
    found = made.table(publish.newest("h200", FOLDER / "results"))
    assert publish.with_table(page, found, made.BEGIN, made.END) == page, "run asv_bench/publish/pictures.py"


def test_the_table_of_the_backward(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of five products, and of Prism's call with the same bits each time too; the page's is of the recorded results."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), str(FOLDER.parent), *sys.path])
    publish, made = (importlib.import_module(f"publish.{name}") for name in ("pictures", "backward_table"))
    params = [["'prism'", "'again'", "'cudnn'"], ["'128x2048c'", "'64x3000'"]]
    recorded = {made.NAME: [[800.0, 500.0, 1000.0, None, 1000.0, 600.0], params, "1"]}
    assert made.table(recorded).splitlines()[2:3] == ["| 128 | 2,048 | causal | 344 |  |  | 429 | 344 | 1.25 |  |  |"]
    assert made.table(recorded).splitlines()[-1].startswith("| 64 | 3,000 | full | ")
    page = made.PAGE.read_text()
    found = made.table(publish.newest("h200", FOLDER / "results"))
    assert publish.with_table(page, found, made.BEGIN, made.END) == page, "run asv_bench/publish/pictures.py"


def test_the_table_of_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of attention."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), str(FOLDER.parent), *sys.path])
    publish, made = (importlib.import_module(f"publish.{name}") for name in ("pictures", "decode_table"))
    params = [["'prism'", "'cudnn'", "'flash'"], ["'1x8x1024'", "'24x8x8000r'"]]
    recorded = {
        "attention_decode.Time.track_us": [[5.0, 10.0, 7.5, None, None, 20.0], params, "2"],
        "attention_decode.Alone.track_us": [[8.0, None, 10.0, None, None, None], params, "1"],
    }
    lines = made.table(recorded).splitlines()
    assert lines[2] == "| 1 | 8 | 1,024 | 7.5 |  | 5.0 |  | 1.50 | 1.25 |"
    assert lines[-1] == "| 24 | 8 | up to 8,000 |  | 20.0 | 10.0 |  | 2.00 |  |"
    page = made.PAGE.read_text()
    found = made.table(publish.newest("h200", FOLDER / "results"))
    assert publish.with_table(page, found, made.BEGIN, made.END) == page, "run asv_bench/publish/pictures.py"


def test_the_tables_of_rows_and_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of attention; widths and calls that were not measured are left out."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), str(FOLDER.parent), *sys.path])
    publish, rows, layers = (
        importlib.import_module(f"publish.{name}") for name in ("pictures", "rows_table", "layers_table")
    )
    params = [["'prism'", "'torch'", "'copy'"], ["'softmax'"], ["'bfloat16'"], ["256", "320"]]
    recorded = {rows.NAME: [[4.0, 3.0, 2.0, None, 4.0, 4.0], params, "1"]}
    assert rows.table(recorded).splitlines() == [
        "bfloat16:", "", "| | 256 |", "|---|---|", "| `softmax` | 4.00 (1.00; 2.00) |", "",
        "bfloat16, of widths that nothing was chosen by:", "", "| | 320 |", "|---|---|", "| `softmax` | 3.00 (0.75) |",
    ]  # fmt: skip
    call = next(iter(importlib.import_module("benchmarks.layers").CALLS))
    recorded = {
        layers.NAME: [[4.0, 1.0, None, 5.0], [["'prism'", "'torch'", "'compiled'", "'copy'"], [f"'{call}'"]], "1"]
    }
    assert layers.table(recorded).splitlines()[2:] == [f"| {call} | 4.00 | 5.00 | 1.00 |  | 0.80 | 4.00 |  |"]
    newest = publish.newest("h200", FOLDER / "results")
    for made in (rows, layers):
        page = made.PAGE.read_text()
        assert publish.with_table(page, made.table(newest), made.BEGIN, made.END) == page, (
            "run asv_bench/publish/pictures.py"
        )


def test_attention_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read from what asv_bench/attention_packed.py writes; what differs from torch's has no figure."""
    row = {"dim": 128, "causal": True, "us": {"prism": 8.0, "torch": 12.0}, "ratio": {"torch": 1.6}}
    rows = [{"lengths": "skewed", "fault": "", **row}, {"lengths": "rising", "fault": "results differ", **row}]
    (tmp_path / "attention_packed.json").write_text(json.dumps(rows))
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    script, module = (importlib.import_module(name) for name in ("attention_packed", "benchmarks.attention_packed"))
    assert script.flops([128, 64], True) * 2 == script.flops([128, 64], False) == 4 * 2048 * (128**2 + 64**2)
    assert all(13_000 < sum(lengths) <= 16_640 for lengths in module.LENGTHS.values())
    monkeypatch.setenv(module.raw.VARIABLE, str(tmp_path))
    module.raw.read.cache_clear()
    assert module.Ratio().track_vs_torch("skewed", 128, "causal") == 0.625
    assert module.Time().track_us("torch", "skewed", 128, "causal") == 12.0
    for lengths, mask in (("rising", "causal"), ("skewed", "full")):
        with pytest.raises(NotImplementedError):
            module.Time().track_us("prism", lengths, 128, mask)
    module.raw.read.cache_clear()


def test_attention_backward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read from what asv_bench/attention_backward.py writes; gradients that are off have no figure."""
    row = {
        "us": {"prism": 8.0, "again": 12.0, "cudnn": 10.0, "flash": 16.0},
        "alone": {"prism": 9.0, "cudnn": 12.0},
        "error": {"prism": 1e-3},
    }
    rows = [{"shape": "128x2048c", "fault": "", **row}, {"shape": "64x2048", "fault": "prism: error 1.0e-01 ", **row}]
    (tmp_path / "attention_backward.json").write_text(json.dumps(rows))
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    script, module = (importlib.import_module(name) for name in ("attention_backward", "benchmarks.attention_backward"))
    parsed = [script.parse_shape(text) for text in (*module.SHAPES, *module.HELD_OUT)]
    assert len(set(parsed)) == len(parsed)
    work = [script.operations(script.parse_shape(text)) for text in ("128x2048c", "64x2048")]
    assert work[0] * 2 == work[1] == 10 * 16_384 * 2048 * 2048
    monkeypatch.setenv(module.raw.VARIABLE, str(tmp_path))
    module.raw.read.cache_clear()
    assert module.Ratio().track_vs_best("128x2048c") == 0.8 and module.Ratio().track_alone_vs_best("128x2048c") == 0.75
    assert (
        module.Time().track_us("again", "128x2048c") == 12.0 and module.Alone().track_us("cudnn", "128x2048c") == 12.0
    )
    assert module.Error().track_error("prism", "128x2048c") == 1e-3
    for impl, shape in (("flash", "128x2048c"), ("prism", "64x2048"), ("prism", "256x16384")):
        with pytest.raises(NotImplementedError):
            module.Alone().track_us(impl, shape)
    module.raw.read.cache_clear()


def test_attention_decode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read from what asv_bench/attention_decode.py writes; a wrong result has no figure."""
    row = {
        "us": {"prism": 8.0, "cudnn": 10.0},
        "ratio": {"cudnn": 1.25},
        "alone": {"prism": 9.0},
        "gbs": {"prism": 500.0},
    }
    rows = [{"shape": "1x8x1024", "fault": "", **row}, {"shape": "1x8x4096", "fault": "prism: 1 of 4096 ", **row}]
    (tmp_path / "attention_decode.json").write_text(json.dumps(rows))
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    script, module = (importlib.import_module(name) for name in ("attention_decode", "benchmarks.attention_decode"))
    assert len(module.SHAPES) == 20 and not set(module.SHAPES) & set(module.HELD_OUT)
    assert script.size_of("2x3x1024") == 2 * 2 * 2 * 3 * 1024 * 128 > script.size_of("2x3x1024r")
    lengths = script.parse_shape("24x8x8000r")[2]
    assert len(lengths) == 24 and min(lengths) > 0 and max(lengths) <= 8000 and len(set(lengths)) > 12
    monkeypatch.setenv(module.raw.VARIABLE, str(tmp_path))
    module.raw.read.cache_clear()
    assert module.Ratio().track_vs_cudnn("1x8x1024") == 0.8 and module.Time().track_us("cudnn", "1x8x1024") == 10.0
    assert (
        module.Alone().track_us("prism", "1x8x1024") == 9.0 and module.Speed().track_gbs("prism", "1x8x1024") == 500.0
    )
    for impl, shape in (("flash", "1x8x1024"), ("prism", "1x8x4096"), ("prism", "1x1x65536")):
        with pytest.raises(NotImplementedError):
            module.Time().track_us(impl, shape)
    module.raw.read.cache_clear()


def test_products_of_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read from what asv_bench/hgemm_layers.py writes; a wrong product has no figure."""
    row = {"layer": "4096x4096", "cublas": 12.0, "prism": 10.0, "ratio": 1.25}
    products = [{"m": 16, "fault": "", **row}, {"m": 32, "fault": "1 of 9", **row}]
    (tmp_path / "hgemm_layers.json").write_text(json.dumps({"layout": "NT", "products": products}))
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    module = importlib.import_module("benchmarks.hgemm_layers")
    monkeypatch.setenv(module.raw.VARIABLE, str(tmp_path))
    module.raw.read.cache_clear()
    assert module.Ratio().track_vs_cublas("4096x4096", 16) == 0.8
    for rows in (32, 64):
        with pytest.raises(NotImplementedError):
            module.Ratio().track_vs_cublas("4096x4096", rows)
    module.raw.read.cache_clear()


def test_pictures_are_of_what_is_recorded(recorded: Path) -> None:
    assert sorted(path.name for path in (recorded / "pictures").iterdir()) == [
        "first_call.svg",
        "hgemm.svg",
        "scan.svg",
    ]
    picture = ElementTree.parse(recorded / "pictures" / "scan.svg")
    assert {e.text for e in picture.iter("{http://www.w3.org/2000/svg}title")} == {
        "int32, 2^20: 2",
        "float32, 2^24: 0.5",
    }


def test_first_calls_are_drawn_as_milliseconds_beside_their_goal(recorded: Path) -> None:
    picture = ElementTree.parse(recorded / "pictures" / "first_call.svg")
    circles = {
        found.text: float(circle.attrib["cx"])
        for circle in picture.iter("{http://www.w3.org/2000/svg}circle")
        for found in circle.iter("{http://www.w3.org/2000/svg}title")
    }
    assert circles.keys() == {"sum, artifacts: 20.5", "hgemm, artifacts: 48", "hgemm, compiled: 1500"}
    (goal,) = (
        float(e.attrib["x1"]) for e in picture.iter("{http://www.w3.org/2000/svg}line") if e.attrib["class"] == "one"
    )
    assert circles["hgemm, artifacts: 48"] < goal < circles["hgemm, compiled: 1500"]
    assert goal - circles["hgemm, artifacts: 48"] < 10, "the line is at 50"


def test_what_was_recorded_before_stays(recorded: Path) -> None:
    (recorded / "raw" / "hgemm.json").unlink()
    command = [sys.executable, FOLDER / "publish" / "record.py", recorded / "raw", "--results", recorded / "results"]
    subprocess.run(command, check=True, capture_output=True)
    (path,) = (recorded / "results" / "h200").glob("*-existing.json")
    assert "hgemm.Square.track_us" in json.loads(path.read_text())["results"]


def test_what_the_newest_run_left_out_is_of_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(FOLDER), str(FOLDER.parent), *sys.path])
    publish = importlib.import_module("publish.pictures")
    (tmp_path / "h200").mkdir()
    for date, name, results in (
        (2, "a", {
            "one": [[0.5, None, 0.25], [["1", "2", "3"]]], "other": [[0.5], [["2"]]],
            "more": [[None, 0.3, None, None], [["1", "2"], ["7", "8"]]],
        }),
        (1, "b", {
            "one": [[0.9, 0.8, None], [["1", "2", "3"]]], "other": [[0.9, 0.8], [["1", "2"]]], "old": [[0.7], [["1"]]],
            "more": [[0.6, 0.4], [["2", "1"], ["7"]]],
        }),
    ):  # fmt: skip
        (tmp_path / "h200" / f"{name}-existing.json").write_text(json.dumps({"date": date, "results": results}))
    assert publish.newest("h200", tmp_path) == {
        "one": [[0.5, 0.8, 0.25], [["1", "2", "3"]]],
        "other": [[0.5], [["2"]]],  # of a parameter that is none any more nothing is taken
        "more": [[0.4, 0.3, 0.6, None], [["1", "2"], ["7", "8"]]],
        "old": [[0.7], [["1"]]],
    }


def test_the_pictures_of_the_documentation_are_of_the_recorded_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(FOLDER), str(FOLDER.parent), *sys.path])
    publish = importlib.import_module("publish.pictures")
    made = publish.pictures(publish.newest("h200", FOLDER / "results"))
    folder = FOLDER.parent / "docs" / "pictures"
    assert made and {path.stem: path.read_text() for path in folder.glob("*.svg")} == made, (
        "run asv_bench/publish/pictures.py"
    )


def test_the_table_of_the_readme_is_of_the_recorded_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(FOLDER), str(FOLDER.parent), *sys.path])
    publish = importlib.import_module("publish.pictures")
    recorded = publish.newest("h200", FOLDER / "results")
    made, three = publish.table(recorded), publish.three(recorded)
    readme = (FOLDER.parent / "README.md").read_text()
    assert made.count("\n") == 1 + len(publish.TABLE) and publish.with_table(readme, made) == readme, (
        "run asv_bench/publish/pictures.py"
    )
    assert three.count("times**") == len(publish.THREE) == 3
    assert publish.with_table(readme, three, publish.THREE_BEGIN, publish.THREE_END) == readme


def test_reading_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a sum can't beat reads each element once: the share of a thread is written where it is asked for, and else nothing."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    reading = importlib.import_module("reading")
    work = reduce_steps.Work(operators.add, "uint32", "uint32", "uint32", 0, 0)
    gpu = SimpleNamespace(host=False, arch="sm_90a", multiprocessors=132, wave=lambda instance, threads: 264)
    (step,) = reduce_plans.plan_reduction(work, [collapse((1 << 23,), (1,), (0,))], 0, gpu).steps
    kernel = reading.reading(step)
    assert dict(step.instance.template)["ROWS"] == dict(kernel.template)["ROWS"]
    x = np.random.default_rng(0).integers(0, 1 << 32, 1 << 13, dtype=np.uint32)
    for blocks, threads in ((2, 64), (3, 32)):
        lanes = blocks * threads
        shares = [x.reshape(-1, 4)[lane::lanes].sum(dtype=np.uint32) for lane in range(lanes)]
        for never, written in ((shares[5], shares[5]), (next(v for v in range(lanes + 1) if v not in shares), 7)):
            y = np.full(1, 7, np.uint32)
            reading.read[blocks, threads](x, y, x.size, 0, never, template=dict(kernel.template), check=True)
            assert y[0] == written


class Cupy(ModuleType):
    """CuPy, on the host: what scripts ask of it beside its functions, which are NumPy's."""

    cuda = SimpleNamespace(Device=lambda: SimpleNamespace(synchronize=lambda: None))

    def __getattr__(self, name: str) -> Any:
        return np.asarray if name == "asnumpy" else getattr(np, name)


def test_first_calls_are_of_every_algorithm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process makes the call that its case says, and looks at the results."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    monkeypatch.setitem(sys.modules, "cupy", Cupy("cupy"))
    module = importlib.import_module("first_call")
    monkeypatch.setattr(module, "LOG", 8)
    calls = usual_cases()
    assert len(calls) == len(algorithms.MANIFEST)
    for case in calls:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(module.write_code(case, tmp_path), {})
        assert len(json.loads(said.getvalue())) == 3, case
    code = module.write_code(calls[0], tmp_path).replace("function(*given", "0 * function(*given")
    with pytest.raises(AssertionError, match="scan"):
        exec(code, {})


def test_the_hosts_time_is_that_of_every_algorithm_with_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    module = importlib.import_module("host_time")
    calls = module.calls_of(Cupy("cupy"), ("scan", "sum", "compress"), 8)
    assert {"scan", "scan (out=)", "cupy: scan", "sum (out=)", "compress", "cupy: compress"} <= calls.keys()
    assert np.array_equal(calls["scan (out=)"](), calls["scan"]()) and np.array_equal(
        calls["cupy: scan"](), calls["scan"]()
    )
    every = {name for one in algorithms.MANIFEST for name in one.functions}
    assert {name.split()[0] for name in module.calls_of(Cupy("cupy"), (), 4) if "cupy" not in name} <= every


@pytest.mark.parametrize("slow", [0, 3])
def test_the_hosts_time_is_the_least_of_batches_that_the_driver_never_holds_up(
    slow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that counts calls, a batch that something holds up, and a driver that lets the host wait from 1000 launches on."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    module = importlib.import_module("host_time")
    now, pending, batch = 0.0, 0, -1
    collecting: set[bool] = set()

    def call() -> None:
        nonlocal now, pending
        collecting.add(gc.isenabled())
        pending += 1
        now += 1e-6 if pending < 1000 else 9e-6  # a GPU that begins nothing until it is waited for
        if batch == slow and pending == 7:
            now += 1e-2

    def wait() -> None:
        nonlocal pending, batch
        pending, batch = 0, batch + 1

    monkeypatch.setattr(module.time, "perf_counter", lambda: now)
    assert module.host_time(call, wait) == pytest.approx(1e-6)
    assert collecting == {False, True} and gc.isenabled(), "on only for the calls that make it warm"
    assert batch == 8, "waited for before each of 8 batches, and behind the last"
    many = module.batch(call, wait, 2000)
    assert many == pytest.approx((999 + 9 * 1001) * 1e-6 / 2000), "what one long batch would say"


def test_the_hosts_times_of_several_calls_are_of_batches_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that is slow by half for a third of the time: calls that are alike get the same times, in each round."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    module = importlib.import_module("host_time")
    now, made = 0.0, 0
    order: list[str] = []

    def call(name: str) -> None:
        nonlocal now, made
        order.append(name)
        made += 1
        now += 9e-6 if made < 3 * 4 * module.BATCH else 6e-6  # slow in the first four rounds

    monkeypatch.setattr(module.time, "perf_counter", lambda: now)
    calls = {name: functools.partial(call, name) for name in "abc"}
    assert module.host_times(calls, lambda: None, 12) == dict.fromkeys("abc", pytest.approx(6e-6))
    turns = [name for name, _ in itertools.groupby(order[6:])]
    assert turns == ["a", "b", "c"] * 12


@pytest.mark.parametrize("count", range(2, 8))
def test_each_contender_of_attention_follows_each_other_one_as_often(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel that comes after a slow one finds a cooler chip: who always does would be told faster than it is."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    module = importlib.import_module("attention")
    names = list("abcdefg"[:count])
    rounds = [module.order(names, number) for number in range(module.rounds_of(names, 1))]
    assert all(sorted(each) == names for each in rounds)
    followed = [pair for each in rounds for pair in itertools.pairwise(each)]
    assert {followed.count(pair) for pair in itertools.permutations(names, 2)} == {len(rounds) // count}
    assert module.rounds_of(names, 9) % len(rounds) == 0 and module.rounds_of(names, 9) >= 9


def test_the_hosts_time_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A call with `out=` that takes longer than it may fails the run; one that waits, or makes its result, does not."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    script, recorded = (importlib.import_module(name) for name in ("host_time", "benchmarks.host_time"))
    monkeypatch.setattr(script, "_libraries", lambda: [(Cupy("cupy"), lambda: None)])
    monkeypatch.setattr(script, "learn", lambda calls, wait: None)
    took = {"scan (out=)": 5e-6, "sum (out=)": 7e-6, "digitize (out=)": 15e-6}
    monkeypatch.setattr(
        script,
        "batches",
        lambda calls, wait, rounds: {name: [took.get(name.rpartition(" ")[0], 4e-6), 9e-6] for name in calls},
    )
    path = tmp_path / "host_time.json"
    given = ["scan", "sum", "digitize", "--sizes", "8", "--out", "--json", str(path)]
    assert script.main([*given, "--hold", "7.5"]) == 0 and script.main(given) == 0
    capsys.readouterr()
    assert script.main([*given, "--hold", "6"]) == 1
    said = capsys.readouterr().out
    assert "too long: cupy sum (out=) of 2^8: 7.00 us" in said and said.count("too long") == 1
    monkeypatch.setattr(recorded.raw, "read", lambda name: json.loads(path.read_text()))
    warm = recorded.WarmCall()
    assert warm.track_us("cupy", "sum", 8) == pytest.approx(7.0)
    with pytest.raises(NotImplementedError):
        warm.track_us("torch", "sum", 8)
    assert "sum" in recorded.CALLS and "digitize" in recorded.CALLS
