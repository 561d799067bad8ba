// A finding of refgrad: contracts/log_sigmoid, wrong error.
// `log_sigmoid(flip(a))` has a gradient at a = [1.0]; tfjs 4.22.0 raises TypeError: Cannot read properties of
// undefined (reading 'backend').
// Violated (MUST): log_sigmoid: its backward leaves operands and seeds as they are, gives the same when it is walked
// again, and no two gradients share memory.
// Found on tfjs 4.22.0, Linux x86_64.

console.warn = console.error = () => {};  // it recommends another package
var tf = require("@tensorflow/tfjs");
tf.setBackend("cpu");

function vjp(f, primals) {
  return [f(...primals), (seed) => tf.grads(f)(primals, seed)];
}

function axes(x, axis) {
  return axis === null ? x.shape.map((_, i) => i) : [].concat(axis);
}

var a = tf.tensor([1.0], [1]);
var b = tf.reverse(a, axes(a, null));
var c = tf.logSigmoid(b);
const program_c = (a) => {
  var b = tf.reverse(a, axes(a, null));
  var c = tf.logSigmoid(b);
  return c;
};
var [output_c, pullback_of_c] = vjp(program_c, [a]);
var [gradient_of_a] = pullback_of_c(tf.tensor([1.0], [1]));
