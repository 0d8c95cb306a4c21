"""`PassContext`: options of what happens between a program and its code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tilewright.error import ArgumentError, ArgumentValueError, did_you_mean
from tilewright.ir.instrument import PassInstrument, called, tell_all
from tilewright.ir.recursion import ScopeStack

OPTIONS: Final[Mapping[str, type]] = {
    "tir.add_lower_pass": list,
    "tir.default_schedule": bool,
    "tir.disable_assert": bool,
    "tir.disable_cse_tir": bool,
    "tir.disable_storage_rewrite": bool,
    "tir.disable_vectorize": bool,
    "tir.instrument_bound_checkers": bool,
    "tir.noalias": bool,
    "relay.backend.use_meta_schedule": bool,
}
"""The options that there are, with the types of their values."""

_DEFAULTS: Final[Mapping[str, Any]] = {
    "tir.add_lower_pass": (),
    "tir.default_schedule": True,
    "tir.disable_assert": False,
    "tir.disable_cse_tir": False,
    "tir.disable_storage_rewrite": False,
    "tir.disable_vectorize": False,
    "tir.instrument_bound_checkers": False,
    "tir.noalias": True,
    "relay.backend.use_meta_schedule": False,
}

_DISABLING: Final[Mapping[str, str]] = {
    "tir.disable_cse_tir": "tir.CommonSubexprElimTIR",
    "tir.disable_storage_rewrite": "tir.StorageRewrite",
}
"""Options that mean the same as the name of a pass in `disabled_pass`."""

PHASES: Final = 4
"""Number of phases of lowering in which passes can be added."""

DEFAULT_OPT_LEVEL: Final = 2

_scopes: ScopeStack[PassContext] = ScopeStack()


class PassContext:
    """Options for what is built inside of a ``with`` statement.

    ``tir.default_schedule``: whether functions without a schedule of their own get one; by default
    they do::

        with tvm.transform.PassContext(config={"tir.default_schedule": False}):
            module = tvm.build(func)  # with the loops that the program says

    ``tir.instrument_bound_checkers``: whether compiled code checks each index when it is used, and
    raises a `BoundsError` for one that is outside of its buffer.

    ``tir.disable_assert``: whether the assertions that programs state are left out of the code.

    ``tir.disable_vectorize``: whether loops that a schedule vectorises run one iteration at a time,
    and no others are vectorised. ``tir.disable_cse_tir`` and ``tir.disable_storage_rewrite`` leave
    out the passes ``tir.CommonSubexprElimTIR`` and ``tir.StorageRewrite``.

    ``tir.noalias``: whether the promise of functions that their buffers do not overlap, the
    attribute of the same name, is used; by default it is.

    ``tir.add_lower_pass``: passes that run while a program is lowered, each as a pair of a phase
    and a pass. Phase 0 is before blocks become loops, 1 after memory has become one-dimensional, 2
    after memory has been planned, and 3 at the end of what `tvm.lower` does.

    ``relay.backend.use_meta_schedule``: whether records of the tuner are looked up for what is
    built; see `tilewright.meta_schedule.is_meta_schedule_enabled`.

    What is not given is as in the context around.

    Attributes:
        opt_level: a `Sequential` leaves out passes of a higher level; 2 outside of all contexts.
            With 0, `tvm.build` and `relax.build` do what is necessary, and no more.
        required_pass: names of passes that it runs whatever their level.
        disabled_pass: names of passes that it leaves out.
        instruments: what watches the passes; see `tilewright.ir.instrument`.
        config: the options that are given here, by name.

    Raises:
        ArgumentValueError: for an unknown option.
        ArgumentError: for an argument, or the value of an option, of the wrong type.
    """

    def __init__(
        self,
        opt_level: int | None = None,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Sequence[str] | None = None,
        instruments: Sequence[PassInstrument] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        around = _scopes.innermost()
        if not isinstance(opt_level, int | None):
            raise ArgumentError(f"PassContext: opt_level is an integer, got {opt_level!r}")
        _check_names("required_pass", required_pass)
        _check_names("disabled_pass", disabled_pass)
        _check_instruments(instruments)
        _check_options(config)
        self._given = (opt_level, required_pass, disabled_pass, instruments)
        self.config = dict(config or {})
        self._complete(around)

    def _complete(self, around: PassContext | None) -> None:
        """Take what is not given from the context around."""
        opt_level, required, disabled, instruments = self._given
        if around is not None:
            opt_level = around.opt_level if opt_level is None else opt_level
            required = around.required_pass if required is None else required
            disabled = around.disabled_pass if disabled is None else disabled
            instruments = around.instruments if instruments is None else instruments
        self.opt_level = DEFAULT_OPT_LEVEL if opt_level is None else opt_level
        self.required_pass = tuple(required or ())
        self.disabled_pass = tuple(disabled or ())
        self.instruments = list(instruments or ())
        self._values = {**(_DEFAULTS if around is None else around._values), **self.config}
        self._left_out = set(self.disabled_pass)
        for option, disabled in _DISABLING.items():
            if self._values[option]:
                self._left_out.add(disabled)

    def __enter__(self) -> PassContext:
        self._complete(_scopes.innermost())
        _scopes.enter(self)
        entered: list[PassInstrument] = []
        try:
            for instrument in self._own_instruments():
                called(instrument, "enter_pass_ctx")
                entered.append(instrument)
        except BaseException:
            _scopes.leave()
            tell_all(entered, "exit_pass_ctx")
            raise
        return self

    def __exit__(self, *_: object) -> None:
        _scopes.leave()
        tell_all(self._own_instruments(), "exit_pass_ctx")

    def _own_instruments(self) -> list[PassInstrument]:
        """Those that this context has brought, which it also tells of its beginning and end."""
        return [] if self._given[3] is None else self.instruments

    def override_instruments(self, instruments: Sequence[PassInstrument] | None) -> None:
        """Watch the passes that are still to come by other instruments."""
        _check_instruments(instruments)
        tell_all(self._own_instruments(), "exit_pass_ctx")
        self._given = (*self._given[:3], instruments or ())
        self.instruments = list(instruments or ())
        for instrument in self.instruments:
            called(instrument, "enter_pass_ctx")

    @staticmethod
    def current() -> PassContext:
        """The innermost context, or one with all options as they are by default."""
        return _scopes.innermost() or PassContext()

    def alone(self) -> PassContext:
        """A context with the same options wherever it is entered, which nobody watches."""
        return PassContext(**self.arguments())

    def arguments(self) -> dict[str, Any]:
        """The arguments for such a context."""
        return {
            "opt_level": self.opt_level,
            "required_pass": self.required_pass,
            "disabled_pass": self.disabled_pass,
            "instruments": (),
            "config": self._values,
        }

    def option(self, name: str) -> Any:
        """The value of an option inside of this context."""
        return self._values[name]

    def runs(self, name: str, opt_level: int) -> bool:
        """Whether a `Sequential` runs the pass of this name and level."""
        if name in self._left_out:
            return False
        return opt_level <= self.opt_level or name in self.required_pass

    def fingerprint(self) -> tuple[str, ...] | None:
        """All that passes depend on; None where they have effects, or call code of a user."""
        if self.instruments or self.option("tir.add_lower_pass"):
            return None
        options = (f"{option}={value}" for option, value in self._values.items())
        levels = (str(self.opt_level), *self.required_pass, "-", *self.disabled_pass)
        return (*options, *levels)


def _check_names(argument: str, names: Any) -> None:
    is_list = isinstance(names, Sequence) and not isinstance(names, str)
    if names is not None and not (is_list and all(isinstance(name, str) for name in names)):
        raise ArgumentError(f"PassContext: {argument} is a list of names of passes, got {names!r}")


def _check_instruments(instruments: object) -> None:
    if not isinstance(instruments, Sequence | None):
        raise ArgumentError(f"PassContext: instruments is a list of them, got {instruments!r}")
    for instrument in instruments or ():
        if not isinstance(instrument, PassInstrument):
            hint = (
                "make one of it"
                if isinstance(instrument, type) and issubclass(instrument, PassInstrument)
                else "decorate its class with tilewright.ir.instrument.pass_instrument"
            )
            raise ArgumentError(f"PassContext: {instrument!r} is not an instrument; {hint}")


def _check_options(config: object) -> None:
    if not isinstance(config, Mapping | None):
        raise ArgumentError(f"PassContext: config is a dictionary of options, got {config!r}")
    for name, value in (config or {}).items():
        wanted = OPTIONS.get(name)
        if wanted is None:
            hint = did_you_mean(name, OPTIONS)
            raise ArgumentValueError(f"PassContext: there is no option {name!r}{hint}")
        if wanted is list:
            _check_added_passes(name, value)
        elif not isinstance(value, wanted):
            raise ArgumentError(f"PassContext: {name} is a {wanted.__name__}, got {value!r}")


def _check_added_passes(option: str, value: object) -> None:
    from tilewright.ir.transform import Pass

    if not isinstance(value, (list, tuple)):
        raise ArgumentError(f"PassContext: {option} is a list of pairs, got {value!r}")
    for item in value:
        if not isinstance(item, (list, tuple)) or len(item) != 2:
            raise ArgumentError(f"PassContext: {option} has pairs (phase, pass), got {item!r}")
        phase, added = item
        if not isinstance(phase, int) or not 0 <= phase < PHASES:
            raise ArgumentError(
                f"PassContext: {option}: a phase is a number from 0 to {PHASES - 1}, got {phase!r}"
            )
        if not isinstance(added, Pass):
            raise ArgumentError(
                f"PassContext: {option}: {added!r} is not a pass; "
                "tvm.tir.transform.prim_func_pass makes one of a function"
            )
