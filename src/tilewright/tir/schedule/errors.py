"""Refusals: what a primitive required, where, a counterexample, and what to do instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tilewright.error import TVMError

if TYPE_CHECKING:
    from tilewright.tir.schedule.tree import FunctionTree


class ScheduleError(TVMError):
    """A schedule primitive that does not apply; the program is unchanged.

    Raising one costs next to nothing: the message, with the script and the counterexample, is made
    when somebody asks for it.

    Args:
        requirement: what the primitive requires and does not find, as a sentence. With ``{0}``,
            ``{1}``, ... for the names of the statements `at`.
        at: the loops and blocks at fault, which are underlined in the script.
        counterexample: a description of a case in which the transformed program would go wrong,
            or a function that makes it (called when the message is rendered).
        afterwards: the same as a function of the program before and of the one that the primitive
            makes without proofs; for requirements that such a primitive does not have.
        hint: what to do instead.

    Attributes:
        primitive: the name of the primitive.
        requirement: as above.
        hint: as above.
    """

    def __init__(
        self,
        requirement: str,
        *,
        at: Sequence[Any] = (),
        counterexample: Any = None,
        afterwards: Callable[[FunctionTree, FunctionTree], Any] | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(requirement)
        self.requirement = requirement
        self.at = tuple(at)
        self.hint = hint
        self.primitive = ""
        self.level = "detail"
        self._counterexample = counterexample
        self._afterwards = afterwards
        self._tree: FunctionTree | None = None

    def raised_by(
        self,
        primitive: str,
        tree: FunctionTree | None,
        level: str,
        attempt: Callable[[], FunctionTree] | None = None,
    ) -> ScheduleError:
        """The same error, which knows where it comes from and how much to say.

        Args:
            primitive: the name of the primitive.
            level: how much to say.
            attempt: makes the program that the primitive makes without proofs.
        """
        self.primitive, self.level = primitive, level
        if self._afterwards is not None and tree is not None and attempt is not None:
            self._counterexample = partial(_after, self._afterwards, tree, attempt)
        self._tree = tree if self._tree is None else self._tree
        return self

    def shown_in(self, tree: FunctionTree) -> ScheduleError:
        """The same error, which shows another version of the program than the one before."""
        self._tree = tree
        return self

    @property
    def counterexample(self) -> Any:
        """The counterexample: an object whose `str` tells it, or None."""
        if isinstance(self._counterexample, Callable):
            self._counterexample = self._counterexample()
        return self._counterexample

    @property
    def sentence(self) -> str:
        """The requirement with the names of the statements filled in."""
        return self.requirement.format(*map(name_of, self.at)) if self.at else self.requirement

    def __str__(self) -> str:
        heading = f"{self.primitive}: " if self.primitive else ""
        if self.level == "none":
            return f"{heading}(not rendered)"
        lines = [heading + self.sentence]
        if self.level == "detail":
            if self.counterexample is not None:
                lines.append(f"Counterexample: {self.counterexample}")
            if self.hint:
                lines.append(f"Hint: {self.hint}")
            script = self._script()
            if script:
                lines += ["", script]
        return "\n".join(lines)

    def _script(self) -> str:
        if self._tree is None:
            return ""
        nodes = tuple(node for node in self.at if hasattr(node, "children"))
        func, name = self._tree.func, self._tree.name
        if func.global_symbol is not None:  # the message and `get_block` know it by this name
            func = func.with_attr("global_symbol", name)
        return func.script(name=name, obj_to_underline=nodes)


def _after(
    find: Callable[[FunctionTree, FunctionTree], Any],
    tree: FunctionTree,
    attempt: Callable[[], FunctionTree],
) -> Any:
    try:
        return find(tree, attempt())
    except ScheduleError:
        return None  # there is no such program


def name_of(item: Any) -> str:
    """How a message calls a loop, a block, a buffer or anything else."""
    block = getattr(item, "block", item)
    if hasattr(block, "name_hint"):
        return f"block `{block.name_hint}`"
    if hasattr(item, "loop_var"):
        return f"loop `{item.loop_var.name}`"
    if hasattr(item, "buffer"):
        return f"`{item.buffer.name}`"
    return f"`{item.name}`" if hasattr(item, "name") else str(item)
