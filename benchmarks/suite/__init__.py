"""Works that are measured against other packages: a family of them in each module.

A family is a module with programs, schedules and ``WORKS``, a tuple of `Work`; every module here is
found by itself. `python -m benchmarks suite` measures them.
"""
