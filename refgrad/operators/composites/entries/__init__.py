"""Composites that move, pick, write and join entries without computing with them."""
