"""Composites that networks are made of: normalisations, windows, attention, losses."""
