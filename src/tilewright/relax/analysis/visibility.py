"""What is known at each place of a graph function, and errors that name the place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from tilewright.arith import Analyzer
from tilewright.error import VerifyError, did_you_mean
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Var as Size
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.node import Span
from tilewright.ir.rewrite import walk
from tilewright.relax.expr import DataflowVar, Var
from tilewright.relax.sizes import assume_sizes, defined_sizes_of, free_sizes_of
from tilewright.relax.struct_info import ObjectStructInfo, StructInfo
from tilewright.relax.struct_info_relation import BaseCheckResult, struct_info_base_check


class Visibility:
    """The variables, sizes and functions that may be used where a check has come to.

    Attributes:
        module: where functions are found by name; None if that is not known.
        bound: all variables that have been bound anywhere, and the function of each.
        place: where in it, for messages.
        span: where that was written.
    """

    def __init__(self, module: IRModule | None) -> None:
        self.module = module
        self.bound: dict[Var, str] = {}
        self.begin("", None)

    def begin(self, name: str, span: Span | None) -> None:
        """A function of the module begins."""
        self.name, self.place, self.span = name, "", span
        self.visible: set[Var] = set()
        self.sizes: set[Size] = set()
        self.analyzer = Analyzer()

    def fail(self, rule: str, span: Span | None = None) -> NoReturn:
        """Raise the error for a broken rule at the current place."""
        where = span or self.span
        written = f" ({where})" if where is not None else ""
        error = VerifyError(f"{self.name} is malformed{self.place}: {rule}{written}")
        error.rule, error.span = rule, where
        raise error

    @contextmanager
    def at(self, place: str, span: Span | None) -> Iterator[None]:
        """Say where errors are from now on."""
        before = self.place, self.span
        self.place, self.span = place, span or self.span
        yield
        self.place, self.span = before

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is bound inside is not known afterwards."""
        before = self.visible, self.sizes
        self.visible, self.sizes = set(self.visible), set(self.sizes)
        yield
        self.visible, self.sizes = before

    # --- variables and functions ----------------------------------------------------------------

    def bind(self, var: Var) -> None:
        """Check the variable of a binding, or a parameter, and make it visible."""
        if var in self.bound:
            where = "" if self.bound[var] == self.name else f" in {self.bound[var]}, too"
            self.fail(f"variable {var.name_hint} is bound twice{where}")
        if var.struct_info is None:
            self.fail(f"variable {var.name_hint} has no struct info")
        self.struct_info(var.struct_info)
        self.bound[var] = self.name
        self.visible.add(var)

    def use(self, var: Var) -> None:
        """Check the use of a variable."""
        if var in self.visible:
            return
        if isinstance(var, DataflowVar) and self.bound.get(var) == self.name:
            self.fail(
                f"variable {var.name_hint} is known in its dataflow block only: list it in "
                "R.output to use it here"
            )
        self.fail(f"variable {var.name_hint} is used, but not bound before")

    def function_name(self, name: GlobalVar) -> None:
        """Check the name of a function of the module."""
        if self.module is None or name in self.module:
            return
        names = [var.name_hint for var in self.module.functions]
        hint = did_you_mean(name.name_hint, names)
        self.fail(f"the module has no function {name.name_hint!r}{hint}")

    # --- struct info ------------------------------------------------------------------------

    def define_sizes(self, info: StructInfo) -> None:
        """Make known the sizes that a value defines."""
        defined = [size for size in defined_sizes_of(info) if size not in self.sizes]
        self.sizes.update(defined)
        assume_sizes(self.analyzer, defined)

    def struct_info(self, info: StructInfo | None) -> None:
        """Check that the sizes, and the variables as shapes, in struct info are defined."""
        if info is None or isinstance(info, ObjectStructInfo):
            return
        for node in walk(info):
            if isinstance(node, Var):
                self.use(node)
        for size in free_sizes_of(info):
            if size not in self.sizes:
                if size.dtype is not INT64:
                    self.fail(
                        f"{size.name} is not a symbolic size: it is an {size.dtype!s}, not int64"
                    )
                self.fail(
                    f"the symbolic size {size.name} is not defined here: by the shape of a "
                    "parameter, where it stands alone, or by R.match_cast"
                )

    def contradicts(self, said: StructInfo, found: StructInfo) -> bool:
        """Whether a value that has the struct info `found` cannot have `said`."""
        return self.compare(said, found) is BaseCheckResult.FAIL_L0

    def compare(self, said: StructInfo, found: StructInfo) -> BaseCheckResult:
        """Whether a value that has the struct info `found` has `said`."""
        return struct_info_base_check(said, found, self.analyzer)
