"""Scenarios without what a fault may hang on, so that blame falls on nothing else."""
