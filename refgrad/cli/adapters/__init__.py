"""Commands that help with adapters."""
