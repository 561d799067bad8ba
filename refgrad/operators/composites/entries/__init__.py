"""Composites that move, select, write, add and join entries."""
