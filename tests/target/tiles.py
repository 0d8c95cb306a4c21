"""The tile registers of Intel's AMX in software, as functions that compiled code can call.

They do what the manual says of the instructions, which also refuse what the processor refuses: an
operation on tiles of other sizes, or without a configuration.
"""

import ctypes
import struct

import ml_dtypes
import numpy as np

TILES, MOST_ROWS, ROW_BYTES = 8, 16, 64


class Tiles:
    """The registers of a thread.

    Attributes:
        errors: what the processor would have refused.
        counts: how often each instruction was executed.
    """

    def __init__(self):
        self.errors, self.counts = [], {}
        self._release()

    def functions(self):
        """Address and types of the function for each LLVM intrinsic."""
        tile, pointer, size = ctypes.c_int8, ctypes.c_void_p, ctypes.c_int64
        kinds = {
            "ldtilecfg": (self._configure, pointer),
            "tilerelease": (self._release,),
            "tilezero": (self._zero, tile),
            "tileloadd64": (self._load, tile, pointer, size),
            "tilestored64": (self._store, tile, pointer, size),
        }
        for kind in ("bssd", "bsud", "busd", "buud", "bf16ps"):
            kinds[f"tdp{kind}"] = (self._product(kind), tile, tile, tile)
        self._kept = {
            name: ctypes.CFUNCTYPE(None, *types)(self._counted(name, function))
            for name, (function, *types) in kinds.items()
        }
        return {
            name: (ctypes.cast(function, ctypes.c_void_p).value, len(kinds[name]) - 1)
            for name, function in self._kept.items()
        }

    def check(self):
        """Raise an error if the processor would have refused an instruction."""
        assert not self.errors, self.errors
        assert self._rows is None, "the registers are not released"

    def _counted(self, name, function):
        def call(*arguments):
            self.counts[name] = self.counts.get(name, 0) + 1
            try:
                function(*arguments)
            except (IndexError, TypeError, ValueError, AssertionError) as error:
                self.errors.append(f"{name}{arguments}: {error!r}")

        return call

    def _configure(self, address):
        palette, first, *sizes = struct.unpack("<BB14x16H16B", ctypes.string_at(address, 64))
        assert (palette, first) == (1, 0)
        self._widths, self._rows = sizes[:TILES], sizes[16 : 16 + TILES]
        assert not any(sizes[TILES:16] + sizes[16 + TILES :])
        assert max(self._widths) <= ROW_BYTES
        assert max(self._rows) <= MOST_ROWS
        # A new configuration sets all registers to zero.
        shapes = zip(self._rows, self._widths, strict=True)
        self._tiles = [np.zeros(shape, "uint8") for shape in shapes]

    def _release(self):
        self._rows = self._widths = self._tiles = None

    def _zero(self, tile):
        self._tiles[tile][:] = 0

    def _load(self, tile, address, stride):
        for row, values in enumerate(self._tiles[tile]):
            data = ctypes.string_at(address + row * stride, len(values))
            values[:] = np.frombuffer(data, "uint8")

    def _store(self, tile, address, stride):
        for row, values in enumerate(self._tiles[tile]):
            ctypes.memmove(address + row * stride, values.ctypes.data, len(values))

    def _product(self, kind):
        multiply = bfloats if kind == "bf16ps" else integers(kind)

        def call(sums, a, b):
            rows, widths = self._rows, self._widths
            assert len({sums, a, b}) == 3
            assert (rows[sums], widths[sums]) == (rows[a], widths[b])
            assert widths[a] == 4 * rows[b]
            multiply(*(self._tiles[tile] for tile in (sums, a, b)))

        return call


def integers(kind):
    """The product of tiles of bytes; the letters after the first say whether they have signs."""
    dtypes = ["int8" if letter == "s" else "uint8" for letter in kind[1:3]]

    def multiply(sums, a, b):
        x = a.view(dtypes[0]).astype("int32")
        y = b.view(dtypes[1]).astype("int32").reshape(len(b), -1, 4)
        product = x @ y.transpose(0, 2, 1).reshape(x.shape[1], -1)
        sums.view("int32")[:] += product

    return multiply


def bfloats(sums, a, b):
    """The product of tiles of bfloat16.

    Products with even numbers are summed up in float32, and those with odd ones; then both sums
    are added to the tile. Denormal numbers count as 0.
    """
    x = flushed(a.view(ml_dtypes.bfloat16).astype("float32"))
    y = flushed(b.view(ml_dtypes.bfloat16).astype("float32")).reshape(len(b), -1, 2)
    halves = np.zeros((2, len(a), y.shape[1]), "float32")
    for step, part in np.ndindex(len(b), 2):
        product = np.outer(x[:, 2 * step + part], y[step, :, part]).astype("float64")
        halves[part] = flushed((halves[part] + product).astype("float32"))
    totals = sums.view("float32")
    totals[:] = flushed(totals + flushed(halves[0] + halves[1]))


def flushed(values):
    """Without denormal numbers."""
    return np.where(np.abs(values) < np.finfo("float32").tiny, np.float32(0), values)
