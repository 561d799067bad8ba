"""Builders of scenarios: the steps so far, and the application of one more operator."""
