// A finding of refgrad: operators/cumsum, wrong error.
// `cumsum(a)` has a gradient at a = [[1.0, 1.0]]; tfjs 4.22.0 raises Error: Error in gradient for op Cumsum. The
// gradient of input 'x' has shape '2,1', which does not match the shape of the input '1,2'.
// Violated (MUST): cumsum: value and gradient are right, for any shape, attribute and seed.
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

function along(x, axis) {
  return axis < 0 ? axis + x.shape.length : axis;
}

var a = tf.tensor([[1.0, 1.0]], [1, 2]);
var b = tf.cumsum(ranked(a, 1, 6), along(a, 0));
const program_b = (a) => {
  var b = tf.cumsum(ranked(a, 1, 6), along(a, 0));
  return b;
};
var [output_b, pullback_of_b] = vjp(program_b, [a]);
var [gradient_of_a] = pullback_of_b(tf.tensor([[1.0, 1.0]], [1, 2]));
