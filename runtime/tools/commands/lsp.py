"""Help an editor as you type: the server of the language server protocol.

Editors start it and talk to it on standard input and output.  It reports mistakes, shows types
with sizes and code versions, goes to definitions, renames, formats, and runs expressions in
comments, '-- >>> expression'.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from runelift.ir.base.errors import UserError
from runelift.ir.base.project_links import install

EXAMPLES = ("runelift lsp", "runelift lsp --stdio")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift lsp``."""
    parser.add_argument("--stdio", action="store_true",
                        help="use standard input and output, as is always done; some editors give "
                             "this option")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift lsp``."""
    try:
        server = import_module("runelift.runtime.tools.editors.server")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "cattrs", "attrs"):
            raise
        raise UserError(f"The package '{error.name}' is not installed: {install('lsp')}") from None
    if sys.stdin.isatty():
        print("This waits for an editor, which should start it by itself (docs/editors.md).  "
              "Ctrl-C ends it.", file=sys.stderr)
    server.serve()
    return 0
