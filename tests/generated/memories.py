"""Derivations of what touches memory: partitions, claims, stores, shared objects, atomics (R18-R25)."""

from __future__ import annotations

from dataclasses import replace

from prism.lang.perspective import BLOCK, GRID, THREAD, Level, Perspective
from tests.generated.derive import Statements, indent
from tests.generated.scope import INTEGERS, Memory, Scope, Value, pick


class Memories(Statements):
    """Statements that open parts of memory, and write them."""

    def partition(self, scope: Scope, depth: int) -> tuple[list[str], Scope] | None:
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
        for rule in ("R20", "R17" if memory.const else "R21"):
            self.rule(rule)
        if memory.name != memory.root:
            self.rule("R20-nested")
        unit = unit or pick(self.choices, self.units_of(scope, memory))
        if scope.code == GRID and unit.level == Level.THREAD:
            self.rule("R20-skip")
        offset, size, plain = self.offset(scope, memory, unit)
        name = self.fresh("p")
        view = replace(memory, name=name, place=unit, size=size, plain=plain and memory.plain)
        inner = (scope if memory.const else scope.without(memory)).bounded().add(view)
        body = [] if memory.const or not self.chance(40) else self.body(inner, depth, 1)
        body += self.body(inner, depth, 2) if memory.const else self.written(inner, view, depth)
        if self.chance(30):
            body += self.body(inner, depth, 1)
        form = pick(self.choices, (f"{unit}, {offset}", f"{unit}, offset={offset}", f"p={unit}, offset={offset}"))
        if offset.startswith("lambda"):
            form = f"{unit}, {offset}"
        return [f"with partition({memory.name}, {form}) as {name}:", *indent(body)]

    def offset(self, scope: Scope, memory: Memory, unit: Perspective) -> tuple[str, int, bool]:
        """An offset or lambda that gives each unit a part of its own; the part's size; whether its elements are adjacent."""
        count = scope.count(unit)
        size = memory.size // count
        if unit == scope.code:
            self.rule("R20-same")
            first = self.choices.number(0, memory.size - 1)
            return str(first), memory.size - first, True
        id_ = "id()"
        shape = self.choices.number(0, 4)
        if shape == 0:
            return f"{id_} * {size}", size, True
        if shape == 1:
            return f"({count - 1} - {id_}) * {size}", size, True
        if shape == 2:
            return f"({id_} + {self.choices.number(0, 9)}) % {count} * {size}", size, True
        self.rule("R20-lambda")
        i = self.fresh("i")
        if shape == 3:
            return f"lambda {i}: {id_} * {size} + {i}", size, True
        return f"lambda {i}: {i} * {count} + {id_}", size, False

    def written(self, scope: Scope, memory: Memory, depth: int) -> list[str]:
        """Write through a name, by way of the groups and parts that one thread needs (R18)."""
        if memory.place != scope.code:
            self.rule("R2")
            inner = scope.narrow(memory.place)
            more = self.body(inner, depth, 1) if self.chance(25) else []
            return [f"with group({memory.place}):", *indent([*more, *self.written(inner, memory, depth)])]
        if scope.code == THREAD:
            lines = self.store(scope, memory)
            return [*lines, *self.body(scope, depth, 2)] if self.chance(30) else lines
        units = [u for u in self.units_of(scope, memory) if u != scope.code] or self.units_of(scope, memory)
        if units == [scope.code]:  # less than an element for each: one of them writes
            found = self.claimed(scope, memory, depth)
            return found or self.body(scope, depth, 1)
        return self.opened(scope, memory, depth - 1, pick(self.choices, units))

    def store(self, scope: Scope, memory: Memory) -> list[str]:
        """R18 PTR-WRITE."""
        self.rule("R18")
        if memory.size > 1 and self.chance(40):
            k = Value(self.fresh("k"), "int32", THREAD, fixed=True, natural=True)
            self.rule("R10")
            value = self.integer(scope.add(k), THREAD, memory.type)
            return [f"for {k.name} in range({min(memory.size, 4)}):", f"    {memory.name}[{k.name}] = {value}"]
        op = pick(self.choices, ("=", "=", "+=", "-="))
        return [
            f"{memory.name}[{self.index(scope, memory.size, THREAD)}] {op} {self.integer(scope, THREAD, memory.type)}"
        ]

    def claim(self, scope: Scope, depth: int) -> tuple[list[str], Scope] | None:
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
        for rule in ("R22", "R23"):
            self.rule(rule)
        name = self.fresh("c")
        first = self.choices.number(0, memory.size - 1) if self.chance(25) else 0
        view = replace(memory, name=name, place=unit, size=memory.size - first)
        inner = scope.without(memory).bounded()
        lines = [f"with claim({memory.name}, {unit}{f', offset={first}' if first else ''}) as {name}:"]
        lines += [f"    match split({level}):"]
        for k, (shown, arm) in enumerate(sizes):
            narrow = inner.arm(arm)
            if k == owner:
                body = self.written(narrow.add(view), view, depth - 1)
            else:
                body = ["pass"] if self.chance(50) else self.body(narrow, depth - 1, 1)
            lines += [f"        case {shown}:", *indent(indent(indent(body)))]
        return lines

    def share(self, scope: Scope, _: int) -> tuple[list[str], Scope] | None:
        """R25 SHARED-ALLOC, and the first value of each element."""
        if scope.code != BLOCK or sum(m.shared for m in scope.memories) > 4:
            return None
        self.rule("R25")
        kind = pick(self.choices, ("int32", "int32", *INTEGERS))
        each = self.choices.number(0, 2)
        memory = Memory(self.fresh("s"), kind, BLOCK, each * scope.threads or 4, f"s{self.names}", shared=True)
        align = ", align=16" if self.chance(20) else ""
        lines = [f"{memory.name}: shared({kind}[{memory.size}]{align}) @ block[1]"]
        part, k = self.fresh("p"), self.fresh("k")
        value = self.integer(scope.narrow(THREAD), THREAD, kind, 1)
        store = [f"for {k} in range({each or 4}):", f"    {part}[{k}] = {value}"]
        self.rule("R18")
        if each:
            lines += [
                f"with partition({memory.name}, thread[1], id() * {each}) as {part}:",
                "    with group(thread[1]):",
            ]
            lines += indent(indent(store))
        else:
            for rule in ("R22", "R23"):
                self.rule(rule)
            lines += [f"with claim({memory.name}, thread[1]) as {part}:", "    match split(thread):", "        case 1:"]
            lines += indent(indent(indent(store)))
        return lines, scope.add(memory)

    def atomic(self, scope: Scope, _: int) -> tuple[list[str], Scope] | None:
        """Additions whose results nobody uses: to memory that only they touch, or to shared memory at its owners' code."""
        open_ = [m for m in scope.memories if m.tally or m.shared and m.place == scope.code]
        if not open_:
            return None
        self.rule("atomic")
        memory = pick(self.choices, open_)
        inner = scope.without(memory).narrow(THREAD)
        index, value = self.index(inner, memory.size, THREAD), self.integer(inner, THREAD, memory.type, 1, loads=False)
        line = f"atomic_add({memory.name}[{index}], {value})"
        if scope.code == THREAD:
            return [line], scope
        return ["with group(thread[1]):", f"    {line}"], scope
