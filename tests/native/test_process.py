"""What is kept of the words of a process that died."""

from refgrad.native.process import INSTALLED


def test_where_an_engine_is_installed_is_not_told() -> None:
    said = 'File "venv/lib/python3.11/site-packages/paddle/base.py", line 3\n/usr/lib/dist-packages/numpy: warning'
    assert INSTALLED.sub("", said) == 'File "site-packages/paddle/base.py", line 3\ndist-packages/numpy: warning'
