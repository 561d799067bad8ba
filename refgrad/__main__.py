"""Entry point of ``python -m refgrad``, which is the command ``refgrad``."""

from refgrad.cli import main

if __name__ == "__main__":
    main()
