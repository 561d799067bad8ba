"""What is refgrad? A conformance suite for automatic differentiation, with a reference engine that passes it.

Importing this package loads nothing else: no engine, no oracle, no test runner. Import the part that you need, such as
`refgrad.engine`, `refgrad.strategies` or `refgrad.harness`.
"""
