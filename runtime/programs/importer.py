"""Programs as modules of Python: ``import matmul`` finds ``matmul.fut``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

from runelift.runtime.programs.compile import compile, entries_are_names


class _Programs(MetaPathFinder, Loader):
    """A finder of ``.fut`` files on Python's path, behind all other finders."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
                  ) -> ModuleSpec | None:
        name = fullname.rpartition(".")[2]
        for folder in sys.path if path is None else path:
            file = Path(folder or ".") / f"{name}.fut"
            if file.is_file():
                return spec_from_file_location(fullname, file, loader=self)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Compile the program; its entry points are the functions of the module."""
        assert module.__spec__ is not None
        with entries_are_names():
            program = compile(Path(str(module.__spec__.origin)))
        module.program = program  # type: ignore[attr-defined]
        module.__dict__.update((name, program[name]) for name in program.entries)
        module.__all__ = [*program.entries]  # type: ignore[attr-defined]


_finder = _Programs()


def import_programs() -> None:
    """Let ``import NAME`` find ``NAME.fut`` where Python looks for modules.

    The entry points are functions of the module, and ``NAME.program`` is the program.
    ``runelift stubs NAME.fut`` tells type checkers about it.
    """
    if _finder not in sys.meta_path:
        sys.meta_path.append(_finder)
