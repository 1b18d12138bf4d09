"""What generated kernels are written in: the text around them, their functions' parameters, and what is in force where."""

from __future__ import annotations

from typing import NamedTuple

BOUND = 4  # threads that a kernel's @requires promises
CELLS = 16  # of each block's part of the array, and of the shared array

IMPORTS = """
from prism.lang import async_, block, claim, constexpr, cp_async, grid, group, id, int32, partition, prism, ptr, requires
from prism.lang import shared, split, template, thread
"""
HEAD = f"""
@prism("global")
@requires(grid[1], block[1], thread[{BOUND}])
def kernel(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    b0: int32 @ block[1] = id()
    with partition(y, block[1], offset=b0 * {CELLS}) as out:
        with group(block[1]):
            a: shared(int32[{CELLS}], align=16) @ block[1]
            u0: int32 @ thread[1] = id()
            with partition(a, thread[1], offset=u0 * {CELLS // BOUND}) as a0:
                with group(thread[1]):
                    for i0 in range(0, {CELLS // BOUND}, 1):
                        a0[i0] = u0 + i0
            s0: int32 @ block[1] = n
            w0: int32 @ thread[2] = id()
            t0: int32 @ thread[1] = u0
            r0: int32[2] @ thread[1] = {{0}}
"""
TAIL = f"""
            with partition(out, thread[1], offset=u0 * {CELLS // BOUND}) as z0:
                with group(thread[1]):
                    z0[0] = z0[0] + s0 + w0
                    z0[1] = z0[1] - t0
                    z0[2] = z0[2] + a[5 * u0]
                    z0[3] = z0[3] + a[15 - u0]
"""

BLOCK = 0  # block[1] beside sizes of thread units


def leq(narrow: int, broad: int) -> bool:
    """Whether narrow <= broad, of thread[n] and BLOCK."""
    return broad == BLOCK or (narrow != BLOCK and broad % narrow == 0)


def name(unit: int) -> str:
    return "block[1]" if unit == BLOCK else f"thread[{unit}]"


class Parameter(NamedTuple):
    """A device function's: a scalar, a pointer to that many cells, or a local array of that length."""

    name: str
    kind: str
    unit: int
    cells: int = 0

    def __str__(self) -> str:
        type_ = {"scalar": "int32", "pointer": "ptr(int32)", "array": f"int32[{self.cells}]"}[self.kind]
        return f"{self.name}: {type_} @ {name(self.unit)}"


class Function(NamedTuple):
    """A device function: who runs it, what it takes, and its template parameter's name and value, if it has one."""

    name: str
    code: int
    parameters: tuple[Parameter, ...]
    template: tuple[str, int] | None


class Scope:
    """What is in force: scalars, arrays that threads share, and local arrays by name, each with its unit; arrays with how
    many cells are theirs.

    `fixed` are not assigned to; `outside` are in global memory, which only single threads read.
    """

    def __init__(
        self,
        code: int,
        scalars: dict[str, int],
        arrays: dict[str, tuple[int, int]],
        fixed: frozenset[str] = frozenset(),
        outside: frozenset[str] = frozenset(),
        locals_: dict[str, tuple[int, int]] | None = None,
    ) -> None:
        self.code, self.scalars, self.arrays, self.fixed = code, dict(scalars), dict(arrays), fixed
        self.outside, self.locals = outside, dict(locals_ or {})

    def at(self, code: int) -> Scope:
        return Scope(code, self.scalars, self.arrays, self.fixed, self.outside, self.locals)

    def view(self, source: str, y: str, unit: int, cells: int) -> None:
        self.arrays[y] = (unit, cells)
        if source in self.outside:
            self.outside |= {y}
