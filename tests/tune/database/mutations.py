"""JSON values in which something was changed."""

import copy

VALUES = [
    None, True, -1, 0, 1, 2**31, 2**63, 2**70, 1.5, 1e308, float("nan"),
    "", "0", "9", "x", "\ud800", [], [None], [[]], {},
]  # fmt: skip


def places(form):
    """All the places in a JSON value, as the container and the key or position in it."""
    waiting = [form]
    while waiting:
        container = waiting.pop()
        for key in range(len(container)) if isinstance(container, list) else container:
            yield container, key
            if isinstance(container[key], (list, dict)):
                waiting.append(container[key])


def mutated(form, rng):
    """A JSON value with one to three places changed, removed, or replaced by another place."""
    form = copy.deepcopy(form)
    for _ in range(rng.choice((1, 1, 2, 3))):
        found = list(places(form))
        if not found:
            break
        container, key = rng.choice(found)
        old = container[key]
        how = rng.choice(("value", "other place", "removed", "near"))
        if how == "removed":
            del container[key]
        elif how == "other place":
            other, place = rng.choice(found)
            container[key] = copy.deepcopy(other[place])
        elif how == "near" and isinstance(old, str):
            is_number = old.lstrip("-").isdigit()
            container[key] = str(int(old) + rng.choice((-1, 1, 2**40))) if is_number else f"{old}x"
        else:
            container[key] = rng.choice(VALUES)
    return form
