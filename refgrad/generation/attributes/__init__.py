"""Random values for the attributes of operators, and their validation, by the type of an attribute."""
