"""Printing and parsing undo each other, whatever the tree and wherever comments and white space stand."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.diagnostics import Source
from accord.language import examine, parse, print_document, print_protocol
from accord.language.labels import normalise, parse_word, print_word
from accord.language.tree import (
    Action,
    Choice,
    Deadline,
    Declaration,
    Document,
    Interleaving,
    Recursion,
    Sequence,
    sequence,
)
from tests.properties.generate import random_protocol
from tests.properties.generate_time import random_contract_over_time, timed

FLAVOURS = ("time", "slices", "slices time")

labels = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).map(normalise)


def relabelled(node, rename):
    """The tree with each label replaced by another one, distinct ones staying distinct."""
    if isinstance(node, Sequence):
        return sequence([relabelled(step, rename) for step in node.steps])
    if isinstance(node, Choice):
        return Choice(tuple(relabelled(branch, rename) for branch in node.branches))
    if isinstance(node, Interleaving):
        return Interleaving(tuple(relabelled(part, rename) for part in node.parts))
    if isinstance(node, Recursion):
        return Recursion(node.variable, relabelled(node.body, rename))
    if isinstance(node, Deadline):
        return Deadline(relabelled(node.body, rename), node.milliseconds, relabelled(node.otherwise, rename))
    if isinstance(node, Action):
        return Action(node.direction, rename[node.label], node.partner)
    return node


@given(st.integers(0, 2**32), st.lists(labels, min_size=4, max_size=4, unique=True))
@settings(max_examples=400, deadline=None)
def test_parse_undoes_print(seed, names):
    rng = Random(seed)
    body, _ = random_protocol(rng)
    body = timed(rng, body) if rng.random() < 0.5 else body
    body = relabelled(body, dict(zip(("a", "b", "c", "Unrecognized"), names, strict=True)))
    text = print_protocol(body)
    again = examine(Source(text))[0].declarations[0].body  # deadlines may have been put where loops turn silently
    assert again == body
    assert hash(again) == hash(body)
    assert print_protocol(again) == text


def random_text(rng: Random) -> Document:
    if rng.random() < 0.5:
        return random_contract_over_time(rng, rng.choice(FLAVOURS))[0]
    return Document(tuple(Declaration(f"P{i}", random_protocol(rng)[0]) for i in range(rng.randint(1, 3))))


@given(st.integers(0, 2**32), st.integers(20, 120))
@settings(max_examples=200, deadline=None)
def test_printing_in_lines_is_idempotent(seed, width):
    rng = Random(seed)
    document = random_text(rng)
    text = print_document(document, width=width)
    again = parse(text)
    assert again == document
    assert print_document(again, width=width) == text


TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\.\.\.|[=!<>]=|-?\d+(?:\.\d+)?\w*|[\w:-]+|[^\w\s]')


def scattered(rng: Random, text: str) -> tuple[str, list[str]]:
    """The text with white space and comments strewn between its tokens, and the comments."""
    out, comments = [], []
    for token in TOKEN.findall(text):
        out.append(token)
        kind = rng.random()
        if kind < 0.15:
            comments.append(f"// note {len(comments)}")
            out.append(f"{rng.choice(['', ' ', chr(10), chr(10) * 2])}{comments[-1]}\n")
        elif kind < 0.5 or token[-1].isalnum():
            out.append(rng.choice([" ", "\n", "\t", "\r\n"]))
    return "".join(out), comments


@given(st.integers(0, 2**32))
@settings(max_examples=400, deadline=None)
def test_formatting_loses_no_comment_and_changes_no_meaning(seed):
    rng = Random(seed)
    document = random_text(rng)
    text, comments = scattered(rng, print_document(document))
    untidy, findings = examine(Source(text))
    assert not [finding for finding in findings if finding.severity == "error"]
    assert untidy == document
    tidy = print_document(untidy)
    again, _ = examine(Source(tidy))
    assert again == document
    assert [comment.text for comment in again.comments] == comments
    assert print_document(again) == tidy


@given(st.sampled_from("!?"), labels, st.sampled_from([None, "B", "Röle"]))
def test_words_are_read_back(direction, label, partner):
    assert parse_word(print_word(direction, label, partner)) == (direction, label, partner)


@pytest.mark.parametrize("word", ["", "x", "!", "?", '!"', '!""', "a b!x", "9!x", '!"a" b', "rec!x"])
def test_broken_words_are_refused(word):
    with pytest.raises(ValueError, match=r"."):
        parse_word(word)
