"""Certificates made by chance, of no kernel: what two checkers of the same rules must agree on.

python -m tests.generated.random_certificates --count 2000 --folder certificates
make -C theory/proofs compare CERTIFICATES=certificates
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from pathlib import Path

from prism.lang.certify import REJECTED, check_text

THREADS = (32, 48, 64, 96, 128, 256, 384)
KINDS = ("read", "read", "write", "atomic", "atomic_block")


class Drawn:
    """One certificate, by its seed."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.threads, self.loops, self.accesses = self.draw.choice(THREADS), 0, self.draw.randint(1, 4)

    def unit(self) -> str:
        """Return a unit; sizes that divide one another more often than not."""
        if self.draw.random() < 0.55:
            sizes = (1, 1, 2, 4, 8, 16, 32, 32, 32, 64, 96, 128, self.threads, self.threads // 2, 3, 0)
            return f"(thread {self.draw.choice(sizes)})"
        return self.draw.choice(("block", "block", "block", "grid", "(cluster 2)", "(cluster 4)"))

    def barrier(self) -> str:
        """Return a barrier, with what the hardware has for it or not."""
        unit = self.unit()
        if unit.startswith("(thread"):
            how = self.draw.choice(("warp", "warp", f"(named {self.draw.choice((0, 1, 1, 2, 5, 8, 15))})"))
        elif unit == "block":
            how = self.draw.choice(("(named 0)",) * 6 + ("(named 3)", "warp"))
        else:
            how = self.draw.choice(("warp",) * 9 + ("(named 1)", "sent", "sent_late"))
        return f"(bar {unit} {how})"

    def statement(self, depth: int) -> str:
        """Return a statement."""
        kind = self.draw.random()
        if depth == 0 or kind < 0.3:
            return f"(acc {self.draw.randrange(self.accesses)})"
        if kind < 0.5:
            return self.barrier()
        if kind < 0.75:
            return f"(seq {' '.join(self.statement(depth - 1) for _ in range(self.draw.randint(0, 4)))})"
        if kind < 0.83:
            return f"(if {self.unit()} {self.statement(depth - 1)} {self.statement(depth - 1)})"
        if kind < 0.92:
            # Now and then a number stands twice, which is no certificate.
            number, self.loops = self.loops, self.loops + (self.draw.random() < 0.98)
            return f"({self.draw.choice(('loop', 'loop1'))} {number} {self.unit()} {self.statement(depth - 1)})"
        low = self.draw.choice((0, 0, 32, 16, 64, self.threads // 2))
        high = self.draw.choice((self.threads, self.threads, 32, 64, 96, low + 32, low + 64))
        return f"(only {self.draw.choice((0, 0, 0, 64, 32))} {low} {high} {self.statement(depth - 1)})"

    def text(self) -> str:
        """Return the certificate."""
        draw, lines = self.draw, ["(certificate 1)", '(kernel "by chance")', f"(threads {self.threads})"]
        spaces, objects = draw.randint(1, 2), draw.randint(1, 3)
        lines += [f"(space {k} {draw.choice(('block', 'grid', 'block', '(cluster 2)'))})" for k in range(spaces)]
        for number in range(objects):
            low = draw.randrange(0, 64, 16)
            lines.append(f'(object {number} {draw.randrange(spaces)} {low} {low + draw.choice((16, 32, 64))} "o")')
        lines += [f'(access {i} {draw.randrange(objects)} {draw.choice(KINDS)} "a")' for i in range(self.accesses)]
        for _ in range(draw.randint(0, 8)):
            one, two = draw.randrange(self.accesses), draw.randrange(self.accesses)
            part, unit = (
                draw.choice(("same", "same", draw.randrange(3))),
                draw.choice(("never", "(thread 1)", self.unit())),
            )
            lines.append(f'(fact {one} {two} {part} {unit} proved "")')
        body = " ".join(self.statement(3) for _ in range(draw.randint(1, 5)))
        return "\n".join([*lines, f"(body (seq {body}))", ""])


ONE_TIME = (
    "(acc 1)",
    "(fence shared)",
    "(fence global)",
    "(fence cluster)",
    "(fence all)",
    "(wait 0)",
    "(wait 1)",
    "(tell 0)",
    "(tell 1)",
    "(later 1)",
    "(copy 0 2)",
    "(load 1 64 64 2 0)",
    "(group wgmma 1)",
    "(group bulk 1)",
    "(group out 3)",
    "(settle wgmma 0)",
    "(settle wgmma 1)",
    "(settle bulk 0)",
    "(drain 0)",
    "(own read 0)",
    "(own write 0)",
    "(lend write 0)",
    "(order)",
)


class DrawnRing(Drawn):
    """A certificate of a ring: right, or with some things dropped, moved, doubled, put in others' hands or under conditions."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.threads = self.draw.choice((64, 96, 128))

    def faulty(self, parts: list[str], rate: float) -> str:
        """Return statements, with a fault now and then."""
        draw, found = self.draw, list(parts)
        if draw.random() < rate:
            at = draw.randrange(len(found))
            match draw.randrange(7):
                case 0:
                    del found[at]
                case 1:
                    found.insert(draw.randrange(len(found)), found.pop(at))
                case 2:
                    found.insert(at, found[at])
                case 3:
                    found[at] = f"(if {self.unit()} {found[at]} (seq))"
                case 4:
                    found[at] = f"(only 0 0 {draw.choice((1, 32, 33, 64))} {found[at]})"
                case 5:
                    found.insert(at, draw.choice(ONE_TIME))
                case _:
                    self.loops += 1
                    found[at] = f"(loop {self.loops} {self.unit()} {found[at]})"
        return f"(seq {' '.join(found)})"

    def registers(self, depth: int) -> str:
        """Return what threads do with their fragments, in whatever order."""
        kind = self.draw.random()
        if depth == 0 or kind < 0.4:
            deeds = (
                "own read 0",
                "own write 0",
                "order",
                "settle wgmma 0",
                "settle wgmma 1",
                "own read 1",
                "lend read 0",
            )
            return f"({self.draw.choice(deeds)})"
        if kind < 0.7:
            return f"(seq {' '.join(self.registers(depth - 1) for _ in range(self.draw.randint(1, 4)))})"
        if kind < 0.8:
            return f"(if {self.unit()} {self.registers(depth - 1)} {self.registers(depth - 1)})"
        self.loops += 1
        if kind < 0.9:
            return f"(loop {200 + self.loops} {self.unit()} {self.registers(depth - 1)})"
        return f"(only 0 0 {self.draw.choice((32, 64, 96))} {self.registers(depth - 1)})"

    def text(self) -> str:
        """Return the certificate."""
        draw, threads = self.draw, self.threads
        rate, how = draw.choice((0.0, 0.15, 0.4)), draw.choice(("load", "copy", "store"))
        alone = how == "load" or draw.random() < 0.2
        fill = {
            "load": ["(wait 0)", "(load 1 64 64 2 0)", "(tell 1)"],
            "copy": ["(wait 0)", draw.choice(("(copy 2 0)", "(loop 90 grid (copy 2 0))")), "(later 1)"],
            "store": ["(wait 0)", draw.choice(("(acc 0)", "(loop 90 (thread 1) (acc 0))")), "(tell 1)"],
        }[how]
        engine = draw.choice(("", "", "bulk", "wgmma", "wgmma"))
        late = draw.choice((0, 1, 1, 2)) if engine == "wgmma" else 0
        pending = draw.randint(0, late) if draw.random() >= rate / 2 else draw.randint(0, 2)
        fence = ["(fence shared)"] if (how == "load" and not engine) or draw.random() < 0.3 else []
        if engine and how == "store":
            fill.insert(2, "(fence shared)")
        warp = draw.random() < (0.9 if late else 0.6)
        last = ["(bar (thread 32) warp)", "(only 32 0 1 (tell 0))"] if warp else ["(tell 0)"]
        use = ["(wait 1)", draw.choice(("(acc 1)", "(loop 91 (thread 1) (seq (acc 1) (acc 1)))")), *fence, *last]
        if engine:
            group = draw.choice((f"(group {engine} 1)", f"(loop 91 grid (group {engine} 1))"))
            sums = ["(order)", "(lend write 0)"] if engine == "wgmma" and draw.random() < 0.5 else []
            use = ["(wait 1)", *sums, group, f"(settle {engine} {pending})", *fence, *last]
        first, end = (threads - 32, threads - 31) if alone else (threads - 32, threads)
        users = draw.choice((32, threads - 32))
        fills = 2 if how == "load" else end - first
        needs = (users // 32 if warp else users, fills)
        needs = tuple(n + draw.choice((0, 0, 0, 0, -1, 1)) * (draw.random() < rate) for n in needs)
        turn = [f"(only 0 {first} {end} {self.faulty(fill, rate)})", f"(only 0 0 {users} {self.faulty(use, rate)})"]
        round_ = f"(round {int(draw.random() < rate / 4)} {self.faulty(turn, rate / 2)})"
        left = ["(settle wgmma 0)", "(bar (thread 32) warp)", "(only 32 0 1 (drain 0))"] if late else []
        behind = f"(only 0 0 {users} {self.faulty(left, rate)})" if left else ""
        if engine == "wgmma" and draw.random() < 0.5:
            behind += f" (only 0 0 {users} {self.faulty(['(settle wgmma 0)', '(own read 0)', '(order)'], rate / 2)})"
        if engine == "wgmma" and draw.random() < 0.5:
            behind += f" {self.registers(3)}"
        whose = draw.choice(("block", "grid", "block", self.unit() if draw.random() < rate else "block"))
        lines = ["(certificate 1)", '(kernel "by chance")', f"(threads {threads})", "(space 0 block)", "(space 1 grid)"]
        lines += ['(object 0 0 0 128 "r")', '(object 1 1 0 1 "x")', '(object 2 0 128 256 "s")']
        most = (late + 1, late + 2) if late and draw.random() >= rate / 2 else (1, 2, 3)
        copies = (draw.choice(most), draw.choice((1, 2, 3)))
        copies = copies if draw.random() < rate / 4 else copies[:1] * 2
        lines += [
            f'(mbarrier 0 0 {copies[0]} {f"(free {late})" if late else "free"} {needs[0]} "b")',
            f'(mbarrier 1 0 {copies[1]} filled {needs[1]} "b")',
        ]
        lines += [f"(ring 0 {int(draw.random() >= rate / 8)})"]
        lines += ['(access 0 0 write "a")', '(access 1 0 read "a")', '(access 2 1 read "a")', '(access 3 1 write "a")']
        if draw.random() < 0.9:
            lines.append('(fact 0 0 same (thread 1) proved "")')
        if draw.random() < 0.9:
            lines.append(f'(fact 0 0 90 {draw.choice(("never", "never", "(thread 1)"))} proved "")')
        inner = f"(loop 80 {whose} {self.faulty([round_], rate / 2)})"
        body = [f"(loop 81 {whose} (seq {inner} {behind}))" if draw.random() < 0.5 else f"(seq {inner} {behind})"]
        extra = (
            [draw.choice((round_, "(acc 3)", "(acc 1)", "(bar block (named 0))"))] if draw.random() < rate / 2 else []
        )
        return "\n".join([*lines, f"(body (seq {' '.join([*body, *extra])}))", ""])


class DrawnStations(DrawnRing):
    """A certificate of a ring that is filled, changed in place and stored, in rounds at one place or two, perhaps in turns."""

    def a_round(self, rate: float, in_turns: bool) -> str:
        """Return a round: who fills a copy, who changes it, and who stores it."""
        draw = self.draw
        fill = self.faulty(["(wait 0)", "(load 1 64 64 2 0)", "(tell 1)"], rate)
        change = ["(wait 1)", "(acc 1)", "(bar (thread 32) warp)", "(acc 4)", "(fence shared)"]
        change += ["(bar (thread 32) warp)", "(only 32 0 1 (tell 2))"]
        if draw.random() < 0.3:
            waits = [f"(settle wgmma {draw.choice((0, 0, 0, 1, 2))})", "(bar (thread 32) warp)"]
            products = ["(group wgmma 1)", "(group wgmma 1)", *waits[: draw.choice((1, 2, 2))]]
            if draw.random() < 0.4:
                self.loops += 1
                products = [
                    f"(loop {300 + self.loops} {draw.choice(('block', '(thread 32)'))} (seq {' '.join(products)}))"
                ]
            change[1:1] = products
        store = ["(wait 2)", "(settle out 0)", "(group out 3)", "(group bulk 5)", "(settle bulk 0)", "(tell 0)"]
        users = f"(only 0 0 64 {self.faulty(change, rate)})"
        if in_turns:
            first = self.faulty(["(bar (thread 32) (named 1))", "(wait 3)", *change, "(tell 4)"], rate)
            second = self.faulty(["(bar (thread 32) (named 1))", "(wait 4)", *change, "(tell 3)"], rate)
            users = f"(round 1 (seq (only 0 0 32 {first}) (only 0 32 64 {second})))"
        last = f"(only 0 {self.threads - 1} {self.threads} {self.faulty(store, rate)})"
        parts = [f"(only 0 64 65 {fill})", users, last]
        return f"(round 0 {self.faulty(parts, rate / 2)})"

    def text(self) -> str:
        """Return the certificate."""
        draw, rate = self.draw, self.draw.choice((0.0, 0.1, 0.3))
        in_turns, places = draw.random() < 0.5, draw.choice((1, 1, 2, 3))
        rounds = [f"(loop {70 + i} block {self.a_round(rate, in_turns)})" for i in range(places)]
        copies, stage = draw.choice((1, 2, 3)), draw.choice((2,) * 9 + (1, 3)) if rate else 2
        lines = [
            "(certificate 1)",
            '(kernel "by chance")',
            f"(threads {self.threads})",
            "(space 0 block)",
            "(space 1 grid)",
        ]
        lines += ['(object 0 0 0 128 "r")', '(object 1 1 0 1 "x")', "(space 2 grid)", '(object 2 2 0 1 "y")']
        lines += [f'(mbarrier 0 0 {copies} free 1 "b")', f'(mbarrier 1 0 {copies} filled 2 "b")']
        lines += [f'(mbarrier 2 0 {copies} {"filled" if stage == 1 else f"(filled {stage})"} 2 "b")', "(ring 0 1)"]
        if in_turns:
            lines += ['(mbarrier 3 1 1 free 32 "t")', '(mbarrier 4 1 1 filled 32 "t")']
        lines += ['(access 0 0 write "a")', '(access 1 0 read "a")', '(access 2 1 read "a")', '(access 3 2 write "a")']
        lines += ['(access 4 0 write "a")', '(access 5 0 read "a")']
        for i, j, unit in ((0, 0, 1), (4, 4, 1), (1, 4, 32), (3, 3, 1)):
            if draw.random() >= rate / 4:
                lines.append(f'(fact {i} {j} same (thread {unit}) proved "")')
        lines += [f'(fact 3 3 {70 + i} {draw.choice(("(thread 1)", "never"))} proved "")' for i in range(places)]
        return "\n".join([*lines, f"(body (seq {' '.join(rounds)}))", ""])


class DrawnBeside(Drawn):
    """A certificate of threads and engines that touch a tile which is no ring, in whatever order."""

    deeds = ("(acc 2)", "(acc 3)", "(group cp_async 0 1)", "(group bulk 2)", "(group out 4)", "(group out 5)")
    waits = ("(settle cp_async 0)", "(settle bulk 0)", "(settle out 0)", "(settle cp_async 1)", "(bar block (named 0))")
    waits += ("(fence shared)", "(fence global)", "(fence cluster)", "(fence all)")

    def statement(self, depth: int) -> str:
        """Return a statement."""
        draw = self.draw
        if depth == 0 or draw.random() < 0.6:
            return draw.choice(self.deeds if draw.random() < 0.5 else self.waits)
        inner = f"(seq {' '.join(self.statement(depth - 1) for _ in range(draw.randint(1, 4)))})"
        match draw.randrange(3):
            case 0:
                self.loops += 1
                return f"({draw.choice(('loop', 'loop1'))} {self.loops} block {inner})"
            case 1:
                return f"(if {draw.choice(('block', '(thread 1)'))} {inner} (seq))"
            case _:
                return f"(only 0 0 {draw.choice((1, 32, 64))} {inner})"

    def text(self) -> str:
        """Return the certificate."""
        draw = self.draw
        body = " ".join(self.statement(2) for _ in range(draw.randint(1, 6)))
        lines = ["(certificate 1)", '(kernel "by chance")', "(threads 64)", "(space 0 block)", "(space 1 grid)"]
        lines += ["(space 2 grid)", '(object 0 0 0 128 "r")', '(object 1 1 0 1 "x")', '(object 2 2 0 1 "y")']
        kinds = ("0 write", "1 read", "0 read", "0 write", "2 write", "2 atomic")
        lines += [f'(access {i} {kind} "a")' for i, kind in enumerate(kinds)]
        for i, j in ((0, 0), (0, 2), (3, 3), (0, 3), (2, 3), (4, 4), (4, 5)):
            for part in ("same", *range(1, self.loops + 1)):
                unit = draw.choice(("(thread 1)", "(thread 1)", "(thread 1)", "never", "block"))
                lines.append(f'(fact {i} {j} {part} {unit} proved "")')
        return "\n".join([*lines, f"(body (seq {body}))", ""])


class DrawnCluster(Drawn):
    """A certificate of blocks that reach into one another, and send; some of their barriers may be missing."""

    def statement(self, depth: int) -> str:
        """Return a statement."""
        draw = self.draw
        if depth == 0 or draw.random() < 0.5:
            return draw.choice(("(acc 0)", "(acc 1)", "(acc 2)", "(bar (cluster 2) warp)", "(bar (cluster 2) sent)"))
        inner = f"(seq {' '.join(self.statement(depth - 1) for _ in range(draw.randint(1, 4)))})"
        match draw.randrange(4):
            case 0:
                self.loops += 1
                return f"({draw.choice(('loop', 'loop1'))} {self.loops} {draw.choice(('grid', '(cluster 2)'))} {inner})"
            case 1:
                return (
                    f"(if {draw.choice(('(cluster 2)', '(cluster 2)', 'block'))} {inner} {self.statement(depth - 1)})"
                )
            case 2:
                return f"(only 0 0 {draw.choice((1, 32, 64))} {inner})"
            case _:
                return draw.choice((inner, "(bar (cluster 2) sent_late)", "(group bulk 1)", "(bar (cluster 4) warp)"))

    def text(self) -> str:
        """Return the certificate."""
        draw, meet = self.draw, "(bar (cluster 2) warp)"
        body = " ".join(self.statement(2) for _ in range(draw.randint(1, 4)))
        first, last = (meet if draw.random() < 0.7 else "" for _ in range(2))
        lines = ["(certificate 1)", '(kernel "by chance")', "(threads 64)", "(space 0 (cluster 2))"]
        lines += ['(object 0 0 0 128 "s")', "(space 1 grid)", '(object 1 1 0 1 "x")']
        lines += [f"(near {i})" for i in range(3) if draw.random() < 0.3]
        lines += [f'(access {i} {o} {draw.choice(("read", "read", "write"))} "a")' for i, o in enumerate((0, 0, 1))]
        for i, j in ((0, 0), (0, 1), (1, 1), (2, 2)):
            for part in ("same", *range(1, self.loops + 1)):
                unit = draw.choice(("(thread 1)", "never", "block"))
                lines.append(f'(fact {i} {j} {part} {unit} proved "")')
        return "\n".join([*lines, f"(body (seq {first} {body} {last}))", ""])


def drawn(seed: int) -> str:
    """Return a certificate: most have rings that are used at two stations or three, engines beside rings, or clusters."""
    return (Drawn, DrawnRing, DrawnStations, DrawnRing, DrawnBeside, DrawnCluster)[seed % 6](seed).text()


def main() -> None:
    """Write certificates, and print how many of each answer there are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    answers: Counter[str] = Counter()
    for seed in range(given.first, given.first + given.count):
        text = drawn(seed)
        found = check_text(text)
        answers[f"{found.status}{f': {found.rule}' if found.status == REJECTED else ''}"] += 1
        if given.folder is not None:
            (given.folder / f"chance-{seed:06}.cert").write_text(text, encoding="utf-8")
    for answer, number in answers.most_common():
        print(f"{number:8} {answer}")


if __name__ == "__main__":
    main()
