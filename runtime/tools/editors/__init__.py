"""Help for editors: a highlighter for Pygments, a grammar for TextMate, a language server.

:mod:`runelift.runtime.tools.editors.server` is the server, ``runelift lsp``.  The other modules
answer its questions about a program, and know nothing of its protocol.
"""
