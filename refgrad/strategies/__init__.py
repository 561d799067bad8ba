"""Hypothesis strategies for scenarios, to test an engine, and for points at which functions are checked."""

from refgrad.generation import GenerationError, Profile, lifecycle_profile, shrink
from refgrad.strategies.points import points
from refgrad.strategies.scenarios import lifecycles, scenarios

__all__ = ["GenerationError", "Profile", "lifecycle_profile", "lifecycles", "points", "scenarios", "shrink"]
