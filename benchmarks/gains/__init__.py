"""What tuning gains over the default schedule, and how long it takes."""
