"""Checks of one operator each: derivatives of each order, edges, rules, forward mode."""
