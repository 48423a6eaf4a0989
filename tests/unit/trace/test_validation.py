"""The validators, one by one and together."""

from __future__ import annotations

import copy
import itertools
import tracemalloc

import pytest

from accord.errors import ContractError, UsageError
from accord.trace import (
    TraceEvent,
    TraceRecorder,
    Validation,
    compile_trace_config,
    iter_violations,
    load_trace_config,
    validate_file,
    validate_with_config,
)
from accord.trace.protocol import ProtocolValidator
from accord.trace.runs import REMEMBERED
from accord.trace.sinks import event_line


def config(**contracts):
    return load_trace_config({"contracts": contracts})


def events(*given, **ids):
    """Events from `kind` or `(kind, payload)`."""
    pairs = [(one, {}) if isinstance(one, str) else one for one in given]
    return [TraceEvent(seq, kind, payload, **ids) for seq, (kind, payload) in enumerate(pairs)]


def call(tool, arguments=None, **more):
    return "tool_call_start", {"tool_name": tool, "arguments": arguments or {}, **more}


def result(tool, value=None, ok=True, **more):
    return "tool_result", {"tool_name": tool, "result": value, "ok": ok, **more}


def found(given, settings=None):
    return [(v.code, v.event_seq) for v in validate_with_config(given, settings or config())]


def calls(*tools):
    """Calls with their results, and only the numbers of the calls count."""
    pairs = [pair for tool in tools for pair in (call(tool), result(tool))]
    return events(*pairs)


def ordered(tools, **rules):
    """What the order validator says of calls: rule and number of the call."""
    violations = validate_with_config(calls(*tools), config(tool_order={"allow_unknown_tools": True, **rules}))
    assert all(v.code == "TOOL_ORDER_VIOLATION" for v in violations)
    return [v.event_seq // 2 for v in violations]


# -- streams and generations -------------------------------------------------------------------------------------------


def chunk(index, stream=None):
    return "stream_chunk", {"chunk": "x", "chunk_index": index, **({} if stream is None else {"stream_id": stream})}


def start(stream=None):
    return "stream_start", {"prompt": "p", **({} if stream is None else {"stream_id": stream})}


def end(stream=None):
    return "stream_end", {} if stream is None else {"stream_id": stream}


def test_a_good_stream():
    assert found(events(start(), chunk(0), chunk(1), end())) == []


def test_interleaved_and_nested_streams():
    assert found(events(start("a"), start("b"), chunk(0, "b"), chunk(0, "a"), end("b"), chunk(1, "a"), end("a"))) == []
    assert (
        found(
            events(start("a"), chunk(0, "a"), start(), chunk(0), chunk(1, "a"), end(), end("a"), start("a"), end("a"))
        )
        == []
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((start(), start(), end()), [("STREAM_NESTED", 1)]),
        ((chunk(0),), [("STREAM_CHUNK_BEFORE_START", 0)]),
        ((start("a"), chunk(0), end("a")), [("STREAM_CHUNK_BEFORE_START", 1)]),
        ((start(), end(), chunk(0)), [("STREAM_CHUNK_AFTER_END", 2)]),
        ((start(), chunk(1), chunk(2), end()), [("STREAM_CHUNK_INDEX_MISMATCH", 1)]),
        ((start(), chunk(0), chunk(0), end()), [("STREAM_CHUNK_INDEX_MISMATCH", 2)]),
        ((start(), chunk(None), chunk(1), end()), [("STREAM_CHUNK_INDEX_MISMATCH", 1)]),
        ((start(), chunk(bool(0)), end()), [("STREAM_CHUNK_INDEX_MISMATCH", 1)]),
        ((start(), chunk("0"), end()), [("STREAM_CHUNK_INDEX_MISMATCH", 1)]),
        ((start(), chunk(0.0), chunk(1), end()), []),
        ((end(),), [("STREAM_NO_START", 0)]),
        ((start(), end(), end()), [("STREAM_NO_START", 2)]),
        ((start("a"), chunk(0, "a")), [("STREAM_NO_END", 0)]),
        ((start("a"), start("b"), end("a")), [("STREAM_NO_END", 1)]),
        ((start(["a"]), end()), [("INVALID_PAYLOAD", 0)]),
    ],
)
def test_streams(given, expected):
    assert found(events(*given)) == expected


def test_the_facts_of_streams():
    nested, mismatch = validate_with_config(events(start("s"), start("s"), chunk(3, "s"), end("s")), config())
    assert nested.context == {"prior_start_seq": 0, "stream_id": "s"} and nested.event_kind == "stream_start"
    assert mismatch.context == {"expected": 0, "actual": 3, "stream_id": "s"}


def test_generations():
    one = "generate_start", "generate_end"
    assert found(events(*one, *one)) == []
    assert found(events("generate_start", "generate_start", "generate_end")) == [("GENERATE_NESTED", 1)]
    assert found(events("generate_end")) == [("GENERATE_NO_START", 0)]
    assert found(events("generate_start")) == [("GENERATE_NO_END", 0)]
    inner = {"generate_id": "inner"}
    assert found(events("generate_start", ("generate_start", inner), ("generate_end", inner), "generate_end")) == []


def test_an_error_closes_what_its_own_span_opened():
    assert found(events(start("a"), ("error", {"error": "x", "stream_id": "a"}))) == []
    assert found(events(start("a"), ("error", {"error": "x"}))) == [("STREAM_NO_END", 0)]
    assert found(events(start("a"), start("b"), ("error", {"error": "x", "stream_id": "a"}))) == [("STREAM_NO_END", 1)]
    assert found(events("generate_start", start(), ("error", {"error": "x"}), "generate_end")) == []
    assert found(events("generate_start", start(), "error", "error")) == []
    assert found(events(start(), "generate_start", "error", end())) == []
    assert (
        found(events("generate_start", call("t", tool_call_id="c"), ("error", {"tool_call_id": "c"}), "generate_end"))
        == []
    )
    assert found(events(call("t"), "error")) == [("TOOL_NO_RESULT", 0)]
    assert found(events(start("a"), ("error", {"stream_id": "a"}), chunk(0, "a"))) == [("STREAM_CHUNK_AFTER_END", 2)]


def test_what_the_recorder_writes_is_fine():
    recorder = TraceRecorder()
    with pytest.raises(ValueError, match="no"), recorder.stream("p", stream_id="s"):
        raise ValueError("no")
    with pytest.raises(ValueError, match="no"), recorder.generation("p"):
        raise ValueError("no")
    assert found(recorder.events) == []


def test_every_key_of_the_boundaries_works():
    other = {
        "start_kind": "s", "chunk_kind": "c", "end_kind": "e", "stream_id_key": "id", "chunk_index_key": "n",
        "first_chunk_index": 1,
    }  # fmt: skip
    given = events(("s", {"id": 1}), ("s", {"id": "1"}), ("c", {"id": 1, "n": 1}), ("e", {"id": 1}), ("e", {"id": "1"}))
    assert found(given, config(stream_boundaries=other)) == []
    assert found(events(start()), config(stream_boundaries={"require_end": False})) == []
    assert found(events(start(), chunk(7), end()), config(stream_boundaries={"require_monotonic_chunks": False})) == []
    assert found(events(end()), config(stream_boundaries={"enabled": False})) == []
    generations = {"start_kind": "a", "end_kind": "b", "generate_id_key": "g"}
    assert found(events("a", ("a", {"g": 1}), "b", ("b", {"g": 1})), config(generate_boundaries=generations)) == []
    assert found(events("a"), config(generate_boundaries=generations)) == [("GENERATE_NO_END", 0)]


# -- results -----------------------------------------------------------------------------------------------------------


def C(tool, name):  # noqa: N802
    return call(tool, tool_call_id=name)


def R(tool, name):  # noqa: N802
    return result(tool, tool_call_id=name)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((call("a"), result("a")), []),
        ((call("a"),), [("TOOL_NO_RESULT", 0)]),
        ((result("a"),), [("TOOL_RESULT_BEFORE_CALL", 0)]),
        ((call("a"), result("a"), result("a")), [("TOOL_RESULT_BEFORE_CALL", 2)]),
        ((call("a"), result("b")), [("TOOL_NO_RESULT", 0), ("TOOL_RESULT_BEFORE_CALL", 1)]),
        # by id, in any order
        ((C("a", "1"), C("a", "2"), R("a", "2"), R("a", "1")), []),
        ((C("a", "1"), R("a", "2")), [("TOOL_NO_RESULT", 0), ("TOOL_RESULT_BEFORE_CALL", 1)]),
        ((C("a", "1"), R("a", "1"), R("a", "1")), [("TOOL_RESULT_BEFORE_CALL", 2)]),
        # ids that repeat pair by order per tool
        ((C("a", "1"), C("b", "1"), R("b", "1"), R("a", "1")), []),
        ((C("a", "1"), C("a", "1"), R("a", "1")), [("TOOL_NO_RESULT", 1)]),
        ((C("a", "1"), R("a", "1")) * 2, []),
        # ids on one side only
        ((C("a", "1"), C("a", "2"), result("a"), result("a")), []),
        ((call("a"), R("a", "1")), []),
        ((C("a", "1"), C("b", "2"), result("b")), [("TOOL_NO_RESULT", 0)]),
        ((C("a", "1"), call("a"), result("a"), result("a")), []),
        # ids that are none
        ((call("a", tool_call_id={}), result("a")), [("INVALID_PAYLOAD", 0)]),
        ((call("a", tool_call_id=1), R("a", "1")), [("TOOL_NO_RESULT", 0), ("TOOL_RESULT_BEFORE_CALL", 1)]),
    ],
)  # fmt: skip
def test_results(given, expected):
    assert found(events(*given)) == expected


def test_every_key_of_results_works():
    given = events(("c", {"tool_name": "a", "id": 1}), ("r", {"tool_name": "a", "id": 1}))
    settings = {"call_start_kind": "c", "call_result_kind": "r", "call_id_key": "id"}
    assert found(given, config(tool_results=settings)) == []
    assert found(given[:1], config(tool_results=settings)) == [("TOOL_NO_RESULT", 0)]
    loose = config(tool_results={"require_exactly_one_result": False})
    assert found(events(call("a"), call("b"), result("b"), result("b")), loose) == []
    assert found(events(result("a")), loose) == [("TOOL_RESULT_BEFORE_CALL", 0)]
    assert found(events(call("a")), config(tool_results={"enabled": False})) == []
    (violation,) = validate_with_config(events(C("a", "1")), config())
    assert violation.context == {"tool_name": "a", "tool_call_id": "1"}


MANY = 2 * REMEMBERED
ONCE = config(tool_results={"require_exactly_one_result": False})


@pytest.mark.parametrize(
    ("pair", "again", "known", "unknown"),
    [
        (lambda n: (C("a", n), R("a", n)), lambda n: R("a", n), "have all been answered", "has not been called"),
        (lambda n: (*[C("a", n)] * 2, *[R("a", n)] * 2), lambda n: R("a", n), "have all been", "has not been called"),
        (lambda n: (start(n), end(n)), chunk_of := lambda n: chunk(0, n), "which has ended", "which has not begun"),
        (lambda n: (start(n), ("error", {"stream_id": n})), chunk_of, "which has ended", "which has not begun"),
    ],
    ids=["results", "ids that repeat", "streams", "errors"],
)  # fmt: skip
def test_so_many_ids_are_remembered_and_the_rest_forgotten(pair, again, known, unknown):
    """Whatever was over comes again, a little before the bound and a little after it."""

    def said(count, number):
        given = [one for n in range(count) for one in pair(str(n))]
        (violation,) = validate_with_config(events(*given, again(str(number))), config())
        return violation.detail

    assert known in said(MANY, 0)
    for number, what in ((0, unknown), (MANY - REMEMBERED, unknown), (MANY - REMEMBERED + 1, known), (MANY, known)):
        assert what in said(MANY + 1, number)


def test_an_id_that_comes_back_is_among_the_last_ones_again():
    given = [one for n in [*range(MANY), 0, "x"] for one in (start(str(n)), end(str(n)))]
    for name, code in (("0", "STREAM_CHUNK_AFTER_END"), ("1", "STREAM_CHUNK_BEFORE_START")):
        assert found(events(*given, chunk(0, name))) == [(code, len(given))]


def fits(open_call, name, tool):
    return name in {..., open_call[2]} and tool in {..., open_call[1]}


def pairing(given):
    """A slow and obvious reading of the rules: which calls stay open, which results are astray."""
    out, astray = [], []
    for place, (kind, payload) in enumerate(given):
        tool, name = payload["tool_name"], payload.get("tool_call_id")
        if kind == "tool_call_start":
            out.append((place, tool, name))
            continue
        keys = [(None, tool), (..., tool)] if name is None else [(name, tool), (name, ...), (None, tool)]
        chosen = next((c for key in keys for c in out if fits(c, *key)), None)
        if chosen is None:
            astray.append(place)
        else:
            out.remove(chosen)
    return sorted([("TOOL_NO_RESULT", place) for place, _, _ in out] + [("TOOL_RESULT_BEFORE_CALL", p) for p in astray])


def test_pairing_agrees_with_the_obvious_way(health):
    ids = ({}, {"tool_call_id": "1"}, {"tool_call_id": "2"})
    letters = [make(tool, **name) for make in (call, result) for tool in "ab" for name in ids]
    looked = 0
    for length in (1, 2, 3):
        for given in itertools.product(letters, repeat=length):
            assert sorted(found(events(*given))) == pairing(given), given
            looked += 1
    for number, given in enumerate(itertools.product(letters, repeat=5)):
        if number % 997 == 0:
            assert sorted(found(events(*given))) == pairing(given), given
            looked += 1
    assert looked > 2000
    health(f"pairing of calls and results agrees with the obvious way on {looked:,} traces")


# -- payloads ----------------------------------------------------------------------------------------------------------


CALCULATOR = {
    "calculator": {
        "args_schema": {"required": ["x", "y"], "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}
    }
}


def payload(arguments, tools=None, **more):
    settings = config(tool_payloads={"tools": tools or CALCULATOR}, tool_results={"enabled": False})
    given = (
        "tool_call_start",
        {"tool_name": "calculator", **({} if arguments is ... else {"arguments": arguments}), **more},
    )
    return [
        (v.code, {k: x for k, x in v.context.items() if k != "tool_name"})
        for v in validate_with_config(events(given), settings)
    ]


def test_arguments():
    assert payload({"x": 1, "y": 2}) == []
    assert payload({"x": 1}) == [("TOOL_MISSING_REQUIRED_ARG", {"missing_arg": "y"})]
    wrong = {"arg_name": "x", "expected_type": "integer", "actual_type": "string"}
    assert payload({"x": "1", "y": 2}) == [("TOOL_INVALID_ARG_TYPE", wrong)]
    assert payload({"x": True, "y": 2}) == [("TOOL_INVALID_ARG_TYPE", {**wrong, "actual_type": "boolean"})]
    assert payload({"x": 1.5, "y": 2})[0][1]["actual_type"] == "number"
    assert payload({"x": None, "y": []}) == [
        ("TOOL_INVALID_ARG_TYPE", {**wrong, "actual_type": "null"}),
        ("TOOL_INVALID_ARG_TYPE", {"arg_name": "y", "expected_type": "integer", "actual_type": "array"}),
    ]
    for nothing in (..., None, "x", [1], 7):
        assert payload(nothing) == [("INVALID_PAYLOAD", {})]


def test_required_says_whether_a_call_must_carry_arguments():
    tools = {"calculator": {**CALCULATOR["calculator"], "required": False}}
    assert payload(..., tools) == payload(None, tools) == []
    assert payload({}, tools) != []


def test_full_schemas():
    tools = {"calculator": {"args_schema": {
        "type": "object",
        "properties": {
            "n": {"type": "number", "minimum": 3}, "who": {"$ref": "#/$defs/who"}, "p": {"pattern": "^a+$"},
            "pair": {"prefixItems": [{"type": "string"}], "items": False},
        },
        "additionalProperties": False,
        "if": {"required": ["n"]}, "then": {"required": ["who"]},
        "$defs": {
            "who": {"type": "object", "required": ["name"], "properties": {"name": {"type": ["string", "null"]}}},
        },
    }}}  # fmt: skip
    assert payload({"n": 3, "who": {"name": None}, "p": "aa", "pair": ["x"]}, tools) == []
    assert payload({"n": "3", "who": {"name": "a"}}, tools) == [
        ("TOOL_INVALID_ARG_TYPE", {"arg_name": "n", "expected_type": "number", "actual_type": "string"})
    ]
    assert payload({"n": 2, "who": {"name": "a"}}, tools) == [("INVALID_PAYLOAD", {"path": "/n", "keyword": "minimum"})]
    assert payload({"n": 3}, tools) == [("TOOL_MISSING_REQUIRED_ARG", {"missing_arg": "who"})]
    assert payload({"who": {}}, tools) == [("TOOL_MISSING_REQUIRED_ARG", {"missing_arg": "/who/name"})]
    assert payload({"who": {"name": 7}}, tools)[0][1] == {
        "arg_name": "/who/name", "expected_type": ["null", "string"], "actual_type": "integer",
    }  # fmt: skip
    assert [code for code, _ in payload({"other": 1, "p": "b", "pair": ["x", 1]}, tools)] == ["INVALID_PAYLOAD"] * 3


def test_results_have_schemas_too():
    settings = config(tool_payloads={"tools": {"t": {"result_schema": {"type": "array"}}}})
    assert found(events(call("t"), result("t", [1])), settings) == []
    assert found(events(call("t"), result("t", "x")), settings) == [("INVALID_PAYLOAD", 1)]
    assert found(events(call("t"), result("t", None, ok=False, error="no")), settings) == []


def test_schemas_fetch_nothing():
    for uri in ("http://127.0.0.1:1/x", "file:///etc/hostname"):
        with pytest.raises(ContractError, match="not fetched"):
            config(tool_payloads={"tools": {"t": {"args_schema": {"$ref": uri}}}})


def test_hostile_arguments():
    tools = {
        "calculator": {
            "args_schema": {
                "type": "object",
                "additionalProperties": {"$ref": "#"},
                "properties": {"p": {"pattern": "^(a+)+$"}},
            }
        }
    }
    deep: dict = {}
    for _ in range(150):
        deep = {"a": deep}
    assert payload(deep, tools) == []
    assert [code for code, _ in payload({"p": "a" * 5000 + "b"}, tools)] == ["INVALID_PAYLOAD"]
    assert payload({"p": "\ud800"}, tools)[0][0] == "INVALID_PAYLOAD"
    assert payload({"b": 2**200}, tools)[0][0] == "TOOL_INVALID_ARG_TYPE"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1: 2}, {"a": {b"x"}}])
def test_what_json_cannot_hold_passes_for_nothing(value):
    anything = config(
        tool_payloads={"tools": {"t": {"args_schema": {"properties": {"x": {"type": ["null", "object"]}}}}}}
    )
    given = [call("t", {"x": value}), result("t")]
    plain = [{"seq": seq, "kind": kind, "payload": payload} for seq, (kind, payload) in enumerate(given)]
    for one in (plain, [TraceEvent(**event) for event in plain]):
        first, *_ = validate_with_config(one, anything)
        assert (first.code, first.event_seq) == ("INVALID_PAYLOAD", 0) and "`/arguments/x" in first.detail
    assert found(events(call("t", {"x": None}), result("t")), anything) == []


def test_every_key_of_payloads_works():
    settings = config(
        tool_payloads={"tool_key": "t", "args_key": "a", "tools": {"x": {"args_schema": {"required": ["q"]}}}}
    )
    given = ("tool_call_start", {"t": "x", "a": {}}), ("tool_result", {"t": "x"})
    assert found(events(*given), settings) == [("TOOL_MISSING_REQUIRED_ARG", 0)]
    off = config(tool_payloads={"enabled": False, "tools": CALCULATOR})
    assert found(events(call("calculator"), result("calculator")), off) == []


@pytest.mark.parametrize("payload", [[], "x", 7, {"tool_name": 7}, {"tool_name": ["a"]}, {}])
def test_payloads_that_are_none(payload):
    given = [{"seq": 3, "kind": "tool_call_start", "payload": payload}]
    assert found(given, config(tool_results={"enabled": False})) == [("INVALID_PAYLOAD", 3)]


# -- order -------------------------------------------------------------------------------------------------------------


def test_order_rules():
    assert ordered("ab", must_precede={"a": ["b"]}) == []
    assert ordered("bab", must_precede={"a": ["b"]}) == [0]
    assert ordered("bb", must_precede={"a": ["b"]}) == [0, 1]
    assert ordered("pap", must_follow={"p": ["a"]}) == [0]
    assert ordered("abc", must_precede={"a": ["b", "c"]}) == []
    assert ordered("c", must_follow={"c": ["a", "b"]}) == [0, 0]
    assert ordered("dxcdc", forbidden_sequences=[["d", "c"]]) == [4]
    assert ordered("dxc", forbidden_subsequences=[["d", "c"]]) == [2]
    assert ordered("dcc", forbidden_sequences=[["d", "c"]]) == [1]
    assert ordered("dcc", forbidden_subsequences=[["d", "c"]]) == [1, 2]
    assert ordered("aaaa", forbidden_sequences=[["a", "a"]]) == [1, 2, 3]
    assert ordered("ababab", forbidden_sequences=[["a", "b", "a", "b"]]) == [3, 5]
    assert ordered("axa", forbidden_sequences=[["x"]]) == [1]
    assert ordered("aaa", at_most={"a": 2}) == [2]
    assert ordered("a", at_most={"a": 0}) == [0]
    assert ordered("ob", eventually={"o": ["c"]}) == [1]
    assert ordered("obc", eventually={"o": ["c"]}) == []
    assert ordered("oco", eventually={"o": ["c"]}) == [2]


def test_a_call_that_a_rule_refuses_has_happened():
    rules = {"must_precede": {"search": ["summarise"], "summarise": ["publish"]}}
    assert ordered(["summarise", "publish"], **rules) == [0]


def naive(tools, sequence):
    return [
        place
        for place in range(len(tools))
        if place + 1 >= len(sequence) and tools[place + 1 - len(sequence) : place + 1] == sequence
    ]


def test_forbidden_sequences_are_found_as_the_obvious_way_finds_them(health):
    looked = 0
    for length in (1, 2, 3, 4):
        for forbidden in itertools.product("ab", repeat=length):
            for tools in itertools.product("abc", repeat=6):
                if looked % 5 == 0:
                    assert ordered(list(tools), forbidden_sequences=[list(forbidden)]) == naive(
                        list(tools), list(forbidden)
                    )
                looked += 1
    health(f"forbidden sequences are where they are in {looked // 5:,} traces")


def test_only_after_success():
    settings = config(tool_order={"only_after_success": {"pay": ["auth"]}})
    assert found(events(call("auth"), result("auth"), call("pay"), result("pay")), settings) == []
    assert found(events(call("auth"), result("auth", ok=False), call("pay"), result("pay")), settings) == [
        ("TOOL_ORDER_VIOLATION", 2)
    ]
    assert found(events(call("auth"), call("pay"), result("auth"), result("pay")), settings) == [
        ("TOOL_ORDER_VIOLATION", 1)
    ]


def test_the_facts_of_order():
    def facts(tools, **rules):
        (violation,) = validate_with_config(calls(*tools), config(tool_order={"allow_unknown_tools": True, **rules}))
        return violation.context

    assert facts("b", must_precede={"a": ["b"]}) == {
        "rule_name": "must_precede", "tool": "b", "required": "a", "rule": "must_precede: a before b",
    }  # fmt: skip
    assert facts("ab", forbidden_sequences=[["a", "b"]])["sequence"] == ["a", "b"]
    assert facts("aa", at_most={"a": 1})["limit"] == 1
    assert facts("a", eventually={"a": ["b"]})["required"] == "b"


def test_unknown_tools():
    schema = {"tools": {"search": {}}}
    assert found(calls("search", "other"), config(tool_payloads=schema)) == [("TOOL_UNKNOWN", 2)]
    assert found(calls("search", "other"), config(tool_payloads=schema, tool_order={"allow_unknown_tools": True})) == []
    assert found(calls("search", "other")) == []
    assert found(calls("a", "b"), config(tool_order={"at_most": {"a": 5}})) == [("TOOL_UNKNOWN", 2)]
    assert found(calls("a", "b"), config(tool_order={"allowed_tools": ["a"]})) == [("TOOL_UNKNOWN", 2)]
    assert found(calls("a"), config(tool_order={"allowed_tools": []})) == [("TOOL_UNKNOWN", 0)]
    assert found(calls("a", "b"), config(tool_order={"enabled": False, "allowed_tools": []})) == []
    (violation,) = validate_with_config(calls("x"), config(tool_order={"allowed_tools": ["a"]}))
    assert violation.context == {"rule_name": "allowed_tools", "tool": "x"}


def test_rules_become_a_contract_of_our_own():
    import accord

    order = {"must_precede": {"search": ["book it"]}, "forbidden_sequences": [["a", "a"]], "at_most": {"a": 3}}
    contracts = config(tool_order=order).to_contracts()
    assert set(contracts) == {"tool_schemas", "tool_order_rules", "toggles", "fail_fast"}
    text = contracts["tool_order_rules"]["contract"]
    assert 'before !"book it" require !search' in text and "protocol Tools" in text
    monitor = accord.Monitor(text, mode="refuse")
    assert not isinstance(monitor.send("book it"), accord.Ok) and isinstance(monitor.send("search"), accord.Ok)
    assert isinstance(monitor.send("book it"), accord.Ok)


def test_odd_names_of_tools():
    odd = ["", "a b", "é", "e\u0301", "\u202e", "rec", "😀", 'qu"ote', "\\", "end", "\ud800"]
    for first in odd[1:-1]:
        for then in odd[1:-1]:
            if first != then and {first, then} != {"é", "e\u0301"}:
                assert ordered([then, first, then], must_precede={first: [then]}) == [0]
    assert ordered(["e\u0301", "x"], must_precede={"é": ["x"]}) == []


# -- protocols ---------------------------------------------------------------------------------------------------------


def protocol(text, given, **more):
    return found(events(*given), config(protocol={"contract": text, **more}, tool_results={"enabled": False}))


def test_a_trace_is_judged_as_a_guard_would():
    sliced = "protocol P = each order_id: !look.?look(error == null).end"
    looked = [call("look", {"order_id": 1}, tool_call_id="1"), result("look", "fine", tool_call_id="1")]
    assert protocol(sliced, looked) == []
    failed = [looked[0], result("look", ok=False, error="no", tool_call_id="1")]
    assert protocol(sliced, failed) == []  # it is taken back
    assert protocol(sliced + "\ntools { look fails done }", failed) == [("PROTOCOL_VIOLATION", 1)]
    assert protocol(sliced + "\ntools { look fails unknown }", failed) == []
    assert protocol("!look.!pay.end", [*failed, call("look"), result("look"), call("pay"), result("pay")]) == []
    rules = 'protocol P = rec L.!{look.L, pay.L, end}\nrule "r" { before !pay require ?look(ok == true) }'
    assert protocol(rules, [call("look"), result("look", {"ok": True}), call("pay")]) == []
    assert protocol(rules, [call("look"), result("look", {"ok": False}), call("pay")]) == [("PROTOCOL_VIOLATION", 2)]
    lines = 'events { Look when call look  Yes when user says "yes"  Pay when call pay  Go when event go }\n'
    block = lines + "protocol P = !Look.?Yes.?Go.!Pay.end"
    said = ("chat_start", {"messages": [{"role": "user", "content": "yes"}]})
    assert protocol(block, [call("look"), said, "go", said, call("pay")]) == []
    assert protocol(block, [call("look"), said, call("other")]) == [("PROTOCOL_VIOLATION", 2)]
    assert protocol(block, [call("look"), "go"]) == [("PROTOCOL_VIOLATION", 1)]


WAYS = (
    "rec L.!{a.?a.L, b.?b.end, end}",
    """protocol P = rec L.{!a.{?a(error == null).L, ?a(error != null).!b.L}, !b.?b.L, end}
    tools { a fails done  b fails undone }""",
    """protocol P = rec L.!{a.L, b.L, end}
    rule "r" { before !b require ?a }
    rule "s" { at most 1 ?a }
    tools { a fails undone }""",
)


@pytest.mark.parametrize("text", WAYS)
def test_the_quick_way_through_a_call_and_its_result_is_the_long_way(text, tally, monkeypatch):
    """With other ids, other tools and failures, and when every step has been taken before, which makes it quick."""
    steps = [C("a", "1"), C("a", "2"), C("b", "1"), R("a", "1"), R("a", "2"), R("b", "1"), result("a")]
    steps += [result("a", ok=False, error="no", tool_call_id="1"), result("b", ok=False, tool_call_id="1")]
    traces = [events(*given) for given in itertools.product(steps, repeat=3)]
    plan = compile_trace_config(config(protocol={"contract": text}, tool_results={"enabled": False}))
    quick = [[found(given, plan) for given in traces] for _ in range(2)][1]
    made = ProtocolValidator.__init__

    def slow(self, *given):
        made(self, *given)
        assert self._by_name is (text != WAYS[1]), "one of them is never quick"
        self._by_name = False

    monkeypatch.setattr(ProtocolValidator, "__init__", slow)
    assert quick == [found(given, plan) for given in traces]
    assert 50 < sum(map(bool, quick)) < len(traces)
    tally("traces judged the quick and the long way", len(traces))


def test_a_result_knows_its_call_whatever_ids_say():
    about = "protocol P = rec L.{!pay.L, ?pay(call.amount == 3).L, end}"
    given = [call("pay", {"amount": 3}), call("pay", {"amount": 9}, tool_call_id="2"), result("pay")]
    assert protocol(about, given) == []
    assert protocol(about, [*given, result("pay", tool_call_id="2")]) == [("PROTOCOL_VIOLATION", 3)]


def test_protocols():
    assert protocol("!search.!book.end", [call("search"), call("book")]) == []
    assert protocol("!search.!book.end", [call("book"), call("book")]) == [("PROTOCOL_VIOLATION", 0)]
    assert protocol("!search.!book.end", ["generate_start", "generate_end", call("search")]) == [
        ("PROTOCOL_INCOMPLETE", 2)
    ]
    assert protocol("!search.!book.end", []) == [("PROTOCOL_INCOMPLETE", 0)]
    checked = "!search.?search(error == null).!book.end"
    booked = [call("search"), result("search"), call("book")]
    assert protocol(checked, booked) == [("PROTOCOL_INCOMPLETE", 2)]  # nobody knows what became of `book`
    assert protocol(checked, [*booked, result("book")]) == []
    failed = [call("search"), result("search", ok=False), call("book")]
    assert protocol(checked, failed) == [("PROTOCOL_VIOLATION", 2)]  # the search is taken back
    assert protocol(checked, [*failed[:2], *booked, result("book")]) == []
    bound = "!search.?search(id as i).!book(flight == i).end"
    seven = [call("search"), result("search", {"id": 7}), call("book", {"flight": 7}), result("book")]
    assert protocol(bound, seven) == []
    assert protocol(bound, [call("search"), result("search", {"id": 7}), call("book", {"flight": 8})]) == [
        ("PROTOCOL_VIOLATION", 2)
    ]


def test_a_trace_that_turns_out_to_speak_of_ends_is_judged_anew():
    two = [call("search", tool_call_id="1"), call("book", tool_call_id="2")]
    assert protocol("!search.!book.end", two) == []  # it does not speak of ends
    ended = [*two, result("search", tool_call_id="1"), result("book", tool_call_id="2")]
    assert protocol("!search.!book.end", ended) == [("PROTOCOL_VIOLATION", 1)]  # while `search` was out
    assert protocol("protocol P = !search.!book.end\ntools { search fails done }", ended) == []
    rules = 'rule "r" { before !book require !search }'
    assert protocol(rules, ended) == [("PROTOCOL_VIOLATION", 1)]
    assert protocol(rules, [two[1], *two, result("book", tool_call_id="2")]) == [
        ("PROTOCOL_VIOLATION", 0),
        ("PROTOCOL_VIOLATION", 2),
    ]


def test_gates_other_kinds_and_calls():
    gated = "?approval by human.!pay.end"
    assert protocol(gated, [("approval", {"by": "ana"}), call("pay")]) == []
    assert protocol(gated, [("approval", {}), call("pay")]) == [("PROTOCOL_VIOLATION", 0)]
    about = "!pay.?pay(call.amount <= 5).end"
    assert protocol(about, [call("pay", {"amount": 3}, tool_call_id="1"), result("pay", tool_call_id="1")]) == []
    assert protocol(about, [call("pay", {"amount": 9}, tool_call_id="1"), result("pay", tool_call_id="1")]) == [
        ("PROTOCOL_VIOLATION", 1)
    ]


def test_rules_alone_go_on():
    rules = 'rule "r" { before !b require !a }'
    assert protocol(rules, [call("b"), call("b"), call("a"), call("b")]) == [
        ("PROTOCOL_VIOLATION", 0),
        ("PROTOCOL_VIOLATION", 1),
    ]


def test_slices_and_time():
    sliced = "protocol P = each id: !open.!close.end"
    assert protocol(sliced, [call("open", {"id": 1}), call("open", {"id": 2}), call("close", {"id": 1})]) == [
        ("PROTOCOL_INCOMPLETE", 2)
    ]
    timed = "!ask.?answer within 10s else !remind.!go.end"
    with pytest.raises(ContractError, match="time_key"):
        protocol(timed, [])
    good = [call("ask", at=0), ("answer", {"at": 5}), call("go", at=6)]
    assert protocol(timed, good, time_key="at") == []
    assert protocol(timed, [call("ask", at=0), ("answer", {"at": 15})], time_key="at") == [("PROTOCOL_VIOLATION", 1)]
    assert protocol(timed, [call("ask")], time_key="at") == [("PROTOCOL_VIOLATION", 0)]


def test_contract_files(tmp_path):
    (tmp_path / "c.accord").write_text("protocol A = !a.end\nprotocol B = !b.end")
    (tmp_path / "t.yaml").write_text("contracts: {protocol: {file: c.accord, protocol: B}}")
    settings = load_trace_config(tmp_path / "t.yaml")
    assert found(calls("b"), settings) == []
    assert found(calls("a"), settings) == [("PROTOCOL_VIOLATION", 0)]
    (violation,) = validate_with_config(calls("a"), settings)
    assert violation.context["expected"] == ["!b"] and "Allowed now: `b`" in violation.detail
    for wrong in (
        {"file": "no.accord"},
        {"file": "c.accord"},
        {"contract": "!a", "file": "c.accord"},
        {"contract": "!a", "protocol": "X"},
    ):
        with pytest.raises(ContractError, match="E069"):
            config(protocol=wrong)


# -- together ----------------------------------------------------------------------------------------------------------


def test_runs_are_judged_by_themselves():
    one, two = (events(start(), chunk(0), end(), call("t"), result("t"), run_id=run) for run in ("a", "b"))
    mixed = [event for pair in zip(one, two, strict=True) for event in pair]
    assert found(mixed) == []
    (violation,) = validate_with_config([*one, *two[:1]], config())
    assert (violation.code, violation.run_id) == ("STREAM_NO_END", "b")
    assert found([*events(call("t"), example_id=1), *events(result("t"), example_id=2)]) != []


def test_a_run_is_its_run_and_its_example():
    """Runs that share one of both interleave, and nothing of one is taken for the other's."""
    ids = [("r", "e"), ("r", "f"), ("s", "e"), ("s", None), (None, "e"), (None, None)]
    steps = [
        start("1"),
        chunk(0, "1"),
        C("a", "1"),
        "generate_start",
        chunk(1, "1"),
        R("a", "1"),
        "generate_end",
        end("1"),
    ]
    numbered = [(step, run) for step in steps for run in ids]
    given = [
        TraceEvent(seq, *(step if isinstance(step, tuple) else (step, {})), *run)
        for seq, (step, run) in enumerate(numbered)
    ]
    order = {"allow_unknown_tools": True, "at_most": {"a": 1}}
    settings = config(tool_order=order, protocol={"contract": "!a.?a.end"})
    assert found(given, settings) == []
    for run in ids:
        for step in (steps[0], steps[2], steps[3], steps[5], steps[6], steps[7]):
            place = numbered.index((step, run))
            without = [event for event in given if event.seq != place]
            told = validate_with_config(without, settings)
            assert told
            assert {(violation.run_id, violation.example_id) for violation in told} == {run}


def test_violations_come_in_the_order_of_events():
    given = events(call("a"), start(), chunk(5), "generate_end", result("zzz"))
    assert [seq for _, seq in found(given)] == [0, 1, 2, 3, 4]


def test_an_error_may_say_anything_of_the_call_that_it_names():
    unnamed, named = ("tool_call_start", {"tool_name": "a"}), call("a", tool_call_id="x")
    for tool in (["a"], {"a": 1}, 7, None):
        error = ("error", {"tool_call_id": "x", "tool_name": tool})
        assert found(events(unnamed, named, error)) == [("TOOL_NO_RESULT", 0)]


def test_what_is_no_id_names_nothing():
    one = ("tool_call_start", {"tool_name": "a", "tool_call_id": 1})
    assert found(events(one, ("error", {"tool_call_id": True}))) == [("TOOL_NO_RESULT", 0)]


def test_an_error_of_a_call_leaves_streams_open_whatever_ids_are_called():
    given = events(start(), ("tool_call_start", {"tool_name": "a", "call": "x"}), ("error", {"call": "x"}), end())
    assert found(given, config(tool_results={"call_id_key": "call"})) == []


def test_fail_fast_is_the_first_of_all():
    given = events(call("a"), start(), chunk(5), "generate_end", result("zzz"))
    assert found(given, config(fail_fast=True)) == [("TOOL_NO_RESULT", 0)]
    answered = [*given, TraceEvent(5, *result("a"))]
    assert found(answered, config(fail_fast=True)) == [("STREAM_NO_END", 1)]
    closed = [*answered, TraceEvent(6, *end())]
    assert found(closed, config(fail_fast=True)) == [("STREAM_CHUNK_INDEX_MISMATCH", 2)]


def test_fail_fast_waits_for_the_first_end():
    """Before it comes, calls count when they are made; then it is known that the recording speaks of ends."""
    told = {"contract": "protocol P = rec L.{!a.?a.L, !b.L}"}
    given = events(call("a"), ("a", {}), ("generate_end", {}), call("b"), result("b"))
    contracts = {"protocol": told, "tool_results": {"enabled": False}}
    whole = found(given, config(**contracts))
    assert whole[0] == ("PROTOCOL_VIOLATION", 1)
    assert found(given, config(fail_fast=True, **contracts)) == whole[:1]


def test_fail_fast_waits_for_what_is_owed():
    given = events(call("a"), result("a"), "generate_end")
    order = {"eventually": {"a": ["b"]}}
    assert found(given, config(fail_fast=True, tool_order=order)) == [("TOOL_ORDER_VIOLATION", 0)]
    owing = {"contract": "!a.!b.end"}
    assert found(given, config(fail_fast=True, protocol=owing)) == [("PROTOCOL_INCOMPLETE", 0)]
    paid = [*given, TraceEvent(3, *call("b")), TraceEvent(4, *result("b"))]
    for contracts in ({"tool_order": order}, {"protocol": owing}):
        assert found(paid, config(fail_fast=True, **contracts)) == [("GENERATE_NO_START", 2)]


def test_a_run_in_which_nothing_matters_is_told_of_where_it_begins():
    given = [
        *events("generate_end", "note", run_id="r"),
        TraceEvent(5, "note", {}, "s"),
        TraceEvent(6, "note", {}, "s"),
    ]
    for fail_fast, places in (
        (False, [("GENERATE_NO_START", 0), ("PROTOCOL_INCOMPLETE", 0), ("PROTOCOL_INCOMPLETE", 5)]),
        (True, [("GENERATE_NO_START", 0)]),
    ):
        assert found(given, config(fail_fast=fail_fast, protocol={"contract": "!a.end"})) == places


def test_fail_fast_stops_reading():
    read = []

    def endless():
        for seq in itertools.count():
            read.append(seq)
            yield {"seq": seq, "kind": "generate_end"}

    assert found(endless(), config(fail_fast=True)) == [("GENERATE_NO_START", 0)]
    assert len(read) < 50


def test_fail_fast_stops_when_all_that_began_before_its_first_violation_is_over():
    read = []

    def endless():
        given = [call("a", tool_call_id="1"), "generate_end", call("b", tool_call_id="2"), "generate_end"]
        yield from events(*given, result("a", tool_call_id="1"))
        for seq in itertools.count(5):
            read.append(seq)
            assert len(read) < 50
            yield {"seq": seq, "kind": "generate_end"}

    assert found(endless(), config(fail_fast=True)) == [("GENERATE_NO_START", 1)]


def test_the_input_is_not_changed_and_may_be_any_iterable():
    given = [
        {"seq": n, "kind": k, "payload": p} for n, (k, p) in enumerate([call("a"), start("s"), result("b"), chunk(1)])
    ]
    before = copy.deepcopy(given)
    expected = found(given)
    assert given == before and len(expected) == 4
    assert found(iter(given)) == found(tuple(given)) == found(event for event in given) == expected
    assert found([TraceEvent(**event) for event in given]) == expected


def test_files_give_the_same(tmp_path):
    given = events(call("a"), start("s"), result("b"), chunk(1), run_id="r")
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        b"".join(event_line(event) + b"\n" for event in given) + b'{"seq":4,"kind":"stream_end","payload":[]}\n'
    )
    from_file = validate_file(path, config())
    assert from_file[:-2] == validate_with_config(given, config())
    assert [(v.code, v.event_seq) for v in from_file[-2:]] == [("INVALID_PAYLOAD", 4), ("STREAM_NO_START", 4)]


def test_off_is_off():
    bad = events(call("a"), "generate_end", chunk(0))
    assert found(bad, load_trace_config({"enabled": False})) == []
    assert found(bad, config(enabled=False)) == []
    assert not any(load_trace_config({"enabled": False}).to_contracts()["toggles"].values())
    assert load_trace_config({}).to_contracts()["toggles"] == {
        "generate_boundaries": True, "stream_boundaries": True, "tool_results": True, "tool_payloads": True,
        "tool_order": True, "protocol": False,
    }  # fmt: skip


def test_what_is_no_event():
    for wrong in (
        7,
        {"payload": {}},
        {"seq": "x", "kind": "k"},
        {"seq": 0, "kind": 7},
        {"seq": 0, "kind": "generate_end", "run_id": []},
    ):
        with pytest.raises(UsageError):
            validate_with_config([wrong], config())


def test_bits_and_plans():
    plan = compile_trace_config(config())
    validation = Validation(plan)
    validation.feed(events(call("a")))
    validation.feed([])
    assert validation.found == 0
    validation.feed(events(result("a"), "generate_end"))
    assert (
        validation.found == 1 and [v.code for v in validation.take()] == ["GENERATE_NO_START"] and validation.found == 0
    )
    assert validation.finish() == []


def bad_ends(count):
    return ({"seq": seq, "kind": "generate_end"} for seq in range(count))


def test_of_many_violations_the_earliest_are_kept():
    given = events(call("a"), "generate_end", start(), "generate_end", "generate_end", run_id="r")
    everything = found(given)
    assert everything == [
        ("TOOL_NO_RESULT", 0), ("GENERATE_NO_START", 1), ("STREAM_NO_END", 2), ("GENERATE_NO_START", 3),
        ("GENERATE_NO_START", 4),
    ]  # fmt: skip
    for most in range(7):
        validation = Validation(config(), most=most)
        validation.feed(given)
        assert [(v.code, v.event_seq) for v in validation.finish()] == everything[:most]
        assert validation.found == 5
        assert validation.places == {
            ("r", None): {"TOOL_NO_RESULT": [0], "GENERATE_NO_START": [1, 3, 4], "STREAM_NO_END": [2]}
        }


def test_violations_one_by_one():
    given = events(call("a"), "generate_end", start(), "generate_end")
    one_by_one = list(iter_violations(iter(given), config()))
    assert [(v.code, v.event_seq) for v in one_by_one] == [
        ("GENERATE_NO_START", 1), ("GENERATE_NO_START", 3), ("STREAM_NO_END", 2), ("TOOL_NO_RESULT", 0),
    ]  # fmt: skip
    assert list(iter_violations(given, config(fail_fast=True))) == validate_with_config(given, config(fail_fast=True))


@pytest.mark.parametrize("how", ["one by one", "few kept"])
def test_violations_without_number_take_little_memory(how):
    count = 50_000
    tracemalloc.start()
    if how == "one by one":
        assert sum(1 for _ in iter_violations(bad_ends(count), config())) == count
    else:
        validation = Validation(config(), most=10)
        validation.feed(bad_ends(count))
        assert len(validation.finish()) == 10 and validation.found == count
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < count * 60, f"{peak:,} bytes"  # a violation that is kept takes more than 400


def test_a_violation_as_values():
    (violation,) = validate_with_config(events("generate_end", run_id="r", example_id=3), config())
    assert violation.to_dict() == {
        "code": "GENERATE_NO_START", "event_seq": 0, "event_kind": "generate_end",
        "detail": "the generation ends, which has not begun", "context": {}, "run_id": "r", "example_id": 3,
    }  # fmt: skip
    assert str(violation) == "GENERATE_NO_START at event 0: the generation ends, which has not begun"
    assert hash(violation) == hash(copy.copy(violation))


def test_hostile_text_is_made_visible():
    (violation,) = validate_with_config(events(call("\x1b[31m\u202e" + "x" * 500)), config())
    assert "\x1b" not in violation.detail and len(violation.detail) < 200
