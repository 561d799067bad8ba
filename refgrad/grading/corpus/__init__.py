"""The portable corpus: frozen scenarios with what each of their steps must show, for engines that no Python can reach.

``python -m refgrad.grading.corpus specs/corpus`` writes it; docs/how-to/test-without-python.md says how it is read.
"""
