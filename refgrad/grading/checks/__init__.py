"""Checks: one class a family, each of which knows its scenarios and which failures are its own."""
