"""Users' functions as scenarios."""

from refgrad.checking.tracing.recorder import Untraceable
from refgrad.checking.tracing.trace import Trace, trace

__all__ = ["Trace", "Untraceable", "trace"]
