# A finding of refgrad: contracts/seeds_stay_as_they_are, other rule broken.
# At the end of the program, torch 2.13.0+cpu: wrote to a seed: seed 1 is entry (0, 0): 2.0, and was 1.0.
# Violated (MUST): A backward does not write to its seed, and no later one does.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import numpy as np
import torch

x = torch.tensor([1.5, -0.5], dtype=torch.float64, requires_grad=True)
a = torch.reshape(x, (2, 1))
seed_1 = torch.tensor([[1.0], [-2.0]], dtype=torch.float64)
a.backward(seed_1, retain_graph=True)
seed_2 = torch.tensor([[1.0], [-2.0]], dtype=torch.float64)
a.backward(seed_2)
got = np.asarray(seed_1.detach())
due = np.asarray(torch.tensor([[1.0], [-2.0]], dtype=torch.float64))
assert np.array_equal(got, due), f"the seed is {got}, and was {due}"
