"""Grading: an engine is held against what must happen, by checks that give verdicts."""
