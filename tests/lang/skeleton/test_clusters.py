"""Certificates of clusters: whose blocks have begun and not ended, where another reaches into them; and fences for each memory.

Tests of prism/lang/skeleton: clusters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

import prism
from prism.lang.certify import ACCEPTED, NOT_COVERED, REJECTED, check_text
from prism.lang.diagnostics import CompileError
from prism.lang.tree.plan import Program, ProxyFence
from tests.certificates import certified
from tests.generated.edge_clusters import program as generated
from tests.generated.programs import loaded
from tests.lang.barriers import test_cluster
from tests.lang.intrinsics import test_gathers
from tests.mutation import memory_mutants

KERNELS = (
    test_cluster.gives,
    test_cluster.takes,
    test_cluster.meets_in_a_branch,
    test_cluster.meets_in_a_loop,
    test_cluster.reaches_before,
    test_cluster.prints,
    test_cluster.returns_early,
    test_cluster.carried_out,
    test_cluster.changed_by_text,
    test_gathers.looks_beside,
    test_gathers.leaves_early,
    test_gathers.gathers_alone,
    test_gathers.gathers_in_a_condition,
)


def without_meetings(program: Program) -> Iterator[tuple[str, Program]]:
    """Yield the program without what its plan has for blocks that begin late, or end first."""
    yield from (
        (mutant.name.split("`")[1], changed) for mutant, changed in memory_mutants(program) if "not `" in mutant.name
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_no_block_may_be_missing_or_gone(kernel: prism.Kernel) -> None:
    program = prism.check(kernel)
    assert certified(program).finding.status == ACCEPTED
    mutants = list(without_meetings(program))
    assert mutants
    for name, changed in mutants:
        found = certified(changed)
        assert (found.finding.status, found.finding.rule) == (REJECTED, "there"), name
        assert check_text(str(found)) == found.finding


def test_generated_clusters_without_their_meetings_are_rejected() -> None:
    said: Counter[tuple[str, str]] = Counter()
    for seed in range(30):
        edge = generated(seed)
        with loaded(edge.head + edge.text) as names:
            try:
                program = prism.check(names["kernel"])
            except CompileError:
                continue
            said["", certified(program).finding.status] += 1
            for name, changed in without_meetings(program):
                said[name, certified(changed).finding.rule] += 1
    assert said["", REJECTED] == said["", NOT_COVERED] == 0 and said["", ACCEPTED] > 25
    assert {rule for name, rule in said if name} == {"there"} and min(
        said["begins", "there"], said["ends", "there"]
    ) > 5


def test_what_is_sent_orders_nothing_else() -> None:
    """The gather beside an exchange by a cluster's object stands for no barrier of it."""
    found = str(certified(prism.check(test_gathers.looks_beside)))
    assert " sent)" in found and "(bar (cluster" in found.replace(" sent)", "")


@pytest.mark.parametrize(
    ("space", "status"), [("shared", REJECTED), ("global", REJECTED), ("cluster", ACCEPTED), ("all", ACCEPTED)]
)
def test_a_fence_for_other_memory_is_rejected(space: str, status: str) -> None:
    """As the reference machine has it: tests/lang/barriers/test_cluster.py."""
    program = prism.check(test_cluster.carried_out)
    plan = program.plans[program.entry]
    changed = [replace(op, space=space) if isinstance(op, ProxyFence) else op for op in plan.operations]
    assert certified(program.with_plan(replace(plan, operations=tuple(changed)))).finding.status == status
