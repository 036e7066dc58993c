"""The document of a literate program: Markdown, or one HTML page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from runelift.frontend.load import checked
from runelift.ir.base.errors import CompilerLimitation, RuneliftError, UserError
from runelift.ir.base.files import read_bytes
from runelift.ir.base.source import Source
from runelift.runtime.compilation.diagnostics import as_text
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.tools.literate.blocks import Code, Directive, Text, blocks
from runelift.runtime.tools.literate.directives import Directives, fenced
from runelift.runtime.tools.pages.document import document
from runelift.runtime.tools.pages.highlight import highlighted
from runelift.runtime.tools.pages.markup import Markup, element, joined
from runelift.runtime.tools.pages.pygments_lexer import RuneliftLexer

LANGUAGE = "futhark"
"""The language of code in Markdown, as other tools know it."""
KINDS = {
    **dict.fromkeys(("wav", "flac"), "audio/{}"), "mp3": "audio/mpeg",
    **dict.fromkeys(("ogg", "opus"), "audio/ogg"), **dict.fromkeys(("webm", "mp4"), "video/{}"),
    "svg": "image/svg+xml", "jpg": "image/jpeg", "gif": "image/gif"}
"""Kinds of content by the ends of names; any other file is a PNG."""
WIDTH = 80
"""The columns of messages in the document."""


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a document, the files beside it by their paths, and what went wrong."""

    markdown: str
    files: Mapping[str, bytes]
    errors: Sequence[RuneliftError]


def make(source: Source, device: DeviceInfo | None, folder: str,
         failed: Callable[[RuneliftError], None]) -> Document:
    """Run the directives of a program.  Files get into ``folder``, beside the document.

    UserError if the program itself is wrong.  ``failed`` is called with the error of a directive,
    which stands in the document unless it is raised.
    """
    checked(source)
    directives = Directives(source, device, folder)
    parts, errors = list[str](), list[RuneliftError]()
    for block in blocks(source):
        match block:
            case Text(markdown):
                parts.append(f"{markdown}\n")
            case Code(text):
                parts.append(fenced(text, LANGUAGE))
            case Directive(shown=shown):
                parts += [fenced(shown)] * bool(shown)
                try:
                    parts.append(directives.markdown(block))
                except (UserError, CompilerLimitation) as error:
                    failed(error)
                    errors.append(error)
                    parts.append(f"**Failed:**\n\n{fenced(as_text(error, WIDTH))}")
    return Document("\n".join(parts), directives.files, errors)


def page(made: Document, title: str, folder: Path) -> str:
    """The document as one HTML page, with all pictures and sounds inside.

    A picture that is none of the document's files is looked for in ``folder``.
    """
    parser = MarkdownIt("commonmark", {"html": False, "highlight": _highlighted}).enable("table")
    parser.add_render_rule("image", lambda renderer, tokens, index, *_: _media(
        tokens[index], renderer.renderInlineAsText(tokens[index].children or [], *_[:2]), made,
        folder))
    tokens = parser.parse(made.markdown)
    if tokens and tokens[0].tag == "h1":
        title, tokens = tokens[1].content, tokens[3:]
    return document(title, [Markup(parser.renderer.render(tokens, parser.options, {}))])


def _highlighted(text: str, language: str, _: Any) -> str:
    if language != LANGUAGE:
        return ""
    lines = highlighted(text.rstrip("\n"), RuneliftLexer(stripnl=False, ensurenl=False))
    return element("pre", element("code", joined("\n").join(lines)))


def _media(token: Token, said: str, made: Document, folder: Path) -> str:
    """A picture, a video or a sound, whose content is in the page if it is a file."""
    source = str(token.attrGet("src") or "")
    path = unquote(source)
    end = Path(path).suffix[1:].lower()
    kind = KINDS.get(end, "image/png").format(end)
    content: bytes | bytearray | None = made.files.get(path)
    if content is None and ":" not in path:
        with suppress(UserError):
            content = read_bytes(folder / path)
    if content is not None:
        source = f"data:{kind};base64,{b64encode(content).decode()}"
    wide = {"style": "max-width:100%"}
    match kind.partition("/")[0]:
        case "audio":
            return element("audio", src=source, controls="", aria_label=said)
        case "video":
            return element("video", src=source, controls="", loop="", aria_label=said, **wide)
    return Markup('<img src="{}" alt="{}" style="max-width:100%">').format(source, said)
