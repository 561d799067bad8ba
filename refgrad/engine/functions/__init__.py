"""The public functions and methods of tensors, with PyTorch's names and arguments."""
