"""The page of a report."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers.python import PythonLexer

from tilewright.error import TVMError
from tilewright.runtime.peaks import Peaks
from tilewright.tune.database import TuningRecord
from tilewright.tune.database.record import machine_name
from tilewright.tune.report import quantities
from tilewright.tune.report.chart import curve
from tilewright.tune.report.roofline import roofline, share
from tilewright.tune.report.summary import TOTAL, Failures, TaskSummary, grouped

_LIGHT: Final = HtmlFormatter(style="friendly", cssclass="code")
_DARK: Final = HtmlFormatter(style="github-dark", cssclass="code")


def highlighted(source: str) -> str:
    """Python text."""
    return highlight(source, PythonLexer(), _LIGHT)


def style() -> str:
    """The colours, for light and dark screens."""
    light, dark = (formatter.get_style_defs(".code") for formatter in (_LIGHT, _DARK))
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"


PAGE_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2328; background: #ffffff;
  max-width: 1104px; margin: 0 auto; padding: 24px 32px 64px; }
h1 { font-size: 26px; margin: 0 0 4px; }
h2 { font-size: 20px; margin: 44px 0 8px; padding-bottom: 6px; border-bottom: 1px solid #d1d9e0; }
h3 { font-size: 15px; margin: 24px 0 6px; }
p.facts { color: #59636e; margin: 0; }
table { border-collapse: collapse; width: 100%; margin: 12px 0; font-size: 14px; }
th { text-align: left; font-weight: 600; color: #59636e; }
th, td { padding: 5px 12px 5px 0; border-bottom: 1px solid #d1d9e0; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.message { font: 12px/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
.chart { max-width: 100%; height: auto; display: block; }
.bar { display: flex; height: 22px; border-radius: 5px; overflow: hidden; }
.bar span { display: block; min-width: 1px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 22px; margin: 8px 0; font-size: 14px; }
.swatch { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 6px; }
.both { display: flex; gap: 16px; }
.both > div { flex: 1; min-width: 0; }
.code { border: 1px solid #d1d9e0; border-radius: 6px; overflow: auto; max-height: 520px; }
.code pre { font: 12px/1.45 ui-monospace, monospace; margin: 0; padding: 10px 12px; }
summary { cursor: pointer; margin: 12px 0 6px; font-weight: 600; font-size: 15px; }
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0d1117; }
  h2, th, td, .code { border-color: #2d343c; }
  p.facts, th { color: #9198a1; }
}
@media (max-width: 900px) { .both { flex-direction: column; } }
@media (max-width: 640px) {  /* phones: what is wide scrolls by itself, and stays legible */
  body { padding: 16px 16px 48px; }
  table { display: block; overflow-x: auto; }
  .scroll { overflow-x: auto; }
  .chart { max-width: none; width: 760px; }
}
"""

_COLOURS: Final = {
    "search": "#0969da", "build": "#bf8700", "run": "#1a7f37", "check": "#8250df",
    "learn": "#bc4c00", "other": "#9aa4ae",
}  # fmt: skip


def html_page(
    tasks: Sequence[TaskSummary],
    title: str,
    phases: Mapping[str, float] | None,
    peaks: Peaks | None,
) -> str:
    """The HTML of a report; it refers to nothing outside."""
    parts = [
        f"<h1>{escape(title)}</h1>",
        *_facts(tasks, phases),
        _overview(tasks, peaks),
        *_time(phases),
        *_machine(tasks, peaks),
    ]
    for task in tasks:
        parts += _task(task)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{style()}{PAGE_STYLE}</style></head><body>",
            *parts,
            "</body></html>\n",
        ]
    )


def _facts(tasks: Sequence[TaskSummary], phases: Mapping[str, float] | None) -> list[str]:
    """What was tuned, on what, when."""
    records = [record for task in tasks for record in task.trials]
    failed = sum(task.failed for task in tasks)
    numbers = [quantities.count(len(tasks), "task"), quantities.count(len(records), "candidate")]
    numbers.append(f"{failed} failed")
    if phases and TOTAL in phases:
        numbers.append(quantities.duration(phases[TOTAL]))
    machines = _different(_machine_name(record) for record in records)
    targets = _different(str(task.target) for task in tasks)
    versions = _different(f"{name} {v}" for r in records for name, v in r.versions.items())
    lines = [" \u00b7 ".join(numbers), " \u00b7 ".join(machines), " \u00b7 ".join(targets)]
    if records:
        last = datetime.datetime.fromtimestamp(max(record.timestamp for record in records))
        lines.append(" \u00b7 ".join([f"{last:%Y-%m-%d %H:%M}", *versions]))
    return [f'<p class="facts">{escape(line)}</p>' for line in lines if line]


def _machine_name(record: TuningRecord) -> str:
    if record.is_estimate:
        return machine_name(record.machine)
    cores = quantities.count(int(record.machine.get("cores", 0)), "core")
    return f"{record.machine.get('cpu', 'unknown')}, {cores}"


def _different(items: Any) -> list[str]:
    return list(dict.fromkeys(items))


def _overview(tasks: Sequence[TaskSummary], peaks: Peaks | None) -> str:
    """A table of all tasks."""
    head = ["Task", "Candidates", "Failed", "First", "Best", "Gain", "Speed", "Of the machine"]
    rows = []
    for task in tasks:
        first, best = task.first_seconds, task.best_seconds
        part = None if peaks is None else share(task, peaks)
        rows.append(
            [
                task.name,
                str(len(task.trials)),
                str(task.failed),
                quantities.seconds(first) if first else "\u2013",
                quantities.seconds(best) if best else "\u2013",
                f"{quantities.digits(first / best)}\u00d7" if first and best else "\u2013",
                quantities.rate(task.best_rate) if task.best_rate else "\u2013",
                f"{100 * part:.0f} %" if part is not None else "\u2013",
            ]
        )
    return _table(head, rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def cells(tag: str, values: Sequence[str]) -> str:
        found = [f"<{tag}>{escape(values[0])}</{tag}>"]
        found += [f'<{tag} class="number">{escape(value)}</{tag}>' for value in values[1:]]
        return f"<tr>{''.join(found)}</tr>"

    body = "".join(cells("td", row) for row in rows)
    return f"<table><thead>{cells('th', head)}</thead><tbody>{body}</tbody></table>"


def _time(phases: Mapping[str, float] | None) -> list[str]:
    """Where the time went."""
    if not phases:
        return []
    groups = {name: spent for name, spent in grouped(phases).items() if spent > 0}
    total = sum(groups.values())
    if not total:
        return []
    bar = "".join(
        f'<span style="width:{100 * spent / total:.2f}%;background:{_COLOURS[name]}" '
        f'title="{name}: {quantities.duration(spent)}"></span>'
        for name, spent in groups.items()
    )
    legend = "".join(
        f'<span><span class="swatch" style="background:{_COLOURS[name]}"></span>{name} '
        f"{quantities.duration(spent)} ({100 * spent / total:.0f} %)</span>"
        for name, spent in groups.items()
    )
    return [
        "<h2>Where the time went</h2>",
        f'<div class="bar">{bar}</div><div class="legend">{legend}</div>',
    ]


def _machine(tasks: Sequence[TaskSummary], peaks: Peaks | None) -> list[str]:
    chart = "" if peaks is None else roofline(tasks, peaks)
    return [f"<h2>All candidates below the roofs of the machine</h2>{chart}"] if chart else []


def _task(task: TaskSummary) -> list[str]:
    parts = [f"<h2>{escape(task.name)}</h2>"]
    flop = f"{quantities.amount(task.flop, 'FLOP')}, " if task.flop else ""
    size = quantities.amount(task.traffic, "B")
    facts = f"{flop}{size} of arguments, workload {task.workload.key}"
    parts.append(f'<p class="facts">{escape(facts)}</p>')
    chart = curve(task)
    if chart:
        parts.append(f"<h3>Best time so far</h3>{chart}")
    if task.failures:
        parts.append(_failed(task.failures))
    return [*parts, *_programs(task)]


def _failed(failures: Sequence[Failures]) -> str:
    rows = "".join(
        f'<tr><td>{escape(f.kind)}</td><td class="number">{f.count}</td>'
        f'<td class="message">{escape(_shortened(f.example))}</td></tr>'
        for f in failures
    )
    return (
        "<h3>Failed candidates</h3><table><thead><tr><th>Reason</th>"
        '<th class="number">Count</th><th>For example</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _shortened(message: str) -> str:
    lines = message.strip().splitlines()[:4]
    return "\n".join(lines)[:400]


def _programs(task: TaskSummary) -> list[str]:
    """The program before and after, and the steps between."""
    before = highlighted(task.workload.mod.script())
    if task.best is None:
        return [f"<h3>The program</h3>{before}"]
    try:
        sch = task.best.schedule(enable_check=False)
    except TVMError as error:
        return [f"<h3>The program</h3>{before}<p>{escape(str(error))}</p>"]
    after = highlighted(sch.mod.script())
    return [
        '<div class="both">',
        f"<div><h3>The program</h3>{before}</div>",
        f"<div><h3>With the best schedule</h3>{after}</div></div>",
        f"<details><summary>The steps of the best schedule</summary>{highlighted(str(sch.trace))}"
        "</details>",
    ]
