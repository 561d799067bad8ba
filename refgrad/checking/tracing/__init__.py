"""Users' functions as scenarios."""

from refgrad.checking.tracing.recorder import Recorder, Untraceable
from refgrad.checking.tracing.trace import Trace, trace

__all__ = ["Recorder", "Trace", "Untraceable", "trace"]
