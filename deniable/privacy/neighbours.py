"""Which tables are neighbouring, and so what a guarantee protects and what it leaves out: a value for each relation.

Whatever a release states about its guarantee, apart from the figures, is rendered from its Relation: statement, pages,
plan, messages and MLflow's texts, the meters and the list of what is not covered. A sentence that speaks of the
protected thing takes it from here, so that no page speaks of another relation. Which relation a release has follows
from its spec and its schema (`deniable.learners.registry.relation_of`); the figures do not belong here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from deniable.foundation.errors import InvalidInput

Kind = Literal["record", "person", "origin", "answers", "none"]

REPLACED: Final = "-replaced"
"""The suffix of the name of a dataset in whose ledger all guarantees are for a part of one record replaced."""

COMPUTATIONAL: Final = (
    "computationally bounded: the theorems assume true randomness, and all random numbers come from ChaCha20 under "
    "keys that HMAC-SHA256 derives from a secret key; epsilon and delta hold against those who can break neither, and "
    "nothing is claimed about an adversary with unlimited computing power"
)
"""The adversary against whom a guarantee holds (NIST SP 800-226)."""


@dataclass(frozen=True, kw_only=True)
class Relation:
    """A neighbouring relation with its privacy unit, in data and in words.

    Attributes:
        kind: its name.
        unit: the privacy unit.
        neighbouring: the definition of neighbouring tables, a continuation of "two tables are neighbouring if".
        differ_by: a continuation of "if they differ by".
        changed: the same, with the kind of change.
        hidden: what an outcome reveals little about: a clause that begins with a question word; empty if nothing.
        guessed: the same for a meter, as the object of "guesses"; empty if there is nothing to measure.
        even_odds: the odds from which such a guess starts.
        holds: for whom the guarantee is stated, and against whom: one or two sentences.
        one: one of those that are selected together or not at all.
        several: the plural of `one`.
        most_records: the most records of one person that are used.
        sampling: what a secret split of the records does to epsilon, if it does not lower it.
        left_out: what the relation leaves out, the first lines of the list of what is not covered.
        conditions: on what the guarantee of this learner rests besides; listed before what is left out.
        why_none: why nothing is guaranteed, if the learner is the reason; no noise is added then.
    """

    kind: Kind
    unit: str
    neighbouring: str
    differ_by: str
    changed: str
    hidden: str
    guessed: str
    even_odds: str
    holds: str
    one: str
    several: str
    most_records: int = 1
    sampling: str = ""
    left_out: tuple[str, ...]
    conditions: tuple[str, ...] = ()
    why_none: str = ""

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What the guarantee does not cover because of the relation."""
        return *self.conditions, *self.left_out

    @property
    def is_guarantee(self) -> bool:
        """Whether anything is guaranteed at all."""
        return self.kind != "none"

    @property
    def is_replacement(self) -> bool:
        """Whether neighbouring tables have the same records but for a part of one, so that no presence is hidden."""
        return self.kind in ("origin", "answers")


RECORD: Final = Relation(
    kind="record",
    unit="one record",
    neighbouring="one is the other with one record added or removed",
    differ_by="one record",
    changed="one record added or removed",
    hidden="whether a given record was in the table",
    guessed="whether a given record was in the confidential table",
    even_odds="even odds",
    holds="The guarantee is stated for each record of the confidential table separately. It holds even against someone "
    "who knows all the other records",
    one="record",
    several="records",
    left_out=(
        (
            "People with several records. With r records, epsilon is r times as large, and delta is up to "
            "r e^((r-1) epsilon) times as large."
        ),
    ),
)
"""One record added or removed: the relation of a learner that states no other, for a schema that names no people."""

ORIGIN: Final = Relation(
    kind="origin",
    unit="the origin of one worker whose destination is known",
    neighbouring=(
        "one is the other with one worker's origin replaced; the destination of each worker, and so the number of "
        "workers of each destination, is public"
    ),
    differ_by="the origin of one worker",
    changed="the origin of one worker replaced by another",
    hidden="which of two origins a worker has, given the worker's destination",
    guessed="which of two given origins a worker has whose destination they know",
    even_odds="even odds between the two",
    holds=(
        "The guarantee is stated for the origin of each worker separately, given the destination. It holds even "
        "against someone who knows the destinations of all workers and the origins of all the others"
    ),
    one="worker",
    several="workers",
    sampling=(
        "a secret split of the records does not lower epsilon, because neighbouring tables have the same workers; "
        "the costs of steps are stated as large as its accounting needs them for the total to be the claim"
    ),
    left_out=(
        (
            "Presence. The number of workers of each destination is published exactly (`urns.json`). If it is the "
            "number in the confidential table, anyone who knows all the workers but one can read off with certainty "
            "whether that one is in the table."
        ),
        "The destination of a worker. It is read off from the same numbers, in the same way. Nothing hides it.",
        (
            "Workers with several origins, such as those who have several rows. With r rows, epsilon for all of their "
            "origins together is r times as large, and delta is up to r e^((r-1) epsilon) times as large."
        ),
    ),
)
"""One worker's origin replaced within the destination, which is public, as are the exact numbers of workers."""

ANSWERS: Final = Relation(
    kind="answers",
    unit="one respondent, replacement of all answers",
    neighbouring="they are two sets of answers of one person (replacement)",
    differ_by="the answers of one respondent",
    changed="all answers of one respondent replaced by others",
    hidden="which of two sets of answers a respondent has",
    guessed="which of two given sets of answers a respondent has",
    even_odds="even odds between the two",
    holds="The guarantee is stated for each respondent separately. It holds against the collector too, and against "
    "someone who knows the answers of everyone else",
    one="respondent",
    several="respondents",
    left_out=(
        "Participation. That someone took part at all is not hidden.",
        "Other surveys. The epsilons of several questions to one person add up, and so do those of several surveys.",
        "What a respondent tells others, and other knowledge about a respondent.",
    ),
)
"""Local responses: each respondent randomizes the answers, and no confidential table exists."""

NOTHING_HIDDEN: Final = Relation(
    kind="none",
    unit="none: nothing is guaranteed for a record or for a person",
    neighbouring="none: whatever two tables differ by, the difference may be revealed with certainty",
    differ_by="",
    changed="",
    hidden="",
    guessed="",
    even_odds="",
    holds="Nothing is guaranteed to anyone whose records were used",
    one="record",
    several="records",
    left_out=(
        (
            "Anyone whose records were used. Nothing bounds what the release reveals about them: not about their "
            "presence, and not about any of their values."
        ),
        "Anyone else. What the records of others reveal about a person is not protected either.",
        "Other releases made from the same records. Together with this one they may reveal more than each by itself.",
        (
            "The fact that the release was published, and the time of its publication. Exact figures of the real "
            "records decide it; PRIVACY.md lists them."
        ),
    ),
)
"""No guarantee: the randomness of the draws depends on the confidential records."""

PUBLIC_RECORDS: Final = replace(
    NOTHING_HIDDEN,
    conditions=(
        (
            "Records that are not public. The spec states that anyone may read the table, and the producers vouch for "
            "it. Counts entered the model without noise, nothing was charged, and the release may reveal any record of "
            "the table with certainty."
        ),
    ),
    why_none="counts have no noise, because the table is public",
)
"""No guarantee: a model of public records, learnt without noise."""

_PERSON: Final = replace(
    RECORD,
    kind="person",
    differ_by="all records of one person",
    changed="all records of one person added or removed",
    hidden="whether a given person was in the table",
    guessed="whether a given person was in the confidential table",
    holds=(
        "The guarantee is stated for each person in the confidential table separately, with all their records. It "
        "holds even against someone who knows all records of everyone else"
    ),
)
_OF_PERSON: Final = "one is the other with all records of one person added or removed; of each person {used}"
_SEVERAL_IDENTIFIERS: Final = (
    "People with several values of {column}. Each value counts as a person of its own, and a person with r of them is "
    "protected with r times the epsilon, and up to r e^((r-1) epsilon) times the delta."
)


def records_used(most_records: int, of: str = "") -> str:
    """How many records of each person are used, in words.

    Args:
        most_records: the most records of one person that are used.
        of: whose they are, if the sentence does not begin with that.
    """
    if most_records == 1:
        return f"one record{of}, chosen at random, is used"
    return f"at most {most_records} records{of}, chosen at random, are used"


def of_people(relation: Relation, person: Mapping[str, Any] | None) -> Relation:
    """The relation of a learner for the people of a schema.

    Args:
        relation: the learner's, for tables in which nobody has several records.
        person: the people, as in the record, if the table may have several records of each; otherwise None.

    Raises:
        InvalidInput: the learner's guarantee is not for one record added or removed, so it does not extend to people.
    """
    if person is None or not relation.is_guarantee:
        return relation
    if relation.kind != RECORD.kind:
        raise InvalidInput(
            f"a schema that names people must have a learner whose guarantee is for a record added or removed, got one "
            f"for {relation.unit}; choose another learner."
        )
    column, most = person["column"], person["most_records"]
    return replace(
        _PERSON,
        unit=f"one person (all records with the same {column})",
        neighbouring=_OF_PERSON.format(used=records_used(most)),
        most_records=most,
        left_out=(_SEVERAL_IDENTIFIERS.format(column=column),),
        conditions=relation.conditions,
        one="record" if most == 1 else "person",
        several="records" if most == 1 else "people",
    )
