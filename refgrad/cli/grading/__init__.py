"""``refgrad grade``: a session of pytest, a summary, and an exit status."""
