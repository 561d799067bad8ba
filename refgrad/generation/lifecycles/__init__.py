"""Lifecycles: random sequences of steps that build graphs, change tensors, run backward and release graphs."""
