"""``antiphon reproduce`` as a user meets it."""

import json
from pathlib import Path

import pytest
from tests.cli.command import antiphon


def test_one_claim_is_run_and_told(tmp_path: Path) -> None:
    """Status 0: it holds."""
    words = ("reproduce", "uniform", "--quick", "--only", "counterexample")
    done = antiphon(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 claim: 1 holds\n" in done.stdout
    assert (tmp_path / "reproductions" / "uniform" / "reproduction.json").is_file()


def test_names_of_claims_are_whole_at_60_columns(tmp_path: Path) -> None:
    """They are what --only takes."""
    words = ("reproduce", "uniform", "--quick", "--only", "view-atomic-rounds")
    done = antiphon(*words, folder=tmp_path, environment={"COLUMNS": "60"})
    assert done.returncode == 0, done.stderr
    assert "view-atomic-rounds" in done.stdout


def test_claim_that_does_not_hold_is_status_1(tmp_path: Path) -> None:
    """And says why."""
    done = antiphon("reproduce", "isis", "--quick", "--only", "join-cost", folder=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "join-cost does not hold: messages / n" in done.stdout
    page = antiphon("report", "reproductions/isis", "--json", folder=tmp_path)
    assert page.returncode == 1, page.stderr
    assert (tmp_path / "reproductions" / "isis" / "report.html").is_file()


def test_unknown_paper_and_claim_are_one_sentence(tmp_path: Path) -> None:
    """Each names what there is."""
    paper = antiphon("reproduce", "raft", folder=tmp_path)
    assert paper.returncode == 2
    said = "'raft' cannot be reproduced: choose isis, uniform, blocks, overlay or all"
    assert paper.stderr == f"antiphon: {said}\n"
    claim = antiphon("reproduce", "uniform", "--only", "speed", folder=tmp_path)
    assert claim.returncode == 2
    assert "there is no claim 'speed' in uniform: choose from counterexample" in claim.stderr


@pytest.mark.spark
def test_spark_computes_what_is_swept(tmp_path: Path) -> None:
    """A table is the same, to the last digit, whether its points are Spark tasks or not."""
    words = ("reproduce", "blocks", "--quick", "--only", "activity", "--json")
    here = antiphon(*words, folder=tmp_path)
    there = antiphon(*words, "--engine", "spark", "--out", "there", folder=tmp_path)
    assert here.returncode == there.returncode == 0, there.stderr
    one, other = (json.loads(each.stdout)["claims"][0] for each in (here, there))
    assert one["our_value"] == other["our_value"]
    assert one["table"] == other["table"]
