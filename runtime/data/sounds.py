"""Sounds: samples of channels to and from WAV, and by ffmpeg to and from other formats."""

from __future__ import annotations

import io
import struct
import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import read_bytes
from runelift.runtime.host.outside_tools import answer

RATE = 44100
"""The samples of a second, unless something else is said."""
_EXTENSIBLE = 0xFFFE
"""The kind of samples of a WAV file whose extension has the kind proper."""


def wav(channels: npt.NDArray[np.generic], rate: int = RATE) -> bytes:
    """The bytes of a WAV file for the rows of a matrix; UserError for elements of other types.

    Floats lie between -1 and 1; they become integers of 16 bits.
    """
    kind, size = channels.dtype.kind, channels.dtype.itemsize
    if kind == "f":
        scaled = np.clip(np.nan_to_num(channels.astype(np.float64)), -1, 1) * 32767
        samples, size = np.rint(scaled).astype("<i2"), 2
    elif kind in "iu" and size <= 4:
        shift = (0 if kind == "u" else 128) if size == 1 else (
            0 if kind == "i" else -(1 << (8 * size - 1)))
        samples = (channels.astype(np.int64) + shift).astype("u1" if size == 1 else f"<i{size}")
    else:
        raise UserError("A sound has samples of type f16, f32, f64, or of integers of at most "
                        f"32 bits, not {channels.dtype}.")
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(len(channels))
        file.setsampwidth(size)
        file.setframerate(rate)
        file.writeframes(samples.T.tobytes())
    return out.getvalue()


def read_sound(path: Path) -> npt.NDArray[np.float64]:
    """The channels of a file, between -1 and 1; UserError if it is no sound."""
    content = bytes(read_bytes(path))
    try:
        if not content.startswith(b"RIFF"):
            content = answer("ffmpeg", "-loglevel", "error", "-i", "pipe:", "-f", "wav", "-c:a",
                             "pcm_f32le", "pipe:", given=content, need=f"The sound '{path}'")
        return _read(content)
    except (struct.error, ValueError, TypeError, ZeroDivisionError):
        raise UserError(f"'{path}' is damaged: it is no sound.") from None


def _read(content: bytes) -> npt.NDArray[np.float64]:
    """The channels of a WAV file; ValueError if it is none."""
    place, form = 12, b""
    while (name := content[place:place + 4]) != b"data":
        if not name:
            raise ValueError
        size = int.from_bytes(content[place + 4:place + 8], "little")
        if name == b"fmt ":
            form = content[place + 8:place + 8 + size]
        place += 8 + size + size % 2
    size = int.from_bytes(content[place + 4:place + 8], "little")
    kind, channels, _, _, block, bits = struct.unpack_from("<HHIIHH", form)
    if kind == _EXTENSIBLE:
        kind = int.from_bytes(form[24:26], "little")
    data = content[place + 8:place + 8 + size]
    data = data[:len(data) // block * block]
    match kind, bits:  # integers are of the kind 1, floats of the kind 3
        case 1, 8:
            samples = (np.frombuffer(data, np.uint8) - 128.0) / 128
        case 1, 24:
            low = np.frombuffer(data, np.uint8).reshape(-1, 3)
            samples = np.pad(low, ((0, 0), (1, 0))).reshape(-1).view("<i4") / 2.0**31
        case 1, 16 | 32:
            samples = np.frombuffer(data, f"<i{bits // 8}") / 2.0 ** (bits - 1)
        case 3, 32 | 64:
            samples = np.frombuffer(data, f"<f{bits // 8}").astype(np.float64)
        case _:
            raise ValueError
    return np.ascontiguousarray(samples.reshape(-1, channels).T)
