"""Output for users: printed tensors, and graphs as text, as Graphviz source and as SVG."""
