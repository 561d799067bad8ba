// A finding of refgrad: retain_graph/nothing_saved_nothing_freed, wrong first derivative.
// At the end of the program, the gradient of `x`, added up over 2 backwards, is 2; js-pytorch 0.7.2 gives 4.
// Violated (MAY): A graph whose rules saved nothing can be walked again, kept or not.
// Found on js-pytorch 0.7.2, Linux x86_64.

var torch = require("js-pytorch").torch;

class NotImplementedError extends Error {}

function entries(array) {
  if (Array.isArray(array) && array.flat(Infinity).length === 0) throw new NotImplementedError("a tensor without entries");
  return array;
}

var x = torch.tensor(entries(1.5), true);
var a = torch.neg(x);
var l = torch.neg(a);
l.backward(null);
l.backward(null);
var got = x.grad;
require("node:assert")(Math.abs(got - 2.0) <= 0.001 * Math.max(Math.abs(got), Math.abs(2.0)), `the gradient of x is ${got}, but it should be 2.0`);
