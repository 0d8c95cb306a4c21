"""The constants of the graph functions of a module."""

from __future__ import annotations

from tilewright.runtime.ndarray import ALIGNMENT, NDArray, array
from tilewright.target.codegen.params import Param

PREFIX = "tilewright_constant_"


class ConstantTable:
    """Constants by symbol.

    Args:
        owner: the name of a function of the library, which no other library has that is linked
            into the same program.

    Attributes:
        arrays: compact, and aligned to a cache line.
    """

    def __init__(self, owner: str) -> None:
        self._prefix = f"{PREFIX}{owner}_"
        self.arrays: dict[str, NDArray] = {}
        self._symbols: dict[int, str] = {}
        self._originals: list[NDArray] = []  # keeps what `_symbols` names by id

    def symbol(self, data: NDArray | None) -> str:
        """The symbol under which compiled code finds `data`."""
        assert data is not None
        found = self._symbols.get(id(data))
        if found is None:
            found = self._symbols[id(data)] = f"{self._prefix}{len(self.arrays)}"
            self._originals.append(data)
            self.arrays[found] = _compact(data)
        return found

    @property
    def size(self) -> int:
        """Bytes of all constants."""
        return sum(param.size for param in self.params().values())

    def params(self) -> dict[str, Param]:
        """The constants as code finds them."""
        return {
            name: Param(data.data_ptr(), data._host_view("constant").nbytes, data)
            for name, data in self.arrays.items()
        }


def _compact(data: NDArray) -> NDArray:
    if data.is_contiguous() and data.data_ptr() % ALIGNMENT == 0:
        return data
    return array(data)
