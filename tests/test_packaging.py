"""What a user installs: every package, the kernels as `prism.kernels`, and an import that costs next to nothing."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
IMPORT_SECONDS = 0.3


def shipped_files() -> set[str]:
    """The files of prism/ and kernels/, by the paths that a wheel gives them. Notes (*.md) stay at home."""
    found = set()
    for top, prefix in (("prism", Path()), ("kernels", Path("prism"))):
        for path in (ROOT / top).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".md":
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
        shutil.copytree(ROOT / name, work / "source" / name, ignore=shutil.ignore_patterns("__pycache__"))
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
        licences = [name for name in archive.namelist() if name.endswith("/LICENSE")]
    expected = shipped_files()
    assert "prism/kernels/__init__.py" in expected
    assert names == expected, "missing or surplus: mend [tool.setuptools.package-data] in pyproject.toml"
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


def test_the_checkout_imports_its_kernels(tmp_path: Path) -> None:
    printed = run_python("import prism.kernels as k; print(k.__file__)", tmp_path, PYTHONPATH=str(ROOT))
    assert Path(printed.strip()) == ROOT / "kernels" / "__init__.py"


def test_import_is_quick_and_touches_no_device(tmp_path: Path) -> None:
    code = (
        "import json, sys, time; start = time.perf_counter(); import prism; seconds = time.perf_counter() - start; "
        "print(json.dumps([seconds, sorted({name.split('.')[0] for name in sys.modules})]))"
    )
    best = float("inf")
    for _ in range(10):  # the best of a few: the other tests are running too
        seconds, modules = json.loads(run_python(code, tmp_path, PYTHONPATH=str(ROOT)))
        assert not {"cupy", "cuda", "torch"} & set(modules)
        best = min(best, seconds)
        if best <= IMPORT_SECONDS:
            break
    assert best <= IMPORT_SECONDS, f"import prism takes {best:.2f} s"
