"""A first adapter for a library: what its namespace has of what adapters spell, each spelling tried at once."""
