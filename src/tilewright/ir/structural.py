"""Structural equality, and a hash that is the same in every process and on every machine.

Two trees are equal if they differ in names and spans at most: variables and buffers correspond by
where they are defined (alpha equivalence). For the hash, a tree is written as a sequence of tokens
in which variables and buffers are numbered by where they are defined, or first used, and the tokens
are hashed by BLAKE2b (RFC 7693). One function is compiled for each node class.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tilewright.error import StructuralMismatchError
from tilewright.ir.comparison import (
    Comparison,
    VariablesOf,
    annotation_of,
    bound_fields,
    compared_fields,
    is_reference,
    own_variables,
)
from tilewright.ir.expr import SizeVar, Var
from tilewright.ir.module import BaseFunc, GlobalVar, IRModule
from tilewright.ir.node import Node, Role
from tilewright.ir.op import Op
from tilewright.ir.recursion import deep_recursion


class Mismatch(NamedTuple):
    """The first difference of two trees.

    Attributes:
        path: where it is.
        lhs: what the first tree has there.
        rhs: what the second tree has there.
    """

    path: Path
    lhs: Any
    rhs: Any

    def __str__(self) -> str:
        return f"{path_text(self.path)}: {_short(self.lhs)} vs {_short(self.rhs)}"


@deep_recursion
def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two nodes or modules (or tuples, dictionaries, numbers ...) are equal.

    Args:
        lhs: one side.
        rhs: the other side.
        map_free_vars: whether variables that neither side defines may correspond too; otherwise
            they are equal only if they are the same object.
    """
    return lhs is rhs or Comparison(map_free_vars).equal(lhs, rhs)


@deep_recursion
def get_first_structural_mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool = False
) -> Mismatch | None:
    """The first difference of two trees in the order of comparison, or None if they are equal."""
    comparison = Comparison(map_free_vars)
    if lhs is rhs or comparison.equal(lhs, rhs):
        return None
    return Mismatch(tuple(reversed(comparison.path)), *comparison.values)


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise `StructuralMismatchError` with the path of the first difference, if there is one."""
    mismatch = get_first_structural_mismatch(lhs, rhs, map_free_vars)
    if mismatch is not None:
        sides = [
            f"{name}:\n{_side(tree, mismatch.path)}" for name, tree in (("lhs", lhs), ("rhs", rhs))
        ]
        raise StructuralMismatchError(f"not structurally equal at {mismatch}\n" + "\n".join(sides))


def assert_structural_equal_ignore_global_symbol(
    lhs: BaseFunc, rhs: BaseFunc, map_free_vars: bool = False
) -> None:
    """`assert_structural_equal` of two functions whose exported names may differ."""
    assert_structural_equal(
        lhs.without_attr("global_symbol"), rhs.without_attr("global_symbol"), map_free_vars
    )


def path_text(path: Path) -> str:
    """A path as it would be written in Python, from ``<root>`` on."""
    parts = ["<root>"]
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif step.isidentifier():
            parts.append(f".{step}")
        else:
            parts.append(f"[{step!r}]")
    return "".join(parts)


def _short(value: Any) -> str:
    text = repr(value)
    first, newline, _ = text.partition("\n")
    return f"{first} ..." if newline or len(first) > 200 else first


def _side(tree: Any, path: Path) -> str:
    script = getattr(tree, "script", None)
    return script(path_to_underline=[path]) if script is not None else repr(tree)


@deep_recursion
def structural_hash(obj: Any, map_free_vars: bool = True) -> int:
    """A number of 64 bits that is the same for structurally equal objects.

    Args:
        obj: a node, a module, or plain values.
        map_free_vars: always in effect: free variables are numbered as they appear, so trees that
            are equal up to free variables have the same hash too.
    """
    del map_free_vars
    tokens = Tokens()
    tokens.add(obj)
    text = "\0".join(tokens.items).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


class Tokens:
    """The tokens of a tree.

    Attributes:
        items: the tokens so far.
        numbers: the number of each variable and buffer.
    """

    __slots__ = ("_count", "_pointers", "items", "numbers")

    def __init__(self) -> None:
        self.items: list[str] = []
        self.numbers: dict[Any, int] = {}
        self._pointers: dict[Any, list[int | None]] = {}
        self._count = 0

    def add(self, value: Any) -> None:
        """Append the tokens of a value."""
        cls = value.__class__
        (_WRITERS.get(cls) or _writer_of(cls))(value, self)

    def sequence(self, values: Any) -> None:
        """Append the tokens of a sequence."""
        self.items.append(f"({len(values)}")
        for value in values:
            cls = value.__class__
            (_WRITERS.get(cls) or _writer_of(cls))(value, self)

    def definitions(self, values: Any) -> None:
        """Append the tokens of a sequence of definitions."""
        self.items.append(f"({len(values)}")
        for value in values:
            self.define(value)

    def define(self, value: Any) -> None:
        """Number a variable or buffer from here on."""
        cls = value.__class__
        if is_reference(cls):
            _contents_of(cls)(value, self)
            self._pointers[value] = self._pointer_numbers(value)
        else:
            self.items.append(f"{cls.__name__}:{value.dtype}")
            if value.type_annotation is not None:
                self.add(value.type_annotation)
        self._count += 1
        self.numbers[value] = self._count

    def with_own(self, write: Writer, own: VariablesOf, value: Any) -> None:
        """Append the tokens of a node that has variables of its own."""
        variables = own(value)
        before = {var: self.numbers.pop(var) for var in variables if var in self.numbers}
        write(value, self)
        for var in variables:
            self.numbers.pop(var, None)
        self.numbers |= before

    def variable(self, value: Var) -> None:
        """Append the number of a variable; a new one is defined by its first use."""
        number = self.numbers.get(value)
        if number is None:
            self.define(value)
        else:
            self.items.append(f"v{number}")

    def reference(self, value: Any) -> None:
        """Append the number of a buffer; a new one is defined by its first use."""
        number = self.numbers.get(value)
        if number is None or self._pointers[value] != self._pointer_numbers(value):
            self.define(value)
        else:
            self.items.append(f"v{number}")

    def _pointer_numbers(self, value: Any) -> list[int | None]:
        return [self.numbers.get(getattr(value, name)) for name in bound_fields(value.__class__)]


# --- writers by class -----------------------------------------------------------------------

Writer = Callable[[Any, Tokens], None]


def _mapping(value: Mapping[Any, Any], tokens: Tokens) -> None:
    tokens.items.append(f"{{{len(value)}")
    numbers = tokens.numbers

    def order(key: Any) -> tuple[int, str]:
        if isinstance(key, Var):
            return numbers.get(key, 0), ""
        return 0, key.name_hint if isinstance(key, GlobalVar) else str(key)

    for key in sorted(value, key=order):
        tokens.add(key)
        tokens.add(value[key])


def _module(value: IRModule, tokens: Tokens) -> None:
    tokens.items.append("IRModule")
    tokens.add(value.attrs)
    tokens.add(value.global_infos)
    tokens.items.append(f"{{{len(value.functions)}")
    for name in sorted(value.functions, key=lambda name: name.name_hint):
        tokens.numbers.clear()  # variables of one function mean nothing in another
        tokens.add(name)
        tokens.add(value.functions[name])


def _array(value: Any, tokens: Tokens) -> None:
    digest = hashlib.blake2b(value.tobytes(), digest_size=16).hexdigest()
    tokens.items.append(f"array:{value.dtype}:{value.shape}:{digest}")


def _plain(value: Any, tokens: Tokens) -> None:
    """An object compared by its own `==`: its class is all that is known to be stable."""
    text = str(value) if getattr(value, "is_attribute", False) else ""
    tokens.items.append(f"{type(value).__name__}:{text}")


_WRITERS: dict[type, Writer] = {
    Var: lambda value, tokens: tokens.variable(value),
    SizeVar: lambda value, tokens: tokens.variable(value),
    Op: lambda value, tokens: tokens.items.append(value.name),
    IRModule: _module,
    tuple: lambda value, tokens: tokens.sequence(value),
    list: lambda value, tokens: tokens.sequence(value),
    type(None): lambda value, tokens: tokens.items.append("None"),
    bool: lambda value, tokens: tokens.items.append(str(value)),
    int: lambda value, tokens: tokens.items.append(f"i{value}"),
    float: lambda value, tokens: tokens.items.append(f"f{value!r}"),
}


def _writer_of(cls: type) -> Writer:
    """The writer of a class, made when it is first needed."""
    writer = _WRITERS.get(cls)
    if writer is None:
        writer = _WRITERS[cls] = _make_writer(cls)
    return writer


def _make_writer(cls: type) -> Writer:
    if issubclass(cls, Node):
        if is_reference(cls):
            return lambda value, tokens: tokens.reference(value)
        return _compile(cls, "define")
    if issubclass(cls, str):
        return lambda value, tokens: tokens.items.append(f"s{len(value)}:{value}")
    if issubclass(cls, enum.Enum):
        return lambda value, tokens: tokens.items.append(f"{cls.__name__}.{value.name}")
    if issubclass(cls, Mapping):
        return _mapping
    if hasattr(cls, "tobytes") and hasattr(cls, "shape"):
        return _array
    return _plain


_CONTENTS: dict[type, Writer] = {}


def _contents_of(cls: type) -> Writer:
    """How to write the contents of a node that is referred to like a variable."""
    writer = _CONTENTS.get(cls)
    if writer is None:
        writer = _CONTENTS[cls] = _compile(cls, "variable")
    return writer


_TEXT_OF = {"int": "i{}", "DType": "{}", "str": "s{}"}
"""Formats of fields whose values are written without a look at their class."""


def _compile(cls: type, definition: str) -> Writer:
    """Compile the writer of a node class; `definition` writes the variables it binds."""
    leading = [cls.__name__]
    lines: list[str] = []
    fields = compared_fields(cls)
    while fields and annotation_of(cls, fields[0].name) in _TEXT_OF:
        field = fields.pop(0)
        form = _TEXT_OF[annotation_of(cls, field.name)]
        leading.append(form.format(f"{{value.{field.name}}}"))
    lines.append(f"    tokens.items.append(f{':'.join(leading)!r})")
    for field in fields:
        source = f"value.{field.name}"
        if field.role is Role.BINDS:
            call = f"{'definitions' if field.many else definition}({source})"
        elif field.role is Role.CHILD and field.many and not field.optional:
            call = f"sequence({source})"
        else:
            call = f"add({source})"
        lines.append(f"    tokens.{call}")
    scope: dict[str, Any] = {}
    source = "\n".join(["def write(value, tokens):", *lines])
    exec(compile(source, f"<hash {cls.__name__}>", "exec"), scope)
    write: Writer = scope["write"]
    own = own_variables(cls)
    return write if own is None else lambda value, tokens: tokens.with_own(write, own, value)


Path = tuple[str | int, ...]
"""Attribute names, positions in tuples, and keys of dictionaries, from the root on."""
