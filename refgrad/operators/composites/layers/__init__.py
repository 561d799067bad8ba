"""Composites that are layers of networks: normalisations, windows, attention, losses."""
