"""Literate programs: comments are text, directives among them show values (docs/literate.md)."""
