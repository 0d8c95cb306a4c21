"""Messages over a socket: four bytes of length, then the content."""

from __future__ import annotations

import json
import select
import socket
import struct
import time
from typing import Any, Final

_LENGTH: Final = struct.Struct("!I")

LONGEST: Final = 1 << 30
"""Bytes; a longer message is rubbish."""


class ClosedError(Exception):
    """The other side has closed its end, or has sent rubbish."""


class LateError(Exception):
    """The deadline is over."""


def send(connection: socket.socket, content: bytes) -> None:
    """Send a message.

    Raises:
        ClosedError: if nobody is there to receive it.
    """
    try:
        connection.sendall(_LENGTH.pack(len(content)) + content)
    except OSError as error:
        raise ClosedError(str(error)) from None


def receive(connection: socket.socket, deadline: float | None = None) -> bytes:
    """The next message.

    Args:
        connection: where it comes from.
        deadline: until when to wait, by `time.monotonic`; None for ever.

    Raises:
        ClosedError: if none will come.
        LateError: if none has come in time.
    """
    (length,) = _LENGTH.unpack(_receive_exactly(connection, _LENGTH.size, deadline))
    if length > LONGEST:
        raise ClosedError(f"a message of {length} bytes")
    return _receive_exactly(connection, length, deadline)


def _receive_exactly(connection: socket.socket, count: int, deadline: float | None) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        if deadline is not None:
            remaining = deadline - time.monotonic()
            if not select.select([connection], [], [], max(remaining, 0))[0]:
                raise LateError
        try:
            part = connection.recv(min(count - len(parts), 1 << 20))
        except OSError as error:
            raise ClosedError(str(error)) from None
        if not part:
            raise ClosedError("the end")
        parts += part
    return bytes(parts)


def send_json(connection: socket.socket, message: Any) -> None:
    """Send a message in JSON."""
    send(connection, json.dumps(message).encode())


def receive_json(connection: socket.socket, deadline: float | None = None) -> Any:
    """The next message, which is in JSON."""
    try:
        return json.loads(receive(connection, deadline))
    except ValueError:  # text in a wrong encoding is one, too
        raise ClosedError("the message is not JSON") from None
