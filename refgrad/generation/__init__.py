"""Generators of scenarios, and the shrinker."""
