"""`prism tune`: the search with a stopwatch that is told what to say, the tables that it prints, and the command.

Tests of prism/command/tune.py; prism/lib/tune_device.py; prism/lib/algorithms/scan/tables.py;
prism/lib/algorithms/reduce/tables.py; prism/lib/algorithms/hgemm/tables.py; prism/lib/tuned.py.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from prism.cli import main
from prism.command import tune as command
from prism.host.axes import Collapsed
from prism.kernels.hgemm import configurations as hgemm
from prism.kernels.reduce import configurations as reduce
from prism.kernels.scan import configurations as scan
from prism.lib import operators, tune_device, tuned
from prism.lib.algorithms.hgemm import plan as hgemm_plans
from prism.lib.algorithms.hgemm.api import decide_hgemm
from prism.lib.algorithms.reduce import plan as reduce_plans
from prism.lib.algorithms.reduce import steps as reduce_steps
from prism.lib.algorithms.scan import plan as scan_plans
from prism.lib.tune import DTYPES, Unusable, search, spell_choice, table_text, tables, tune
from prism.runtime.code import store
from prism.runtime.driver import DeviceError


class Stopwatch:
    """Measures a choice by a function, a little longer or shorter each time, and counts."""

    def __init__(self, seconds: Any, noise: float = 0.002) -> None:
        self.seconds, self.noise = seconds, noise
        self.random = np.random.default_rng(0)
        self.asked: dict[Any, int] = {}
        self.order: list[Any] = []

    def __call__(self, choice: Any) -> Mapping[str, float]:
        self.asked[choice] = self.asked.get(choice, 0) + 1
        self.order.append(choice)
        found = self.seconds(choice)
        found = found if isinstance(found, dict) else {"": found}
        return {size: value * self.random.normal(1, self.noise) for size, value in found.items()}


def test_the_fastest_is_found() -> None:
    watch = Stopwatch(lambda choice: 1 + abs(choice - 37) / 100)
    found = search(range(100), watch, rounds=7)
    assert found.best.choice == 37 and found.present.choice == 0
    assert found.best.ratio == pytest.approx(1 / 1.37, rel=0.01)  # the stopwatch's noise, of medians of 7
    assert [one.ratio for one in found.measured] == sorted(one.ratio for one in found.measured)


def test_slow_ones_are_measured_once_and_the_present_one_always() -> None:
    watch = Stopwatch(lambda choice: float(100 - choice))
    search(range(64), watch, rounds=5)
    assert watch.asked[0] == 5 and watch.asked[1] == 1 and watch.asked[63] == 5
    assert sum(watch.asked.values()) < 64 + 33 + 17 + 9 + 9 + 1
    assert watch.order[:64] == list(range(64)) and watch.order[64] > watch.order[65]  # and back


def test_what_is_no_better_than_noise_does_not_replace_the_present_choice() -> None:
    assert search(range(10), Stopwatch(lambda choice: 1 - choice / 2000, noise=0)).best.choice == 0
    assert search(range(10), Stopwatch(lambda choice: 1 - choice / 200, noise=0)).best.choice == 9


def test_no_size_counts_for_more_than_another() -> None:
    """A choice twice as fast for what takes a microsecond beats one a third faster for what takes a second."""
    times = {"now": {"a": 1e-6, "b": 1.0}, "short": {"a": 5e-7, "b": 1.0}, "long": {"a": 1e-6, "b": 0.66}}
    assert search(list(times), Stopwatch(times.get, noise=0)).best.choice == "short"


def test_what_does_not_run_is_left_out_with_its_reason() -> None:
    def seconds(choice: int) -> float:
        if choice % 3 == 1:
            raise Unusable(f"{choice} spills")
        return 10.0 - choice

    found = search(range(9), Stopwatch(seconds))
    assert found.best.choice == 8 and found.unusable == {k: f"{k} spills" for k in (1, 4, 7)}
    with pytest.raises(Unusable):
        search([1, 2], Stopwatch(seconds))


# -- What is tried, and what is printed ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", tables())
def test_the_present_choice_is_tried_first_and_none_twice(name: str) -> None:
    for key, present in tables()[name].entries.items():
        choices = tables()[name].candidates(key)
        assert len(choices) > 4 and len(set(choices)) == len(choices)
        assert present is None or choices[0] == present


@pytest.mark.parametrize("size", DTYPES)
def test_a_table_is_printed_as_it_is_written(size: int) -> None:
    """What is printed evaluates to the choices: it can be pasted."""
    for name, module in (("scan", scan), ("reduce", reduce)):
        wanted = tables()[name].candidates(size)[-1]
        watch = Stopwatch(lambda choice, wanted=wanted: 0.5 if choice == wanted else 1.0, noise=0)
        timer = SimpleNamespace(measure=lambda name, key: watch)
        found = dict(tune(name, [size], timer, rounds=2))
        text = table_text(name, found)
        assert "2.00x as fast as" in text
        pasted: dict[str, Any] = {"Configuration": module.Configuration}
        exec(text, pasted)
        assert pasted["DEVICE"] == {**module.DEVICE, size: wanted}


@pytest.mark.parametrize("size", DTYPES)
def test_sums_that_are_measured_go_by_the_table_that_is_tuned(size: int) -> None:
    for nbytes in tune_device._BYTES:
        assert (
            reduce.short(nbytes // 16, size) is None and reduce.middle(nbytes // 16, size, size) == reduce.DEVICE[size]
        )


def test_products_are_listed_by_shape() -> None:
    """And what is printed evaluates to the choices, the others as they were."""
    best = tables()["hgemm"].candidates("4096")[5]
    watch = Stopwatch(lambda choice: 1.0 if choice == best else 2.0, noise=0)
    found = dict(tune("hgemm", ["4096"], SimpleNamespace(measure=lambda name, key: watch), rounds=1))
    text = table_text("hgemm", found)
    assert f"'4096': {spell_choice(best)},  # 2.00x as fast as Configuration(" in text
    pasted: dict[str, Any] = {"Configuration": hgemm.Configuration}
    exec(text, pasted)
    assert pasted["MEASURED"] == {**hgemm.MEASURED, "4096": best}


@pytest.mark.parametrize("text", ["", "4096x", "1x2", "4096 NX", "0x64x64", "a NN"])
def test_what_is_no_shape(text: str) -> None:
    with pytest.raises(ValueError, match="is no shape, as 4096x14336x4096 NT"):
        tables()["hgemm"].every(text)


# -- The choices of a GPU -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", DTYPES)
def test_a_choice_put_into_the_table_is_the_one_that_runs(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """And the table is as before afterwards, also where the choice does not work."""
    timer = tune_device.Timer.__new__(tune_device.Timer)
    kind = DTYPES[size]
    choice = scan.candidates(size)[-1]
    task = scan_plans.Task(operators.add, kind, kind)
    way = timer.ready(
        tables()["scan"], size, choice, lambda: scan_plans.many_tiles(task, scan_plans.Shape(1, 1 << 24, 1, True))
    )
    assert way.threads == choice.threads and way.template["ITEMS"] == choice.items
    assert scan.DEVICE[size] == scan.candidates(size)[0] != choice

    shape = Collapsed(1, 1 << 28, 1, 0, 1, 0, 1, 1)
    machine = SimpleNamespace(
        host=False, arch="sm_90a", multiprocessors=132, early=True, wave=lambda program, threads: 264
    )
    chosen = reduce.candidates(size)[-1]
    work = reduce_steps.Work(operators.add, kind, kind, kind, 0, 0)
    plan = timer.ready(tables()["reduce"], size, chosen, lambda: reduce_plans.plan_reduction(work, [shape], 0, machine))
    assert plan.steps[0].threads == chosen.threads
    with pytest.raises(Unusable, match="too few registers"):
        timer.ready(
            tables()["reduce"], size, chosen, lambda: (_ for _ in ()).throw(ValueError("too few registers\nmore"))
        )
    assert reduce.DEVICE[size] == reduce.candidates(size)[0] != chosen


def test_expected_sums() -> None:
    for kind in DTYPES.values():
        x = tune_device.values(kind)
        n = 3 * len(x) + 12_345
        with np.errstate(over="ignore"):
            assert tune_device.sums(x, n).sum(dtype=x.dtype) == np.resize(x, n).sum(dtype=x.dtype)


# -- The command --------------------------------------------------------------------------------------------------------


class Gpu:
    """What `timer_of` returns on a machine with a GPU, which measures by a stopwatch."""

    device = SimpleNamespace(name="a GPU")

    def __init__(self, seconds: Any) -> None:
        self.measure = lambda name, key: Stopwatch(seconds, noise=0)


def with_gpu(monkeypatch: pytest.MonkeyPatch, seconds: Any) -> None:
    monkeypatch.setattr(command, "timer_of", lambda ordinal: contextlib.nullcontext(Gpu(seconds)))


def test_the_command_prints_tables(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with_gpu(monkeypatch, lambda choice: float(choice.threads))
    assert main(["tune", "--keys", "4", "--rounds", "1"]) == 0
    out, progress = capsys.readouterr()
    assert out.startswith("# Measured on a GPU.\n\n# kernels/scan/configurations.py\nDEVICE = {")
    assert out.count("DEVICE = {") == 2 and progress.startswith("scan 4: Configuration(threads=128")


def test_the_command_writes_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with_gpu(monkeypatch, lambda choice: 1.0)
    assert main(["tune", "reduce", "--keys", "8", "--rounds", "1", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["found"]
    assert (found["table"], found["key"], found["best"]) == ("reduce", 8, found["present"])
    assert len(found["measured"]) == len(reduce.candidates(8))


def test_shapes_are_kept_and_taken_by_later_calls(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On that GPU alone, in that layout alone; what else was kept stays."""
    monkeypatch.setenv("PRISM_CACHE_DIR", str(tmp_path / "cache"))
    forget = (store.cache_clear, tuned.kept_choices.cache_clear)
    [clear() for clear in forget]
    other = tables()["hgemm"].every("300x520x1000 NN")
    usual = cut_of("", "T")
    best = next(found for found in tables()["hgemm"].every("300x520x1000 NT") if found not in other and found != usual)
    with_gpu(monkeypatch, lambda choice: 1.0 if choice == best else 2.0)
    (tmp_path / "shapes").write_text("# two\n300x520x1000  NT  # of a layer\n\n300x520x1000\n")
    try:
        assert main(["tune", "hgemm", "--shapes", str(tmp_path / "shapes"), "--rounds", "1"]) == 0
        assert "later calls on it take these.\nhgemm 300x520x1000 NT: Configuration(" in capsys.readouterr().out
        [clear() for clear in forget]
        assert set(tuned.kept_choices("hgemm", "a GPU")) == {"300x520x1000 NT", "300x520x1000 NN"}
        assert cut_of("a GPU", "T") == best and cut_of("another GPU", "T") != best and cut_of("", "T") != best
        assert cut_of("a GPU", "N") == other[0]
    finally:
        monkeypatch.undo()
        [clear() for clear in forget]


def cut_of(gpu: str, layout: str) -> Any:
    """Return the tiles that a product of 300 x 520 x 1000 takes on a GPU of this name."""
    machine = SimpleNamespace(host=False, arch="sm_90a", multiprocessors=132, name=gpu)
    a, b = tune_device.matrix(256, 300, 1000, 0), tune_device.matrix(256, 1000, 520, 0, transposed=layout == "T")
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hgemm_plans, "instance_for", lambda *facts: seen.append(facts[7]))
        decide_hgemm({"a": a, "b": b}, None, machine)
    return seen[0]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["tune", "--shapes", "x"], "--shapes is for one table of: hgemm"),
        (["tune", "scan", "--shapes", "x"], "--shapes is for one table of: hgemm"),
        (["tune", "hgemm", "--shapes", "nowhere"], "can't read nowhere: No such file"),
        (["tune", "sort"], "no table 'sort'; there are: scan, reduce, hgemm"),
        (["tune", "--keys", "3"], "scan has no entry '3'; it has: 1, 2, 4, 8, 16"),
        (["tune", "--rounds", "0"], "--rounds must be >= 1, not 0"),
    ],
)
def test_what_is_typed_wrong(arguments: list[str], fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert fault in capsys.readouterr().err


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def none(ordinal: int) -> None:
        raise DeviceError("no NVIDIA driver on this machine")

    monkeypatch.setattr(command, "timer_of", none)
    assert main(["tune", "scan"]) == 2
    assert capsys.readouterr().err == "prism: tune needs a GPU: no NVIDIA driver on this machine\n"


def test_a_present_choice_that_does_not_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(choice: Any) -> float:
        raise Unusable("its result is 3, not 4")

    with_gpu(monkeypatch, wrong)
    assert main(["tune", "scan", "--keys", "4"]) == 3
    assert "its result is 3, not 4" in capsys.readouterr().err
