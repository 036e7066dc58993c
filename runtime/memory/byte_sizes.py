"""Sizes of memory as text: ``30MB`` and ``28.6 MiB``."""

from __future__ import annotations

import re

from runelift.ir.base.errors import UserError

_UNITS = {"B": 1, "": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}
_TEXT = re.compile(r"\s*([0-9]{1,18})(?:\.([0-9]{1,9}))?\s*([A-Za-z]*)\s*")


def parse_bytes(text: str) -> int:
    """The bytes that a text says: a number, and a unit if it is not bytes.

    >>> parse_bytes("30MB"), parse_bytes("1.5 GiB"), parse_bytes("4096")
    (30000000, 1610612736, 4096)
    """
    match = _TEXT.fullmatch(text)
    unit = None if match is None else _UNITS.get(match[3].upper())
    if match is None or unit is None:
        raise UserError(f"'{text:.40}' should be a size of memory, such as 30MB (10^6 bytes), "
                        "30MiB (2^20 bytes) or a number of bytes.")
    digits = match[2] or ""
    found: int = int(match[1] + digits) * unit // 10**len(digits)
    if not 0 < found < 1 << 62:
        raise UserError(f"'{text:.40}' is no size of memory from 1 byte to 4 EiB.")
    return found


def show_bytes(count: int) -> str:
    """A size of memory with three digits or more.

    >>> show_bytes(48), show_bytes(786432), show_bytes(29_991_872)
    ('48 B', '768 KiB', '28.6 MiB')
    """
    if count < 1 << 10:
        return f"{count} B"
    size, unit = float(count), "B"
    for unit in ("KiB", "MiB", "GiB"):  # noqa: B007
        size /= 1 << 10
        if size < 1 << 10:
            break
    return f"{size:,.1f} {unit}" if size < 100 else f"{size:,.0f} {unit}"
