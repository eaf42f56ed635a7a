"""Links scenarios on pages to the laboratory page: it opens with the scenario in its address. Without a built page there are no links."""

import base64
import os
import re
import zlib
from pathlib import Path
from urllib.parse import urlencode

from docutils import nodes
from sphinx.util.osutil import relative_uri

REPOSITORY = Path(os.environ["THALWEG_REPOSITORY"])
PAGE = REPOSITORY / "target/page/index.html"
PLACE = "laboratory.html"
# The page about it.
GUIDE = "docs/guide/laboratory"
# A scenario of its own has a link and a flow, or generates them, and refers to no other file.
NETWORK = re.compile(r"^(\[\[link\]\]|network *=|link *=)", re.MULTILINE)
FLOW = re.compile(r"^(\[\[flow\]\]|flow *=)", re.MULTILINE)
FILE = re.compile(r"\b(include|file|trace) *= *[\[\"]")


def page_address(page, app, state):
    """The address of the laboratory, seen from a page, with a state after `#`."""
    return relative_uri(app.builder.get_target_uri(page), PLACE) + (f"#{urlencode({'v': '1', **state})}" if state else "")


def pack_text(text):
    """A text as the laboratory reads it from its address."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.urlsafe_b64encode(packer.compress(text.encode()) + packer.flush()).decode().rstrip("=")


def is_scenario(block):
    text = block.astext()
    return block.get("language", "").split()[:1] == ["toml"] and NETWORK.search(text) and FLOW.search(text) and not FILE.search(text)


def link_to_laboratory(app, doctree):
    """Adds a link below each scenario of a page."""
    page = app.env.docname
    if page == GUIDE:
        title = next(iter(doctree.findall(nodes.title)))
        reference = nodes.reference("", "Open the laboratory", internal=True, refuri=page_address(page, app, {}))
        title.parent.insert(title.parent.index(title) + 1, nodes.paragraph("", "", reference))
    for block in list(doctree.findall(nodes.literal_block)):
        if not is_scenario(block):
            continue
        target = page_address(page, app, {"text": pack_text(block.astext())})
        reference = nodes.reference("", "Open in the laboratory", internal=True, refuri=target)
        block.parent.insert(block.parent.index(block) + 1, nodes.paragraph("", "", reference, classes=["laboratory"]))


def setup(app):
    if PAGE.exists():
        app.connect("doctree-read", link_to_laboratory)
    return {"parallel_read_safe": False, "parallel_write_safe": False}
