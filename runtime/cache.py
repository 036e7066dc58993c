"""The binary cache: compiled OpenCL programs on disk, safe with parallel processes."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import platformdirs


def cache_folder() -> Path:
    """Where compiled programs are kept."""
    return Path(os.environ.get("RUNELIFT_CACHE") or platformdirs.user_cache_dir("runelift"))


def key(*parts: str) -> str:
    """A name for what the parts determine."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def load(name: str) -> bytes | None:
    """The binary kept under ``name``; None if there is none or it is damaged."""
    try:
        data = (cache_folder() / "kernels" / name).read_bytes()
    except OSError:
        return None
    checksum, binary = data[:32], data[32:]
    return binary if hashlib.sha256(binary).digest() == checksum else None


def store(name: str, binary: bytes) -> None:
    """Keep a binary; losing it would only cost time, so a full disk is no error."""
    folder = cache_folder() / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(hashlib.sha256(binary).digest() + binary)
        os.replace(file.name, folder / name)
    except OSError:
        return
