"""Inventories of engines' own differentiable operators, one package an engine that can be asked."""
