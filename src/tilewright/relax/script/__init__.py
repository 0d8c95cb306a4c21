"""Graphs as TVMScript: the `R` namespace, its parser, and the printer.

``from tilewright.script import relax as R``
"""
