"""Writing instructions: each value is computed once, as far outside of the loops as possible.

LLVM runs almost no optimisation on this code (see `compile.py`), so redundant and loop-invariant
computations are never written in the first place. An instruction without side effects is keyed by
its text: the same text is the same value. It goes in front of the outermost loop of whose variables
it depends on none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from tilewright.ir.dtype import BOOL, DType
from tilewright.ir.expr import Expr
from tilewright.target.codegen.llvm.types import value_type


class RegisterWindow:
    """An estimate of which values are still in registers in straight-line code: the last ones used.

    A value that is used again soon is loaded once. One that is used again much later is loaded
    again: a long unrolled kernel that has its accumulators in registers has none left to keep it
    in, and LLVM, for which two loads of an address with no store in between are one value, would
    spill it.
    """

    def __init__(self, registers: int) -> None:
        self._registers = registers
        self._held: dict[object, str] = {}
        self._loaded: set[object] = set()

    def clear(self) -> None:
        """Forget all values: memory may have changed, or control flow intervened."""
        self._held.clear()
        self._loaded.clear()

    def hold(self, place: object, register: str) -> None:
        """Note that code uses the value of `place`, which is in `register`."""
        self._held.pop(place, None)
        self._held[place] = register
        if len(self._held) > self._registers:
            del self._held[next(iter(self._held))]

    def held(self, place: object) -> str | None:
        """The register with the value of `place`, if it was used recently; else None."""
        return self._held.get(place)

    def load(self, place: object, register: str) -> None:
        """Note that the value of `place` is loaded into `register`."""
        self._loaded.add(place)
        self.hold(place, register)

    def was_loaded(self, place: object) -> bool:
        """Whether the value of `place` was loaded since the last `clear`."""
        return place in self._loaded


_READS: Final = ("load ", "phi ", "icmp ", "select ", "extractvalue ", "or ")
"""Prefixes of instructions that leave memory unchanged."""


class KnownAddress(NamedTuple):
    """An address that code has computed: of the element at `place`, a sum of variables.

    Copies of the body of an unrolled loop share indices.
    """

    place: Expr
    variables: Mapping[Any, str]
    """The registers that the variables were in."""
    register: str


class Region:
    """A stretch of code: the function, or the body of one loop.

    The text of a loop body is kept apart from the text in front of the loop until the loop ends, so
    an expression that does not depend on the loop can still be put in front of it.

    Attributes:
        level: nesting depth of the loops.
        lines: the instructions so far.
        header: instructions in front of the loop, for whatever the body needs.
        known: registers by the text of the computations whose results they hold.
        branches: the same for computations in branches that are being written, innermost last.
        block: the label of the basic block that is being written.
        addresses: registers with addresses, by the base pointer, the dtype of what is there, and
            the `id` of the index; none of those that are computed in branches.
    """

    def __init__(self, level: int) -> None:
        self.level = level
        self.lines: list[str] = []
        self.header: list[str] = []
        self.known: dict[str, str] = {}
        self.branches: list[dict[str, str]] = []
        self.block = ""
        self.addresses: dict[tuple[str, DType, int], KnownAddress] = {}

    def find(self, key: str) -> str | None:
        """The register that holds the value `key` at this position; None if there is none."""
        for table in reversed(self.branches):
            found = table.get(key)
            if found is not None:
                return found
        return self.known.get(key)

    def remember(self, key: str, register: str) -> None:
        """Note that `register` holds the value `key`."""
        table = self.branches[-1] if self.branches else self.known
        table[key] = register


class Builder:
    """Writes the instructions of one function.

    Attributes:
        entry: instructions at the very start of the function: `alloca`s.
        regions: the function and the loops around the current position, outermost first.
    """

    def __init__(self, vector_registers: int) -> None:
        self.entry: list[str] = []
        self.regions: list[Region] = [Region(0)]
        self.regions[0].block = "entry"
        self._levels: dict[str, int] = {}
        self._count = 0
        self._window = RegisterWindow(vector_registers)
        self._window_block = ""
        self._unreachable = ""

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
        """A register with the value of an instruction without side effects.

        `code` lacks the result; `operands` are those that it mentions, without constants.
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
        """A register with the value of an instruction that is not moved."""
        if not code.startswith(_READS) and "@llvm.masked.load" not in code:
            self._window.clear()
        return self._value(code)

    def effect(self, code: str) -> None:
        """Write an instruction without result, which may change memory."""
        if "@llvm.prefetch" not in code:
            self._window.clear()
        self.region.lines.append(f"  {code}")

    def _value(self, code: str) -> str:
        region = self.regions[-1]
        register = self.define(self.fresh(), region.level)
        region.lines.append(f"  {register} = {code}")
        return register

    def select(self, condition: str, yes: str, no: str, dtype: DType) -> str:
        """`yes` or `no`, lane by lane; `condition` has the lanes of `dtype`."""
        ty, test = value_type(dtype), value_type(BOOL.with_lanes(dtype.lanes))
        return self.pure(f"select {test} {condition}, {ty} {yes}, {ty} {no}", condition, yes, no)

    # --- memory -------------------------------------------------------------------------------

    def load(self, ty: str, pointer: str, align: int, *, local: bool) -> str:
        """A value in memory, which LLVM is made to load again when it has left the registers.

        `align` is the alignment of the address in bytes, `local` tells whether LLVM promotes the
        memory to registers.
        """
        window, position = self._window_here(), (ty, pointer)
        code = f"load {ty}, ptr {pointer}, align {align}"
        if local:
            window.hold(pointer, pointer)
            return self._value(code)
        found = window.held(position)
        if found is None:
            if window.was_loaded(position):
                # The loads before it and behind it are different values to LLVM.
                self.effect('call void asm sideeffect "", "~{memory}"()')
            found = self._value(code)
            window.load(position, found)
        else:
            window.hold(position, found)
        return found

    def store(self, ty: str, value: str, pointer: str, align: int, *, local: bool) -> None:
        """Store a value; see `load` for the arguments."""
        code = f"store {ty} {value}, ptr {pointer}, align {align}"
        if local:
            self._window_here().hold(pointer, pointer)
            self.region.lines.append(f"  {code}")
        else:
            self.effect(code)

    def _window_here(self) -> RegisterWindow:
        """The window of the basic block that is being written."""
        if self._window_block != self.region.block:
            self._window_block = self.region.block
            self._window.clear()
        return self._window

    # --- control flow -------------------------------------------------------------------------

    def start_block(self, label: str) -> None:
        """Start a new basic block."""
        self.region.lines.append(f"{label}:")
        self.region.block = label

    def jump(self, label: str) -> None:
        """Branch to `label`."""
        self.effect(f"br label %{label}")

    def end(self, code: str) -> None:
        """Write an instruction that ends the function, and start a block for what may follow."""
        self.effect(code)
        label = self.label("dead")
        self._unreachable = f"{label}:"
        self.start_block(label)

    def drop_unreachable(self) -> bool:
        """Drop the block that `end` has started if nothing is in it; whether that was so."""
        lines = self.region.lines
        is_unreachable = bool(lines) and lines[-1] == self._unreachable
        if is_unreachable:
            lines.pop()
        return is_unreachable

    def merge_into(self, label: str) -> None:
        """Branch to `label`, where branches meet, unless the function ends here."""
        if not self.drop_unreachable():
            self.jump(label)

    def branch(self, condition: str, yes: str, no: str) -> None:
        """Branch to `yes` if `condition` holds, else to `no`."""
        self.effect(f"br i1 {condition}, label %{yes}, label %{no}")

    @contextmanager
    def conditional(self) -> Iterator[None]:
        """Code of one branch, whose values are not known after it."""
        self.region.branches.append({})
        yield
        self.region.branches.pop()

    def choose(
        self, condition: str, yes: Callable[[], str], no: Callable[[], str], dtype: DType
    ) -> str:
        """The value of `yes` or of `no`; only the code of the chosen one runs."""
        then, otherwise, after = self.label("then"), self.label("else"), self.label("after")
        self.branch(condition, then, otherwise)
        self.start_block(then)
        with self.conditional():
            yes_value = yes()
        yes_block = self.region.block
        self.jump(after)
        self.start_block(otherwise)
        with self.conditional():
            no_value = no()
        no_block = self.region.block
        self.jump(after)
        self.start_block(after)
        if dtype.code == "void":
            return ""
        sources = f"[ {yes_value}, %{yes_block} ], [ {no_value}, %{no_block} ]"
        return self.value(f"phi {value_type(dtype)} {sources}")

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

    def loop_variable(self, counter: str, dtype: DType) -> str:
        """A loop counter in the dtype of its variable; i64 where it is used as an index."""
        if dtype.bits == 64:
            return counter
        ty = value_type(dtype)
        narrow = self.pure(f"trunc i64 {counter} to {ty}", counter)
        # Extending it again gives the counter itself.
        self.region.known[f"{'sext' if dtype.is_int else 'zext'} {ty} {narrow} to i64"] = counter
        return narrow
