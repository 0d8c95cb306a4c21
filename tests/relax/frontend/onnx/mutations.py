"""Models with random mistakes: in the bytes of a file, and in the fields of messages."""

import random

from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.message import DecodeError, Message
from onnx import ModelProto

NUMBERS = (0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63))
TEXTS = (
    "", "x", "y", "w", "a", "../w.bin", "/etc/passwd", "n" * 9999, "Conv", "Loop", "If", "Reshape",
    "Concat", "own", "F", "link.bin", "\0", "n+1", "9", "é",
)  # fmt: skip


def mutated(proto: ModelProto, draw: random.Random) -> bytes:
    """The bytes of a model with some mistakes."""
    if draw.random() < 0.4:
        return _mutated_bytes(bytearray(proto.SerializeToString()), draw)
    copy = ModelProto()
    copy.CopyFrom(proto)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        _mutate_message(draw.choice(_messages(copy)), draw)
    return copy.SerializeToString()


def _mutated_bytes(data: bytearray, draw: random.Random) -> bytes:
    for _ in range(draw.choice((1, 1, 2, 8))):
        at = draw.randrange(len(data))
        match draw.randrange(4):
            case 0:
                data[at] ^= 1 << draw.randrange(8)
            case 1:
                data[at] = draw.randrange(256)
            case 2:
                del data[at : at + draw.randrange(1, 9)]
            case 3:
                data[at:at] = data[draw.randrange(len(data)) :][: draw.randrange(1, 40)]
        if not data:
            return b""
    return bytes(data)


def _messages(root: Message) -> list[Message]:
    """A message and all inside of it."""
    found = [root]
    for field, value in root.ListFields():
        if field.type == Field.TYPE_MESSAGE:
            for part in value if _is_repeated(value) else [value]:
                found += _messages(part)
    return found


def _is_repeated(value: object) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | bytes | Message)


def _mutate_message(message: Message, draw: random.Random) -> None:
    """Change, remove, repeat or exchange what is in one field."""
    present = [field for field, _ in message.ListFields()]
    field = draw.choice(present or list(message.DESCRIPTOR.fields))
    value = getattr(message, field.name)
    try:
        if _is_repeated(value):
            _mutate_list(value, field, draw)
        elif field.type == Field.TYPE_MESSAGE or draw.random() < 0.2:
            message.ClearField(field.name)
        else:
            setattr(message, field.name, _scalar(field, value, draw))
    except (ValueError, TypeError, OverflowError, DecodeError):
        message.ClearField(field.name)


def _mutate_list(items, field, draw: random.Random) -> None:
    action = draw.randrange(4) if len(items) else 3
    at = draw.randrange(len(items)) if len(items) else 0
    if action == 0:
        del items[at]
    elif action == 1:
        items.append(items[at])
    elif action == 2 and len(items) > 1:
        kept = list(items)
        draw.shuffle(kept)
        del items[:]
        items.extend(kept)
    elif field.type == Field.TYPE_MESSAGE:
        _mutate_message(items[at] if len(items) else items.add(), draw)
    elif len(items):
        items[at] = _scalar(field, items[at], draw)
    else:
        items.append(_scalar(field, None, draw))


def _scalar(field, value, draw: random.Random):
    if field.type == Field.TYPE_STRING:
        return draw.choice(TEXTS)
    if field.type == Field.TYPE_BYTES:
        return _mutated_bytes(bytearray(value or b"x"), draw)
    if field.type in (Field.TYPE_FLOAT, Field.TYPE_DOUBLE):
        return draw.choice((0.0, -1.0, 1e38, float("inf"), float("nan")))
    return draw.choice((*NUMBERS, (value or 0) + draw.choice((-1, 1))))
