"""The samples of a result as Parquet: the table of the CSV export, with types."""

from __future__ import annotations

import importlib.util
from itertools import islice
from pathlib import Path

from glyphscope.base.errors import GlyphscopeError
from glyphscope.evals.results.export import KINDS, Exported, SampleExporter, sample_columns
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.store import atomic_file

ROW_GROUP = 10_000
"""The samples in a row group, which are in memory at once."""


def export_parquet(folder: ResultFolder, out: Path) -> Exported:
    """Write the table. Raises GlyphscopeError if pyarrow is not installed."""
    if importlib.util.find_spec("pyarrow") is None:
        raise GlyphscopeError(
            "Parquet needs pyarrow, which is not installed.",
            hint="Install it (pip install 'glyphscope[parquet]'), or export CSV.",
        )
    import pyarrow
    import pyarrow.parquet

    samples = folder.samples()
    schema = pyarrow.schema([(name, getattr(pyarrow, kind)()) for name, kind in KINDS.items()])
    with atomic_file(out) as file, pyarrow.parquet.ParquetWriter(file, schema) as writer:
        remaining = iter(samples)
        while group := list(islice(remaining, ROW_GROUP)):
            columns = sample_columns(folder.manifest, group)
            arrays = [pyarrow.array(columns[field.name], type=field.type) for field in schema]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
    return Exported(len(samples), (out,))


EXPORTER = SampleExporter("Parquet", export_parquet)
