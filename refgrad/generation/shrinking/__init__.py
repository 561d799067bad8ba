"""The shrinker of scenarios: simplifications, and the repair of their results."""
