"""``python -m runelift``: the command line."""

from runelift.runtime.cli import command_line

if __name__ == "__main__":
    command_line()
