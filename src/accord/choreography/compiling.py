"""Contracts: from whatever a user gives to what runs. Every part of accord that takes a contract takes it through here.

So all of them take the same contracts and refuse the others with the same findings: the text is checked, its protocols
fit the limits, and it is certain that the roles of its protocols can follow them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from accord.choreography.choreography import findings_in
from accord.diagnostics import Source
from accord.errors import ContractError, UsageError
from accord.language import examine, print_document
from accord.language.ignoring import without_ignored
from accord.language.interchange import document_from_json
from accord.language.tree import Document
from accord.limits import DEFAULT_LIMITS, Limits
from accord.machine.contract import compile_document, read_source
from accord.machine.orders import impossible_orders

if TYPE_CHECKING:
    from accord.diagnostics import Diagnostic
    from accord.machine.contract import Contract

__all__ = ["compile_contract", "examine_contract", "load_contract"]

# What nobody writes as a contract and everybody writes as the name of a file.
_FILE_NAME = re.compile(r"[^\s!?]+\.(accord|json)")


def compile_contract(
    contract: str | Path | Document | Mapping[str, object], *, limits: Limits = DEFAULT_LIMITS
) -> Contract:
    """Compile a contract: a `str` is its text, a `Path` the file that holds it.

    A `Document` (made by the builder) and the JSON object of `Contract.to_json` are taken too; they go through their
    text, so that they are checked as any other contract and findings have a place.

    Raises `ContractError` with every finding if it has errors or the roles of a protocol could not follow it, and
    `UsageError` if the file cannot be read.

    Example:
        >>> compile_contract("!Ask.?Answer.end")
        <Contract (bare) from <contract>>
    """
    if not isinstance(limits, Limits):
        raise UsageError(f"limits are given as `Limits`, got `{type(limits).__name__}`")
    _, compiled, findings = examine_contract(_source_of(contract, limits), limits)
    if compiled is None:
        raise ContractError(findings)
    return compiled


def _source_of(contract: str | Path | Document | Mapping[str, object], limits: Limits) -> Source:
    """The text of a contract."""
    if isinstance(contract, Path):
        return read_source(contract, limits)
    if isinstance(contract, str):
        if _FILE_NAME.fullmatch(contract):
            raise UsageError(f"a `str` is the text of a contract; for the file write `Path({contract!r})`")
        return Source(contract)
    if isinstance(contract, Document):
        return Source(print_document(contract), "<built>")
    if isinstance(contract, Mapping):
        return Source(print_document(document_from_json(dict(contract))), "<json>")
    kind = type(contract).__name__
    raise UsageError(f"a contract is given as text (`str`) or as a file (`Path`), got `{kind}`")


def examine_contract(
    source: Source, limits: Limits = DEFAULT_LIMITS
) -> tuple[Document | None, Contract | None, tuple[Diagnostic, ...]]:
    """What a text declares, as far as it can be read, what it compiles to, and every finding on the way.

    There is no contract if and only if one of the findings is an error.
    """
    document, findings = examine(source, limits)
    if any(finding.severity == "error" for finding in findings):
        return document, None, findings
    try:
        contract = compile_document(document, limits)
    except ContractError as error:
        return None, None, error.diagnostics
    between = findings_in(document, limits)
    findings += tuple(without_ignored(impossible_orders(contract)))
    return document, None if between else contract, findings + between


def load_contract(path: Path | str, *, limits: Limits = DEFAULT_LIMITS) -> Contract:
    """The contract in a file: `.accord` text, or the JSON of `Contract.to_json` if the name ends in `.json`.

    The file is named by its path, a `Path` or a `str`; a relative one is meant from where the program runs. A `str` is
    a path here, whereas `accord.compile` takes it for the text of a contract.
    """
    if not isinstance(path, Path | str):
        raise UsageError(f"a file is given by its path, a `str` or a `Path`, got `{type(path).__name__}`")
    if isinstance(path, str):
        if not path or any(sign in path for sign in "\n{}"):
            raise UsageError("`load` takes the path of a file; for the text of a contract use `accord.compile`")
        path = Path(path)
    if path.suffix != ".json":
        return compile_contract(path, limits=limits)
    try:
        value = json.loads(read_source(path, limits).text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"{path} holds no contract: expected an object")
    return compile_contract(value, limits=limits)
