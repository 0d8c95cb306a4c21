"""A knob, which is a list of entities to choose from, and knobs with any values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tilewright.error import ArgumentValueError, RecordError
from tilewright.ir.expr import FloatImm, IntImm, StringImm


class Entity:
    """What a knob may be set to. Entities with equal values are equal.

    Attributes:
        code: what kind of entity it is, in records.
    """

    code: ClassVar = ""

    @property
    def value(self) -> Any:
        """Its value, as records have it."""
        raise NotImplementedError(f"{type(self).__name__} does not define value")

    def features(self) -> list[float]:
        """Numbers that a model of the speed can learn from."""
        raise NotImplementedError(f"{type(self).__name__} does not define features")

    def __eq__(self, other: object) -> bool:
        # By their text: 1, 1.0 and True are different values.
        return isinstance(other, Entity) and repr(self) == repr(other) and self.code == other.code

    def __hash__(self) -> int:
        return hash((self.code, repr(self)))

    def __repr__(self) -> str:
        return repr(self.value)


class TransformSpace:
    """A knob: a list of entities, one of which a config has.

    Args:
        entities: those that there are.
        num_output: number of loops that an entity makes of the loops that it is applied to.

    Attributes:
        entities: as above.
        num_output: as above.
    """

    def __init__(self, entities: Sequence[Entity], num_output: int = 0) -> None:
        self.entities = list(entities)
        self.num_output = num_output

    def __len__(self) -> int:
        return len(self.entities)

    def __getitem__(self, index: int) -> Any:
        return self.entities[index]

    def position(self, entity: Entity) -> int | None:
        """Where an entity is in the list; None if it is not there."""
        return next((n for n, own in enumerate(self.entities) if own == entity), None)


class OtherOptionEntity(Entity):
    """A value of any kind, for the template to read as ``cfg["name"].val``.

    Args:
        val: the value.
    """

    code = "ot"

    def __init__(self, val: Any) -> None:
        self.val = val.value if isinstance(val, (IntImm, FloatImm, StringImm)) else val

    @property
    def value(self) -> Any:
        """The value, with lists for tuples."""
        return _as_lists(self.val)

    def features(self) -> list[float]:
        """The value; 0 if it is not a number."""
        return [float(self.val) if isinstance(self.val, (bool, int, float)) else 0.0]


class OtherOptionSpace(TransformSpace):
    """The values that `define_knob` lists.

    Args:
        knob: the name of the knob, for messages.
        candidate: the values: numbers, strings, None, or lists of such.
    """

    def __init__(self, knob: str, candidate: Any) -> None:
        if not isinstance(candidate, (list, tuple, range)):
            raise ArgumentValueError(
                f"define_knob {knob!r}: `candidate` is a list of values, got {candidate!r}"
            )
        entities = [OtherOptionEntity(value) for value in candidate]
        for entity in entities:
            if not is_data(entity.val):
                raise ArgumentValueError(
                    f"define_knob {knob!r}: a candidate is a number, a string, None, or a list of "
                    f"such, which records can hold; got {entity.val!r}"
                )
        super().__init__(entities)

    def __repr__(self) -> str:
        return f"OtherOption({self.entities}) len={len(self)}"


def _as_lists(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_as_lists(item) for item in value]
    return float(value) if isinstance(value, float) else value  # of numpy, too


def is_data(value: Any) -> bool:
    """Whether JSON can hold a value."""
    if isinstance(value, (list, tuple)):
        return all(map(is_data, value))
    return value is None or isinstance(value, (bool, int, float, str))


def listed_integers(code: str, value: Any) -> list[int]:
    """The value of an entity in a record, which is a list of integers.

    Raises:
        RecordError: if it is something else.
    """
    if isinstance(value, (list, tuple)) and all(type(item) is int for item in value):
        return list(value)
    raise RecordError(f"the value of a knob of kind {code!r} is a list of integers, got {value!r}")
