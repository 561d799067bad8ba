"""The certified oracle: reverse sweeps in balls and in power series of balls, and the rounding budget."""
