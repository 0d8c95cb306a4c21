"""Digests of large data, by all cores.

The data is divided into pieces of a fixed length, whatever the number of cores; the digest is that
of the digests of the pieces. It is SHA-256, which CPUs have instructions for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tilewright.target.cpu import usable_cores

PIECE: Final = 1 << 22
"""Bytes of a piece: hashing one takes milliseconds, and starting a thread much less."""

DIGEST_SIZE: Final = 32


def digest_of(parts: Iterable[bytes | memoryview]) -> bytes:
    """The digest of parts one after another; where they are divided does not matter.

    Args:
        parts: bytes, or one-dimensional views of bytes.
    """
    pieces = list(_pieces(parts))
    threads = min(usable_cores(), len(pieces))
    if threads > 1:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(threads) as pool:
            digests = list(pool.map(_digest, pieces))
    else:
        digests = list(map(_digest, pieces))
    return _digest(digests)


def _pieces(parts: Iterable[bytes | memoryview]) -> Iterator[list[memoryview]]:
    """The data in pieces, each of which consists of parts of parts."""
    piece: list[memoryview] = []
    room = PIECE
    for part in parts:
        rest = memoryview(part)
        while len(rest):
            piece.append(rest[:room])
            room -= len(piece[-1])
            rest = rest[len(piece[-1]) :]
            if not room:
                yield piece
                piece, room = [], PIECE
    if piece:
        yield piece


def _digest(parts: Sequence[bytes | memoryview]) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.digest()
