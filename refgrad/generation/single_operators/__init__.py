"""Scenarios that try one operator by itself: at first, second and third order, in both modes, and its contract."""
