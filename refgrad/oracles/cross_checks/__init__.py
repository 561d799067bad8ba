"""Oracles that check the certified one: no verdict on an engine depends on them."""
