"""Models of PyTorch, from programs that `torch.export` has captured.

The package torch is imported here and nowhere else: ``pip install tilewright[torch]``.
"""

from tilewright.relax.frontend.torch import operators
from tilewright.relax.frontend.torch.program import from_exported_program, from_fx
