"""Scenarios without the parts that may cause a failure, so that it is attributed to the right check."""
