"""Composites along axes: spreads, orders, running results."""
