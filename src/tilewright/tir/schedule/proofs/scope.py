"""The flow of data between the child blocks of a scope."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.tir.buffer import Buffer
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockRealize


class Scope:
    """The child blocks of a block, with what they read and write.

    Attributes:
        realize: the block whose children these are.
        children: the child blocks, in the order of the text.
        writers: per buffer, the children that write it.
        readers: per buffer, the children that read it (also those that only update it).
    """

    def __init__(self, tree: FunctionTree, realize: BlockRealize) -> None:
        self.realize = realize
        self.children = tree.blocks_below(realize)
        self.writers: dict[Buffer, list[BlockRealize]] = {}
        self.readers: dict[Buffer, list[BlockRealize]] = {}
        for child in self.children:
            for region in child.block.writes:
                _note(self.writers, region.buffer, child)
            for region in child.block.reads:
                _note(self.readers, region.buffer, child)

    def producers(self, block: BlockRealize) -> list[BlockRealize]:
        """The other children that write what `block` reads, in order."""
        return self._among(block, self.writers, buffers_read(block.block))

    def consumers(self, block: BlockRealize) -> list[BlockRealize]:
        """The other children that read what `block` writes, in order."""
        return self._among(block, self.readers, buffers_written(block.block))

    def _among(
        self,
        block: BlockRealize,
        found: dict[Buffer, list[BlockRealize]],
        buffers: Iterable[Buffer],
    ) -> list[BlockRealize]:
        chosen = {child for buffer in buffers for child in found.get(buffer, ())}
        return [child for child in self.children if child in chosen and child is not block]

    def users(self, buffer: Buffer, *, besides: Iterable[BlockRealize]) -> list[BlockRealize]:
        """The other children that write or read `buffer`, in order."""
        chosen = {*self.writers.get(buffer, ()), *self.readers.get(buffer, ())}.difference(besides)
        return [child for child in self.children if child in chosen]

    def is_only_writer(self, block: BlockRealize, buffer: Buffer) -> bool:
        """Whether no other child writes `buffer`."""
        return all(writer is block for writer in self.writers.get(buffer, ()))


def scope_of(tree: FunctionTree, realize: BlockRealize) -> Scope:
    """The scope that the block `realize` is in; made once per version of the function."""
    return child_scope(tree, tree.scope(realize))


def child_scope(tree: FunctionTree, realize: BlockRealize) -> Scope:
    """The scope made of the children of the block `realize`."""
    found = tree.facts.get(("scope", realize))
    if found is None:
        found = tree.facts["scope", realize] = Scope(tree, realize)
    return found


def buffers_read(block: Block) -> list[Buffer]:
    """The buffers of the regions that `block` reads."""
    return list(dict.fromkeys(region.buffer for region in block.reads))


def buffers_written(block: Block) -> list[Buffer]:
    """The buffers of the regions that `block` writes."""
    return list(dict.fromkeys(region.buffer for region in block.writes))


def is_intermediate(tree: FunctionTree, buffer: Buffer) -> bool:
    """Whether `buffer` is allocated inside of the function, not one of its parameters."""
    return allocating_block(tree, buffer) is not None


def allocating_block(tree: FunctionTree, buffer: Buffer) -> BlockRealize | None:
    """The block that allocates `buffer`; None for a parameter."""
    for realize in tree.blocks():
        if any(allocated is buffer for allocated in realize.block.alloc_buffers):
            return realize
    return None


def require_allocating_block(tree: FunctionTree, buffer: Buffer) -> BlockRealize:
    """The block that allocates `buffer`.

    Raises:
        ScheduleError: for a parameter of the function, or a view made by `match_buffer`.
    """
    found = allocating_block(tree, buffer)
    if found is None:
        raise ScheduleError(
            f"`{buffer.name}` is not allocated by a block of `{tree.name}`: it is a parameter or "
            "a view",
            hint="use cache_read or cache_write to have a buffer inside of the function",
        )
    return found


def _note(found: dict[Buffer, list[BlockRealize]], buffer: Buffer, child: BlockRealize) -> None:
    accesses = found.setdefault(buffer, [])
    if not accesses or accesses[-1] is not child:
        accesses.append(child)
