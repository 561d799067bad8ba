"""What engines say of their own differentiable operators, one package an engine: code that engine files cannot hold."""
