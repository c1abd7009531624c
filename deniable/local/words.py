"""The texts about a survey's guarantee: the published statement, and the plan.

Both follow from the survey and from counts of lines; `verify` regenerates the statement and compares it.
"""

from collections.abc import Iterator
from fractions import Fraction

from deniable.local.designs import better_at_zero
from deniable.local.survey import Question, Survey
from deniable.privacy.loss import VACUOUS_EPSILON
from deniable.privacy.neighbours import ANSWERS, COMPUTATIONAL
from deniable.privacy.rounding import rounded_up

VERSION = 2
"""Version of new statements; `verify` accepts those of earlier versions too."""
_FIRST = 1
_OF_EVERY_SURVEY = (
    "What is learnt about the population. That many people have an answer is found with or without any one person.",
    "The release of a respondent's key, or of what the respondent's machine or program did with the answers.",
    "Errors in the program. The proofs are about what the program should do; that it does so is tested, not proved.",
)
_PROCEDURES = {
    "warner": "With probability {p} the response is the answer, otherwise the other possible answer.",
    "forced": "With probability {f} the response is one of the two possible answers, each equally probable; otherwise "
    "it is the answer.",
    "k_rr": "With probability {p} the response is the answer; otherwise it is one of the {rest} others, each equally "
    "probable.",
    "oue": "The response has a bit for each possible answer: that of the answer is set with probability 1/2, every "
    "other with probability {q}.",
}


def guarantee_in_words(survey: Survey) -> str:
    """The guarantee for one respondent, in a sentence."""
    vacuous = f" Above {VACUOUS_EPSILON:g} such a guarantee is vacuous." if survey.epsilon > VACUOUS_EPSILON else ""
    return (
        f"Local differential privacy, epsilon {rounded_up(survey.epsilon)} for all responses of one respondent "
        f"together, delta 0.{vacuous}"
    )


def question_lines(question: Question) -> Iterator[str]:
    """The design of a question and its cost."""
    design = question.design
    p, q = design.support
    procedure = _PROCEDURES[design.kind].format(
        p=_probability(p), q=_probability(q), f=_probability(design.forced), rest=design.values - 1
    )
    yield f"{question.name}: {design.kind}, epsilon {rounded_up(design.epsilon)}, {design.values} possible answers"
    yield procedure


def plan_lines(survey: Survey) -> Iterator[str]:
    """The plan of a survey before any response: each respondent's cost, and the most accurate design."""
    yield f"{survey.title}"
    yield f"survey {survey.name}, SHA-256 {survey.digest}"
    yield ""
    for question in survey.questions:
        for number, line in enumerate(question_lines(question)):
            yield line if number == 0 else f"  {line}"
        deviation = question.design.zero_variance**0.5
        yield f"  standard error of the share of a rare value: {deviation:.3g} / sqrt(respondents)"
        better = better_at_zero(question.design.values, question.design.ratio)
        if question.design.kind in {"k_rr", "oue"} and question.design.kind != better:
            yield f"  at this epsilon {better} would have a smaller standard error"
    yield ""
    yield guarantee_in_words(survey)
    yield "It holds against the collector too. Nothing is charged to a ledger: no confidential data are collected."


def statement_text(
    survey: Survey, respondents: int, repeated: int, unreadable: int, level: Fraction, version: int = VERSION
) -> str:
    """PRIVACY.md of a published survey.

    Args:
        survey: the survey.
        respondents: number of respondents.
        repeated: number of lines omitted because their respondent had already responded.
        unreadable: number of lines omitted because they were not responses to this survey.
        level: confidence level of the intervals.
        version: of the statement; the first did not list what is not covered.
    """
    not_covered = "".join(f"- {line}\n" for line in (*ANSWERS.not_covered, *_OF_EVERY_SURVEY))
    since_second = f"""
## The terms

The privacy unit is {ANSWERS.unit}. Two inputs are neighbouring if {ANSWERS.neighbouring}. The smaller epsilon is, the
less the responses reveal about {ANSWERS.hidden}. {ANSWERS.holds}. The guarantee is against an adversary who is
{COMPUTATIONAL}.

## What this does not cover

{not_covered}"""
    questions = "\n\n".join(
        f"- **{first}.** {second}" for first, second in map(tuple, map(question_lines, survey.questions))
    )
    return f"""# Privacy of the survey {survey.name}

{guarantee_in_words(survey)}

Each respondent drew the responses below from the answers, with a key that only the respondent has. The collector never
had the answers. Whatever a person's answers are, they make no responses more than e^epsilon times as probable as other
answers would. Neighbours are two sets of answers of one person (replacement); that someone took part at all is not
hidden. The epsilons of several questions to one person add up, and so do those of several surveys.

{questions}

Published are the responses of {respondents:,} respondents, sorted, without pseudonyms, and estimates made from them.
{repeated:,} lines were left out because their respondent had responded before, {unreadable:,} because they were no
response to this survey. Anything computed from the responses has the same guarantee and costs nothing more.

The intervals cover with a probability of {float(level):g} at least if respondents are a random sample of the population
and follow the procedure. Randomization protects no one's answer from a respondent who tells it, and estimates do not
allow for respondents who lie.
{since_second if version > _FIRST else ""}"""


def _probability(number: Fraction) -> str:
    """A probability, exact if that is short."""
    return str(number) if number.denominator <= 1000 else f"{float(number):.6g}"
