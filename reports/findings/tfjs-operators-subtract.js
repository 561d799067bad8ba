// A finding of refgrad: operators/subtract, wrong error.
// `subtract(a, b)` has a gradient at a = [], b = [1.0]; tfjs 4.22.0 raises Error: The new shape (1) has 1 elements and
// the old shape (0) has 0 elements. The new shape and old shape must have the same number of elements.
// Violated (MUST): subtract: value and gradient are right, for any shape, attribute and seed.
// Found on tfjs 4.22.0, Linux x86_64.

console.warn = console.error = () => {};  // it recommends another package
var tf = require("@tensorflow/tfjs");
tf.setBackend("cpu");

function vjp(f, primals) {
  return [f(...primals), (seed) => tf.grads(f)(primals, seed)];
}

var a = tf.tensor([], [0], 'float32');
var b = tf.tensor([1.0], [1]);
var c = tf.sub(a, b);
const program_c = (b) => {
  var c = tf.sub(a, b);
  return c;
};
var [output_c, pullback_of_c] = vjp(program_c, [b]);
var [gradient_of_b] = pullback_of_c(tf.tensor([], [0]));
