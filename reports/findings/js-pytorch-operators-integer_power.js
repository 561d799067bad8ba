// A finding of refgrad: operators/integer_power, wrong first derivative.
// The gradient of `integer_power(a, n=1)` with respect to `a` at a = 1.0 is 1; js-pytorch 0.7.2 gives 2.
// Violated (MUST): integer_power: value and gradient are right, for any shape, attribute and seed.
// Found on js-pytorch 0.7.2, Linux x86_64.

var torch = require("js-pytorch").torch;

class NotImplementedError extends Error {}

function entries(array) {
  if (Array.isArray(array) && array.flat(Infinity).length === 0) throw new NotImplementedError("a tensor without entries");
  return array;
}

var a = torch.tensor(entries(1.0), true);
var b = torch.pow(a, 1);
b.backward(null);
var got = a.grad;
require("node:assert")(Math.abs(got - 1.0) <= 0.001 * Math.max(Math.abs(got), Math.abs(1.0)), `the gradient of a is ${got}, but it should be 1.0`);
