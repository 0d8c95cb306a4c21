"""The `I` namespace: modules. ``from tilewright.script import ir as I``."""

from __future__ import annotations

from tilewright.script.constructs.function import (
    dummy_global_info,
    lookup_vdevice,
    module_attrs,
    module_global_infos,
    vdevice,
)
from tilewright.script.constructs.nodes import Range
from tilewright.script.parser.text import ir_module
