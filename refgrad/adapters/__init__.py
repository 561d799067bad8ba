"""Python code about engines that engine files cannot hold: inventories of their own differentiable operators."""
