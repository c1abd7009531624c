"""What a reviewer signs: what an adversary can learn at most, what attacks found and could have found, what remains.

It repeats what other parts of the report show, in one place and in sentences; nothing is measured here. The lines of
the Five Safes (Desai, Ritchie and Welpton 2016) are filled as far as the release knows them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from deniable.evaluation.uses import GRADES
from deniable.privacy.loss import Guarantee
from deniable.record.statement import not_covered
from reports.figures.numbers import cost, guessed
from reports.figures.undeclared_logic import UndeclaredLogic
from reports.pages.attack_rows import AttackRow
from reports.pages.fitness import UNDECIDED, Fitness, next_to_nothing
from schemas.spec.accounts import Accounts
from schemas.spec.release_spec import ReleaseSpec

NOT_STATED: Final = "not stated; fill in"
NOT_TRIED: Final = (
    "Attacks with shadow releases, reconstruction, and differencing with other releases of these people were not tried."
)

BEFORE_SIGNING: Final = (
    "Do not sign before you know why they succeeded: the account bounds what attacks find only if every step ran as it "
    "states."
)


@dataclass(frozen=True)
class ToSign:
    """The sentence to sign.

    Attributes:
        at_most: what an adversary can learn at most, by the account.
        found: what attacks found.
        power: what they could have found.
        remains: what neither covers, one sentence each.
        good_for: what the release is good for.
        safes: the Five Safes, each with what the release knows of it.
    """

    at_most: str
    found: str
    power: str
    remains: tuple[str, ...]
    good_for: str
    safes: tuple[tuple[str, str], ...]

    @property
    def sentence(self) -> str:
        """All of it, as one text."""
        return " ".join(part for part in (self.at_most, self.found, self.power, self.good_for) if part)


def to_sign(
    spec: ReleaseSpec,
    accounts: Accounts,
    attacks: Sequence[AttackRow],
    fitness: Fitness | None,
    logic: UndeclaredLogic | None,
) -> ToSign:
    """Say what a reviewer signs.

    Args:
        spec: the release's spec.
        accounts: its privacy costs.
        attacks: the attacks; empty if none was carried out.
        fitness: what it is good for; None if that was not measured.
        logic: undeclared logic; None if none was sought.
    """
    return ToSign(
        at_most=_at_most(accounts),
        found=_found(attacks),
        power=_power(attacks, accounts.total),
        remains=tuple(_remains(accounts, attacks, fitness, logic)),
        good_for=_good_for(fitness),
        safes=tuple(_safes(spec, accounts, attacks, fitness)),
    )


def _at_most(accounts: Accounts) -> str:
    relation, total = accounts.relation, accounts.total
    if total is None or not relation.is_guarantee:
        return next_to_nothing(accounts)
    vacuous = " This bound is next to nothing." if total.is_vacuous else ""
    return (
        f"Anyone who sees the whole release and starts from {relation.even_odds} guesses {relation.guessed} correctly "
        f"at most {guessed(total)} of the time.{vacuous}"
    )


def _found(attacks: Sequence[AttackRow]) -> str:
    if not attacks:
        return "No attack was carried out, because no record was held out."
    succeeded = [each.figure.words for each in attacks if each.succeeds]
    tried = f"{len(attacks)} attacks were carried out on people used and on people not used"
    if not succeeded:
        return f"{tried}; none found anything beyond chance, which proves nothing."
    dangerous = f" {BEFORE_SIGNING}" if any(each.is_danger for each in attacks) else ""
    return f"{tried}; {len(succeeded)} succeeded: {'; '.join(succeeded)}.{dangerous}"


def _power(attacks: Sequence[AttackRow], total: Guarantee | None) -> str:
    """What would have been found four times out of five, beside what the account allows."""
    known = [(each.detectable, each.figure.words) for each in attacks if each.detectable is not None]
    if not known:
        return ""
    least, most = min(known), max(known)
    said = (
        f"They would have found excesses of {least[0]:.3f} ({least[1]}) to {most[0]:.3f} ({most[1]}) four times out of "
        "five."
    )
    if total is None or total.is_vacuous:
        return said
    # An advantage is the difference between hits and false alarms: twice the bound on guesses, less 1.
    allowed = 2 * total.guessing_bound - 1
    blunt = " None of them could have found as little as that." if least[0] > allowed else ""
    return f"{said} The account allows an advantage of {allowed:.3f} to the best possible attack.{blunt}"


def _remains(
    accounts: Accounts, attacks: Sequence[AttackRow], fitness: Fitness | None, logic: UndeclaredLogic | None
) -> Iterator[str]:
    if attacks:
        yield NOT_TRIED
    if fitness is not None:
        undecided = [each.use.words for each in fitness.uses if each.verdict == UNDECIDED]
        if undecided:
            yield f"Too few records were held out to decide on {', '.join(undecided)}."
        if fitness.failed:
            yield f"{fitness.failed} of {fitness.judged} groups are described worse than is usable."
        if fitness.too_small:
            yield f"{fitness.too_small} groups are too small to be judged."
    if logic is not None and logic.broken:
        yield f"Released records break {logic.broken} of {logic.found} patterns that all real records satisfy."
    yield from (f"{each[0].upper()}{each[1:].rstrip('.')}." for each in not_covered(accounts.relation))


def _good_for(fitness: Fitness | None) -> str:
    if fitness is None:
        return ""
    good, refused = (fitness.are(grade) for grade in (GRADES[-1], GRADES[0]))
    said = f"The release is good for {', '.join(good) or 'no use that was judged'}"
    return f"{said}, and not to be used for {', '.join(refused)}." if refused else f"{said}."


def _safes(
    spec: ReleaseSpec, accounts: Accounts, attacks: Sequence[AttackRow], fitness: Fitness | None
) -> Iterator[tuple[str, str]]:
    about = spec.publication
    purpose, basis, terms = (
        (None, None, None) if about is None else (about.purpose, about.legal_basis, about.conditions or about.licence)
    )
    yield "Safe project", f"Meant for: {purpose or NOT_STATED}. Legal basis: {basis or NOT_STATED}."
    yield "Safe people", f"Anyone may read what is published. Terms: {terms or NOT_STATED}."
    yield "Safe settings", "None: the release is made to be safe without any. This page is internal."
    total = accounts.total
    bound = "no differential privacy" if total is None else f"ε = {cost(total.epsilon)}, δ = {cost(total.delta)}"
    yield "Safe data", f"The privacy unit is {accounts.relation.unit}; {bound}; charged to {spec.dataset_name}."
    succeeded = sum(each.succeeds is True for each in attacks)
    outputs = f"{succeeded} of {len(attacks)} attacks succeeded" if attacks else "attacks were not carried out"
    good = "" if fitness is None else f"; good for {len(fitness.are(GRADES[-1]))} of {len(fitness.uses)} uses"
    yield "Safe outputs", f"{outputs[0].upper()}{outputs[1:]}{good}."
