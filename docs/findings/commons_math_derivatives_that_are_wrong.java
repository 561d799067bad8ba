// Apache Commons Math 3.6.1: values and derivatives that are wrong, with what is due. Nothing of refgrad is used.
// java -cp /usr/share/java/commons-math3.jar commons_math_derivatives_that_are_wrong.java

import org.apache.commons.math3.analysis.differentiation.DerivativeStructure;

class Derivatives {
    static DerivativeStructure x(double value, int order) {
        return new DerivativeStructure(1, order, 0, value);
    }

    static DerivativeStructure constant(double value) {
        return new DerivativeStructure(1, 1, value);
    }

    static void told(String what, double found, double due) {
        System.out.println(what + ": " + found + " due " + due);
    }

    public static void main(String[] arguments) {
        told("x.pow(2.0), value at 0, order 2", x(0, 2).pow(2.0).getValue(), 0);
        told("x.pow(2.0), value at 0, order 3", x(0, 3).pow(2.0).getValue(), 0);
        told("x.pow(2.0), slope at 0, order 3", x(0, 3).pow(2.0).getPartialDerivative(1), 0);
        told("x.pow(0.5), value at 0, order 1", x(0, 1).pow(0.5).getValue(), 0);
        told("x.pow(0.0), value at 0, order 1", x(0, 1).pow(0.0).getValue(), 1);
        told("asinh, value at 1e155", x(1e155, 1).asinh().getValue(), 357.5938615666476);
        told("asinh, slope at 1e155", x(1e155, 1).asinh().getPartialDerivative(1), 1e-155);
        told("acosh, value at 1e155", x(1e155, 1).acosh().getValue(), 357.5938615666476);
        told("hypot(x, y), slope in x at (1, 1e20)", x(1, 1).hypot(constant(1e20)).getPartialDerivative(1), 1e-20);
        told("hypot(x, y), slope in x at (inf, 1)", x(1 / 0.0, 1).hypot(constant(1)).getPartialDerivative(1), 1);
        told("hypot(x, y), slope in x at (nan, 1)", x(0 / 0.0, 1).hypot(constant(1)).getPartialDerivative(1), 0 / 0.0);
        double tiny = DerivativeStructure.atan2(x(1e-200, 1), constant(1e-200)).getPartialDerivative(1);
        told("atan2(y, x), slope in y at (1e-200, 1e-200)", tiny, 5e199);
        double large = DerivativeStructure.atan2(x(1e200, 1), constant(1e200)).getPartialDerivative(1);
        told("atan2(y, x), slope in y at (1e200, 1e200)", large, 5e-201);
    }
}
