// A finding of refgrad: claims/retain_graph, missing.
// At the end of the program, the gradient of `x` is 3; js-pytorch 0.7.2 gives 6.
// Violated (MUST): What the adapter says of retain_graph is so: a graph can be kept for a further backward.
// Found on js-pytorch 0.7.2, Linux x86_64.

var torch = require("js-pytorch").torch;

class NotImplementedError extends Error {}

function entries(array) {
  if (Array.isArray(array) && array.flat(Infinity).length === 0) throw new NotImplementedError("a tensor without entries");
  return array;
}

var x = torch.tensor(entries(2.0), true);
var y = torch.tensor(entries(3.0), true);
var a = torch.mul(x, y);
a.backward(null);
x.zero_grad();
a.backward(null);
var got = x.grad;
require("node:assert")(Math.abs(got - 3.0) <= 0.001 * Math.max(Math.abs(got), Math.abs(3.0)), `the gradient of x is ${got}, but it should be 3.0`);
