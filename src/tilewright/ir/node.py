"""The declarative node decorator that every IR class is made with.

A node class lists its fields and the *role* of each; `@node` turns the list into a slotted class
with a constructor, `__match_args__`, `children()`, an identity-preserving `map_children(f)`,
`replace(...)` and pickling. Structural equality, hashing, printing and verification read the same
list (`__node_fields__`), so a field is declared once::

    @node
    class For(Stmt):
        loop_var: Var = binds()
        min: Expr = child()
        extent: Expr = child()
        kind: ForKind = attr(ForKind.SERIAL)
        body: Stmt = child()
        span: Span | None = meta(None)

Three class attributes tell structural equality more: `__compare_first__` names fields that define
what other fields mention; `__patterns__` names fields of which all variables are the node's own;
and `__is_reference__` says that nodes of the class are referred to like variables, so that they are
compared by what corresponds, and by contents where they are defined. A fourth, `__node_name__`, is
the name by which rewriters know the class, where another package has a class of the same name. A
class whose constructor takes something else than its fields names the static method that takes
them, in order, by `__from_fields__`.

The constructor takes what stands for the fields, and refuses what does not: a Python number or an
object with `as_expr()` for a sub-node that is annotated `Expr`, what `set_conversion` says for
other classes, the number of a member of an enum, a dtype by name, any sequence for a tuple, None
for a default. Copies by `map_children`, where time matters, have nothing to convert.

Nodes are immutable for the type checker, and at run time too when the environment variable
``TILEWRIGHT_IR_GUARD`` is ``1`` (all tests), which also checks the classes of children. Guarding
every construction would cost as much as the construction itself. `==` is identity on nodes, except
that scalar expressions overload it to build a comparison. A decorated class is re-created to add
its slots, so methods of nodes must not use ``super()`` without arguments.
"""

from __future__ import annotations

import enum
import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.text import Scriptable
from tilewright.providers import provider

if TYPE_CHECKING:
    from typing_extensions import Self, dataclass_transform
else:

    def dataclass_transform(**_options):
        """For the type checker only (Python 3.10 does not have it)."""
        return lambda decorator: decorator


GUARD = os.environ.get("TILEWRIGHT_IR_GUARD") == "1"


class Role(enum.Enum):
    """What a field means to passes that know nothing else about a node."""

    CHILD = "child"
    """A sub-node (or tuple of them, or None): visited, rewritten, compared."""
    BINDS = "binds"
    """A variable or buffer (or tuple of them) whose scope starts here: compared up to renaming."""
    USE = "use"
    """A reference to something bound elsewhere, such as the buffer of a load; not visited."""
    ATTR = "attr"
    """Plain data (numbers, strings, enums, dtypes, mappings of those): compared by value."""
    META = "meta"
    """Names, spans: carried along, never compared."""
    DERIVED = "derived"
    """Computed from the other fields when the node is made; no constructor argument."""


class Field(NamedTuple):
    """A field of a node class."""

    name: str
    role: Role
    many: bool
    """The value is a tuple of nodes."""
    optional: bool
    """The value may be None."""
    default: Any
    source: str
    """The Python expression that gives the value; for an argument, its name."""
    kind: Any = None
    """What the value, or each of them, is an instance of; None where that is not checked."""
    convert: Callable[[Any], Any] | None = None
    """What turns an argument into that, where the field has a way of its own."""
    plain: tuple[type, ...] = ()
    """The classes of a number or string, which constructors do not check."""


class _Declaration(NamedTuple):
    role: Role
    default: Any
    source: str = ""
    convert: Callable[[Any], Any] | None = None


MISSING: Any = object()
_KEEP: Any = object()
_PLAIN_CALLABLES = frozenset({FunctionType, MethodType})


def child(default: Any = MISSING) -> Any:
    """Declare a sub-node; annotate it ``tuple[X, ...]`` or ``X | None`` for those shapes."""
    return _Declaration(Role.CHILD, default)


def binds(default: Any = MISSING, *, convert: Callable[[Any], Any] | None = None) -> Any:
    """Declare a variable or buffer (or tuple of them) whose scope starts at this node.

    Args:
        convert: turns what the constructor gets into one, instead of what `set_conversion` says.
    """
    return _Declaration(Role.BINDS, default, "", convert)


def use(default: Any = MISSING, *, source: str = "") -> Any:
    """Declare a reference to something that is bound elsewhere.

    Args:
        source: the expression, of the arguments of the constructor, that gives the value.
    """
    return _Declaration(Role.USE, default, source)


def attr(default: Any = MISSING, *, source: str = "") -> Any:
    """Declare plain data that is compared by value.

    Args:
        source: the expression, of the arguments of the constructor, that gives the value.
    """
    return _Declaration(Role.ATTR, default, source)


def meta(default: Any = MISSING) -> Any:
    """Declare data that is never compared: a name or a span."""
    return _Declaration(Role.META, default)


def derived(source: str, *, init: Literal[False] = False) -> Any:
    """Declare a field computed by the expression `source` when the node is made."""
    del init
    return _Declaration(Role.DERIVED, MISSING, source)


class Node(Scriptable):
    """Base class of all IR nodes."""

    __slots__ = ()
    __node_fields__: ClassVar[tuple[Field, ...]] = ()
    __from_fields__: ClassVar[str] = ""

    def children(self) -> tuple[Node, ...]:
        """All direct sub-nodes, in the order of the fields."""
        return ()

    def map_children(self, f: Callable[[Any], Any]) -> Any:
        """This node with `f` applied to each child; this same node if nothing changed."""
        del f
        return self

    def replace(self, **changes: Any) -> Any:
        """A copy with the named fields changed."""
        raise TypeError(f"{type(self).__name__} has no fields to replace: {sorted(changes)}")

    def __copy__(self) -> Self:
        """This very node: nodes never change, and variables and buffers are told by identity."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """This very node; to get new variables, say so in a rewrite."""
        del memo
        return self

    def __repr__(self) -> str:
        # While the printer itself is being imported, there is none.
        return getattr(provider("printer"), "node_repr", field_repr)(self)

    def same_as(self, other: object) -> bool:
        """Whether `other` is this very object."""
        return self is other


def field_repr(node: Node) -> str:
    """The class and the fields of `node`: its text where there is no printer."""
    fields = ", ".join(f"{f.name}={getattr(node, f.name)!r}" for f in type(node).__node_fields__)
    return f"{type(node).__name__}({fields})"


NODE_TYPES: dict[str, type[Node]] = {}
"""All concrete node classes by name; names are unique, because rewriters dispatch on them."""

NodeT = TypeVar("NodeT", bound=type)


@dataclass_transform(
    frozen_default=True,
    eq_default=False,
    field_specifiers=(child, binds, use, attr, meta, derived),
)
def node(cls: NodeT) -> NodeT:
    """Turn the declarations of `cls` into a slotted node class (see the module docstring)."""
    inherited: tuple[Field, ...] = getattr(cls, "__node_fields__", ())
    own = tuple(_declared_fields(cls))
    overridden = {field.name for field in own}
    fields = tuple(f for f in inherited if f.name not in overridden) + own
    inherited_names = {field.name for field in inherited}
    namespace = {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__")}
    for field in own:
        namespace.pop(field.name, None)
    namespace["__slots__"] = tuple(f.name for f in own if f.name not in inherited_names)
    namespace["__node_fields__"] = fields
    arguments = tuple(f for f in fields if f.role is not Role.DERIVED)
    namespace["__match_args__"] = tuple(f.name for f in arguments)
    generator = _Generator(cls, fields, arguments)
    for name, method in generator.methods().items():
        namespace.setdefault(name, method)
    if GUARD:
        namespace["__setattr__"] = namespace["__delattr__"] = _refuse_mutation
    result: Any = type(cls)(cls.__name__, cls.__bases__, namespace)
    result.__qualname__ = cls.__qualname__
    generator.owner = result
    if name := node_name(result):
        NODE_TYPES[name] = result
    return result


def node_name(cls: type) -> str:
    """The name by which `NODE_TYPES` knows a node class; empty for a base class."""
    return vars(cls).get("__node_name__", cls.__name__)


def node_type(name: str) -> type[Node] | None:
    """The node class that `NODE_TYPES` knows by a name; None if there is none."""
    if name not in NODE_TYPES:
        provider("graphs")  # the only nodes that are loaded on demand
    return NODE_TYPES.get(name)


def node_of_fields(cls: type[Node], values: Mapping[str, Any]) -> Any:
    """A node of a class with fields from a file; what is not given has its default.

    Raises:
        ArgumentError: if a field is of another class than it has to be.
    """
    checked = _checked_fields(cls)
    for name, value in values.items():
        if name in checked:
            _check_class(cls.__name__, checked[name], value)
    if cls.__from_fields__:
        return getattr(cls, cls.__from_fields__)(*(values[f.name] for f in cls.__node_fields__))
    return cls(**values)


@functools.cache
def _checked_fields(cls: type[Node]) -> Mapping[str, Field]:
    """The fields of which the class says more than the constructor checks."""
    fields = (f for f in cls.__node_fields__ if f.plain or not (f.kind is None or f.optional))
    return {field.name: field for field in fields}


def _check_class(owner: str, field: Field, value: object) -> None:
    """Refuse what the constructor takes without a check, or as "the default"."""
    if field.plain and not isinstance(value, field.plain):
        expected = field.plain[-1].__name__
        raise ArgumentError(f"{owner}: {field.name} is of class {expected}, got {value!r}")
    if value is None and field.kind is not None and not field.optional:
        raise ArgumentError(f"{owner}: {field.name} may not be None")


def _declared_fields(cls: type) -> Iterator[Field]:
    for name, annotation in vars(cls).get("__annotations__", {}).items():
        declaration = vars(cls).get(name)
        if not isinstance(declaration, _Declaration):
            continue
        text = str(annotation)
        many, optional = text.startswith("tuple["), "| None" in text
        default = declaration.default
        source = declaration.source or name
        if text == "DType" and declaration.role is Role.ATTR and not declaration.source:
            # So that callers may name a dtype; one that is a DType costs a comparison.
            source = f"{name} if {name}.__class__ is DType else DType({name})"
        kind = _kind_of(cls, declaration.role, text)
        plain = _PLAIN_CLASSES.get(text, ())
        yield Field(
            name,
            declaration.role,
            many,
            optional,
            default,
            source,
            kind,
            declaration.convert,
            plain,
        )


_PLAIN_CLASSES = {"int": (int,), "bool": (bool,), "float": (int, float), "str": (str,)}
_ANNOTATION = re.compile(r"(?:tuple\[(\w+), \.\.\.\]|(\w+))(?: \| None)?")


def _kind_of(cls: type, role: Role, annotation: str) -> Any:
    """What the annotation of a field demands: a class of nodes, an enum, or `Attributes`."""
    match = _ANNOTATION.fullmatch(annotation)
    if match is None or role in (Role.META, Role.DERIVED):
        return None
    found = vars(sys.modules[cls.__module__]).get(match[1] or match[2])
    if annotation == "Attributes":
        return found
    wanted = enum.Enum if role is Role.ATTR else Node
    return found if isinstance(found, type) and issubclass(found, wanted) else None


_CONVERSIONS: dict[Any, Callable[[Any], Any]] = {}


def set_conversion(kind: Any, convert: Callable[[Any], Any]) -> None:
    """Make `convert` turn what constructors get for fields of a kind into that kind."""
    _CONVERSIONS[kind] = convert


def _converted(owner: str, field: Field, value: Any) -> Any:
    """What the field holds, of what a constructor got for it."""
    if value is None and field.default is not MISSING:
        return field.default
    place = f"{owner}: {field.name}"
    if not field.many:
        return _one_converted(field, place, value)
    items = value if isinstance(value, Iterable) else (value,)
    return tuple(_one_converted(field, place, item) for item in items)


def _one_converted(field: Field, place: str, value: Any) -> Any:
    kind = field.kind
    convert = field.convert or _CONVERSIONS.get(kind)
    is_class = issubclass(type(kind), type)  # `isinstance` says so of `list[int]`, in Python 3.10
    if is_class and isinstance(value, kind):
        return value
    if convert is not None:
        result = convert(value)
        if not is_class or isinstance(result, kind):
            return result
    elif issubclass(kind, enum.Enum):
        try:
            return kind(value)
        except ValueError:
            members = ", ".join(f"{member.value} ({member.name})" for member in kind)
            raise ArgumentValueError(f"{place} is one of {members}; got {value!r}") from None
    raise ArgumentError(f"{place} is of type {kind.__name__}, got {value!r}")


class _Generator:
    """Compiles the methods of a node class, each when it is first used: most programs use few."""

    def __init__(
        self, declared: type, fields: tuple[Field, ...], arguments: tuple[Field, ...]
    ) -> None:
        self._declared, self._fields, self._arguments = declared, fields, arguments
        self.owner = declared

    def methods(self) -> dict[str, _Generated]:
        """The methods by name."""
        return {name: _Generated(self, name) for name in self._sources}

    def compiled(self, name: str) -> Any:
        """The method of that name, which the class has from now on."""
        scope, methods = self._scope, dict[str, Any]()
        source = self._sources[name]()
        exec(compile(source, f"<node {self.owner.__name__}>", "exec"), scope, methods)
        if "_make" in methods:
            scope["_make"] = methods["_make"]
        method = methods[name]
        method.__qualname__ = f"{self.owner.__name__}.{name}"
        setattr(self.owner, name, method)
        return method

    @property
    def _sources(self) -> dict[str, Callable[[], str]]:
        cls, arguments = self._declared, self._arguments
        return {
            "__init__": lambda: _init_source(cls.__name__, self._fields, arguments),
            "children": lambda: _children_source(arguments),
            "map_children": lambda: "\n".join(
                (_make_source(cls, self._fields, arguments), _map_children_source(arguments))
            ),
            "replace": lambda: _replace_source(cls, arguments),
            "__reduce__": lambda: _reduce_source(cls, arguments),
        }

    @functools.cached_property
    def _scope(self) -> dict[str, Any]:
        """What the methods refer to."""
        scope: dict[str, Any] = dict(vars(sys.modules[self._declared.__module__]))
        scope |= {"_cls": self.owner, "_KEEP": _KEEP, "_map_tuple": map_tuple}
        scope |= {"_new": object.__new__, "_Node": Node, "_refuse_child": _refuse_child}
        scope |= {"_PLAIN": _PLAIN_CALLABLES, "_convert": _converted}
        scope["_owner"] = self.owner.__name__
        for field in self._fields:
            scope[f"_set_{field.name}"] = getattr(self.owner, field.name).__set__
        for field in self._arguments:
            scope |= {f"_field_{field.name}": field, f"_kind_{field.name}": field.kind}
            if field.default is not MISSING:
                scope[f"_default_{field.name}"] = field.default
        return scope


class _Generated:
    """Stands for a method of a class until that is used."""

    def __init__(self, generator: _Generator, name: str) -> None:
        self._generator, self._name = generator, name

    def __get__(self, instance: object, owner: type) -> Any:
        return self._generator.compiled(self._name).__get__(instance, owner)


def _init_source(name: str, fields: tuple[Field, ...], arguments: tuple[Field, ...]) -> str:
    parameters = ", ".join(
        f.name if f.default is MISSING else f"{f.name}=_default_{f.name}" for f in arguments
    )
    lines = [f"def __init__(self, {parameters}):"]
    for field in fields:
        lines += [f"    {line}" for line in _conversion_source(field)]
        if GUARD and field.role is Role.CHILD and field.kind is None:
            lines += [f"    {line}" for line in _check_source(field)]
        lines.append(f"    {_assignment(field, field.source)}")
    return "\n".join(lines) if fields else "def __init__(self): pass"


def _assignment(field: Field, value: str) -> str:
    """Under the guard, by the descriptor of the slot, which `__setattr__` knows nothing of."""
    return f"_set_{field.name}(self, {value})" if GUARD else f"self.{field.name} = {value}"


def _check_source(field: Field) -> list[str]:
    """Lines that complain about a child that is not what its field demands."""
    name = field.name
    kind = "_Node" if field.kind is None else f"_kind_{name}"
    complain = f"_refuse_child(_owner, _field_{name}, {name})"
    given = f"{name} is not None and " if field.optional else ""
    if not field.many:
        return [f"if {given}not isinstance({name}, {kind}): {complain}"]
    return [
        f"if {given}{name}.__class__ is not tuple: {complain}",
        f"for _item in {name} or ():",
        f"    if not isinstance(_item, {kind}): {complain}",
    ]


def _conversion_source(field: Field) -> list[str]:
    """Lines that turn what an argument may be into what the field holds."""
    name, kind = field.name, f"_kind_{field.name}"
    convert = f"{name} = _convert(_owner, _field_{name}, {name})"
    given = f"{name} is not None and " if field.optional else ""
    if field.role is Role.ATTR and field.kind is not None:
        if not isinstance(field.kind, type):  # `Attributes`
            return [f"if {name} or {name} is None: {convert}"]
        is_right = f"{name}.__class__ is {kind}"
        return [f"if {given}not {is_right}: {convert}"]
    if not field.many:
        return [f"if {given}not isinstance({name}, {kind}): {convert}"] if field.kind else []
    if field.role not in (Role.CHILD, Role.BINDS):
        return []
    if field.kind is None:
        return [f"if {given}{name}.__class__ is not tuple: {name} = tuple({name})"]
    lines = [f"if {given}{name}.__class__ is not tuple: {convert}"]
    lines += [f"elif {given.removesuffix(' and ')}:" if given else "else:"]
    lines += [f"    for _item in {name}:", f"        if not isinstance(_item, {kind}):"]
    return [*lines, f"            {convert}", "            break"]


def _make_source(cls: type, fields: tuple[Field, ...], arguments: tuple[Field, ...]) -> str:
    """What makes a node of fields that are known to be right."""
    names = ", ".join(f.name for f in arguments)
    if "__init__" in vars(cls) and not vars(cls).get("__from_fields__"):
        return f"def _make({names}): return {_constructor(cls)}({names})"
    lines = [f"def _make({names}):", "    self = _new(_cls)"]
    for field in fields:
        if GUARD and field.role is Role.CHILD:
            lines += [f"    {line}" for line in _check_source(field)]
        value = field.source if field.role is Role.DERIVED else field.name
        lines.append(f"    {_assignment(field, value)}")
    return "\n".join([*lines, "    return self"])


def _constructor(cls: type) -> str:
    """What takes the fields of a node, in the generated source."""
    name = vars(cls).get("__from_fields__")
    return f"_cls.{name}" if name else "_cls"


def _children_of(arguments: tuple[Field, ...]) -> list[Field]:
    return [f for f in arguments if f.role is Role.CHILD]


def _children_source(arguments: tuple[Field, ...]) -> str:
    parts: list[str] = []
    for field in _children_of(arguments):
        item = f"*self.{field.name}" if field.many else f"self.{field.name}"
        if field.optional:
            some = item.lstrip("*") if field.many else f"({item},)"
            item = f"*({some} if self.{field.name} is not None else ())"
        parts.append(item)
    return f"def children(self): return ({', '.join(parts)}{',' if parts else ''})"


def _map_children_source(arguments: tuple[Field, ...]) -> str:
    children = _children_of(arguments)
    if not children:
        return "def map_children(self, f): return self"
    # A call of a bound method takes no stack of C, unlike one of an object with `__call__`.
    lines = ["def map_children(self, f):", "    if f.__class__ not in _PLAIN: f = f.__call__"]
    for field in children:
        name = field.name
        value = f"_map_tuple(f, self.{name})" if field.many else f"f(self.{name})"
        if field.optional:
            value = f"None if self.{name} is None else {value}"
        lines.append(f"    {name} = {value}")
    same = " and ".join(f"{f.name} is self.{f.name}" for f in children)
    names = {f.name for f in children}
    values = ", ".join(f.name if f.name in names else f"self.{f.name}" for f in arguments)
    return "\n".join([*lines, f"    if {same}: return self", f"    return _make({values})"])


def _replace_source(cls: type, arguments: tuple[Field, ...]) -> str:
    parameters = ", ".join(f"{f.name}=_KEEP" for f in arguments)
    values = ", ".join(f"self.{f.name} if {f.name} is _KEEP else {f.name}" for f in arguments)
    star = f", *, {parameters}" if parameters else ""
    return f"def replace(self{star}): return {_constructor(cls)}({values})"


def _reduce_source(cls: type, arguments: tuple[Field, ...]) -> str:
    values = "".join(f"self.{f.name}, " for f in arguments)
    return f"def __reduce__(self): return {_constructor(cls)}, ({values})"


def map_tuple(f: Callable[[Any], Any], items: tuple[Any, ...]) -> tuple[Any, ...]:
    """`items` with `f` applied to each; the same tuple if nothing changed."""
    for position, item in enumerate(items):
        mapped = f(item)
        if mapped is not item:
            return (*items[:position], mapped, *[f(item) for item in items[position + 1 :]])
    return items


def _refuse_child(owner: str, field: Field, value: object) -> None:
    kind = "node" if field.kind is None else field.kind.__name__
    expected = f"a tuple of {kind}s" if field.many else f"a {kind}"
    raise TypeError(f"{owner}.{field.name} must be {expected}, got {value!r}")


def _refuse_mutation(self: Node, name: str, *value: object) -> None:
    raise AttributeError(f"{type(self).__name__}.{name}: IR nodes are immutable; use replace()")


class Span(NamedTuple):
    """A range of a source file; lines count from 1, columns from 0, and the end is exclusive."""

    filename: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}:{self.column + 1}"
