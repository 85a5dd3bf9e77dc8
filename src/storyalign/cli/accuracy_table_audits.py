"""An audited table on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from storyalign.cli.terminal import new_table, say

if TYPE_CHECKING:
    from rich.console import Console

    from storyalign.audit.accuracy_table import TableAudit


def print_table_audit(out: Console, audit: TableAudit) -> None:
    """Print what each average is, the cells that cannot be, and the finding."""
    sizes = ", ".join(f"{name} {n}" for name, n in audit.sizes.items())
    say(out, f"{audit.name}: {len(audit.rows)} rows; groups: {sizes}", "bold")
    out.print()
    table = new_table("Row", "Printed", "Over groups", "Over columns", "The average is")
    for row in audit.rows:
        verdict = {"both": "either", None: "not checked: blank cells" if row.blank else ""}.get(row.fit, row.fit or "")
        means = ["–" if mean is None else f"{mean:.2f}" for mean in (row.micro, row.macro)]
        table.add_row(Text(row.name), row.average or "–", *means, verdict)
    out.print(table)
    out.print()
    if audit.impossible:
        table = new_table("Cells that are no k/N", "Printed", "N", "Nearest", "", "")
        for cell in audit.impossible:
            cut = "cut, not rounded" if cell.cut_from else ""
            table.add_row(
                Text(f"{cell.row}, {cell.column}"), cell.printed, str(cell.n), cell.below, cell.above, Text(cut)
            )
        out.print(table)
        out.print()
    say(out, audit.summary, "bold")
    say(
        out,
        "Percent. An average fits when it lies within one unit of the last printed digit of the mean: half a unit for "
        "the rounding of the cells, half for its own.",
    )
