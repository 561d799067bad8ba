// A finding of refgrad: edges/min, wrong first derivative.
// Moving `a` by [1, 1] changes `min(a)` by 1; according to the gradient that tfjs 4.22.0 gives, by 2.
// Violated (MUST): min: at its edges the gradient is an element of the subdifferential.
// Found on tfjs 4.22.0, Linux x86_64.

console.warn = console.error = () => {};  // it recommends another package
var tf = require("@tensorflow/tfjs");
tf.setBackend("cpu");

function numbers(x) {
  return x.size ? x.arraySync() : Object.assign([], { shape: x.shape });
}

function vjp(f, primals) {
  return [f(...primals), (seed) => tf.grads(f)(primals, seed)];
}

var a = tf.tensor([1.0, 1.0], [2]);
var b = tf.min(a, null, false);
const program_b = (a) => {
  var b = tf.min(a, null, false);
  return b;
};
var [output_b, pullback_of_b] = vjp(program_b, [a]);
var [gradient_of_a] = pullback_of_b(tf.tensor(1.0, []));
var got = [numbers(gradient_of_a)].flat(Infinity).reduce((sum, slope, i) => sum + slope * [1.0, 1.0][i], 0);
require("node:assert")(0.999999 <= got && got <= 1.000001, `the change by moving a by [1.0, 1.0] is ${got}, but it should be 1.0`);
