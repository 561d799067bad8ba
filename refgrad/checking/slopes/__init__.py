"""How slopes of a function are looked for, in which precision and for how long, and held against a gradient."""
