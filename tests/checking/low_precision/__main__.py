"""Print which faults of kernels the check finds, beside what two usual comparisons find."""

from __future__ import annotations

import sys

from tests.checking.low_precision.table import printed

if __name__ == "__main__":
    sys.stdout.writelines(printed(sys.argv[1:]))
