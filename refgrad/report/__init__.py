"""Output of a run: documents (ENGINE.json), texts of verdicts, pages, and scripts of findings."""
