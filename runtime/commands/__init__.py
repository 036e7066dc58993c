"""The sub-commands of the command line, one module each, with the options that they share.

They may import everything.  :mod:`~runelift.runtime.commands.cli` imports a command by its name, so
that others start quickly.
"""
