"""Calls that make objects for the host, and that find constants outside of the program."""

from __future__ import annotations

from tilewright.ir.expr import Call
from tilewright.target.codegen.llvm.dot_products import DotProducts
from tilewright.target.codegen.llvm.objects import (
    COMPACT,
    HAS_PACKED,
    NEW_ARRAY,
    NEW_TUPLE,
    NEW_VIEW,
    OWN,
    RELEASE,
)
from tilewright.target.codegen.llvm.types import value_type


class ObjectCalls(DotProducts):
    """Adds them to the expressions."""

    def call_lookup_param(self, call: Call) -> str:
        return self.module.param(call.args[0].value)  # type: ignore[attr-defined]

    def call_new_array(self, call: Call) -> str:
        return self._object_function(NEW_ARRAY, call)

    def call_new_tuple(self, call: Call) -> str:
        return self._object_function(NEW_TUPLE, call)

    def call_release_objects(self, call: Call) -> str:
        return self._object_function(RELEASE, call)

    def call_own_any(self, call: Call) -> str:
        return self._object_function(OWN, call)

    def call_new_view(self, call: Call) -> str:
        return self._object_function(NEW_VIEW, call)

    def call_compact_object(self, call: Call) -> str:
        return self._object_function(COMPACT, call)

    def call_has_packed(self, call: Call) -> str:
        self.module.needs_objects = True
        name = call.args[0]
        length = len(name.value.encode())  # type: ignore[attr-defined]
        function = self.module.declare(HAS_PACKED, "i1", ("ptr", "i64"))
        return self.value(f"call i1 {function}(ptr {self.operand(name)}, i64 {length})")

    def _object_function(self, name: str, call: Call) -> str:
        self.module.needs_objects = True
        operands = ", ".join(f"{value_type(arg.dtype)} {self.operand(arg)}" for arg in call.args)
        result = value_type(call.dtype)
        function = self.module.declare(name, result, tuple(value_type(a.dtype) for a in call.args))
        code = f"call {result} {function}({operands})"
        if result == "void":
            self.effect(code)
            return ""
        return self.value(code)
