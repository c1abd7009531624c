"""Approvers find what to look at, and how to decide, by commands alone."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.flows.command import run, variables_of_this_server
from tests.small_release import write_small_release

HELD = 3


@pytest.mark.nightly
def test_a_release_is_held_looked_at_approved_and_published_by_commands(tmp_path: Path, prefect: None) -> None:
    policy = {"exact_figures_decide": True, "publish_within": {"tvd_2way_max": 0.000001}}
    spec = write_small_release(tmp_path / "spec", decision=policy)

    def said(who: str, *arguments: str | Path) -> subprocess.CompletedProcess[Any]:
        told = {"DENIABLE_OPERATOR": who, "XDG_CONFIG_HOME": str(tmp_path / who), **variables_of_this_server()}
        return run(*arguments, "--state", tmp_path / "state", home=tmp_path / "home", **told)

    assert said("ines", "held").stdout == "No release awaits a decision.\n"
    held = said("ada", "release", spec)
    assert held.returncode == HELD, held.stderr
    sentence = held.stderr.strip().splitlines()[-1]
    (page,) = (tmp_path / "state" / "shelf").glob("*/report_to_decide_upon.html")
    release = page.parent.name
    assert f"{release} is held, and nothing is published, because tvd_2way must be at most 1e-06" in sentence
    assert str(page) in sentence
    assert f"deniable release approve {release} --reason" in sentence
    assert "the same command resumes the release" in sentence
    assert not list((tmp_path / "state" / "releases").glob("*"))

    listed = said("ines", "held").stdout
    assert all(part in listed for part in (release, str(page), "anyone but ada", "Made-up people"))
    candidate = listed.partition("candidate")[2].split()[0]
    assert said("ines", "approve", release).returncode == 2  # without a reason
    without = said("ines", "approve", release, "--reason", "why not")
    assert "an approver's key must be in" in without.stderr
    for who in ("ada", "ines"):
        made = said(who, "keys", "approver", "new").stdout
        public = re.search(r"Its public half is ([0-9a-f]{64})\.", made)
        assert public is not None, made
        unknown = said(who, "approve", release, "--reason", "why not")
        assert "must be signed with a key that the custodian admitted" in unknown.stderr
        admitted = said("custodian", "keys", "approver", "admit", who, public[1])
        assert (admitted.returncode, f"of {who} approves releases from now on" in admitted.stdout) == (0, True)
    for who, other in (("ada", ()), ("ines", ("--candidate", "0" * 64))):
        refused = said(who, "approve", release, "--reason", "why not", *other)
        assert (refused.returncode, len(refused.stderr.splitlines())) == (1, 1)
    approved = said("ines", "approve", release, "--reason", "as agreed", "--candidate", candidate[:8])
    assert (approved.returncode, f"{release} is approved by ines: as agreed" in approved.stdout) == (0, True)
    assert f": The release {release} of the dataset people is published at a cost of epsilon" in approved.stdout
    again = said("eve", "approve", release, "--reason", "I agree")
    assert (again.returncode, "was approved by ines on 2" in again.stdout) == (0, True)
    assert "run the command that made it" in again.stdout
    published = said("ada", "release", spec)
    assert published.returncode == 0, published.stderr
    assert [path.name for path in (tmp_path / "state" / "releases").iterdir()] == [release]
    assert said("ines", "held").stdout == "No release awaits a decision.\n"
    again = said("eve", "approve", release, "--reason", "I agree")
    assert (again.returncode, again.stdout.splitlines()[1:]) == (0, ["It is published."])
    assert re.fullmatch(rf"{release} was approved by ines on 2\S+Z: as agreed", again.stdout.splitlines()[0])
    refused = said("eve", "refuse", release, "--reason", "too late")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (1, 1)
    assert "a release is decided upon once" in refused.stderr
    assert "was approved by ines on 2" in refused.stderr
    for command in ("audit", "replay"):
        checked = said("ada", command, release)
        assert checked.returncode == 0, checked.stderr
