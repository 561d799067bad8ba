"""Grading of engines by checks, which return verdicts."""
