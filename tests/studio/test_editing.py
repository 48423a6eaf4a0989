"""Changes of a text in its picture: what each makes of it, what it leaves alone, and what it refuses."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.diagnostics import Source
from accord.language import examine
from accord.language.formatting import formatted
from accord.language.tree import Action
from accord.studio.trees import spots_in
from accord.templates import templates
from tests.studio.asking import Asker


@pytest.fixture(scope="module")
def asker():
    return Asker()


ASKER = Asker()

BOOK = """\
// first look
protocol Book =
    !search  // anywhere
    .?{found, nothing.end}
    // then take it
    .!book
    .end

rule   "once" {at most 1 book}  // not as a formatter writes it
"""


def at(text, word, number=0):
    """The number of a step."""
    steps = [step for step in ASKER.ask("contract", text=text)["steps"] if step["word"] == word]
    return steps[number]["number"]


def put(word, **more):
    return {"sign": word[0], "label": word[1:], **more}


def body(text):
    """The protocol of a text on one line, without what stands around it."""
    (declaration, *_) = examine(Source(text))[0].declarations
    return repr(declaration.body).split("(", 1)[1][1:-2]


@pytest.mark.parametrize(
    ("change", "word", "more", "expected"),
    [
        ("after", "!search", {"put": put("!wait")}, "!search.!wait.?{found, nothing.end}.!book.end"),
        ("after", "?found", {"put": put("!wait")}, "!search.?{found.!wait, nothing.end}.!book.end"),
        ("before", "!book", {"put": put("!ask")}, "!search.?{found, nothing.end}.!ask.!book.end"),
        ("before", "?found", {"put": put("!ask")}, "!search.{!ask.?found, ?nothing.end}.!book.end"),
        ("beside", "?found", {"put": put("?busy")}, "!search.?{found, busy, nothing.end}.!book.end"),
        ("beside", "?found", {"put": put("!stop")}, "!search.{?found, !stop, ?nothing.end}.!book.end"),
        ("beside", "!search", {"put": put("!skip")}, "!{search, skip}.?{found, nothing.end}.!book.end"),
        ("parallel", "!book", {"put": put("!log")}, "!search.?{found, nothing.end}.(!book | !log).end"),
        ("rename", "!book", {"what": "reserve"}, "!search.?{found, nothing.end}.!reserve.end"),
        ("rename", "?found", {"what": "2nd hit"}, '!search.?{"2nd hit", nothing.end}.!book.end'),
        ("optional", "!book", {}, "!search.?{found, nothing.end}.!{book.end, end}"),
        ("repeat", "!book", {}, "!search.?{found, nothing.end}.rec Again.!{book.Again, end}"),
        ("repeat", "!search", {"what": "More"}, "rec More.{!search.More, ?found, ?nothing.end}.!book.end"),
        ("back", "?nothing", {"to": "!search"}, "rec Again.!search.?{found, nothing.Again}.!book.end"),
        ("back", "!book", {"to": "?found"}, "!search.rec Again.?{found, nothing.end}.!book.Again"),
        ("may end", "!book", {}, "!search.?{found, nothing.end}.!{book, end}.end"),
        ("remove", "!search", {}, "?{found, nothing.end}.!book.end"),
        ("remove", "?nothing", {}, "!search.?found.!book.end"),
        (
            "details", "!book", {"put": put("!x", guards="price <= 5", within="2h", otherwise="!give_up.end")},
            "!search.?{found, nothing.end}.!book(price <= 5) within 2h else (!give_up.end).end",
        ),
        (
            "details", "?found", {"put": put("!x", gated=True, within="90m", otherwise="end")},
            "!search.?{found by human, nothing.end} within 90m else end.!book.end",
        ),
    ],
)  # fmt: skip
def test_changes_at_a_step(asker, change, word, more, expected):
    more = {**more, "to": at(BOOK, more["to"])} if "to" in more else more
    told = asker.ask("edit", text=BOOK, change=change, at=at(BOOK, word), **more)["text"]
    assert body(told) == expected
    # Whatever is around it stays, and no comment is lost.
    assert told.startswith("// first look\nprotocol Book =")
    assert told.endswith('rule   "once" {at most 1 book}  // not as a formatter writes it\n')
    assert all(comment in told for comment in ("// anywhere", "// then take it"))


def test_comments_stay_with_what_they_are_about(asker):
    after = asker.ask("edit", text=BOOK, change="after", at=at(BOOK, "!search"), put=put("!wait"))["text"]
    assert "    !search  // anywhere\n    .!wait\n" in after
    before = asker.ask("edit", text=BOOK, change="before", at=at(BOOK, "!book"), put=put("!ask"))["text"]
    assert "    .!ask\n    // then take it\n    .!book\n" in before


@pytest.mark.parametrize(
    ("text", "change", "word", "more", "expected"),
    [
        ("!a within 5s else (!b.?c).!d", "after", "!a", {"put": put("!x")}, "!a within 5s else (!b.?c).!x.!d"),
        ("!a within 5s else !b.!d", "after", "!b", {"put": put("!x")}, "!a within 5s else (!b.!x).!d"),
        ("!a within 5s else !b.!d", "before", "!a", {"put": put("!x")}, "!x.!a within 5s else !b.!d"),
        ("!a within 5s else !b.!d", "beside", "!a", {"put": put("!x")}, "!{a, x} within 5s else !b.!d"),
        ("!a within 5s else !b.!d", "details", "!a", {"put": put("!x")}, "!a.!d"),
        (
            "!a within 5s else !b.!d", "details", "!a", {"put": put("!x", within="1m", otherwise="!b")},
            "!a within 1m else !b.!d",
        ),
        ("!a within 5s else !b.!d", "remove", "!a", {}, "!d"),
        ("((!a.?b)).!c", "after", "?b", {"put": put("!x")}, "!a.?b.!x.!c"),
        ("(!a | ?b).!c", "remove", "?b", {}, "!a.!c"),
        ("(!a | ?b).!c", "optional", "!a", {}, "(!{a, end} | ?b).!c"),
        ("(!a | ?b)", "parallel", "?b", {"put": put("!x")}, "(!a | ?b | !x)"),
        ("A!{x, y.end}.B?z", "beside", "A!x", {"put": put("!w", partner="C")}, "{A!x, C!w, A!y.end}.B?z"),
        ("rec L.!a.?{b.L, c}.end", "back", "?c", {"to": "!a"}, None),
        ("!a", "remove", "!a", {}, "end"),
        ("!a.?{b}.!c", "details", "?b", {"put": put("!x", guards="n > 1")}, "!a.?{b(n > 1)}.!c"),
        ("rec L.!{a.?{b}.L}", "details", "?b", {"put": put("!x", guards="n > 1")}, "rec L.!{a.?{b(n > 1)}.L}"),
        ("!a.rec Again.?{b.Again, c}", "repeat", "!a", {}, None),
        ("!a.!b.rec Again.?{c.Again, d}", "repeat", "!a", {}, "rec Again2.!{a.Again2, b}.rec Again.?{c.Again, d}"),
    ],
)  # fmt: skip
def test_changes_in_other_shapes(asker, text, change, word, more, expected):
    more = {**more, "to": at(text, more["to"])} if "to" in more else more
    answer = asker.post("edit", text=text, change=change, at=at(text, word), **more)
    if expected is None:
        assert answer.status in {400, 422}
    else:
        assert body(answer.json["text"]) == expected


@pytest.mark.parametrize(
    ("change", "word", "more", "problem"),
    [
        ("after", "!search", {}, "say which step is put in"),
        ("after", "!search", {"put": put("! ")}, "a step needs a label"),
        ("after", "!search", {"put": put("!a", guards="x <")}, "the contract has errors"),
        ("after", "!search", {"put": put("!a", guards="x == y")}, "the contract has errors"),
        ("after", "!search", {"put": put("!a", guards="x == 1).!b(y == 2")}, "is not one step"),
        ("after", "!search", {"put": put("!" + "a" * 2001)}, "2000 characters at the most"),
        ("details", "!book", {"put": put("!x", within="soon")}, "the contract has errors"),
        ("details", "!book", {"put": put("!x", otherwise="end")}, "how long the step may take"),
        ("beside", "?found", {"put": put("?nothing")}, "the contract has errors"),
        ("optional", "?found", {}, "begins a branch"),
        ("repeat", "?found", {}, "begins a branch"),
        ("repeat", "!book", {"what": "2"}, "is no name for a loop"),
        ("back", "!search", {"to": "!search"}, "could never happen any more"),
        ("back", "?found", {"to": "!book"}, "cannot go back there"),
        ("back", "!book", {"to": 99}, "which step it goes back to"),
        ("parallel", "?found", {"put": put("!x")}, "branches begin with a message"),
        ("rename", "!book", {"what": " "}, "say what it is to be called"),
    ],
)
def test_what_cannot_be_said_is_refused(asker, change, word, more, problem):
    more = {**more, "to": at(BOOK, more["to"])} if isinstance(more.get("to"), str) else more
    answer = asker.post("edit", text=BOOK, change=change, at=at(BOOK, word), **more)
    assert answer.status in {400, 422}
    assert problem in answer.json["error"] + answer.json.get("text", "")


def test_a_refusal_says_what_would_be_wrong(asker):
    answer = asker.post("edit", text=BOOK, change="after", at=at(BOOK, "!search"), put=put("!a", guards="x == y"))
    assert answer.status == 422
    assert "error[E040]: register `y` is never bound before this" in answer.json["text"]
    assert "^" in answer.json["text"]


def test_numbers_that_are_none(asker):
    for number in (-1, 99, 10**9):
        assert "there is no node" in asker.post("edit", text=BOOK, change="remove", at=number).json["error"]
        assert asker.post("edit", text=TRAVEL, change="message remove", at=number).status == 400


def test_a_text_with_errors_can_still_be_changed(asker):
    text = "protocol P = !a.end\nprotocol Q = !b.Nowhere\n"
    told = asker.ask("edit", text=text, change="after", at=at(text, "!a"), put=put("?c"))["text"]
    assert told == "protocol P = !a.?c.end\nprotocol Q = !b.Nowhere\n"


def test_a_label_is_renamed_wherever_it_is_said(asker):
    text = (
        'protocol P = !pay.?{"pay", pay-out}.Bank!pay(pay == 1).end\n'
        'events { pay when call pay  ignore when user says "pay" }\n'
        'rule "pay" { before pay(pay > 1) require pay-out }\n'
    )
    told = asker.ask("edit", text=text, change="rename everywhere", what="send money", put=put("!pay"))["text"]
    assert told == (
        'protocol P = !"send money".?{"send money", pay-out}.Bank!"send money"(pay == 1).end\n'
        'events { "send money" when call pay  ignore when user says "pay" }\n'
        'rule "pay" { before "send money"(pay > 1) require pay-out }\n'
    )
    refused = asker.post("edit", text=text, change="rename everywhere", what="pay-out", put=put("!pay"))
    assert "two labels would become one" in refused.json["error"]
    assert asker.post("edit", text=text, change="rename everywhere", what="x", put=put("!no")).status == 400


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"kind": "before", "first": "book", "second": "search"}, "before book require search"),
        ({"kind": "at most", "first": "book", "number": "3"}, "at most 3 book"),
        (
            {"kind": "within", "first": "search", "second": "found", "number": "2h"},
            "within 2h after search require found",
        ),
        ({"kind": "after forbid", "first": "book", "second": "search"}, "after book forbid search"),
        (
            {"kind": "before each", "first": "book(price > 3)", "second": "found by human"},
            "before each book(price > 3) require found by human",
        ),
    ],
)  # fmt: skip
def test_rules_by_form(asker, form, expected):
    told = asker.ask("edit", text=BOOK, change="rule", rule={**form, "name": "new"})["text"]
    assert told == BOOK + f'\nrule "new" {{ {expected} }}\n'
    bare = asker.ask("edit", text="// why\n!book.?found.!search", change="rule", rule={**form, "name": "new"})["text"]
    assert bare.startswith("// why\nprotocol Main = !book.?found.!search\n\nrule")


def test_beginnings(asker):
    assert asker.ask("edit", text="", change="after", put=put("!a b"))["text"] == 'protocol Main = !"a b".end\n'
    assert asker.ask("edit", text="", change="begin", what="P")["text"] == "protocol P =\n    end\n"
    message = {"sender": "A", "receiver": "B", "label": "Hi", "fields": "x: Int"}
    told = asker.ask("edit", text="", change="begin roles", what="P", message=message)["text"]
    assert told == "record Hi { x: Int }\n\nprotocol P {\n    A -> B: Hi\n}\n"
    assert asker.post("edit", text="", change="begin", what="2").status == 400


# -- between roles -----------------------------------------------------------------------------------------------------

TRAVEL = """\
// who asks
record Request { city: String }

protocol Travel {
    Traveller -> Desk: Request  // anything
    choice at Desk {
        Desk -> Traveller: Offer
        Traveller -> Desk: Accept
    } or {
        Desk -> Traveller: Sorry
    }
}
"""


def spoken(text, label):
    return next(m["number"] for m in ASKER.ask("contract", text=text)["messages"] if m["label"] == label)


@pytest.mark.parametrize(
    ("change", "label", "message", "expected"),
    [
        ("message after", "Offer", ("Desk", "Traveller", "Terms"), ["Request", "Offer", "Terms", "Accept", "Sorry"]),
        ("message before", "Sorry", ("Desk", "Traveller", "Wait"), ["Request", "Offer", "Accept", "Wait", "Sorry"]),
        ("message beside", "Sorry", ("Desk", "Traveller", "Busy"), ["Request", "Offer", "Accept", "Sorry", "Busy"]),
        ("message beside", "Accept", ("Traveller", "Desk", "No"), ["Request", "Offer", "Accept", "No", "Sorry"]),
        ("message change", "Sorry", ("Desk", "Traveller", "Regret"), ["Request", "Offer", "Accept", "Regret"]),
        ("message remove", "Accept", None, ["Request", "Offer", "Sorry"]),
        ("message remove", "Sorry", None, ["Request", "Offer", "Accept"]),
    ],
)
def test_changes_at_a_message(asker, change, label, message, expected):
    more = {} if message is None else {"message": dict(zip(("sender", "receiver", "label"), message, strict=True))}
    told = asker.ask("edit", text=TRAVEL, change=change, at=spoken(TRAVEL, label), **more)["text"]
    assert [m["label"] for m in asker.ask("contract", text=told)["messages"]] == expected
    assert told.startswith("// who asks\nrecord Request { city: String }\n\nprotocol Travel {")
    assert "Traveller -> Desk: Request  // anything" in told


def test_messages_carry_records(asker):
    message = {"sender": "Desk", "receiver": "Traveller", "label": "Offer", "fields": "price: Int"}
    told = asker.ask("edit", text=TRAVEL, change="message change", at=spoken(TRAVEL, "Offer"), message=message)["text"]
    assert "record Request { city: String }\n\nrecord Offer { price: Int }\n\nprotocol Travel" in told
    message |= {"fields": "price: Int, day: String"}
    told = asker.ask("edit", text=told, change="message change", at=spoken(told, "Offer"), message=message)["text"]
    assert "record Offer { price: Int, day: String }" in told and told.count("record Offer") == 1
    message |= {"fields": "price: Nothing"}
    answer = asker.post("edit", text=told, change="message change", at=spoken(told, "Offer"), message=message)
    assert answer.status == 422


def test_messages_are_repeated_where_their_sender_can_stop(asker):
    text = "protocol P {\n    A -> B: More\n    A -> B: Done\n    B -> A: Thanks\n}\n"
    told = asker.ask("edit", text=text, change="message repeat", at=0)["text"]
    assert "rec Again {" in told and "continue Again" in told
    assert [m["label"] for m in asker.ask("contract", text=told)["messages"]] == ["More", "Done", "Thanks"]
    refused = asker.post("edit", text=text, change="message repeat", at=1)
    assert "`A` must be able to say that it is over" in refused.json["error"]


@pytest.mark.parametrize(
    ("change", "label", "message", "problem"),
    [
        ("message beside", "Sorry", ("Traveller", "Desk", "No"), "`Desk` decides here"),
        ("message after", "Request", ("Desk", "", "X"), "say which role receives it"),
        ("message after", "Request", ("Desk", "Traveller", ""), "a message needs a label"),
        ("message after", "Offer", ("Bank", "Shop", "Pay"), "the contract has errors"),
    ],
)
def test_messages_that_cannot_be(asker, change, label, message, problem):
    given = dict(zip(("sender", "receiver", "label"), message, strict=True))
    answer = asker.post("edit", text=TRAVEL, change=change, at=spoken(TRAVEL, label), message=given)
    assert answer.status in {400, 422}
    assert problem in answer.json["error"]


def test_a_label_between_roles_is_renamed_with_its_record(asker):
    told = asker.ask("edit", text=TRAVEL, change="rename everywhere", what="Wish", put=put("!Request"))["text"]
    assert told == TRAVEL.replace("Request", "Wish")


# -- all templates, at every place -------------------------------------------------------------------------------------


def local_templates():
    return [one for one in templates() if examine(Source(one.text))[0].declarations]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_step_that_is_put_in_anywhere_is_there_and_nothing_else_changes(data):
    """The reference: the steps before, with one more. Taken out again, the text is what it was."""
    one = data.draw(st.sampled_from(local_templates()))
    document = examine(Source(one.text))[0]
    actions = [spot for spot in spots_in(document) if isinstance(spot.node, Action)]
    spot = data.draw(st.sampled_from(actions))
    change = data.draw(st.sampled_from(["before", "after"]))
    answer = ASKER.post("edit", text=one.text, change=change, at=spot.number, put=put("!brand_new"))
    assert answer.status == 200, answer.body
    text = answer.json["text"]
    assert formatted(Source(text)) == text  # what was formatted stays formatted
    after = [s for s in spots_in(examine(Source(text))[0]) if isinstance(s.node, Action)]
    assert [s.node for s in after if s.node.label != "brand_new"] == [s.node for s in actions]
    new = next(s for s in after if s.node.label == "brand_new")
    if change == "before" and new.branch is not None:
        return  # taken out, the branch would go with it
    back = ASKER.post("edit", text=text, change="remove", at=new.number)
    assert (back.status, back.json["text"]) == (200, one.text)


def test_every_arrow_has_its_steps_and_every_state_its_places():
    """Every step of every template is found from the picture, and the words agree."""
    for one in local_templates():
        told = ASKER.ask("contract", text=one.text, everything=True)
        words = {step["number"]: step["word"] for step in told["steps"]}
        graphs = [protocol["graph"] for protocol in told["protocols"] if protocol.get("graph")]
        edges = list(itertools.chain.from_iterable(graph["edges"] for graph in graphs))
        found = {number for edge in edges if "word" in edge for number in edge["steps"]}
        assert found == set(words), one.name
        assert all(words[number] == edge["word"] for edge in edges if "word" in edge for number in edge["steps"])
        for graph in graphs:
            assert all(node["places"] for node in graph["nodes"]), one.name
