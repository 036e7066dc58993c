"""The language server: the protocol of editors (LSP) on one side, our answers on the other.

One thread checks texts, a moment after the last change.  Answers come from what the last check
found, so they do not wait.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, TypeVar, cast

from lsprotocol import types as lsp
from pygls import uris
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from runelift import __version__
from runelift.ir.base.errors import Diagnostic, UserError
from runelift.ir.base.source import Source, Span
from runelift.runtime.tools.editors import answers, renaming, structure
from runelift.runtime.tools.editors.analysis import Analysis, check, listen_to_warnings, read
from runelift.runtime.tools.editors.documents import Document, path_of
from runelift.runtime.tools.editors.evaluation import evaluations, result_lines
from runelift.runtime.tools.editors.signatures import signature_at
from runelift.runtime.tools.editors.workspace import Workspace

TYPING = 0.03
"""Seconds without a change after which a text is checked."""
RESTING = 0.8
"""Seconds after a check until the code versions of a right program are computed."""
SWITCH = 0.001
"""Seconds after which a check makes way for a question; both need Python's lock."""
EVALUATE = "runelift.evaluate"
"""The command that runs an expression of a comment: a URI and a line."""

MOST_HEAD = 4096
"""The most bytes of a line of a message's head."""
MOST_MESSAGE = 256 << 20
"""The most bytes of a message."""

T = TypeVar("T")
_At: TypeAlias = (lsp.HoverParams | lsp.DefinitionParams | lsp.ReferenceParams | lsp.RenameParams
                  | lsp.CompletionParams | lsp.SignatureHelpParams | lsp.PrepareRenameParams)
_KINDS = {"declaration": lsp.SymbolKind.Function, "type": lsp.SymbolKind.Struct,
          "module": lsp.SymbolKind.Module, "module type": lsp.SymbolKind.Interface}
_ITEMS = {"keyword": lsp.CompletionItemKind.Keyword, "type": lsp.CompletionItemKind.Struct,
          "module": lsp.CompletionItemKind.Module, "module type": lsp.CompletionItemKind.Interface,
          "prelude": lsp.CompletionItemKind.Function, "function": lsp.CompletionItemKind.Function,
          "declaration": lsp.CompletionItemKind.Function,
          "size": lsp.CompletionItemKind.Constant}


class RuneliftServer(LanguageServer):
    """The server with the documents that are open."""

    def __init__(self) -> None:
        super().__init__("runelift", __version__)
        self.files = Workspace()
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._worker = ThreadPoolExecutor(1, "check")

    # Texts

    def changed(self, uri: str) -> None:
        """Take the new text of a document, and check it in a moment."""
        source = self._source(uri)
        if uri in self.files.documents:
            self.files.documents[uri].source = source
        else:
            self.files.documents[uri] = Document(source)
        if (running := self._checks.get(uri)) is not None:
            running.cancel()
        self._checks[uri] = asyncio.get_running_loop().create_task(self._check(uri, source))

    def closed(self, uri: str) -> None:
        """Forget the document of a closed file."""
        if (running := self._checks.pop(uri, None)) is not None:
            running.cancel()
        self.files.documents.pop(uri, None)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    async def _check(self, uri: str, source: Source) -> None:
        document = self.files.documents[uri]
        if document.checked is not None:
            await asyncio.sleep(TYPING)
        parsed = document.parsed
        if parsed is None or parsed.source is not source:
            parsed = await self.work(read, source, parsed)
            document.take(parsed)  # questions need not parse it again
        found = await self.work(check, parsed, document.memory)
        document.take(found)
        self._publish(uri, found)
        self._refresh()
        await asyncio.sleep(RESTING)
        if document.good is found:
            document.versions = await self.work(_versions, source)
        await self.work(gc.collect)  # in a pause of typing

    async def work(self, function: Callable[..., T], *arguments: Any) -> T:
        """The result of a function that the working thread calls."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, function, *arguments)

    def _refresh(self) -> None:
        """Have the editor ask for types at names anew, if it can."""
        workspace = self.client_capabilities.workspace
        if workspace and workspace.inlay_hint and workspace.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)

    def _publish(self, uri: str, found: Analysis) -> None:
        own = [each for each in found.diagnostics if each.span.source is found.source]
        other = [each for each in found.diagnostics if each.span.source is not found.source]
        shown = [self.diagnostic(each) for each in own]
        shown += [self.diagnostic(each, Span(found.source, 0, 0), f"{each.span}: ")
                  for each in other]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, shown))

    def diagnostic(self, found: Diagnostic, span: Span | None = None, before: str = ""
                   ) -> lsp.Diagnostic:
        """An error or a warning as editors show it, perhaps at another place."""
        span = span or found.span
        message = "\n".join([before + found.message, *(f"hint: {hint}" for hint in found.hints)])
        severity = (lsp.DiagnosticSeverity.Error if found.severity == "error"
                    else lsp.DiagnosticSeverity.Warning)
        related = [lsp.DiagnosticRelatedInformation(self.location(label.span), label.text)
                   for label in found.labels]
        return lsp.Diagnostic(self.range(span), message, severity=severity, code=found.code,
                              source="runelift", related_information=related)

    # Places

    def document(self, uri: str) -> Document:
        """An open document, or one that is read for this answer."""
        path = uris.to_fs_path(uri)
        return (self.files.documents.get(uri)
                or (self.files.at(Path(path).resolve()) if path else None)
                or Document(self._source(uri)))

    def look_at_folders(self) -> None:
        """Take the folders that the editor shows now."""
        given = [each.uri for each in self.workspace.folders.values()]
        if not given and self.workspace.root_uri is not None:
            given = [self.workspace.root_uri]
        self.files.folders = [Path(path) for each in given if (path := uris.to_fs_path(each))]

    def _source(self, uri: str) -> Source:
        return Source(uris.to_fs_path(uri) or uri, self.workspace.get_text_document(uri).source)

    def offset(self, at: _At) -> int:
        """The place of a position in the text of its document."""
        return self.workspace.get_text_document(at.text_document.uri).offset_at_position(
            at.position)

    def position(self, source: Source, place: int) -> lsp.Position:
        """The position of a place of a text, in the editor's units."""
        line = source.line(place) - 1
        start = source.text.rfind("\n", 0, place) + 1
        units = self.workspace.position_codec.client_num_units(source.text[start:place])
        return lsp.Position(line, units)

    def range(self, span: Span) -> lsp.Range:
        """The range of a span."""
        return lsp.Range(self.position(span.source, span.start),
                         self.position(span.source, span.end))

    def location(self, span: Span) -> lsp.Location:
        """The file and range of a span."""
        return lsp.Location(self.uri(path_of(span.source)), self.range(span))

    def uri(self, path: Path) -> str:
        """The URI of a file: that of the open document if there is one."""
        return next((uri for uri, each in self.files.documents.items() if each.path == path),
                    None) or uris.from_fs_path(str(path)) or str(path)

    def edits(self, source: Source, edits: Sequence[answers.Edit]) -> list[lsp.TextEdit]:
        """Edits of a text, in the editor's units."""
        return [lsp.TextEdit(self.range(Span(source, each.start, each.end)), each.text)
                for each in edits]

    def encoded(self, text: str, tokens: Iterable[structure.Token]) -> list[int]:
        """Five numbers for each token: its place after the last token, length, class and bits."""
        units = self.workspace.position_codec.client_num_units
        found, begin, column = list[int](), 0, 0
        for each in tokens:
            word = text[each.start:each.end]
            if "\n" in word:  # editors take no token of several lines
                continue
            lines = text.count("\n", begin, each.start)
            if lines:
                begin, column = text.rfind("\n", 0, each.start) + 1, 0
            here = units(text[begin:each.start])
            found += (lines, here - column, units(word), structure.CLASSES.index(each.name),
                      each.bits)
            column = here
        return found


def _versions(source: Source) -> Any:
    """The code versions of a text, by modules that no other answer needs."""
    return import_module("runelift.runtime.tools.editors.code_versions").code_versions(source)


def _markdown(text: str) -> lsp.MarkupContent:
    return lsp.MarkupContent(lsp.MarkupKind.Markdown, text)


def make_server() -> RuneliftServer:
    """A server that has not begun to read."""
    server = RuneliftServer()

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def _open(params: lsp.DidOpenTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def _change(params: lsp.DidChangeTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def _close(params: lsp.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def _hover(params: lsp.HoverParams) -> lsp.Hover | None:
        document = server.document(params.text_document.uri)
        found = answers.hover(server.files, document, server.offset(params))
        if found is None:
            return None
        place = server.range(Span(document.source, found.start, found.end))
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, found.text), place)

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def _definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        document = server.document(params.text_document.uri)
        found = answers.definition(server.files, document, server.offset(params))
        return None if found is None else server.location(found)

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def _references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        document = server.document(params.text_document.uri)
        server.look_at_folders()
        return [server.location(each.span)
                for each in renaming.references(server.files, document, server.offset(params))
                if params.context.include_declaration or each.span != each.definition.span]

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def _prepare(params: lsp.PrepareRenameParams) -> lsp.Range:
        document = server.document(params.text_document.uri)
        try:
            found = renaming.renamed(server.files, document, server.offset(params))
        except UserError as error:
            raise JsonRpcInvalidParams(str(error)) from None
        return server.range(found.span)

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def _rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        document = server.document(params.text_document.uri)
        server.look_at_folders()
        try:
            found = renaming.rename(server.files, document, server.offset(params), params.new_name)
        except UserError as error:
            raise JsonRpcInvalidParams(str(error)) from None
        return lsp.WorkspaceEdit({
            server.uri(path): server.edits(changed.source, edits)
            for path, edits in found.items()
            if (changed := server.files.at(path)) is not None})

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def _symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        document = server.document(params.text_document.uri)
        return [lsp.DocumentSymbol(each.name, _KINDS.get(each.kind, lsp.SymbolKind.Variable),
                                   server.range(each.whole.to(each.span)), server.range(each.span))
                for each in answers.symbols(server.files, document)]

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def _formatting(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        document = server.document(params.text_document.uri)
        return server.edits(document.source, answers.formatting(document))

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(
        code_action_kinds=[lsp.CodeActionKind.QuickFix]))
    def _actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        document = server.document(uri)
        text = server.workspace.get_text_document(uri)
        start, end = map(text.offset_at_position, (params.range.start, params.range.end))
        return [lsp.CodeAction(
            hint, lsp.CodeActionKind.QuickFix, [server.diagnostic(each)],
            edit=lsp.WorkspaceEdit({uri: server.edits(document.source, [edit])}))
            for each, hint, edit in answers.fixes(document, start, end)]

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    def _hints(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        document = server.document(params.text_document.uri)
        found = ((server.position(document.source, place), text)
                 for place, text in answers.hints(document))
        return [lsp.InlayHint(at, text, kind=lsp.InlayHintKind.Type) for at, text in found
                if params.range.start.line <= at.line <= params.range.end.line]

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["."]))
    def _completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        document = server.document(params.text_document.uri)
        return [lsp.CompletionItem(each.name, kind=_ITEMS.get(
                    each.kind, lsp.CompletionItemKind.Variable), detail=each.detail or each.kind,
                    documentation=_markdown(each.comment) if each.comment else None)
                for each in answers.completions(server.files, document, server.offset(params))]

    @server.feature(lsp.TEXT_DOCUMENT_SIGNATURE_HELP,
                    lsp.SignatureHelpOptions(trigger_characters=[" ", "("]))
    def _signature(params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
        document = server.document(params.text_document.uri)
        found = signature_at(server.files, document, server.offset(params))
        if found is None:
            return None
        return lsp.SignatureHelp([lsp.SignatureInformation(
            found.label, _markdown(found.comment) if found.comment else None,
            [lsp.ParameterInformation(each) for each in found.parameters])],
            active_signature=0, active_parameter=found.argument)

    @server.feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
    def _folds(params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
        source = server.document(params.text_document.uri).source
        return [lsp.FoldingRange(each.first, each.last, kind=each.kind or None)
                for each in structure.folds(source.text)]

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, lsp.SemanticTokensLegend(
        structure.CLASSES, ["declaration", "defaultLibrary"]))
    def _tokens(params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
        document = server.document(params.text_document.uri)
        return lsp.SemanticTokens(server.encoded(
            document.source.text, structure.tokens(server.files, document)))

    @server.feature(lsp.TEXT_DOCUMENT_CODE_LENS)
    def _lenses(params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        uri = params.text_document.uri
        return [lsp.CodeLens(
            lsp.Range(lsp.Position(each.line, 0), lsp.Position(each.line, 0)),
            lsp.Command(f"Run {each.text:.40}", EVALUATE, arguments=[uri, each.line]))
            for each in evaluations(server.document(uri).source.text)]

    @server.command(EVALUATE)
    async def _evaluate(uri: str, line: int) -> None:
        document = server.document(uri)
        source = document.source
        asked = next((each for each in evaluations(source.text) if each.line == line), None)
        if asked is None:
            return
        text = await asyncio.to_thread(result_lines, source.text, source.name, asked)
        if document.source.text != source.text:
            return  # changed meanwhile: the lines are others now
        edits = server.edits(source, [answers.Edit(asked.result_start, asked.result_end, text)])
        server.workspace_apply_edit(lsp.ApplyWorkspaceEditParams(lsp.WorkspaceEdit({uri: edits})))

    return server


def _is_news(record: logging.LogRecord) -> bool:
    """False for the traceback of a refusal, which the editor shows."""
    return not (record.exc_info and isinstance(record.exc_info[1], JsonRpcInvalidParams))


class _Messages:
    """The messages of the editor; UserError for a message without an end."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readline(self) -> bytes:
        """A line of a message's head."""
        found = self._stream.readline(MOST_HEAD + 1)
        if len(found) > MOST_HEAD:
            raise UserError(f"The editor sent a head of more than {MOST_HEAD} bytes.")
        return found

    def read(self, size: int) -> bytes:
        """The body of a message of this size."""
        if size > MOST_MESSAGE:
            raise UserError(f"The editor announced a message of {size} bytes; at most "
                            f"{MOST_MESSAGE} are read.")
        return self._stream.read(size)


def serve() -> None:
    """Talk to an editor on standard input and output until it says that that is enough."""
    stdout = sys.stdout.buffer
    sys.stdout = sys.stderr  # what is printed by mistake must not come between messages
    listen_to_warnings()
    sys.setswitchinterval(SWITCH)
    gc.freeze()  # modules stay: garbage collections, which answers wait for, need not look at them
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_news)
    make_server().start_io(cast("BinaryIO", _Messages(sys.stdin.buffer)), stdout)
