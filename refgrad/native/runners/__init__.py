"""Runners, one file a language: each executes programs in an engine's own process and answers in JSON lines."""
