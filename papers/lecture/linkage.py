"""Attacks that link or find people: hospital records, subscribers by their ratings, members of a study."""

from fractions import Fraction
from math import exp
from statistics import fmean
from typing import Final, NamedTuple

import numpy as np

from deniable.evaluation.disclosure import Tables, uniqueness
from deniable.foundation.noise import DiscreteGaussian
from deniable.privacy.accounting import calibrate_discrete_gaussian
from papers.findings import Check, Part, Picture, Table, between, equal
from papers.learning import domain_of, synthetic
from papers.lecture.made_up import Floats, Integers, integers, stream_of, uniforms
from papers.lecture.pictures import draw_curves

_VOTERS, _DATES, _AREAS = 54_000, 80 * 365, 7
_SUBSCRIBERS, _TITLES, _DAYS, _STARS = 3_000, 600, 2_000, 5
_TARGETS = 200
_KNOWN: Final = (2, 4, 6, 8)
_ECCENTRIC = 1.5
_STUDY, _SITES, _CONTROLS = 100, 2_000, 2_000
_ALARM = 0.01
_NOISES = 20


def weld() -> Part:
    """Names in a register and diagnoses in hospital records, linked by date of birth, sex and area."""
    stream = stream_of("voters")
    sizes = {"born": _DATES, "sex": 2, "area": _AREAS}
    people = np.stack([integers(stream, size, _VOTERS) for size in sizes.values()], axis=1).astype(np.uint16)
    patients, others = people[: _VOTERS // 5], people[_VOTERS // 5 :]
    domain = domain_of(sizes)
    made = synthetic({"kind": "independent", "parameters": {"epsilon": 1}}, domain, patients, "patients")
    real, ours = (
        uniqueness(Tables(table, patients, others, domain.cardinalities), (0, 1, 2)).found for table in (patients, made)
    )
    _, counts = np.unique(people, axis=0, return_counts=True)
    alone = float((counts == 1).sum() / _VOTERS)
    chance = exp(-(_VOTERS - 1) / (_DATES * 2 * _AREAS))
    return Part(
        name="Weld",
        title="a register of voters and hospital records without names",
        verdict="demonstrated",
        why="A governor's hospital record was found in 1997 by date of birth, sex and postal area. In this made-up "
        "town of 54,000 nearly nine of ten people are alone with theirs, so the register names nearly nine of "
        "ten patients. From records of the learner `independent` at epsilon 1 a unique match is as rare for "
        "patients as for others, and means nothing.",
        product=("deniable/evaluation/disclosure.py", "deniable/learners/independent/histograms.py"),
        checks=(
            equal("share of people who are alone with theirs", alone, chance, 0.01),
            equal("unique patients whom the register names", real.training.value, 1, 0),
            equal("unique people outside the hospital who are named", real.holdout.value, 0, 0),
            between("the same for synthetic records, patients less others", -0.01, ours.excess, 0.01),
        ),
        table=Table(
            ("released", "unique patients matched", "unique others matched"),
            (
                ("hospital records", f"{real.training.value:.3f}", f"{real.holdout.value:.3f}"),
                ("synthetic records, epsilon 1", f"{ours.training.value:.4f}", f"{ours.holdout.value:.4f}"),
            ),
        ),
    )


class Ratings(NamedTuple):
    """Ratings of subscribers, 0 if there is none, with the day of each; shapes (subscribers, titles)."""

    stars: Integers
    days: Integers


def netflix() -> Part:
    """Subscribers found by a few of their ratings."""
    ratings = _made_up_ratings()
    released = Ratings(*(each[: _SUBSCRIBERS // 2] for each in ratings))
    weights = 1 / np.log(np.maximum((released.stars > 0).sum(axis=0), 3))
    found, wrong, absent = [], [], []
    for known in _KNOWN:
        inside = [_identified(ratings, released, weights, person, known) for person in range(_TARGETS)]
        outside = [
            _identified(ratings, released, weights, _SUBSCRIBERS // 2 + person, known) for person in range(_TARGETS)
        ]
        found.append(sum(who == person for person, who in enumerate(inside)) / _TARGETS)
        wrong.append(sum(who not in (None, person) for person, who in enumerate(inside)) / _TARGETS)
        absent.append(sum(who is not None for who in outside) / _TARGETS)
    checks = [
        Check("more known ratings identify more subscribers", found == sorted(found)),
        between("share identified by eight ratings, two of them wrong", 0.9, found[-1], 1),
        between("share of wrong names by eight ratings", 0, wrong[-1], 0.05),
        between("share of people outside the data who are named by eight ratings", 0, absent[-1], 0.2),
    ]
    rows = tuple(
        (str(known), f"{a:.3f}", f"{b:.3f}", f"{c:.3f}")
        for known, a, b, c in zip(_KNOWN, found, wrong, absent, strict=True)
    )
    return Part(
        name="Netflix",
        title="subscribers by some of their ratings",
        verdict="demonstrated",
        why="The score of Narayanan and Shmatikov on made-up ratings: agreement of stars and days on known titles, "
        "rare titles counting more; a name is given if the best score exceeds the second by 1.5 standard "
        "deviations. Of the known ratings one in four is wrong, and days are known within two weeks. Sparse "
        "records are their own names, without any identifier. People who are not in the data are the control: "
        "for them any name is wrong.",
        product=("deniable/evaluation/disclosure.py", "deniable/evaluation/overlap.py"),
        checks=tuple(checks),
        table=Table(("known ratings", "identified", "wrong name", "outside the data, named"), rows),
        picture=Picture(
            draw_curves(
                f"{_TARGETS} targets among {_SUBSCRIBERS // 2:,} subscribers",
                _KNOWN,
                {"identified": found, "wrong name": wrong, "outside the data, named": absent},
                ("number of known ratings", "share of targets"),
            ),
            "Share of subscribers identified by 2 to 8 known ratings, with wrong names and names given to people "
            "outside the data",
        ),
    )


def _made_up_ratings() -> Ratings:
    """Each subscriber rates titles with probabilities that fall with the title's rank, some 40 of 600."""
    stream = stream_of("ratings")
    popular = 1 / np.sqrt(np.arange(1, _TITLES + 1))
    chance = popular * (40 / popular.sum())
    rated = uniforms(stream, _SUBSCRIBERS, _TITLES) < np.minimum(chance, 0.9)
    stars = integers(stream, _STARS, _SUBSCRIBERS, _TITLES) + 1
    days = integers(stream, _DAYS, _SUBSCRIBERS, _TITLES)
    return Ratings(np.where(rated, stars, 0), days)


def _identified(ratings: Ratings, released: Ratings, weights: Floats, person: int, known: int) -> int | None:
    """The subscriber whom the attack names, if it names one.

    Args:
        ratings: everyone's ratings.
        released: the released ones.
        weights: weight of each title.
        person: the target.
        known: number of ratings that the attacker knows; a quarter of them are wrong.
    """
    stream = stream_of(f"known ratings of {person}", known)
    own = np.flatnonzero(ratings.stars[person])
    order = own[np.argsort(uniforms(stream, len(own)))][:known]
    stars, days = ratings.stars[person, order], ratings.days[person, order]
    wrong = len(order) // 4
    titles = order.copy()
    titles[:wrong] = integers(stream, _TITLES, wrong)
    days = days + integers(stream, 29, len(order)) - 14
    there = released.stars[:, titles] > 0
    near = np.exp(-np.abs(released.stars[:, titles] - stars) / 1.5) + np.exp(
        -np.abs(released.days[:, titles] - days) / 30
    )
    scores = (weights[titles] * near * there).sum(axis=1)
    second, best = np.sort(scores)[-2:]
    if best - second < _ECCENTRIC * scores.std():
        return None
    return int(scores.argmax())


def membership() -> Part:
    """Members of a study found in the frequencies that it publishes."""
    stream = stream_of("study")
    shares = 0.1 + 0.8 * uniforms(stream, _SITES)
    members = (uniforms(stream, _STUDY, _SITES) < shares).astype(np.int64)
    others = (uniforms(stream, _CONTROLS, _SITES) < shares).astype(np.int64)
    counts = members.sum(axis=0)
    rows, checks = [], []
    exact = _found(members, others, shares, counts)
    rows.append(("exact", "none", f"{exact:.3f}", ""))
    checks.append(between("members found in exact frequencies, at 1 % false alarms", 0.9, exact, 1))
    delta = Fraction(1, 10**6)
    for epsilon in (1, 4):
        variance = calibrate_discrete_gaussian(outputs=_SITES, epsilon=epsilon, delta=delta)
        noise = DiscreteGaussian(variance).sample(stream_of("noise of frequencies", epsilon), _NOISES * _SITES)
        found = fmean(_found(members, others, shares, counts + own) for own in noise.reshape(_NOISES, _SITES))
        bound = min(exp(epsilon) * _ALARM + float(delta), 1)
        rows.append((f"noise of deviation {float(variance) ** 0.5:.0f}", f"{epsilon}", f"{found:.3f}", f"{bound:.3f}"))
        # Three standard errors of a share of 100 members; false alarms are counted among as many others as are drawn.
        slack = 3 * (bound * (1 - bound) / _STUDY) ** 0.5
        checks.append(between(f"members found at epsilon {epsilon}", 0, found, bound + slack))
    return Part(
        name="Membership",
        title="members of a study in its published frequencies",
        verdict="demonstrated",
        why=f"A person who correlates with {_SITES:,} published frequencies of {_STUDY} people more than non-members "
        "do was probably one of them. In exact frequencies nearly all members are found at 1 % false alarms. "
        "With noise, no more than e^epsilon times as many as false alarms, whatever the attack; this one finds "
        "hardly any (mean of 20 draws of the noise).",
        product=("deniable/privacy/accounting.py", "deniable/foundation/noise.py"),
        checks=tuple(checks),
        table=Table(("frequencies", "epsilon", "members found at 1 % false alarms", "bound"), tuple(rows)),
    )


def _found(members: Integers, others: Integers, shares: Floats, counts: Integers) -> float:
    """The share of members whose score exceeds that of 99 % of the others."""
    gap = counts / _STUDY - shares
    inside, outside = (((people - shares) * gap).sum(axis=1) for people in (members, others))
    return float((inside > np.quantile(outside, 1 - _ALARM)).mean())
