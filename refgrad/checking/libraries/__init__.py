"""What is done with an engine's tensors: by the templates of its adapter, and by its own library where these end."""

from refgrad.checking.libraries.library import Library, SubjectError, UnsupportedError
from refgrad.checking.libraries.libraries import library_of

__all__ = ["Library", "SubjectError", "UnsupportedError", "library_of"]
