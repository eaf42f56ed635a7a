"""Shows files of the repository that pages link to and that are not pages: source as highlighted text, folders as lists."""

import html
import os
import shutil
from pathlib import Path
from posixpath import normpath

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.util.osutil import relative_uri

REPOSITORY = Path(os.environ["THALWEG_REPOSITORY"])
# Made by cargo, and copied into the site as it is.
RUST = "rust/"


def target_of(path):
    """The page on which a file or folder of the repository is shown."""
    return f"source/{path}"


def link_source(app, page, path):
    """The address of a file of the repository, seen from a page; None if there is no such file."""
    path, _, fragment = path.partition("#")
    file = normpath(os.path.join(os.path.dirname(page), path))
    if path.startswith(RUST) and (Path(app.outdir) / path).exists():
        place = path
    elif not path or file.startswith("..") or not (REPOSITORY / file).exists():
        return None
    elif file.endswith(".svg"):
        place = target_of(file)
        (Path(app.outdir) / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(REPOSITORY / file, Path(app.outdir) / place)
    else:
        app.shown_sources.add(file)
        place = app.builder.get_target_uri(target_of(file))
    line = f"#{fragment}" if fragment else ""
    return relative_uri(app.builder.get_target_uri(page), place) + line


def resolve_links(app, doctree):
    """Replaces links to files of the repository that are not pages. Broken ones stay, and are reported."""
    page = app.env.docname
    for kind in (addnodes.pending_xref, addnodes.download_reference):
        for node in list(doctree.findall(kind)):
            if node.get("reftype") != "myst" or node.get("refdomain"):
                continue
            if address := link_source(app, page, node["reftarget"]):
                node.replace_self(nodes.reference("", "", *node.children, internal=True, refuri=address))


def page_body(app, file):
    """The contents of a page that shows a file, or the files of a folder."""
    path = REPOSITORY / file
    title = f"<h1><code>{html.escape(file)}</code></h1>"
    if path.is_dir():
        here = app.builder.get_target_uri(target_of(file))
        links = []
        for name in sorted(os.listdir(path)):
            entry = f"{file}/{name}"
            if entry in app.shown_sources:
                uri = relative_uri(here, app.builder.get_target_uri(target_of(entry)))
                links.append(f'<li><a href="{html.escape(uri)}">{html.escape(name)}</a></li>')
        return f"{title}<ul>{''.join(links)}</ul>"
    text = path.read_text()
    try:
        lexer = get_lexer_for_filename(file, stripnl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False)
    return title + highlight(text, lexer, HtmlFormatter(lineanchors="L", linenos=False, anchorlinenos=False))


def is_shown(path):
    """Text that was not built or generated."""
    if path.is_dir():
        return path.name not in ("target", "__pycache__")
    try:
        path.read_text()
    except UnicodeDecodeError:
        return False
    return path.name != "Cargo.lock"


def add_pages(app):
    """All pages of this kind: what is linked, and what is in linked folders."""
    waiting = sorted(app.shown_sources)
    while waiting:
        file = waiting.pop()
        if (REPOSITORY / file).is_dir():
            within = [f"{file}/{name}" for name in os.listdir(REPOSITORY / file) if is_shown(REPOSITORY / file / name)]
            waiting.extend(path for path in within if path not in app.shown_sources)
            app.shown_sources.update(within)
    for file in sorted(app.shown_sources):
        yield target_of(file), {"title": file, "body": page_body(app, file)}, "page.html"


def share_menu(app, page, _template, context, _doctree):
    """Makes the menu once for all pages of this kind in a folder: none is in it, and links from a folder are equal. Made for each of
    them, menus took more than half of the time."""
    if not page.startswith(target_of("")):
        return
    make, folder = context["toctree"], os.path.dirname(page)

    def shared(**options):
        key = (folder, *sorted(options.items()))
        if key not in app.shared_menus:
            app.shared_menus[key] = make(**options)
        return app.shared_menus[key]

    context["toctree"] = shared


def setup(app):
    app.shown_sources = set()
    app.shared_menus = {}
    app.connect("doctree-read", resolve_links)
    app.connect("html-collect-pages", add_pages)
    # Before the theme, which reads the menu.
    app.connect("html-page-context", share_menu, priority=400)
    return {"parallel_read_safe": False, "parallel_write_safe": False}
