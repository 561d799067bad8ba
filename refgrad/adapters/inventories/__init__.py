"""Inventories of engines' own differentiable operators, one package per engine that supports it."""
