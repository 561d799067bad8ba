"""What users call: functions and methods of tensors, under the names and with the arguments that PyTorch has."""
