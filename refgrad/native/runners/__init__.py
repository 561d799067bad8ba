"""Runners, one file per language: each executes programs in an engine's own process and answers in JSON lines."""
