"""What a class declares, and everything that can be wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec
import pydantic
import pytest

import accord
from accord import UsageError
from accord.agents import Agent, Crash, Supervisor, follows, on
from accord.agents.declaring import declaration_of

SYNC = """
record SchemaChanged { table: String, change_type: String }
record Acknowledged {}
protocol SchemaSync {
    DatabaseSteward -> APISteward: SchemaChanged
    APISteward -> DatabaseSteward: Acknowledged
}
"""


@dataclass
class SchemaChanged:
    table: str
    change_type: str


@dataclass
class Acknowledged:
    pass


def told(excinfo) -> str:
    return str(excinfo.value)


def test_a_role_its_handlers_and_what_they_take():
    @follows(SYNC, as_="APISteward")
    class Steward(Agent):
        async def on_message(self, change: SchemaChanged) -> None: ...

    declaration = declaration_of(Steward)
    (role,) = declaration.roles
    assert (role.protocol, role.role) == ("SchemaSync", "APISteward")
    assert {label: h.method for label, h in declaration.handlers.items()} == {"SchemaChanged": "on_message"}


def test_a_path_is_no_text_and_a_text_is_no_path(tmp_path):
    path = tmp_path / "sync.accord"
    path.write_text(SYNC)
    assert accord.load(str(path)).digest == accord.load(path).digest == accord.compile(SYNC).digest
    with pytest.raises(UsageError, match=r"E070: a `str` is the text of a contract; .* `accord.load\('sync.accord'\)`"):
        follows("sync.accord", as_="APISteward")
    for text in (SYNC, "protocol P { A -> B: M }", ""):
        with pytest.raises(UsageError, match=r"takes the path of a file; .* use `accord.compile`"):
            accord.load(text)
    with pytest.raises(UsageError, match=r"cannot read nowhere\.accord: No such file"):
        accord.load("nowhere.accord")
    with pytest.raises(UsageError, match="a `str` or a `Path`, got `int`"):
        accord.load(1)


def test_protocols_come_from_text_files_and_contracts(tmp_path):
    path = tmp_path / "sync.accord"
    path.write_text(SYNC + "protocol Other { A -> B: Acknowledged }")
    contract = accord.load(path)
    for protocol in (SYNC, contract["SchemaSync"]):

        @follows(protocol, as_="APISteward")
        class Steward(Agent):
            pass

        assert declaration_of(Steward).roles[0].protocol == "SchemaSync"
    with pytest.raises(UsageError, match=r"E070.*several protocols between roles; say which"):
        follows(path, as_="APISteward")
    path.write_text(SYNC)
    assert declaration_of(follows(path, as_="APISteward")(type("S", (Agent,), {}))).roles[0].role == "APISteward"
    with pytest.raises(KeyError, match="declares no protocol 'SchemaSink'"):
        contract["SchemaSink"]


@pytest.mark.parametrize(
    ("protocol", "role", "message"),
    [
        ("NonexistentProtocol", "Worker", "E070: unknown protocol `NonexistentProtocol`"),
        ("!a.end", "Worker", "E070: unknown protocol: the contract has no protocol between roles"),
        (SYNC, "UnknownRole", "E071: unknown role: protocol `SchemaSync` has no role 'UnknownRole'"),
        (SYNC, "APISteword", "did you mean `APISteward`?"),
        (SYNC, 3, "E071: a role is named by a `str`, got `int`"),
        (3, "A", "a protocol is given as text"),
    ],
)
def test_a_protocol_or_role_that_is_not_there(protocol, role, message):
    with pytest.raises(UsageError) as excinfo:
        follows(protocol, as_=role)
    assert message in told(excinfo)


def test_a_contract_with_errors_says_so_itself():
    with pytest.raises(accord.ContractError, match="E030"):
        follows("protocol P { A -> A: x }", as_="A")


def test_messages_of_the_module_are_matched_even_if_they_are_only_sent():
    text = SYNC.replace("record Acknowledged {}", "record Acknowledged { at: Int }")
    with pytest.raises(
        UsageError, match="`Acknowledged` has no field `at`, which record `Acknowledged` has; add `at: int`"
    ):

        @follows(text, as_="APISteward")
        class Steward(Agent):
            pass


FIELDS = """
enum Colour { red, green }
record Point { x: Int, y: Int }
record Tree { leaf: Int, under: List<Tree> }
record M { %s }
protocol P { A -> B: M }
"""


def listener(fields: str, message: type):
    message.__name__ = "M"

    class Listener(Agent):
        @on(message)
        async def take(self, m) -> None: ...

    return follows(FIELDS % fields, as_="B")(Listener)


@dataclass
class Point:
    x: int
    y: int


@dataclass
class Tree:
    leaf: int
    under: list[Tree]


def dataclass_of(annotations):
    return dataclass(type("M", (), {"__annotations__": annotations, "__module__": __name__}))


def struct_of(annotations):
    return msgspec.defstruct("M", list(annotations.items()))


def model_of(annotations):
    return pydantic.create_model("M", **{name: (type_, ...) for name, type_ in annotations.items()})


@pytest.mark.parametrize("make", [dataclass_of, struct_of, model_of])
@pytest.mark.parametrize(
    ("fields", "annotations", "problem"),
    [
        ("a: String", {"a": str}, None),
        ("a: String", {"a": int}, "`M.a` is `int`, and `String` is `str`"),
        ("a: Int", {"a": bool}, "`M.a` is `bool`, and `Int` is `int`"),
        ("a: Int", {"a": float}, "`M.a` is `float`, and `Int` is `int`"),
        ("a: Float", {"a": int}, None),
        ("a: Bool", {"a": bool}, None),
        ("a: Any", {"a": object}, None),
        ("a: Option<Int>", {"a": int | None}, None),
        ("a: Option<Int>", {"a": int}, "`M.a` is `int`, and `Option<Int>` is `int | None`"),
        ("a: Int", {"a": int | None}, "and `Int` is `int`"),
        ("a: List<Int>", {"a": list[int]}, None),
        ("a: List<Int>", {"a": tuple[int, ...]}, None),
        ("a: List<Int>", {"a": tuple[int, int]}, "and `List<Int>` is `list[int]`"),
        ("a: List<Int>", {"a": list[str]}, "`M.a`[] is `str`"),
        ("a: List<String>", {"a": str}, "`M.a` is `str`, and `List<String>` is `list[str]`"),
        ("a: Map<String, Int>", {"a": dict[str, int]}, None),
        ("a: Map<String, Int>", {"a": dict[str, str]}, "`M.a`[…] is `str`"),
        ("a: Colour", {"a": str}, None),
        ("a: Colour", {"a": Literal["red", "green"]}, None),
        ("a: Colour", {"a": Literal["red", "blue"]}, "enum `Colour` has the members red, green"),
        ("a: Colour", {"a": int}, "enum `Colour` has the members red, green"),
        ("a: Point", {"a": Point}, None),
        ("a: Point", {"a": dict}, None),
        ("a: Point", {"a": int}, "`M.a` is `int`, and `Point` is `Point`"),
        ("a: Tree", {"a": Tree}, None),
        ("a: Point", {"a": Tree}, "`Tree` has no field `x`"),
        ("a: Int, b: Int", {"a": int}, "`M` has no field `b`, which record `M` has; add `b: int`"),
        ("colour: Int", {"color": int}, "`M` has no field `colour`, which record `M` has; did you mean it by `color`?"),
        ("a: Int", {"a": int, "b": int}, "`M` has the field `b`, which record `M` does not have; its fields are a"),
        ("a: Int, ...", {"a": int, "b": int}, None),
    ],
)  # fmt: skip
def test_classes_are_matched_to_records_field_by_field(make, fields, annotations, problem):
    message = make(annotations)
    if problem is None:
        listener(fields, message)
        return
    with pytest.raises(UsageError) as excinfo:
        listener(fields, message)
    assert problem in told(excinfo)


def test_all_problems_are_told_at_once():
    @dataclass
    class SchemaChanged:
        table: int

    with pytest.raises(UsageError) as excinfo:

        @follows(SYNC, as_="APISteward")
        class Steward(Agent):
            async def on_message(self, change: SchemaChanged) -> None: ...
            async def on_nothing(self) -> None: ...
            def on_time(self, change: SchemaChanged) -> None: ...
            async def on_text(self, text: str) -> None: ...
            async def on_what(self, what: Nowhere) -> None: ...  # noqa: F821

    unknown = "is not annotated with the class of a message (a dataclass, a msgspec Struct or a pydantic model)"
    assert told(excinfo).splitlines() == [
        "agent `Steward`:",
        "  - E072: `on_nothing` takes 0 arguments beside `self`: a handler takes the message",
        f"  - E072: `text` of `on_text` {unknown}",
        "  - E072: `on_time` is no `async def`",
        f"  - E072: `what` of `on_what` {unknown}",
        "  - E084: `SchemaChanged.table` is `int`, and `String` is `str`",
        "  - E084: `SchemaChanged` has no field `change_type`, which record `SchemaChanged` has; add `change_type: str`",  # noqa: E501
    ]  # fmt: skip
    assert excinfo.value.code == "E072", "that of the first"


def test_a_handler_for_a_message_that_never_comes_and_two_for_one():
    @follows(SYNC, as_="DatabaseSteward")
    class Steward(Agent):
        async def on_change(self, change: SchemaChanged) -> None: ...
        async def on_yes(self, yes: Acknowledged) -> None: ...
        @on(Acknowledged)
        async def also(self, yes) -> None: ...

    with pytest.raises(UsageError) as excinfo:
        Supervisor().add(Steward)
    assert "`on_change` takes `SchemaChanged`, which no role of it ever receives" in told(excinfo)
    assert "`also` and `on_yes` both take `Acknowledged`" in told(excinfo)


def test_two_protocols_are_independent_and_each_has_its_handlers():
    api_sync = "record Deployed { version: Int } protocol ApiSync { Deployer -> APISteward: Deployed }"

    @dataclass
    class Deployed:
        version: int

    @follows(SYNC, as_="APISteward")
    @follows(api_sync, as_="APISteward")
    class Steward(Agent):
        async def on_message(self, message: SchemaChanged | Deployed) -> None: ...

    declaration = declaration_of(Steward)
    assert [role.protocol for role in declaration.roles] == ["SchemaSync", "ApiSync"]
    assert set(declaration.handlers) == {"SchemaChanged", "Deployed"}

    with pytest.raises(UsageError, match="`Steward` follows `SchemaSync` as `APISteward` twice"):
        follows(SYNC, as_="APISteward")(Steward)


def test_a_derived_class_follows_what_its_base_follows():
    @follows(SYNC, as_="APISteward")
    class Base(Agent):
        async def on_message(self, change: SchemaChanged) -> None: ...

    class Derived(Base):
        pass

    assert declaration_of(Derived).roles == declaration_of(Base).roles


def test_a_crash_is_handled_where_the_protocol_has_one():
    text = "protocol P { choice at B { B -> A: Yes } or crash B { A -> C: Sorry } }"

    class Watcher(Agent):
        async def on_crash(self, crash: Crash) -> None: ...

    follows(text, as_="A")(Watcher)
    assert set(declaration_of(Watcher).handlers) == {"crash"}


def test_what_is_no_agent():
    with pytest.raises(UsageError, match="follows no protocol"):
        Supervisor().add(type("Lazy", (Agent,), {}))
    with pytest.raises(UsageError, match="a class derived from `Agent`, got <class 'int'>"):
        Supervisor().add(int)
    with pytest.raises(UsageError, match="stands on a class, got `function`"):
        follows(SYNC, as_="APISteward")(lambda: None)
    with pytest.raises(UsageError, match="`@on` names the class of a message, got 3"):
        on(3)
