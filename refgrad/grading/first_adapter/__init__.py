"""First adapter of a library: templates for the names in its namespace, each of which is tried at once."""
