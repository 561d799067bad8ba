"""The runner of Python engines: one file that needs only the standard library of Python 3.8 or later.

It reads requests as JSON lines from standard input and answers each with one line; docs/reference/runner-protocol.md
describes both. Numpy is used where the interpreter has it. What an engine prints goes to standard error, so that it
cannot be taken for an answer. :class:`Session` is also used for engines in the process of the grader.
"""

from __future__ import annotations

import gc
import io
import json
import os
import sys
import threading
import time
import types
import warnings
from binascii import a2b_base64, b2a_base64
from contextlib import nullcontext, suppress
from operator import is_
from struct import calcsize, iter_unpack, pack, pack_into, unpack_from
from traceback import extract_tb
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple, Type

numpy: Any
try:
    import numpy
except ImportError:
    numpy = None

Json = Dict[str, Any]
Names = Dict[str, Any]

PROTOCOL = 1
PROGRAM = "__refgrad_program__"
"""Name of the module that the setup and the programs run in, as standalone programs run in ``__main__``."""

LONGEST_MESSAGE = 2000
"""Largest number of characters of an exception's message. Some libraries print whole arrays in it."""

LARGEST_ARRAY = 1 << 26
"""Largest number of bytes of an array that is sent."""

REMEMBERED = 50
"""Number of programs after which the adapter's ``forget`` runs. JAX keeps about 10 MB of each, compiled for shapes."""

MOST_NODES = 100000
"""Largest number of nodes of a graph that is traversed."""

DEEPEST = 50
"""Largest number of levels of nested data that are sent."""

PID = calcsize("<II")
"""Offset in the file of marks of the ID of the process that runs programs, which is 0 once it has ended normally."""

GPUS = ("/dev/nvidia", "/dev/kfd", "/dev/dri")
"""Prefixes of the devices that a process holds open while it uses a GPU. A fork cannot continue to use the GPU."""

CHANGING = frozenset({"_", "environ"})
"""Names in Python's modules that may change: the last result of an interactive session, environment variables."""

CODES = {"float64": "d", "float32": "f", "float16": "e", "int64": "q", "bool": "?"}
"""Formats of :mod:`struct` by dtype."""


class LimitError(Exception):
    """Raised if a result is larger than an answer may be."""


class Session:
    """An engine's namespace, in which programs are executed. Each template is compiled once."""

    def __init__(
        self,
        setup: str,
        name: str = "engine",
        forget: str | None = None,
        caught: Type[BaseException] | Tuple[Type[BaseException], ...] = BaseException,
    ) -> None:
        """Run the setup, whose exceptions are propagated. Exceptions of the types ``caught`` answer a step."""
        self.caught = caught
        module = types.ModuleType(PROGRAM)
        sys.modules[PROGRAM] = module  # dataclasses, pickle and compilers look up the module of a function there
        self.namespace: Names = vars(module)
        if numpy is not None:
            self.namespace["np"] = numpy
        exec(compile(setup, "<setup of %s>" % name, "exec", dont_inherit=True), self.namespace)
        self.forget = forget
        self.apart = False
        """True if the process runs only the engine, so that its objects may be exempt from garbage collection."""
        self.frozen: bool | None = None
        """True if objects were frozen before the first timed call. Read only once, since Python counts all of them."""
        self.compiled: Dict[str, Callable[..., Any]] = {}
        self.kept: List[Names] = []
        self.programs = 0

    def collect(self) -> None:
        """Collect garbage, so that new objects get the addresses of earlier ones, and a cache by id goes stale."""
        gc.collect()
        if not self.kept:
            gc.freeze()  # what is left belongs to the library, and need not be traversed again

    def evaluate(self, template: str, fields: Names) -> Any:
        """Return the value of a template with these fields."""
        function = self.compiled.get(template)
        if function is None:
            code = compile(lambda_source(template, fields), "<template %s>" % template, "eval", dont_inherit=True)
            function = self.compiled[template] = eval(code, self.namespace)
        return function(**fields)

    def run(self, program: Json, watch: Callable[[int], None] | None = None) -> List[Json]:
        """Run a program, and return the answers of its steps. If a step raises, the steps after it still run.

        ``watch`` is called with the number of each step before the step runs.
        """
        names: Names = {}
        regions: List[Any] = []
        collecting = gc.isenabled()
        self.programs += 1
        if self.apart:
            self.collect()
        try:
            if self.forget is not None and self.programs % REMEMBERED == 0:
                self.evaluate(self.forget, {})
            if program.get("around") is not None:
                self.execute({"enter": program["around"]}, names, regions)
        except self.caught as error:
            return [raised(error)] + [{} for _ in program["steps"][1:]]
        self.kept = [*self.kept, names] if program.get("keep") else []
        answers = []
        for number, step in enumerate(program["steps"], 1):
            if watch is not None:
                watch(number)
            answers.append(self.take(step, names, regions))
        if collecting:
            gc.enable()
        while regions:
            with suppress(self.caught):  # type: ignore[arg-type]
                regions.pop().__exit__(None, None, None)
        return answers

    def take(self, step: Sequence[Json], names: Names, regions: List[Any]) -> Json:
        """Run a step, and return its answer: that of its last statement, or the exception that was raised."""
        answer: Json = {}
        try:
            for statement in step:
                answer = self.execute(statement, names, regions) or {}
        except self.caught as error:
            return raised(error)
        return answer

    def execute(self, statement: Json, names: Names, regions: List[Any]) -> Json | None:
        """Execute a statement, and return its answer if it shows a result or a graph."""
        kind, body = next(iter(statement.items()))
        if kind == "call":
            self.bind(body, self.call(body, names), names)
        elif kind == "show":
            return self.show(body, names)
        elif kind == "function":
            names[body["name"]] = self.function(body, names)
        elif kind == "delete":
            bound(body, names)
            del names[body]
        elif kind == "enter":
            regions.append(nullcontext())
            region = self.call(body, names)
            region.__enter__()
            regions[-1] = region
        elif kind == "leave":
            error = KeyError("left by error") if body["by_error"] else None
            regions.pop().__exit__(KeyError if error else None, error, None)
        elif kind == "walk":
            return {"graph": self.traverse(body, names)}
        elif kind == "code":
            scope = dict(self.namespace, **names)
            exec(compile(body, "<program>", "exec", dont_inherit=True), scope)
            names.update((name, value) for name, value in scope.items() if self.namespace.get(name, self) is not value)
        else:
            raise NotImplementedError("this runner has no statement %r" % kind)
        return None

    @staticmethod
    def bind(call: Json, result: Any, names: Names) -> None:
        """Bind a result, or its parts, to the targets of a call."""
        targets = call.get("targets", ())
        if not call.get("unpack"):
            names.update((target, result) for target in targets)
            return
        parts = tuple(result)
        if len(parts) != len(targets):
            raise ValueError("%d results where there must be %d" % (len(parts), len(targets)))
        names.update(zip(targets, parts))

    def call(self, call: Json, names: Names) -> Any:
        """Return the result of a call."""
        return self.evaluate(
            call["template"], {field: self.argument(argument, names) for field, argument in call["fields"].items()}
        )

    def argument(self, argument: Json, names: Names) -> Any:
        """Return the value of an argument of a template."""
        kind, body = next(iter(argument.items()))
        if kind == "name":
            return bound(body, names)
        if kind == "value":
            return literal(body)
        if kind == "array":
            return decoded(body)
        if kind == "names":
            return [bound(name, names) for name in body]
        if kind == "call":
            return self.call(body, names)
        if kind == "lambda":
            return lambda *values: self.call(body["body"], dict(names, **dict(zip(body["parameters"], values))))
        raise NotImplementedError("this runner has no argument %r" % kind)

    def function(self, body: Json, names: Names) -> Callable[..., Any]:
        """Return a part of the program as a function of its parameters."""

        def function(*primals: Any) -> Any:
            if len(primals) != len(body["parameters"]):
                raise TypeError("%d arguments where there must be %d" % (len(primals), len(body["parameters"])))
            inner = dict(names)
            inner.update(zip(body["parameters"], primals))
            for statement in body["body"]:
                self.execute(statement, inner, [])
            return bound(body["result"], inner)

        return function

    def show(self, show: Json, names: Names) -> Json:
        """Return the answer of a ``show`` statement."""
        if show.get("optional") and any(
            "name" in argument and argument["name"] not in names for argument in show["call"]["fields"].values()
        ):
            return {"none": True}
        if show.get("timed"):
            result, seconds = self.timed(show["call"], names)
            return dict(self.answer_for(result, show, names), seconds=seconds)
        return self.answer_for(self.call(show["call"], names), show, names)

    def answer_for(self, result: Any, show: Json, names: Names) -> Json:
        """Return the answer for a result, with the dtype of an array as the engine reports it."""
        if show["form"] == "arrays":
            return {"arrays": list(map(encoded, result))}
        if show["form"] == "flag":
            return {"flag": bool(result)}
        if show["form"] == "data":
            return {"data": plain(result)}
        if result is None:
            return {"none": True}
        form = encoded(result)
        if show.get("dtype") is not None:
            form["dtype_told"] = str(self.call(show["dtype"], names)).rpartition(".")[2]
        return {"array": form}

    def timed(self, call: Json, names: Names) -> Tuple[Any, float]:
        """Return the result of a call, and the seconds of processor time that it took without garbage collection.

        The time of a collection depends on all objects of the process, so the collector runs only if the call runs it.
        Objects that were frozen before stay frozen: the process may be shared with the grader.
        """
        enabled = gc.isenabled()
        if self.frozen is None:
            self.frozen = self.apart or gc.get_freeze_count() > 0
        if enabled:  # a program that has disabled it is about what exists before a collection
            gc.collect()
        gc.freeze()
        gc.disable()
        try:
            started = time.process_time()
            result = self.call(call, names)
            return result, time.process_time() - started
        finally:
            if not self.frozen:  # otherwise the next collection would traverse all modules of the library again
                gc.unfreeze()
            if enabled:
                gc.enable()

    def traverse(self, body: Json, names: Names) -> Json:
        """Return the parents of each node. Nodes are numbered in the order in which they are visited.

        All nodes are kept alive during the traversal, so that no two have the same identity.
        """
        numbers: Dict[int, int] = {}
        met: List[Any] = []
        parents: List[List[int]] = []

        def number(node: Any) -> int:
            if id(node) not in numbers:
                numbers[id(node)] = len(met)
                met.append(node)
            return numbers[id(node)]

        named = {name: number(names[variable]) for name, variable in body["nodes"].items()}
        for node in met:
            if len(met) > MOST_NODES:
                raise LimitError("a graph of more than %d nodes is too large to be walked" % MOST_NODES)
            parent_nodes = self.evaluate(body["parents"], {"node": node})
            parents.append([number(parent) for parent in parent_nodes if parent is not None])
        return {"named": named, "parents": parents}

    def members(self, modules: Sequence[str], names: Sequence[str]) -> Dict[str, Dict[str, int]]:
        """Return a number for each of the names that a module has, by module. Names of one object have one number."""
        numbers: Dict[int, int] = {}
        held: List[Any] = []
        by_module: Dict[str, Dict[str, int]] = {}
        for module in modules:
            owner = eval(module, self.namespace)
            values = {name: getattr(owner, name, None) for name in names}
            held.append(values)
            present = ((name, id(value)) for name, value in values.items() if value is not None)
            by_module[module] = {name: numbers.setdefault(key, len(numbers)) for name, key in present}
        return by_module


def lambda_source(template: str, names: Any) -> str:
    """Return the source of a template as a function that takes its fields as keyword arguments."""
    head = "lambda *, %s: " % ", ".join(names) if names else "lambda: "
    return head + template.format(**{name: name for name in names})


def bound(name: str, names: Names) -> Any:
    """Return the value of a variable. Raises NameError, as a program would, where it is not bound."""
    if name not in names:
        raise NameError("name %r is not defined" % name)
    return names[name]


def literal(value: Any) -> Any:
    """Return the value of a literal from its JSON form."""
    if not isinstance(value, dict):
        return value
    ((kind, body),) = value.items()
    if kind == "float":
        return float.fromhex(body)
    return slice(*body) if kind == "slice" else {"tuple": tuple, "list": list}[kind](map(literal, body))


def decoded(form: Json) -> Any:
    """Return a new and writable array from its JSON form, or nested lists where there is no numpy."""
    data = a2b_base64(form["data"])
    shape = tuple(form["shape"])
    if numpy is not None:
        stored = numpy.dtype(form["dtype"]).newbyteorder("<")
        return numpy.ndarray(shape, stored, bytearray(data)).astype(form["dtype"], copy=False)
    return nested([number for (number,) in iter_unpack("<" + CODES[form["dtype"]], data)], shape)


def nested(numbers: List[Any], shape: Tuple[int, ...]) -> Any:
    """Return numbers as nested lists of the given shape."""
    if not shape:
        return numbers[0]
    step = len(numbers) // shape[0] if shape[0] else 0
    return [nested(numbers[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def encoded(result: Any) -> Json:
    """Return the JSON form of an array, or of what numpy converts to one. Masked entries are sent as NaN."""
    if numpy is None:
        return encoded_lists(result)
    array = numpy.array(result)
    masks: Any = sys.modules.get("numpy.ma")  # not imported here: the engine may have used up all file descriptors
    masked = masks.getmaskarray(result) if masks is not None and isinstance(result, masks.MaskedArray) else None
    if masked is not None and masked.any():
        array = numpy.array(masks.getdata(result), dtype=float)
        array[masked] = float("nan")
    dtype = "float64" if array.dtype == numpy.float64 else array.dtype.name  # numpy makes a name anew each time
    if dtype == "bfloat16":
        array = array.astype(numpy.float64)
    if array.nbytes > LARGEST_ARRAY:
        raise LimitError("an array of %d bytes is too large to be sent" % array.nbytes)
    if array.dtype.kind not in "fiubc":
        return {"dtype": dtype, "stored": "none", "shape": list(array.shape), "data": ""}
    stored = array.astype(array.dtype.newbyteorder("<"), copy=False)
    form = {
        "dtype": dtype,
        "shape": list(array.shape),
        "data": b2a_base64(stored.tobytes(), newline=False).decode("ascii"),
    }
    if dtype == "bfloat16":
        form["stored"] = "float64"
    if masked is not None and masked.any():
        form["masked"] = int(masked.sum())
    return form


def encoded_lists(result: Any) -> Json:
    """Return the JSON form of nested lists of numbers as an array of float64."""
    shape: List[int] = []
    level = result
    while isinstance(level, (list, tuple)):
        shape.append(len(level))
        level = level[0] if level else None
    numbers = list(map(float, flat(result)))
    data = pack("<%dd" % len(numbers), *numbers)
    return {"dtype": "float64", "shape": shape, "data": b2a_base64(data, newline=False).decode("ascii")}


def flat(result: Any) -> Iterator[Any]:
    """Yield the numbers of nested lists."""
    if isinstance(result, (list, tuple)):
        for item in result:
            yield from flat(item)
    else:
        yield result


def plain(value: Any, depth: int = 0) -> Any:  # noqa: PLR0911 (one return for each kind of value)
    """Return the JSON form of data: floats and arrays are exact, and other objects are replaced by their type."""
    if depth > DEEPEST:
        raise LimitError("data nested deeper than %d levels" % DEEPEST)
    if value is None or isinstance(value, (bool, str)):
        return value[:LONGEST_MESSAGE] if isinstance(value, str) else value
    if type(value) is int:
        return value if abs(value) < 1 << 53 else {"float": float(value).hex()}
    if type(value) is float:
        return {"float": value.hex()}
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {"object": {str(key): plain(item, depth + 1) for key, item in value.items()}}
    try:
        return {"array": encoded(value)}
    except Exception:
        return {"type": type(value).__name__}


def raised(error: BaseException) -> Json:
    """Return the JSON form of an exception. A message that cannot be read is replaced."""
    kind = type(error)
    try:
        message = str(error)
    except BaseException as failure:
        message = "its message cannot be read: %s" % type(failure).__name__
    if len(message) > LONGEST_MESSAGE:
        message = message[:LONGEST_MESSAGE] + " ..."
    return {
        "error": {
            "type": str(kind.__name__)[:200],
            "bases": [str(base.__name__)[:200] for base in kind.__mro__][:20],
            "message": message.encode("utf-8", "backslashreplace").decode("utf-8"),
        }
    }


def position(error: BaseException) -> str:
    """Return the file and line where an import raised an error, unless the message of the error has them."""
    frames = [each for each in extract_tb(error.__traceback__) if each.filename[0] != "<" and each.filename != __file__]
    unknown = not frames or isinstance(error, SyntaxError)
    return "" if unknown else " (%s, line %s)" % (os.path.basename(frames[-1].filename), frames[-1].lineno)


class Server:
    """Answers requests, one JSON line each, until there are no more."""

    def __init__(self, requests: Any, answers: Any, marks: Any = None, *, apart: bool = False) -> None:
        """Set the requests to serve. The step that is being run is written to ``marks``, a file mapped to memory.

        ``apart`` is True if the process runs only the engine.
        """
        self.requests = requests
        self.answers = answers
        self.marks = marks
        self.apart = apart
        self.session: Session | None = None
        self.forks = False
        self.limit = sys.getrecursionlimit()
        self.watched: List[Tuple[str, Names, Names]] = []
        # Bound here, so that the protocol still works if an engine changes these modules.
        self.loads, self.dumps, self.set_limit, self.leave = json.loads, json.dumps, sys.setrecursionlimit, os._exit

    def serve(self) -> bool:
        """Answer requests. Return True if one asks for a new process, False if one asks to stop or the input ends.

        An engine that survives a fork is started once: each process that runs programs is a fork of one that has
        imported the engine and run no program.
        """
        for line in self.requests:
            try:
                request = self.loads(line)
            except ValueError:  # the rest of a request whose beginning was read by a fork that was killed
                continue
            if "stop" in request:
                return False
            if "renew" in request:
                return True
            answer: Json = {"id": request.get("id")}
            try:
                answer.update(self.answer(request))
            except BaseException as error:
                answer.update(raised(error))
                answer["error"]["message"] += position(error) if "hello" in request else ""
            self.write(answer)
            if "hello" in request and self.forks:
                self.serve_in_forks()
                return False
        return False

    def serve_in_forks(self) -> None:
        """Answer in one forked process after another, and report the end of each, until a request to stop arrives."""
        while True:
            sys.stdout.flush()
            sys.stderr.flush()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about threads, such as those of OpenBLAS
                pid = os.fork()
            if not pid:
                self.be_forked()
            _, status = os.waitpid(pid, 0)
            in_order = not unpack_from("<I", self.marks, PID)[0]
            if in_order and os.WEXITSTATUS(status):
                return
            self.answers.write(b"" if in_order else b"\n")  # ends an answer that was written in part
            self.write({"ended": -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)})

    def be_forked(self) -> None:
        """Serve in a process that was just forked, and end it: with status 0 if another fork is requested, else 1."""
        os.setsid()
        die_with_parent()
        pack_into("<I", self.marks, PID, os.getpid())
        going_on = self.serve()
        pack_into("<I", self.marks, PID, 0)
        self.leave(0 if going_on else 1)

    def write(self, answer: Json) -> None:
        """Send one line."""
        self.answers.write(self.dumps(answer).encode("ascii") + b"\n")
        self.answers.flush()

    def answer(self, request: Json) -> Json:
        """Return the answer to a request."""
        if "hello" in request:
            if request["hello"]["protocol"] != PROTOCOL:
                raise ValueError("the runner speaks protocol %d, not %r" % (PROTOCOL, request["hello"]["protocol"]))
            return {"hello": dict(self.hello(request["hello"]), protocol=PROTOCOL)}
        session = self.session
        if session is None:
            raise ValueError("the first request must be a hello")
        if "members" in request:
            return {"members": session.members(request["members"]["modules"], request["members"]["names"])}
        return self.run(session, request["run"])

    def hello(self, hello: Json) -> Json:
        """Start the engine, limit the memory that it may take from here on, and return a description of the runner."""
        for path in reversed(hello.get("path", [])):
            if path not in sys.path:
                sys.path.insert(0, path)
        self.session = Session(hello["setup"], hello["name"], hello.get("forget"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for module in hello.get("preload", []):
                with suppress(Exception):  # another version of the library has no such module
                    __import__(module)
        if self.apart and hasattr(gc, "freeze"):
            self.session.apart = True
            self.session.collect()  # of all current objects; to traverse those of PyTorch takes 0.1 s
        self.limit = sys.getrecursionlimit()  # some libraries raise it when they are imported
        limit_memory(hello.get("memory"))
        modules = [sys.modules["builtins"], gc, io, json, os, sys.modules["json.encoder"], sys.modules["json.decoder"]]
        for module in [*modules, *([] if numpy is None else [numpy])]:
            known = {name: value for name, value in vars(module).items() if name not in CHANGING}
            self.watched.append((module.__name__, vars(module), known))
        self.forks = bool(hello.get("forks")) and self.marks is not None and survives_a_fork()
        versions = {"version": sys.version.split()[0], "numpy": None if numpy is None else numpy.__version__}
        return {"language": "python", **versions, "forks": self.forks, "pid": os.getpid()}

    def run(self, session: Session, programs: Sequence[Json]) -> Json:
        """Run a batch of programs. If one of them has changed Python itself, answer only the first one.

        What ran after the change is unreliable, and it is not known which program made the change.
        """
        ran: List[List[Json]] = []
        for index, program in enumerate(programs):
            self.mark(index, 0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if numpy is not None:
                    numpy.seterr(all="ignore")
                ran.append(session.run(program, lambda step, index=index: self.mark(index, step)))  # type: ignore[misc]
            self.set_limit(self.limit)
        return {"ran": ran[:1], "tampered": True} if self.tampered() else {"ran": ran}

    def tampered(self) -> bool:
        """Return True if the engine has changed one of the modules that every program of this process relies on."""
        return any(
            name not in sys.modules or not all(map(is_, map(names.get, known), known.values()))
            for name, names, known in self.watched
        )

    def mark(self, index: int, step: int) -> None:
        """Write the index of the program and the number of the step that are being run to the marks."""
        if self.marks is not None:
            self.marks[0:8] = pack("<II", index, step)


def survives_a_fork() -> bool:
    """Return True if a fork of this process can continue: there are no other threads, and no GPU is used.

    Threads of OpenBLAS do not count: each copy of it that is loaded starts its threads again in a fork.
    """
    try:
        with open("/proc/self/maps") as file:
            copies = len({line.split()[-1] for line in file if "openblas" in line})
        threads = len(os.listdir("/proc/self/task"))
    except OSError:  # not Linux
        return False
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # it has been closed
            if os.readlink("/proc/self/fd/" + descriptor).startswith(GPUS):
                return False
    of_blas = copies * (len(os.sched_getaffinity(0)) - 1)
    return threads <= 1 + of_blas and threading.active_count() == 1


def limit_memory(allowed: int | None) -> None:
    """Limit the growth of the address space to ``allowed`` bytes, if the system supports this."""
    if not allowed:
        return
    with suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/statm") as file:
            held = int(file.read().split()[0]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (held + allowed, hard))


def die_with_parent() -> None:
    """Have Linux kill this process when the process that started it ends."""
    with suppress(Exception):
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def main(server: Type[Server] = Server) -> None:
    """Serve requests. The pipe of answers is moved to a descriptor that the engine does not print to."""
    parent = os.getppid()
    die_with_parent()
    if os.getppid() != parent:
        return
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    sys.path[:] = [path for path in sys.path if path != os.path.dirname(os.path.abspath(__file__))]
    sys.path.insert(0, os.getcwd())
    marks = None
    if len(sys.argv) > 1:
        import mmap

        marks = mmap.mmap(int(sys.argv[1]), 0)
        os.close(int(sys.argv[1]))
    server(requests, answers, marks, apart=True).serve()
    answers.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
