"""Judgements of what an engine showed, given the certified truth, and the points at which nothing can be judged."""
