"""What a name in a file means, across all files that are looked at together.

A file is found by the end of its path: `from shop.messages import Order` is the file `…/shop/messages.py`. What lies
outside the files is known by its dotted name alone.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypeAlias

from accord.agents.check.modules import Class, Function, Import, Module, Opaque, Scope, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.agents.check.modules import Binding

__all__ = ["Meaning", "Outside", "Program"]

_DEEPEST = 32  # names that stand for names

# What is known by its dotted name, even if its own source is among the files.
_KNOWN = frozenset(
    {"abc", "accord", "collections", "dataclasses", "enum", "functools", "msgspec", "pathlib", "pydantic", "typing"}
)

_OURS = frozenset({"Agent", "AgentRef", "Crash", "PartnerCrashedError", "Supervisor", "follows", "on", "persistent"})
"""What `from accord.agents import *` brings, as far as it matters here."""

_OF_MODULES = frozenset({"__annotations__", "__cached__", "__file__", "__module__", "__path__", "__qualname__"})
"""What Python itself binds in every module or class, beside its built-in names."""


@dataclass(frozen=True)
class Outside:
    """Something that is not in the files, by its dotted name; `why` if not even that is certain.

    It is `undefined` if the files show that nothing binds the name: where it is used, the program fails.
    """

    name: str
    why: str = ""
    undefined: bool = False


Meaning: TypeAlias = Class | Function | Value | Module | Outside


class Program:
    """The files that are looked at together."""

    def __init__(self, modules: Iterable[Module]) -> None:
        self.modules = tuple(modules)
        self._looked_up: dict[tuple[Scope, str], Meaning] = {}

    @cached_property
    def _by_ending(self) -> dict[str, list[Module]]:
        found: dict[str, list[Module]] = {}
        for module in self.modules:
            parts = _dotted(module.path)
            for length in range(1, len(parts) + 1):
                found.setdefault(".".join(parts[-length:]), []).append(module)
        return found

    def find(self, dotted: str, level: int, asking: Module) -> Module | None:
        """The file of a module's name, as it is meant in another file."""
        if not level and dotted.split(".", maxsplit=1)[0] in _KNOWN:
            return None
        if level:
            base = asking.path.parts[:-1][: len(asking.path.parts) - level]
            wanted = [*base, *(dotted.split(".") if dotted else [])]
            known = self._by_ending.get(".".join(_clean(wanted)), [])
            return next((module for module in known if list(_dotted(module.path)) == _clean(wanted)), None)
        known = self._by_ending.get(dotted, [])
        near = [_nearness(module.path, asking.path) for module in known]
        is_clear = near.count(max(near, default=0)) == 1  # else which one is found, the program's path decides
        return known[near.index(max(near))] if is_clear else None

    def look_up(self, name: str, scope: Scope, depth: int = 0) -> Meaning:
        """What a name means in a scope."""
        key = (scope, name)
        if depth or key not in self._looked_up:
            found = self._look_up(name, scope, depth)
            if depth:
                return found  # it may be the circle that was cut
            self._looked_up[key] = found
        return self._looked_up[key]

    def _look_up(self, name: str, scope: Scope, depth: int) -> Meaning:
        if depth > _DEEPEST:
            return Outside(name, f"`{name}` is imported in a circle")
        at: Scope | None = scope
        while at is not None:
            if name in at.names:
                return self._meaning(at.names[name], name, at, depth)
            for star, module in self._stars(at):
                if star.module == "accord.agents" and name in _OURS:
                    return Outside(f"accord.agents.{name}")
                if module is None and star.module != "accord.agents":
                    return Outside(name, f"`{name}` may come from `from {star.module} import *`")
                if module is not None and name in module.scope.names:
                    return self.look_up(name, module.scope, depth + 1)
            at = at.parent
        is_undefined = not hasattr(builtins, name) and name not in _OF_MODULES and not scope.module.binds_unseen
        return Outside(f"builtins.{name}", undefined=is_undefined)

    def _stars(self, scope: Scope) -> Iterator[tuple[Import, Module | None]]:
        """Every `from … import *` that gives a scope names, with its file; those of that file give them too."""
        todo, seen = [scope], {scope}
        for at in todo:  # it grows while it is walked
            _ = at.names  # reading them finds the stars
            for star in at.stars:
                module = self.find(star.module, star.level, at.module)
                yield star, module
                if module is not None and module.scope not in seen:
                    seen.add(module.scope)
                    todo.append(module.scope)

    def resolve(self, expression: ast.expr, scope: Scope, depth: int = 0) -> Meaning:
        """What an expression of names and dots means; names that stand for names are followed."""
        if depth > _DEEPEST:
            return Outside("", "the name stands for itself")
        found: Meaning
        if isinstance(expression, ast.Name):
            found = self.look_up(expression.id, scope)
        elif isinstance(expression, ast.Attribute):
            found = self._attribute(self.resolve(expression.value, scope, depth + 1), expression.attr, scope.module)
        else:
            return Outside("", "it is no plain name")
        if isinstance(found, Value) and isinstance(found.expression, ast.Name | ast.Attribute):
            return self.resolve(found.expression, found.scope, depth + 1)
        return found

    def _attribute(self, base: Meaning, name: str, asking: Module) -> Meaning:
        if isinstance(base, Module):
            if name in base.scope.names:
                return self.look_up(name, base.scope)
            is_meant = base.path.parent in asking.path.parents
            return self._missing(name, base, Outside(name, "it is not in the file"), is_meant=is_meant)
        if isinstance(base, Class):
            bound = base.inside.names.get(name)
            return self._meaning(bound, name, base.inside, 0) if bound is not None else Outside(name, "it is inherited")
        if isinstance(base, Outside):
            return Outside(f"{base.name}.{name}" if base.name else "", base.why)
        return Outside("", f"`.{name}` of something that is made while the program runs")

    def _meaning(self, binding: Binding, name: str, scope: Scope, depth: int) -> Meaning:
        if isinstance(binding, Opaque):
            return Outside(name, binding.why)
        if not isinstance(binding, Import):
            return binding
        module = self.find(binding.module, binding.level, scope.module)
        if binding.name is None:
            return module or Outside(binding.module)
        if module is not None and binding.name in module.scope.names and module is not scope.module:
            return self.look_up(binding.name, module.scope, depth + 1)
        dotted = f"{binding.module}.{binding.name}".lstrip(".")
        inner = self.find(dotted, binding.level, scope.module)
        if inner is None and module is not None and module is not scope.module:
            root = PurePosixPath(*module.path.parts[: -len(binding.module.split("."))])
            is_meant = root in scope.module.path.parents
            return self._missing(binding.name, module, Outside(dotted), is_meant=is_meant)
        return inner or Outside(dotted)

    def _missing(self, name: str, module: Module, unseen: Outside, *, is_meant: bool) -> Meaning:
        """What a name means that another file is asked for, and that its own text does not bind.

        Nothing binds it if it is certain which file is meant, and that all which binds names in it was seen.
        """
        starred = [found for _, found in self._stars(module.scope)]
        for found in starred:
            if found is not None and name in found.scope.names:
                return self.look_up(name, found.scope, 1)
        is_package = module.path.stem == "__init__"  # what lies in it may not be among the files
        is_seen = None not in starred and not module.binds_unseen and name not in self._set_elsewhere
        return replace(unseen, undefined=is_meant and is_seen and not is_package and name not in _OF_MODULES)

    @cached_property
    def _set_elsewhere(self) -> frozenset[str]:
        """What is set as an attribute of anything, and so maybe of a file."""
        nodes = (node for module in self.modules for node in module.nodes)
        return frozenset(
            node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        )


def _dotted(path: PurePosixPath) -> tuple[str, ...]:
    parts = _clean(path.with_suffix("").parts)
    return tuple(parts[:-1] if parts and parts[-1] == "__init__" else parts)


def _clean(parts: Iterable[str]) -> list[str]:
    return [part for part in parts if part not in {"", ".", "/"}]


def _nearness(path: PurePosixPath, other: PurePosixPath) -> int:
    shared = 0
    for one, two in zip(path.parts, other.parts, strict=False):
        if one != two:
            break
        shared += 1
    return shared
