"""Derivations of what touches memory: partitions, claims, stores, shared objects, atomics (R18-R25)."""

from __future__ import annotations

import math
from dataclasses import replace

from prism.lang.types.perspective import BLOCK, GRID, THREAD, Level, Perspective
from tests.generated.derive import Found, indent
from tests.generated.numbers import holds, width_of
from tests.generated.scope import BITS, INTEGERS, VECTORS, Memory, Scope, Value, pick
from tests.generated.speech import Speech

OTHERS = ("atomic_min", "atomic_max", "atomic_and", "atomic_or", "atomic_xor")
"""What else is done to shared memory in one step, in no order: one of these in a program, for they don't commute."""
Part = tuple[str, tuple[int, ...], bool]
"""What stands after a partition's unit, the extents of each part, and whether a part's elements lie side by side."""


class Memories(Speech):
    """Statements that open parts of memory, and write them. `overlaps`: whether one says `races="allow"`: one partition may."""

    overlaps = False

    # -- R20 PARTITION ----------------------------------------------------------------------------------------------------

    def partition(self, scope: Scope, depth: int) -> Found:
        """R20 PARTITION of some memory whose owners are the code, or of some that nobody writes."""
        open_ = [m for m in scope.memories if not m.tally and self.units_of(scope, m)]
        if not open_:
            return None
        return self.opened(scope, pick(self.choices, open_), depth), scope

    def units_of(self, scope: Scope, memory: Memory) -> list[Perspective]:
        """Return the units that memory can be partitioned to here."""
        if memory.place != scope.code and not (memory.const and scope.code <= memory.place):
            return []
        units = [u for u in scope.units() if u != GRID and u <= memory.place and (memory.const or u.size != 48)]
        return [u for u in units if memory.size // scope.count(u) >= 1]

    def opened(self, scope: Scope, memory: Memory, depth: int, unit: Perspective | None = None) -> list[str]:
        """One partition of this memory, R21 inside it, and what is done with the part."""
        self.rule("R20", "R17" if memory.const else "R21")
        if memory.name != memory.root:
            self.rule("R20-nested")
        unit = unit or pick(self.choices, self.units_of(scope, memory))
        if scope.code == GRID and unit.level == Level.THREAD:
            self.rule("R20-skip")
        offset, shape, plain = self.part(scope, memory, unit)
        name = self.fresh("p")
        aligned = math.gcd(memory.aligned, math.prod(shape)) if unit != scope.code else 1
        plain = plain and memory.plain
        whole = memory.whole and not offset
        view = replace(
            memory, name=name, place=unit, shape=shape, plain=plain, aligned=aligned if plain else 1, whole=whole
        )
        inner = (scope if memory.const else scope.without(memory)).bounded().add(view)
        body = [] if memory.const or not self.chance(40) else self.body(inner, depth, 1)
        body += self.body(inner, depth, 2) if memory.const else self.written(inner, view, depth)
        if self.chance(30):
            body += self.body(inner, depth, 1)
        return [f"with partition({memory.name}, {self.given(unit, offset)}) as {name}:", *indent(body)]

    def given(self, unit: Perspective, offset: str) -> str:
        """A partition's unit and offset, in one of the ways to write them."""
        spelled = self.spell(unit)
        if not offset or offset.startswith("lambda"):
            where = f", {offset}" if offset else ""
        else:
            where = pick(self.choices, (f", {offset}", f", offset={offset}"))
        allow = ""
        # Through two such partitions of one memory units may store what others load: nothing orders that, as the text says.
        if self.chance(5) and not self.overlaps:
            self.overlaps = True
            self.rule("R20-allow")
            allow = ', races="allow"'
        keyword = pick(self.choices, ("", "p=", "dimension="))
        if keyword and where and not where.startswith(", offset="):
            keyword = ""
        return f"{keyword}{spelled}{where}{allow}"

    def part(self, scope: Scope, memory: Memory, unit: Perspective) -> Part:
        """An offset or lambda that gives each unit a part of its own."""
        if memory.rank == 2:
            return self.part_of_rows(scope, memory, unit)
        count = scope.count(unit)
        size = memory.size // count
        if unit == scope.code:
            self.rule("R20-same")
            first = self.choices.number(0, memory.size - 1)
            return ("", memory.shape, True) if self.chance(15) else (str(first), (memory.size - first,), True)
        id_ = "id()"
        shape = self.choices.number(0, 6)
        if shape == 0:
            return f"{id_} * {size}", (size,), True
        if shape == 1:
            return f"({count - 1} - {id_}) * {size}", (size,), True
        if shape == 2:
            return f"({id_} + {self.choices.number(0, 9)}) % {count} * {size}", (size,), True
        self.rule("R20-lambda")
        i = self.fresh("i")
        if shape == 3:
            return f"lambda {i}: {id_} * {size} + {i}", (size,), True
        if shape <= 5 and size % 2 == 0:
            self.rule("R20-indices")
            j, half = self.fresh("j"), size // 2
            inside = f"{i} * {half} + {j}"
            start = f"{id_} * {size} + {inside}" if shape == 4 else f"({inside}) * {count} + {id_}"
            return f"lambda {i}, {j}: {start}", (2, half), False
        return f"lambda {i}: {i} * {count} + {id_}", (size,), False

    def part_of_rows(self, scope: Scope, memory: Memory, unit: Perspective) -> Part:
        """The same of memory of two dimensions: by rows, by columns, or by elements in order."""
        self.rule("R20-indices", "R20-lambda")
        count, (rows, columns) = scope.count(unit), memory.shape
        i, j, size = self.fresh("i"), self.fresh("j"), memory.size // scope.count(unit)
        if unit == scope.code:
            self.rule("R20-same")
            return (
                (f"lambda {i}, {j}: ({i}, {j})", memory.shape, False) if self.chance(50) else ("", memory.shape, False)
            )
        if rows % count == 0 and self.chance(70):
            each = rows // count
            if each == 1 and self.chance(60):
                return f"lambda {j}: (id(), {j})", (columns,), False
            return f"lambda {i}, {j}: (id() * {each} + {i}, {j})", (each, columns), False
        if columns % count == 0:
            return f"lambda {i}, {j}: ({i}, {j} * {count} + id())", (rows, columns // count), False
        flat = f"(id() * {size} + {i})"
        return f"lambda {i}: ({flat} // {columns}, {flat} % {columns})", (size,), False

    # -- R18 PTR-WRITE ----------------------------------------------------------------------------------------------------

    def written(self, scope: Scope, memory: Memory, depth: int) -> list[str]:
        """Write through a name, by way of the groups and parts that one thread needs (R18)."""
        if memory.place != scope.code:
            self.rule("R2")
            inner = scope.narrow(memory.place)
            more = self.body(inner, depth, 1) if self.chance(25) else []
            return [f"with group({self.spell(memory.place)}):", *indent([*more, *self.written(inner, memory, depth)])]
        if scope.code == THREAD:
            lines = self.store(scope, memory)
            return [*lines, *self.body(scope, depth, 2)] if self.chance(30) else lines
        units = [u for u in self.units_of(scope, memory) if u != scope.code] or self.units_of(scope, memory)
        if units == [scope.code]:  # less than an element for each: one of them writes
            found = self.claimed(scope, memory, depth)
            return found or self.body(scope, depth, 1)
        return self.opened(scope, memory, depth - 1, pick(self.choices, units))

    def store(self, scope: Scope, memory: Memory) -> list[str]:
        """R18 PTR-WRITE: of an element, of several, of a component, of a vector's worth."""
        self.rule("R18")
        wide = [kind for kind, (element, width) in VECTORS.items() if element == memory.type and holds(memory, width)]
        if wide and self.chance(50):
            return self.store_vector(scope, memory, pick(self.choices, wide))
        if memory.rank == 1 and memory.size > 1 and self.chance(40):
            k = Value(self.fresh("k"), "int32", THREAD, fixed=True, natural=True)
            self.rule("R10")
            value = self.number(scope.add(k), THREAD, memory.type)
            return [f"for {k.name} in range({min(memory.size, 4)}):", f"    {memory.name}[{k.name}] = {value}"]
        left, kind = f"{memory.name}{self.at(scope, memory.shape, THREAD)}", memory.type
        if memory.size > 1 and self.chance(12):
            self.rule("swap-memory")
            other = f"{memory.name}{self.at(scope, memory.shape, THREAD)}"
            return [f"{left}, {other} = {other}, {left}"]
        changes = ("+=", "-=") if kind.startswith("u") else ("^=", "|=")
        op = pick(self.choices, ("=", "=", *changes)) if kind in INTEGERS else "="
        return [f"{left} {op} {self.number(scope, THREAD, kind)}"]

    def store_vector(self, scope: Scope, memory: Memory, kind: str) -> list[str]:
        """R18 for as many elements as a vector has."""
        value = self.vector(scope, THREAD, kind)
        if value is None:
            return [f"{memory.name}[0] = {self.number(scope, THREAD, memory.type)}"]
        self.rule("R18-vector")
        place = f"{memory.name}[{self.start(scope, memory, VECTORS[kind][1], THREAD)}]"
        if kind.isidentifier() and self.chance(50):
            return [f"{kind}_cast[{place}] = {value}"]
        return [f"store_vector({place}, {value})"]

    # -- R22 CLAIM --------------------------------------------------------------------------------------------------------

    def claim(self, scope: Scope, depth: int) -> Found:
        """R22 CLAIM of some memory whose owners are the code."""
        open_ = [m for m in scope.memories if not m.tally and not m.const and m.place == scope.code]
        lines = self.claimed(scope, pick(self.choices, open_), depth) if open_ else None
        return None if lines is None else (lines, scope)

    def claimed(self, scope: Scope, memory: Memory, depth: int) -> list[str] | None:
        """One claim, and the split that picks its unit (R23 CLAIM-ONE)."""
        arms = self.arms(scope, self.choices.number(2, 3))
        if arms is None:
            return None
        level, sizes = arms
        owner = self.choices.number(0, len(sizes) - 1)
        unit = sizes[owner][1]
        if not unit <= memory.place:
            return None
        self.rule("R22", "R23")
        name = self.fresh("c")
        first = self.choices.number(0, memory.size - 1) if self.chance(25) and memory.rank == 1 else 0
        shape, aligned = (memory.size - first,) if first else memory.shape, math.gcd(memory.aligned, first)
        view = replace(
            memory, name=name, place=unit, shape=shape, aligned=aligned, plain=memory.plain and memory.rank == 1,
            whole=memory.whole and not first,
        )  # fmt: skip
        inner = scope.without(memory).bounded()
        how = f"{pick(self.choices, ('', 'p=', 'scope='))}{self.spell(unit)}{f', offset={first}' if first else ''}"
        lines = [f"with claim({memory.name}, {how}) as {name}:", f"    match split({level}):"]
        for k, (shown, arm) in enumerate(sizes):
            narrow = inner.arm(arm)
            if k == owner:
                body = self.written(narrow.add(view), view, depth - 1)
            else:
                body = ["pass"] if self.chance(50) else self.body(narrow, depth - 1, 1)
            lines += [f"        case {shown}:", *indent(indent(indent(body)))]
        return lines

    # -- R25 SHARED-ALLOC -------------------------------------------------------------------------------------------------

    def share(self, scope: Scope, _: int) -> Found:
        """R25 SHARED-ALLOC, and the first value of each element."""
        if scope.code != BLOCK or sum(m.shared for m in scope.memories) > 4:
            return None
        self.rule("R25")
        kind = pick(
            self.choices, ("int32", "int32", *INTEGERS, self.some_type(), "float16", "int2", "half2", "Pair", "Trio")
        )
        each = self.choices.number(0, 3)
        shape: tuple[int, ...] = (each * scope.threads or 4,)
        if each > 1 and self.chance(50):
            self.rule("R25-dimensions")
            shape = (scope.threads, each)
        return self.shared_object(scope, kind, shape, each)

    def shared_object(self, scope: Scope, kind: str, shape: tuple[int, ...], each: int) -> tuple[list[str], Scope]:
        """A shared object, whose elements its threads, or one of them, fill."""
        align = kind in BITS and self.chance(40)
        bits, width = width_of(kind), 1
        if align:
            width = 128 // bits
        memory = Memory(self.fresh("s"), kind, BLOCK, shape, f"s{self.names}", shared=True, aligned=width, whole=True)
        self.shared_bytes += memory.size * bits // 8 + 128
        extents = "".join(f"[{n}]" for n in shape)
        lines = [f"{memory.name}: shared({kind}{extents}{', align=16' if align else ''}) @ block[1]"]
        part, k = self.fresh("p"), self.fresh("k")
        value = self.number(scope.narrow(THREAD), THREAD, kind, 1)
        if value == "{0}":
            value = self.number(scope.narrow(THREAD), THREAD, kind, 0, loads=False)
        store = [f"for {k} in range({each or 4}):", f"    {part}[{k}] = {value}"]
        self.rule("R18")
        if each:
            offset = f"lambda {k}: (id(), {k})" if len(shape) > 1 else f"id() * {each}"
            lines += [f"with partition({memory.name}, thread[1], {offset}) as {part}:", "    with group(thread[1]):"]
            lines += indent(indent(store))
        else:
            self.rule("R22", "R23")
            lines += [f"with claim({memory.name}, thread[1]) as {part}:", "    match split(thread):", "        case 1:"]
            lines += indent(indent(indent(store)))
        return lines, scope.add(memory)

    def atomic(self, scope: Scope, _: int) -> Found:
        """Additions whose results nobody uses: to memory that only they touch, or to shared memory at its owners' code."""
        own = [m for m in scope.memories if m.shared and not m.const and m.place == scope.code and m.type in INTEGERS]
        open_ = [*own, *(m for m in scope.memories if m.tally)]
        if not open_:
            return None
        self.rule("atomic")
        memory = pick(self.choices, open_)
        inner = scope.without(memory).narrow(THREAD)
        value = self.integer(inner, THREAD, memory.type, 1, loads=False)
        line = f"{self.operation(memory)}({memory.name}{self.at(inner, memory.shape, THREAD)}, {value}{self.ordered(memory)})"
        if scope.code == THREAD:
            return [line], scope
        return ["with group(thread[1]):", f"    {line}"], scope

    def operation(self, memory: Memory) -> str:
        """What is done in one step: of all such operations of a program on shared memory, the order does not matter."""
        if memory.tally or not self.other:
            return pick(self.choices, ("atomic_add", "atomic_add", "atomic_sub"))
        self.rule("atomic-other")
        return self.other

    def ordered(self, memory: Memory) -> str:
        """What else an atomic access orders, and who must see it."""
        if self.chance(60):
            return ""
        self.rule("atomic-order")
        orders = ("relaxed", "relaxed", "acquire", "release", "acq_rel")
        scopes = ("gpu", "system") if memory.tally else ("block", "gpu", "system")
        scope = f', scope="{pick(self.choices, scopes)}"' if self.chance(40) else ""
        return f', order="{pick(self.choices, orders)}"{scope}'
