"""Findings: what a report proves, as a sentence, a severity, and a program that fails."""

from refgrad.report.findings.script import MARKER, Script, failures, proofs, scripts, write_scripts

__all__ = ["MARKER", "Script", "failures", "proofs", "scripts", "write_scripts"]
