// A finding of refgrad: operators/matmul, wrong error.
// `matmul(a, b)` has a gradient at a = [[[1.0]]], b = [[1.0]]; tfjs 4.22.0 raises Error: Error in gradient for op
// BatchMatMul. The gradient of input 'b' has shape '1,1,1', which does not match the shape of the input '1,1'.
// Violated (MUST): matmul: value and gradient are right, for any shape, attribute and seed.
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

var a = tf.tensor([[[1.0]]], [1, 1, 1], 'float32');
var b = tf.tensor([[1.0]], [1, 1]);
var c = tf.matMul(ranked(a, 2, 9), ranked(b, 2, 9));
const program_c = (b) => {
  var c = tf.matMul(ranked(a, 2, 9), ranked(b, 2, 9));
  return c;
};
var [output_c, pullback_of_c] = vjp(program_c, [b]);
var [gradient_of_b] = pullback_of_c(tf.tensor([[[1.0]]], [1, 1, 1]));
