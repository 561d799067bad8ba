"""Comparison of an engine's observations with the truth; each outcome carries its evidence."""
