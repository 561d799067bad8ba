# R 4.2.2, package stats: derivatives by `D` that are wrong, with what is due. Nothing of refgrad is used.

told <- function(what, found, due) cat(what, ": ", found, " due ", due, "\n", sep = "")

slope <- D(quote(x^y), "y")
told("x^y, slope in y at (0, 1)", eval(slope, list(x = 0, y = 1)), 0)

second <- D(D(quote(tanh(x)), "x"), "x")
told("tanh, second derivative at 400", eval(second, list(x = 400)), 0)
told("tanh, second derivative at 180", eval(second, list(x = 180)), -3.60642e-156)

options(warn = -1)
told("digamma at 1e-304", digamma(1e-304), -1e304)
told("digamma at 1e-305", digamma(1e-305), -1e305)
told("lgamma, slope at 1e-305", eval(D(quote(lgamma(x)), "x"), list(x = 1e-305)), -1e305)
