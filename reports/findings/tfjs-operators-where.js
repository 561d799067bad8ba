// A finding of refgrad: operators/where, wrong error.
// `where(a, b, c)` has a gradient at a = [], b = [], c = 1.0; tfjs 4.22.0 raises Error: Error in gradient for op
// Select. The gradient of input 'e' has shape '0', which does not match the shape of the input '1'.
// Violated (MUST): where: value and gradient are right, for any shape, attribute and seed.
// Found on tfjs 4.22.0, Linux x86_64.

console.warn = console.error = () => {};  // it recommends another package
var tf = require("@tensorflow/tfjs");
tf.setBackend("cpu");

function vjp(f, primals) {
  return [f(...primals), (seed) => tf.grads(f)(primals, seed)];
}

var a = tf.tensor([], [0], 'bool');
var b = tf.tensor([], [0], 'float32');
var c = tf.tensor(1.0, []);
var d = tf.where(a, b, c);
const program_d = (c) => {
  var d = tf.where(a, b, c);
  return d;
};
var [output_d, pullback_of_d] = vjp(program_d, [c]);
var [gradient_of_c] = pullback_of_d(tf.tensor([], [0]));
