"""What do engines say of their own differentiable operators? One file an engine that can be asked."""
