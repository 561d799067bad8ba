"""The shrinker of scenarios: simplifications, and the repair of what they leave."""
