"""Loops whose iterations overlap: a stage of one runs beside an earlier stage of a later one."""
