// A finding of refgrad: contracts/seeds_stay_as_they_are, wrong first derivative.
// At the end of the program, the gradient of `x`, added up over 2 backwards, in entry [1] is -4; js-pytorch 0.7.2
// gives -6.
// Violated (MUST): A backward does not write to its seed, and no later one does.
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

var x = torch.tensor(entries([1.5, -0.5]), true);
var a = shaped(x, [2, 1]);
a.backward(torch.tensor(entries([[1.0], [-2.0]])));
a.backward(torch.tensor(entries([[1.0], [-2.0]])));
var got = x.grad[1];
require("node:assert")(Math.abs(got - -4.0) <= 0.001 * Math.max(Math.abs(got), Math.abs(-4.0)), `the gradient of x at [1] is ${got}, but it should be -4.0`);
