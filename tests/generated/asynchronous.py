"""Derivations of what goes on while other code runs: asynchronous copies (R24), rings and roles, products on tensor cores."""

from __future__ import annotations

from dataclasses import replace

from prism.lang.types.perspective import BLOCK, GRID, THREAD, Perspective
from tests.generated.derive import Found, indent
from tests.generated.scope import BITS, INPUTS, INTEGERS, Memory, Scope, Value, pick
from tests.generated.tiles import Holes, Tiles

Items = list[str]
Made = tuple[Memory, Items, list[str], Holes]
"""A ring, the scopes behind the claim of a copy, what is done in them, and what it is given."""


OPEN = {
    "in-place station after a bulk copy": "no proxy fence after the plain writes, before the next visit's bulk copy",
    "ring in a partition or branch of a block's code": "on the reference machine each warp declares it anew",
}
"""What is not generated until the compiler has it right, with what goes wrong."""


class Asynchronous(Tiles):
    """Statements that start something, and others that wait for it, though nothing says so."""

    def leaves_out(self, what: str, now: bool) -> bool:
        """Whether something that would be generated now is left out."""
        return now and what in OPEN

    def inside(self, items: Items, body: list[str]) -> list[str]:
        """A body inside several `with`s: in one line, or each in its own."""
        if self.chance(50):
            return [f"with {', '.join(items)}:", *indent(body)]
        for item in reversed(items):
            body = [f"with {item}:", *indent(body)]
        return body

    # -- R24 ASYNC --------------------------------------------------------------------------------------------------------

    def sources(self, scope: Scope, count: int, unit: Perspective = BLOCK) -> list[Memory]:
        """Memory out of which a copy can take so many elements at once."""
        known = [
            m for m in scope.memories if m.root in INPUTS and m.const and m.plain and m.rank == 1 and unit <= m.place
        ]
        return [m for m in known if m.aligned % count == 0 and m.size >= count]

    def copies(self, scope: Scope, depth: int) -> Found:
        """R24 ASYNC: each thread has some elements of a shared object copied."""
        if scope.code != BLOCK or sum(m.shared for m in scope.memories) > 4:
            return None
        bytes_ = pick(self.choices, (4, 8, 16))
        fits = [m for m in self.sources(scope, 1) if BITS[m.type] <= 8 * bytes_]
        fits = [m for m in fits if m in self.sources(scope, 8 * bytes_ // BITS[m.type])]
        if not fits:
            return None
        source = pick(self.choices, fits)
        count = 8 * bytes_ // BITS[source.type]
        self.rule("R24", "R25")
        name = self.fresh("s")
        memory = Memory(
            name,
            source.type,
            BLOCK,
            (scope.threads * count,),
            name,
            shared=True,
            aligned=128 // BITS[source.type],
            whole=True,
        )
        self.shared_bytes += memory.size * BITS[memory.type] // 8 + 256
        lines = [f"{name}: shared({memory.type}[{memory.size}], align=16) @ block[1]"]
        lines += self.in_flight(scope, name, source, count, bytes_, depth)
        return lines, scope.add(memory)

    def in_flight(self, scope: Scope, name: str, source: Memory, count: int, bytes_: int, depth: int) -> list[str]:
        """The scopes in which a thread copies, in one of their orders, and the copy."""
        part, going, t = self.fresh("p"), self.fresh("d"), self.fresh("u")
        start = f"{count} * (({t} + {self.choices.number(0, 40)}) % {source.size // count})"
        valid = ""
        if self.chance(25):
            self.rule("R24-valid")
            valid = f", valid={BITS[source.type] // 8} * ({t} % {count + 1})"
        head = [f"{t}: int32 @ thread[1] = id()"]
        shape = self.choices.number(0, 2)
        if shape == 0:
            items = [
                f"partition({name}, thread[1], {t} * {count}) as {part}",
                f"async_({part}) as {going}",
                "group(thread[1])",
            ]
        elif shape == 1:
            items = [
                f"partition({name}, thread[1], {t} * {count}) as {part}",
                "group(thread[1])",
                f"async_({part}) as {going}",
            ]
        else:
            items = [
                f"async_({name}) as {part}",
                f"partition({part}, thread[1], {t} * {count}) as {going}",
                "group(thread[1])",
            ]
        body = [f"cp_async({going}[0], {source.name}[{start}], {bytes_}{valid})"]
        if self.chance(30):
            body += self.body(scope.bounded().narrow(THREAD), min(depth, 1), 1)
        return [*head, *self.inside(items, body)]

    # -- rings and roles --------------------------------------------------------------------------------------------------

    def ring(self, scope: Scope, depth: int) -> Found:
        """A ring's cycle in a loop: some threads fill a copy, others change it, others read it."""
        arms = self.arms(scope, self.choices.number(2, 3)) if scope.code == BLOCK and scope.once else None
        if arms is None or arms[0] == "block":
            return None
        self.rule("ring", "role", "R10")
        level, sizes = arms
        names = [self.fresh("role") for _ in sizes]
        total = Value(self.fresh("v"), pick(self.choices, INTEGERS), THREAD)
        filler, *others = self.order(len(sizes))
        maker = pick(self.choices, (self.filled, self.bulk, self.bulk, self.copied))
        unit = sizes[filler][1]
        made = maker(scope, total.type, unit) or self.filled(scope, total.type, unit)
        ring, items, body, holes = made
        kind = ring.type
        total = replace(total, type=kind)
        self.shared_bytes += 3 * ring.size * BITS[kind] // 8 + 512
        k = Value(self.fresh("k"), "int32", BLOCK, fixed=True, natural=True)
        trips = self.choices.number(1, 4)
        copies = self.choices.number(1, 3)
        inner = replace(scope.add(k).looped(trips), loop=False, result=None)
        claim = f"claim({ring.name}, {names[filler]}) as {ring.root}"
        copy = {"TILE": (f"{self.whole(ring)} @ {unit}", ring.root), "ROUND": ("int32 @ block[1]", k.name)}
        if self.chance(60):
            stations = self.inside([claim, *items], body)
            stations = self.placed(stations, BLOCK, {**copy, **holes}, percent=0)
        else:
            stations = self.inside([claim], self.placed(self.inside(items, body), unit, {**copy, **holes}, percent=80))
        for number in (
            others[:-1] if not self.leaves_out("in-place station after a bulk copy", maker == self.bulk) else ()
        ):
            stations += self.changed(ring, names[number], sizes[number][1])
        if self.chance(25):
            stations += self.body(inner, min(depth, 1), 1)
        stations += self.drained(inner, ring, names[others[-1]], sizes[others[-1]][1], total)
        lines = [
            f"{ring.name}: shared({kind}[{ring.size}], ring={copies})",
            f"{', '.join(names)} = roles({level}, {', '.join(str(shown) for shown, _ in sizes)})",
            f"{total.name}: {kind} @ thread[1] = 0", f"for {k.name} in range({trips}):",
        ]  # fmt: skip
        return [*lines, *indent(stations)], scope.add(total)

    def order(self, count: int) -> list[int]:
        """The numbers below `count`, in some order."""
        left, found = list(range(count)), []
        while left:
            found.append(left.pop(self.choices.number(0, len(left) - 1)))
        return found

    def filled(self, scope: Scope, kind: str, unit: Perspective) -> Made:
        """A ring whose copies the threads of a role write."""
        each, now, part = self.choices.number(1, 2), self.fresh("r"), self.fresh("p")
        ring = Memory(self.fresh("s"), kind, unit, (unit.size * each,), now, shared=True)
        value = self.number(scope.narrow(THREAD), THREAD, kind, 1, loads=False)
        body = [f"{part}[{j}] = VALUE ^ ROUND" for j in range(each)]
        items = [f"partition(TILE, thread[1], id() * {each}) as {part}", "group(thread[1])"]
        return ring, items, body, {"VALUE": (f"{kind} @ thread[1]", value)}

    def bulk(self, scope: Scope, _: str, unit: Perspective) -> Made | None:
        """A ring whose copies one thread of a role has copied in."""
        fits = [m for m in self.sources(scope, 4) if m.type in INTEGERS and m.size >= 16 and m.place == GRID]
        if not fits:
            return None
        self.rule("ring-bulk", "one")
        source = pick(self.choices, fits)
        step = 128 // BITS[source.type]
        size = step * self.choices.number(1, min(8, source.size // step))
        ring = Memory(self.fresh("s"), source.type, unit, (size,), self.fresh("r"), shared=True)
        start = f"{step} * ((ROUND + {self.choices.number(0, 9)}) % {(source.size - size) // step + 1})"
        return ring, ["one(thread)"], [f"bulk_load(TILE, SOURCE[{start}])"], self.read_only(source)

    def copied(self, scope: Scope, _: str, unit: Perspective) -> Made | None:
        """A ring whose copies the threads of a role have copied in, each some elements."""
        fits = [m for m in self.sources(scope, 4) if m.type in ("int32", "uint32")]
        if not fits:
            return None
        self.rule("R24")
        source, part, going = pick(self.choices, fits), self.fresh("p"), self.fresh("d")
        ring = Memory(self.fresh("s"), source.type, unit, (unit.size * 4,), self.fresh("r"), shared=True)
        items = [
            "partition(TILE, thread[1], id() * 4)" + f" as {part}",
            f"async_({part}) as {going}",
            "group(thread[1])",
        ]
        start = f"4 * ((ROUND + {self.choices.number(0, 9)}) % {source.size // 4})"
        return ring, items, [f"cp_async({going}[0], SOURCE[{start}], 16)"], self.read_only(source)

    def read_only(self, source: Memory) -> Holes:
        """Memory that a piece of text is given to read."""
        return {"SOURCE": (f"ptr(const({source.type})) @ {source.place}", source.name)}

    def changed(self, ring: Memory, role: str, unit: Perspective) -> list[str]:
        """A station in the middle, where each thread changes elements of its own."""
        now, part = self.fresh("r"), self.fresh("p")
        each = ring.size // unit.size
        items = [f"claim({ring.name}, {role}) as {now}"]
        if not each:  # fewer elements than threads: nobody has one
            return self.inside(items, ["pass"])
        items += [f"partition({now}, thread[1], id() * {each}) as {part}", "group(thread[1])"]
        return self.inside(items, [f"{part}[{self.choices.number(0, each - 1)}] ^= {self.choices.number(1, 9)}"])

    def drained(self, scope: Scope, ring: Memory, role: str, unit: Perspective, total: Value) -> list[str]:
        """The last station, which reads."""
        now, t, got = self.fresh("r"), self.fresh("u"), self.fresh("a")
        view = replace(ring, name=now, root=ring.name, place=unit, plain=False)
        element = f"TILE[({t} + {self.choices.number(0, 9)}) % {ring.size}]"
        holes = {
            "TILE": (f"{self.whole(ring, const=True)} @ {pick(self.choices, (unit, THREAD))}", now),
            "FOUND": (f"{ring.type}[1] @ thread[1]", got),
        }
        body = [
            f"{got}: {ring.type}[1] @ thread[1]",
            *self.placed([f"{t}: int32 @ thread[1] = id()", f"FOUND[0] = {element}"], unit, holes),
            f"{total.name} ^= {got}[0]",
        ]
        if self.chance(30):
            arm = scope.arm(unit).add(total, view)
            body += self.body(replace(arm, memories=tuple(m for m in arm.memories if m.const or m is view)), 0, 1)
        return self.inside([f"claim({ring.name}, {role}) as {now}"], body)

    # -- clusters ---------------------------------------------------------------------------------------------------------

    def cluster(self, scope: Scope, _: int) -> Found:
        """Shared memory of a whole cluster: each block fills its part, and reads another's."""
        if scope.code.level != BLOCK.level or not 1 < scope.code.size == self.blocks or scope.trips > 2:
            return None
        self.rule("cluster-shared", "R25", "R20-indices")
        kind, blocks, each = pick(self.choices, INTEGERS), scope.code.size, self.choices.number(1, 2)
        s, r, t, v, j, part = (self.fresh(stem) for stem in "srtvjp")
        self.shared_bytes += scope.threads * each * BITS[kind] // 8 + 256
        value = self.integer(scope.narrow(THREAD), THREAD, kind, 1)
        lines = [
            f"{s}: shared({kind}[{blocks}, {scope.threads * each}])", f"{r}: int32 @ block[1] = id()",
            f"{t}: int32 @ thread[1] = id() % {scope.threads}", f"{v}: {kind} @ thread[1] = 0",
        ]  # fmt: skip
        items = [f"partition({s}, thread[1], lambda {j}: ({r}, {t} * {each} + {j})) as {part}", "group(thread[1])"]
        lines += self.inside(items, [f"{part}[{k}] = {value}" for k in range(each)])
        other = f"({r} + {self.choices.number(0, 3)}) % {blocks}, ({t} + {self.choices.number(0, 40)}) % {scope.threads * each}"
        lines += self.inside(["group(thread[1])"], [f"{v} = {s}[{other}]"])
        return lines, scope.add(
            Value(r, "int32", BLOCK, fixed=True, natural=True), Value(t, "int32", THREAD, fixed=True, natural=True),
            Value(v, kind, THREAD),
        )  # fmt: skip

    # -- tensor cores -----------------------------------------------------------------------------------------------------

    def product(self, scope: Scope, _: int) -> Found:
        """A product of two tiles of small integers, by one warpgroup or by each, and what its threads make of it."""
        if scope.code != BLOCK or scope.entry % 128 or scope.trips > 1:
            return None
        self.rule("fragment", "wgmma")
        columns, kind = 8 * self.choices.number(1, 4), pick(self.choices, ("bfloat16", "float16"))
        a, b, acc, sum_, i = (self.fresh(stem) for stem in ("s", "s", "acc", "v", "i"))
        self.shared_bytes += (64 + columns) * 128 + 4096
        lines: list[str] = []
        for tile, rows in ((a, 64), (b, columns)):
            lines += self.tile(scope, tile, kind, rows)
        lines += [f"{acc}: fragment(float32, 64, {columns}) @ warpgroup[1] = 0", f"{sum_}: float32 @ thread[1] = 0"]
        items = ["group(warpgroup[1])"]
        if self.chance(50):
            role = self.fresh("role")
            lines += [f"{role}, = roles(warpgroup, 1)"]
            items = [role]
        group_of_four = Perspective(THREAD.level, 128)
        holes = {"SUMS": (f"fragment(float32, 64, {columns}) @ warpgroup[1]", acc)}
        for word, name, rows in (("LEFT", a, 64), ("RIGHT", b, columns)):
            kind_of = (
                f"const(shared({kind}[{rows}, 64], swizzle=128)) @ {pick(self.choices, ('warpgroup[1]', 'block[1]'))}"
            )
            holes[word] = (kind_of, name)
        calls = ["wgmma(SUMS, LEFT, RIGHT)"] * self.choices.number(1, 2)
        batched = self.chance(50)
        body = self.placed(calls, group_of_four, holes)
        lines += self.inside([*items, "wgmma_async()"], body) if batched else self.inside(items, body)
        condition = f"row({acc}, {i}) % 3 == column({acc}, {i}) % 2"
        body = [f"for {i} in range(count({acc})):", f"    {sum_} += {acc}[{i}] if {condition} else 0"]
        lines += self.inside([*items, "group(thread[1])"], body)
        return lines, scope.add(Value(sum_, "float32", THREAD))

    def tile(self, scope: Scope, name: str, kind: str, rows: int) -> list[str]:
        """A swizzled tile of small integers, which all threads write."""
        part, k, each = self.fresh("p"), self.fresh("k"), rows * 64 // scope.threads
        value = self.integer(scope.narrow(THREAD), THREAD, "int32", 1, loads=False)
        place = f"id() + {scope.threads} * {k}"
        items = [
            f"partition(TILE, thread[1], lambda {k}: (({place}) // 64, ({place}) % 64)) as {part}",
            "group(thread[1])",
        ]
        body = [f"for {k} in range({each}):", f"    {part}[{k}] = {kind}((VALUE % 4 + {k}) % 4)"]
        holes = {
            "TILE": (f"shared({kind}[{rows}, 64], swizzle=128) @ block[1]", name),
            "VALUE": ("int32 @ thread[1]", value),
        }
        filled = self.placed(self.inside(items, body), BLOCK, holes)
        return [f"{name}: shared({kind}[{rows}, 64], swizzle=128) @ block[1]", *filled]
