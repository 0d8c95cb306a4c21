"""The default schedule: what a function gets at build that has no schedule of its own.

Each rule looks at how a block accesses memory, decides how its loops should run, and transforms
them by the primitives of `tir.Schedule`, each of which proves its step. A rule whose steps are
refused leaves the block as it was.
"""
