// A finding of refgrad: seeds/seeds_differ_between_calls, wrong first derivative.
// At the end of the program, the gradient of `v` in entry [0] is 0; js-pytorch 0.7.2 gives 4.48169.
// Violated (MUST): A kept graph can be walked again with another seed.
// Found on js-pytorch 0.7.2, Linux x86_64.

var torch = require("js-pytorch").torch;

class NotImplementedError extends Error {}

function entries(array) {
  if (Array.isArray(array) && array.flat(Infinity).length === 0) throw new NotImplementedError("a tensor without entries");
  return array;
}

var v = torch.tensor(entries([1.5, -0.5, 2.5]), true);
var a = torch.exp(v);
a.backward(torch.tensor(entries([1.0, 0.0, 0.0])));
v.zero_grad();
a.backward(torch.tensor(entries([0.0, -1.5, 0.0])));
var got = v.grad[0];
require("node:assert")(Math.abs(got) < 0.001, `the gradient of v at [0] is ${got}, but it should be 0.0`);
