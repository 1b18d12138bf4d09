"""asv's pages and the pictures in headless Chromium: every plot is there, with its figures, and nothing complains."""

from __future__ import annotations

import contextlib
import functools
import http.server
import itertools
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from docs.site import dashboard
from tests.explanation.chromium import Chromium, executable
from tests.rarely import rarely

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
PLOT = "$('#main-graph').data('plot')"
PARTS = 3  # of the benchmarks, in turn: `make test` looks at the plots of the first

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    path = executable()
    if path is None:
        pytest.skip("NO BROWSER on this machine: the pages were not looked at (on Debian: apt-get install chromium)")
    found = Chromium(path)
    yield found
    found.close()


@pytest.fixture(scope="module")
def pages(browser: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, Any]]]:
    """The address of asv's pages, built as `make site` builds them, and what their index says."""
    pytest.importorskip("asv")
    if not all(
        (dashboard.PACKED / f"{name.replace('@', '-')}.tgz").is_file() for name, _ in dashboard.SCRIPTS.values()
    ):
        if shutil.which("npm") is None:
            pytest.skip("NO NPM on this machine, and no scripts in build/npm: asv's pages were not looked at")
    out = tmp_path_factory.mktemp("site") / "dashboard"
    try:
        dashboard.build(out)
    except RuntimeError as error:
        if "npm pack" in str(error):
            pytest.skip(f"NO SCRIPTS from the registry: asv's pages were not looked at ({error})")
        raise
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(out)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    index: dict[str, Any] = json.loads((out / "index.json").read_text(encoding="utf-8"))
    yield f"http://127.0.0.1:{server.server_port}", index["benchmarks"]
    server.shutdown()


def recorded() -> dict[str, dict[tuple[str, ...], set[float]]]:
    """Return the figures of each benchmark at a revision of this history, by its parameters as asv writes them."""
    listed = subprocess.run(["git", "rev-list", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    history = set(listed.stdout.split())
    found: dict[str, dict[tuple[str, ...], set[float]]] = {}
    for path in (ROOT / "asv_bench" / "results" / "h200").glob("*-*.json"):
        of = json.loads(path.read_text(encoding="utf-8"))
        for name, (values, params, *_) in of["results"].items() if of["commit_hash"] in history else ():
            for key, value in zip(itertools.product(*params), values or (), strict=True):
                if value is not None:
                    found.setdefault(name, {}).setdefault(key, set()).add(value)
    return found


def plotted(browser: Chromium, place: str) -> list[float]:
    """Return the figures of the plot at a place of asv's page, or none where it has none."""
    read = f"({PLOT} ? {PLOT}.getData() : []).flatMap(s => s.data.map(p => p[1])).filter(v => v !== null)"
    browser.run(f"$('.modal').modal('hide'), $('#main-graph').removeData('plot'), location.hash = '#{place}'")
    with contextlib.suppress(AssertionError):
        browser.wait(f"{read}.length > 0 && $('#main-graph .flot-text').length > 0", 5)
    found: list[float] = browser.run(f"[...new Set({read})]")
    return found


@pytest.mark.parametrize("part", rarely(range(PARTS), but=[0]))
def test_every_plot_of_asv_has_recorded_figures(browser: Chromium, pages: Any, part: int) -> None:
    """One figure of each benchmark is read off its plot: of parameters that have one, chosen as a click chooses them."""
    address, benchmarks = pages
    figures = recorded()
    browser.open(address)
    browser.wait("window.$ && $.asv && $.asv.main_json")
    names = sorted(set(benchmarks) & set(figures))
    for name in names[part::PARTS]:
        key, wanted = next(iter(figures[name].items()))
        named = zip(benchmarks[name]["param_names"], key, strict=True)
        chosen = "&".join(f"p-{quote(one)}={quote(value)}" for one, value in named)
        shown = plotted(browser, f"{name}?{chosen}")
        assert any(abs(v - w) <= 1e-9 * abs(w) for v in shown for w in wanted), (
            f"{name} {key}: {shown[:5]}, not {wanted}"
        )
    assert len(names) >= 30
    assert browser.console == []
    outside = {url for url in browser.requests if not url.startswith((address, "data:", "about:"))}
    assert outside == set(), "not served from here"


def test_the_grid_of_asv_draws_its_small_plots(browser: Chromium, pages: Any) -> None:
    address, _ = pages
    browser.open(f"{address}/?grid#/")  # another address: the page is loaded anew
    browser.wait("document.querySelectorAll('#summarygrid-display canvas').length > 3")
    empty = """[...document.querySelectorAll('#summarygrid-display canvas.flot-base')].filter(c => {
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        return !d.some((v, i) => i % 4 == 2 && v > d[i - 2] + 40 && d[i + 1]);
      }).length"""
    assert browser.run(empty) == 0, "a benchmark of one figure is a point"
    assert browser.console == []


def test_each_picture_of_the_documentation_shows_its_figures(browser: Chromium) -> None:
    """Each is drawn, light and dark, its texts are inside, and a figure that it was made of can be read off."""
    for path, dark in itertools.product(sorted(PICTURES.rglob("*.svg")), (False, True)):
        browser.open(path, dark=dark)
        outside = browser.run("""[...document.querySelectorAll('text')].filter(t => {
            const b = t.getBBox(), v = document.documentElement.viewBox.baseVal;
            return b.width && (b.x < -1 || b.x + b.width > v.width + 1 || b.y + b.height > v.height + 2);
          }).map(t => t.textContent)""")
        assert outside == [], f"{path.name}: {outside}"
        assert browser.console == [] and browser.requests == [path.resolve().as_uri()]
        if path.parent == PICTURES:
            tips = browser.run("[...document.querySelectorAll('circle title')].map(t => t.textContent)")
            assert tips and all(re.search(r": [\d.e+-]+$", tip) for tip in tips), path.name


def test_the_site_is_whole_without_a_network(browser: Chromium) -> None:
    """Opened as files: pictures are there, nothing complains, the search finds pages."""
    site = ROOT / "build" / "site"
    if not (site / "docs" / "tour.html").is_file():
        pytest.skip("NO SITE in build/site: `make site` builds it")
    for page in ("README", "docs/tour", "docs/one_page", "docs/gallery", "docs/performance", "docs/errors/call-bound"):
        browser.open(site / f"{page}.html")
        browser.run("[...document.images].forEach(i => { i.loading = 'eager'; })")
        browser.wait("[...document.images].every(i => i.complete)")
        assert browser.run("[...document.images].filter(i => !i.naturalWidth).map(i => i.src)") == []
        assert browser.run("document.documentElement.scrollWidth <= innerWidth"), f"{page} scrolls sideways"
        assert browser.console == [], page
        assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == [], page
    browser.open(f"{(site / 'search.html').resolve().as_uri()}?q=swizzle")
    browser.wait("document.querySelectorAll('ul.search li a').length > 3")
    assert browser.console == []


def test_what_asv_loads_is_known() -> None:
    page = '<script src="https://x.y/jquery-3.3.1.min.js" integrity="sha" crossorigin="anonymous"></script>'
    made, names = dashboard.serve_locally(page)
    assert made == '<script src="scripts/jquery-3.3.1.min.js"></script>' and names == {"jquery-3.3.1.min.js"}
    with pytest.raises(KeyError):
        dashboard.serve_locally('<script src="https://x.y/new.js"></script>')
