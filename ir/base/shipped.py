"""Files that come with the compiler, which any program may import: ``import "std/sort"``."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "frontend" / "std"


def shipped_names() -> list[str]:
    """The shipped files, named as programs import them."""
    return [f"std/{path.stem}" for path in sorted(FOLDER.glob("*.fut"))]


def imported(importer: Path, path: str) -> Path:
    """The file that ``import "path"`` means in the file ``importer``.

    A program's own file goes first, so that a file which is shipped later never changes a program.
    """
    place = (importer.parent / f"{path}.fut").resolve()
    shipped = FOLDER / f"{path.removeprefix('std/')}.fut"
    if path in shipped_names() and not place.is_file():
        return shipped
    return place


def is_shipped(place: Path) -> bool:
    """True if a file is a shipped one."""
    return place.parent == FOLDER
