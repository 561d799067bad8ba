"""The runner of a language of stacks, in which `{x} {y} add` is a sum: a minimal runner from outside, without refgrad.

The engine is a tape of scalars, whose cosine has a wrong slope. What the runner does not know it refuses by a
NotImplementedError, as docs/reference/runner-protocol.md describes.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class Tensor:
    """A scalar, and the tensors that it was computed from with the slope to each."""

    def __init__(self, number: float, *parents: tuple[Tensor, float], requires_grad: bool = False) -> None:
        self.number, self.parents = number, parents
        self.requires_grad: bool = requires_grad or any(parent.requires_grad for parent, _ in parents)
        self.grad: float | None = None


def backward(output: Tensor, seed: float) -> None:
    if not output.requires_grad:
        raise ValueError("the output requires no gradient")
    if not output.parents:
        output.grad = (output.grad or 0.0) + seed
    for parent, slope in output.parents:
        if parent.requires_grad:
            backward(parent, seed * slope)


WORDS: dict[str, tuple[int, Callable[..., Any]]] = {  # number of operands, and the function that computes the result
    "leaf": (2, lambda number, requires_grad: Tensor(number, requires_grad=requires_grad)),
    "number": (1, lambda x: x.number),
    "gradient": (1, lambda x: x.grad),
    "forget": (1, lambda x: setattr(x, "grad", None)),
    "backward": (2, lambda x, seed: backward(x, 1.0 if seed is None else seed)),
    "plus": (2, lambda x, y: x + y),
    "add": (2, lambda x, y: Tensor(x.number + y.number, (x, 1.0), (y, 1.0))),
    "multiply": (2, lambda x, y: Tensor(x.number * y.number, (x, y.number), (y, x.number))),
    "sin": (1, lambda x: Tensor(math.sin(x.number), (x, math.cos(x.number)))),
    "cos": (1, lambda x: Tensor(math.cos(x.number), (x, math.sin(x.number)))),
}


def called(call: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
    stack: list[Any] = []
    for word in call["template"].split():
        if word.startswith("{"):
            stack.append(argument(call["fields"][word[1:-1]], names))
        else:
            count, function = WORDS[word]
            stack[-count:] = [function(*stack[-count:])]
    return stack.pop()


def argument(given: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
    match given:
        case {"name": name}:
            return names[name]
        case {"call": call}:
            return called(call, names)
        case {"array": {"shape": [], "data": data}}:
            return struct.unpack("<d", b64decode(data))[0]
        case {"value": {"float": text}}:
            return float.fromhex(text)
        case {"value": bool() | None as value}:
            return value
    raise NotImplementedError(f"no argument {given}")


def shown(show: Mapping[str, Any], names: Mapping[str, Any]) -> Mapping[str, Any]:
    if show["form"] != "array":
        raise NotImplementedError(f"no form {show['form']}")
    if show.get("optional") and not {each["name"] for each in show["call"]["fields"].values()} <= names.keys():
        return {"none": True}
    number = called(show["call"], names)
    if number is None:
        return {"none": True}
    return {"array": {"dtype": "float64", "shape": [], "data": b64encode(struct.pack("<d", number)).decode()}}


def step(statements: Sequence[Mapping[str, Any]], names: dict[str, Any]) -> Mapping[str, Any]:
    answer: Mapping[str, Any] = {}
    for statement in statements:
        match statement:
            case {"call": call}:
                names.update(dict.fromkeys(call.get("targets", ()), called(call, names)))
            case {"delete": name}:
                del names[name]
            case {"show": show}:
                answer = shown(show, names)
            case _:
                raise NotImplementedError(f"no statement {statement}")
    return answer


def guarded(function: Callable[..., Mapping[str, Any]], *arguments: Any) -> Mapping[str, Any]:
    try:
        return function(*arguments)
    except Exception as error:  # noqa: BLE001 (whatever is raised is the answer)
        bases = [base.__name__ for base in type(error).__mro__]
        return {"error": {"type": bases[0], "bases": bases, "message": str(error)}}


def run(program: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    names: dict[str, Any] = {}
    return [guarded(step, statements, names) for statements in program["steps"]]


def answered(request: Mapping[str, Any]) -> Mapping[str, Any]:
    match request:
        case {"hello": {"protocol": 1}}:
            return {"hello": {"protocol": 1, "language": "stacks", "version": "1"}}
        case {"run": programs}:
            return {"ran": [run(program) for program in programs]}
    raise NotImplementedError(f"no request {request}")


for line in sys.stdin:
    asked = json.loads(line)
    if "stop" in asked:
        break
    sys.stdout.write(json.dumps({"id": asked["id"], **guarded(answered, asked)}) + "\n")
    sys.stdout.flush()
