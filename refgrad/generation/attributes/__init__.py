"""Values for the attributes of operators, by the type of an attribute."""
