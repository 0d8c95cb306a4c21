"""Writing instructions: each value is computed once, as far outside of the loops as possible.

LLVM runs almost no optimisation on this code (see `compile.py`), so redundant and loop-invariant
computations are never written in the first place. An instruction without side effects is keyed by
its text: the same text is the same value. It goes in front of the outermost loop of whose variables
it depends on none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tilewright.target.codegen.llvm.scope import Region


class Builder:
    """Writes the body of one function."""

    def __init__(self) -> None:
        self.entry: list[str] = []
        """Instructions at the very start of the function: `alloca`s."""
        self.regions: list[Region] = [Region(0)]
        self.regions[0].block = "entry"
        self._levels: dict[str, int] = {}
        self._count = 0

    @property
    def region(self) -> Region:
        """The innermost loop body that is being written."""
        return self.regions[-1]

    def fresh(self, prefix: str = "%v") -> str:
        """A new register."""
        self._count += 1
        return f"{prefix}{self._count}"

    def label(self, name: str) -> str:
        """A new label."""
        self._count += 1
        return f"{name}{self._count}"

    def level(self, operands: Iterable[str]) -> int:
        """The depth of the outermost loop body in which all `operands` are known."""
        found, levels = 0, self._levels
        for operand in operands:
            level = levels.get(operand, 0)
            if level > found:
                found = level
        return found

    def define(self, register: str, level: int) -> str:
        """Note that `register` gets its value in a loop body at depth `level`."""
        if level:
            self._levels[register] = level
        return register

    def pure(self, code: str, *operands: str) -> str:
        """A register with the value of an instruction that only computes.

        Args:
            code: the instruction, without the result.
            operands: the operands that it mentions; constants may be left out.
        """
        level, regions = self.level(operands), self.regions
        region = regions[level]
        hoisted = level < regions[-1].level
        found = region.find(code) if region.branches else region.known.get(code)
        if found is None and hoisted:
            found = self.regions[level + 1].known.get(code)
        if found is not None:
            return found
        register = self.define(self.fresh(), level)
        line = f"  {register} = {code}"
        if hoisted:
            self.regions[level + 1].header.append(line)
            self.regions[level + 1].known[code] = register
        else:
            region.lines.append(line)
            region.remember(code, register)
        return register

    def value(self, code: str) -> str:
        """A register with the value of an instruction that must stay where it is."""
        register = self.define(self.fresh(), self.region.level)
        self.region.lines.append(f"  {register} = {code}")
        return register

    def effect(self, code: str) -> None:
        """Write an instruction without result."""
        self.region.lines.append(f"  {code}")

    def start_block(self, label: str) -> None:
        """Go on writing in a new basic block."""
        self.region.lines.append(f"{label}:")
        self.region.block = label

    def jump(self, label: str) -> None:
        """Branch to `label`."""
        self.effect(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        """Branch to `yes` if `condition` holds, else to `no`."""
        self.effect(f"br i1 {condition}, label %{yes}, label %{no}")

    @contextmanager
    def conditional(self) -> Iterator[None]:
        """Code of one branch: what is computed inside is not known after it."""
        self.region.branches.append({})
        yield
        self.region.branches.pop()

    @contextmanager
    def counted_loop(self, start: str, end: str, *, runs_at_least_once: bool) -> Iterator[str]:
        """A loop over the i64 values from `start` to before `end`; gives its counter's register.

        Its condition is at its end, with a test in front where it may not run at all.
        """
        outer, body, done = self.region, self.label("loop"), self.label("done")
        inner = Region(outer.level + 1)
        inner.block = body
        self.regions.append(inner)
        counter = self.define(self.fresh("%i"), inner.level)
        following = self.fresh()
        yield counter
        self.regions.pop()
        outer.lines += inner.header
        before = outer.block
        if runs_at_least_once:
            self.jump(body)
        else:
            self.branch(self.value(f"icmp slt i64 {start}, {end}"), body, done)
        outer.lines.append(f"{body}:")
        outer.lines.append(
            f"  {counter} = phi i64 [ {start}, %{before} ], [ {following}, %{inner.block} ]"
        )
        outer.lines += inner.lines
        outer.lines.append(f"  {following} = add nsw i64 {counter}, 1")
        again = self.fresh()
        outer.lines.append(f"  {again} = icmp slt i64 {following}, {end}")
        outer.lines.append(f"  br i1 {again}, label %{body}, label %{done}")
        self.start_block(done)

    @contextmanager
    def region_of_loop(self) -> Iterator[Region]:
        """The body of a loop whose control flow the caller writes."""
        inner = Region(self.region.level + 1)
        self.regions.append(inner)
        yield inner
        self.regions.pop()
