// A finding of refgrad: graphs/several_backwards, wrong first derivative.
// At the end of the program, the gradient of `a`, added up over 2 backwards, is 2; js-pytorch 0.7.2 gives 3.
// Violated (MUST): Random graphs with several losses and kept graphs have the right gradients.
// Found on js-pytorch 0.7.2, Linux x86_64.

var torch = require("js-pytorch").torch;

class NotImplementedError extends Error {}

function entries(array) {
  if (Array.isArray(array) && array.flat(Infinity).length === 0) throw new NotImplementedError("a tensor without entries");
  return array;
}

function shaped(x, shape) {
  if (shape.includes(-1)) throw new NotImplementedError("a length of -1");
  return torch.reshape(x, shape.length ? shape : [1]);
}

var a = torch.tensor(entries(1.0), true);
var b = shaped(a, []);
b.backward(null);
b.backward(null);
var got = a.grad;
require("node:assert")(Math.abs(got - 2.0) <= 0.001 * Math.max(Math.abs(got), Math.abs(2.0)), `the gradient of a is ${got}, but it should be 2.0`);
