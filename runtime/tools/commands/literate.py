"""Write a document with the comments of a program as text, and with values that it computes.

Comment lines such as '-- > f 3' or '-- > :img picture' are directives: the document has what they
show in their place (docs/literate.md).  Files get into a folder beside the document.  A directive
that fails says so in the document, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from runelift.ir.base.errors import RuneliftError
from runelift.ir.base.files import read_source, require_file
from runelift.ir.base.written_files import replacing, unwritable, write_atomically
from runelift.runtime.compilation.diagnostics import as_text
from runelift.runtime.devices.info import select
from runelift.runtime.tools.commands.options import add_options
from runelift.runtime.tools.commands.progress import waiting
from runelift.runtime.tools.commands.styles import columns, show
from runelift.runtime.tools.literate.document import Document, make, page

EXAMPLES = ("runelift literate prog.fut",
            "runelift literate prog.fut --html prog.html")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift literate``."""
    add_options(parser, "program")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path,
                        help="write to this file (default: the program's with .md)")
    parser.add_argument("--html", metavar="FILE", type=Path,
                        help="also write one HTML file that has all pictures and sounds inside")
    parser.add_argument("--stop-on-error", action="store_true",
                        help="stop at the first directive that fails, and write nothing")
    add_options(parser, "device")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift literate``."""
    source = read_source(require_file(args.program))
    output = args.program.with_suffix(".md") if args.output is None else args.output
    folder = output.with_name(f"{output.stem}-img")

    def failed(error: RuneliftError) -> None:
        if args.stop_on_error:
            raise error
        show(f"runelift: {as_text(error, columns(sys.stderr))}", sys.stderr)

    with waiting(f"computing the values of {args.program.name}"):
        made = make(source, select(args.device), folder.name, failed)
    _write(made, output)
    if args.html is not None:
        write_atomically(args.html, page(made, output.stem, output.parent))
    for each in (output, *[args.html] * (args.html is not None)):
        print(f"Written: {each}")
    return 1 if made.errors else 0


def _write(made: Document, output: Path) -> None:
    for name, content in made.files.items():
        path = output.parent / name
        try:
            path.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise unwritable(path, error) from None
        with replacing(path) as file:
            file.write(content)
    write_atomically(output, made.markdown)
