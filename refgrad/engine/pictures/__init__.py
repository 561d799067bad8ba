"""What is shown to people: printed tensors, and graphs as text, as Graphviz source and as SVG."""
