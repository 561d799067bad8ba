"""Engines whose exponential misbehaves in one way each, and the outcome that its check must have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import indent
from types import MappingProxyType
from typing import Final

from refgrad.grading.judging.verdict import Outcome
from refgrad.native.adapter import TapeAdapter
from tests.native.tiny_engine import tiny_adapter

LEFT_BEHIND: Final = ("sleep", "60.0625")
"""What a child does that a process leaves behind: nothing else on a machine does just that."""

SETUP: Final = """
import builtins, ctypes, faulthandler, gc, json, os, resource, signal, subprocess, sys, threading, time, warnings
from tests.native.tiny_tape import Tiny

def exp(x):
{body}
    y = np.exp(x.data)
    return Tiny(y, ((x, lambda g: g * y),))

def sin(x):
    return Tiny(np.sin(x.data), ((x, lambda g: g * np.cos(x.data)),))
"""


@dataclass(frozen=True, slots=True)
class Misbehaviour:
    """Lines that an exponential runs before it answers, and what its check must find."""

    name: str
    lines: str
    outcome: Outcome

    def adapter(self) -> TapeAdapter:
        """Return the engine; its sine is sound, but for what the exponential leaves behind."""
        setup = SETUP.format(body=indent(self.lines, "    "))
        operators: Mapping[str, str] = {"exp": "exp({x})", "sin": "sin({x})"}
        return tiny_adapter(name="misbehaving", setup=setup, operators=operators)


def _raising(bases: str, text: str = "") -> str:
    return f"class Odd({bases}):\n    def __str__(self):\n        {text or 'return str()'}\nraise Odd()"


def _writing(line: str) -> str:
    """Write a line to every file that may be open."""
    written = f"os.write(number, {line})"
    return f"for number in range(3, 64):\n    try:\n        {written}\n    except OSError:\n        pass"


def leaving_a_child(noted: str = "", end: str = "os._exit(1)") -> str:
    """Start a child that holds the pipes, run a line that may name it, and end without it."""
    return f"child = subprocess.Popen({[*LEFT_BEHIND]}, close_fds=False)\n{noted}\n{end}"


def leaving_a_daemon(noted: str) -> str:
    """Start a child in a session and with a parent of its own, as daemons do, note its number, and go on."""
    lines = "if not os.fork():", "    os.setsid()", "    if not os.fork():", f"        {noted}"
    return "\n".join([*lines, f"        os.execvp({LEFT_BEHIND[0]!r}, {[*LEFT_BEHIND]})", "    os._exit(0)"])


LINES: Final[Mapping[str, tuple[str, Outcome]]] = MappingProxyType({
    # The process ends.
    "leaves with status 0": ("os._exit(0)", "crashed"),
    "leaves with status 3": ("os._exit(3)", "crashed"),
    "aborts": ("os.abort()", "crashed"),
    "segfaults": ("ctypes.string_at(0)", "crashed"),
    "kills itself": ("os.kill(os.getpid(), signal.SIGKILL)", "crashed"),
    "terminates itself": ("os.kill(os.getpid(), signal.SIGTERM)", "crashed"),
    "becomes another program": ("os.execv('/bin/true', ['true'])", "crashed"),
    "sets an alarm that ends it": ("signal.setitimer(signal.ITIMER_REAL, 0.01)\ntime.sleep(5)", "crashed"),
    "closes every file": ("os.closerange(0, 256)", "crashed"),
    "leaves a child that holds the pipes": (leaving_a_child(), "crashed"),
    "kills its parent": ("os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(5)", "crashed"),
    # It does not answer.
    "never ends": ("while True:\n    pass", "hung"),
    "sleeps": ("time.sleep(1000)", "hung"),
    "waits for itself": ("lock = threading.Lock()\nlock.acquire()\nlock.acquire()", "hung"),
    "stops itself": ("os.kill(os.getpid(), signal.SIGSTOP)", "hung"),
    "ignores signals and never ends": (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True:\n    time.sleep(1)",
        "hung",
    ),
    # It raises what few expect.
    "leaves as a script does": ("sys.exit(0)", "unexpected-error"),
    "leaves with a text": ("raise SystemExit('done')", "unexpected-error"),
    "is interrupted": ("raise KeyboardInterrupt", "unexpected-error"),
    "ends a generator": ("raise GeneratorExit", "unexpected-error"),
    "raises a base exception": (_raising("BaseException"), "unexpected-error"),
    "raises what cannot be printed": (_raising("ValueError", "raise KeyError(1)"), "unexpected-error"),
    "raises what leaves when it is printed": (_raising("ValueError", "sys.exit(0)"), "unexpected-error"),
    "raises what is no text": (_raising("ValueError", "return 3"), "unexpected-error"),
    "raises ten megabytes": ("raise ValueError('x' * 10_000_000)", "unexpected-error"),
    "raises a lone surrogate": ("raise ValueError('\\ud800')", "unexpected-error"),
    "raises terminal escapes": ("raise ValueError('\\x1b[2J\\x07')", "unexpected-error"),
    "raises a class without a name": ("raise type('', (Exception,), {})()", "unexpected-error"),
    "reads from standard input": ("input()", "unexpected-error"),
    "recurses without end": ("def deep(): return deep()\ndeep()", "crashed"),
    "uses up memory": ("held = []\nwhile True:\n    held.append(bytearray(1 << 26))", "crashed"),
    # It says too much, or in the wrong place.
    "floods standard output": ("print('x' * 1_000_000)", "passed"),
    "floods standard error": ("print('x' * 1_000_000, file=sys.stderr)", "passed"),
    "writes rubbish to every file": (
        _writing("b'rubbish\\n'"),
        "crashed",
    ),
    "forges an answer": (_writing('b\'{"id": 1, "ran": []}\\n\''), "crashed"),
    "closes standard output": ("sys.stdout.close()\ntry:\n    os.close(1)\nexcept OSError:\n    pass", "passed"),
    # It changes Python for whoever comes next.
    "lowers the recursion limit": ("sys.setrecursionlimit(60)", "passed"),
    "replaces a builtin": ("builtins.sum = builtins.len = None", "passed"),
    "stops its parent": ("os.kill(os.getppid(), signal.SIGSTOP)", "passed"),
    "replaces base64": ("import base64\nbase64.b64encode = lambda *_: b'AAAA'", "passed"),
    "replaces struct": ("import struct\nstruct.pack = struct.unpack = None", "passed"),
    "replaces json": ("json.dumps = json.loads = None", "passed"),
    "replaces a function of numpy": ("import numpy\nnumpy.sin = lambda x: x", "passed"),
    "has numpy raise": ("import numpy\nnumpy.seterr(all='raise')", "unexpected-error"),
    "makes warnings errors": ("warnings.simplefilter('error')", "passed"),
    "switches the collector off": ("gc.disable()", "passed"),
    "forgets all modules": ("sys.modules.clear()", "passed"),
    "leaves a thread that never ends": (
        "if threading.active_count() == 1:\n    threading.Thread(target=time.sleep, args=(1000,)).start()",
        "passed",
    ),
    "forks, and both go on": (  # once: if all that there are did so in each program, there would be thousands
        "if not hasattr(os, 'forked'):\n    os.forked = True\n    os.fork()",
        "passed",
    ),
    "moves to another folder": ("os.chdir('/')", "passed"),
    "may open no further file": ("resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))", "passed"),
    "dumps traces when time is up": ("faulthandler.dump_traceback_later(0.01, exit=True)\ntime.sleep(5)", "crashed"),
    # It answers with something odd.
    "gives None": ("return None", "unexpected-error"),
    "gives text": ("return 'text'", "unexpected-error"),
    "is not implemented": ("raise NotImplementedError", "unsupported"),
})

MISBEHAVIOURS: Final = tuple(Misbehaviour(name, lines, outcome) for name, (lines, outcome) in LINES.items())
