"""Programs with known numbers, for failures that appear late, in some runs, or with several tensors at once."""
