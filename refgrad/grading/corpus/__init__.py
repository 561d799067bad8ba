"""The portable corpus: frozen scenarios with the expected results of their steps, for engines that Python cannot reach.

``python -m refgrad.grading.corpus specs/corpus`` writes it. docs/how-to/test-without-python.md explains how to read it.
"""
