"""How is `jax.test_util.check_grads` asked, in an environment of its own?"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from refgrad.native.adapter import FunctionalAdapter, spell
from refgrad.native.engine import Engine, start
from tests.benchmarks.checked_graphs import Graph
from tests.benchmarks.peers import Checker, Fault

ADAPTER = FunctionalAdapter(
    name="jax",
    setup="""
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
""",
    leaf="jnp.asarray({array})",
    vjp="jax.vjp({function}, *{primals})",
    alike=("jnp", "jax.nn"),
    operators=spell("jnp", ("sum", "mean", "max", "min", "expand_dims", "squeeze", "concatenate", "stack", "matmul"))
    | {"clip": "jnp.clip({x}, {lower}, {upper})", "reshape": "jnp.reshape({x}, {shape})"},
)


class Jax(Checker):
    """`jax.test_util.check_grads`, reverse mode, first order."""

    name = "jax.test_util.check_grads"
    graphs = 30

    @cached_property
    def engine(self) -> Engine:
        """JAX."""
        return start(ADAPTER)

    @cached_property
    def faulty_identity(self) -> Any:
        """An identity whose backward is multiplied by an array."""
        jax = self.engine.namespace["jax"]

        @jax.custom_vjp  # type: ignore[untyped-decorator]
        def identity(x: Any, factor: Any) -> Any:
            del factor
            return x

        identity.defvjp(lambda x, factor: (x, factor), lambda factor, cotangent: (cotangent * factor, None))
        return identity

    def passes(self, graph: Graph, fault: Fault | None = None) -> bool:
        """Ask it."""
        return self.prepare(graph, fault)()

    def prepare(self, graph: Graph, fault: Fault | None = None) -> Callable[[], bool]:
        """Leave out the making of the function."""
        from jax.test_util import check_grads  # noqa: PLC0415 (only where it is installed)

        jnp = self.engine.namespace["jnp"]
        inner = graph.function(self.engine)

        def faulty(*arrays: Any) -> Any:
            changed = list(arrays)
            if fault is not None:
                factor = np.ones(changed[fault.leaf].shape)
                factor[fault.entry] += fault.error
                changed[fault.leaf] = self.faulty_identity(changed[fault.leaf], jnp.asarray(factor))
            return inner(*changed)

        arrays = tuple(jnp.asarray(array) for array in graph.arrays)

        def check() -> bool:
            try:
                check_grads(faulty, arrays, order=1, modes=["rev"])
            except AssertionError:
                return False
            return True

        return check
