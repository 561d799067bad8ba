// A finding of refgrad: operators/cumsum, wrong first derivative.
// The gradient of `tf.sum(w * tf.cumsum(x, 0))` is the sum of w from below, [4, 6, 3, 4]; tfjs 4.22.0 exchanges the axes.
// Where x is not square, the same mistake is an error: "the gradient has shape '2,1', the input '1,2'".
// Found on tfjs 4.22.0, Linux x86_64.

const tf = require("@tensorflow/tfjs");
tf.setBackend("cpu");

const x = tf.tensor([[1, 1], [1, 1]]);
const w = tf.tensor([[1, 2], [3, 4]]);
const gradient = Array.from(tf.grad((x) => tf.sum(tf.mul(w, tf.cumsum(x, 0))))(x).dataSync());
require("node:assert").deepStrictEqual(gradient, [4, 6, 3, 4], `the gradient is ${gradient}, but it should be 4,6,3,4`);
