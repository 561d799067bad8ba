"""Judgements of observations against the certified truth, and the points at which nothing can be judged."""
