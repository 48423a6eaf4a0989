"""YAML text as plain values, with the place of each of them.

The text is read as a flat run of events and never as a tree of objects, so depth, size and what aliases stand for are
counted while it is read: a text that would unfold to more than `MOST_VALUES` is refused at the place where it does.
Values are those of `yaml.safe_load`; a key that stands twice is an error instead of a riddle.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from accord.diagnostics import Diagnostic, Source, Span
from accord.errors import ContractError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

__all__ = ["DEEPEST", "LONGEST", "MOST_VALUES", "Places", "import_yaml", "read_yaml"]

LONGEST = 1 << 20
"""Characters in one text."""
DEEPEST = 64
MOST_VALUES = 100_000

Path = tuple[str | int, ...]

_SCALARS = {f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float", "str")}


@dataclass(slots=True)
class Places:
    """Where values and keys stand in a source."""

    source: Source
    values: dict[Path, Span] = field(default_factory=dict)
    keys: dict[Path, Span] = field(default_factory=dict)

    def of_value(self, path: Path) -> Span:
        """Where a value stands; what an alias stands for stands at the alias."""
        while path not in self.values and path:
            path = path[:-1]
        return self.values.get(path, Span(0, 0))

    def of_key(self, path: Path) -> Span:
        """Where a key stands."""
        return self.keys.get(path) or self.of_value(path)


@dataclass(slots=True)
class _Open:
    """A container that is being read."""

    value: dict[str, Any] | list[Any]
    path: Path
    start: int
    anchor: str | None
    before: int
    key: str | None = None
    merged: list[dict[str, Any]] = field(default_factory=list)


def import_yaml() -> ModuleType:
    """PyYAML, or an error that names the extra."""
    try:
        import yaml  # noqa: PLC0415 - an optional package
    except ImportError:
        raise UsageError("YAML needs PyYAML; install `accord-contracts[trace]`") from None
    return yaml


def read_yaml(source: Source) -> tuple[Any, Places, list[Diagnostic]]:
    """The value of a text with its places, and what is wrong with it but can be read past.

    Raises `ContractError` (E060, E064) for what cannot.
    """
    if len(source.text) > LONGEST:
        raise _refusal("E064", f"the text is longer than {LONGEST:,} characters", source, Span(0, 0))
    return _Reader(source).read()


def _refusal(code: str, message: str, source: Source, span: Span, help_: str = "") -> ContractError:
    return ContractError((Diagnostic(code, message, source, span, help=help_),))


class _Reader:
    def __init__(self, source: Source) -> None:
        self.yaml = import_yaml()
        self.source = source
        self.places = Places(source)
        self.findings: list[Diagnostic] = []
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.count = 0
        self.result: Any = None
        # Tells which plain scalars are numbers and so on, and nothing else.
        self.resolver = self.yaml.SafeLoader("")

    def read(self) -> tuple[Any, Places, list[Diagnostic]]:
        yaml = self.yaml
        documents = 0
        try:
            for event in self._events():
                span = Span(event.start_mark.index, event.end_mark.index)
                if isinstance(event, yaml.DocumentStartEvent):
                    documents += 1
                    if documents > 1:
                        raise _refusal("E060", "a second document begins", self.source, span)
                elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                    self._begin({} if isinstance(event, yaml.MappingStartEvent) else [], event, span)
                elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                    self._finish(span)
                elif isinstance(event, yaml.ScalarEvent):
                    self._scalar(event, span)
                elif isinstance(event, yaml.AliasEvent):
                    self._alias(event.anchor, span)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
            at = min(getattr(mark, "index", 0) or getattr(error, "position", 0) or 0, len(self.source.text))
            problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
            raise _refusal("E060", f"the text is no YAML: {problem}", self.source, Span(at, at + 1)) from None
        return self.result, self.places, self.findings

    def _events(self) -> Iterator[Any]:
        loader = getattr(self.yaml, "CSafeLoader", self.yaml.SafeLoader)
        return cast("Iterator[Any]", self.yaml.parse(self.source.text, Loader=loader))

    # -- values --------------------------------------------------------------------------------------------------------

    def _use(self, number: int, span: Span) -> None:
        self.count += number
        if self.count > MOST_VALUES:
            raise _refusal("E064", f"the text unfolds to more than {MOST_VALUES:,} values", self.source, span)

    def _begin(self, value: dict[str, Any] | list[Any], event: Any, span: Span) -> None:  # noqa: ANN401 - PyYAML's
        if len(self.open) >= DEEPEST:
            raise _refusal("E064", f"the text is nested deeper than {DEEPEST}", self.source, span)
        if self.open and isinstance(self.open[-1].value, dict) and self.open[-1].key is None:
            raise _refusal("E060", "a key is a text", self.source, span)
        if event.tag is not None and event.tag not in {"!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}:
            self._complain("E062", f"the tag `{event.tag}` has no meaning here", span)
        if event.anchor is not None:
            self.anchors.pop(event.anchor, None)
        path = self._path()
        self.places.values[path] = span
        self.open.append(_Open(value, path, span.start, event.anchor, self.count))
        self._use(1, span)

    def _finish(self, span: Span) -> None:
        done = self.open.pop()
        for merged in done.merged:
            for key, item in merged.items():
                cast("dict[str, Any]", done.value).setdefault(key, item)
        self.places.values[done.path] = Span(done.start, max(span.start, done.start + 1))
        if done.anchor is not None:
            self.anchors[done.anchor] = done.value, self.count - done.before
        self._put(done.value, Span(done.start, span.end))

    def _scalar(self, event: Any, span: Span) -> None:  # noqa: ANN401 - PyYAML's
        self._use(1, span)
        tag = event.tag
        if tag is None or tag == "!":
            tag = self.resolver.resolve(self.yaml.ScalarNode, event.value, event.implicit)
        here = self.open[-1] if self.open else None
        if here is not None and isinstance(here.value, dict) and here.key is None:
            self._key(here, event.value, tag, span)
            return
        value = self._construct(tag, event.value, span)
        if event.anchor is not None:
            self.anchors[event.anchor] = value, 1
        self._put(value, span)

    def _construct(self, tag: str, text: str, span: Span) -> Any:  # noqa: ANN401 - any scalar
        if tag not in _SCALARS:
            kind = tag.rpartition(":")[2]
            self._complain(
                "E062", f"`{text[:40]}` is a YAML {kind}, which JSON has no word for", span, "write it in quotes"
            )
            return text
        try:
            return getattr(self.resolver, f"construct_yaml_{tag.rpartition(':')[2]}")(self.yaml.ScalarNode(tag, text))
        except (ValueError, KeyError, OverflowError):
            self._complain("E062", f"`{text[:40]}` is no {tag.rpartition(':')[2]}", span, "write it in quotes")
            return text

    def _key(self, here: _Open, text: str, tag: str, span: Span) -> None:
        path = (*here.path, text)
        here.key = text
        if tag == "tag:yaml.org,2002:merge":
            return
        if tag != "tag:yaml.org,2002:str":
            what = tag.rpartition(":")[2]
            self._complain(
                "E062", f"the key `{text[:40]}` is a YAML {what} and no text", span, f"write `'{text[:40]}'`"
            )
        if text in here.value:
            self._complain("E065", f"the key `{text[:80]}` stands twice", span)
        self.places.keys[path] = span

    def _alias(self, name: str, span: Span) -> None:
        known = self.anchors.get(name)
        if known is None:
            raise _refusal("E060", f"`*{name}` stands for nothing that is complete here", self.source, span)
        value, size = known
        self._use(size, span)
        here = self.open[-1] if self.open else None
        if here is not None and isinstance(here.value, dict) and here.key is None:
            self._key(here, str(value), "tag:yaml.org,2002:str" if isinstance(value, str) else "alias", span)
            return
        self.places.values[self._path()] = span
        self._put(value, span)

    def _path(self) -> Path:
        if not self.open:
            return ()
        here = self.open[-1]
        return (*here.path, here.key if isinstance(here.value, dict) else len(here.value))  # type: ignore[arg-type]

    def _put(self, value: Any, span: Span) -> None:  # noqa: ANN401 - any value
        if not self.open:
            self.places.values[()] = span
            self.result = value
            return
        path = self._path()
        here = self.open[-1]
        if isinstance(here.value, list):
            self.places.values.setdefault(path, span)
            here.value.append(value)
            return
        key, here.key = here.key, None
        if key == "<<" and path not in self.places.keys:
            merged = value if isinstance(value, list) else [value]
            if not all(isinstance(item, dict) for item in merged):
                self._complain("E062", "behind `<<` stands a mapping, or a list of them", span)
            here.merged += [item for item in merged if isinstance(item, dict)]
            return
        self.places.values.setdefault(path, span)
        here.value[key] = value  # type: ignore[index] # a key was read before

    def _complain(self, code: str, message: str, span: Span, help_: str = "") -> None:
        if len(self.findings) < 100:
            self.findings.append(Diagnostic(code, message, self.source, span, help=help_))
