"""Questions about tensor programs."""
