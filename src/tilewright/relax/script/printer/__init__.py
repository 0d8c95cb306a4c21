"""From graphs to text; importing this package adds its printers to those of tensor programs."""

from tilewright.relax.script.printer import calls as _calls
from tilewright.relax.script.printer import functions as _functions
from tilewright.relax.script.printer import values as _values

del _calls, _functions, _values
