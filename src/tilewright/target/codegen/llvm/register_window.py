"""Which loaded values are still in registers, as straight code goes on.

A value that is used again soon is loaded once. One that is used again much later is loaded again: a
long unrolled kernel that has its accumulators in registers has none left to keep it in, and LLVM,
for which two loads of an address with no store in between are one value, would spill it.
"""

from __future__ import annotations


class RegisterWindow:
    """The values that straight code has used last, as many as there are registers."""

    def __init__(self, registers: int) -> None:
        self._registers = registers
        self._held: dict[object, str] = {}
        self._loaded: set[object] = set()

    def clear(self) -> None:
        """Nothing is known any more: memory may have changed, or other code came in between."""
        self._held.clear()
        self._loaded.clear()

    def hold(self, place: object, register: str) -> None:
        """Note that code uses the value of `place`, which is in `register`."""
        self._held.pop(place, None)
        self._held[place] = register
        if len(self._held) > self._registers:
            del self._held[next(iter(self._held))]

    def held(self, place: object) -> str | None:
        """The register with the value of `place`, if it has been used lately."""
        return self._held.get(place)

    def load(self, place: object, register: str) -> None:
        """Note that the value of `place` is loaded into `register`."""
        self._loaded.add(place)
        self.hold(place, register)

    def was_loaded(self, place: object) -> bool:
        """Whether the value of `place` was loaded since the last `clear`."""
        return place in self._loaded
