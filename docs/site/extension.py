"""What the site has beyond the Markdown: its table of contents, marked places that are filled, and the files that pages link."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from docs.site import fill, signatures
from docs.site.contents import with_contents, with_pages

MARK = re.compile(r"^<!-- site: (\w+) (.+) -->$", re.MULTILINE)
FENCE = re.compile(r"^(?P<numbered><!-- numbered -->\n)?```(?P<language>python|text)(?P<kind> \w+)?.*\n", re.MULTILINE)
LANGUAGES = {".py": "python", ".v": "coq"}


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect."""
    app.connect("source-read", read)
    app.connect("doctree-read", show_files)
    app.connect("html-collect-pages", file_pages)
    app.connect("build-finished", redirect)
    return {"parallel_read_safe": False}


def read(app: Sphinx, docname: str, source: list[str]) -> None:
    """Fill the marked places of a page, and give the first page, and the index of a folder, its table of contents."""
    folder = Path(app.srcdir) / posixpath.dirname(docname)
    source[0] = signatures.without(source[0])
    source[0] = MARK.sub(lambda mark: fill.FILLERS[mark[1]](mark[2], folder), source[0])
    source[0] = FENCE.sub(dressed, source[0])
    if docname == app.config.root_doc:
        source[0] = with_contents(source[0])
    else:
        source[0] = with_pages(source[0], Path(app.srcdir) / f"{docname}.md")


def dressed(fence: re.Match[str]) -> str:
    """Return a block's first line as a directive: with lines' numbers, or a class for what is printed or has to fail."""
    options = ":linenos:\n" if fence["numbered"] else f":class: {fence['kind'].strip()}\n" if fence["kind"] else ""
    return f"```{{code-block}} {fence['language']}\n{options}\n" if options else fence[0]


def show_files(app: Sphinx, doctree: nodes.document) -> None:
    """Let links to source lead to a page that shows the file, in place of a download, or that lists the folder."""
    here = posixpath.dirname(app.env.docname)
    for link in [*doctree.findall(addnodes.download_reference), *doctree.findall(addnodes.pending_xref)]:
        path = posixpath.normpath(posixpath.join(here, link.get("reftarget", "")))
        file = Path(app.srcdir) / path
        if path.startswith(".") or not (file.is_dir() or file.is_file() and file.suffix in LANGUAGES):
            continue
        files(app).add(path)
        if file.is_dir():
            files(app).update(f"{path}/{inner.name}" for inner in file.iterdir() if inner.suffix in LANGUAGES)
        uri = posixpath.relpath(f"source/{path}.html", here or ".")
        link.replace_self(nodes.reference("", "", *link.children, refuri=uri, internal=True))


def files(app: Sphinx) -> set[str]:
    """Return the files and folders that pages link, which the environment keeps from build to build."""
    if not hasattr(app.env, "prism_files"):
        app.env.prism_files = set()  # type: ignore[attr-defined]
    found: set[str] = app.env.prism_files
    return found


def file_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for each file and folder that a page links."""
    for path in sorted(files(app)):
        if (Path(app.srcdir) / path).is_dir():
            inside = [file for file in sorted(files(app)) if posixpath.dirname(file) == path]
            names = "".join(
                f'<li><a href="{file.removeprefix(posixpath.dirname(path) + "/")}.html">{file}</a></li>'
                for file in inside
            )
            yield (
                f"source/{path}",
                {"title": path, "body": f"<h1><code>{path}</code></h1><ul>{names}</ul>"},
                "page.html",
            )
            continue
        text = (Path(app.srcdir) / path).read_text(encoding="utf-8")
        shown = app.builder.highlighter.highlight_block(text, LANGUAGES[Path(path).suffix], linenos=False)  # type: ignore[attr-defined]
        yield f"source/{path}", {"title": path, "body": f"<h1><code>{path}</code></h1>{shown}"}, "page.html"


def redirect(app: Sphinx, error: Exception | None) -> None:
    """Let the folder that is built open at its first page."""
    if error is None and app.builder.name == "html":
        to = f"{app.config.root_doc}.html"
        page = f'<!doctype html><meta charset="utf-8"><title>Prism</title><meta http-equiv="refresh" content="0; url={to}">'
        (Path(app.outdir) / "index.html").write_text(f'{page}<a href="{to}">Prism</a>\n', encoding="utf-8")
