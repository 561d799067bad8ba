// An engine in a few lines: arrays, a tape, elementwise operators that stretch their operands, and two that sum.
"use strict";

const size = (shape) => shape.reduce((product, length) => product * length, 1);
const filled = (shape, number) => ({ shape, numbers: Array(size(shape)).fill(number) });

function common(a, b) {
  const axes = Math.max(a.length, b.length);
  const padded = [a, b].map((shape) => [...Array(axes - shape.length).fill(1), ...shape]);
  return padded[0].map((length, axis) => (length === 1 ? padded[1][axis] : length));
}

// For each entry of an array of shape `to`, the place of its number in an array of shape `from` that is stretched to it.
function places(from, to) {
  return Array.from({ length: size(to) }, (_, at) => {
    let [place, stride, left] = [0, 1, at];
    for (let axis = to.length - 1; axis >= 0; axis--) {
      const length = from[axis - to.length + from.length] ?? 1;
      place += length === 1 ? 0 : (left % to[axis]) * stride;
      stride *= length;
      left = Math.floor(left / to[axis]);
    }
    return place;
  });
}

const tensor = (shape, numbers, parents = [], requiresGrad = parents.some(({ x }) => x.requiresGrad)) => ({
  shape, numbers, parents, requiresGrad, gradient: null,
});

// `slopes` are those of each operand's entries, in the order of the result's.
function elementwise(f, ...slopes) {
  return (operands) => {
    const shape = operands.map((x) => x.shape).reduce(common);
    const at = operands.map((x) => places(x.shape, shape));
    const columns = at.map((where, k) => where.map((place) => operands[k].numbers[place]));
    const rows = Array.from({ length: size(shape) }, (_, i) => columns.map((column) => column[i]));
    const numbers = rows.map((row) => f(...row));
    const parents = operands.map((x, k) => ({ x, at: at[k], slopes: rows.map((row, i) => slopes[k](...row, numbers[i])) }));
    return tensor(shape, numbers, parents);
  };
}

function total([x], { axis, keepdims }, scale = 1) {
  const axes = (axis === null || axis === undefined ? x.shape.map((_, i) => i) : [axis].flat()).map((i) => (i < 0 ? i + x.shape.length : i));
  const kept = x.shape.map((length, i) => (axes.includes(i) ? 1 : length));
  const [where, sums] = [places(kept, x.shape), filled(kept, 0).numbers];
  x.numbers.forEach((number, i) => (sums[where[i]] += number * scale));
  const made = tensor(keepdims ? kept : kept.filter((_, i) => !axes.includes(i)), sums);
  made.parents = [{ x, out: where, slopes: x.numbers.map(() => scale) }];
  made.requiresGrad = x.requiresGrad;
  return made;
}

function backward(output, seed) {
  if (!output.requiresGrad) throw new Error("nothing was recorded");
  if (!seed && output.shape.length) throw new Error("only a scalar needs no seed");
  if (seed && seed.shape.join() !== output.shape.join()) throw new Error("the seed has another shape");
  const order = [];
  const seen = new Set();
  const visit = (x) => seen.has(x) || (seen.add(x), x.parents.forEach((parent) => visit(parent.x)), order.push(x));
  visit(output);
  const arrived = new Map(order.map((x) => [x, filled(x.shape, 0).numbers]));
  arrived.set(output, seed ? [...seed.numbers] : [1]);
  for (const x of order.reverse()) {
    const cotangent = arrived.get(x);
    if (!x.parents.length && x.requiresGrad) x.gradient = cotangent.map((number, i) => number + (x.gradient?.[i] ?? 0));
    for (const { x: parent, at, out, slopes } of x.parents) {
      const to = arrived.get(parent);
      slopes.forEach((slope, i) => (to[at ? at[i] : i] += slope * cotangent[out ? out[i] : i]));
    }
  }
}

module.exports = {
  features: ["arrays", "seed", "accumulate", "retain_graph", "zero_grad", "error:seed-shape", "error:no-graph", "error:implicit-seed"],
  policy: { frees: "never" },
  leaf: ({ shape, numbers }, requiresGrad) => tensor(shape, numbers, [], requiresGrad),
  value: (x) => x,
  gradient: (x) => x.gradient && { shape: x.shape, numbers: x.gradient },
  zeroGrad: (x) => void (x.gradient = null),
  backward,
  operators: {
    add: elementwise((x, y) => x + y, () => 1, () => 1),
    subtract: elementwise((x, y) => x - y, () => 1, () => -1),
    multiply: elementwise((x, y) => x * y, (x, y) => y, (x) => x),
    divide: elementwise((x, y) => x / y, (x, y) => 1 / y, (x, y) => -x / (y * y)),
    negative: elementwise((x) => -x, () => -1),
    exp: elementwise(Math.exp, (x, y) => y),
    log: elementwise(Math.log, (x) => 1 / x),
    sin: elementwise(Math.sin, Math.cos),
    cos: elementwise(Math.cos, (x) => -Math.sin(x)),
    tanh: elementwise(Math.tanh, (x) => 1 / Math.cosh(x) ** 2),
    sqrt: elementwise(Math.sqrt, (x, y) => 0.5 / y),
    relu: elementwise((x) => Math.max(x, 0), (x) => (x > 0 ? 1 : 0)),
    sum: (operands, attributes) => total(operands, attributes),
  },
};
