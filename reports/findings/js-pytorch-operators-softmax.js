// A finding of refgrad: operators/softmax, wrong value.
// `softmax(a)` at a = [800.0] in entry [0] is 1; js-pytorch 0.7.2 gives nan.
// Violated (MUST): softmax: value and gradient are right, for any shape, attribute and seed.
// Found on js-pytorch 0.7.2, Linux x86_64.

var torch = require("js-pytorch").torch;

class NotImplementedError extends Error {}

function entries(array) {
  if (Array.isArray(array) && array.flat(Infinity).length === 0) throw new NotImplementedError("a tensor without entries");
  return array;
}

var a = torch.tensor(entries([800.0]), true);
var b = new torch.nn.Softmax().forward(a, -1);
b.backward(torch.tensor(entries([1.0])));
var got = b.data[0];
require("node:assert")(Math.abs(got - 1.0) <= 1e-06 * Math.max(Math.abs(got), Math.abs(1.0)), `the value of b at [0] is ${got}, but it should be 1.0`);
