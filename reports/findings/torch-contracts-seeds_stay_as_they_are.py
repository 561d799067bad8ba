# A finding of refgrad on torch, version 2.13.0+cpu: contracts/seeds_stay_as_they_are is wrong.
# A backward does not write to its seed, and no later one does.
# Found: step 4, `backward a seed float64[2, 1] {0x1p+0 -0x1p+1}`: wrote to a seed: seed 1 is entry (0, 0): 2.0, and
# was 1.0

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import torch

def as_numpy(x):  # NumPy has no bfloat16
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()

x = torch.tensor(np.array([1.5, -0.5]), dtype=torch.float64, requires_grad=True)
a = torch.reshape(x, (2, 1))
seed_1 = torch.tensor(np.array([[1.0], [-2.0]]), dtype=torch.float64)
a.backward(seed_1, retain_graph=True)
print([as_numpy(seed_1.detach())])  # the seeds
seed_2 = torch.tensor(np.array([[1.0], [-2.0]]), dtype=torch.float64)
a.backward(seed_2, retain_graph=False)
print([as_numpy(seed_1.detach()), as_numpy(seed_2.detach())])  # the seeds
print(x.grad if x.grad is None else as_numpy(x.grad.detach().clone()))  # gradient of x
