"""Where blocks wait for each other: in few functions, whose loops end where what they wait for is published."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[3]
WAITS = {"receive", "load_acquire", "load_relaxed", "atomic_cas"}
"""What a loop that waits for another block is made of."""


def waiting(path: Path) -> set[str]:
    return {
        node.id for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Name)
    } & WAITS


def test_no_kernel_waits_by_itself() -> None:
    """A kernel receives nothing: it calls the collectives. What it loads, such as the number of launches, it doesn't wait for."""
    found = {str(path.relative_to(ROOT)): waiting(path) for path in sorted((ROOT / "kernels").rglob("*.py"))}
    assert {path: names for path, names in found.items() if names} == {
        "kernels/histogram/handing.py": {"load_relaxed"},  # the last block does, when all have come
        "kernels/lookup/find.py": {
            "load_relaxed"
        },  # of what was found so far: blocks end sooner, and none waits for it
        "kernels/ranks/exchange.py": {"load_relaxed"},  # of what other ranks write: there are no other blocks
        "kernels/reduce/both.py": {"load_relaxed"},
        "kernels/reduce/search.py": {"load_relaxed"},
        "kernels/reduce/single_pass.py": {"load_relaxed"},
        "kernels/scan/small.py": {"load_relaxed"},
    }


def test_the_collectives_wait_by_receive_in_seven_places_and_for_a_count_in_one() -> None:
    found = {str(path.relative_to(ROOT)): waiting(path) for path in sorted((ROOT / "prism" / "lib").rglob("*.py"))}
    assert {path: names for path, names in found.items() if names} == {
        "prism/lib/grid/draw.py": {"load_relaxed"},
        "prism/lib/grid/gather.py": {"receive"},
        "prism/lib/grid/completion.py": {"load_acquire"},
        "prism/lib/grid/look_back.py": {"receive"},
        "prism/lib/grid/look_back_columns.py": {"receive"},
        "prism/lib/grid/look_back_digits.py": {"receive"},
        "prism/lib/grid/look_back_segments.py": {"receive"},
        "prism/lib/grid/look_back_stable.py": {"receive"},
        "prism/lib/grid/receive_totals.py": {"receive"},
    }
