"""Program that imports a user's module and answers with the adapter in it as data.

It is started like a runner: if the module crashes, hangs or prints text, the process that grades is not affected.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Dict

if TYPE_CHECKING:
    from refgrad.native.runners import python_runner
else:  # the file in the same folder
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import python_runner


class AdapterServer(python_runner.Server):
    """Answers a request to load an adapter."""

    def answer(self, request: Dict[str, Any]) -> Dict[str, Any]:
        """Return the adapter that a request names."""
        sys.path[:] = request["path"]
        from refgrad.native.adapter.registry import imported

        return {"adapter": imported(request["load"], request["origin"])}


if __name__ == "__main__":
    python_runner.main(AdapterServer)
