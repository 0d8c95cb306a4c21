"""Random numbers that are a function of a seed and of their place.

The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
2011): ten rounds mix the place of an element and the number of a stream by the seed. So numbers
depend on neither the order nor the number of threads in which they are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright import te
from tilewright.error import DTypeError
from tilewright.ir.arithmetic import floordiv, floormod
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.expr import Expr, Var
from tilewright.te import Tensor
from tilewright.te.extern import extern, loop_nest
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.stmt import BufferStore, LetStmt, Stmt, seq
from tilewright.topi import tag

ROUNDS: Final = 10
WORDS: Final = 4
"""Words of 32 bits that one counter gives."""
_MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)
_WEYL: Final = (0x9E3779B9, 0xBB67AE85)
"""What is added to the two words of the key after each round."""


def random_words(seed: Tensor, count: Any, stream: int = 0) -> Tensor:
    """Random words of 32 bits, ``(ceil(count / 4), 4)`` of uint32.

    Args:
        seed: one integer of 64 bits, without dimensions.
        count: how many are needed at least.
        stream: numbers of different streams are independent, below ``2**32``.

    Raises:
        DTypeError: if the seed is not an integer.
    """
    if not seed.dtype.is_int:
        raise DTypeError(f"random_words: the seed is an integer, got {seed.dtype!s}")
    counters = floordiv(as_expr(count, "int64") + (WORDS - 1), WORDS)

    def program(inputs: list[Buffer], outputs: list[Buffer]) -> Stmt:
        key = cast("uint64", BufferLoad(inputs[0], ()))
        return loop_nest([counters], lambda i: _words(i[0], stream, key, outputs[0]))

    return extern([counters, WORDS], [seed], program, "random_words", "uint32", tag=tag.INJECTIVE)


def _words(place: Expr, stream: int, seed: Expr, result: Buffer) -> Stmt:
    """Store the words of one counter."""
    values: list[tuple[Var, Expr]] = []

    def named(name: str, value: Expr) -> Var:
        values.append((Var(name, value.dtype), value))
        return values[-1][0]

    low, high = (lambda x: cast("uint32", x)), (lambda x: cast("uint32", x >> const(32, "uint64")))
    index = named("index", cast("uint64", place))
    key = [named("key0", low(seed)), named("key1", high(seed))]
    words: list[Expr] = [low(index), high(index), const(stream, "uint32"), const(0, "uint32")]
    for step in range(ROUNDS):
        products = [
            named(f"product{step}_{n}", cast("uint64", words[2 * n]) * const(factor, "uint64"))
            for n, factor in enumerate(_MULTIPLIERS)
        ]
        bumps = [const((weyl * step) % 2**32, "uint32") for weyl in _WEYL]
        words = [
            named(f"word{step}_0", high(products[1]) ^ words[1] ^ (key[0] + bumps[0])),
            low(products[1]),
            named(f"word{step}_2", high(products[0]) ^ words[3] ^ (key[1] + bumps[1])),
            low(products[0]),
        ]
    body = seq(*(BufferStore(result, word, (place, as_expr(n))) for n, word in enumerate(words)))
    for variable, value in reversed(values):
        body = LetStmt(variable, value, body)
    return body


def random_uniform(seed: Tensor, shape: Sequence[Any], stream: int, dtype: str) -> Tensor:
    """Floats from 0 on, below 1, in steps of ``2**-24``; of float64 in steps of ``2**-53``.

    Args:
        seed: see `random_words`, as for the others.
        shape: of the result.
        stream: see `random_words`.
        dtype: of the result. Half precision rounds to at most the largest number below 1.
    """
    wide = 2 if dtype == "float64" else 1
    words = random_words(seed, _count(shape) * wide, stream)

    def element(*place: Any) -> Expr:
        return _narrowed(_unit(words, _flat(shape, place) * wide, wide), dtype)

    return te.compute(shape, element, "random_uniform", tag.INJECTIVE)


def random_normal(seed: Tensor, shape: Sequence[Any], stream: int, dtype: str) -> Tensor:
    """Floats of the normal distribution with mean 0 and variance 1, by the Box-Muller transform.

    See `random_uniform` for the arguments.
    """
    wide = 2 if dtype == "float64" else 1
    words = random_words(seed, _count(shape) * (2 * wide), stream)

    def element(*place: Any) -> Expr:
        first = _flat(shape, place) * (2 * wide)
        radius, turn = (_unit(words, first + n * wide, wide) for n in (0, 1))
        one, circle = const(1.0, radius.dtype), const(6.283185307179586, radius.dtype)
        length = te.sqrt(const(-2.0, radius.dtype) * te.log(one - radius))
        return cast(dtype, length * te.cos(circle * turn))

    return te.compute(shape, element, "random_normal", tag.INJECTIVE)


def random_integers(
    seed: Tensor, shape: Sequence[Any], stream: int, low: int, high: int, dtype: str
) -> Tensor:
    """Integers from `low` on, below `high`.

    Each is the upper part of a product of 64 random bits, of which a number is more frequent than
    another by at most ``(high - low) / 2**32`` of its share.
    """
    words = random_words(seed, _count(shape), stream)
    span = const(high - low, "uint64")

    def element(*place: Any) -> Expr:
        word = cast("uint64", _word(words, _flat(shape, place)))
        return cast(dtype, cast("int64", (word * span) >> const(32, "uint64")) + low)

    return te.compute(shape, element, "random_integers", tag.INJECTIVE)


def _count(shape: Sequence[Any]) -> Expr:
    total = as_expr(1, "int64")
    for extent in shape:
        total = total * cast("int64", as_expr(extent))
    return total


def _flat(shape: Sequence[Any], place: Sequence[Any]) -> Expr:
    """The position of an element in row-major order."""
    position = as_expr(0, "int64")
    for extent, index in zip(shape, place, strict=True):
        position = position * cast("int64", as_expr(extent)) + cast("int64", index)
    return position


def _word(words: Tensor, position: Expr) -> Expr:
    return words(floordiv(position, WORDS), floormod(position, WORDS))


def _unit(words: Tensor, position: Expr, wide: int) -> Expr:
    """A float32 of one word, or a float64 of two, from 0 on, below 1."""
    if wide == 1:
        bits = _word(words, position) >> const(8, "uint32")
        return cast("float32", bits) * const(2.0**-24, "float32")
    upper, lower = (cast("uint64", _word(words, position + n)) for n in (0, 1))
    bits = ((upper << const(32, "uint64")) | lower) >> const(11, "uint64")
    return cast("float64", bits) * const(2.0**-53, "float64")


def _narrowed(value: Expr, dtype: str) -> Expr:
    """`value` in half precision without becoming 1."""
    steps = {"float16": 2.0**11, "bfloat16": 2.0**8}.get(dtype)
    if steps is None:
        return cast(dtype, value)
    scale = const(steps, "float32")
    return cast(dtype, te.floor(value * scale) / scale)
