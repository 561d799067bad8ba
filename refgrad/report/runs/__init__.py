"""What several reports say together: which verdicts differ."""
