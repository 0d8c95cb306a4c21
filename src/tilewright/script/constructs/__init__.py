"""The functions that make tensor programs, a file per group, gathered as the `T` namespace."""
