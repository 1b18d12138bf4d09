"""Pictures of what is recorded, docs/pictures/NAME.svg, and tables: the README's, docs/performance.md's and docs/measurements'.

    python asv_bench/publish/pictures.py [--machine h200]

Made from asv_bench/results/MACHINE, by the newest figure of each parameter of each benchmark: nothing is typed here.
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
STYLE = (
    "text{font:13px sans-serif;fill:#333}.axis{fill:#666;font-size:11px}.tick{stroke:#ddd}.one{stroke:#333;stroke-width:1.5}"
    ".paper{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#e3e7ee}.axis{fill:#a3adbd}.tick{stroke:#2e3542}"
    ".one{stroke:#e3e7ee}.paper{fill:#14171d}}"
)
PICTURES: dict[str, tuple[str, ...]] = {
    "scan": ("scan.Ratio.track_vs_cub", "CUB's time by Prism's, of scans", "2^{}"),
    "kinds": ("scan.Kinds.track_vs_cub", "CUB's time by Prism's, of long scans", "2^{}"),
    "structs": ("scan.Structs.track_vs_cub", "CUB's time by Prism's, of scans of structs and complex numbers", "2^{}"),
    "axis": (
        "scan.Axis.track_vs_copy",
        "A device copy's time by Prism's, of scans along an axis of 2^26",
        "axis {}",
        "2^{} rows",
    ),
    "segments": ("segments.Ratio.track_vs_cub", "CUB's time by Prism's, of segments", "length {}"),
    "reduce": ("reduce.Ratio.track_vs_cub", "CUB's time by Prism's, of sums", "2^{}"),
    "sgemm": ("sgemm.Ratio.track_vs_cublas", "cuBLAS's time by Prism's, of products in float32"),
    "hgemm": ("hgemm.Ratio.track_vs_cublas", "cuBLAS's time by Prism's, of products in bfloat16"),
    "layers": (
        "hgemm_layers.Ratio.track_vs_cublas",
        "cuBLAS's time by Prism's, of products of models' layers",
        "{} rows",
    ),
    "float8": ("hgemm_float8.Ratio.track_vs_cublas", "cuBLASLt's time by Prism's, of products of 8-bit floats"),
    "transposes": ("transposes.Share.track_vs_copy", "A device copy's time by Prism's, of transposes and permutations"),
    "attention": ("attention.Ratio.track_vs_best", "The fastest peer's time by Prism's, of attention"),
    "attention_decode": ("attention_decode.Ratio.track_vs_cudnn", "cuDNN's time by Prism's, of decoding"),
    "attention_backward": (
        "attention_backward.Ratio.track_vs_best",
        "The fastest peer's time by Prism's, of attention's gradients",
    ),
}
"""Each picture's benchmark, its title, and what its colours are called, which stand for a second parameter, and its rows.

Ratios are turned over, so that right is faster."""
TABLES = {
    "sort": ("Sorts", "2^{}", "Keys are random, unless the row's name says otherwise. Pairs have values of 4 bytes."),
    "sort_rows": (
        "Sorts of rows and segments of 2^24, by their length", "{}",
        "CUB sorts segments. torch cannot: it sorts rows of that length instead. Columns: those of a (2^24, 4) matrix of bytes.",
    ),
    "sets": ("Sets", "2^{}", "Numbers are random. `few`: they are below 2^20. `isin` looks them up in a table of 2^16."),
    "merge": ("Merges, and sorts by merging", "2^{}", "CuPy and torch have no merge, so they sort both arrays together."),
    "topk": (
        "First elements, medians and partitions, by all elements", "2^{}",
        "A name has the number of rows, their length, and how many elements are taken (`k`).",
    ),
    "selection": (
        "Selections, by the share that is kept", "2^{}",
        "A call waits for its result's size, if the peer's call does too. `alone`: each call comes after a product of cuBLAS.",
    ),
    "histogram": ("Histograms", "2^{}", "`skewed`: most numbers are small. `one`: all numbers are equal."),
    "searching": ("Differences, searches, elements at indices", "2^{}", "`in 2^16`: the table has 2^16 elements."),
}  # fmt: skip
"""What the scripts of benchmarks/tables.py measure, what their sizes are called, and what to know."""
FIRST_CALL = "first_call.FirstCall.track_call_ms"
GOAL = 50.0  # ms: what a first call with artifacts should take at most


README = HERE.parent / "README.md"
BEGIN, END = "<!-- ratios: begin; asv_bench/publish/pictures.py writes them -->\n", "<!-- ratios: end -->"
TABLE = (
    ("`scan`, int32", "scan.Ratio.track_vs_cub", "int32", "CUB", "2^{}", "measure"),
    ("`sum`, int32", "reduce.Ratio.track_vs_cub", "int32", "CUB", "2^{}", "reduce"),
    (
        "`segmented_reduce`, by average length",
        "segments.Ratio.track_vs_cub",
        "segmented_reduce",
        "CUB",
        "{}",
        "segments",
    ),
    ("`sort`, float32", "tables.Sort.track_vs_best", "keys float32", "CUB", "2^{}", "sort"),
    ("`sort_by_key`, uint32, values of 4 bytes", "tables.Sort.track_vs_best", "pairs uint32", "CUB", "2^{}", "sort"),
    (
        "`compress`, float32, half is kept",
        "tables.Selection.track_vs_best",
        "compress float32 0.5",
        "CUB",
        "2^{}",
        "selection",
    ),
    (
        "`histogram`, int32, 256 bins",
        "tables.Histogram.track_vs_best",
        "even 256 int32 uniform",
        "CUB",
        "2^{}",
        "histogram",
    ),
    ("`sgemm`, square", "sgemm.Ratio.track_vs_cublas", None, "cuBLAS", "{}", "sgemm"),
    ("`hgemm`, bfloat16, square", "hgemm.Ratio.track_vs_cublas", None, "cuBLAS", "{}", "hgemm"),
    (
        "`hgemm`, float8_e4m3fn, square",
        "hgemm_float8.Ratio.track_vs_cublas",
        None,
        "cuBLASLt",
        "{}",
        "hgemm_float8",
    ),
    (
        "`attention`, causal, heads of 128, by length",
        "attention.Ratio.track_vs_best",
        ("128x1024c", "128x4096c", "128x16384c"),
        "cuDNN, FlashAttention",
        "{}",
        "attention",
    ),
)
"""The rows of the README's table: what was measured, its benchmark, first parameter, peer, the sizes' names, the script.

The first parameter: one row of two parameters. Of one parameter: some, named by their last numbers, or None, all powers of two.
"""


THREE_BEGIN, THREE_END = "<!-- three: begin; asv_bench/publish/pictures.py writes them -->\n", "<!-- three: end -->"
THREE = (
    ("`scan` of 2^24 int32", "scan.Ratio.track_vs_cub", "int32", "24", "CUB", "docs/measurements/scans.md"),
    (
        "`segmented_reduce`, segments of about 250 float32",
        "segments.Ratio.track_vs_cub",
        "segmented_reduce",
        "250",
        "CUB",
        "docs/measurements/segments.md",
    ),
    (
        "`hgemm` of bfloat16, 8192 x 8192 x 8192",
        "hgemm.Ratio.track_vs_cublas",
        "8192",
        "Prism",
        "cuBLAS",
        "docs/measurements/hgemm.md",
    ),
)
"""The README's first three ratios: what was measured, its benchmark, parameters, the peer, and the page that tells of it."""


PERFORMANCE = HERE.parent / "docs" / "performance.md"
TABLES_BEGIN, TABLES_END = "<!-- tables: begin; asv_bench/publish/pictures.py writes them -->\n", "<!-- tables: end -->"


def tables_of_the_manifest() -> list[str]:
    """Return the scripts of the manifest that write tables, in its order."""
    from prism.lib.algorithms import MANIFEST

    return [script for one in MANIFEST for script in one.scripts if script in TABLES]


def benchmark_of(script: str) -> str:
    """Return the name of a table's ratios."""
    return f"tables.{script.title().replace('_', '')}.track_vs_best"


def newest(machine: str, results: Path) -> dict[str, list[Any]]:
    """Return each benchmark's figures, of the newest commit that has it; what that left out is of the newest that has it.

    A figure of another version of its benchmark is none.
    """
    found: dict[str, list[Any]] = {}
    files = [json.loads(path.read_text(encoding="utf-8")) for path in (results / machine).glob("*-*.json")]
    for each in sorted(files, key=lambda one: one["date"]):
        for name, (values, params, *rest) in each["results"].items():
            if (
                name in found and found[name][2:] == rest
            ):  # of one version, by parameters: there may be more of them now
                before = dict(zip(itertools.product(*found[name][1]), found[name][0], strict=True))
                chosen = itertools.product(*params)
                values = [before.get(key) if new is None else new for new, key in zip(values, chosen, strict=True)]
            found[name] = [values, params, *rest]
    return found


def rows(
    entry: list[Any], called: str = "{}", row_called: str = "{}", turned: bool = True
) -> tuple[list[str], list[tuple[str, list[tuple[str, float]]]]]:
    """Return the labels of the colours, and the rows, of a benchmark of one parameter or two; `turned`: of 1 by each figure."""
    values, params = entry[0], [[str(ast.literal_eval(value)) for value in axis] for axis in entry[1]]
    labels = [called.format(label) for label in params[1]] if len(params) > 1 else ["Prism"]
    table: dict[str, list[tuple[str, float]]] = {name: [] for name in params[0]}
    for (name, label), value in zip(itertools.product(params[0], labels), values, strict=True):
        if value is not None:
            table[name].append((label, 1 / value if turned else value))
    kept = [(row_called.format(name), row) for name, row in table.items() if row]
    there = {label for _, row in kept for label, _ in row}
    return [label for label in labels if label in there], kept


def rows_by_size(entry: list[Any], called: str) -> tuple[list[str], list[tuple[str, list[tuple[str, float]]]]]:
    """Return `rows`, with sizes that are no powers of two where `called` does not say so."""
    if called == "{}":
        params = [entry[1][0], [repr(1 << ast.literal_eval(log)) for log in entry[1][1]]]
        entry = [entry[0], params, *entry[2:]]
    return rows(entry, called)


def tables(recorded: dict[str, list[Any]]) -> str:
    """Return a picture and a table of ratios of each script that has been recorded."""
    parts = []
    for script in tables_of_the_manifest():
        if benchmark_of(script) in recorded:
            what, called, note = TABLES[script]
            labels, kept = rows_by_size(recorded[benchmark_of(script)], called)
            lines = [f"| | {' | '.join(labels)} |", "|---" * (len(labels) + 1) + "|"]
            for name, row in kept:
                cells = {label: f"{ratio:.2f}" for label, ratio in row}
                lines.append(f"| {name} | {' | '.join(cells.get(label, '') for label in labels)} |")
            table = "\n".join(lines)
            parts.append(
                f"### {what}\n\n{note} `asv_bench/{script}.py`.\n\n![{what}](pictures/{script}.svg)\n\n{table}\n"
            )
    return "\n".join(parts)


def picture(
    title: str,
    labels: list[str],
    kept: list[tuple[str, list[tuple[str, float]]]],
    line: float = 1,
    what: str = "ratios",
) -> str:
    """Return a picture that stands alone, of `what`, with a line at `line`."""
    from docs.site.plots import svg

    figure = svg(title, labels, kept, line, what)
    inner = re.sub(r"^<figure>|<figcaption>.*$", "", figure)
    return inner.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="720" ', 1).replace(
        ">", f'><style>{STYLE}</style><rect class="paper" width="100%" height="100%"/>', 1
    )


def pictures(recorded: dict[str, list[Any]]) -> dict[str, str]:
    """Return the pictures for which there are figures, by their names."""
    there = {name: what for name, what in PICTURES.items() if what[0] in recorded}
    made = {
        name: picture(title, *rows(recorded[benchmark], *called)) + "\n"
        for name, (benchmark, title, *called) in there.items()
    }
    for script in tables_of_the_manifest():
        if benchmark_of(script) in recorded:
            what, called, _ = TABLES[script]
            title = f"{what}: the fastest peer's time by Prism's"
            made[script] = picture(title, *rows_by_size(recorded[benchmark_of(script)], called)) + "\n"
    if FIRST_CALL in recorded:
        times = rows(recorded[FIRST_CALL], turned=False)
        made["first_call"] = picture("The first call in a new process", *times, GOAL, "milliseconds") + "\n"
    return made


def table(recorded: dict[str, list[Any]]) -> str:
    """Return a table of ratios, the peer's time by Prism's; of powers of two alone where there is one parameter."""
    lines = ["| | beside | its time divided by Prism's | measured by |", "|---|---|---|---|"]
    for what, benchmark, chosen, peer, called, script in TABLE:
        found = [row for name, row in rows(recorded[benchmark], called)[1] if name == chosen]
        if chosen is None:
            sizes = [(name, row[0][1]) for name, row in rows(recorded[benchmark])[1] if name.isdigit()]
            found = [[(name, ratio) for name, ratio in sizes if int(name).bit_count() == 1]]
        elif isinstance(chosen, tuple):
            ratio_of = {name: row[0][1] for name, row in rows(recorded[benchmark])[1]}
            found = [[(re.findall(r"\d+", name)[-1], ratio_of[name]) for name in chosen]]
        ratios = ", ".join(f"{label}: {ratio:.2f}" for label, ratio in found[0])
        lines.append(f"| {what} | {peer} | {ratios} | `asv_bench/{script}.py` |")
    return "\n".join(lines)


def three(recorded: dict[str, list[Any]]) -> str:
    """Return the README's first ratios, as a list."""
    lines = []
    for what, benchmark, chosen, label, peer, page in THREE:
        ratios = {name: dict(row) for name, row in rows(recorded[benchmark])[1]}
        lines.append(f"- {what}: **{ratios[chosen][label]:.2f} times** as fast as {peer} ([figures]({page}))")
    return "\n".join(["On one H200:", "", *lines])


def with_table(page: str, made: str, begin: str = BEGIN, end: str = END) -> str:
    """Return a page, the README, with this table in its place."""
    before, _, rest = page.partition(begin)
    return f"{before}{begin}\n{made}\n\n{end}{rest.partition(end)[2]}"


def with_tables(page: str, made: str) -> str:
    """Return docs/performance.md with these tables in their place."""
    return with_table(page, made.rstrip("\n"), TABLES_BEGIN, TABLES_END)


def main() -> int:
    """Write the pictures for which there are figures, and the README's table where there are all of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machine", default="h200")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="asv's folder (default: this one's)")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    recorded = newest(options.machine, options.results)
    for name, text in pictures(recorded).items():
        (options.folder / f"{name}.svg").write_text(text, encoding="utf-8")
        print(options.folder / f"{name}.svg")
    from publish import attention_table, backward_table, decode_table, layers_table, rows_table

    for of in (attention_table, backward_table, decode_table, layers_table, rows_table):
        if options.folder == FOLDER and of.NAME in recorded:
            text = with_table(of.PAGE.read_text(encoding="utf-8"), of.table(recorded), of.BEGIN, of.END)
            of.PAGE.write_text(text, encoding="utf-8")
    if options.folder == FOLDER and all(row[1] in recorded for row in TABLE):
        text = with_table(README.read_text(encoding="utf-8"), table(recorded))
        README.write_text(with_table(text, three(recorded), THREE_BEGIN, THREE_END), encoding="utf-8")
        PERFORMANCE.write_text(with_tables(PERFORMANCE.read_text(encoding="utf-8"), tables(recorded)), encoding="utf-8")
    return 0


sys.path[:0] = [str(HERE.parent), str(HERE)]
if __name__ == "__main__":
    sys.exit(main())
