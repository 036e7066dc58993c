"""Messages between a process and its worker: pickled objects, large arrays beside them."""

from __future__ import annotations

import pickle
from multiprocessing.connection import Connection
from typing import Any

from runelift.runtime.snapshot import dumps


def send(connection: Connection, message: Any) -> None:
    """Send an object; arrays go as they are, without a copy."""
    buffers: list[pickle.PickleBuffer] = []
    text = dumps(message, buffers.append)
    connection.send_bytes(len(buffers).to_bytes(8, "little") + text)
    for buffer in buffers:
        connection.send_bytes(buffer.raw())


def receive(connection: Connection) -> Any:
    """The next object; EOFError if there will be none."""
    text = connection.recv_bytes()
    count = int.from_bytes(text[:8], "little")
    buffers = [bytearray(connection.recv_bytes()) for _ in range(count)]
    return pickle.loads(memoryview(text)[8:], buffers=buffers)
