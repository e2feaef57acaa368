"""A reproduction as one page: a verdict per claim, figures beside the paper's, how to run it again.

Law: as ``page``: one file that asks the network for nothing; what is in the folder is data. What
fails is not hidden below what holds: the table at the top lists all claims in the paper's order.
"""

from html import escape

from antiphon.report.page import cut, digest_of, figure_html, filled, script_of, template
from antiphon.report.series import series_plot
from antiphon.trace.claims import ClaimResult, ClaimVerdict, Reproduction, TableData

_MARKS = {ClaimVerdict.HOLDS: "✓", ClaimVerdict.FAILS: "✗", ClaimVerdict.INCOMPARABLE: "?"}
_CLASSES = {
    ClaimVerdict.HOLDS: "holds",
    ClaimVerdict.FAILS: "violated",
    ClaimVerdict.INCOMPARABLE: "unknown",
}
_OF_MANY = {
    ClaimVerdict.HOLDS: "hold",
    ClaimVerdict.FAILS: "do not hold",
    ClaimVerdict.INCOMPARABLE: "cannot be compared",
}
_TEXT_MAX = 1_000


def claims_page(found: Reproduction) -> str:
    """Return the page."""
    script = script_of("figures")
    papers = list(dict.fromkeys(claim.paper for claim in found.claims))
    names = " and ".join(filter(None, (", ".join(papers[:-1]), *papers[-1:])))
    about = [
        f"antiphon {escape(found.antiphon)}",
        f"Python {escape(found.python)}",
        escape(found.machine),
        "quick run" if found.is_quick else "full run",
        f"{sum(claim.seconds for claim in found.claims):.0f} s",
    ]
    return filled(
        "summary.html",
        {
            "kind": "Antiphon reproduction report",
            "title": escape(f"{names}, claim by claim"),
            "digest": digest_of(script),
            "style": template("page.css") + template("summary.css"),
            "script": script,
            "headline": _tallies(found),
            "about": " · ".join(about),
            "content": _overview(found) + _claims(found) + _again(found.replay),
        },
    )


def _tallies(found: Reproduction) -> str:
    parts = "".join(
        f'<span class="{_CLASSES[verdict]}"><span class="verdict-word"><b aria-hidden="true">'
        f"{_MARKS[verdict]}</b> {_counted(found.count(verdict), verdict)}</span></span>"
        for verdict in ClaimVerdict
        if found.count(verdict)
    )
    return f'<p class="tallies">{parts}</p>'


def _counted(count: int, verdict: ClaimVerdict) -> str:
    return f"{count} {verdict.value if count == 1 else _OF_MANY[verdict]}"


def _overview(found: Reproduction) -> str:
    rows = "".join(
        f'<tr class="{_CLASSES[claim.verdict]}"><th scope="row"><a href="#{_anchor(claim)}">'
        f"{escape(claim.name)}</a><small>{escape(claim.paper)} {escape(claim.section)}</small></th>"
        f"<td>{_text(claim.paper_value)}</td><td>{_text(claim.our_value)}</td>"
        f'<td class="mark"><b aria-hidden="true">{_MARKS[claim.verdict]}</b> '
        f"{claim.verdict.value}</td></tr>"
        for claim in found.claims
    )
    heads = "".join(
        f'<th scope="col">{head}</th>' for head in ("claim", "paper", "here", "verdict")
    )
    return (
        '<section aria-labelledby="all"><h2 id="all">All claims</h2><div class="wide">'
        f'<table class="verdicts"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
        "</div></section>"
    )


def _claims(found: Reproduction) -> str:
    return "".join(
        f'<section aria-labelledby="{paper.lower()}"><h2 id="{paper.lower()}">{escape(paper)}</h2>'
        + "".join(_claim(claim) for claim in found.claims if claim.paper == paper)
        + "</section>"
        for paper in dict.fromkeys(claim.paper for claim in found.claims)
    )


def _claim(claim: ClaimResult) -> str:
    figure = ""
    if claim.figure is not None:
        caption = "Full lines were measured here; dashed ones are the paper's."
        caption = "" if claim.figure.categories else caption
        figure = figure_html(escape(claim.figure.title), series_plot(claim.figure), caption)
    assumed = "".join(f"<li>{_text(each)}</li>" for each in claim.assumptions)
    shown = _table(claim.table) if claim.table is not None else ""
    return (
        f'<article class="claim {_CLASSES[claim.verdict]}" id="{_anchor(claim)}">'
        f'<div class="words"><h3>{escape(claim.section)}: {escape(claim.name)}</h3>'
        f'<p class="said">{_text(claim.words)}</p>'
        f'<p><span class="verdict-word"><b aria-hidden="true">{_MARKS[claim.verdict]}</b> '
        f"{claim.verdict.value[0].upper()}{claim.verdict.value[1:]}</span></p>"
        f"<dl><dt>paper</dt><dd>{_text(claim.paper_value)}</dd><dt>here</dt>"
        f"<dd>{_text(claim.our_value)}</dd><dt>why</dt><dd>{_text(claim.why)}</dd></dl></div>"
        f'{figure}<div class="evidence">{shown}{f"<ul>{assumed}</ul>" if assumed else ""}'
        f"<pre tabindex=0><code>{_text(claim.replay)}</code></pre></div></article>"
    )


def _table(data: TableData) -> str:
    heads = "".join(
        f'<th scope="col"{"" if any(map(_is_number, cells)) else " class=text"}>{_text(head)}</th>'
        for head, *cells in zip(data.columns, *data.rows, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{'' if _is_number(cell) else ' class=text'}>{_text(cell)}</td>" for cell in row
        )
        + "</tr>"
        for row in data.rows
    )
    return (
        '<details><summary>Numbers</summary><div class="wide"><table class="numbers"><thead><tr>'
        f"{heads}</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def _is_number(cell: str) -> bool:
    return cell.replace(",", "").replace(".", "").replace("-", "").replace("e+", "").isdigit()


def _again(replay: str) -> str:
    return (
        '<section aria-labelledby="again"><h2 id="again">Again</h2>'
        f"<pre tabindex=0><code>{_text(replay)}</code></pre></section>"
    )


def _anchor(claim: ClaimResult) -> str:
    return escape(f"{claim.paper.lower()}-{claim.name}", quote=True)


def _text(words: str) -> str:
    return escape(cut(words, _TEXT_MAX))
