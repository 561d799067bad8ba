// A finding of refgrad: operators/take, wrong error.
// `take(a, indices=())` has a gradient at a = []; tfjs 4.22.0 raises TypeError: Cannot read properties of undefined
// (reading 'shape').
// Violated (MUST): take: value and gradient are right, for any shape, attribute and seed.
// Found on tfjs 4.22.0, Linux x86_64.

console.warn = console.error = () => {};  // it recommends another package
var tf = require("@tensorflow/tfjs");
tf.setBackend("cpu");

class NotImplementedError extends Error {}

function vjp(f, primals) {
  return [f(...primals), (seed) => tf.grads(f)(primals, seed)];
}

function axes(x, axis) {
  return axis === null ? x.shape.map((_, i) => i) : [].concat(axis);
}

function ranked(x, least, most) {
  if (x.shape.length < least || x.shape.length > most) throw new NotImplementedError(`${x.shape.length} axes`);
  return x;
}

function integers(indices, length) {  // counted from the end if they are negative
  const counted = (i) => Array.isArray(i) ? i.map(counted) : (i + length) % length;
  return tf.tensor(counted(indices), undefined, "int32");
}

function along(x, axis) {
  return axis < 0 ? axis + x.shape.length : axis;
}

var a = tf.tensor([], [0]);
var b = tf.gather(ranked(a, 1, 6), integers([], a.shape[along(a, 0)]), along(a, 0));
const program_b = (a) => {
  var b = tf.gather(ranked(a, 1, 6), integers([], a.shape[along(a, 0)]), along(a, 0));
  return b;
};
var [output_b, pullback_of_b] = vjp(program_b, [a]);
var [gradient_of_a] = pullback_of_b(tf.tensor([], [0]));
