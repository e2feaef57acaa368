"""What is wrong with views, in words, with the lines of the trace.

Law: as in ``explain``; all of it is known on the driver, so nothing has to be looked up.
"""

from antiphon.pipeline.findings import Finding, What
from antiphon.pipeline.reading import ViewRow
from antiphon.pipeline.scopes import Survey
from antiphon.pipeline.story import link_to_view
from antiphon.trace import words
from antiphon.trace.verdict import Property, Violation

_Steps = list[tuple[ViewRow, str]]


def explain_view(survey: Survey, finding: Finding, files: list[str]) -> Violation:
    """Explain what is wrong with a view row."""
    scope, views = survey.scopes[finding.scope], survey.views
    run, group, _ = scope.key
    row = views.current((run, group, scope.names[finding.process]), finding.position)
    assert row is not None, "the row itself is there"
    if finding.what is What.OTHER_MEMBERS:
        steps, text = _tell_other_members(survey, row)
    elif finding.what is What.OUT_OF_TURN:
        steps, text = _tell_out_of_turn(survey, row)
    else:
        steps = [(row, words.installed(row.process, row.view, views.members(row)))]
        text = words.not_listed(row.process, row.group, row.view)
    return Violation(
        property=Property.VIEWS,
        process=row.process,
        message=None,
        earlier=None,
        chain=tuple(link_to_view(survey, step, says, files) for step, says in steps),
        text=text,
        run=run,
    )


def _tell_other_members(survey: Survey, row: ViewRow) -> tuple[_Steps, str]:
    """Tell of a view with other members than where it was installed first by name."""
    views = survey.views
    reference = views.reference(row)
    steps = [
        (step, words.installed(step.process, step.view, views.members(step)))
        for step in (reference, row)
    ]
    text = words.other_members(
        row.process,
        row.group,
        row.view,
        views.members(row),
        (reference.process, views.members(reference)),
    )
    return steps, text


def _tell_out_of_turn(survey: Survey, row: ViewRow) -> tuple[_Steps, str]:
    """Tell of a view that does not follow the one before."""
    before = survey.views.before(row)
    assert before is not None, "the first view may have any number"
    steps = [(step, words.installed(step.process, step.view)) for step in (before, row)]
    return steps, words.wrong_number(row.process, row.group, row.view, before.view)
