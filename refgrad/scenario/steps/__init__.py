"""Which kinds of step are there? One file each."""
