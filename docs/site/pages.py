"""Pages of the site that are made from other files, and links that leave the documentation.

Hooks of mkdocs: it calls the functions whose names begin with ``on_``.
"""

from __future__ import annotations

import argparse
import json
import posixpath
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import runelift
from runelift.ir.base.project_links import repository
from runelift.runtime.tools.commands.cli import COMMANDS, make_parser
from runelift.runtime.tools.pages.markup import read

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
COPIES = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md",
          "changelog.md": "CHANGELOG.md"}
"""Pages with the text of a file that lies above the documentation."""
HOME = "---\nhide: [navigation, toc]\n---\n"
"""The head of the home page, which has the whole width for its lines."""
STYLE = """\
:root { --md-primary-fg-color: HEADER; --md-primary-fg-color--dark: HEADER; }
[data-md-color-scheme="default"] { LIGHT }
[data-md-color-scheme="slate"] { DARK }
[data-md-color-scheme] { --md-default-bg-color: var(--paper); --md-default-fg-color: var(--ink);
  --md-default-fg-color--light: var(--soft); --md-typeset-color: var(--ink);
  --md-typeset-a-color: var(--link); --md-accent-fg-color: var(--link);
  --md-code-fg-color: var(--ink); --md-code-bg-color: var(--raised);
  --md-code-hl-color: var(--marked); --md-code-hl-comment-color: var(--soft);
  --md-code-hl-generic-color: var(--soft); --md-code-hl-operator-color: var(--soft);
  --md-code-hl-punctuation-color: var(--soft); --md-code-hl-variable-color: var(--ink);
  --md-code-hl-name-color: var(--ink); --md-code-hl-keyword-color: var(--s3);
  --md-code-hl-string-color: var(--s2); --md-code-hl-number-color: var(--s0);
  --md-code-hl-function-color: var(--s1); --md-code-hl-constant-color: var(--s5);
  --md-code-hl-special-color: var(--s6);
  --md-footer-fg-color--lighter: var(--md-footer-fg-color--light); }
.md-tabs__link, .md-nav__link { opacity: 1; }
.md-typeset .language-text code { white-space: pre-wrap; overflow-wrap: anywhere; }
.md-typeset table:not([class]) th { min-width: 0; }
.md-typeset table:not([class]) td code { word-break: normal; overflow-wrap: anywhere; }
@media print, (max-width: 640px) { .md-typeset pre > code { white-space: pre-wrap;
  overflow-wrap: anywhere; } }
@media print { :root, [data-md-color-scheme] { LIGHT color-scheme: light; }
  [data-md-color-scheme] { --md-typeset-table-color: var(--line); }
  .md-code__nav, .md-clipboard { display: none; } }
"""
"""Colours are those of reports, and light on paper.  Columns are as narrow as their words."""
PAGES = {ROOT / name: page for page, name in COPIES.items()}
LINK = re.compile(
    r"(```.*?```|`[^`\n]*`)|\]\[|\[((?:`[^`]*`|[^\]`])*)\]\(([^)\s#]*)(#[^)\s]*)?\)", re.S)
"""Code, which has no links, or two sizes of a type, which are none, or a link."""
ROLE = re.compile(r":(?:py:)?(?:class|func|meth|mod|attr|data|exc|file):(?=<code>)")
"""Marks of reStructuredText in docstrings."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the address of the project, if it has one, and pages of folders to the navigation."""
    config.repo_url = repository() or ""
    assert config.nav is not None
    for section in config.nav:
        for pages in section.values():
            for page in pages if isinstance(pages, list) else ():
                for title, target in page.items():
                    if target == "design":
                        page[title] = _folder("design")
                    if target == "lessons.md" and list(DOCS.glob("lessons/*.md")):
                        page[title] = [target, *_folder("lessons")]
    return config


def _folder(name: str) -> list[str]:
    """The pages of a folder, its overview first."""
    paths = sorted((DOCS / name).glob("*.md"), key=lambda path: (path.stem != "README", path.stem))
    return [f"{name}/{path.name}" for path in paths]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from other files."""
    made = {page: (ROOT / name).read_text() for page, name in COPIES.items()}
    made["index.md"] = HOME + made["index.md"]
    made |= {"lessons.md": lessons(), "cli.md": command_line(), "api.md": api(),
             "site.css": style()}
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The text of a page, whose links to files that are no pages of the site are plain."""
    uri = page.file.src_uri
    origin = ROOT if uri in COPIES else (DOCS / uri).parent

    def link(match: re.Match[str]) -> str:
        code, text, target, anchor = match.groups()
        if match[0] == "][":
            return r"]\["
        if code or not target or ":" in target:
            return match[0]
        path = (origin / target).resolve()
        if path.is_dir():
            path /= "README.md"
        if path in PAGES:
            there = PAGES[path]
        elif path.is_relative_to(DOCS) and not path.is_relative_to(DOCS / "editors"):
            there = path.relative_to(DOCS).as_posix()
        else:
            return str(text)
        if text.endswith((".md", "/")):
            text = _title(path)
        return f"[{text}]({posixpath.relpath(there, posixpath.dirname(uri))}{anchor or ''})"

    return LINK.sub(link, markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page without marks of reStructuredText."""
    return ROLE.sub("", html) if page.file.src_uri == "api.md" else html


def _title(path: Path) -> str:
    """The title of a page, which says more than the name of its file."""
    return path.read_text().partition("\n")[0].removeprefix("# ")


def style() -> str:
    """The style sheet of the site, with the colours of all pages."""
    light, dark = (" ".join(re.findall(r"--[\w-]+: #\w+;", block)) for block in
                   re.findall(r":root \{(.*?)\}", read("page.css"), re.S))
    (header,) = re.findall(r"--s5: (#\w+);", light)
    return STYLE.replace("LIGHT", light).replace("DARK", dark).replace("HEADER", header)


def lessons() -> str:
    """A page that links the notebooks."""
    lines = ["# Lessons\n\nNotebooks with their outputs.  Open them in Jupyter, and change them.\n"]
    for path in [*sorted(DOCS.glob("lessons/*.ipynb")), *sorted(DOCS.glob("notebooks/*.ipynb"))]:
        cells = json.loads(path.read_text())["cells"]
        text = "".join("".join(cell["source"]) + "\n" for cell in cells
                       if cell["cell_type"] == "markdown")
        title = re.search(r"^# (.*)", text, re.M)
        lines.append(f"- [{title[1] if title else path.stem}]({path.relative_to(DOCS).as_posix()})")
    return "\n".join(lines) + "\n"


def api() -> str:
    """A page about the public names of the package, with their docstrings."""
    parts = ["# Python\n\nThe names of `runelift`; [python.md](python.md) shows their use.\n"]
    for name in sorted(runelift.__all__, key=str.lower):
        parts.append(f"::: runelift.{runelift._HOMES[name]}.{name}\n")
    return "\n".join(parts)


def command_line() -> str:
    """A page about all commands and their options, as their parsers know them."""
    return "# Command line\n\n" + "\n\n".join(
        part for command in (None, *COMMANDS) for part in _command(command)) + "\n"


def _command(name: str | None) -> Iterator[str]:
    """The parts of the page about a command, or about the program itself."""
    parser = make_parser(name)
    if name is not None:
        (commands,) = (each for each in parser._actions
                       if isinstance(each, argparse._SubParsersAction))
        parser = commands.choices[name]
        yield f"## {name}"
    for paragraph in textwrap.dedent(parser.description or "").strip().split("\n\n"):
        indented = paragraph.startswith(" ")
        yield _code(textwrap.dedent(paragraph)) if indented else _plain(paragraph)
    if name is None:
        yield from _table([(f"[{each}](#{each})", _plain(about))
                           for each, about in COMMANDS.items()], "command")
    else:
        yield from _table([(f"`{_invocation(each)}`", _plain(_about(each, parser.prog)))
                           for each in parser._actions if each.dest != "help"], "argument")
    yield from _examples(parser.epilog or "")


def _examples(epilog: str) -> Iterator[str]:
    """The end of a help: what is said there, and the examples."""
    text, _, examples = epilog.partition("examples:\n")
    if text.strip():
        yield _plain(text.strip())
    yield _code(textwrap.dedent(examples))


def _table(rows: list[tuple[str, str]], head: str) -> Iterator[str]:
    """A table of two columns if it has rows."""
    if rows:
        lines = [f"| {head} | |", "|---|---|", *(f"| {left} | {right} |" for left, right in rows)]
        yield "\n".join(lines)


def _invocation(action: argparse.Action) -> str:
    """An argument as it is written on a command line."""
    names: Any = action.metavar or (
        "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper())
    value = names if isinstance(names, str) else " ".join(names)
    if not action.option_strings:
        return value
    return ", ".join(action.option_strings) + (f" {value}" if action.nargs != 0 else "")


def _about(action: argparse.Action, program: str) -> str:
    """The help of an argument in one line."""
    return " ".join(((action.help or "") % {**vars(action), "prog": program}).split())


def _plain(text: str) -> str:
    """Text in which no character is markup."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", text)


def _code(text: str) -> str:
    """A block of command lines."""
    return f"```sh\n{text.strip()}\n```"
