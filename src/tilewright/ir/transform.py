"""`PassContext`: options of what happens between a program and its code."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.scope_stack import ScopeStack

OPTIONS: Final[Mapping[str, type]] = {
    "tir.default_schedule": bool,
    "relay.backend.use_meta_schedule": bool,
}
"""The options that there are, with the types of their values."""

_DEFAULTS: Final[Mapping[str, Any]] = {
    "tir.default_schedule": True,
    "relay.backend.use_meta_schedule": False,
}

_scopes: ScopeStack[PassContext] = ScopeStack()


class PassContext:
    """Options for what is built inside of a ``with`` statement.

    ``tir.default_schedule``: whether functions without a schedule of their own get one; by default
    they do::

        with tvm.transform.PassContext(config={"tir.default_schedule": False}):
            module = tvm.build(func)  # with the loops that the program says

    ``relay.backend.use_meta_schedule``: whether records of the tuner are looked up for what is
    built; see `tilewright.meta_schedule.is_meta_schedule_enabled`.

    Args:
        opt_level: kept for old programs; one level of optimisation exists.
        config: options by name; others are as in the context around.

    Raises:
        ArgumentValueError: for an unknown option.
        ArgumentError: for a value of the wrong type.
    """

    def __init__(self, opt_level: int = 2, config: Mapping[str, Any] | None = None) -> None:
        self.opt_level = opt_level
        self.config = dict(config or {})
        for name, value in self.config.items():
            wanted = OPTIONS.get(name)
            if wanted is None:
                close = difflib.get_close_matches(str(name), OPTIONS, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise ArgumentValueError(f"PassContext: there is no option {name!r}{hint}")
            if not isinstance(value, wanted):
                raise ArgumentError(f"PassContext: {name} is a {wanted.__name__}, got {value!r}")
        self._values = dict(_DEFAULTS)

    def __enter__(self) -> PassContext:
        self._values = {**PassContext.current()._values, **self.config}
        _scopes.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        _scopes.leave()

    @staticmethod
    def current() -> PassContext:
        """The innermost context, or one with all options as they are by default."""
        return _scopes.innermost() or PassContext()

    def option(self, name: str) -> Any:
        """The value of an option inside of this context."""
        return self._values[name]
