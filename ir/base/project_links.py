"""The one address of the project, from ``pyproject.toml``, and commands that need it.

Messages, machine-readable output and the site show the address if there is one.
"""

from __future__ import annotations

from importlib import import_module

NAME = "Repository"
"""The entry of ``[project.urls]`` with the address of the repository."""


def repository() -> str | None:
    """The address of the repository; None if the package names none, or is not installed.

    >>> repository()
    """
    metadata = import_module("importlib.metadata")  # late: start-up
    try:
        links: list[str] = metadata.metadata("runelift").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return None
    return dict(each.split(", ", 1) for each in links).get(NAME)


def install(extra: str) -> str:
    """The command that installs an extra; without an address, in the folder of the sources.

    >>> install("lsp")
    'pip install ".[lsp]"'
    """
    address = repository()
    return f'pip install ".[{extra}]"' if address is None else (
        f'pip install "runelift[{extra}] @ git+{address}"')
