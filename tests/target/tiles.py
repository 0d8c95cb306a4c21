"""The tile registers of Intel's AMX in software, as functions that compiled code can call.

They do what the manual says of the instructions, which also refuse what the processor refuses: an
operation on tiles of other sizes, or without a configuration.
"""

import ctypes
import struct
import threading

import ml_dtypes
import numpy as np

TILES, MOST_ROWS, ROW_BYTES = 8, 16, 64


class Tiles:
    """The registers of all threads.

    Attributes:
        errors: what the processor would have refused.
        counts: how often each instruction was executed.
        threads: the registers of each thread, by its number.
    """

    def __init__(self):
        self.errors, self.counts, self.threads = [], {}, {}

    def functions(self):
        """Address and types of the function for each LLVM intrinsic."""
        tile, pointer, size = ctypes.c_int8, ctypes.c_void_p, ctypes.c_int64
        kinds = {
            "ldtilecfg": (Registers.configure, pointer),
            "tilerelease": (Registers.release,),
            "tilezero": (Registers.zero, tile),
            "tileloadd64": (Registers.load, tile, pointer, size),
            "tileloaddt164": (Registers.load, tile, pointer, size),
            "tilestored64": (Registers.store, tile, pointer, size),
        }
        for kind in ("bssd", "bsud", "busd", "buud", "bf16ps"):
            kinds[f"tdp{kind}"] = (product(kind), tile, tile, tile)
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
        is_released = [registers.tiles is None for registers in self.threads.values()]
        assert all(is_released), "registers are not released"

    def _counted(self, name, function):
        def call(*arguments):
            self.counts[name] = self.counts.get(name, 0) + 1
            try:
                thread = threading.get_native_id()
                function(self.threads.setdefault(thread, Registers()), *arguments)
            except (IndexError, TypeError, ValueError, AssertionError) as error:
                self.errors.append(f"{name}{arguments}: {error!r}")

        return call


class Registers:
    """The registers of a thread.

    Attributes:
        tiles: rows of bytes; None without a configuration.
    """

    def __init__(self):
        self.tiles = None

    def configure(self, address):
        palette, first, *sizes = struct.unpack("<BB14x16H16B", ctypes.string_at(address, 64))
        assert (palette, first) == (1, 0)
        widths, rows = sizes[:TILES], sizes[16 : 16 + TILES]
        assert not any(sizes[TILES:16] + sizes[16 + TILES :])
        assert max(widths) <= ROW_BYTES
        assert max(rows) <= MOST_ROWS
        # A new configuration sets all registers to zero.
        self.tiles = [np.zeros(shape, "uint8") for shape in zip(rows, widths, strict=True)]

    def release(self):
        self.tiles = None

    def zero(self, tile):
        self.tiles[tile][:] = 0

    def load(self, tile, address, stride):
        for row, values in enumerate(self.tiles[tile]):
            data = ctypes.string_at(address + row * stride, len(values))
            values[:] = np.frombuffer(data, "uint8")

    def store(self, tile, address, stride):
        for row, values in enumerate(self.tiles[tile]):
            ctypes.memmove(address + row * stride, values.ctypes.data, len(values))


def product(kind):
    """The instruction that adds the product of two tiles to a third one."""
    multiply = bfloats if kind == "bf16ps" else integers(kind)

    def call(registers, sums, a, b):
        assert len({sums, a, b}) == 3
        operands = [registers.tiles[tile] for tile in (sums, a, b)]
        (rows, width), (a_rows, a_width), (b_rows, b_width) = (tile.shape for tile in operands)
        assert (rows, width) == (a_rows, b_width)
        assert a_width == 4 * b_rows
        multiply(*operands)

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
