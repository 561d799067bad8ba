"""Composites of matrices and of sums of products."""
