"""Measurements of engines on one machine. Reports do not include them; pages and plots show them."""
