"""Generation of code: what all backends share.

Compilers insert calls of C library functions: ``memset`` for a loop that writes zeros, ``exp`` for
an intrinsic. Functions of a module with such a name are therefore renamed.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from tilewright.ir.node import Node

Emitter = Callable[[Any, Any], Any]
"""Takes the state of the function that is being written, and a node."""

EmitterT = TypeVar("EmitterT", bound=Emitter)


class EmitterTable:
    """A decorator that registers emitters, by the class of a node or the name of an operator::

        emits = EmitterTable()

        @emits("tir.likely")
        def _likely(emitter: FunctionEmitter, call: Call) -> str: ...

    Args:
        base: a table whose emitters are taken where this one has none of its own.

    Attributes:
        nodes: emitters of expressions and statements.
        calls: emitters of calls.
    """

    def __init__(self, base: EmitterTable | None = None) -> None:
        self._nodes: dict[type[Node], Emitter] = {}
        self._calls: dict[str, Emitter] = {}
        self.nodes: Mapping[type[Node], Emitter] = self._nodes
        self.calls: Mapping[str, Emitter] = self._calls
        if base is not None:
            self.nodes = ChainMap(self._nodes, base.nodes)  # type: ignore[arg-type]
            self.calls = ChainMap(self._calls, base.calls)  # type: ignore[arg-type]

    def __call__(self, *kinds: type[Node] | str) -> Callable[[EmitterT], EmitterT]:
        def register(emitter: EmitterT) -> EmitterT:
            for kind in kinds:
                if isinstance(kind, str):
                    self._calls[kind] = emitter
                else:
                    self._nodes[kind] = emitter
            return emitter

        return register


_MATH: Final = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 exp10 expm1
    fabs fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p
    log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round
    scalbln scalbn sin sincos sinh sqrt tan tanh tgamma trunc
""".split()  # noqa: SIM905, a table of words reads best as words
_OTHERS: Final = """
    abort abs aligned_alloc atexit bcmp bsearch bzero calloc clock div exit fclose fflush fopen
    fprintf fputc fputs fread free fseek ftell fwrite getc getenv index labs llabs malloc
    memalign memchr memcmp memcpy memmove memset posix_memalign printf putc putchar puts qsort rand
    read realloc select signal snprintf sprintf srand stat strcat strchr strcmp strcpy strlen
    strncmp strncpy system time write
""".split()  # noqa: SIM905

MATH: Final = frozenset(f"{name}{kind}" for name in _MATH for kind in ("", "f", "l"))
"""Mathematical functions of the C library, of all widths."""

_NAMES: Final = MATH | frozenset(_OTHERS)


def own_name(function: str) -> str:
    """The name of a module's function in the code: not that of a C library function."""
    return f"{function}.own" if function in _NAMES else function


NOT_REGISTERED: Final = (
    "%s: there is no registered function named '%s': define it in the module, or register it with "
    "tilewright.register_func('%s', f)"
)
"""The error of a call by name, a printf format of the caller and of the name, twice."""

NO_HOST: Final = (
    "%s calls the registered function '%s', which only a host of tvm-ffi, such as Python, can have"
)
"""The error of a call by name in a plain C program."""

AMX_REFUSED: Final = (
    "the system does not let this process use AMX; compile for a processor without it"
)
"""The error of code that uses tile registers."""
