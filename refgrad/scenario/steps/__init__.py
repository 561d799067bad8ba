"""The kinds of step: each is a class with one form, which defines its text, its JSON and its schema."""
