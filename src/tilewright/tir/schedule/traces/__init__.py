"""The history of a schedule: instructions and decisions, as Python text and as JSON."""
