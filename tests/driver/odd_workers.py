"""Functions for helpers, and processes that do not do what helpers should."""

import os
import time
import warnings

from tilewright.ir.pass_context import PassContext
from tilewright.processes import channel


def tell(item, target):
    """Who works on an item, with what."""
    time.sleep(0.03)
    is_vectorized = not PassContext.current().option("tir.disable_vectorize")
    return os.getpid(), item, str(target), is_vectorized


def warn(item, target):
    """As `tell`, with a warning for one item."""
    if item == 3:
        warnings.warn("three", RuntimeWarning, stacklevel=1)
    return tell(item, target)


def fail(item, target):
    """As `tell`, with an error for one item."""
    if item == 3:
        raise ValueError("three")
    return tell(item, target)


def give_what_cannot_be_sent(item, target):
    """As `tell`, with more."""
    return *tell(item, target), lambda: item


def dying(connection):
    """A process that dies of its first item."""
    channel.receive(connection)
    channel.receive(connection)
    os.abort()


def silent(connection):
    """A process that never answers."""
    while True:
        channel.receive(connection)


def babbling(connection):
    """A process whose first answer is rubbish."""
    channel.receive(connection)
    channel.receive(connection)
    channel.send(connection, b"\xff\xfe")
