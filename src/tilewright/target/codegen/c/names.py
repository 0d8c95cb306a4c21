"""C identifiers for the variables of a function."""

from __future__ import annotations

import re
from typing import Final

from tilewright.ir.expr import Var

KEYWORDS: Final = frozenset(
    """
    auto bool break case char const continue default do double else enum extern false float for goto
    if inline int long register restrict return short signed sizeof static struct switch true
    typedef union unsigned void volatile while NULL main
    """.split()  # noqa: SIM905, a table of words reads best as words
)


class Names:
    """Unique identifiers of variables, as similar to their names as C allows."""

    def __init__(self) -> None:
        self._taken: set[str] = set(KEYWORDS)
        self._of: dict[Var, str] = {}

    def define(self, var: Var) -> str:
        """A new identifier for `var`."""
        name = self._of[var] = self.fresh(var.name)
        return name

    def __getitem__(self, var: Var) -> str:
        return self._of[var]

    def __contains__(self, var: Var) -> bool:
        return var in self._of

    def fresh(self, wanted: str) -> str:
        """An unused identifier, derived from `wanted`."""
        base = re.sub(r"\W", "_", wanted) or "v"
        if base[0].isdigit() or base.startswith(("tw_", "_")):
            base = f"v{base}"
        name, number = base, 0
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name


def c_name(function: str) -> str:
    """The C name of a function of the module."""
    name = re.sub(r"\W", "_", function)
    return f"{name}_" if name in KEYWORDS else name
