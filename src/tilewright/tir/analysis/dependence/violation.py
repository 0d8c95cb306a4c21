"""Answers to questions about dependences: a counterexample, or that there is no proof."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class NotProved:
    """It is not known whether the order is right; `reason` says why."""

    reason: str

    def __str__(self) -> str:
        return f"not proved: {self.reason}"


class Instance(NamedTuple):
    """One execution of a statement.

    Attributes:
        name: of the block.
        values: what its iterators are.
        loops: what the variables of the loops around it are.
    """

    name: str
    values: Mapping[str, int]
    loops: Mapping[str, int]

    def __str__(self) -> str:
        return f"{self.name} at {numbers(self.values)}"


def numbers(values: Mapping[str, int]) -> str:
    """Values with their names, in parentheses."""
    return f"({', '.join(f'{name}={value}' for name, value in values.items())})"


class Example(NamedTuple):
    """Concrete numbers that show what is wrong.

    Attributes:
        instances: the instances concerned.
        element: what both access, such as ``"C[0, 0]"``; empty if that does not matter.
        actions: what each instance does to the element, such as ``"written"``.
        sizes: values of symbolic sizes for which it happens.
        certain: whether it happens, and not only may happen because an index depends on data.
    """

    instances: tuple[Instance, ...]
    element: str = ""
    actions: tuple[str, ...] = ()
    sizes: Mapping[str, int] = {}
    certain: bool = True


class Violation:
    """A counterexample: what goes wrong, with concrete numbers.

    The numbers are worked out when they are first asked for, so a search that only wants to know
    whether there is a counterexample does not pay for them.

    Attributes:
        kind: ``"order"``, ``"carried"``, ``"missing"``, ``"twice"`` or ``"extra"``; for questions
            asked when a refusal is shown, also ``"unwritten"``, ``"conflict"``, ``"collision"`` or
            ``"outside"``.
        hint: what to do instead, if that is known.
    """

    def __init__(
        self,
        kind: str,
        find: Callable[[], Example | NotProved],
        text: Callable[[Example], str],
        hint: str = "",
    ) -> None:
        self.kind, self.hint = kind, hint
        self._find, self._text = find, text

    @functools.cached_property
    def example(self) -> Example | NotProved:
        """The instances and the element; `NotProved` if it takes too long to find some."""
        return self._find()

    def __str__(self) -> str:
        example = self.example
        if isinstance(example, NotProved):
            return f"there is one, but no numbers for it: {example.reason}"
        sizes = f", if {', '.join(f'{n} = {v}' for n, v in example.sizes.items())}"
        return self._text(example) + (sizes if example.sizes else "")

    def __repr__(self) -> str:
        return f"<Violation: {self}>"


Answer = Violation | NotProved | None
"""What a question is answered with; None if nothing is wrong."""


def violation(
    kind: str,
    text: str,
    sizes: Mapping[str, int],
    instances: Sequence[Instance] = (),
    element: str = "",
) -> Violation:
    """A violation whose numbers are known already.

    `text` says in words what is wrong; for the others see `Violation` and `Example`.
    """
    example = Example(tuple(instances), element, sizes=sizes)
    return Violation(kind, lambda: example, lambda _: text)
