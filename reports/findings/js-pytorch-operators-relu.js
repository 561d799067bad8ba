// A finding of refgrad: operators/relu, wrong value.
// `relu(a)` at a = -1.0 is 0; js-pytorch 0.7.2 gives -0.001.
// Violated (MUST): relu: value and gradient are right, for any shape, attribute and seed.
// Found on js-pytorch 0.7.2, Linux x86_64.

var torch = require("js-pytorch").torch;

class NotImplementedError extends Error {}

function entries(array) {
  if (Array.isArray(array) && array.flat(Infinity).length === 0) throw new NotImplementedError("a tensor without entries");
  return array;
}

var a = torch.tensor(entries(-1.0), true);
var b = new torch.nn.ReLU().forward(a);
b.backward(null);
var got = b.data;
require("node:assert")(Math.abs(got) < 1e-06, `the value of b is ${got}, but it should be 0.0`);
