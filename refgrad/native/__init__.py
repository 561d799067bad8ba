"""Programs of engines' own languages, and the runners that execute them."""
