"""Checks, one class for each family. A class knows its scenarios and which failures it reports."""
