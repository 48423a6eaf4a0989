"""A steward that forgets to acknowledge some changes. `accord lint examples/lint/steward.py` shows the path."""

from __future__ import annotations

from dataclasses import dataclass

from accord.agents import Agent, follows

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
    """The schema of a table has changed."""

    table: str
    change_type: str


@dataclass
class Acknowledged:
    """It was taken notice of."""


@follows(SYNC, as_="APISteward")
class APISteward(Agent):
    """Keeps the API in step with the schema."""

    async def on_change(self, change: SchemaChanged) -> None:
        """Answer a change."""
        if change.change_type == "add_column":
            print(f"{change.table} has a new column: nothing to do")
            return
        await self.regenerate(change.table)

    async def regenerate(self, table: str) -> None:
        """Do the work, then say so."""
        print(f"regenerating what depends on {table}")
        await self.reply(Acknowledged())
