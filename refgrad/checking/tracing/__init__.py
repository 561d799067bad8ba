"""Which scenario is a function of one's own?"""

from refgrad.checking.tracing.recorder import Untraceable
from refgrad.checking.tracing.trace import UNIT_ROUNDOFF, Trace, trace

__all__ = ["UNIT_ROUNDOFF", "Trace", "Untraceable", "trace"]
