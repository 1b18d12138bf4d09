"""Groups: what a thread commits of the copies and wgmmas that it has issued, and how many groups surely came since.

`cp.async`s of one `async_` are a group, the wgmmas of a batch are, each bulk or tensor store is one of its own. Where a thread
waits for a group, it may leave as many pending as it has committed after that one on every path: walk.py counts them for plain
objects, `least` for the visits of rings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from prism.lang.tree import (
    Apply,
    Async,
    Batch,
    Break,
    Claim,
    Const,
    Continue,
    Evaluate,
    For,
    Function,
    Group,
    If,
    Partition,
    Pointer,
    Return,
    Split,
    Stmt,
    children,
)
from prism.lang.tree.plan import Commit, Op, Path, ProxyFence, WaitGroup
from prism.lang.tree.walk import statements
from prism.lang.types.perspective import Level, Perspective


def commits(function: Function) -> tuple[Commit, ...]:
    """Return where groups are made. What is copied into a ring counts at its mbarrier, and needs none."""
    found = []
    for statement in statements(function.body):
        kind = _issued(statement)
        if kind:
            found.append(Commit(at=statement, side="after", kind=kind))
    return tuple(found)


def _issued(statement: Stmt) -> str:
    """Return the kind of the group that ends with a statement, or the empty string."""
    match statement:
        case Async(view=view):
            root = view.root().type
            return "" if isinstance(root, Pointer) and root.ring else "cp_async"
        case Batch():
            return "wgmma"
        case Evaluate(value=Apply(intrinsic=intrinsic)) if intrinsic.asynchronous == "bulk":
            return "bulk"
        case _:
            return ""


def kept(operations: Iterable[Op]) -> tuple[Op, ...]:
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
                seen -= {("fence", op.at, op.side, op.path, space) for space in ("shared", "global", "all")}
                key = (op.kind, op.pending, op.read, op.at, op.side, op.path)
            case _:
                left.append(op)
                continue
        if key not in seen:
            left.append(op)
        seen.add(key)
    return tuple(left)


# -- how many --------------------------------------------------------------------------------------------------------------


def least(body: Sequence[Stmt], kind: str, made: Mapping[Stmt, str], path: Path) -> int:
    """Return how many groups of a kind a thread surely commits in a statement list, whichever way it takes.

    `path` is the thread's, from this list on; `made` has the statements after which groups are committed.
    """
    total = 0
    for statement in body:
        total += _inside(statement, kind, made, path) + (made.get(statement) == kind)
    return total


def _inside(statement: Stmt, kind: str, made: Mapping[Stmt, str], path: Path) -> int:
    match statement:
        case If():
            # A wait for all but n groups is right only if n came since on every way: so the fewest, here and below.
            return min(least(part, kind, made, path) for part in children(statement))
        case For(start=Const(value=start), stop=Const(value=stop), step=Const(value=step)) if step:
            jumps = any(isinstance(s, Break | Continue | Return) for s in statements(statement.body))
            return (
                0 if jumps else len(range(int(start), int(stop), int(step))) * least(statement.body, kind, made, path)
            )
        case Partition() | Claim() | Async() | Batch():
            return least(statement.body, kind, made, path)
        case Group(unit=unit):
            return least(statement.body, kind, made, _narrowed(path, unit))
        case Split():
            inside = [arm for arm in statement.arms if path[:1] == ((statement.level, arm.first, arm.size),)]
            return least(inside[0].body, kind, made, path[1:]) if inside else 0
        case _:
            return 0


def _narrowed(path: Path, unit: Perspective) -> Path:
    """Return the rest of a path inside a group: where the thread goes another way there, it is in all of the group."""
    if path[:1] == (unit,) or unit.level != Level.THREAD:
        return path[1:] if path[:1] == (unit,) else path
    return ()
