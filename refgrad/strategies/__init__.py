"""Hypothesis strategies of scenarios, for tests of an engine."""

from refgrad.generation import GenerationError, Profile, lifecycle_profile, shrink
from refgrad.strategies.scenarios import lifecycles, scenarios

__all__ = ["GenerationError", "Profile", "lifecycle_profile", "lifecycles", "scenarios", "shrink"]
