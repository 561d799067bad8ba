"""The runner of engines in C++: the Python runner, whose templates are compiled, each once, and loaded into the process.

The setup of an adapter is a header. It names the type of tensors ``Tensor``, and that of functions that turn a cotangent
into cotangents ``Pullback``; a first line ``// g++ OPTIONS`` says what the compiler is told. What was compiled is kept in a
folder of the user's temporary files.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import sys
import tempfile
from typing import Any, Callable, Dict, List, Sequence, Tuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import python_runner
from python_runner import PROTOCOL, Json, Names, Session

SUPPORT = """
#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <cxxabi.h>
using Function = std::function<Tensor(const std::vector<Tensor>&)>;
extern "C" typedef void* (*Called)(void**, int);

inline Function from_outside(Called called) {
  return [called](const std::vector<Tensor>& primals) -> Tensor {
    std::vector<void*> given;
    for (auto& primal : primals) given.push_back(new Tensor(primal));
    void* result = called(given.data(), static_cast<int>(given.size()));
    if (!result) throw std::runtime_error("outside");
    return *static_cast<Tensor*>(result);
  };
}

struct Out { int kind; double number; void* held; };
inline Out out(double number) { return {0, number, nullptr}; }
inline Out out(int number) { return {0, static_cast<double>(number), nullptr}; }
inline Out out(bool truth) { return {1, truth ? 1.0 : 0.0, nullptr}; }
inline Out out(std::nullptr_t) { return {4, 0, nullptr}; }
inline Out out(const Tensor& tensor) { return {2, 0, new Tensor(tensor)}; }
inline Out out(const Pullback& pullback) { return {3, 0, new Pullback(pullback)}; }
inline int outs(Out* all, const std::pair<Tensor, Pullback>& both) { all[0] = out(both.first); all[1] = out(both.second); return 2; }
inline int outs(Out* all, const std::vector<double>& many) { for (size_t i = 0; i < many.size(); ++i) all[i] = out(many[i]); return many.size(); }
template <class T> int outs(Out* all, const T& one) { all[0] = out(one); return -1; }

template <class F> int guarded(Out* all, char* type, char* message, F f) {
  try {
    if constexpr (std::is_void_v<decltype(f())>) { f(); return 0; } else return outs(all, f());
  } catch (const std::exception& error) {
    int status;
    char* name = abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status);
    std::strncpy(type, name ? name : "exception", 199);
    std::strncpy(message, error.what(), 1999);
  } catch (...) {
    std::strncpy(type, "unknown", 199);
  }
  return -2;
}
"""
KINDS = ("number", "truth", "Tensor", "Pullback", "nothing")
MOST = 64
"""Results of one call, and as many arguments of a function."""

CALLED = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int)


class Out(ctypes.Structure):
    """What a call gives: a number, a truth value, or something that is held."""

    _fields_ = [("kind", ctypes.c_int), ("number", ctypes.c_double), ("held", ctypes.c_void_p)]


class Held:
    """Something of the engine, by its address."""

    def __init__(self, kind: str, address: int) -> None:
        self.kind = kind
        self.address = address


class Compiled(Session):
    """A session whose templates are C++."""

    def __init__(self, setup: str, name: str = "engine", forget: str | None = None) -> None:
        """Compile the setup. Raises RuntimeError where that fails."""
        super().__init__("", name, forget)
        head = setup.strip().splitlines()[0]
        self.options = head.partition("g++")[2].split() if head.startswith("//") else []
        self.libraries = [option for option in self.options if option.startswith("-l")]
        text = setup + "\n" + SUPPORT
        key = hashlib.sha256((text + compiler_version()).encode()).hexdigest()[:16]
        self.folder = os.path.join(tempfile.gettempdir(), "refgrad-cpp-%d-%s" % (os.getuid(), key))
        os.makedirs(self.folder, exist_ok=True)
        self.header = os.path.join(self.folder, "setup.hpp")
        if not os.path.exists(self.header + ".gch"):
            with open(self.header, "w") as file:
                file.write("#pragma once\n" + text)
            self.build(["-x", "c++-header", self.header], self.header + ".gch")
        self.functions: Dict[str, Callable[..., int]] = {}

    def build(self, given: Sequence[str], target: str) -> None:
        """Compile, and put what comes of it in its place at once, since others may compile the same."""
        flags = [option for option in self.options if option not in self.libraries]
        apart = "%s.%d" % (target, os.getpid())
        command = ["g++", "-std=c++17", "-O0", "-fPIC", *flags, *given, "-o", apart, *(self.libraries if "-shared" in given else [])]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        if done.returncode:
            lines = [line for line in done.stdout.splitlines() if "error" in line] or done.stdout.splitlines()
            raise RuntimeError("it does not compile: %s" % "; ".join(lines)[:600])
        os.replace(apart, target)

    def evaluate(self, template: str, fields: Names) -> Any:
        """Return what a template gives."""
        kept: List[Any] = []
        failures: List[BaseException] = []
        declared, addresses, numbers = self.arguments(fields, kept, failures)
        function = self.function_of(template.format(**{name: "_" + name for name in fields}), declared)
        results = (Out * MOST)()
        kind, message = ctypes.create_string_buffer(200), ctypes.create_string_buffer(2000)
        count = function(addresses, numbers, results, kind, message)
        if count == -2:
            if failures:
                raise failures[0]
            raise type(kind.value.decode() or "exception", (Exception,), {})(message.value.decode("utf-8", "replace"))
        if count == -1:
            return read(results[0])
        return [read(results[i]) for i in range(count)] if count else None

    def arguments(self, fields: Names, kept: List[Any], failures: List[BaseException]) -> Tuple[str, Any, Any]:
        """Return declarations of the arguments, and the addresses and numbers that they stand for."""
        lines, addresses, numbers = [], [], []
        for name, given in fields.items():
            if isinstance(given, Held):
                lines.append("auto& _%s = *static_cast<%s*>(held[%d]);" % (name, given.kind, len(addresses)))
                addresses.append(given.address)
            elif isinstance(given, bool) or isinstance(given, int):
                kind = "bool" if isinstance(given, bool) else "int"
                lines.append("%s _%s = static_cast<%s>(numbers[%d]);" % (kind, name, kind, len(numbers)))
                numbers.append(float(given))
            elif isinstance(given, list):
                parts = ", ".join("*static_cast<Tensor*>(held[%d])" % (len(addresses) + i) for i in range(len(given)))
                lines.append("std::vector<Tensor> _%s{%s};" % (name, parts))
                addresses += [each.address for each in given]
            elif callable(given):
                kept.append(CALLED(from_python(given, kept, failures)))
                lines.append("Function _%s = from_outside(reinterpret_cast<Called>(held[%d]));" % (name, len(addresses)))
                addresses.append(ctypes.cast(kept[-1], ctypes.c_void_p).value)
            elif given is None:
                lines.append("[[maybe_unused]] auto _%s = nullptr;" % name)
            elif getattr(given, "shape", ()) == ():
                lines.append("double _%s = numbers[%d];" % (name, len(numbers)))
                numbers.append(float(given))
            else:
                raise NotImplementedError("arrays")
        held, doubles = (ctypes.c_void_p * MOST)(*addresses), (ctypes.c_double * MOST)(*numbers)
        return "\n  ".join(lines), held, doubles

    def function_of(self, expression: str, declared: str) -> Callable[..., int]:
        """Return an expression as a function that takes its arguments, and is told where results go."""
        body = "%s\n  return guarded(results, kind, message, [&] { return %s; });" % (declared, expression)
        if body not in self.functions:
            path = os.path.join(self.folder, hashlib.sha256(body.encode()).hexdigest()[:16])
            if not os.path.exists(path + ".so"):
                source = "%s.%d.cpp" % (path, os.getpid())
                with open(source, "w") as file:
                    file.write('#include "setup.hpp"\nextern "C" int called(void** held, double* numbers, Out* results, char* kind, char* message) {\n  %s\n}\n' % body)
                self.build(["-shared", "-I", self.folder, source], path + ".so")
            self.functions[body] = ctypes.CDLL(path + ".so").called
        return self.functions[body]

    def members(self, modules: Sequence[str], names: Sequence[str]) -> Dict[str, Dict[str, int]]:
        """Return nothing: a namespace of C++ cannot be asked what it has."""
        return {module: {} for module in modules}


def from_python(function: Callable[..., Any], kept: List[Any], failures: List[BaseException]) -> Callable[..., Any]:
    """Return a function of addresses; what it raises is kept, and ends the call."""

    def called(given: Any, count: int) -> Any:
        try:
            kept.append(function(*(Held("Tensor", given[i]) for i in range(count))))
            return kept[-1].address
        except BaseException as error:
            failures.append(error)
            return None

    return called


def read(result: Out) -> Any:
    """Return a result as Python has it: a number, a truth value, None, or something that is held."""
    kind = KINDS[result.kind]
    if kind in ("Tensor", "Pullback"):
        return Held(kind, result.held)
    return None if kind == "nothing" else bool(result.number) if kind == "truth" else result.number


def compiler_version() -> str:
    """Return what the compiler calls itself. Raises OSError where there is none."""
    return subprocess.run(["g++", "-dumpfullversion"], stdout=subprocess.PIPE, universal_newlines=True).stdout.strip()


class Server(python_runner.Server):
    """Answers requests about an engine in C++."""

    def hello(self, hello: Json) -> Json:
        """Start the engine."""
        if hello["protocol"] != PROTOCOL:
            raise ValueError("the runner speaks protocol %d, not %r" % (PROTOCOL, hello["protocol"]))
        self.session = Compiled(hello["setup"], hello["name"], hello.get("forget"))
        return {"hello": {"protocol": PROTOCOL, "language": "cpp", "version": compiler_version(), "numpy": None}}


if __name__ == "__main__":
    python_runner.Server = Server  # type: ignore[misc]
    python_runner.main()
