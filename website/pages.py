"""The pages, laid out for Sphinx: those of docs/, those elsewhere in the repository, and the reference.

Links in the Markdown lead to files of the repository, so they work wherever it is read. On the site they lead to the
file's page. Sphinx warns about a link to a file without a page, and a warning is an error.
"""

from __future__ import annotations

import base64
import posixpath
import re
from pathlib import Path

from website import notebooks, reference

ROOT = Path(__file__).parent.parent

ELSEWHERE = {
    "CHANGELOG.md": "project/changelog.md",
    "VERSIONS.md": "project/versions.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "proofs/README.md": "project/proofs.md",
    "examples/publish_a_table.ipynb": "notebooks/publish_a_table.md",
    "examples/from_attack_to_bound.ipynb": "notebooks/from_attack_to_bound.md",
    "docs/README.md": "index.md",
    "docs/theorems/README.md": "theorems/index.md",
}
"""Files outside docs/ or under other names there, and the pages made of them."""

LANGUAGES = {".py": "python", ".cpp": "cpp", ".hpp": "cpp", ".v": "coq", ".txt": "text", ".csv": "text"}
"""A link to a file with one of these endings leads to a page that shows the file."""

PICTURE = re.compile(r'<picture>\s*<source [^>]*srcset="([^"]+)">\s*<img alt="([^"]+)" src="([^"]+)">\s*</picture>')
"""A picture for dark and for light pages."""

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def lay_out(folder: Path) -> None:
    """Write every page as Markdown to this folder. Unchanged pages keep their files, so Sphinx skips them."""
    pages = {page_of(origin): text for origin, text in originals().items()} | reference.pages()
    for source in sorted(linked_sources()):
        pages[page_of(source)] = show_source(source)
    for page, below in FOLDERS.items():
        pages[page] += contents_of(below, page, pages)
    pages["index.md"] += contents(pages)
    for stale in set(folder.rglob("*.md")) - {folder / page for page in pages}:
        stale.unlink()
    for page, text in pages.items():
        path = folder / page
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def originals() -> dict[str, str]:
    """Read the repository's documents, by path, as Markdown whose links lead to pages."""
    paths = {*(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")), *ELSEWHERE}
    return {path: turn_links(path, read(path)) for path in sorted(paths)}


def read(path: str) -> str:
    text = (ROOT / path).read_text()
    if path.endswith(".ipynb"):
        return notebooks.markdown(text)
    return PICTURE.sub(lambda match: show_picture((ROOT / path).parent, *match.groups()), text)


def show_picture(folder: Path, dark: str, said: str, light: str) -> str:
    """Put the pictures into the page. The site's own switch shows one of them, whatever the system prefers."""
    shown = []
    for theme, name in (("light", light), ("dark", dark)):
        data = base64.b64encode((folder / name).read_bytes()).decode()
        shown.append(f'<img class="only-{theme}" alt="{said}" src="data:image/svg+xml;base64,{data}">')
    return "\n".join(shown)


def page_of(origin: str) -> str:
    """Return the path of the page of a file of the repository."""
    if origin in ELSEWHERE:
        return ELSEWHERE[origin]
    return f"source/{origin}.md" if Path(origin).suffix in LANGUAGES else origin.removeprefix("docs/")


def turn_links(origin: str, text: str) -> str:
    here = posixpath.dirname(page_of(origin)) or "."

    def turned(match: re.Match[str]) -> str:
        to = target_of(origin, match[2])
        return match[0] if to is None else f"[{match[1]}]({posixpath.relpath(page_of(to), here)}{match[3] or ''})"

    return LINK.sub(turned, text)


def target_of(origin: str, target: str) -> str | None:
    """Find the file of the repository that a link leads to; None for links to other sites and to pages."""
    if re.match(r"[a-z]+:", target):
        return None
    to = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
    if to.split("/")[0] == "undisclosed":
        raise ValueError(f"{origin} links to {to}: findings that maintainers have not been told of are not on the site")
    return to if (ROOT / to).is_file() else None


def linked_sources() -> set[str]:
    paths = [*(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")), *ELSEWHERE]
    links = ((path, match[2]) for path in paths for match in LINK.finditer(read(path)))
    return {to for to in (target_of(*link) for link in links) if to is not None and Path(to).suffix in LANGUAGES}


def show_source(origin: str) -> str:
    language = LANGUAGES[Path(origin).suffix]
    return (
        f"---\norphan: true\nnosearch: true\n---\n# `{origin}`\n\n`````{language}\n{(ROOT / origin).read_text()}`````\n"
    )


def contents(pages: dict[str, str]) -> str:
    """Write the tables of contents for Sphinx's navigation. A folder stands for all its other pages."""
    named = {entry.rpartition("<")[2].rstrip(">") for listed in CONTENTS.values() for entry in listed}
    lists = []
    for caption, listed in CONTENTS.items():
        lines: list[str] = []
        for entry in listed:
            inside = sorted(page for page in pages if page.startswith(entry) and page not in named)
            lines += inside if entry.endswith("/") else [entry]
        lists.append("\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *lines, "```"]))
    return "\n\n" + "\n\n".join(lists) + "\n"


def contents_of(folder: str, page: str, pages: dict[str, str]) -> str:
    """Write the table of contents of a folder for the page above it, so that only its readers see their names."""
    here = posixpath.dirname(page) or "."
    entries = [posixpath.relpath(other, here) for other in sorted(pages) if other.startswith(folder) and other != page]
    return "\n".join(["", "```{toctree}", ":hidden:", "", *entries, "```"]) + "\n"


CONTENTS = {
    "Analysts": [
        "Installing <installing.md>",
        "Tutorial <tutorial.md>",
        "Notebook: from a table to publication <notebooks/publish_a_table.md>",
        "When not to use soundsum <when-not.md>",
        "Several statistics at once <requests.md>",
        "Private training <gradients.md>",
        "Databases and clusters <engines/README.md>",
    ],
    "Owners": [
        "Owning the data <owners.md>",
        "A server for analysts <server.md>",
        "The budget <budget.md>",
        "Sums across days and machines <partials.md>",
        "Threat model <threat-model.md>",
    ],
    "Maintainers": [
        "Checking your own sums <maintainers.md>",
        "The auditor <auditor.md>",
        "Adapters <adapters.md>",
        "Disclosure <disclosure.md>",
        "What audits found <audits.md>",
        "Comparison of libraries <comparison.md>",
    ],
    "Researchers": [
        "The paper and beyond <researchers.md>",
        "Notebook: from an attack to a bound <notebooks/from_attack_to_bound.md>",
        "Attacks <attacks.md>",
        "Theorems <theorems/index.md>",
        "Verification <verification.md>",
        "Proofs in Coq <project/proofs.md>",
    ],
    "Reference": ["reference/"],
    "Project": ["project/"],
}
"""The navigation, with titles. A page missing from its lists is a warning, and so an error."""

FOLDERS = {
    "auditor.md": "auditor/",
    "engines/README.md": "engines/",
    "partials.md": "partials/",
    "researchers.md": "paper/",
    "server.md": "server/",
    "theorems/index.md": "theorems/",
    "verification.md": "verification/",
}
"""Pages with a folder of further pages below them, which the navigation unfolds."""
