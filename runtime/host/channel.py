"""Messages between a process and its worker: pickled objects, and large arrays after them.

The elements of arrays bypass :class:`~multiprocessing.connection.Connection`, which would copy them
three times.
"""

from __future__ import annotations

import os
import pickle
import struct
from multiprocessing.connection import Connection
from typing import Any

from runelift.runtime.cache.fast_pickle import dumps


def send(connection: Connection, message: Any) -> None:
    """Send an object; arrays are not copied."""
    buffers: list[pickle.PickleBuffer] = []
    text = dumps(message, buffers.append)
    parts = [buffer.raw() for buffer in buffers]
    sizes = struct.pack(f"<{1 + len(parts)}Q", len(parts), *(part.nbytes for part in parts))
    connection.send_bytes(sizes + text)
    for part in parts:
        while part:
            part = part[os.write(connection.fileno(), part):]


def receive(connection: Connection) -> Any:
    """Receive the next object; EOFError at the end."""
    message = memoryview(connection.recv_bytes())
    (count,) = struct.unpack_from("<Q", message)
    sizes = struct.unpack_from(f"<{count}Q", message, 8)
    return pickle.loads(message[8 + 8 * count:],
                        buffers=[_elements(connection, size) for size in sizes])


def _elements(connection: Connection, size: int) -> bytearray:
    """Read ``size`` bytes that follow a message."""
    found = bytearray(size)
    rest = memoryview(found)
    while rest:
        if not (read := os.readv(connection.fileno(), [rest])):
            raise EOFError
        rest = rest[read:]
    return found
