// A finding of refgrad: operators/prod, wrong error.
// `prod(a, axis=-1)` has a gradient at a = [1.0]; tfjs 4.22.0 raises Error: Error in transpose: rank of input 1 must
// match length of perm 0,-1.
// Violated (MUST): prod: value and gradient are right, for any shape, attribute and seed.
// Found on tfjs 4.22.0, Linux x86_64.

console.warn = console.error = () => {};  // it recommends another package
var tf = require("@tensorflow/tfjs");
tf.setBackend("cpu");

function vjp(f, primals) {
  return [f(...primals), (seed) => tf.grads(f)(primals, seed)];
}

var a = tf.tensor([1.0], [1]);
var b = tf.prod(a, -1, false);
const program_b = (a) => {
  var b = tf.prod(a, -1, false);
  return b;
};
var [output_b, pullback_of_b] = vjp(program_b, [a]);
var [gradient_of_a] = pullback_of_b(tf.tensor(1.0, []));
