"""Where the library's kernels wait for other blocks: in these functions and nowhere else (`prism.lang.facts.waits`)."""

import importlib
from collections import defaultdict

import pytest

from prism.lang.check import check
from prism.lang.facts.waits import waits
from prism.lang.tree.inlined import owner
from prism.lib import artifacts, shipped_kernels

WAITS = {
    ("collect", "receive"), ("look_back_columns", "receive"), ("look_back_digits", "receive"), ("look_back_each", "receive"),
    ("look_back_more_digits", "receive"), ("look_back_segments", "receive"), ("look_back_stable", "receive"),
    ("dynamic_tiles", "while"), ("find_first", "while"), ("move_to_groups", "while"), ("receive_totals", "receive"),
    ("wait_for_done", "while"), ("look_back_digits", "while"), ("look_back_more_digits", "while"),
    ("sort_long_rows", "while"), ("sort_window", "while"),
}  # fmt: skip


@pytest.mark.check
def test_waits_stand_in_few_places() -> None:
    """One instance of each kernel that ships: a wait that is new is looked at before it stands here.

    The loops that are no waits by their meaning count drawn numbers, go back to the first block at most, or end early if
    another block has said so.
    """
    families = defaultdict(list)
    for one in shipped_kernels.instances("sm_90a"):
        reference = artifacts._reference(one)
        families[reference.kernel].append(reference)
    picked = [one for family in families.values() for one in family[len(family) // 2 :][:1]]
    found = set()
    for reference in picked:
        module, name = reference.kernel
        template = {key: artifacts._resolve(value) for key, value in reference.template}
        for function in check(getattr(importlib.import_module(module), name), template):
            found |= {(owner(function, span) or function.name, what) for span, what in waits(function)}
    assert found == WAITS
