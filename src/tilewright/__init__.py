"""Tilewright: a tensor compiler."""
