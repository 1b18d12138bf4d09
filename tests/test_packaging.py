"""What a user installs: every package, the kernels as `prism.kernels`, and an import that costs next to nothing."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from prism.command.pages import pages
from prism.lib.artifacts import build
from tests.lib.test_build import small

ROOT = Path(__file__).parent.parent
IMPORT_SECONDS, OWN_SECONDS = (
    0.3,
    0.1,
)  # of the processor: NumPy takes most of the first, on a machine that does other work too


def shipped_files() -> set[str]:
    """The files of prism/ and kernels/, by the paths that a wheel gives them, and the pages that `prism help` prints."""
    found = {f"prism/{path.relative_to(ROOT).as_posix()}" for path in set(pages().values())}
    for top, prefix in (("prism", Path()), ("kernels", Path("prism"))):
        for path in (ROOT / top).rglob("*"):
            built = "artifacts" in path.relative_to(ROOT).parts
            if path.is_file() and not built and "__pycache__" not in path.parts and path.suffix != ".md":
                found.add((prefix / path.relative_to(ROOT)).as_posix())
    return found


def run_python(code: str, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_folder_with_code_is_a_package() -> None:
    code = [path.parent for top in ("prism", "kernels") for path in (ROOT / top).rglob("*.py")]
    assert not {folder.relative_to(ROOT) for folder in code if not (folder / "__init__.py").exists()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy (a build leaves folders behind) with the setuptools that is here: no download."""
    try:
        if int(metadata.version("setuptools").split(".")[0]) < 77:
            pytest.skip("needs setuptools >= 77")
        metadata.version("pip")
    except metadata.PackageNotFoundError as missing:
        pytest.skip(f"no {missing.name} in this environment to build a wheel with")
    work = tmp_path_factory.mktemp("wheel")
    for name in ("prism", "kernels"):
        shutil.copytree(ROOT / name, work / "source" / name, ignore=shutil.ignore_patterns("__pycache__", "artifacts"))
    build(["sm_90a"], folder=work / "source" / "prism" / "artifacts", jobs=1, wanted=small)
    shutil.copytree(ROOT / "docs", work / "source" / "docs", ignore=shutil.ignore_patterns("__pycache__", "*.svg"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, work / "source")
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(work)]
    done = subprocess.run([*pip, str(work / "source")], cwd=work, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = work.glob("prism_gpu-*.whl")
    return built


@pytest.mark.slow
def test_the_wheel_holds_the_tree(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        built = {name for name in names if name.startswith("prism/artifacts/")}
        licences = [name for name in archive.namelist() if name.endswith("/LICENSE")]
    expected = shipped_files()
    assert "prism/kernels/__init__.py" in expected
    assert sorted(Path(name).suffix for name in built) == [".json", ".jsonl", ".xz", ".xz", ".xz"]
    assert names - built == expected, "missing or surplus: mend [tool.setuptools.package-data] in pyproject.toml"
    assert licences


@pytest.mark.slow
def test_the_wheel_is_imported_from_anywhere(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    (tmp_path / "elsewhere").mkdir()
    code = "import prism, prism.kernels; print(prism.__file__); print(prism.kernels.__file__)"
    printed = run_python(code, tmp_path / "elsewhere", PYTHONPATH=str(tmp_path / "site"))
    site = tmp_path / "site" / "prism"
    assert [Path(line) for line in printed.splitlines()] == [site / "__init__.py", site / "kernels" / "__init__.py"]


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of its own, elsewhere, with the wheel and what it needs; the folder of its commands."""
    folder = tmp_path_factory.mktemp("elsewhere")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True)
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(folder / "env" / "bin" / "python"),
        "install",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*pip, "--quiet", str(wheel)], check=True, cwd=folder)
    (site / "needs.pth").write_text(
        f"{sysconfig.get_path('purelib')}\n"
    )  # NumPy and the compiler are not installed again
    return folder / "env" / "bin"


def in_environment(command: list[str], cwd: Path) -> str:
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


USE = """
import numpy as np, prism
from prism.lib import operators
from prism.lib.algorithms.scan import plan as scan_plans
from prism.runtime import artifacts
from prism.runtime.instance import instance, sources_digest
assert not prism.__file__.startswith(FROM), prism.__file__
assert prism.lib.scan(np.arange(5)).tolist() == [0, 1, 3, 6, 10]
way = scan_plans.flat(scan_plans.Task(operators.add, "int32", "int32"), scan_plans.Shape(1, 100, 1, True))
request = instance(way.kernel, tuple(way.template.items())).request
found = artifacts.find_request(request, "sm_90a", sources_digest())
print(found.entry["name"], found.registers)
"""


@pytest.mark.slow
def test_the_wheel_is_used_in_an_environment_elsewhere(environment: Path, tmp_path: Path) -> None:
    facts = json.loads(in_environment([str(environment / "prism"), "info", "--json"], tmp_path))
    assert facts["artifacts"]["architectures"]["sm_90a"]["current"], "built from just these sources"
    assert facts["artifacts"]["architectures"]["sm_90a"]["kernels"] == 2
    assert Path(facts["prism"]["folder"]).is_relative_to(environment.parent)
    code = USE.replace("FROM", repr(str(ROOT)))
    assert in_environment([str(environment / "python"), "-c", code], tmp_path).startswith("prism_scan_block ")
    text = in_environment([str(environment / "prism"), "emit", "prism.kernels.scan.small:scan_block"], tmp_path)
    assert "prism_scan_block" in text


# -- What an editor sees --------------------------------------------------------------------------------------------------

KERNELS = '''"""Kernels of a project."""

import prism
from prism.lang import (
    block,
    const,
    constexpr,
    dtype,
    grid,
    group,
    id,
    int32,
    partition,
    ptr,
    requires,
    shared,
    template,
    thread,
)


@prism.kernel
@requires(grid[1], block[1], thread[64])
@template(T=dtype)
def flip(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as y_thread, group(block[1]):
        s: shared(T[64])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], t) as mine, group(thread[1]):
            mine[0] = x[i]
        with group(thread[1]):
            if i < n:
                y_thread[0] = s[63 - t]


@prism.kernel
@template(THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
def sizes(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        mine[0] = THREADS
'''
CALLS = '''"""Calls kernels of the project."""

import prism
from prism.lang import float32

from my_project.kernels.flips import flip

flip[1, 64](None, None, 64)
flip.launch(None, None, 64, blocks=1, threads=64, check=True)
compiled = prism.compile(flip, template={"T": float32}, arch="sm_90a")
registers: int = compiled.registers
text: str = compiled.ptx + compiled.cuda + prism.explain(flip, {"T": "float32"})
'''


def lines_of_the_page(tool: str) -> str:
    """The lines of configuration that docs/editors.md gives, from the one that begins with `[tool.TOOL`."""
    page = (ROOT / "docs" / "editors.md").read_text()
    block = page[page.index(f"[tool.{tool}]") :]
    return block[: block.index("```")].replace("my_project/my_kernels", "my_project/kernels")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "my_project" / "kernels"
    folder.mkdir(parents=True)
    for name, text in (("my_project/__init__.py", ""), ("my_project/kernels/__init__.py", ""),
                       ("my_project/kernels/flips.py", KERNELS), ("my_project/calls.py", CALLS)):  # fmt: skip
        (tmp_path / name).write_text(text)
    shutil.copytree(folder, folder.with_name("others"))  # the lines of ruff do not name it: an alarm is seen
    ruff = re.sub(
        "builtins = .*", "", lines_of_the_page("ruff")
    )  # F821 is off there, and asked for in the other folder
    (tmp_path / "pyproject.toml").write_text(ruff + lines_of_the_page("mypy"))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["ruff", "mypy", "pyright"])
def test_no_false_alarm_with_the_documented_lines(environment: Path, project: Path, tool: str) -> None:
    if importlib.util.find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed")
    if tool == "pyright" and shutil.which("node") is None:
        pytest.skip("pyright needs Node.js")
    if tool == "ruff":  # the others look at the examples in tests/docs/test_editors.py
        skipped = shutil.ignore_patterns("__pycache__", "demo.py", "*_autograd.py")
        shutil.copytree(ROOT / "examples", project / "my_project" / "kernels" / "examples", ignore=skipped)
    python = str(environment / "python")
    options = {
        "ruff": ["check", "--no-cache", "--ignore", "I001", "."],  # in which order names are imported is no alarm
        "mypy": ["--strict", "--no-incremental", "--python-executable", python, "my_project"],
        "pyright": ["--pythonpath", python, "my_project"],
    }
    done = subprocess.run([sys.executable, "-m", tool, *options[tool]], cwd=project, capture_output=True, text=True)
    alarms = re.findall(r"my_project/\S+\.py", done.stdout)
    # ruff alone needs lines for a folder of kernels; the others take kernels as they are written.
    assert set(alarms) == ({"my_project/others/flips.py"} if tool == "ruff" else set()), done.stdout + done.stderr
    assert done.returncode == (1 if tool == "ruff" else 0), done.stdout + done.stderr  # so the tool did look


def test_the_checkout_imports_its_kernels(tmp_path: Path) -> None:
    printed = run_python("import prism.kernels as k; print(k.__file__)", tmp_path, PYTHONPATH=str(ROOT))
    assert Path(printed.strip()) == ROOT / "kernels" / "__init__.py"


def test_import_is_quick_and_touches_no_device(tmp_path: Path) -> None:
    code = (
        "import json, sys, time; start = time.process_time(); import numpy; middle = time.process_time(); import prism; "
        "end = time.process_time(); "
        "print(json.dumps([end - start, end - middle, sorted({name.split('.')[0] for name in sys.modules})]))"
    )
    best, own = float("inf"), float("inf")
    for _ in range(10):  # the best of a few: the other tests are running too
        seconds, without_numpy, modules = json.loads(run_python(code, tmp_path, PYTHONPATH=str(ROOT)))
        assert not {"cupy", "cuda", "torch"} & set(modules)
        best, own = min(best, seconds), min(own, without_numpy)
        if best <= IMPORT_SECONDS and own <= OWN_SECONDS:
            break
    assert best <= IMPORT_SECONDS and own <= OWN_SECONDS, (
        f"import prism takes {best:.2f} s, {own:.2f} s of it Prism's own"
    )


def test_calling_the_library_imports_no_checker(tmp_path: Path) -> None:
    """What a call with artifacts needs is planning and launching: the checker and the emitter take as long again to import."""
    code = (
        "import sys, prism; [getattr(prism.lib, name) for name in prism.lib.__all__]; "
        "print(sorted(name for name in sys.modules if name.startswith(('prism.lang.check', 'prism.lang.emit.program'))))"
    )
    assert run_python(code, tmp_path, PYTHONPATH=str(ROOT)).strip() == "[]"
