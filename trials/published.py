"""The results that the reference document records, as published.yaml states them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, model_validator

from ..tiers.yamlfile import Source, read_yaml

FILE = Path(__file__).parent / "published.yaml"

Count = Annotated[StrictInt, Field(ge=0)]
Counts = Count | Annotated[list[Count], Field(min_length=2, max_length=2)]
Multiple = Annotated[StrictFloat, Field(gt=0)]
Multiples = Multiple | Annotated[list[Multiple], Field(min_length=2, max_length=2)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PublishedRow(_Part):
    """A cell that the document states; whatever it does not state is None.

    `kept` is a score of which it does not say whether it is raw or net; two numbers are a range.
    """

    arm: str | None = None
    condition: str | None = None
    agent: str | None = None
    raw: Counts | None = None
    net: Counts | None = None
    kept: Counts | None = None
    cost: Multiples | None = None
    runs: Annotated[StrictInt, Field(gt=0)] | None = None
    predicted: Count | None = None
    remark: str = ""
    notes: list[str] = []

    @model_validator(mode="after")
    def _consistent(self) -> PublishedRow:
        if self.kept is not None and (self.raw is not None or self.net is not None):
            raise ValueError("kept is for a score that is said to be neither raw nor net")
        for name in ("raw", "net", "kept", "cost"):
            value = getattr(self, name)
            if isinstance(value, list) and value[0] >= value[1]:
                raise ValueError(f"{name}: a range goes from low to high")
        return self


class PublishedTable(_Part):
    """Rows that belong together; `of` is what all their scores are out of."""

    id: str
    title: str
    tier: Annotated[StrictInt, Field(ge=1, le=4)] | None = None
    task: str | None = None
    of: Annotated[StrictInt, Field(gt=0)] | None = None
    remarks: list[str] = []
    rows: list[PublishedRow]


class Published(_Part):
    """published.yaml."""

    schema_version: Literal[1]
    source: str
    remarks: list[str]
    notes: dict[str, str]
    tables: list[PublishedTable]


def load_published(path: Path = FILE) -> Published:
    """The recorded results; InputError with file, line and field if the file is broken."""
    data, source = read_yaml(path, Published, path.name)
    for table, one in enumerate(data.tables):
        for row, cell in enumerate(one.rows):
            _check(data, one, cell, source, ("tables", table, "rows", row))
    return data


def _check(
    data: Published, table: PublishedTable, row: PublishedRow, source: Source, where: tuple[int | str, ...]
) -> None:
    for note in row.notes:
        if note not in data.notes:
            raise source.error((*where, "notes"), f"there is no note {note}")
    for name in ("raw", "net", "kept"):
        value = getattr(row, name)
        if value is None:
            continue
        if table.of is None:
            raise source.error((*where, name), "the table does not say out of how many")
        if (value[1] if isinstance(value, list) else value) > table.of:
            raise source.error((*where, name), f"more than {table.of}")
