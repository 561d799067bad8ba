"""What machines that run refgrad are told: GitHub Actions, and whoever shows a badge."""
