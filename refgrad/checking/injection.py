"""Standard faults of a gradient, and the hook that puts one of them around a function in the processes of its tests.

`refgrad mutate` copies this file as ``sitecustomize.py`` to a temporary folder on PYTHONPATH. Each Python process that
starts then imports it. The file runs on Python 3.9, and needs the standard library only. The libraries of the gradients
are taken from ``sys.modules``. It is a plugin of pytest, too. PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import functools
import json
import operator
import os
import runpy
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, NamedTuple

SETTINGS = "REFGRAD_FAULT"
"""Name of the environment variable with the arguments of :class:`Planter`, as JSON."""

KINDS = {
    "autograd.Function": slice(1, None), "once differentiable autograd.Function": slice(1, None),
    "custom_op": slice(1, None), "custom_vjp": slice(-1, None), "function that returns gradients": slice(0, 0),
}  # fmt: skip
"""Kinds of functions, and which arguments of their backward are incoming gradients: unknown for the last kind."""

TORCH, ONCE, OPERATOR, JAX, PLAIN = KINDS

BACKWARDS = {"CustomOpDef": (OPERATOR, "_backward_fn"), "custom_vjp": (JAX, "bwd")}
"""Name of a type: the kind of its functions, and the attribute that holds their backward."""

LOWER = {
    "float64": "float32", "float32": "float16", "float16": "float8_e5m2", "bfloat16": "float8_e5m2",
    "complex128": "complex64", "complex64": "complex32",
}  # fmt: skip
"""The next lower precision of each dtype. The fault does not apply if the library lacks that dtype."""


def library(array: Any) -> Any:
    """Return the module with the functions of an array: torch, jax.numpy or NumPy."""
    name = type(array).__module__.partition(".")[0]
    return sys.modules["jax.numpy" if name.startswith("jax") else name]


def one_percent_larger(array: Any) -> Any:
    """Return an array times 1.01."""
    return array * 1.01


def ten_percent_larger(array: Any) -> Any:
    """Return an array times 1.1."""
    return array * 1.1


def transposed(array: Any) -> Any:
    """Return a square matrix transposed, and another array with its entries moved on by one."""
    if len(array.shape) > 1 and array.shape[-1] == array.shape[-2]:
        return library(array).swapaxes(array, -1, -2)
    return library(array).roll(array.reshape(-1), 1).reshape(array.shape)


def largest(sizes: Any) -> Any:
    """Return an array of truth values that is true at the first of the largest of some numbers."""
    candidates = sizes == sizes.max()
    return candidates & (candidates.cumsum(0) == 1)


def without_row(array: Any) -> Any:
    """Return an array in which the largest row is zero."""
    rows = array.reshape(array.shape[0] if array.shape else 1, -1)
    return (rows * ~largest(abs(rows).sum(1))[:, None]).reshape(array.shape)


def with_doubled_entry(array: Any) -> Any:
    """Return an array in which the largest entry is doubled."""
    flat = array.reshape(-1)
    return (flat + flat * largest(abs(flat))).reshape(array.shape)


def detached(array: Any) -> Any:
    """Return an array without its graph."""
    return array.detach() if hasattr(array, "detach") else sys.modules["jax"].lax.stop_gradient(array)


def rounded(array: Any) -> Any:
    """Return an array that was rounded to the next lower precision."""
    lower = LOWER[dtype_name(array)]
    if hasattr(array, "astype"):
        return array.astype(lower).astype(array.dtype)
    return array.to(getattr(library(array), lower)).to(array.dtype)


def in_order_of_memory(array: Any) -> Any:
    """Return the entries that a kernel reads if it assumes a torch tensor to be contiguous."""
    if array.is_contiguous():
        return array
    size = array.untyped_storage().nbytes() // array.element_size()
    index = library(array).arange(array.numel(), device=array.device) + array.storage_offset()
    return array.as_strided((size,), (1,), 0)[index % size].reshape(array.shape)


class GradFault(NamedTuple):
    """A fault: a change of arrays that a backward returns, or receives if it is ``incoming``.

    ``which`` of the arrays are changed, and keep their shapes and dtypes. The fault does not apply to functions of a
    kind in ``unless``.
    """

    name: str
    description: str
    change: Callable[[Any], Any]
    which: slice = slice(None)
    incoming: bool = False
    unless: tuple[str, ...] = ()


FAULTS = (
    GradFault("scaled-1.01", "all gradients are 1 % too large", one_percent_larger),
    GradFault("scaled-1.1", "all gradients are 10 % too large", ten_percent_larger),
    GradFault("zeros", "all gradients are zero", lambda array: array * 0),
    GradFault("sign", "all gradients have the opposite sign", operator.neg),
    GradFault("transposed", "square gradients are transposed, the entries of others are moved by one", transposed),
    GradFault("row", "the largest row of the first gradient is zero", without_row, which=slice(1)),
    GradFault("entry", "the largest entry of the first gradient is doubled", with_doubled_entry, which=slice(1)),
    GradFault("dropped", "all gradients but the first are zero", lambda array: array * 0, which=slice(1, None)),
    GradFault("detached", "gradients have no graph, so a second derivative is wrong", detached, unless=(ONCE, PLAIN)),
    GradFault("rounded", "gradients are rounded to the next lower precision", rounded),
    GradFault("layout", "the incoming gradient is read as if it were contiguous", in_order_of_memory, incoming=True,
          unless=(JAX, PLAIN)),
    GradFault("cotangent", "the incoming gradient is replaced by ones", lambda array: library(array).ones_like(array),
          incoming=True, unless=(PLAIN,)),
)  # fmt: skip


def dtype_name(array: Any) -> str:
    """Return the name of an array's dtype without its library, such as ``float32``."""
    return str(getattr(array, "dtype", "")).rpartition(".")[2]


def mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """Return nested arrays with a change of those that hold real or complex numbers."""

    def leaf(part: Any) -> Any:
        return change(part) if dtype_name(part).startswith(("float", "bfloat", "complex")) else part

    if "jax" in sys.modules:  # PyTorch's function handles more containers
        return sys.modules["jax"].tree_util.tree_map(leaf, value)
    if isinstance(value, dict):
        return {key: mapped(change, part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return getattr(value, "_make", type(value))(mapped(change, part) for part in value)
    return leaf(value)


def differ(old: Any, new: Any) -> bool:
    """Return True if two arrays differ in their values or in having a graph, or if they are traced."""
    if old is new or getattr(old, "requires_grad", False) != getattr(new, "requires_grad", False):
        return old is not new
    try:
        return bool((old != new).any())
    except Exception:  # noqa: BLE001 (libraries and kinds of tracing raise errors of their own)
        return True


def backward_of(value: Any) -> tuple[str, str, Any] | None:
    """Return the kind of a differentiable function, and the attribute and the object that hold its backward."""
    base: Any = getattr(getattr(sys.modules.get("torch"), "autograd", None), "Function", ())
    while value is not None:
        for held in (value, getattr(value, "__self__", None)):  # of Cube.apply
            if isinstance(held, type) and issubclass(held, base):
                name = "backward" if getattr(held, "vjp", None) is base.vjp else "vjp"
                once = getattr(held, name).__globals__ is sys.modules[base.__module__].__dict__  # of its decorator
                return ONCE if once else TORCH, name, held
            if type(held).__name__ in BACKWARDS:
                return *BACKWARDS[type(held).__name__], held
        value = getattr(value, "__wrapped__", None)  # of jax.jit
    return None


class Planter(NamedTuple):
    """Finder of modules that puts a fault around the function ``attribute`` of one, and logs what happens to it.

    ``module`` is the name of the module, or the path of its file. Without the name of a fault, calls are counted only.
    """

    module: str
    attribute: str
    fault: str
    log: str

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the specification from the other finders. For the module, its loader plants the fault."""
        specs = (each.find_spec(name, path, target) for each in sys.meta_path if each is not self)
        spec = next((each for each in specs if each is not None), None)
        loader: Any = spec and spec.loader
        if self.concerns(spec) and "exec_module" not in vars(loader):  # pytest has one loader for all tests
            loader.exec_module = functools.partial(self.execute, loader.exec_module)
        return spec

    def concerns(self, spec: ModuleSpec | None) -> bool:
        """Return True if the module with this specification is the one with the function."""
        return spec is not None and self.module in {spec.name, os.path.realpath(spec.origin or "")}

    def execute(self, execute: Callable[[Any], None], module: Any) -> None:
        """Execute a module, and plant the fault if it is the one with the function."""
        execute(module)
        if self.concerns(module.__spec__):
            self.plant(module)

    def plant(self, module: Any) -> None:
        """Put the fault around the function of a module."""
        self.report("imported")
        *path, name = self.attribute.split(".")
        owner = functools.reduce(lambda held, part: getattr(held, part, None), path, module)
        value = getattr(owner, name, None)
        kind, name, owner = backward_of(value) or (PLAIN, name, owner)
        if callable(value) and not (kind == PLAIN and isinstance(value, type)):
            self.report(f"kind {kind}")
            faulty: Any = self.around(getattr(owner, name), kind)
            static = kind in {TORCH, ONCE} or isinstance(vars(owner).get(name), staticmethod)
            setattr(owner, name, staticmethod(faulty) if static else faulty)

    def around(self, function: Callable[..., Any], kind: str) -> Callable[..., Any]:
        """Return a backward with the fault."""
        fault = next((each for each in FAULTS if each.name == self.fault), GradFault("none", "", lambda array: array))

        @functools.wraps(function)
        def faulty(*arguments: Any, **named: Any) -> Any:
            if not fault.incoming:
                return self.changed(function(*arguments, **named), fault)
            received = list(arguments)
            received[KINDS[kind]] = self.changed(received[KINDS[kind]], fault)
            return function(*received, **named)

        return faulty

    def changed(self, value: Any, fault: GradFault) -> Any:
        """Return nested arrays with the fault. Arrays to which it cannot be applied are returned unchanged."""
        arrays: list[Any] = []
        mapped(arrays.append, value)
        self.report(f"called {len(arrays)}")
        try:
            new = [fault.change(array) for array in arrays[fault.which]]
        except Exception:  # noqa: BLE001 (a missing dtype, an array without entries, a sparse tensor and so on)
            return value
        if any(map(differ, arrays[fault.which], new)):
            self.report("changed")
        arrays[fault.which] = new
        remaining = iter(arrays)
        return mapped(lambda _: next(remaining), value)

    def report(self, line: str) -> None:
        """Append a line to the log, to which several processes may write."""
        with Path(self.log).open("a", encoding="utf-8") as log:
            log.write(f"{line}\n")


def pytest_addoption(parser: Any) -> None:
    """Move the planter before pytest's finder of tests, and let pytest accept `cache_dir` where it has no cache."""
    sys.meta_path.sort(key=lambda finder: not isinstance(finder, Planter))
    parser.addini("cache_dir", "folder of the cache")


if __name__ == "sitecustomize":
    HERE = Path(__file__).resolve().parent
    sys.meta_path.insert(0, Planter(*json.loads(os.environ[SETTINGS])))
    NEXT = PathFinder.find_spec("sitecustomize", [each for each in sys.path if Path(each).resolve() != HERE])
    if NEXT is not None and NEXT.origin is not None:
        runpy.run_path(NEXT.origin)
