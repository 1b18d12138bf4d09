"""What all collectives have in common: what their documentation says of them, and that it is true where that can be told."""

import ast
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import prism.lib
from prism.lang import Kernel
from prism.lib import block, grid, thread, warp
from tests.lib.launches import LAUNCHES

ROOT = Path(__file__).parents[2]
FIELDS = ("Perspective:", "Cost:", "Test:")
COLLECTIVES = [
    (level, name)
    for level in (thread, warp, block, grid)
    for name in level.__all__
    if name not in ("operators", "Ticket")
]


def shown(level: ModuleType, name: str) -> str:
    return f"{level.__name__.rpartition('.')[2]}.{name}"


@pytest.mark.parametrize(("level", "name"), COLLECTIVES, ids=lambda x: getattr(x, "__name__", x))
def test_each_says_what_it_needs_costs_and_is_tested_by(level: ModuleType, name: str) -> None:
    collective = getattr(level, name)
    assert isinstance(collective, Kernel) and collective.kind == "device" and collective.__name__ == name
    text = collective.__doc__ or ""
    assert all(field in text for field in FIELDS), text
    for test in re.findall(r"tests/\S+\.py", text):
        assert re.search(rf"\b{name}\b", (ROOT / test).read_text(encoding="utf-8"))


@pytest.mark.parametrize("level", [thread, warp, block, grid], ids=lambda level: level.__name__)
def test_each_stands_in_a_file_of_its_family(level: ModuleType) -> None:
    files = {path.stem for path in Path(level.__path__[0]).glob("*.py")} - {"__init__"}
    families = {
        getattr(level, name).__module__.rpartition(".")[2]
        for name in level.__all__
        if name not in ("operators", "Ticket")
    }
    assert (
        files - {"activations", "operators", "ticket", "words"} == families and sorted(level.__all__) == level.__all__
    )
    assert len(families) <= 16


def test_the_table_beside_cub_has_them_all() -> None:
    page = (ROOT / "docs" / "cub.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:thread|warp|block|grid)\.\w+)`", page))
    assert {shown(*pair) for pair in COLLECTIVES} <= named | {"thread.operators"}
    known = {shown(*pair) for pair in COLLECTIVES} | {"thread.operators"}
    assert not named - known, "the page names what is not there"
    assert set(re.findall(r"`prism\.lib\.([a-z]\w*)`", page)) <= set(prism.lib.__all__)
    assert set(re.findall(r"`(examples/\S+)`", page)) <= {
        f"examples/{p.name}" for p in (ROOT / "examples").glob("*.py")
    }


@pytest.mark.parametrize("name", LAUNCHES)
def test_what_the_gpu_is_given_to_do(name: str) -> None:
    """The launches of tests/gpu/test_collectives.py: right by the machine's checks, and not without an effect."""
    launch = LAUNCHES[name]
    before = [a for a in launch.arguments if isinstance(a, np.ndarray) and a.ndim]
    after = launch.run(check=True)
    assert any(not np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    for found, wanted in zip(launch.run(check=True, schedule="random", seed=5), after, strict=True):
        assert np.array_equal(found, wanted)


OTHERS = {
    "kernels/reduce/axis.py": {"place"},  # where a result goes
    "kernels/sgemm/sums.py": {"place", "store"},  # of tiles of a matrix
    "kernels/sgemm/tiles.py": {"fill"},
}
"""Functions of kernels that have the name of a collective, and do something else."""


def test_kernels_have_no_collectives_of_their_own() -> None:
    found = {}
    for path in sorted((ROOT / "kernels").rglob("*.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        devices = {f.name for f in body if isinstance(f, ast.FunctionDef) and "@prism.device" in ast.unparse(f)}
        if names := devices & {name for _, name in COLLECTIVES}:
            found[path.relative_to(ROOT).as_posix()] = names
    assert found == OTHERS
