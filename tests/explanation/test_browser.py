"""The page in headless Chromium: no complaint, no request, no overflow, text that can be read, lines that light up, print."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from prism.explanation import explain_page
from tests.explanation.chromium import Chromium, executable
from tests.explanation.programs import NAMES, program

# The least contrast of all texts on the page with what is behind them, and where: WCAG's ratio.
CONTRAST = """(() => {
  const parse = c => (c.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = c => { const f = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
  const behind = e => { for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  let worst = [99, ""];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const e = node.parentElement;
    if (!node.data.trim() || e.closest("svg title, svg defs")) continue;
    const style = getComputedStyle(e), svg = e.closest("svg");
    const rect = svg && e.closest("g") && e.closest("g").querySelector("rect");
    const front = parse(svg ? style.fill : style.color);
    const back = rect ? parse(getComputedStyle(rect).fill) : behind(e);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < worst[0]) worst = [ratio, e.className.baseVal ?? e.className, node.data.trim().slice(0, 40)];
  }
  return worst; })()"""
OUTSIDE = """[...document.querySelectorAll("body *")].filter(e => !e.closest("svg") || e.tagName == "svg")
  .filter(e => e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.className).slice(0, 5)"""


pytestmark = pytest.mark.xdist_group("browser")  # one process, one browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    path = executable()
    if path is None:
        pytest.skip("NO BROWSER on this machine: the page was not looked at (on Debian: apt-get install chromium)")
    found = Chromium(path)
    yield found
    found.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("pages")

    def written(name: str) -> Path:
        path = folder / f"{name.replace(' ', '_')}.html"
        if not path.exists():
            path.write_text(explain_page(program(name)), encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize("width", [1280, 1024])
@pytest.mark.parametrize("name", [*NAMES, "hgemm"])
def test_the_page_loads_in_silence_and_fits(browser: Chromium, page, name: str, width: int):
    browser.open(page(name), width, 800)
    assert browser.console == []
    assert browser.requests == [page(name).resolve().as_uri()]
    assert browser.run("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"
    assert browser.run(OUTSIDE) == []
    assert browser.run("document.compatMode") == "CSS1Compat"


def test_on_a_narrow_screen_what_is_wide_scrolls_by_itself(browser: Chromium, page):
    browser.open(page("scan"), 400, 800)
    assert browser.run("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"
    assert browser.run("document.querySelector('.line code').getBoundingClientRect().width > 400"), "code is squeezed"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["scan", "tiled", "hgemm"])
def test_every_text_can_be_read(browser: Chromium, page, name: str, dark: bool):
    browser.open(page(name), dark=dark)
    ratio, *where = browser.run(CONTRAST)
    assert ratio >= 4.5, f"{ratio:.2f} at {where}"
    ground = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") != dark


@pytest.mark.parametrize("name", NAMES)
def test_every_link_of_a_barrier_has_its_target(browser: Chromium, page, name: str):
    browser.open(page(name))
    links = browser.run(
        """[...document.querySelectorAll('.entry a, .marks a, svg a')].map(a => a.getAttribute('href'))"""
    )
    assert bool(links) == any(plan.barriers or plan.elided for plan in program(name).plans.values())
    assert browser.run(
        """[...document.querySelectorAll('a')].every(a => document.querySelector(a.getAttribute('href')))"""
    )


def test_the_lines_that_force_a_barrier_light_up_with_it(browser: Chromium, page):
    browser.open(page("tiled"))
    ground = "getComputedStyle(document.querySelector('#f0-L105')).backgroundColor"
    before = browser.run(ground)
    x, y = browser.run("""(() => { const e = document.querySelector('#f0-B1'); e.scrollIntoView({block: 'center'});
        const r = e.getBoundingClientRect(); return [r.left + 200, r.top + 8]; })()""")
    browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    assert browser.run(ground) != before
    browser.run("location.hash = '#f0-L117'")
    assert browser.run("document.querySelector(':target').id") == "f0-L117"


def test_no_text_in_a_picture_is_cut_off_or_tiny(browser: Chromium, page):
    for name in ("tiled", "scan", "paper scan", "hgemm"):
        browser.open(page(name))
        small = browser.run("""Math.min(...[...document.querySelectorAll('#f0 svg text')].map(t => {
            const svg = t.closest('svg'); return parseFloat(getComputedStyle(t).fontSize)
              * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width; }))""")
        assert small >= 7, name
        outside = browser.run("""[...document.querySelectorAll('svg text')].filter(t => {
            const b = t.getBBox(), v = t.closest('svg').viewBox.baseVal;
            return b.x < -1 || b.x + b.width > v.width + 1 || b.y + b.height > v.height + 1;
          }).map(t => t.textContent)""")
        assert outside == [], name


def test_the_page_prints(browser: Chromium, page):
    browser.open(page("tiled"), dark=True)  # paper is white all the same
    document = browser.printed()
    assert document.startswith(b"%PDF") and document.count(b"/Type /Page\n") + document.count(b"/Type /Page ") <= 5
