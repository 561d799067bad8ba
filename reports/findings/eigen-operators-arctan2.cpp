// A finding of refgrad: operators/arctan2, crash or hang.
// eigen 3.4.0-4: the process was ended by signal 6 (SIGABRT).
// Violated (MUST): arctan2: value and gradient are right, for any shape, attribute and seed.
// Found on eigen 3.4.0-4, Linux x86_64.

// g++ -I/usr/include/eigen3
#include <Eigen/Core>
#include <unsupported/Eigen/AutoDiff>
#include <cmath>
#include <functional>
#include <iostream>
#include <utility>
#include <vector>

using Tensor = Eigen::AutoDiffScalar<Eigen::VectorXd>;
using Pullback = std::function<std::vector<double>(double)>;

inline double value(const Tensor& x) { return x.value(); }
inline double value(double x) { return x; }

template <class Function>
std::pair<Tensor, Pullback> vjp(Function function, const std::vector<Tensor>& primals) {
  std::vector<Tensor> x;
  for (size_t i = 0; i < primals.size(); ++i) x.push_back(Tensor(primals[i].value(), primals.size(), i));
  Tensor y = function(x);
  return {Tensor(y.value()), [y, x](double seed) {
    std::vector<double> found(x.size(), 0.0);  // a constant has no derivatives
    for (int i = 0; i < y.derivatives().size(); ++i) found[i] = seed * y.derivatives()[i];
    return found;
  }};
}

int main() {
  std::cout.precision(17);
  Tensor a = Tensor(1.0);
  Tensor b = Tensor(1.0);
  Tensor c = atan2(a, b);
  auto program_c = [&](const std::vector<Tensor>& primals) -> Tensor {
    Tensor a = primals[0];
    Tensor c = atan2(a, b);
    return c;
  };
  auto [output_c, pullback_of_c] = vjp(program_c, {a});
  auto gradient_of_a_found = pullback_of_c(1.0);
  auto gradient_of_a = gradient_of_a_found[0];
}
