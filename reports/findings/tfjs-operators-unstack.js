// A finding of refgrad: operators/unstack, wrong error.
// `unstack(a, position=0)` has a gradient at a = [1.0]; tfjs 4.22.0 raises Error: Argument tensors passed to stack
// must be a `Tensor[]` or `TensorLike[]`.
// Violated (MUST): unstack: value and gradient are right, for any shape, attribute and seed.
// Found on tfjs 4.22.0, Linux x86_64.

console.warn = console.error = () => {};  // it recommends another package
var tf = require("@tensorflow/tfjs");
tf.setBackend("cpu");

function vjp(f, primals) {
  return [f(...primals), (seed) => tf.grads(f)(primals, seed)];
}

var a = tf.tensor([1.0], [1]);
var b = tf.unstack(a, 0)[0];
const program_b = (a) => {
  var b = tf.unstack(a, 0)[0];
  return b;
};
var [output_b, pullback_of_b] = vjp(program_b, [a]);
var [gradient_of_a] = pullback_of_b(tf.tensor(1.0, []));
