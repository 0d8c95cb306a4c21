"""Attributes of statements whose copies may run in the background."""

from typing import Final

ASYNC_COPIES: Final = "async_scope"
"""The attribute of a statement whose copies may run in the background."""
ASYNC_GROUP: Final = "async_commit_queue_scope"
"""The attribute of nothing: the copies before it are a group."""
ASYNC_WAIT: Final = "async_wait_inflight_count"
"""The attribute of nothing: wait until no more groups than its value are on the way."""
