"""The kinds of step: each is a class with one form, from which its text, its JSON and its schema follow."""
