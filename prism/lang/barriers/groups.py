"""Groups: what a thread commits of the copies and wgmmas that it has issued, and how many groups surely came since.

`cp.async`s of one `async_` are a group, the wgmmas of a batch are, each bulk or tensor store is one of its own. Where a thread
waits for a group, it may leave as many pending as it has committed after that one on every path: walk.py counts them for plain
objects, `least` for the visits of rings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from prism.lang import tree
from prism.lang.tree.plan import Commit, Op, Path, ProxyFence, WaitGroup
from prism.lang.tree.walk import has_jump, statements
from prism.lang.types.perspective import Level, Perspective


def commits(function: tree.Function) -> tuple[Commit, ...]:
    """Return where groups are made. What is copied into a ring counts at its mbarrier, and needs none."""
    found = []
    for statement in statements(function.body):
        kind = _group_kind(statement)
        if kind:
            found.append(Commit(at=statement, side="after", kind=kind))
    return tuple(found)


def _group_kind(statement: tree.Stmt) -> str:
    """Return the kind of the group that ends with a statement, or the empty string."""
    match statement:
        case tree.Async(view=view):
            root = view.root().type
            return "" if isinstance(root, tree.Pointer) and root.ring else "cp_async"
        case tree.Batch():
            return "wgmma"
        case tree.Evaluate(value=tree.Apply(intrinsic=intrinsic)) if intrinsic.asynchronous == "bulk":
            return "bulk"
        case _:
            return ""


def drop_unused_groups(operations: Iterable[Op]) -> tuple[Op, ...]:
    """Return the operations without groups that nobody waits for, and without a fence or a wait just after its like."""
    found = tuple(operations)
    awaited = {op.kind for op in found if isinstance(op, WaitGroup)}
    seen: set[tuple[object, ...]] = set()
    left: list[Op] = []
    for op in found:
        match op:
            case Commit(kind=kind) if kind not in awaited:
                continue
            case ProxyFence():
                # After it, the same fence at the same place does nothing; a wait between them lands accesses that need it.
                key: tuple[object, ...] = ("fence", op.at, op.side, op.path, op.space)
            case WaitGroup():
                seen = {one for one in seen if one[:4] != ("fence", op.at, op.side, op.path)}
                key = (op.kind, op.pending, op.read, op.at, op.side, op.path)
            case _:
                left.append(op)
                continue
        if key not in seen:
            left.append(op)
        seen.add(key)
    return tuple(left)


# -- how many --------------------------------------------------------------------------------------------------------------


def least(body: Sequence[tree.Stmt], kind: str, made: Mapping[tree.Stmt, str], path: Path) -> int:
    """Return how many groups of a kind a thread surely commits in a statement list, whichever way it takes.

    `path` is the thread's, from this list on; `made` has the statements after which groups are committed.
    """
    total = 0
    for statement in body:
        total += _inside(statement, kind, made, path) + (made.get(statement) == kind)
    return total


def _inside(statement: tree.Stmt, kind: str, made: Mapping[tree.Stmt, str], path: Path) -> int:
    match statement:
        case tree.If():
            # A wait for all but n groups is right only if n came since on every way: so the fewest, here and below.
            return min(least(part, kind, made, path) for part in tree.children(statement))
        case tree.For(start=tree.Const(value=start), stop=tree.Const(value=stop), step=tree.Const(value=step)) if step:
            jumps = has_jump(statement.body)
            return (
                0 if jumps else len(range(int(start), int(stop), int(step))) * least(statement.body, kind, made, path)
            )
        case tree.Partition() | tree.Claim() | tree.Async() | tree.Batch() | tree.Turns():
            return least(statement.body, kind, made, path)
        case tree.Group(unit=unit):
            return least(statement.body, kind, made, _narrow(path, unit))
        case tree.Split():
            inside = [arm for arm in statement.arms if path[:1] == ((statement.level, arm.first, arm.size),)]
            return least(inside[0].body, kind, made, path[1:]) if inside else 0
        case _:
            return 0


def _narrow(path: Path, unit: Perspective) -> Path:
    """Return the rest of a path inside a group: where the thread goes another way there, it is in all of the group."""
    if path[:1] == (unit,) or unit.level != Level.THREAD:
        return path[1:] if path[:1] == (unit,) else path
    return ()
