"""Scenarios of one operator that every run tries, whatever its seed."""
