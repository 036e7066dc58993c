"""``python -m runelift``: the command line."""

import sys

from runelift.runtime.tools.commands.start import main

if __name__ == "__main__":
    sys.exit(main())
