"""Makes the menu of the site from the lists of docs/README.md: a heading becomes a caption, a link an entry, and what is indented below
it an entry one level down."""

import re
from collections import defaultdict
from pathlib import PurePosixPath
from posixpath import normpath

LINK = re.compile(r"( *)- \[([^\]]+)\]\(([^)#]+)\.md\)")


def toctree_directive(entries, caption=None):
    """A hidden table of contents of MyST."""
    head = ["```{toctree}", ":hidden:", *([f":caption: {caption}"] if caption else [])]
    lines = [f"{title.replace('`', '')} </{page}>" for title, page in entries]
    return "\n".join(["", "", *head, "", *lines, "```", ""])


def read_menu(text, folder):
    """Entries by caption, and entries below a page."""
    top, below = defaultdict(list), defaultdict(list)
    caption, parent = None, None
    for line in text.split("\n"):
        if line.startswith("## "):
            caption = line[3:]
        elif found := LINK.fullmatch(line):
            indent, title, path = found.groups()
            page = normpath(f"{folder}/{path}")
            if indent:
                below[parent].append((title, page))
            else:
                top[caption].append((title, page))
                parent = page
    return top, below


def setup(app):
    root = app.config.root_doc
    text = (app.srcdir / f"{root}.md").read_text()
    top, below = read_menu(text, PurePosixPath(root).parent)
    # Pages that are made by the build.
    top["Python programmer"].append(("Python API", "python/thalweg/index"))
    top["Rust programmer"].append(("Rust API", "rust-api"))

    def append(app, page, source):
        if page == root:
            source[0] += "".join(toctree_directive(entries, caption) for caption, entries in top.items())
        elif page in below:
            source[0] += toctree_directive(below[page])

    app.connect("source-read", append)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
