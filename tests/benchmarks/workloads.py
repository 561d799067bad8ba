"""Which losses are engines timed on? Each is written once for all of them, with its gradient by hand beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = Sequence[Any]
Loss = Callable[..., Any]
CHAIN_STEPS, GRAPH_NODES = 333, 10_000  # a step of the chain is three operators


@dataclass(frozen=True, slots=True)
class Workload:
    """A loss written once for every library, its hand-written gradient, and where to take it."""

    points: Arrays
    loss: Callable[[Any], Loss]
    by_hand: Callable[..., Arrays]
    operators: int


def chain() -> Workload:
    """y = tanh(w y + b), over and over; 0-d arrays, as numpy users hold their parameters."""

    def loss(functions: Any) -> Loss:
        tanh = functions.tanh

        def repeated(x: Any, w: Any, b: Any) -> Any:
            y = x
            for _ in range(CHAIN_STEPS):
                y = tanh(y * w + b)
            return y

        return repeated

    def by_hand(x: Any, w: Any, b: Any) -> Arrays:
        products, sums, outputs = [], [], [x]
        for _ in range(CHAIN_STEPS):
            products.append(outputs[-1] * w)
            sums.append(products[-1] + b)
            outputs.append(np.tanh(sums[-1]))
        g, to_w, to_b = np.float64(1.0), 0.0, 0.0
        for i in reversed(range(CHAIN_STEPS)):
            g = g * (1 - outputs[i + 1] ** 2)
            to_b = to_b + g
            to_w = to_w + g * outputs[i]
            g = g * w
        return g, to_w, to_b

    return Workload([np.array(0.5), np.array(0.9), np.array(0.1)], loss, by_hand, 3 * CHAIN_STEPS)


def mlp() -> Workload:
    """A perceptron 64-256-256-10 on a batch of 128, with the mean squared error."""
    random = np.random.default_rng(0)
    inputs, targets = random.standard_normal((128, 64)), random.standard_normal((128, 10))
    sizes = [(64, 256), (256, 256), (256, 10)]
    points = [p for rows, columns in sizes for p in (random.standard_normal((rows, columns)) / 8, np.zeros(columns))]

    def loss(functions: Any) -> Loss:
        relu = functions.relu
        constant = getattr(functions, "tensor", lambda array: array)  # PyTorch mixes with its own tensors only
        x, y = constant(inputs), constant(targets)

        def squared_error(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:  # noqa: PLR0913, PLR0917
            hidden = relu(relu(x @ w1 + b1) @ w2 + b2)
            return ((hidden @ w3 + b3 - y) ** 2).mean()

        return squared_error

    def by_hand(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Arrays:  # noqa: PLR0913, PLR0917
        h1 = inputs @ w1 + b1
        a1 = np.maximum(h1, 0)
        h2 = a1 @ w2 + b2
        a2 = np.maximum(h2, 0)
        d = a2 @ w3 + b3 - targets
        np.mean(d**2)
        g3 = 2 * d / d.size
        g2 = (g3 @ w3.T) * (h2 > 0)
        g1 = (g2 @ w2.T) * (h1 > 0)
        return inputs.T @ g1, g1.sum(0), a1.T @ g2, g2.sum(0), a2.T @ g3, g3.sum(0)

    return Workload(points, loss, by_hand, 12)


def graph() -> Workload:
    """10,000 nodes of 8 entries, each a product, a sum or a tanh of what came shortly before."""
    random = np.random.default_rng(1)
    rows = [(("multiply", "add", "tanh")[k % 3], *_arguments(random, k + 3)) for k in range(GRAPH_NODES)]

    def loss(functions: Any) -> Loss:
        tanh = functions.tanh

        def run(*leaves: Any) -> Any:
            values = list(leaves)
            for operator, i, j in rows:
                if operator == "multiply":
                    values.append(values[i] * values[j])
                elif operator == "add":
                    values.append(values[i] + values[j])
                else:
                    values.append(tanh(values[i]))
            total = values[-1] + values[-2]
            return total.sum() if hasattr(total, "sum") else total

        return run

    points = [random.uniform(-1, 1, 8) for _ in range(3)]
    return Workload(points, loss, lambda *leaves: graph_by_hand(rows, leaves), GRAPH_NODES)


def _arguments(random: np.random.Generator, known: int) -> tuple[int, int]:
    i, j = known - random.integers(1, min(20, known + 1), 2)
    return int(i), int(j)


def graph_by_hand(rows: Sequence[tuple[str, int, int]], leaves: Arrays) -> Arrays:
    """Run the rows forward and backward, with nothing but lists."""
    values: list[Any] = list(leaves)
    for operator, i, j in rows:
        if operator == "multiply":
            values.append(values[i] * values[j])
        elif operator == "add":
            values.append(values[i] + values[j])
        else:
            values.append(np.tanh(values[i]))
    (values[-1] + values[-2]).sum()
    cotangents: list[Any] = [0.0] * len(values)
    cotangents[-1] = cotangents[-2] = np.ones(8)
    for k in reversed(range(len(rows))):
        operator, i, j = rows[k]
        g = cotangents[k + 3]
        if operator == "multiply":
            cotangents[i] = cotangents[i] + g * values[j]
            cotangents[j] = cotangents[j] + g * values[i]
        elif operator == "add":
            cotangents[i] = cotangents[i] + g
            cotangents[j] = cotangents[j] + g
        else:
            cotangents[i] = cotangents[i] + g * (1 - values[k + 3] ** 2)
    return cotangents[: len(leaves)]
