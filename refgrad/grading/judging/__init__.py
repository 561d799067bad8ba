"""Judging: what an engine showed is compared with the truth, and the outcome carries its evidence."""
