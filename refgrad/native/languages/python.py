"""The language Python."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import numpy as np

from refgrad.documents import LONGEST_PROBLEM
from refgrad.errors import shortened
from refgrad.native.languages.language import Language, Template, TemplateError, comparisons, indented, package_version
from refgrad.native.runners.python_runner import lambda_source
from refgrad.native.statements import Call, Code, Name, Show, Statement, Traversal
from refgrad.scenario import Constant


@dataclass(frozen=True, slots=True)
class Python(Language):
    """Python, in which refgrad itself runs: an engine may share its process."""

    name = "python"
    runner = ("{python}", "-u", "{runners}/python_runner.py")
    runs_here = True
    suffix = ".py"
    comment = "#"
    default_value = "np.asarray({x})"
    plus = "{x} + {y}"
    deleting = "del {name}"
    new_list = "[]"
    recording = "{seen}.append(np.array({value}))"
    replacing = "{seen}.append(np.array({value})) or {gradient} * {factor}"
    unread = "_"
    anonymous = "lambda {parameters}: {body}"
    function_lines = (("", "def {name}({parameters}):"), ("    return {result}", ""))
    indentation = "    "
    definition = re.compile(r"def (\w+)")
    standalone = ("{python}", "-c", "{text}")
    conditions = MappingProxyType({
        **comparisons("math.isnan", "abs"),
        "between": "{low} <= got <= {high}",
        "inside": "{low} < got < {high}",
        "close": "math.isclose(got, {low}, rel_tol={high})",
    })
    handler = (("try:",), ("except Exception as error:", '    print(f"{type(error).__name__}: {error}")'))

    def version(self, package: str, python: str) -> str:
        """Return the version of a package that is installed for an interpreter, or ``unknown``."""
        return package_version(package, python)

    @staticmethod
    @cache  # an adapter that is derived from another one shares most of its templates
    def check(template: Template) -> None:
        """Raise TemplateError where a template is not an expression."""
        try:
            compile(lambda_source(template.text, template.fields), "<template>", "eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # a null byte, or nested too deep
            problem = error.msg if isinstance(error, SyntaxError) else str(error) or "it is nested too deep"
            text = shortened(template.text, LONGEST_PROBLEM)
            raise TemplateError(f"template {text!r} is not an expression: {problem}") from error

    def lines(self, statement: Statement) -> Iterator[str]:
        """Yield the lines of a statement. Raises TypeError for the beginning or the end of a region."""
        match statement:
            case Show():
                yield f"print({', '.join(self.printed(statement))})  # {statement.what}"
            case Code(text=text):
                yield from text.splitlines()
            case Traversal():
                yield from self.walked(statement)
            case _:
                yield from Language.lines(self, statement)

    def assigned(self, call: Call) -> Iterator[str]:
        """Yield the line of a call that is assigned to its targets."""
        targets = ", ".join(call.targets)
        name = f"[{targets}]" if call.unpack and len(call.targets) == 1 else targets
        yield f"{name} = {self.called(call)}" if name else self.called(call)

    def literal(self, value: object) -> str:
        """Return a Python literal. Numbers that are not finite have none: they are written as a call of ``float``."""
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        return repr(value)

    def array(self, constant: Constant) -> str:
        """Return numpy code for an array, exact to the last bit except for the payload of NaN."""
        array = constant.to_numpy()
        dtype = "" if array.dtype in (np.float64, np.bool_) else f", dtype=np.{array.dtype}"
        if array.size == 0:
            return f"np.zeros({array.shape}{dtype or (', dtype=bool' if array.dtype == np.bool_ else '')})"
        text = repr(array.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
        return f"np.array({text}{dtype})"

    def printed(self, show: Show) -> Iterator[str]:
        """Yield the expressions that are printed: the result, and its dtype if dtypes are printed."""
        yield self.called(show.call)
        if self.dtypes and show.form == "array" and show.call.fields:
            dtype = Call("np.asarray({shown}).dtype", {"shown": show.call}) if show.dtype is None else show.dtype
            yield self.called(dtype)

    def walked(self, traversal: Traversal) -> Iterator[str]:
        """Yield the lines that print the parents of each node, by name if they have one."""
        nodes = ", ".join(f"{name!r}: {variable}" for name, variable in traversal.nodes.items())
        yield f"nodes = {{{nodes}}}"
        yield "names = {id(node): name for name, node in nodes.items()}"
        yield "for name, node in nodes.items():"
        yield f"    parents = {self.called(Call(traversal.parents, {'node': Name('node')}))}"
        yield "    print(name, [names.get(id(parent), parent) for parent in parents])"

    def region(self, region: Call, inner: Iterable[str], *, by_error: bool) -> Iterator[str]:
        """Yield the lines of a region. If an exception ends it, ``by_error``, the lines catch the exception."""
        body = list(inner) + (['raise KeyError("left by error")'] if by_error else [])
        target = f" as {region.targets[0]}" if region.targets else ""
        lines = [f"with {self.called(region)}{target}:", *indented(body or ["pass"])]
        yield from ["try:", *indented(lines), "except KeyError:", "    pass"] if by_error else lines

    def whole(self, setup: str, body: str) -> str:
        """Return a complete program: the imports, the setup without the functions that are not used, and the body."""
        head = self.needed(setup, body).strip()
        imports = "" if re.search(r"\bas np$", head, re.MULTILINE) else "import numpy as np\n"
        return re.sub(r"\n{4,}", "\n\n\n", f"{imports}{head}\n\n{body.strip()}\n")
