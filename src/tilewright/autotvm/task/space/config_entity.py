"""`ConfigEntity`: one setting of the knobs of a template."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tilewright.autotvm.task.space.annotate import AnnotateEntity
from tilewright.autotvm.task.space.axis import VirtualAxis
from tilewright.autotvm.task.space.config import Config
from tilewright.autotvm.task.space.knob import Entity, OtherOptionEntity, is_data, listed_integers
from tilewright.autotvm.task.space.reorder import ReorderEntity
from tilewright.autotvm.task.space.split import SplitEntity
from tilewright.error import RecordError, UnknownNameError


class ConfigEntity(Config):
    """A value for each knob.

    Args:
        index: of the config in its space.
        code_hash: None; records of other systems may have a string.
        entity_map: the values by the names of the knobs.

    Attributes:
        index: as above.
        code_hash: as above.
    """

    def __init__(
        self, index: int | None, code_hash: str | None, entity_map: Mapping[str, Entity]
    ) -> None:
        super().__init__()
        self.index = index
        self.code_hash = code_hash
        self._entity_map = dict(entity_map)

    def _define(self, name: str, count: int, make: Callable[[], Any]) -> list[VirtualAxis]:
        if name not in self:
            raise UnknownNameError(
                f"the config has no knob {name!r}: it is one of another task, or the template "
                "defines the knob with some values of other knobs only; define it with all"
            )
        return super()._define(name, count, make)

    def to_json_dict(self) -> dict[str, Any]:
        """The config as lists, strings and numbers.

        Returns:
            ``{"index": ..., "code_hash": ..., "entity": [[name, code, value], ...]}``, where the
            code is ``"sp"``, ``"re"``, ``"an"`` or ``"ot"``.
        """
        entities = [[name, e.code, e.value] for name, e in self._entity_map.items()]
        return {"index": self.index, "code_hash": self.code_hash, "entity": entities}

    @staticmethod
    def from_json_dict(json_dict: Any) -> ConfigEntity:
        """The config that `to_json_dict` wrote.

        Raises:
            RecordError: for anything else.
        """
        try:
            entities = {
                str(name): _entity(code, value) for name, code, value in json_dict["entity"]
            }
            index, code_hash = json_dict.get("index"), json_dict.get("code_hash")
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            if isinstance(error, RecordError):
                raise
            raise RecordError(
                "a config as JSON is {'index': number, 'entity': [[name, code, value], ...]}; got "
                f"{json_dict!r}"
            ) from None
        if index is not None and type(index) is not int:
            raise RecordError(f"the index of a config is an integer, got {index!r}")
        return ConfigEntity(index, None if code_hash is None else str(code_hash), entities)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConfigEntity) and self._entity_map == other._entity_map

    def __hash__(self) -> int:
        return hash(tuple(self._entity_map.items()))

    def __repr__(self) -> str:
        return f"{self._values_text()},{self.code_hash},{self.index}"


def _split(value: Any) -> SplitEntity:
    return SplitEntity(listed_integers("sp", value))


def _reorder(value: Any) -> ReorderEntity:
    perm = listed_integers("re", value)
    if sorted(perm) != list(range(len(perm))):
        raise RecordError(f"the value of a knob of kind 're' is an order of loops, got {value!r}")
    return ReorderEntity(perm)


def _annotate(value: Any) -> AnnotateEntity:
    if not isinstance(value, list) or not all(type(item) in (str, int) for item in value):
        raise RecordError(f"the value of a knob of kind 'an' is a list of names, got {value!r}")
    return AnnotateEntity(value)


def _other(value: Any) -> OtherOptionEntity:
    if not is_data(value):
        raise RecordError(f"the value of a knob of kind 'ot' is data, got {value!r}")
    return OtherOptionEntity(value)


_KINDS: Final[dict[str, Any]] = {"sp": _split, "re": _reorder, "an": _annotate, "ot": _other}
"""What makes an entity of its value, by its code."""


def _entity(code: Any, value: Any) -> Entity:
    if code not in _KINDS:
        raise RecordError(f"the kind of a knob is one of {[*_KINDS]}, got {code!r}")
    return _KINDS[code](value)
