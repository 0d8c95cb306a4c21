"""Random steps on a schedule: any primitive, with arguments that are often right."""

from __future__ import annotations

import random
from typing import Any

from tests.property.likely_arguments import LIKELY
from tests.property.recipes import RECIPES
from tests.property.step_arguments import LEFT_OUT, RefusedError, argument
from tests.time_limit import LAST_WORDS

from tilewright.error import TVMError
from tilewright.tir import Schedule, ScheduleError
from tilewright.tir.schedule.primitive import PRIMITIVES, Primitive
from tilewright.tir.schedule.proofs.scope import Scope, scope_of
from tilewright.tir.stmt import BlockRealize

EXCLUDED = frozenset(
    {
        "unsafe_set_dtype",  # changes results by design
        "unsafe_hide_buffer_access",  # an opt-out of the proofs
        "tensorize",  # by a recipe: needs an intrinsic that fits
    }
)

WEIGHTS = {
    "split": 4, "fuse": 2, "reorder": 4, "merge": 3, "compute_at": 6, "reverse_compute_at": 5,
    "compute_inline": 3, "reverse_compute_inline": 3, "cache_read": 3, "cache_write": 3,
    "parallel": 2, "vectorize": 2, "decompose_reduction": 3, "rfactor": 3, "transform_layout": 3,
    "stage_mem": 2, "add_guard": 3, "rolling_buffer": 2, "blockize": 2, "sample_categorical": 0.3,
    "sample_partitioned_tile": 0.5, "sample_perfect_tile": 0.7, "annotate": 0.5,
    "enter_postproc": 0.1, "add_unit_loop": 0.7, "reorder_block_iter_var": 0.7,
}  # fmt: skip


class Steps:
    """Applies random primitives to a schedule.

    Attributes:
        applied: the names of the primitives of the steps that were accepted.
        refused: those of the steps that were refused.
        last: the step that was tried last, for messages.
    """

    def __init__(self, rng: random.Random, sch: Schedule) -> None:
        self.rng, self.sch = rng, sch
        self.applied: list[str] = []
        self.refused: list[str] = []
        self.last = ""

    def step(self) -> None:
        """Try one random primitive, or a few that belong together."""
        rng = self.rng
        try:
            if rng.random() < 0.2:
                rng.choice(RECIPES)(self)
                return
            looks = [name for name in PRIMITIVES if name.startswith("get_")]
            names = sorted(PRIMITIVES.keys() - {*EXCLUDED, *looks})
            (name,) = rng.choices(names, [WEIGHTS.get(name, 1) for name in names])
            if name in LIKELY and rng.random() < 0.75:
                arguments = LIKELY[name](self)
            else:
                arguments = self._arguments(PRIMITIVES[name])
            self.apply(name, *arguments.pop("*", ()), **arguments)
        except (IndexError, RefusedError):
            return  # there is no block, or no loop, to choose from

    def apply(self, name: str, *positional: Any, **arguments: Any) -> Any:
        """Apply a primitive; a refusal must leave the program as it was.

        Raises:
            RefusedError: if it is refused.
        """
        self.last = f"{name}{positional} {arguments}"
        LAST_WORDS.add(self.last)
        before = self.sch.mod["main"]
        try:
            results = getattr(self.sch, name)(*positional, **arguments)
        except ScheduleError as error:
            if self.sch.mod["main"] is not before:
                raise AssertionError(f"{name} changed the program and refused") from error
            if self.rng.random() < 0.1:
                str(error)  # with the script and the counterexample
            self.refused.append(name)
        except TVMError as error:
            if not isinstance(error, (ValueError, TypeError)):
                raise  # no mistake in the arguments, which has a class of its own
            self.refused.append(name)
        except IndexError as error:
            raise AssertionError(f"{name}: {error}") from error
        else:
            self.applied.append(name)
            return results
        raise RefusedError

    # --- choices ----------------------------------------------------------------------------

    def blocks(self) -> list[str]:
        """The names of blocks that are the only ones of their names."""
        names = [r.block.name_hint for r in self.realizes()]
        return [name for name in names if names.count(name) == 1 and name != "root"]

    def realizes(self) -> list[BlockRealize]:
        """The blocks of the program."""
        return self.sch.state.tree("main").blocks()

    def realize(self, block: str) -> BlockRealize:
        """The block of that name."""
        return next(r for r in self.realizes() if r.block.name_hint == block)

    def scope(self, block: str) -> Scope:
        """The flow of data around a block."""
        return scope_of(self.sch.state.tree("main"), self.realize(block))

    def block(self) -> str:
        """A block."""
        return self.rng.choice(self.blocks())

    def loop(self, block: str) -> Any:
        """A loop around a block."""
        return self.rng.choice(self.loops(block))

    def loops(self, block: Any) -> list[Any]:
        """The loops around a block; raises IndexError if an earlier step removed the block."""
        if isinstance(block, str) and block not in self.blocks():
            raise IndexError(block)
        return list(self.sch.get_loops(block))

    def _arguments(self, primitive: Primitive) -> dict[str, Any]:
        block = self.block()
        found: dict[str, Any] = {}
        for parameter in primitive.parameters:
            if parameter.name == "decision":
                continue
            value = argument(self, parameter, block, found)
            if value is not LEFT_OUT:
                found["*" if parameter.variadic else parameter.name] = value
        return found
