"""The `R` namespace: graphs. ``from tilewright.script import relax as R``.

It is defined above this package, in `tilewright.relax.script`; here is where users find it. Nothing
in this package imports it, so that scripts of tensor programs load nothing of graphs.
"""

from tilewright.relax.script import namespace
from tilewright.relax.script.namespace import *  # noqa: F403

__getattr__, __dir__ = namespace.__getattr__, namespace.__dir__
