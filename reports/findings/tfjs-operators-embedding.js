// A finding of refgrad: operators/embedding, wrong error.
// `embedding(a, indices=())` has a gradient at a = []; tfjs 4.22.0 raises TypeError: Cannot read properties of
// undefined (reading 'shape').
// Violated (MUST): embedding: value and gradient are right, for any shape, attribute and seed.
// Found on tfjs 4.22.0, Linux x86_64.

console.warn = console.error = () => {};  // it recommends another package
var tf = require("@tensorflow/tfjs");
tf.setBackend("cpu");

function vjp(f, primals) {
  return [f(...primals), (seed) => tf.grads(f)(primals, seed)];
}

function integers(indices, length) {  // counted from the end if they are negative
  const counted = (i) => Array.isArray(i) ? i.map(counted) : (i + length) % length;
  return tf.tensor(counted(indices), undefined, "int32");
}

var a = tf.tensor([], [0, 2]);
var b = tf.gather(a, integers([], a.shape[0]));
const program_b = (a) => {
  var b = tf.gather(a, integers([], a.shape[0]));
  return b;
};
var [output_b, pullback_of_b] = vjp(program_b, [a]);
var [gradient_of_a] = pullback_of_b(tf.tensor([], [0, 2]));
