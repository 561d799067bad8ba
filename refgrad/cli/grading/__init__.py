"""``refgrad grade``: a pytest session, a summary, and an exit status."""
