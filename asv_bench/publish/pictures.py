"""Pictures of the recorded ratios, for the README and the documentation: docs/pictures/NAME.svg.

    python asv_bench/publish/pictures.py [--machine h200]

Made from asv_bench/results/MACHINE, by its newest commit's figures of each benchmark: nothing is typed here.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1]
FOLDER = HERE.parent / "docs" / "pictures"
STYLE = "text{font:13px sans-serif;fill:#333}.axis{fill:#666;font-size:11px}.tick{stroke:#ddd}.one{stroke:#333;stroke-width:1.5}"
PICTURES: dict[str, tuple[str, ...]] = {
    "scan": ("scan.Ratio.track_vs_cub", "CUB's time by Prism's, of scans"),
    "kinds": ("scan.Kinds.track_vs_cub", "CUB's time by Prism's, of long scans"),
    "structs": ("scan.Structs.track_vs_cub", "CUB's time by Prism's, of scans of structs and complex numbers"),
    "axis": ("scan.Axis.track_vs_copy", "A device copy's time by Prism's, of scans along an axis", "axis {}"),
    "segments": ("segments.Ratio.track_vs_cub", "CUB's time by Prism's, of segments", "length {}"),
    "reduce": ("reduce.Ratio.track_vs_cub", "CUB's time by Prism's, of sums"),
    "sgemm": ("sgemm.Chosen.track_vs_cublas", "cuBLAS's time by Prism's, of products in float32"),
    "hgemm": ("hgemm.Best.track_vs_cublas", "cuBLAS's time by Prism's, of products in bfloat16"),
}
"""Each picture's benchmark, its title, and what its colours are called, which stand for a second parameter.

Ratios are turned over, so that right is faster."""


def newest(machine: str, results: Path) -> dict[str, list[Any]]:
    """Return each benchmark's figures, those of the newest commit that has it."""
    found: dict[str, list[Any]] = {}
    files = [json.loads(path.read_text(encoding="utf-8")) for path in (results / machine).glob("*-*.json")]
    for each in sorted(files, key=lambda one: one["date"]):
        found |= each["results"]
    return found


def power(text: str) -> str:
    """Return a number as a power of two, where it is one above 1000."""
    return (
        f"2^{int(text).bit_length() - 1}"
        if text.isdigit() and int(text) > 1000 and not int(text) & int(text) - 1
        else text
    )


def rows(entry: list[Any], called: str = "{}") -> tuple[list[str], list[tuple[str, list[tuple[str, float]]]]]:
    """Return the labels of the colours, and the rows, of a benchmark of one parameter or two."""
    values, params = entry[0], [[str(ast.literal_eval(value)) for value in axis] for axis in entry[1]]
    labels = [called.format(power(label)) for label in params[1]] if len(params) > 1 else ["Prism"]
    table: dict[str, list[tuple[str, float]]] = {name: [] for name in params[0]}
    for (name, label), value in zip(itertools.product(params[0], labels), values, strict=True):
        if value is not None:
            table[name].append((label, 1 / value))
    kept = [(name, row) for name, row in table.items() if row]
    there = {label for _, row in kept for label, _ in row}
    return [label for label in labels if label in there], kept


def picture(title: str, labels: list[str], kept: list[tuple[str, list[tuple[str, float]]]]) -> str:
    """Return a picture that stands alone."""
    from docs.site.plots import svg

    figure = svg(title, labels, kept)
    inner = re.sub(r"^<figure>|<figcaption>.*$", "", figure)
    return inner.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="720" ', 1).replace(
        ">", f'><style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>', 1
    )


def pictures(recorded: dict[str, list[Any]]) -> dict[str, str]:
    """Return the pictures for which there are figures, by their names."""
    there = {name: what for name, what in PICTURES.items() if what[0] in recorded}
    return {
        name: picture(title, *rows(recorded[benchmark], *called)) + "\n"
        for name, (benchmark, title, *called) in there.items()
    }


def main() -> int:
    """Write the pictures for which there are figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machine", default="h200")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="asv's folder (default: this one's)")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, text in pictures(newest(options.machine, options.results)).items():
        (options.folder / f"{name}.svg").write_text(text, encoding="utf-8")
        print(options.folder / f"{name}.svg")
    return 0


sys.path.insert(0, str(HERE.parent))
if __name__ == "__main__":
    sys.exit(main())
