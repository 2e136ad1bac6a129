"""Prepares docs/ for its site, beyond what MkDocs does.

- CHANGELOG.md is a page.
- A link to a file outside of docs/ (a README, an example, a header) becomes its text, because the site does not contain the file.
  The file must exist: a missing one is a warning, which `strict` turns into an error.
- A bar inside of code in a table is written as \\|, which Python-Markdown keeps as it is.
- A link whose text is the name of its page, such as [caches.md](caches.md), shows the page's title.
"""

import logging
import os
import re
from pathlib import Path

from mkdocs.structure.files import File

log = logging.getLogger("mkdocs.plugins.penstock")
CHANGELOG = "CHANGELOG.md"
LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\(([^)\s]+)\)")


def on_files(files, config):
    """Adds CHANGELOG.md, whose links are relative to the root of the source tree."""
    text = (Path(config.config_file_path).parent / CHANGELOG).read_text()
    files.append(File.generated(config, CHANGELOG, content=text.replace("](docs/", "](")))
    return files


def on_page_markdown(markdown, page, config, files):
    docs = Path(config.docs_dir)
    root = docs.parent
    # A page's links are relative to its folder; those of CHANGELOG.md were made relative to docs/ or stay relative to the root.
    folder = (docs / page.file.src_uri).parent

    def replace(match):
        text, target = match.groups()
        path = target.split("#")[0]
        if not path or re.match(r"[a-z]+:", path):
            return match[0]
        place = Path(os.path.normpath(folder / path))
        if place == root / CHANGELOG:
            return f"[Changelog]({os.path.relpath(docs / CHANGELOG, folder)})"
        if place.is_relative_to(docs) and (place.exists() or page.file.src_uri != CHANGELOG):
            name = place.parent.name if place.name == "README.md" else place.name
            return f"[{title(place) or text}]({target})" if text.endswith(name) else match[0]
        if not place.exists() and not (page.file.src_uri == CHANGELOG and (root / path).exists()):
            log.warning("%s links to %s, which does not exist", page.file.src_uri, target)
        return text

    return outside_of_code(markdown, replace)


def on_page_content(html, page, config, files):
    return re.sub(r"<td>.*?</td>", lambda cell: cell[0].replace("\\|", "|"), html, flags=re.S)


def title(page):
    """The heading of a Markdown file, or None."""
    lines = page.read_text().splitlines() if page.suffix == ".md" and page.is_file() else []
    return next((line[2:] for line in lines if line.startswith("# ")), None)


def outside_of_code(markdown, replace):
    """`markdown` with its links replaced, except in fenced blocks."""
    pieces = re.split(r"(^```.*?^```$)", markdown, flags=re.M | re.S)
    return "".join(piece if piece.startswith("```") else LINK.sub(replace, piece) for piece in pieces)
