// A finding of refgrad: graphs/one_backward, wrong first derivative.
// The gradient of `subtract(negative(b), a)` with respect to `b` at a = 1.0, b = 1.0 is -1; js-pytorch 0.7.2 gives 0.
// Violated (MUST): Random graphs with sharing, fan-out and several leaves have the right gradients.
// Found on js-pytorch 0.7.2, Linux x86_64.

var torch = require("js-pytorch").torch;

class NotImplementedError extends Error {}

function entries(array) {
  if (Array.isArray(array) && array.flat(Infinity).length === 0) throw new NotImplementedError("a tensor without entries");
  return array;
}

var a = torch.tensor(entries(1.0), false);
var b = torch.tensor(entries(1.0), true);
var c = torch.neg(b);
var d = a.div(c);
var e = c.sub(a);
e.backward(null);
var got = b.grad;
require("node:assert")(Math.abs(got - -1.0) <= 0.001 * Math.max(Math.abs(got), Math.abs(-1.0)), `the gradient of b is ${got}, but it should be -1.0`);
