"""What is done with an engine's tensors: by the templates of its adapter, and by its own library where these end."""

from refgrad.checking.libraries.libraries import library_of
from refgrad.checking.libraries.library import Library, SubjectError, UnsupportedError

__all__ = ["Library", "SubjectError", "UnsupportedError", "library_of"]
