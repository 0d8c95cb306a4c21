"""Estimate of which loaded values are still in registers in straight-line code.

A value that is used again soon is loaded once. One that is used again much later is loaded again: a
long unrolled kernel that has its accumulators in registers has none left to keep it in, and LLVM,
for which two loads of an address with no store in between are one value, would spill it.
"""

from __future__ import annotations


class RegisterWindow:
    """The most recently used values of straight-line code, as many as there are registers."""

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
