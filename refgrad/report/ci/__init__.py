"""Output for continuous integration: annotations and summaries for GitHub Actions, and badges."""
