"""asv's pages of what is recorded, beside the documentation's site, with their scripts served from the same folder.

    python -m docs.site.dashboard build/site/dashboard      (`make site` does it)

asv's own page takes its scripts from the web. Here they come from the npm registry, once, by `npm pack`, into build/npm.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "asv_bench"
PACKED = ROOT / "build" / "npm"
SCRIPTS = {
    "jquery-3.3.1.min.js": ("jquery@3.3.1", "dist/jquery.min.js"),
    "jquery.flot.min.js": ("flot@0.8.3", "jquery.flot.js"),
    "jquery.flot.time.min.js": ("flot@0.8.3", "jquery.flot.time.js"),
    "jquery.flot.selection.min.js": ("flot@0.8.3", "jquery.flot.selection.js"),
    "jquery.flot.categories.min.js": ("flot@0.8.3", "jquery.flot.categories.js"),
    "jquery.flot.orderBars.js": ("flot-orderbars@1.0.0", "js/jquery.flot.orderBars.js"),
    "stupidtable.min.js": ("stupid-table-plugin@1.1.3", "stupidtable.min.js"),
    "md5.min.js": ("blueimp-md5@2.19.0", "js/md5.min.js"),
    "bootstrap.min.js": ("bootstrap@3.1.1", "dist/js/bootstrap.min.js"),
    "bootstrap.min.css": ("bootstrap@3.1.1", "dist/css/bootstrap.min.css"),
}
"""What asv's page loads, by the last part of its address: the package, and the file in it."""
LOADED = re.compile(r'(?P<tag><(?:script|link)\b[^>]*?\b(?:src|href)=")(?P<url>https?://[^"]+)(?P<rest>"[^>]*>)')
DARK = (
    "<style>@media (prefers-color-scheme: dark) "
    "{ html { background: #fff; filter: invert(0.92) hue-rotate(180deg); } }</style>"
)
"""asv has no pages for a dark desktop: these are its light ones, turned over."""
LINES = "lines: {\n                            show: true,"
"""How asv's grid draws a benchmark. A line of one figure is nothing, so points are drawn, too."""
PROOF = re.compile(r' (?:integrity|crossorigin|referrerpolicy)="[^"]*"')


def publish(out: Path) -> None:
    """Have asv write its pages, and move them to `out`. Raises CalledProcessError where it fails."""
    with tempfile.TemporaryDirectory() as home:
        paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "HOME": home, "PYTHONPATH": paths, "GIT_CONFIG_COUNT": "1",
                       "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}  # fmt: skip
        asv = [sys.executable, "-m", "asv"]
        for command in (
            ["machine", "--yes", "--machine", "pages"],
            ["run", "--python=same", "--machine", "pages", "--bench", "just-discover"],
            ["publish", "--html-dir", str(out)],
        ):
            done = subprocess.run(
                [*asv, *command], cwd=BENCH, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RuntimeError(f"asv {command[0]} failed:\n{done.stdout}{done.stderr}")
    shutil.rmtree(BENCH / "results" / "pages", ignore_errors=True)


def pack(packages: set[str]) -> dict[str, Path]:
    """Return the packages' archives, fetched by npm where they are not there. Raises RuntimeError where there is no npm."""
    PACKED.mkdir(parents=True, exist_ok=True)
    there = {name: PACKED / f"{name.replace('@', '-')}.tgz" for name in packages}
    missing = sorted(name for name, path in there.items() if not path.is_file())
    if missing:
        if shutil.which("npm") is None:
            raise RuntimeError("asv's pages take their scripts from the npm registry: install npm")
        done = subprocess.run(
            ["npm", "pack", "--silent", *missing], cwd=PACKED, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"npm pack failed:\n{done.stdout}{done.stderr}")
    return there


def serve_locally(page: str) -> tuple[str, set[str]]:
    """Return a page whose scripts and styles are in `scripts/`, and which they are. Raises KeyError for one that is not known."""
    names: set[str] = set()

    def here(found: re.Match[str]) -> str:
        name = found["url"].rpartition("/")[2]
        SCRIPTS[name]
        names.add(name)
        return PROOF.sub("", f"{found['tag']}{place(name)}{found['rest']}")

    return LOADED.sub(here, page), names


def place(name: str) -> str:
    """Where a script lies: bootstrap's style looks for its fonts beside its own folder."""
    return f"scripts/{'css/' if name.endswith('.css') else ''}{name}"


def build(out: Path) -> None:
    """Write the pages into `out`."""
    shutil.rmtree(out, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    publish(out.resolve())
    keep_shown(out)
    page, names = serve_locally((out / "index.html").read_text(encoding="utf-8"))
    archives = pack({SCRIPTS[name][0] for name in names})
    for name in names:
        package, inside = SCRIPTS[name]
        with tarfile.open(archives[package]) as archive:
            take(archive, f"package/{inside}", out / place(name))
            fonts = [one for one in archive.getnames() if one.startswith("package/dist/fonts/")]
            for font in fonts if name.endswith(".css") else ():
                take(archive, font, out / "scripts" / "fonts" / Path(font).name)
    (out / "index.html").write_text(page.replace("</head>", f"{DARK}</head>"), encoding="utf-8")
    grid = (out / "summarygrid.js").read_text(encoding="utf-8")
    if LINES not in grid:
        raise RuntimeError("asv's summarygrid.js draws its lines in another way: see LINES in docs/site/dashboard.py")
    (out / "summarygrid.js").write_text(
        grid.replace(LINES, f"points: {{ show: true, radius: 2 }}, {LINES}"), encoding="utf-8"
    )


def keep_shown(out: Path) -> None:
    """Leave out of asv's index what has no figure on any machine that is recorded: the grid would ask for it in vain."""
    path = out / "index.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    there = {name for name in index["benchmarks"] if (out / "graphs" / "summary" / f"{name}.json").is_file()}
    index["benchmarks"] = {name: value for name, value in index["benchmarks"].items() if name in there}
    path.write_text(json.dumps(index), encoding="utf-8")


def take(archive: tarfile.TarFile, inside: str, to: Path) -> None:
    """Write one file of an archive."""
    found = archive.extractfile(inside)
    assert found is not None, inside
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(found.read())


if __name__ == "__main__":
    try:
        build(Path(sys.argv[1]))
    except RuntimeError as error:
        sys.exit(f"{error}")
    print(f"asv's pages: {sys.argv[1]}; serve them with `python -m http.server --directory {sys.argv[1]}`")
