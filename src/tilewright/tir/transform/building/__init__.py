"""Rewriters, visitors and statements that several lowering passes are built from."""
