"""Programs whose numbers are known, for faults that come late, by chance, or with several things at once."""
