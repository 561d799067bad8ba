"""The rows of the operator table as functions of tensors, and the classes of the nodes that they record."""
