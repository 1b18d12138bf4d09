"""The stages of the compiler: each once, in order, in one function, which knows nothing of what comes after."""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import prism
from prism.lang import block, grid, group, id, int32, partition, pipeline, ptr, requires, thread
from prism.lang.emit import emit

STAGES = [
    "check", "check_blocks", "split", "lay_out", "plan", "assemble", "skew", "specialise", "judge", "allocate_named",
]  # fmt: skip


@prism("global")
@requires(grid[1], block[1], thread[32])
def ones(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        mine[0] = 1


def test_each_stage_runs_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def seen(name: str, stage: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            ran.append(name)
            return stage(*arguments)

        return run

    for name in STAGES:
        monkeypatch.setattr(pipeline, name, seen(name, getattr(pipeline, name)))
    program = pipeline.build(ones)
    assert program.entry.name == "ones" and ran == STAGES
    assert "prism_ones" in emit(pipeline.lower(program)).source and ran == STAGES, "a stage runs again"


def test_the_pipeline_knows_none_of_its_users() -> None:
    tree = ast.parse(Path(pipeline.__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    assert "prism.lang.sync" in modules, "the test does not see the imports"
    users = ("prism.lang.emit", "prism.explanation", "prism.interpret", "prism.runtime")
    assert not [module for module in modules if module.startswith(users)]


def test_a_program_without_roles_or_rings_is_emitted_as_it_is() -> None:
    program = pipeline.build(ones)
    assert pipeline.lower(program).program is program


@pytest.mark.parametrize("folder", ["prism/lang/emit", "prism/interpret"])
def test_who_takes_a_lowered_program_runs_no_stage(folder: str) -> None:
    found = {
        f"{node.module}.{alias.name}"
        for path in (Path(pipeline.__file__).parents[2] / folder).glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("prism.lang")
        for alias in node.names
    }
    assert "prism.lang.tree.plan.Program" in found, "the test does not see the imports"
    assert not found & {
        f"{stage.__module__}.{stage.__name__}" for stage in (getattr(pipeline, name) for name in STAGES)
    }
