"""Statements that engines are held to: behaviours of the specification, and claims of adapters."""
