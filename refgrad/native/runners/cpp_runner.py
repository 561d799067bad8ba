"""The runner of engines in C++: the Python runner with templates that are compiled, each once, and loaded.

It needs g++ and Python 3.8 or later. The setup of an adapter is a header. It defines the type ``Tensor``, and the type
``Pullback`` of functions that map a cotangent to cotangents. A first line ``// g++ OPTIONS`` holds options for the
compiler. Compiled templates are kept in folders of the temporary directory, see ``compiled_cache.py``.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Sequence, Tuple

if TYPE_CHECKING:
    from refgrad.native.runners import compiled_cache, python_runner
else:  # files of the same folder, whatever interpreter runs this one
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import compiled_cache
    import python_runner

Json = Dict[str, Any]
Names = Dict[str, Any]
SUPPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cpp_runner.hpp")
ONE, FAILED = -1, -2
"""Values that a call returns instead of the number of its results: for a single result, and for an exception."""

SOURCE = """#include "setup.hpp"
extern "C" int called(void** held, double* numbers, Out* results, char* kind, char* message) {
  %s
}
"""
KINDS = ("number", "truth", "Tensor", "Pullback", "nothing")
MOST = 64
"""Largest number of results of a call, and of its arguments."""

CALLED = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int)


class Out(ctypes.Structure):
    """A result of a call: a number, a truth value, or the address of an object."""

    _fields_ = [("kind", ctypes.c_int), ("number", ctypes.c_double), ("held", ctypes.c_void_p)]


class Held:
    """An object of the engine, by its address."""

    def __init__(self, kind: str, address: int) -> None:
        self.kind = kind
        self.address = address


class Compiled(python_runner.Session):
    """A session whose templates are C++."""

    def __init__(self, setup: str, name: str = "engine", forget: str | None = None) -> None:
        """Compile the setup. Raises RuntimeError where that fails."""
        super().__init__("", name, forget)
        head = setup.strip().splitlines()[0]
        self.options = head.partition("g++")[2].split() if head.startswith("//") else []
        self.libraries = [option for option in self.options if option.startswith("-l")]
        with open(SUPPORT) as file:
            text = setup + "\n" + file.read()
        key = hashlib.sha256((text + compiler_version()).encode()).hexdigest()[:16]
        compiled_cache.remove(compiled_cache.LIMIT)
        self.folder, self.held = compiled_cache.hold(key)
        self.header = os.path.join(self.folder, "setup.hpp")
        if not os.path.exists(self.header + ".gch"):
            with open(self.header, "w") as file:
                file.write("#pragma once\n" + text)
            self.build(["-x", "c++-header", self.header], self.header + ".gch")
        self.functions: Dict[str, Callable[..., int]] = {}

    def build(self, sources: Sequence[str], target: str) -> None:
        """Compile to a temporary file and move it to the target, since other processes may compile the same.

        Raises RuntimeError where it does not compile.
        """
        flags = [option for option in self.options if option not in self.libraries]
        apart = "%s.%d" % (target, os.getpid())
        command = ["g++", "-std=c++17", "-O0", "-fPIC", *flags, *sources, "-o", apart]
        command += self.libraries if "-shared" in sources else []
        done = subprocess.run(  # noqa: S603 (the compiler, with the options of the adapter)
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False
        )
        if done.returncode:
            lines = [line for line in done.stdout.splitlines() if "error" in line] or done.stdout.splitlines()
            raise RuntimeError("it does not compile: %s" % "; ".join(lines)[:600])
        os.replace(apart, target)

    def evaluate(self, template: str, fields: Names) -> Any:
        """Return the value of a template with these fields."""
        kept: List[Any] = []
        failures: List[BaseException] = []
        declared, addresses, numbers = self.arguments(fields, kept, failures)
        function = self.function_of(template.format(**{name: "_" + name for name in fields}), declared)
        results = (Out * MOST)()
        kind, message = ctypes.create_string_buffer(200), ctypes.create_string_buffer(2000)
        count = function(addresses, numbers, results, kind, message)
        if count == FAILED:
            if failures:
                raise failures[0]
            raise type(kind.value.decode() or "exception", (Exception,), {})(message.value.decode("utf-8", "replace"))
        if count == ONE:
            return read(results[0])
        return [read(results[i]) for i in range(count)] if count else None

    def arguments(self, fields: Names, kept: List[Any], failures: List[BaseException]) -> Tuple[str, Any, Any]:
        """Return C++ declarations of the arguments, and the addresses and numbers that initialize them."""
        lines: List[str] = []
        addresses: List[int | None] = []
        numbers: List[float] = []
        for name, value in fields.items():
            if isinstance(value, Held):
                lines.append("auto& _%s = *static_cast<%s*>(held[%d]);" % (name, value.kind, len(addresses)))
                addresses.append(value.address)
            elif isinstance(value, (bool, int, float)) or getattr(value, "shape", None) == ():
                kind = type(value).__name__ if isinstance(value, (bool, int)) else "double"
                lines.append("%s _%s = static_cast<%s>(numbers[%d]);" % (kind, name, kind, len(numbers)))
                numbers.append(float(value))
            elif isinstance(value, list) and all(isinstance(each, Held) for each in value):
                parts = ", ".join("*static_cast<Tensor*>(held[%d])" % (len(addresses) + i) for i in range(len(value)))
                lines.append("std::vector<Tensor> _%s{%s};" % (name, parts))
                addresses += [each.address for each in value]
            elif callable(value):
                kept.append(CALLED(from_python(value, kept, failures)))
                lines.append(
                    "Function _%s = from_outside(reinterpret_cast<Called>(held[%d]));" % (name, len(addresses))
                )
                addresses.append(ctypes.cast(kept[-1], ctypes.c_void_p).value)
            elif value is None:
                lines.append("[[maybe_unused]] auto _%s = nullptr;" % name)
            else:
                raise NotImplementedError("arrays and lists of numbers")
        held, doubles = (ctypes.c_void_p * MOST)(*addresses), (ctypes.c_double * MOST)(*numbers)
        return "\n  ".join(lines), held, doubles

    def function_of(self, expression: str, declared: str) -> Callable[..., int]:
        """Return an expression as a compiled function of its arguments and of the memory for its results."""
        called = "%s\n  return guarded(kind, message, [&] { return outs(results, ((%s), Behind{})); });"
        body = called % (declared, expression)
        if body not in self.functions:
            path = os.path.join(self.folder, hashlib.sha256(body.encode()).hexdigest()[:16])
            if not os.path.exists(path + ".so"):
                source = "%s.%d.cpp" % (path, os.getpid())
                with open(source, "w") as file:
                    file.write(SOURCE % body)
                self.build(["-shared", "-I", self.folder, source], path + ".so")
            self.functions[body] = ctypes.CDLL(path + ".so").called
        return self.functions[body]

    def members(self, modules: Sequence[str], _names: Sequence[str]) -> Dict[str, Dict[str, int]]:
        """Return no names: C++ cannot list the names in a namespace."""
        return {module: {} for module in modules}


def from_python(function: Callable[..., Any], kept: List[Any], failures: List[BaseException]) -> Callable[..., Any]:
    """Return a Python function as one of addresses. An exception ends the call and is added to ``failures``."""

    def called(addresses: Any, count: int) -> Any:
        try:
            kept.append(function(*(Held("Tensor", addresses[i]) for i in range(count))))
            return kept[-1].address
        except BaseException as error:
            failures.append(error)
            return None

    return called


def read(result: Out) -> Any:
    """Return a result as a Python value: a number, a truth value, None, or an object of the engine."""
    kind = KINDS[result.kind]
    if kind in ("Tensor", "Pullback"):
        return Held(kind, result.held)
    return None if kind == "nothing" else bool(result.number) if kind == "truth" else result.number


def compiler_version() -> str:
    """Return the version of the compiler. Raises OSError where there is none."""
    command = ["g++", "-dumpfullversion"]
    asked = subprocess.run(command, stdout=subprocess.PIPE, universal_newlines=True, check=True)  # noqa: S603 (as above)
    return asked.stdout.strip()


class CompiledServer(python_runner.Server):
    """Answers requests about an engine in C++."""

    def hello(self, hello: Json) -> Json:
        """Start the engine, and return a description of the runner."""
        self.session = Compiled(hello["setup"], hello["name"], hello.get("forget"))
        return {"language": "cpp", "version": compiler_version(), "numpy": None}


if __name__ == "__main__":
    python_runner.main(CompiledServer)
