// A finding of refgrad: operators/erf, inaccurate.
// `erf(a)` at a = 0.028 is 0.031586362868258944; tfjs 4.22.0 gives 0.03158648684620857.
// Violated (SHOULD): erf: value and gradient are right, for any shape, attribute and seed.
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

var a = tf.tensor(0.028, []);
var b = tf.erf(a);
const program_b = (a) => {
  var b = tf.erf(a);
  return b;
};
var [output_b, pullback_of_b] = vjp(program_b, [a]);
var [gradient_of_a] = pullback_of_b(tf.tensor(1.0, []));
var got = numbers(b);
require("node:assert")(Math.abs(got - 0.031586362868258944) <= 1e-06 * Math.max(Math.abs(got), Math.abs(0.031586362868258944)), `the value of b is ${got}, but it should be 0.031586362868258944`);
