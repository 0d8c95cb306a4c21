"""What is said when records cannot be written."""

from __future__ import annotations

from tilewright.error import DatabaseError


def kept_in_memory(error: DatabaseError, count: int) -> DatabaseError:
    """The error of a write, with what becomes of the records."""
    records = "1 unwritten record is" if count == 1 else f"{count} unwritten records are"
    return DatabaseError(
        f"{error}; {records} kept in memory, and will be written with the next: free some space, "
        "or add them to another database"
    )
