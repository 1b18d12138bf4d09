"""Derivations of pointers that are declared, chosen, assigned, swapped and returned (R28)."""

from __future__ import annotations

from dataclasses import replace

from prism.lang.types.perspective import BLOCK, GRID
from tests.generated.derive import MOST_TRIPS, Found, indent
from tests.generated.memories import Memories
from tests.generated.scope import INTEGERS, Memory, Scope, Value, pick

EITHER = """\
@prism("device")
@requires(block[1], thread[1])
@template(T=dtype)
def either(x: ptr(T) @ block[1], y: ptr(T) @ block[1], n: int32 @ block[1]) -> ptr(T) @ block[1]:
    if n > 2:
        return y
    now: ptr(T) @ block[1] = x
    return now""".splitlines()


class Pointers(Memories):
    """R28 PTR-REBIND: where a name points to one of two objects, both go by that name only."""

    def pointer(self, scope: Scope, _: int) -> Found:
        """A pointer declared: to memory that nobody writes, or to memory of the code's own."""
        open_ = [m for m in scope.memories if m.plain and m.rank == 1 and not m.tally]
        const = [m for m in open_ if m.const and scope.code <= m.place]
        if const and self.chance(50):
            return self.pointer_to_const(scope, const)
        own = [m for m in open_ if not m.const and m.place == scope.code != GRID]
        return self.pointer_to_own(scope, pick(self.choices, own)) if own else None

    def pointer_to_const(self, scope: Scope, known: list[Memory]) -> Found:
        """Of memory that nobody writes a broader object will do, and either of two, if the owners agree on which."""
        one = pick(self.choices, known)
        place = pick(self.choices, scope.units())
        fits = [m for m in known if m.type == one.type and place <= m.place]
        if not fits:
            return None
        self.rule("R28-const")
        first, second = pick(self.choices, fits), pick(self.choices, fits)
        value = first.name
        if first is not second:
            self.rule("R28-chosen")
            value = f"{first.name} if {self.condition(scope, place, 0)} else {second.name}"
        size = min(first.size, second.size)
        pointer = replace(first, name=self.fresh("q"), place=place, shape=(size,), aligned=1, whole=False)
        lines = [f"{pointer.name}: ptr(const({one.type})) @ {self.spell(place)} = {value}"]
        if self.chance(30) and place == scope.code:
            lines += [f"if {self.condition(scope, scope.code, 0)}:", f"    {pointer.name} = {second.name}"]
        return lines, scope.add(pointer)

    def pointer_to_own(self, scope: Scope, memory: Memory) -> Found:
        """Of memory that may be written: exactly the owners'."""
        self.rule("R28-owner")
        pointer = replace(memory, name=self.fresh("q"), shared=False, aligned=1, whole=False)
        text = f"{pointer.name}: ptr({memory.type}) @ {self.spell(memory.place)} = {memory.name}"
        return [text], scope.without(memory).add(pointer)

    def exchange(self, scope: Scope, depth: int) -> Found:
        """Two buffers that change places, or one that a function returns; they end with the same statements."""
        if scope.code != BLOCK or scope.trips > 4 or sum(m.shared for m in scope.memories) > 3:
            return None
        lines: list[str] = []
        kind, each = pick(self.choices, (*INTEGERS, "float32")), self.choices.number(1, 2)
        for _ in range(2):
            more, scope = self.shared_object(scope, kind, (scope.threads * each,), each)
            lines += more
        one, other = scope.memories[-2:]
        more, scope = (self.returned if self.chance(30) else self.swapped)(scope, one, other, depth)
        return [*lines, *more], scope

    def returned(self, scope: Scope, one: Memory, other: Memory, depth: int) -> tuple[list[str], Scope]:
        """A pointer that a function returns: one of its arguments."""
        self.rule("R28-returned")
        self.prelude["either"] = EITHER
        pointer = replace(
            one, name=self.fresh("q"), shared=False, aligned=1, whole=False, root=f"{one.root}|{other.root}"
        )
        which = self.integer(scope, BLOCK, "int32", 1, loads=False)
        text = f"{pointer.name}: ptr({one.type}) @ block[1] = either({one.name}, {other.name}, {which})"
        return [text], scope.without(one, other).add(pointer)

    def swapped(self, scope: Scope, one: Memory, other: Memory, depth: int) -> tuple[list[str], Scope]:
        """Two pointers that change places at the end of each trip of a loop."""
        self.rule("R28-swap", "R10")
        root = f"{one.root}|{other.root}"
        now, next_ = (
            replace(m, name=self.fresh("q"), shared=False, aligned=1, whole=False, root=root) for m in (one, other)
        )
        lines = [f"{q.name}: ptr({m.type}) @ block[1] = {m.name}" for q, m in ((now, one), (next_, other))]
        outer = scope.without(one, other).add(now, next_)
        k = Value(self.fresh("k"), "int32", BLOCK, fixed=True, natural=True)
        trips = self.choices.number(2, min(3, max(2, MOST_TRIPS // scope.trips)))
        inner = outer.add(k).looped(trips)
        inner = replace(inner, loop=False)  # a `continue` would leave the swap out: legal, but then why swap
        part, u, size = self.fresh("p"), self.fresh("u"), now.size
        read = f"{now.name}[({u} + {self.choices.number(0, 9)}) % {size}]"
        body = [
            f"{u}: int32 @ thread[1] = id()",
            f"with partition({next_.name}, thread[1], id() * {size // scope.threads}) as {part}:",
            "    with group(thread[1]):", f"        {part}[0] = {read}",
        ]  # fmt: skip
        if self.chance(50):
            body += self.body(inner, min(depth, 2), 1)
        if self.chance(50):
            self.rule("swap-pointers")
            body.append(f"{now.name}, {next_.name} = {next_.name}, {now.name}")
            return [*lines, f"for {k.name} in range({trips}):", *indent(body)], outer
        swap = self.fresh("q")
        body += [
            f"{swap}: ptr({now.type}) @ block[1] = {now.name}",
            f"{now.name} = {next_.name}",
            f"{next_.name} = {swap}",
        ]
        return [*lines, f"for {k.name} in range({trips}):", *indent(body)], outer
