"""Slopes of functions of which only values are known, by finite differences with error bounds."""
