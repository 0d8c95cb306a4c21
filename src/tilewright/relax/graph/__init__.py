"""Pictures of graph functions: boxes are operations, arrows the arrays between them.

`model` says what boxes and arrows a function has, `layout` where they are, and `picture` draws
them.
"""

from tilewright.relax.graph.picture import Picture, draw

__all__ = ["Picture", "draw"]
