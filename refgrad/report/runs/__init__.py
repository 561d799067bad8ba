"""Comparison of several reports: the verdicts that differ."""
