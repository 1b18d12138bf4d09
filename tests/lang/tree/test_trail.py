"""What a walk recorded is found again from the same state, and not where barriers have changed since."""

import builtins

import prism
from prism.lang import block, grid, group, id, int32, partition, ptr, requires, thread
from prism.lang.tree import For, Group, Partition, Stmt
from prism.lang.tree.trail import MOST, Trail
from prism.lang.tree.walk import statements


@prism.lang.prism("global")
@requires(grid[1], block[1], thread[32])
def sums(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], 32 * id()) as part, group(block[1]):
        with partition(part, thread[1], id()) as mine, group(thread[1]):
            total: int32 @ thread[1] = 0
            for k in range(n):
                total += k
            mine[0] = total


def learned() -> tuple[Trail, dict[type, Stmt], tuple[Stmt, ...]]:
    body = prism.check(sums).entry.body
    trail = Trail(deep=2)
    assert trail.add(body) == (False, False, True)  # no jump or return leaves it, and a loop is in it
    return trail, {type(s): s for s in reversed(list(statements(body)))}, body


def test_a_walk_is_found_by_its_first_state() -> None:
    trail, _, body = learned()
    states = [{"x": 1}, {"x": 2}]
    trail.note(body, states)
    assert trail.find(body, {"x": 1}) is states
    assert trail.find(body, {"x": 2}) is None


def test_a_change_concerns_all_lists_around_it() -> None:
    trail, kinds, body = learned()
    loop = kinds[For]
    assert isinstance(loop, For)
    trail.change([loop.body[0]])
    inside = trail.dirty[builtins.id(loop.body)], trail.dirty[builtins.id(body)]
    assert inside == ([0], [0])
    assert all(builtins.id(kinds[kind].body) in trail.dirty for kind in (Partition, Group))


def test_what_is_tried_is_kept_or_forgotten() -> None:
    trail, kinds, body = learned()
    old, new = [{"x": 1}, {"x": 2}], [{"x": 1}, {"x": 3}]
    trail.note(body, old)
    trail.change([kinds[For]])
    trail.note(body, new)
    assert trail.find(body, {"x": 1}) is old
    trail.keep()
    assert trail.find(body, {"x": 1}) is new


def test_few_walks_of_a_list_are_remembered() -> None:
    trail, _, body = learned()
    for k in range(MOST + 1):
        trail.note(body, [{"x": k}])
    assert trail.find(body, {"x": 0}) is None and trail.find(body, {"x": MOST}) is not None
