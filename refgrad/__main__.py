"""What does `python -m refgrad` do? The same as the command `refgrad`."""

from refgrad.cli import main

if __name__ == "__main__":
    main()
