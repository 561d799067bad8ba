# Reverse mode, version 3. The backward step is one big if over the name of the operation.

import math


class Node:
    def __init__(self, value, op="leaf", parents=()):
        self.value = float(value)
        self.op = op
        self.parents = parents
        self.grad = 0.0

    def __add__(self, other):
        other = wrap(other)
        return Node(self.value + other.value, "add", (self, other))

    def __mul__(self, other):
        other = wrap(other)
        return Node(self.value * other.value, "mul", (self, other))

    def __sub__(self, other):
        other = wrap(other)
        return Node(self.value - other.value, "sub", (self, other))

    def __truediv__(self, other):
        other = wrap(other)
        return Node(self.value / other.value, "div", (self, other))

    def __neg__(self):
        return Node(-self.value, "neg", (self,))

    def exp(self):
        return Node(math.exp(self.value), "exp", (self,))

    def log(self):
        return Node(math.log(self.value), "log", (self,))

    def sin(self):
        return Node(math.sin(self.value), "sin", (self,))

    def cos(self):
        return Node(math.cos(self.value), "cos", (self,))

    def sqrt(self):
        return Node(math.sqrt(self.value), "sqrt", (self,))

    def push(self):
        """Hand the gradient of this node to its parents."""
        g = self.grad
        if self.op == "leaf":
            return
        a = self.parents[0]
        b = self.parents[-1]
        if self.op == "add":
            a.grad = g
            b.grad = g
        elif self.op == "sub":
            a.grad += g
            b.grad -= g
        elif self.op == "mul":
            a.grad += g * b.value
            b.grad += g * a.value
        elif self.op == "div":
            a.grad += g / b.value
            b.grad -= g * a.value / b.value**2
        elif self.op == "neg":
            a.grad -= g
        elif self.op == "exp":
            a.grad += g * self.value
        elif self.op == "log":
            a.grad += g / a.value
        elif self.op == "sin":
            a.grad += g * math.cos(a.value)
        elif self.op == "cos":
            a.grad -= g * math.sin(a.value)
        elif self.op == "sqrt":
            a.grad += g / (2 * self.value)
        else:
            raise NotImplementedError(self.op)

    def zero_grad(self):
        self.grad = 0.0

    def backward(self, seed=1.0):
        # depth first with a stack of our own, Python's is too small for long sums
        order, done, stack = [], set(), [(self, False)]
        while stack:
            node, expanded = stack.pop()
            if expanded:
                order.append(node)
            elif id(node) not in done:
                done.add(id(node))
                stack.append((node, True))
                stack.extend((p, False) for p in node.parents)
        for node in order:
            if node.parents:
                node.grad = 0.0  # of an earlier backward
        self.grad = seed
        for node in reversed(order):
            node.push()


def wrap(x):
    return x if isinstance(x, Node) else Node(x)
