"""How does each supported engine spell what scenarios ask for? One file an engine."""
