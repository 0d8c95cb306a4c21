"""The programs: a module for each kind, with a tuple `PROGRAMS`."""
