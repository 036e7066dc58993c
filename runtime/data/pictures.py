"""Pictures: arrays of pixels to and from PNG, and several of them as one moving PNG."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import read_bytes
from runelift.runtime.host.outside_tools import answer

Pixels: TypeAlias = npt.NDArray[np.uint8]
"""Rows of grey pixels, or of pixels of three colours in a further dimension."""
_MAGIC = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""The bytes of a pixel by the type of colour."""
_PALETTE = 3


class _Header(NamedTuple):
    """The first chunk of a PNG."""

    width: int
    height: int
    depth: int
    colour: int
    interlaced: bool

    @classmethod
    def of(cls, chunk: bytes) -> _Header:
        width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", chunk)
        return cls(width, height, depth, colour, bool(interlaced))


def pixels(values: npt.NDArray[np.generic]) -> Pixels:
    """The pixels that a matrix stands for; UserError if it stands for none.

    Floats from 0 to 1, bytes and truth values are shades from black to white.  Numbers of 32 bits
    are 0xAARRGGBB, whose alpha is not shown.
    """
    if values.ndim != 2 or not values.size:
        raise UserError("A picture is a matrix with at least one pixel; this array has the shape "
                        f"[{']['.join(map(str, values.shape))}].")
    match values.dtype.kind, values.dtype.itemsize:
        case "b", _:
            return values.astype(np.uint8) * np.uint8(255)
        case "u", 1:
            return values.astype(np.uint8)
        case "f", _:
            shades = np.nan_to_num(values.astype(np.float64))
            return np.rint(np.clip(shades, 0, 1) * 255).astype(np.uint8)
        case "i" | "u", 4:
            parts = np.ascontiguousarray(values).view(np.uint32)[..., None] >> np.array(
                [16, 8, 0], np.uint32)
            return (parts & 255).astype(np.uint8)
    raise UserError("A picture has elements of type u32, i32, u8, f16, f32, f64 or bool, not "
                    f"{values.dtype}.")


def png(frames: Iterable[Pixels], fps: int = 1, *, repeat: bool = True) -> bytes:
    """The bytes of a PNG, which moves if there are several frames; all have one size."""
    packed = [(frame.shape, _packed(frame)) for frame in frames]
    if len({shape for shape, _ in packed}) != 1:
        raise UserError("There are no frames." if not packed else
                        "The frames have different sizes.")
    shape = packed[0][0]
    height, width = shape[:2]
    chunks = [_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2 * (len(shape) == 3),
                                          0, 0, 0))]
    moves = len(packed) > 1
    if moves:
        chunks.append(_chunk(b"acTL", struct.pack(">II", len(packed), 0 if repeat else 1)))
    for number, (_, content) in enumerate(packed):
        if moves:
            chunks.append(_chunk(b"fcTL", struct.pack(
                ">IIIIIHHBB", max(0, 2 * number - 1), width, height, 0, 0, 1, fps, 0, 0)))
        chunks.append(_chunk(b"IDAT", content) if not number else
                      _chunk(b"fdAT", struct.pack(">I", 2 * number) + content))
    return b"".join([_MAGIC, *chunks, _chunk(b"IEND", b"")])


def _packed(frame: Pixels) -> bytes:
    rows = frame.reshape(len(frame), -1)
    return zlib.compress(np.pad(rows, ((0, 0), (1, 0))).tobytes(), 6)


def _chunk(name: bytes, content: bytes) -> bytes:
    return (len(content).to_bytes(4, "big") + name + content
            + zlib.crc32(name + content).to_bytes(4, "big"))


def read_picture(path: Path) -> npt.NDArray[np.uint32]:
    """The pixels of a file as 0xAARRGGBB; UserError if it is no picture.

    Plain PNGs are read here, other files by ffmpeg.
    """
    content = bytes(read_bytes(path))
    try:
        if (found := _read(content)) is None:
            found = _read(answer(
                "ffmpeg", "-loglevel", "error", "-i", "pipe:", "-frames:v", "1", "-f",
                "image2pipe", "-c:v", "png", "-pix_fmt", "rgba", "pipe:", given=content,
                need=f"'{path}' is not a PNG of 8 bits a colour: it"))
    except (struct.error, zlib.error, ValueError, LookupError):
        found = None
    if found is None:
        raise UserError(f"'{path}' is damaged: it is no picture.")
    return found


def _read(content: bytes) -> npt.NDArray[np.uint32] | None:
    """The pixels of a plain PNG; None if it is something else."""
    if not content.startswith(_MAGIC):
        return None
    parts = dict[bytes, bytes]()
    for name, part in _chunks(content):
        parts[name] = parts.get(name, b"") + part
    header = _Header.of(parts[b"IHDR"])
    if header.depth != 8 or header.interlaced:
        return None
    lines = _unfiltered(zlib.decompress(parts[b"IDAT"]), header)
    samples = lines.reshape(header.height, header.width, -1)
    if header.colour == _PALETTE:
        table = np.full((256, 4), 255, np.uint8)
        colours = np.frombuffer(parts[b"PLTE"], np.uint8).reshape(-1, 3)
        table[:len(colours), :3] = colours
        alpha = np.frombuffer(parts.get(b"tRNS", b""), np.uint8)
        table[:len(alpha), 3] = alpha
        samples = table[samples[..., 0]]
    wide = samples.astype(np.uint32)
    colours_of = wide[..., :3] if wide.shape[2] > 2 else wide[..., [0, 0, 0]]
    opacity = wide[..., -1] if wide.shape[2] in (2, 4) else np.uint32(255)
    red, green, blue = np.moveaxis(colours_of, 2, 0)
    found: npt.NDArray[np.uint32] = opacity << 24 | red << 16 | green << 8 | blue
    return found


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(_MAGIC)
    while place < len(content):
        size = int.from_bytes(content[place:place + 4], "big")
        yield content[place + 4:place + 8], content[place + 8:place + 8 + size]
        place += size + 12


def _unfiltered(content: bytes, header: _Header) -> Pixels:
    """The rows of a PNG, each of which is stored as differences to its neighbours."""
    size = _CHANNELS[header.colour]
    stored = np.frombuffer(content, np.uint8).reshape(header.height, 1 + size * header.width)
    rows = np.zeros((header.height + 1, size * header.width), np.uint8)
    for number, (kind, *row) in enumerate(stored.tolist()):
        above = rows[number]
        match kind:
            case 0:
                rows[number + 1] = row
            case 1:
                steps = np.array(row, np.uint8).reshape(-1, size)
                rows[number + 1] = np.cumsum(steps, 0, np.uint8).reshape(-1)
            case 2:
                rows[number + 1] = np.array(row, np.uint8) + above
            case _:
                rows[number + 1] = _predicted(row, above.tolist(), size, paeth=kind == 4)
    return rows[1:]


def _predicted(row: Sequence[int], above: Sequence[int], size: int, *, paeth: bool) -> list[int]:
    """A row whose bytes are differences to a mean, or to the nearest of three neighbours."""
    found = [0] * size
    corners = [0] * size + list(above)
    for step, up, corner in zip(row, above, corners, strict=False):
        left = found[-size]
        guess = (left + up) // 2
        if paeth:
            guess = min((left, up, corner), key=lambda each: abs(left + up - corner - each))
        found.append((step + guess) & 255)
    return found[size:]
