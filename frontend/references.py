"""Names of a program and the places that mention them, for editors.

The syntax tree is followed with the scopes of the language, also where the program has mistakes in
its types.  Fields of records, constructors and the built-in names have no definitions here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from runelift.frontend.definitions import Definition, Mention, Reader, Scope
from runelift.frontend.modules.assumed import HAVING, prelude_signature
from runelift.frontend.syntax import ast, module_ast
from runelift.frontend.syntax.nodes import Node, parts
from runelift.ir.base.shipped import imported
from runelift.ir.base.source import Source, Span


@dataclass(slots=True)
class _File:
    """The mentions of a file, the names at its end, and the names that other files see."""

    mentions: list[Mention] = field(default_factory=list)
    scope: Scope = field(default_factory=Scope)
    exported: Scope = field(default_factory=Scope)


class References:
    """Definitions and uses of names in files that import each other.

    Each file is followed once, so a definition is one object in all files.
    """

    def __init__(self, read: Reader) -> None:
        self._read = read
        self._files: dict[Path, _File] = {}
        self._links: dict[Definition, set[Definition]] = {}
        self._prelude: dict[str, Scope] = {}

    def mentions(self, path: Path) -> list[Mention]:
        """The definitions and uses in a file, in the order of the text; none if it has no tree."""
        return self._file(path).mentions

    def exported(self, path: Path) -> Scope:
        """The names that a file hands to the files that import it."""
        return self._file(path).exported

    def scope(self, path: Path) -> Scope:
        """The names that can be used at the end of a file, apart from the prelude's."""
        return self._file(path).scope

    def value(self, path: Path, name: str) -> Definition | None:
        """The value that a name means at the end of a file."""
        found: Definition | None = self._file(path).scope.values.get(name)
        return found

    def linked(self, definition: Definition) -> set[Definition]:
        """Definitions that must keep one name: a member, and its specifications in module types.

        Only files that were read before are searched.
        """
        found, todo = {definition}, [definition]
        while todo:
            new = self._links.get(todo.pop(), set()) - found
            found |= new
            todo += new
        return found

    def _file(self, path: Path) -> _File:
        if path not in self._files:
            self._files[path] = found = _File()
            module = self._read(path)
            if module is not None:
                walk = _Walk(module.span.source, self)
                walk.declarations(module.decs, found.scope, found.exported)
                found.mentions = sorted(set(walk.found),
                                        key=lambda each: (each.span.start, each.span.end))
        return self._files[path]

    def link(self, module: Scope, signature: Scope) -> None:
        """Link each member of a module with the member of its module type that has its name."""
        pairs = [(own, wanted) for name, wanted in signature.values.items()
                 if (own := module.values.get(name)) is not None]
        pairs += [(own, wanted) for name, wanted in signature.types.items()
                  if (own := module.types.get(name)) is not None]
        for name, (wanted, members) in signature.modules.items():
            if name in module.modules:
                own, inner = module.modules[name]
                pairs.append((own, wanted))
                self.link(inner, members)
        for one, other in pairs:
            if one is not other:
                self._links.setdefault(one, set()).add(other)
                self._links.setdefault(other, set()).add(one)
        for given, asked in zip(module.parameters, signature.parameters, strict=False):
            self.link(given, asked)

    def prelude(self, name: str) -> Scope:
        """The names that a module type of the prelude lists."""
        if name not in self._prelude:
            sig = prelude_signature(name)
            self._prelude[name] = _Walk(sig.span.source, self).signature(sig, Scope())
        return self._prelude[name]


class _Walk:
    """The way through a file; ``found`` are its mentions so far."""

    def __init__(self, source: Source, files: References) -> None:
        self.found: list[Mention] = []
        self._source = source
        self._files = files

    # Places

    def _define(self, name: str, kind: str, span: Span, whole: Span | None = None,
                among: object = None) -> Definition:
        found = Definition(name, kind, span, whole or span, among)
        self.found.append(Mention(span, found))
        return found

    def _mention(self, span: Span, definition: Definition | None, is_field: bool = False) -> None:
        if definition is not None and span.source is self._source:
            self.found.append(Mention(span, definition, is_field))

    def _place(self, name: str, span: Span, start: int | None = None) -> Span:
        """The first place of a name in a span."""
        begin = span.start if start is None else start
        pattern = rf"(?<![\w'.]){re.escape(name)}(?![\w'])" if name[:1].isidentifier() else (
            re.escape(name))
        match = re.compile(pattern).search(span.source.text, begin, span.end)
        return Span(span.source, *match.span()) if match else Span(span.source, begin, begin)

    # Declarations

    def declarations(self, decs: Iterable[module_ast.Dec], scope: Scope, exported: Scope) -> None:
        """Follow declarations: they extend ``scope``, and ``exported``, which importers see."""
        for dec in decs:
            self._declaration(dec, scope, exported, exported)

    def _declaration(self, dec: module_ast.Dec, scope: Scope, exported: Scope,
                     among: object) -> None:
        new = Scope()
        match dec:
            case ast.ValDec(span, name, name_span, _, type_params, params, ret, body):
                self._function(type_params, params, ret, body, scope)
                place = name_span if name_span.text == name else self._place(name, name_span)
                head = Span(span.source, span.start, body.span.start)
                new.values[name] = self._define(name, "declaration", place, head, among)
            case ast.TypeDec(span, name, type_params, definition):
                self._visit(definition, self._parameters(type_params, (), scope))
                new.types[name] = self._define(name, "type", self._place(name, span), span, among)
            case module_ast.ModDec(span, name, mod):
                members = self._module(mod, scope)
                new.modules[name] = self._define(
                    name, "module", self._place(name, span),
                    Span(span.source, span.start, mod.span.start), among), members
            case module_ast.SigDec(span, name, sig):
                members = self.signature(sig, scope)
                new.signatures[name] = self._define(
                    name, "module type", self._place(name, span), span, among), members
            case module_ast.OpenDec(_, mod):
                new = self._module(mod, scope)
            case module_ast.LocalDec(_, inner_dec):
                self._declaration(inner_dec, scope, Scope(), among)
                return
        scope.add(new)
        exported.add(new)

    def _module(self, mod: module_ast.ModExp, scope: Scope) -> Scope:
        """The names of a module; for a parametric module, the names of its body."""
        match mod:
            case module_ast.ModName(span, name):
                return self._module_path(span, (*name.quals, name.name), scope) or Scope()
            case module_ast.ModBody(_, decs):
                members = Scope()
                self.declarations(decs, scope.child(), members)
                return members
            case module_ast.ModApply(_, fun, arg):
                functor = self._module(fun, scope)
                given = self._module(arg, scope)
                for wanted in functor.parameters[:1]:
                    self._files.link(given, wanted)
                return replace(functor, parameters=functor.parameters[1:])
            case module_ast.ModAscript(_, inner, sig):
                return self._ascribed(self._module(inner, scope), self._known(sig, scope))
            case module_ast.ModLambda(span, param, sig, body):
                members = self.signature(sig, scope)
                inner_scope = scope.child()
                inner_scope.modules[param] = self._define(
                    param, "module", self._place(param, span)), members
                found = self._module(body, inner_scope)
                return replace(found, parameters=(members, *found.parameters))
            case module_ast.ModImport(span, path):
                return self._files.exported(imported(Path(span.source.name), path))

    def _ascribed(self, module: Scope, signature: Scope | None) -> Scope:
        """The names that can be seen of a module with a module type; all if that is not known."""
        if signature is None:
            return module
        self._files.link(module, signature)
        seen = Scope(parameters=module.parameters)
        for mine, its, wanted in ((seen.values, module.values, signature.values),
                                  (seen.types, module.types, signature.types)):
            mine.update({name: its.get(name, each) for name, each in wanted.items()})
        for name, (definition, members) in signature.modules.items():
            own, inner = module.modules.get(name, (definition, members))
            seen.modules[name] = own, self._ascribed(inner, members)
        return seen

    # Module types

    def signature(self, sig: module_ast.SigExp, scope: Scope) -> Scope:
        """The names that a module type lists."""
        return self._known(sig, scope) or Scope()

    def _known(self, sig: module_ast.SigExp, scope: Scope) -> Scope | None:
        """The names that a module type lists; None if it is not defined anywhere."""
        match sig:
            case module_ast.SigName(span, name):
                return self._named_signature(span, name, scope)
            case module_ast.SigBody(_, specs):
                members, inner = Scope(), scope.child()
                for spec in specs:
                    self._specification(spec, inner, members)
                return members
            case module_ast.SigWith(_, inner_sig, name, type_params, definition):
                found = self._known(inner_sig, scope)
                self._refined(sig.span, inner_sig.span.end, name, found)
                self._visit(definition, self._parameters(type_params, (), scope))
                return found
            case module_ast.SigArrow(_, param, domain, codomain):
                wanted = self.signature(domain, scope)
                inner = scope.child()
                if param is not None:
                    inner.modules[param] = self._define(
                        param, "module", self._place(param, sig.span)), wanted
                result = self.signature(codomain, inner)
                return replace(result, parameters=(wanted, *result.parameters))

    def _named_signature(self, span: Span, name: ast.QualName, scope: Scope) -> Scope | None:
        found = scope if not name.quals else self._module_path(span, name.quals, scope)
        if found is not None and name.name in found.signatures:
            definition, members = found.signatures[name.name]
            self._mention(Span(span.source, span.end - len(name.name), span.end), definition)
            return members
        return self._files.prelude(name.name) if str(name) in HAVING else None

    def _refined(self, span: Span, start: int, name: ast.QualName, members: Scope | None) -> None:
        """Mention the type that ``with`` says more about."""
        start = self._place("with", span, start).end
        place = self._place(name.quals[0] if name.quals else name.name, span, start)
        found = members
        if name.quals and members is not None:
            found = self._module_path(Span(span.source, place.start, span.end), name.quals, members)
        if found is not None and name.name in found.types:
            last = place.start + len(str(name))
            self._mention(Span(span.source, last - len(name.name), last), found.types[name.name])

    def _specification(self, spec: module_ast.Spec, scope: Scope, members: Scope) -> None:
        new = Scope()
        match spec:
            case module_ast.ValSpec(span, name, type_params, type_exp):
                self._visit(type_exp, self._parameters(type_params, (), scope))
                new.values[name] = self._define(
                    name, "declaration", self._place(name, span), span, members)
            case module_ast.TypeSpec(span, name, type_params, definition):
                if definition is not None:
                    self._visit(definition, self._parameters(type_params, (), scope))
                new.types[name] = self._define(name, "type", self._place(name, span), span, members)
            case module_ast.ModSpec(span, name, sig):
                place = self._define(name, "module", self._place(name, span), span, members)
                new.modules[name] = place, self.signature(sig, scope)
            case module_ast.IncludeSpec(_, sig):
                new = self.signature(sig, scope)
                self._files.link(members, new)  # a type may be listed again, as another's meaning
        scope.add(new)
        members.add(new)

    def _module_path(self, span: Span, names: tuple[str, ...], scope: Scope) -> Scope | None:
        """The module of a path, whose parts are mentioned; None if it is not known."""
        found: Scope | None = scope
        start = span.start
        for name in names:
            if found is None or name not in found.modules:
                return None
            definition, found = found.modules[name]
            place = Span(span.source, start, start + len(name))
            if place.text != name:
                place = self._place(name, span, start)
            self._mention(place, definition)
            start = place.end + 1
        return found

    # Functions and patterns

    def _parameters(self, type_params: Iterable[ast.SizeParam | ast.TypeParam],
                    params: Iterable[ast.Pattern], scope: Scope) -> Scope:
        inner = scope.child()
        for param in type_params:
            place = self._place(param.name, param.span)
            if isinstance(param, ast.SizeParam):
                inner.values[param.name] = self._define(
                    param.name, "size", place, param.span, inner)
            else:
                name = param.span.end - len(param.name)
                inner.types[param.name] = self._define(
                    param.name, "type", Span(param.span.source, name, param.span.end), param.span,
                    inner)
        for pattern in params:
            self._pattern(pattern, inner, "parameter")
        return inner

    def _function(self, type_params: Iterable[ast.SizeParam | ast.TypeParam],
                  params: Iterable[ast.Pattern], ret: ast.TypeExp | None, body: ast.Exp,
                  scope: Scope) -> None:
        inner = self._parameters(type_params, params, scope)
        if ret is not None:
            self._visit(ret, inner)
        self._visit(body, inner)

    def _pattern(self, pattern: ast.Pattern, scope: Scope, kind: str = "value",
                 whole: Span | None = None) -> None:
        """Bind the names of a pattern in ``scope``."""
        match pattern:
            case ast.PatName(span, name):
                place = span if span.text == name else self._place(name, span)
                scope.values[name] = self._define(name, kind, place, whole, scope)
            case ast.PatTuple(_, items) | ast.PatConstr(_, _, items):
                for item in items:
                    self._pattern(item, scope, kind)
            case ast.PatRecord(_, fields):
                for name, item in fields:
                    before = len(self.found)
                    self._pattern(item, scope, kind)
                    if self._is_pun(name, item):
                        self.found[before:] = [Mention(each.span, each.definition, True)
                                               if each.definition.name == name else each
                                               for each in self.found[before:]]
            case ast.PatAscript(span, inner, type_exp):
                self._pattern(inner, scope, kind, span)
                self._visit(type_exp, scope)

    def _is_pun(self, name: str, item: Node) -> bool:
        """True if the name of a field is that of a value as well."""
        return not re.search(rf"(?<![\w']){re.escape(name)}\s*=\s*$",
                             item.span.source.text[:item.span.start][-200:])

    # Expressions and types

    def _visit(self, node: object, scope: Scope) -> None:
        if isinstance(node, tuple):
            for item in node:
                self._visit(item, scope)
        elif isinstance(node, Node) and not self._special(node, scope):
            for name in parts(type(node)):
                self._visit(getattr(node, name), scope)

    def _special(self, node: Node, scope: Scope) -> bool:
        """Follow a node with names or binders; False for every other node."""
        match node:
            case ast.Name(span, name):
                self._mention(span, scope.values.get(name.name))
            case ast.Project():
                return self._projection(node, scope)
            case ast.TypeName(span, name, args):
                self._type_name(span, name, scope)
                self._visit(args, scope)
            case ast.BinExp(_, op, left, right, op_span):
                self._operator(op, op_span, scope)
                self._visit((left, right), scope)
            case ast.OpSection(span, op, left, right):
                start = span.start if left is None else left.span.end
                end = span.end if right is None else right.span.start
                self._operator(op, Span(span.source, start, end), scope)
                self._visit(tuple(each for each in (left, right) if each is not None), scope)
            case ast.LocalOpen(_, module, body):
                self._visit(body, self._opened(module, scope))
            case ast.LambdaExp(_, params, ret, body):
                self._function((), params, ret, body, scope)
            case ast.LetPat(span, sizes, pattern, value, body):
                self._visit(value, scope)
                inner = self._parameters(sizes, (), scope)
                if self._updates(pattern, value):
                    self._visit(body, inner)  # let a.f = e: the name stays one definition
                    return True
                self._pattern(pattern, inner, whole=Span(span.source, span.start, value.span.end))
                self._visit(body, inner)
            case ast.LetFun(span, name, type_params, params, ret, value, body):
                self._function(type_params, params, ret, value, scope)
                inner = scope.child()
                inner.values[name] = self._define(
                    name, "function", self._place(name, span, span.start + 3),
                    Span(span.source, span.start, value.span.start))
                self._visit(body, inner)
            case ast.LetWith(_, name, name_span, dims, value, body):
                self._mention(name_span, scope.values.get(name))
                self._visit((dims, value, body), scope)
            case ast.LoopExp():
                self._loop(node, scope)
            case ast.Case(_, pattern, body):
                inner = scope.child()
                self._pattern(pattern, inner)
                self._visit(body, inner)
            case ast.RecordExp(_, fields):
                for name, value in fields:
                    if isinstance(value, ast.Name) and self._is_pun(name, value):
                        self._mention(value.span, scope.values.get(name), is_field=True)
                    else:
                        self._visit(value, scope)
            case ast.TypeArrow(span, str() as param, domain, codomain):
                self._visit(domain, scope)
                inner = scope.child()
                inner.values[param] = self._define(param, "size", self._place(param, span))
                self._visit(codomain, inner)
            case ast.TypeExists(span, sizes, type_):
                inner, start = scope.child(), span.start
                for size in sizes:
                    place = self._place(size, span, start)
                    inner.values[size] = self._define(size, "size", place, among=inner)
                    start = place.end
                self._visit(type_, inner)
            case _:
                return False
        return True

    @staticmethod
    def _updates(pattern: ast.Pattern, value: ast.Exp) -> bool:
        """True for ``let a.f = e``, which is read as ``let a = a with f = e``."""
        match value:
            case ast.UpdateExp(_, ast.Name(span)) | ast.RecordUpdate(_, ast.Name(span)):
                return isinstance(pattern, ast.PatName) and span == pattern.span
        return False

    def _loop(self, node: ast.LoopExp, scope: Scope) -> None:
        inner = scope.child()
        if node.init is None:
            self._carried(node.pattern, scope, inner)
        else:
            self._visit(node.init, scope)
            self._pattern(node.pattern, inner)
        match node.form:
            case ast.ForForm(_, pattern, bound) | ast.ForInForm(_, pattern, bound):
                self._visit(bound, scope)
                self._pattern(pattern, inner)
            case ast.WhileForm(_, cond):
                self._visit(cond, inner)
        self._visit(node.body, inner)

    def _carried(self, pattern: ast.Pattern, scope: Scope, inner: Scope) -> None:
        """Bind the pattern of a loop; names that it repeats keep their definitions."""
        match pattern:
            case ast.PatName(span, name) if name in scope.values:
                self._mention(span, scope.values[name])
            case ast.PatTuple(_, items):
                for item in items:
                    self._carried(item, scope, inner)
            case _:
                self._pattern(pattern, inner)

    def _operator(self, op: ast.QualName, span: Span, scope: Scope) -> None:
        found = scope if not op.quals else self._module_path(span, op.quals, scope)
        if found is not None and op.name in found.values:
            self._mention(self._place(op.name, span), found.values[op.name])

    def _type_name(self, span: Span, name: ast.QualName, scope: Scope) -> None:
        found = scope if not name.quals else self._module_path(span, name.quals, scope)
        if found is not None and name.name in found.types:
            written = "." + name.name if name.quals else name.name
            start = span.source.text.find(written, span.start) + bool(name.quals)
            self._mention(Span(span.source, start, start + len(name.name)), found.types[name.name])

    def _projection(self, node: ast.Project, scope: Scope) -> bool:
        """``M.N.x.f``: modules as far as they go, then a value; False if it is a field."""
        path: list[ast.Project] = []
        root: ast.Exp = node
        while isinstance(root, ast.Project):
            path.insert(0, root)
            root = root.record
        if not isinstance(root, ast.Name) or root.name.name in scope.values:
            return False
        found: Scope | None = self._module_path(root.span, (root.name.name,), scope)
        for step in path:
            if found is None:
                break
            name, end = step.field_name, step.span.end
            place = Span(step.span.source, end - len(name), end)
            if name in found.values:
                self._mention(place, found.values[name])
                break
            if name not in found.modules:
                break
            definition, found = found.modules[name]
            self._mention(place, definition)
        return True

    def _opened(self, module: ast.Exp, scope: Scope) -> Scope:
        names: list[str] = []
        inner = module
        while isinstance(inner, ast.Project):
            names.insert(0, inner.field_name)
            inner = inner.record
        opened = scope.child()
        if isinstance(inner, ast.Name):
            found = self._module_path(module.span, (inner.name.name, *names), scope)
            if found is not None:
                opened.add(found)
        return opened
