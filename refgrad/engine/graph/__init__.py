"""The recorded graph: tensors, the nodes that computed them, hooks, modes, and the backward pass."""
