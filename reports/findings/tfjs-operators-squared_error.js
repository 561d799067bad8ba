// A finding of refgrad: operators/squared_error, wrong error.
// `squared_error(a, b)` has a gradient at a = [1.0], b = 1.0; tfjs 4.22.0 raises Error: Error in gradient for op
// SquaredDifference. The gradient of input 'b' has shape '1', which does not match the shape of the input ''.
// Violated (MUST): squared_error: value and gradient are right, for any shape, attribute and seed.
// Found on tfjs 4.22.0, Linux x86_64.

console.warn = console.error = () => {};  // it recommends another package
var tf = require("@tensorflow/tfjs");
tf.setBackend("cpu");

function vjp(f, primals) {
  return [f(...primals), (seed) => tf.grads(f)(primals, seed)];
}

var a = tf.tensor([1.0], [1], 'float32');
var b = tf.tensor(1.0, []);
var c = tf.squaredDifference(a, b);
const program_c = (b) => {
  var c = tf.squaredDifference(a, b);
  return c;
};
var [output_c, pullback_of_c] = vjp(program_c, [b]);
var [gradient_of_b] = pullback_of_c(tf.tensor([1.0], [1]));
