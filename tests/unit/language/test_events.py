"""The events block: what its errors say, how it is printed, and that contracts without one stay what they were."""

from __future__ import annotations

import pytest

import accord
from accord.diagnostics import Source
from accord.errors import UsageError
from accord.language import examine, parse, print_document
from accord.language.interchange import document_from_json, document_to_json

RULE = '\nrule "r" { at most 1 A }'
GUARD = {"kind": "guard", "path": ["x"], "operator": "==", "value": 1}


def findings(text):
    return [(finding.code, finding.message, finding.help) for finding in examine(Source(text))[1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("events { A when }", "expected where the messages come from; found `}`"),
        ("events { A when user }", "expected where the messages come from; found `user`"),
        ("events { A when user says }", "expected what is said, in quotes; found `}`"),
        ("events { A when user says matches }", "expected what is said, in quotes; found `}`"),
        ("events { A when call }", "expected a name; found `}`"),
        ("events { A when call in [] }", "expected at least one name in the list; found `[`"),
        ("events { A when call in [a b] }", "expected `,` or `]`; found `b`"),
        ("events { A when call rec }", "expected a name; `rec` is reserved"),
        ("events { A when call a where }", "expected the name of a field; found `}`"),
        ("events { A when call a where x }", "expected `as`, `into` or a comparison; found `}`"),
        ("events { A if call a }", "expected `when` or `otherwise` behind the label; found `if`"),
        ("events { 3 when call a }", "expected a label; `3` does not start with a letter"),
        ("events { A when call a", "expected `}` at the end of the events; found the end of the text"),
        ("events { A when call a } }", "expected the next declaration; found `}`"),
        ('events { A when user says matches "[" }', "the pattern is not valid: missing ]: ["),
    ],
)
def test_what_is_wrong_is_told_once(text, message):
    found = findings(text + (RULE if text.count("{") == text.count("}") else ""))
    assert message in [told for _, told, _ in found]
    assert len([code for code, _, _ in found if code.startswith("E")]) == 1


def test_help_for_labels():
    text = 'events { Cancel when call c  Confirm when user says "y" }\nrule "r" { before !Confirm require Cancl }'
    assert [help_ for code, _, help_ in findings(text) if code == "W059"] == [
        "did you mean `Cancl`?",
        '`Confirm when user says "y"` is what reaches the agent, `?`',
        "did you mean `Cancel`?",
    ]


def test_a_word_of_the_block_is_a_fine_label_elsewhere():
    text = "!events.?when.!{call, user}.?{otherwise, ignore}.end"
    assert print_document(parse(text)).strip() == text
    assert parse("protocol events = !a\nprotocol P = rec events.!b.events").declarations[1].name == "P"


def test_bare_protocols_stand_alone():
    found = findings("!A.end\nevents { A when call a }")
    assert [message for _, message, _ in found] == ["a bare protocol stands alone in its text"]


@pytest.mark.parametrize("pattern", [r"\bx\b", r"\\bx\\b", r"\d+\s", r"\\d+\\s", r"\"q\"", r"\/", r"é\u00e9", r"\.\["])
def test_patterns_are_written_as_patterns_are(pattern):
    (rule,) = parse(f'rule "r" {{ at most 1 a(x matches "{pattern}") }}').rules
    written = rule.body.pattern.guards[0].operand.scalar
    plain = pattern.replace(r"\\", "\\").replace(r"\"", '"').replace(r"\/", "/").replace(r"\u00e9", "é")
    assert written == plain
    document = parse(f'rule "r" {{ at most 1 a(x matches "{pattern}") }}')
    assert parse(print_document(document)).items == document.items


def test_other_texts_keep_the_escapes_of_json():
    assert [code for code, _, _ in findings(r'rule "r" { at most 1 a(x == "\d") }')] == ["E012"]
    assert parse(r'!"a\b"').declarations[0].body.label == "a\b"


def test_comments_stay_where_they_are():
    text = (
        "// about it\n"
        "events {  // first\n"
        "    // a call\n"
        "    A when call a  // behind\n"
        "    // the rest\n"
        "    B otherwise\n"
        "    // last\n"
        "}\n"
        "\n"
        "// the rule\n"
        'rule "r" { before A require B }\n'
    )
    assert print_document(parse(text)) == text


def test_digests_of_contracts_without_events_are_as_they_were():
    before = "sha256:8bc81808076858390fad51a21396a7eb26652d8a286ec2de2d1cef4ba6b6c1ab"
    assert accord.compile("!a.?b.end").digest == before
    rules = 'rule "r" { before A require B }'
    events = "events { A when call a B when call b }\n"
    assert accord.compile(rules).digest != accord.compile(events + rules).digest
    assert accord.compile(events + rules).digest == accord.compile(rules + "\n" + events).digest
    assert accord.compile(events + rules).digest != accord.compile(events.replace("call a", "call c") + rules).digest


def test_json_has_the_oldest_version_that_holds_it():
    events = parse("events { A when call a }" + RULE)
    written = document_to_json(events)
    assert written["version"] == 3
    assert document_to_json(parse(RULE))["version"] == 1
    with pytest.raises(
        UsageError, match=r"version 2 has no events, records, enums or protocols between roles - at `\$.version`"
    ):
        document_from_json({**written, "version": 2})


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({"label": "A"}, "expected a text, got `NoneType` - at `$.items[0].lines[0].when`"),
        ({"label": "", "when": "call", "names": ["a"]}, "expected a label, got ''"),
        ({"label": "A", "when": "tool", "names": ["a"]}, "unknown kind of message 'tool'"),
        ({"label": "A", "when": "call"}, "expected a list"),
        ({"label": "A", "when": "call", "names": []}, "expected at least 1, got 0"),
        ({"label": "A", "when": "call", "names": [3]}, "expected a name, got 3"),
        ({"label": "A", "when": "call", "names": ["\ud800"]}, "half of a surrogate pair"),
        ({"label": "A", "when": "user"}, "expected a text"),
        ({"label": "A", "when": "user", "says": "x", "matches": "y"}, "unknown field 'says'"),
        ({"label": "A", "when": "otherwise", "names": ["a"]}, "unknown field 'names'"),
        (
            {
                "label": "A",
                "when": "otherwise",
                "where": [{"kind": "guard", "path": ["x"], "operator": "==", "value": 1}],
            },
            "without guards",
        ),
        (
            {"label": "A", "when": "call", "names": ["a"], "where": [{"kind": "bind", "path": ["x"], "register": "r"}]},
            "events have no registers",
        ),
    ],
)
def test_wrong_json(line, says):
    value = {"format": "accord.contract", "version": 3, "items": [{"kind": "events", "lines": [line]}]}
    with pytest.raises(UsageError) as caught:
        document_from_json(value)
    assert says in str(caught.value)
