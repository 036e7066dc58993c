"""Surface syntax: grammar, parser, syntax trees, and the types of the language.

It imports the IR only.  Entry point: :func:`~runelift.frontend.syntax.parser.parse`.
"""
