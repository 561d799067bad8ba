"""A scenario under construction, and how one more operator is applied to it."""
