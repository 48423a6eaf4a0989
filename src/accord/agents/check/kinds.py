"""How the message classes of an agent are related: which ones can be told apart by `isinstance`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from accord.agents.check.messages import annotation_of, labels_in
from accord.agents.check.modules import Class

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.agents.check.modules import Scope
    from accord.agents.check.names import Program

__all__ = ["MessageKinds"]

_DEEPEST = 16


@dataclass(frozen=True)
class MessageKinds:
    """The labels of an agent's protocols, and the classes that they are where those are in the files."""

    labels: frozenset[str]
    classes: Mapping[str, Class]
    program: Program

    def is_one_of(self, label: str, classes: ast.expr, scope: Scope) -> bool | None:
        """Whether a message of a label is of one of these classes; `None` if that cannot be told."""
        members = _members(classes)
        answers = [self._is_of(label, member, scope) for member in members]
        return True if True in answers else None if None in answers else False

    def _is_of(self, label: str, named: ast.expr, scope: Scope) -> bool | None:
        labels = labels_in(named, scope, self.program)
        if labels is None:
            return None
        if isinstance(named, ast.Name | ast.Attribute):
            meant = self.program.resolve(named, scope)
            if isinstance(meant, Class) and meant.name in self.labels and meant.node is not self._node(meant.name):
                return None  # two classes of one name
        if label in labels:
            return True
        if any(other in self._above.get(label, ()) for other in labels):
            return True
        return False if self.labels.issuperset(labels) else None

    def is_the_one(self, label: str, meaning: object) -> bool:
        """Whether something is what the agent knows by a label, and no other class of the same name."""
        known = self._node(label)
        return not isinstance(meaning, Class) or known is None or known is meaning.node

    def _node(self, label: str) -> ast.ClassDef | None:
        return self.classes[label].node if label in self.classes else None

    @cached_property
    def _above(self) -> dict[str, set[str]]:
        """For each label the labels of the classes that its class inherits from."""
        return {label: {declared.name for declared in self._line(label)[1:]} for label in self.labels}

    def _line(self, label: str) -> list[Class]:
        line = [self.classes[label]] if label in self.classes else []
        for declared in line:  # it grows while it is walked
            for base in declared.node.bases if len(line) < _DEEPEST else ():
                above = self.program.resolve(base, declared.scope)
                if isinstance(above, Class) and all(above.node is not known.node for known in line):
                    line.append(above)
        return line

    def has_truth_of_its_own(self, label: str) -> bool:
        """Whether a message may be false."""
        return any(name in declared.inside.names for declared in self._line(label) for name in ("__bool__", "__len__"))


def _members(classes: ast.expr) -> list[ast.expr]:
    """`A`, `A | B`, `(A, B)`, one by one."""
    read = annotation_of(classes)
    if isinstance(read, ast.BinOp) and isinstance(read.op, ast.BitOr):
        return [*_members(read.left), *_members(read.right)]
    if isinstance(read, ast.Tuple):
        return [member for inner in read.elts for member in _members(inner)]
    return [classes]
