"""The stages of the compiler: each once, in order, in one function, which knows nothing of what comes after."""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import prism
from prism.lang import block, grid, group, id, int32, partition, pipeline, ptr, requires, thread
from prism.lang.lower.lowered import lower
from prism.lang.lower.skew import skewed
from prism.lang.lower.specialise import specialise

STAGES = ["check", "check_blocks", "lay_out", "plan", "assemble", "judge"]


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


def test_the_pipeline_knows_none_of_its_users() -> None:
    tree = ast.parse(Path(pipeline.__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    assert "prism.lang.sync" in modules, "the test does not see the imports"
    users = ("prism.lang.emit", "prism.lang.lower.lowered", "prism.explanation", "prism.interpret", "prism.runtime")
    assert not [module for module in modules if module.startswith(users)]


def test_a_program_without_roles_or_rings_is_emitted_as_it_is() -> None:
    program = pipeline.build(ones)
    assert lower(program) is program
    assert specialise(skewed(program)) is program
