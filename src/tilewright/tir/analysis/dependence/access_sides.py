"""Two executions of accesses, side by side, as one integer set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tilewright.ir.expr import Expr, Let, Var
from tilewright.tir.access import Access
from tilewright.tir.analysis.dependence.affine import Affine
from tilewright.tir.analysis.dependence.solver import read_set
from tilewright.tir.stmt import BlockRealize, For, LetStmt


class Dimension(NamedTuple):
    """A variable that names an execution: ``low <= variable < low + extent``."""

    var: Var
    name: str
    low: Expr
    extent: Expr


class AccessSide:
    """One access as constraints of isl, its variables named apart from those of the other one.

    Args:
        access: the access.
        letter: what the names of other variables begin with.
        dimensions: what names its execution.
        around: loops around what `access` tells.

    Attributes:
        names: of the dimensions.
        elements: the indices.
        unknowns: other variables.
        constraints: what is known of all variables.
        parameters: the sizes.
        exact: whether the constraints say all that is known.
    """

    def __init__(
        self,
        access: Access,
        letter: str,
        dimensions: Sequence[Dimension],
        around: Iterable[For] = (),
    ) -> None:
        scope: dict[Var, Any] = {item.var: item.name for item in dimensions}
        for node in (*around, *access.around.definitions):
            if isinstance(node, For):
                scope[node.loop_var] = node
            elif isinstance(node, (LetStmt, Let)):
                scope[node.var] = node.value
            elif isinstance(node, BlockRealize):
                iterators = (item.var for item in node.block.iter_vars)
                scope.update(zip(iterators, node.iter_values, strict=True))
        affine = Affine(scope)
        elements = [affine.text(index) for index in access.indices]
        constraints = [
            affine.formula(condition.expr, condition.negated)
            for condition in access.around.conditions
        ]
        for _, name, low, extent in dimensions:
            start = affine.text(low)
            constraints.append(f"{start} <= {name} < {start} + {affine.text(extent)}")
        names = {name: f"{letter}_{name}" for name in affine.unknowns}
        self.names = [item.name for item in dimensions]
        self.elements = [renamed(text, names) for text in elements]
        self.constraints = [renamed(text, names) for text in (*constraints, *affine.constraints)]
        self.unknowns = list(names.values())
        self.parameters, self.exact = affine.parameters, affine.exact


def meeting(sides: Sequence[AccessSide], apart: str) -> Any:
    """The pairs of executions that access the same element.

    The dimensions of the set are those of both sides, and then the indices of the element.

    Args:
        sides: two.
        apart: in what the executions differ, in the notation of isl.
    """
    first, second = sides
    places = [f"e{number}" for number in range(len(first.elements))]
    equal = zip(first.elements, second.elements, strict=True)
    body = [f"{one} = {other}" for one, other in equal if one != other]
    body += [f"{place} = {one}" for place, one in zip(places, first.elements, strict=True)]
    body += [constraint for side in sides for constraint in side.constraints]
    text = " and ".join(body) or "true"
    unknowns = [name for side in sides for name in side.unknowns]
    if unknowns:
        text = f"exists ({', '.join(unknowns)} : {text})"
    names = [*(name for side in sides for name in side.names), *places]
    parameters = dict.fromkeys(name for side in sides for name in side.parameters)
    found = read_set(f"[{', '.join(parameters)}] -> {{ [{', '.join(names)}] : {text} }}")
    # The parser would work out all of the rest for each alternative.
    return found.intersect(read_set(f"{{ [{', '.join(names)}] : {apart} }}"))


def renamed(text: str, names: dict[str, str]) -> str:
    """A text of isl with other names."""
    return re.sub(r"\w+", lambda word: names.get(word[0], word[0]), text)
