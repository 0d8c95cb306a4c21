"""Graph operators, one file a family."""
