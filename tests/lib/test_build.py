"""`prism build`: what ships, what is kept, the same bytes each time, and launches that check nothing again.

Tests of prism/lib: artifacts, shipped_kernels; prism/runtime: build, instance; prism/lib/algorithms/sgemm/ships.py;
prism/lib/algorithms/hgemm/ships.py.
"""

import json
import lzma
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple

import ml_dtypes  # noqa: F401 - NumPy knows bfloat16 then
import numpy as np
import pytest

from prism.host.plan import Scratch
from prism.interpret import SCHEDULES
from prism.kernels.sgemm.cut import RingCut
from prism.lang import Kernel, block, float32, grid, int32, prism, ptr, requires
from prism.lang.certify import ACCEPTED, check_text
from prism.lib import artifacts as building
from prism.lib import operators, shipped_kernels
from prism.lib.algorithms.hgemm import api as hgemms
from prism.lib.algorithms.hgemm import plan as hgemm_plans
from prism.lib.algorithms.scan import plan as scan_plans
from prism.lib.algorithms.scan.plan import Shape, Task
from prism.lib.algorithms.sgemm import ring as sgemm_ring
from prism.lib.algorithms.sgemm.matrices import Matrix, Product
from prism.runtime import artifacts
from prism.runtime import instance as instances
from prism.runtime.arrays import describe
from prism.runtime.instance import Instance, instance, request_key, sources_digest
from tests import ran
from tests.lib import ships

ROOT = Path(__file__).parents[2]


class Own(NamedTuple):
    rows: int


def way() -> scan_plans.Way:
    return scan_plans.flat(Task(operators.add, "int32", "int32"), Shape(1, 100, 1, True))


def small(arch: str) -> Iterable[Instance]:
    """A scan by one block, twice, which every architecture has, and a product of matrices, which Hopper has."""
    found = instance(way().kernel, tuple(way().template.items()))
    cut = hgemm_plans.choose(64, 64, 64, 132, 2)
    product = hgemm_plans.instance_for("float16", "float16", (False, True), False, False, 0, hgemms.identity, cut)
    return (found, found, product) if arch.startswith(("sm_80", "sm_90")) else (found,)


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def unpacked(pack: Path) -> bytes:
    with lzma.open(pack) as stream:
        return stream.read()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("artifacts")
    result = building.build(("sm_80", "sm_90a"), folder=where, jobs=2, wanted=small)
    assert (result.compiled, result.kept, result.by_arch) == (3, 0, {"sm_80": 1, "sm_90a": 2})
    assert result.without == {"sm_80": 1}, "wgmma is Hopper's"
    assert result.packed == sum(len(data) for name, data in bytes_of(where).items() if re.search(r"/.*\.xz$", name))
    assert (
        result.packed
        < result.nbytes
        == sum(facts["bytes"] for arch in result.by_arch for facts in artifacts.read_manifest(arch, where))
    )
    return where


def test_the_same_bytes_each_time(folder: Path, tmp_path: Path) -> None:
    steps: list[str] = []
    for arch in ("sm_90a", "sm_80"):  # in another order, by one process
        building.build(
            [arch],
            folder=tmp_path,
            jobs=1,
            wanted=small,
            progress=lambda p: steps.append(f"{p.stage} {p.done}/{p.total}"),
        )
    assert bytes_of(tmp_path) == bytes_of(folder)
    assert steps == ["check 1/2", "check 2/2", "compile 1/2", "compile 2/2", "check 1/2", "check 2/2", "compile 1/1"]


def test_an_error_while_kernels_are_listed_waits_for_none_of_them() -> None:
    """Those that were sent to a process are taken back; what has only one architecture of two goes after the others."""
    sent: list[tuple[list[building._Task], Future[list[building._Checked]]]] = []

    def submit(_: object, tasks: list[building._Task]) -> Future[list[building._Checked]]:
        sent.append((tasks, Future()))
        return sent[-1][1]

    def failing(arch: str) -> Iterable[Instance]:
        yield from small(arch)
        if arch == "sm_90a":
            yield from (
                instance(way().kernel, tuple({**way().template, "THREADS": 32 * n}.items())) for n in (1, 2, 3, 4)
            )
            raise RuntimeError("no more")

    pool: Any = SimpleNamespace(submit=submit)
    with pytest.raises(RuntimeError, match="no more"):
        building._check_all(pool, building._Listed(("sm_80", "sm_90a"), failing), lambda _: None)
    assert [len(tasks) for tasks, _ in sent] == [building.AT_ONCE] and sent[0][1].cancelled()
    assert [archs for _, archs in sent[0][0]] == [("sm_80", "sm_90a")] * 2 + [("sm_90a",)] * 2
    listed = building._Listed(("sm_90a", "sm_86"), small)
    assert [archs for tasks in listed.tasks() for _, archs in tasks] == [("sm_90a", "sm_86"), ("sm_90a",)]


def test_what_is_up_to_date_is_not_looked_at_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = bytes_of(folder)
    monkeypatch.setattr(building, "ProcessPoolExecutor", lambda *_, **__: pytest.fail("a process was started"))
    result = building.build(("sm_80", "sm_90a"), folder=folder, wanted=small)
    assert (result.compiled, result.kept, result.by_arch) == (0, 3, {"sm_80": 1, "sm_90a": 2})
    assert result.packed == sum(len(data) for name, data in before.items() if re.search(r"/.*\.xz$", name))
    assert bytes_of(folder) == before


def test_text_that_did_not_change_is_not_compiled_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "sources_digest", lambda: "other sources")
    result = building.build(["sm_90a"], folder=folder, jobs=1, wanted=small)
    assert (result.compiled, result.kept) == (0, 2)
    monkeypatch.undo()
    building.build(["sm_90a"], folder=folder, jobs=1, wanted=small)


def test_damage_is_mended(folder: Path) -> None:
    before = bytes_of(folder)
    broken = next((folder / "sm_80").glob("*.xz"))
    broken.write_bytes(broken.read_bytes()[:-1])
    result = building.build(("sm_80", "sm_90a"), folder=folder, jobs=1, wanted=small)
    assert (result.compiled, result.kept) == (1, 2) and bytes_of(folder) == before


def test_what_another_compiler_made_is_compiled_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "nvrtc_version", lambda: (99, 1))
    assert building.build(["sm_80"], folder=folder, jobs=1, wanted=small).compiled == 1


def test_a_kernel_that_spills_more_than_is_known_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shipped_kernels.spilling("sm_80", folder) == []
    known = shipped_kernels.SPILLS["scan_columns_shared"]
    for name, spills, told in (
        ("scan_columns_shared", known, 0),
        ("scan_columns_shared", known + 4, 1),
        ("other", 4, 1),
    ):
        facts = [{"entry": {"name": f"prism_{name}"}, "spills": spills}]
        monkeypatch.setattr(artifacts, "read_manifest", lambda *_, facts=facts: facts)
        assert shipped_kernels.spilling("sm_90a", folder) == [f"{name}: {spills} bytes"] * told


def test_the_manifest_and_the_report(folder: Path) -> None:
    (facts,) = artifacts.read_manifest("sm_80", folder)
    assert facts["entry"]["name"] == "prism_scan_block" and 0 < facts["registers"] < 256 and facts["spills"] == 0
    report = artifacts.reports(folder)[facts["report"]]
    assert report["kernel"] == "prism.kernels.scan.small:scan_block" and report["template"]["T"] == "uint32"
    assert report["template"]["OP"] == "prism.lib.thread.operators:add" or "operators" in report["template"]["OP"]
    assert report["functions"] > 3 and report["barriers"]["block"] >= 1
    assert report["verdicts"]["proved"] > 0 and report["verdicts"]["not proved"] == []
    assert {one["kind"] for one in report["verdicts"]["believed"]} == {"alias"}
    assert report["certificate"]["status"] == ACCEPTED


def test_the_certificates(folder: Path) -> None:
    """Beside the reports, by the digests that these name; one that is damaged is none."""
    (facts,) = artifacts.read_manifest("sm_80", folder)
    report = artifacts.reports(folder)[facts["report"]]
    digest = report["certificate"]["sha256"]
    text = artifacts.certificate(digest, folder)
    assert text is not None and check_text(text).status == ACCEPTED and '(kernel "scan_block")' in text
    assert artifacts.certificate("0" * 64, folder) is None and artifacts.certificate(digest, folder / "none") is None


@pytest.mark.parametrize("arch", ["sm_999", "compute_90", "sm_", "90", "sm_90a --x"])
def test_an_unknown_architecture(arch: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="sm_90"):
        building.build([arch], folder=tmp_path, wanted=small)
    assert not list(tmp_path.iterdir())


# -- Launches of what ships -----------------------------------------------------------------------------------------------


@pytest.fixture
def gpu(folder: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    place = SimpleNamespace(ordinal=0, arch="sm_90a", sm_count=132, capability=(9, 0))
    taken: list[bytes] = []

    def load(cubin: bytes, name: str, ordinal: int, shared: int) -> SimpleNamespace:
        taken.append(cubin)
        return SimpleNamespace(function=1, kernel=2, device=place, name=name)

    manifest, requested = artifacts.manifest, artifacts.find_request
    monkeypatch.setattr(artifacts, "manifest", lambda arch, where=folder: manifest(arch, folder))
    monkeypatch.setattr(artifacts, "find_request", lambda *asked: requested(*asked, folder=folder))
    monkeypatch.setattr(instances, "device", lambda ordinal: place)
    monkeypatch.setattr(instances, "load", load)
    monkeypatch.setattr(instances, "prepare", lambda entry, ordinal: ("prepared", entry))
    instances._launcher.cache_clear()
    yield SimpleNamespace(place=place, taken=taken)
    instances._launcher.cache_clear()


def test_what_ships_is_launched_without_being_checked(gpu: SimpleNamespace, folder: Path) -> None:
    found = Instance(way().kernel, tuple(way().template.items()))
    launcher = found.launcher(0)
    assert "program" not in vars(found), "nothing was checked"
    assert launcher.entry.name == "prism_scan_block" and launcher.entry.parameters[0].kind == "pointer"
    assert gpu.taken == [unpacked(path) for path in (folder / "sm_90a").glob("prism_scan_block*")]


def test_a_later_device_takes_the_code_of_its_generation(gpu: SimpleNamespace, folder: Path) -> None:
    gpu.place.arch = "sm_86"
    Instance(way().kernel, tuple(way().template.items())).launcher(0)
    assert gpu.taken == [unpacked(path) for path in (folder / "sm_80").glob("*.xz")]


def test_what_does_not_ship_is_checked_and_compiled(gpu: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Instance(way().kernel, tuple({**way().template, "REVERSE": True}.items()))
    assert other.launcher(0)[0] == "prepared" and not gpu.taken
    monkeypatch.setattr(instances, "sources_digest", lambda: "changed since")
    same = Instance(way().kernel, tuple(way().template.items()))
    assert same.launcher(0)[0] == "prepared" and not gpu.taken


def test_a_request_names_all_of_the_package_or_nothing() -> None:
    @prism("device")
    @requires(block[1])
    def local(x: int32 @ block[1]) -> int32 @ block[1]:
        return x

    @prism("global")
    @requires(grid[1])
    def own(y: ptr(float32) @ grid[1]):
        pass

    kernel, template = way().kernel, way().template
    key = request_key(kernel, tuple(template.items()))
    assert key is not None and key == request_key(kernel, tuple(reversed(template.items())))
    assert key == request_key(
        kernel, tuple({**template, "TI": int32 if template["TI"] == "int32" else template["TI"]}.items())
    )
    assert key != request_key(kernel, tuple({**template, "THREADS": 64}.items()))
    assert request_key(kernel, tuple({**template, "THREADS": True}.items())) != request_key(
        kernel, tuple({**template, "THREADS": 1}.items())
    )
    assert request_key(kernel, tuple({**template, "OP": local}.items())) is None
    assert request_key(own, ()) is None
    assert request_key(kernel, (("T", object()),)) is None
    cut = RingCut(
        128, 256, 32, 3, 16, 1, True, True, 1, False, True, True, 1, False, 232, 40
    )  # a record of the package's
    assert request_key(kernel, (("CUT", cut),)) == request_key(kernel, (("CUT", replace(cut)),)) is not None
    assert request_key(kernel, (("CUT", cut),)) != request_key(kernel, (("CUT", replace(cut, stages=9)),))
    assert request_key(kernel, (("CUT", replace(cut, stages=object())),)) is None
    assert request_key(kernel, (("CUT", Own(1)),)) is None
    nowhere = FunctionType(own.python.__code__, {})  # as `exec` makes it in a namespace without a name
    assert request_key(prism("global")(nowhere), ()) is None


def takes_what_ships(dtype: str, m: int, n: int, k: int, layout: tuple[bool, bool]) -> bool:
    """Whether all kernels of a product ship; `layout`: whether K is outside in a, and in b, in memory."""
    a = np.empty((k, m) if layout[0] else (m, k), dtype)
    b = np.empty((k, n) if layout[1] else (n, k), dtype)
    infos = {"a": describe(a.T if layout[0] else a, "a"), "b": describe(b if layout[1] else b.T, "b")}
    plan = hgemms.decide_hgemm(infos, None, shipped_kernels._Gpu("sm_90a", 132)).plan
    assert plan is not None
    return all(step.instance.request in ships.requests("sm_90a") for step in plan.steps)


@pytest.mark.parametrize("layout", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize(("dtype", "fewest"), [("bfloat16", 75), ("float16", 60)])
def test_most_products_of_layers_of_16_bits_ship(dtype: str, fewest: int, layout: tuple[bool, bool]) -> None:
    """Of layers that it was not decided by, with any number of rows. The others are compiled when they are first asked for."""
    draw = random.Random(0)
    layers = [
        (5120, 5120),
        (13824, 5120),
        (5120, 13824),
        (11008, 4096),
        (4096, 11008),
        (9216, 3072),
        (3072, 8192),
        (5632, 2048),
    ]
    found = [
        takes_what_ships(dtype, 8 * int(2 ** draw.uniform(0, 10)), *draw.choice(layers), layout) for _ in range(100)
    ]
    assert sum(found) >= fewest, sum(found)


def test_all_that_ships_can_be_named_in_another_process() -> None:
    for arch in shipped_kernels.ARCHITECTURES:
        found = ships.kernels(arch)
        assert len(found) > 500 and all(one.request for one in found)
        assert any(one.kernel.__name__ == "hgemm" for one in found) == (arch == "sm_90a")
        for one in found[::97]:
            again = building._reference(one)
            assert all(not isinstance(value, Kernel) for _, value in again.template)
            resolved = tuple((name, building._resolve(value)) for name, value in again.template)
            assert dict(resolved) == dict(one.template)


def product_of(sizes: tuple[int, int, int], orders: str) -> Product:
    """A product of matrices in C's or Fortran's order, all at multiples of 16 bytes."""
    m, n, k = sizes
    shapes = zip("ab", orders, ((m, k), (k, n)), strict=True)
    operands = (
        Matrix(name, 0, *((columns, 1) if how == "C" else (1, rows)), 0) for name, how, (rows, columns) in shapes
    )
    return Product(*operands, Matrix("out", 0, n, 1, 0), 1, sizes)


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_120"])
@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
def test_what_a_product_without_tensor_copies_is_made_of_ships(orders: str, arch: str) -> None:
    shipping = ships.requests(arch)
    for size in (256, 512, 1024, 4096):
        found = sgemm_ring.arrange(product_of((size,) * 3, orders), 108, tensor=False)
        assert {step.instance.request for step in found.steps(Scratch())} <= shipping


def test_the_safety_report_says_which_runs_there_were(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also where nothing but that has changed: then nothing is checked, nor compiled."""
    name = "{0.__module__}:{0.__qualname__}".format(way().kernel)
    runs = {"instances": 1, "runs": 2, "schedules": ["random"]}
    monkeypatch.setattr(building, "RUNS", tmp_path / "runs.json")
    before: dict[str, bytes] = {}
    for module, reported in ((building.module_digest(name), runs), ("of another text", None)):
        building.RUNS.write_text(json.dumps({name: {"module": module, **runs}}))
        building._runs.cache_clear()
        building.build(["sm_80"], folder=tmp_path / "built", jobs=1, wanted=small)
        (report,) = artifacts.reports(tmp_path / "built").values()
        assert report.get("runs") == reported
        after = bytes_of(tmp_path / "built")
        assert not before or {file for file in after if after[file] != before[file]} == {"reports.json"}
        before = after
        monkeypatch.setattr(building, "ProcessPoolExecutor", lambda *_, **__: pytest.fail("a process was started"))
    building._runs.cache_clear()


def test_recorded_runs_are_of_schedules_that_there_are() -> None:
    recorded = json.loads(building.RUNS.read_text())
    assert recorded and all(set(facts["schedules"]) <= set(SCHEDULES) for facts in recorded.values())


def test_each_kernel_that_ships_was_run_on_the_reference_machine() -> None:
    """tests/ran.py says how the runs are recorded: a kernel that is missing is run by no test that it selects."""
    recorded = json.loads(building.RUNS.read_text())
    name = "prism.kernels.sort.even:pass_evenly"
    assert ran.without(recorded.keys() - {name}) == [name]  # one that is taken out, and no other


def test_the_digest_of_the_sources_is_that_of_the_same_files_elsewhere(tmp_path: Path) -> None:
    code = "from prism.runtime.instance import sources_digest; print(sources_digest())"
    for name in ("prism", "kernels"):
        subprocess.run(["cp", "-r", ROOT / name, tmp_path / name], check=True)

    def there() -> str:
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert there() == sources_digest()
    (tmp_path / "kernels").rename(tmp_path / "prism" / "kernels")  # as a wheel has them
    assert there() == sources_digest()
    path = tmp_path / "prism" / "kernels" / "scan" / "small.py"
    before = path.stat()
    path.write_text(path.read_text().replace("a", "b"))  # as long, and as old as it says
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert there() != sources_digest()
