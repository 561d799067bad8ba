"""Checks of statements about engines: behaviours of the specification, and claims of adapters."""
