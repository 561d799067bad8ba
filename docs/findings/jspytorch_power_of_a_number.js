// A finding of refgrad: operators/integer_power, wrong first derivative.
// The slope of `torch.pow(x, 3)` at 2 is 12; js-pytorch 0.7.2 gives 4, the slope of the square.
// Found on js-pytorch 0.7.2, Linux x86_64.

const { torch } = require("js-pytorch");

const x = torch.tensor(2.0, true);
torch.pow(x, 3).backward();
require("node:assert")(Math.abs(x.grad - 12) < 1e-6, `the slope is ${x.grad}, but it should be 12`);
