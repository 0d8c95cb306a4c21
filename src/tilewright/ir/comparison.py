"""The comparison behind structural equality: one comparer is compiled for each node class.

The comparers follow from the roles of the fields, so a new node class needs nothing here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from tilewright.ir.expr import SizeVar, Var
from tilewright.ir.module import IRModule
from tilewright.ir.node import Field, Node, Role
from tilewright.ir.op import Op

Comparer = Callable[[Any, Any, "Comparison"], bool]
VariablesOf = Callable[[Any], list[Var]]


class Comparison:
    """One comparison: which variables and buffers correspond, and where the sides differ.

    Attributes:
        path: after a failure, the steps to the difference, innermost first.
        values: after a failure, both values there.
    """

    __slots__ = ("map_free_vars", "pairs", "path", "reverse", "values")

    def __init__(self, map_free_vars: bool) -> None:
        self.map_free_vars = map_free_vars
        self.path: list[str | int] = []
        self.values: tuple[Any, Any] = (None, None)
        self.pairs: dict[Any, Any] = {}
        self.reverse: dict[Any, Any] = {}

    def equal(self, a: Any, b: Any) -> bool:
        """Whether two values are equal, given what corresponds so far."""
        cls = a.__class__
        comparer = COMPARERS.get(cls) or comparer_of(cls)
        if cls is not b.__class__ and (
            comparer not in _ACROSS_CLASSES or comparer_of(b.__class__) is not comparer
        ):
            return self.fail(a, b)
        return comparer(a, b, self)

    def fail(self, a: Any, b: Any) -> bool:
        """Note two values that differ; False."""
        self.path.clear()
        self.values = (a, b)
        return False

    def fail_at(self, step: str | int, a: Any, b: Any) -> bool:
        """Note two values that differ in a field; False."""
        self.fail(a, b)
        self.path.append(step)
        return False

    def sequence(self, a: Any, b: Any) -> bool:
        """Compare two sequences item by item."""
        return self._items(a, b, self.equal)

    def definitions(self, a: Any, b: Any) -> bool:
        """Let the variables and buffers of two sequences correspond."""
        return self._items(a, b, self.define)

    def _items(self, a: Any, b: Any, compare: Callable[[Any, Any], bool]) -> bool:
        for position, (x, y) in enumerate(zip(a, b, strict=False)):
            if not compare(x, y):
                self.path.append(position)
                return False
        return len(a) == len(b) or self.fail_at("length", len(a), len(b))

    # --- variables, and nodes that are referred to like variables -----------------------------

    def define(self, a: Any, b: Any) -> bool:
        """Let two variables or buffers correspond from here on."""
        if a.__class__ is not b.__class__:
            return self.fail(a, b)
        contents = _contents_of(a.__class__)
        if contents is not None:
            if not self._defining(contents, a, b):
                return False
        elif a.dtype is not b.dtype or not _same_type(a.type_annotation, b.type_annotation):
            return self.fail(a, b)
        # A variable may be bound again, where a tree holds the same subtree twice.
        self.reverse.pop(self.pairs.get(a), None)
        self.pairs.pop(self.reverse.get(b), None)
        self.pairs[a] = b
        self.reverse[b] = a
        return True

    def pattern(self, a: Any, b: Any) -> bool:
        """Compare values that define the variables that they mention first."""
        return self._defining(_any, a, b)

    def with_own_variables(self, compare: Comparer, own: VariablesOf, a: Any, b: Any) -> bool:
        """Compare nodes that have variables of their own, which mean nothing outside of them."""
        mine, others = own(a), own(b)
        pairs = {var: self.pairs.pop(var) for var in mine if var in self.pairs}
        reverse = {var: self.reverse.pop(var) for var in others if var in self.reverse}
        equal = compare(a, b, self)
        for var in mine:
            self.reverse.pop(self.pairs.pop(var, None), None)
        for var in others:
            self.pairs.pop(self.reverse.pop(var, None), None)
        self.pairs |= pairs
        self.reverse |= reverse
        return equal

    def _defining(self, compare: Comparer, a: Any, b: Any) -> bool:
        """Compare contents in which variables that are new are defined."""
        before, self.map_free_vars = self.map_free_vars, True
        equal = compare(a, b, self)
        self.map_free_vars = before
        return equal

    def variable(self, a: Any, b: Any) -> bool:
        """Compare two uses of variables."""
        found = self.pairs.get(a)
        if found is not None or b in self.reverse:
            return found is b or self.fail(a, b)
        if not self.map_free_vars:
            return a is b or self.fail(a, b)
        return self.define(a, b)

    def reference(self, a: Any, b: Any) -> bool:
        """Compare two uses of buffers; the first use of an undeclared one declares it."""
        found, known = self.pairs.get(a), self.reverse.get(b)
        if found is b:
            return True
        if (found is None or self._is_stale(a, found)) and (
            known is None or self._is_stale(known, b)
        ):
            return self._share_memory(a, b) and self.define(a, b)
        return self.fail(a, b)

    def _share_memory(self, a: Any, b: Any) -> bool:
        """Whether buffers that nothing declares are views of corresponding memory."""
        if self.map_free_vars or a is b:
            return True
        memory = bound_fields(a.__class__)
        if not memory:
            return self.fail(a, b)
        return all(self.variable(getattr(a, name), getattr(b, name)) for name in memory)

    def _is_stale(self, a: Any, b: Any) -> bool:
        """Whether the memory of a corresponding pair has been defined anew since."""
        pointers = bound_fields(a.__class__)
        return any(self.pairs.get(getattr(a, n)) is not getattr(b, n) for n in pointers)


def _same_type(a: Any, b: Any) -> bool:
    return a is b or (a is not None and b is not None and Comparison(False).equal(a, b))


# --- comparers by class ---------------------------------------------------------------------


def _mapping(a: Mapping[Any, Any], b: Mapping[Any, Any], c: Comparison) -> bool:
    for key, value in a.items():
        other = c.pairs.get(key, key) if isinstance(key, Var) else key
        if other not in b:
            return c.fail_at(_step(key), value, None)
        # The buffers of parameters are defined where these are.
        is_definition = isinstance(key, Var) and is_reference(value.__class__)
        if not (c.define if is_definition else c.equal)(value, b[other]):
            c.path.append(_step(key))
            return False
    if len(a) == len(b):
        return True
    extra = next(k for k in b if (c.reverse.get(k, k) if isinstance(k, Var) else k) not in a)
    return c.fail_at(_step(extra), None, b[extra])


def _step(key: Any) -> str:
    return str(getattr(key, "name_hint", None) or getattr(key, "name", key))


def _sequence(a: Any, b: Any, c: Comparison) -> bool:
    return c.sequence(a, b)


def _any(a: Any, b: Any, c: Comparison) -> bool:
    return c.equal(a, b)


def _string(a: str, b: str, c: Comparison) -> bool:
    return a == b or c.fail(a, b)


def _float(a: float, b: float, c: Comparison) -> bool:
    if a == b:
        return math.copysign(1, a) == math.copysign(1, b) or c.fail(a, b)
    return (a != a and b != b) or c.fail(a, b)


def _array(a: Any, b: Any, c: Comparison) -> bool:
    if a is b:
        return True
    same = a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return same or c.fail(a, b)


def _value(a: Any, b: Any, c: Comparison) -> bool:
    return a is b or (a == b) is True or c.fail(a, b)


def _module(a: IRModule, b: IRModule, c: Comparison) -> bool:
    for name in ("attrs", "global_infos", "functions"):
        compare = _functions if name == "functions" else _any
        if not compare(getattr(a, name), getattr(b, name), c):
            c.path.append(name)
            return False
    return True


def _functions(a: Mapping[Any, Any], b: Mapping[Any, Any], c: Comparison) -> bool:
    """Compare the functions of modules; variables of one mean nothing in another."""
    for name, function in a.items():
        pair = {name: function}
        c.pairs, c.reverse = {}, {}
        if not _mapping(pair, {name: b[name]} if name in b else {}, c):
            return False
    extra = next((name for name in b if name not in a), None)
    return extra is None or c.fail_at(_step(extra), None, b[extra])


def _variable(a: Var, b: Var, c: Comparison) -> bool:
    return c.variable(a, b)


def _reference(a: Any, b: Any, c: Comparison) -> bool:
    return c.reference(a, b)


_ACROSS_CLASSES: frozenset[Comparer] = frozenset({_mapping, _sequence, _string})
"""Comparers for which the classes of the two sides may differ."""

COMPARERS: dict[type, Comparer] = {
    Var: _variable,
    SizeVar: _variable,
    IRModule: _module,
    tuple: _sequence,
    list: _sequence,
    float: _float,
}


def comparer_of(cls: type) -> Comparer:
    """The comparer of a class, made when it is first needed."""
    comparer = COMPARERS.get(cls)
    if comparer is None:
        comparer = COMPARERS[cls] = _make_comparer(cls)
    return comparer


def _make_comparer(cls: type) -> Comparer:
    if issubclass(cls, Op):
        return _value
    if issubclass(cls, Node):
        return _reference if is_reference(cls) else _compile(cls, "define")
    if issubclass(cls, str):
        return _string
    if issubclass(cls, Mapping):
        return _mapping
    if hasattr(cls, "tobytes") and hasattr(cls, "shape"):
        return _array
    return _value


_CONTENTS: dict[type, Comparer | None] = {}


def _contents_of(cls: type) -> Comparer | None:
    """How to compare the contents of a node that is referred to like a variable, else None."""
    try:
        return _CONTENTS[cls]
    except KeyError:
        contents = _CONTENTS[cls] = _compile(cls, "variable") if is_reference(cls) else None
        return contents


def is_reference(cls: type) -> bool:
    """Whether nodes of the class are referred to like variables, as buffers are."""
    return getattr(cls, "__is_reference__", False)


def bound_fields(cls: type) -> list[str]:
    """The names of the fields of a node class that define variables."""
    fields: tuple[Field, ...] = cls.__node_fields__
    return [field.name for field in fields if field.role is Role.BINDS]


def compared_fields(cls: type) -> list[Field]:
    """The fields of a node class that count for equality, in the order of comparison."""
    fields: tuple[Field, ...] = cls.__node_fields__
    first: tuple[str, ...] = getattr(cls, "__compare_first__", ())
    compared = [f for f in fields if f.role not in (Role.META, Role.DERIVED)]
    return sorted(compared, key=lambda f: first.index(f.name) if f.name in first else len(first))


def own_variables(cls: type) -> VariablesOf | None:
    """What finds the variables that a node of a class defines by patterns; None without any."""
    patterns: tuple[str, ...] = getattr(cls, "__patterns__", ())
    if not patterns:
        return None

    def find(node: Any) -> list[Var]:
        found: dict[Var, None] = {}
        stack = [item for name in patterns for item in getattr(node, name) or ()]
        while stack:
            item = stack.pop()
            if isinstance(item, Var):
                found[item] = None
            stack.extend(item.children())
        return list(found)

    return find


_SIMPLE = frozenset({"int", "str", "bool", "DType"})
"""Annotations of fields whose values `!=` compares rightly."""


def annotation_of(cls: type, field: str) -> str:
    """The annotation of a field, as written."""
    for base in cls.__mro__:
        annotation = vars(base).get("__annotations__", {}).get(field)
        if annotation is not None:
            return str(annotation)
    return ""


def _compile(cls: type, definition: str) -> Comparer:
    """Compile the comparer of a node class; `definition` compares the variables it binds."""
    fields = compared_fields(cls)
    patterns: tuple[str, ...] = getattr(cls, "__patterns__", ())
    is_leaf = all(f.role is Role.ATTR for f in fields)
    lines = ["def compare(a, b, c):"]
    for field in fields:
        x, y = f"a.{field.name}", f"b.{field.name}"
        if field.role is Role.BINDS:
            test = f"c.{'definitions' if field.many else definition}({x}, {y})"
        elif field.name in patterns:
            test = f"c.pattern({x}, {y})"
        elif field.role is Role.CHILD and field.many and not field.optional:
            test = f"c.sequence({x}, {y})"
        elif annotation_of(cls, field.name) in _SIMPLE:
            test = f"{x} == {y} or c.fail({x}, {y})"
        else:
            test = f"c.equal({x}, {y})"
        # A difference in a constant is shown as the constant, not as one of its fields.
        on_failure = "c.fail(a, b)" if is_leaf else f"c.path.append({field.name!r})"
        lines.append(f"    if not ({test}):")
        lines.append(f"        {on_failure}")
        lines.append("        return False")
    lines.append("    return True")
    scope: dict[str, Any] = {}
    exec(compile("\n".join(lines), f"<compare {cls.__name__}>", "exec"), scope)
    compare: Comparer = scope["compare"]
    own = own_variables(cls)
    return compare if own is None else lambda a, b, c: c.with_own_variables(compare, own, a, b)
