"""``python -m runelift``: the command line."""

import sys

from runelift.runtime.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
