"""Static replay: a recorded function as a program over buffers, forward and backward."""
