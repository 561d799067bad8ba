"""What several reports say together: which verdicts differ, hold whatever the seed, or are kept as scenarios."""
