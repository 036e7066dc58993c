"""The rewrite points, a file each; a docstring begins with the law."""
