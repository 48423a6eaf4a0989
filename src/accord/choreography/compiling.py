"""The contract of a text, once it is certain that the roles of its protocols can follow them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.choreography.choreography import findings_in
from accord.errors import ContractError
from accord.language import examine
from accord.limits import DEFAULT_LIMITS, Limits
from accord.machine import contract as machine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from accord.diagnostics import Diagnostic, Source
    from accord.language.tree import Document
    from accord.machine.contract import Contract

__all__ = ["compile_contract", "examine_contract", "load_contract"]


def compile_contract(
    contract: str | Path | Document | Mapping[str, object], *, limits: Limits = DEFAULT_LIMITS
) -> Contract:
    """Compile a contract: a `str` is its text, a `Path` the file that holds it.

    A `Document` (made by the builder) and the JSON object of `Contract.to_json` are taken too.

    Raises `ContractError` with every finding if it has errors or the roles of a protocol could not follow it, and
    `UsageError` if the file cannot be read.

    Example:
        >>> compile_contract("!Ask.?Answer.end")
        <Contract (bare) from <contract>>
    """
    return _followable(machine.compile_contract(contract, limits=limits))


def examine_contract(
    source: Source, limits: Limits = DEFAULT_LIMITS
) -> tuple[Document | None, Contract | None, tuple[Diagnostic, ...]]:
    """What a text declares, as far as it can be read, what it compiles to, and every finding on the way."""
    document, findings = examine(source, limits)
    if any(finding.severity == "error" for finding in findings):
        return document, None, findings
    try:
        contract = machine.compile_document(document, limits)
    except ContractError as error:
        return None, None, error.diagnostics
    between = findings_in(document, limits)
    return document, None if between else contract, findings + between


def load_contract(path: Path | str, *, limits: Limits = DEFAULT_LIMITS) -> Contract:
    """The contract in a file: `.accord` text, or the JSON of `Contract.to_json` if the name ends in `.json`.

    The file is named by its path, a `Path` or a `str`; a relative one is meant from where the program runs.
    """
    return _followable(machine.load_contract(path, limits=limits))


def _followable(contract: Contract) -> Contract:
    findings = findings_in(contract.document, contract.limits) if contract.document.globals else ()
    if findings:
        raise ContractError(findings)
    return contract
