# A finding of refgrad: modes/nested_regions_end_one_by_one, other rule broken.
# At the end of the program, `requires_grad` of `a` is False; neograd 0.0.4 says True.
# Violated (MUST): Leaving an inner region restores the mode of the outer one, whichever that is.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import neograd as ng

x = ng.tensor(1.5, requires_grad=True)
with ng.no_track():
    with ng.no_track():
        a = ng.exp(x)
    b = ng.exp(x)
c = ng.exp(x)
got = a.requires_grad
assert got is False, f"requires_grad of a is {got}, but it should be False"
