"""From graphs to text; importing this package adds its printers to those of tensor programs."""

from tilewright.relax.script.printer import (
    bindings as _bindings,
)
from tilewright.relax.script.printer import (
    calls as _calls,
)
from tilewright.relax.script.printer import (
    functions as _functions,
)
from tilewright.relax.script.printer import (
    struct_info as _struct_info,
)
from tilewright.relax.script.printer import (
    values as _values,
)

del _bindings, _calls, _functions, _struct_info, _values
