"""Pictures: PNGs of all filters and kinds of colours, and matrices as pixels."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from runelift.ir.base.errors import UserError
from runelift.runtime.data.pictures import pixels, png, read_picture

DRAWN = np.random.default_rng(1)


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(
        ">I", zlib.crc32(name + content))


def filtered(rows: np.ndarray, size: int, kind: int) -> bytes:
    """Rows of bytes with a filter, by its definition, byte by byte."""
    out = bytearray()
    for y, row in enumerate(rows.tolist()):
        out.append(kind)
        for x, value in enumerate(row):
            left = row[x - size] if x >= size else 0
            up = int(rows[y - 1][x]) if y else 0
            corner = int(rows[y - 1][x - size]) if y and x >= size else 0
            guess = left + up - corner
            nearest = sorted((abs(guess - each), rank, each)
                             for rank, each in enumerate((left, up, corner)))[0][2]
            out.append((value - (0, left, up, (left + up) // 2, nearest)[kind]) % 256)
    return bytes(out)


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize(("colour", "size"), [(0, 1), (2, 3), (4, 2), (6, 4)])
def test_filters(kind: int, colour: int, size: int, tmp_path: Path) -> None:
    drawn = DRAWN.integers(0, 256, (5, 7, size), np.uint8)
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
        ">IIBBBBB", 7, 5, 8, colour, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(filtered(
            drawn.reshape(5, -1), size, kind))) + chunk(b"IEND", b""))
    wide = drawn.astype(np.uint32)
    red, green, blue = (wide[..., each if size > 2 else 0] for each in range(3))
    alpha = wide[..., -1] if size in (2, 4) else 255
    assert (read_picture(path) == (alpha * 2**24 + red * 2**16 + green * 2**8 + blue)).all()


def test_palettes(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
        ">IIBBBBB", 2, 1, 8, 3, 0, 0, 0)) + chunk(b"PLTE", bytes([1, 2, 3, 4, 5, 6]))
        + chunk(b"tRNS", bytes([9])) + chunk(b"IDAT", zlib.compress(b"\0\1\0")))
    assert read_picture(path).tolist() == [[0xFF040506, 0x09010203]]


@pytest.mark.parametrize(("values", "wanted"), [
    (np.array([[0x12345678]], np.uint32), 0x345678), (np.array([[-1]], np.int32), 0xFFFFFF),
    (np.array([[True]]), 0xFFFFFF), (np.array([[0.5]]), 0x808080),
    (np.array([[np.nan]], np.float32), 0), (np.array([[7.0]], np.float16), 0xFFFFFF),
    (np.array([[3]], np.uint8), 0x030303)])
def test_pixels(values: np.ndarray, wanted: int, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(png([pixels(values)]))
    assert read_picture(path).tolist() == [[0xFF000000 + wanted]]


def test_frames() -> None:
    frames = [pixels(np.full((2, 3), number, np.uint8)) for number in range(3)]
    content, place, found = png(frames, 25), 8, []
    while place < len(content):
        size = int.from_bytes(content[place:place + 4], "big")
        name, body = content[place + 4:place + 8], content[place + 8:place + 8 + size]
        assert zlib.crc32(name + body) == int.from_bytes(content[place + 8 + size:][:4], "big")
        found.append((name, body))
        place += 12 + size
    assert [name for name, _ in found] == [b"IHDR", b"acTL", b"fcTL", b"IDAT", b"fcTL", b"fdAT",
                                           b"fcTL", b"fdAT", b"IEND"]
    numbers = [int.from_bytes(body[:4], "big") for name, body in found if name in (
        b"fcTL", b"fdAT")]
    assert numbers == [0, 1, 2, 3, 4]
    assert zlib.decompress(found[-2][1][4:]) == bytes([0, 2, 2, 2] * 2)


@pytest.mark.parametrize("damage", [
    b"", b"\x89PNG\r\n\x1a\n", png([np.zeros((2, 2), np.uint8)])[:50]])
def test_damaged_pictures(damage: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    path = tmp_path / "a.png"
    path.write_bytes(damage)
    with pytest.raises(UserError, match=r"a\.png"):
        read_picture(path)
