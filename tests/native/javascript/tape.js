// A tape of scalars in a few lines, for the tests of the Node runner.
"use strict";

class Value {
  constructor(data, parents = [], requiresGrad = parents.some(([parent]) => parent.requiresGrad)) {
    this.data = data;
    this.parents = parents;
    this.requiresGrad = requiresGrad;
    this.grad = null;
    this.hooks = new Set();
  }

  hook(f) {
    this.hooks.add(f);
    return { remove: () => this.hooks.delete(f) };
  }

  backward(seed = null) {
    const order = [];
    const seen = new Set();
    const visit = (node) => {
      if (seen.has(node)) return;
      seen.add(node);
      node.parents.forEach(([parent]) => visit(parent));
      order.push(node);
    };
    visit(this);
    const cotangents = new Map([[this, seed ?? 1]]);
    for (const node of order.reverse()) {
      let arrived = cotangents.get(node);
      for (const f of node.hooks) arrived = f(new Value(arrived))?.data ?? arrived;
      if (node.parents.length === 0 && node.requiresGrad) node.grad = (node.grad ?? 0) + arrived;
      for (const [parent, slope] of node.parents) {
        if (parent.requiresGrad) cotangents.set(parent, (cotangents.get(parent) ?? 0) + arrived * slope);
      }
    }
  }
}

const unary = (f, slope) => (x) => new Value(f(x.data), [[x, slope(x.data, f(x.data))]]);

module.exports = {
  leaf: (data, requiresGrad) => new Value(data, [], requiresGrad),
  add: (x, y) => new Value(x.data + y.data, [[x, 1], [y, 1]]),
  multiply: (x, y) => new Value(x.data * y.data, [[x, y.data], [y, x.data]]),
  negative: unary((x) => -x, () => -1),
  exp: unary(Math.exp, (_, y) => y),
  sin: unary(Math.sin, Math.cos),
  tanh: unary(Math.tanh, (_, y) => 1 - y * y),
  wrong: unary(Math.cos, Math.sin),
};
