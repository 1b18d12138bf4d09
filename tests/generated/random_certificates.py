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
            how = self.draw.choice(("warp",) * 9 + ("(named 1)",))
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


def main() -> None:
    """Write certificates, and print how many of each answer there are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    answers: Counter[str] = Counter()
    for seed in range(given.first, given.first + given.count):
        text = Drawn(seed).text()
        found = check_text(text)
        answers[f"{found.status}{f': {found.rule}' if found.status == REJECTED else ''}"] += 1
        if given.folder is not None:
            (given.folder / f"chance-{seed:06}.cert").write_text(text, encoding="utf-8")
    for answer, number in answers.most_common():
        print(f"{number:8} {answer}")


if __name__ == "__main__":
    main()
