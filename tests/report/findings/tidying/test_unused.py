"""What a program of JavaScript, C++, Java or R does not use is left out of it."""

from __future__ import annotations

import pytest

from refgrad.report.findings.languages import LANGUAGES
from refgrad.report.findings.tidying.unused import FORMS, MOST_LINES, without_unused

SCRIPT = """\
class NotImplementedError extends Error {}

function entries(array) {
  if (array.length === 0) throw new NotImplementedError("nothing");
  return array;
}

function shaped(x) {  // a remark
  return reshape(entries(x), [1]);
}

function idle(x) {
  return shaped(x);
}

var a = tensor(entries([f(1.5), -0.5]), true);
var b = neg(a);
var got = a.grad;
assert(got);
"""


def test_there_are_forms_of_every_language_that_is_printed_but_python() -> None:
    assert FORMS.keys() == LANGUAGES.keys() - {"python", "none"}


def test_a_helper_that_only_refuses_is_left_out_of_its_calls_and_what_nothing_uses_goes() -> None:
    assert without_unused(SCRIPT, "javascript", asserts=True) == (
        "var a = tensor([f(1.5), -0.5], true);\nvar b = neg(a);\nvar got = a.grad;\nassert(got);\n"
    )


def test_a_result_goes_where_a_function_is_differentiated_and_no_error_is_to_be_shown() -> None:
    functional = SCRIPT + "vjp(program_b, [a]);\n"
    assert "var b = neg(a);\n" not in without_unused(functional, "javascript", asserts=True)
    assert "var b = neg(a);\n" in without_unused(functional, "javascript", asserts=False)


def test_a_helper_that_is_called_stays_with_what_it_calls() -> None:
    used = without_unused(SCRIPT.replace("neg(a)", "idle(a)"), "javascript", asserts=False)
    assert "function shaped(x) {  // a remark\n  return reshape(x, [1]);\n}\n" in used
    assert "var b = shaped(a);\n" in used


def test_a_call_that_ends_on_another_line_is_left_as_it_is() -> None:
    broken = SCRIPT.replace("entries([f(1.5), -0.5]), true);", "entries([\n1.5]), true);")
    assert "var a = tensor(entries([\n1.5]), true);" in without_unused(broken, "javascript", asserts=True)


JAVA = """\
import java.util.List;
import java.util.Map;

final class Forward {
    static double number(double value) {
        return value;
    }

    static Map.Entry<Double, Double> pair(
            double value, List<Double> others) {
        return Map.entry(value, others.get(0));
    }
}

class Finding {
    public static void main(String[] arguments) {
        double got = Forward.number(1.5);
    }
}
"""


def test_a_method_that_nothing_calls_goes_with_the_imports_that_it_alone_uses() -> None:
    assert without_unused(JAVA, "java", asserts=True) == (
        "final class Forward {\n    static double number(double value) {\n        return value;\n    }\n}\n\n"
        "class Finding {\n    public static void main(String[] arguments) {\n"
        "        double got = Forward.number(1.5);\n    }\n}\n"
    )


BLOCK = """\
  Tensor a = Tensor(800.0);
  Tensor b = tanh(a);
  auto program_b = [&](Tensor primal) -> Tensor {
    Tensor a = primal;
    Tensor b = tanh(a);
    return b;
  };
  double got = slope(program_b, a);
"""


def test_what_a_block_names_itself_does_not_use_the_result_of_that_name() -> None:
    assert without_unused(BLOCK, "cpp", asserts=True) == BLOCK.replace("  Tensor b = tanh(a);\n", "", 1)


def test_where_an_error_is_to_be_shown_only_what_a_block_computes_again_goes() -> None:
    program = BLOCK + "  auto last = pull(got);\n"
    assert without_unused(program, "cpp", asserts=False) == program.replace("  Tensor b = tanh(a);\n", "", 1)


def test_what_a_block_reads_of_a_result_or_makes_its_own_of_uses_it() -> None:
    read = BLOCK.replace("    Tensor b = tanh(a);\n", "").replace("return b", "return b * a")
    assert without_unused(read, "cpp", asserts=True) == read
    made = BLOCK.replace("    Tensor b = tanh(a);", "    Tensor b = b * a;")
    assert without_unused(made, "cpp", asserts=True) == made


def test_what_is_read_behind_a_block_is_used() -> None:
    behind = BLOCK + "  show(b);\n"
    assert without_unused(behind, "cpp", asserts=True) == behind


@pytest.mark.parametrize(
    ("program", "language", "left"),
    [
        ("import a.b.List;\nimport a.b.Map;\nList x;\n", "java", "import a.b.List;\nList x;\n"),
        ("    var a = f();\n    var b = a.g();\n    show(program_a);\n", "java", "    show(program_a);\n"),
        ("f <- function(x) {\n  x\n}\ng <- function(x) {\n  x\n}\nshow(f(1))\n", "r", None),
        ('a <- 1\nb <- a\nshow(program_b, "b")\n', "r", 'show(program_b, "b")\n'),
    ],
)
def test_imports_helpers_and_results_go_that_no_line_names(program: str, language: str, left: str | None) -> None:
    due = program.replace("g <- function(x) {\n  x\n}\n", "") if left is None else left
    assert without_unused(program, language, asserts=True) == due


def test_a_program_of_very_many_lines_is_left_as_it_is() -> None:
    long = "var a = 1;\n" * (MOST_LINES + 1)
    assert without_unused(long, "javascript", asserts=True) == long
