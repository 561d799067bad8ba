"""Puts the one entry of a list in place of the list: what is done for each entry is done once."""

from __future__ import annotations

import ast

from refgrad.report.findings.tidying.folding import Folding
from refgrad.report.findings.tidying.statements import Body, bound_in, filled, stands_there


def with_entries(program: Body, made: set[str]) -> list[ast.stmt]:
    """Return a program with the one entry of a list in place of the list, where that is known."""
    tree = ast.Module(list(program), [])
    before = ""
    while (text := ast.dump(tree)) != before:
        before = text
        for name in sorted(made & bound_in(tree)):
            if _is_list_of_one(tree, name):
                _Entry(name).visit(tree)
        tree = ast.fix_missing_locations(Folding().visit(_Unrolled().visit(tree)))
    return tree.body


def _is_list_of_one(tree: ast.Module, name: str) -> bool:
    """Whether a name stands for a list of one entry, which is read as a whole."""
    nodes = list(ast.walk(tree))
    lists = [node for node in nodes if _assigns_one(node, name)]
    bound = [
        node for node in nodes if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    parts = [node.value for node in nodes if isinstance(node, ast.Attribute | ast.Subscript)]
    return len(lists) == len(bound) == 1 and not any(isinstance(each, ast.Name) and each.id == name for each in parts)


def _assigns_one(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.List(elts=[ast.expr() as value])):
            return target == name and not isinstance(value, ast.Starred)
    return False


class _Entry(ast.NodeTransformer):
    """Lets a name stand for the one entry of its list."""

    def __init__(self, name: str) -> None:
        self.name = name

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Assign the entry."""
        match node.value:
            case ast.List(elts=[value]) if _assigns_one(node, self.name):
                return ast.Assign(node.targets, value)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Return a list of the entry."""
        return ast.List([node], ast.Load()) if node.id == self.name else node


class _Unrolled(ast.NodeTransformer):
    """Does at once what is done for each entry of a list of one."""

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        """Return what is done for the entry."""
        self.generic_visit(node)
        match node:
            case ast.For(target=ast.Name(id=name), iter=ast.List(elts=[entry]), orelse=[]) if stands_there(entry):
                return filled(node.body, {name: entry})
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Return what is computed for a list of one that has no name."""
        self.generic_visit(node)
        match node.value:
            case ast.List(elts=[ast.Call() as value]):
                return ast.Expr(value)
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        """Return a list of what is computed of the entry."""
        self.generic_visit(node)
        match node.generators:
            case [ast.comprehension(target=ast.Name(id=name), iter=ast.List(elts=[entry]), ifs=[])]:
                if stands_there(entry):
                    return ast.List([_of_entry(node.elt, name, entry)], ast.Load())
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Return what is computed of the entry that is asked for."""
        self.generic_visit(node)
        match node.value, node.slice:
            case ast.ListComp(elt=computed, generators=[each]), ast.Constant(value=int()):
                if isinstance(each.target, ast.Name) and isinstance(each.iter, ast.Name) and not each.ifs:
                    return _of_entry(computed, each.target.id, ast.Subscript(each.iter, node.slice, ast.Load()))
        return node


def _of_entry(expression: ast.expr, name: str, entry: ast.expr) -> ast.expr:
    [found] = filled([ast.Expr(expression)], {name: entry})
    assert isinstance(found, ast.Expr)
    return found.value
