"""Operators as tensor expressions."""
