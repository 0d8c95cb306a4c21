"""Tiles by tensor cores: functions of CUDA C around instructions of PTX.

The instructions are those of the PTX manual: ``wmma`` in chapter "Warp-level matrix instructions
using wmma", and ``ldmatrix`` and ``mma.sync``, with who has which element of a tile, in the chapter
"using mma".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tilewright.error import CodegenError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Call, StringImm
from tilewright.target.codegen.c.emitter import Text
from tilewright.target.codegen.c.expressions import lvalue
from tilewright.target.codegen.c.types import value_type
from tilewright.target.codegen.device.emitter import KernelEmitter, emits
from tilewright.tir.tile_operations import TileOperation
from tilewright.tir.transform.device.fragments import (
    INSTRUCTION,
    register_type,
    registers_of,
)

_TYPES: Final = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "int8": "s8", "uint8": "u8",
    "int32": "s32",
}  # fmt: skip
_MATRIX_BYTES: Final = 16
"""Bytes of a row of the matrices that ``ldmatrix`` loads."""


class Tile(NamedTuple):
    """What a helper function does.

    Attributes:
        operation: the operation.
        dtypes: of the elements: of the result and the operands of a product, or of the fragment.
    """

    operation: TileOperation
    dtypes: tuple[DType, ...]

    @staticmethod
    def from_text(text: str) -> Tile:
        """What the first argument of the instruction says."""
        words = text.split()
        count = 3 if words[0] == "multiply" else 1
        operation = TileOperation.from_text(" ".join(words[:-count]))
        return Tile(operation, tuple(map(DType, words[-count:])))

    @property
    def shape(self) -> str:
        """Such as ``m16n16k16``."""
        return f"m{self.operation.m}n{self.operation.n}k{self.operation.k}"

    @property
    def name(self) -> str:
        """The name of the helper function."""
        operation = self.operation
        role = "" if operation.name == "multiply" else f"_{operation.role}"
        types = "".join(f"_{ptx_type(dtype, role)}" for role, dtype in self.parts)
        layouts = "".join(f"_{layout}" for layout in operation.layouts)
        return f"tw_{operation.family}_{operation.name}{role}_{self.shape}{layouts}{types}"

    @property
    def parts(self) -> list[tuple[str, DType]]:
        """Role and type of each fragment."""
        roles = "cab" if self.operation.name == "multiply" else self.operation.role
        return list(zip(roles, self.dtypes, strict=True))

    def count(self, role: str) -> int:
        """Number of registers of a fragment."""
        return registers_of(self.operation, role, dict(self.parts)[role])


def ptx_type(dtype: DType, role: str) -> str:
    """The name of the type of elements in instructions."""
    return "tf32" if role != "c" and dtype == "float32" else _TYPES[str(dtype)]


@emits(INSTRUCTION)
def _tile_instruction(emitter: KernelEmitter, call: Call) -> Text:
    if emitter.target != "cuda":
        raise CodegenError(f"target {emitter.target}: there are no instructions for tiles")
    text, *arguments = call.args
    assert isinstance(text, StringImm)
    tile = Tile.from_text(text.value)
    emitter.helper(tile.name, _WRITERS[tile.operation.family, tile.operation.name](tile))
    codes = [_argument(emitter, argument) for argument in arguments]
    return Text(f"{tile.name}({', '.join(codes)})")


def _argument(emitter: KernelEmitter, argument: Any) -> str:
    if getattr(getattr(argument, "op", None), "name", "") != "tir.address_of":
        return emitter.code(argument)
    load = argument.args[0]
    emitter.read.add(emitter.names[load.buffer.data])
    return f"&{lvalue(emitter, load)}"


# --- helper functions ---------------------------------------------------------------------------


def _numbers(start: int, count: int) -> str:
    """Operands of an instruction, side by side."""
    return f"{{{', '.join(f'%{start + n}' for n in range(count))}}}"


def _operands(constraint: str, name: str, count: int) -> str:
    return ", ".join(f'"{constraint}"({name}[{n}])' for n in range(count))


def _constraint(role: str, dtype: DType) -> str:
    return "f" if register_type(dtype, role).is_float else "r"


def _pointer(role: str, dtype: DType, name: str) -> str:
    return f"{value_type(register_type(dtype, role))}* {name}"


def _function(name: str, parameters: Sequence[str], *lines: str) -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"static inline void {name}({', '.join(parameters)}) {{\n{body}\n}}\n"


def _wmma_memory(tile: Tile) -> str:
    """Registers that are loaded from a tile, or stored to it."""
    ((role, dtype),), (layout,) = tile.parts, tile.operation.layouts
    count, constraint = tile.count(role), _constraint(role, dtype)
    places = [_numbers(0, count), f"[%{count}]"]
    pointer, outputs, inputs = _pointer(role, dtype, "registers"), "", '"l"(tile), "r"(stride)'
    if tile.operation.name == "load":
        part, outputs, memory = role, _operands(f"={constraint}", "registers", count), "const void*"
    else:
        part, pointer, memory = "d", f"const {pointer}", "void*"
        places.reverse()
        inputs = f"{_operands(constraint, 'registers', count)}, {inputs}"
    kind = f"{layout}.{tile.shape}.{ptx_type(dtype, role)}"
    return _function(
        tile.name,
        [pointer, f"{memory} tile", "int stride"],
        f'asm volatile("wmma.{tile.operation.name}.{part}.sync.aligned.{kind} '
        f'{", ".join(places)}, %{count + 1};"',
        f"    : {outputs}",
        f'    : {inputs} : "memory");',
    )


def multiply_tiles(tile: Tile) -> str:
    """The helper function that adds the product of two tiles to a third."""
    operation, counts = tile.operation, [tile.count(role) for role in "cab"]
    result, a, b = (ptx_type(dtype, role) for role, dtype in tile.parts)
    layouts = ".".join(operation.layouts)
    if operation.family == "wmma":
        types = f"{result}.{result}" if a == "f16" else f"{result}.{a}.{b}.{result}"
        name = f"wmma.mma.sync.aligned.{layouts}.{tile.shape}.{types}"
    else:
        name = f"mma.sync.aligned.{tile.shape}.row.col.{result}.{a}.{b}.{result}"
    sums, left, right = (_numbers(sum(counts[:place]), count) for place, count in enumerate(counts))
    constraint = _constraint("c", tile.dtypes[0])
    return _function(
        tile.name,
        [
            _pointer("c", tile.dtypes[0], "sums"),
            *(f"const {_pointer(role, dtype, role)}" for role, dtype in tile.parts[1:]),
        ],
        f'asm volatile("{name} {sums}, {left}, {right}, {sums};"',
        f"    : {_operands('+' + constraint, 'sums', counts[0])}",
        f"    : {_operands('r', 'a', counts[1])}, {_operands('r', 'b', counts[2])});",
    )


def _mma_load(tile: Tile) -> str:
    """Matrices of 8 rows of 16 bytes, of which each thread gives the address of a row."""
    ((role, dtype),), (layout,) = tile.parts, tile.operation.layouts
    count, row = tile.count(role), _MATRIX_BYTES // dtype.itemsize
    # The operand of which the instruction wants columns, given by rows, is turned round.
    is_turned = role == "b" and layout == "row"
    across = count if role == "b" and not is_turned else max(count // 2, 1)
    rows = count // across * 8
    place = f"threadIdx.x % {rows} * stride"
    if across > 1:
        place += f" + threadIdx.x / {rows} % {across} * {row}"
    return _function(
        tile.name,
        [_pointer(role, dtype, "to"), "const void* tile", "int stride"],
        f"const void* row = (const char*)tile + ({place}) * {dtype.itemsize};",
        *_ldmatrix(count, is_turned),
    )


def load_matrices(name: str, count: int, is_turned: bool) -> str:
    """The helper function that loads matrices, of whose rows each thread gives the address of one.

    Args:
        name: of the function.
        count: number of matrices.
        is_turned: whether columns become rows.
    """
    return _function(name, ["uint32_t* to", "const void* row"], *_ldmatrix(count, is_turned))


def _ldmatrix(count: int, is_turned: bool) -> tuple[str, ...]:
    name = f"ldmatrix.sync.aligned.m8n8.x{count}{'.trans' if is_turned else ''}.b16"
    return (
        f'asm volatile("{name} {_numbers(0, count)}, [%{count}];"',
        f"    : {_operands('=r', 'to', count)}",
        '    : "l"(row) : "memory");',
    )


def _mma_store(tile: Tile) -> str:
    """Each thread has two neighbours of a row, and two of the row 8 rows below."""
    ((role, dtype),), (layout,) = tile.parts, tile.operation.layouts
    is_packed = dtype.bits == 16
    if layout == "row":  # both neighbours at once
        pair = "uint32_t" if is_packed else "float2" if dtype.is_float else "int2"
        value = "from[n]" if is_packed else f"{pair}{{from[2 * n], from[2 * n + 1]}}"
        place = f"((row + n * 8) * stride + column) * {dtype.itemsize}"
        count, store = 2, f"*({pair}*)((char*)tile + {place}) = {value};"
    else:
        element = "uint16_t" if is_packed else value_type(dtype)
        value = "(uint16_t)(from[n / 2] >> n % 2 * 16)" if is_packed else "from[n]"
        place = "(column + n % 2) * stride + row + n / 2 * 8"
        count, store = 4, f"(({element}*)tile)[{place}] = {value};"
    return _function(
        tile.name,
        [f"const {_pointer(role, dtype, 'from')}", "void* tile", "int stride"],
        "int row = threadIdx.x / 4, column = threadIdx.x % 4 * 2;",
        f"for (int n = 0; n < {count}; ++n) {{",
        f"  {store}",
        "}",
    )


_WRITERS: Final = {
    ("wmma", "load"): _wmma_memory,
    ("wmma", "store"): _wmma_memory,
    ("wmma", "multiply"): multiply_tiles,
    ("mma", "load"): _mma_load,
    ("mma", "store"): _mma_store,
    ("mma", "multiply"): multiply_tiles,
}
