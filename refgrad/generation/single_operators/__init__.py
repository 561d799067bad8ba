"""Scenarios that try one operator by itself: at every order, in both modes, and the contract of its rule."""
