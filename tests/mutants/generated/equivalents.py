"""Generated mutants that no test can find, each with a proof.

All outputs keep their distributions, and no charge shrinks.
"""

from dataclasses import dataclass

from tests.mutants.generated.generating import Generated


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Why mutants change nothing.

    Attributes:
        mutants: their names, with what is replaced by what, so that a reader need not look them up.
        proof: the reason.
    """

    mutants: dict[str, str]
    proof: str


PROOFS: tuple[Proof, ...] = (
    Proof(
        mutants={
            "0a0de0677f48": "the stream of the first choice does not depend on the domain",
            "8c4fed4901b8": "the first choice with twice the epsilon",
            "76936cef386d": "the best first candidate if it is far ahead",
            "6c5bb02009c1": "only first candidates with positive scores",
        },
        proof="All scores of the first choice are 0. The choice is uniform for every epsilon, no candidate is ahead, "
        "all are offered if none is positive, and nothing of it depends on data, whatever its words.",
    ),
    Proof(
        mutants={"23d49dcd9f2b": "all scores of the first choice are 1"},
        proof="A choice looks at how far candidates are behind the best one alone: if all scores are equal, nothing "
        "depends on them.",
    ),
    Proof(
        mutants={
            "65255c2f6475": "parents in the order of their choice",
            "647c8645e6f9": "parents of the first table in the order of their choice",
        },
        proof="Parents are a set: their order decides how a table is laid out, not what is counted, chosen or drawn. "
        "It follows from choices that were already made and charged.",
    ),
    Proof(
        mutants={"7dfe9e03c0b6": "drawn sets of parents in the order of a set"},
        proof="The order of a set of tuples of integers is a function of its members, which are public. The "
        "probability of a candidate does not depend on its place.",
    ),
    Proof(
        mutants={"40334fd3310f": "families counted in the order in which they are given"},
        proof="Each family has a table of its own, and sums of integers do not depend on the order.",
    ),
    Proof(
        mutants={
            "a9ac0a7405a6": "twice as many zeros at a time",
            "540238900745": "half as many zeros at a time",
        },
        proof="The keystream is that of one cipher, which continues where it stopped: the words do not depend on how "
        "many zeros are encrypted at a time.",
    ),
    Proof(
        mutants={
            "0d998f229363": "count >= end - start",
            "0fd5c0da7b34": "count >= len(buffer) - start",
        },
        proof="Where the two sides are equal, the changed branch fills no word, moves the words ahead to the beginning "
        "of the buffer: the same words come in the same order.",
    ),
    Proof(
        mutants={"15a7c6c9314d": "start and end are 1 in an empty buffer"},
        proof="Only the difference of the two is used until the first words are requested, which sets both.",
    ),
    Proof(
        mutants={"acc3786a0ae7": "streams without a chunk are those of chunk 1"},
        proof="No draw is opened both with and without a chunk, so no two draws come to share a stream. The number "
        "itself is only a part of a name.",
    ),
    Proof(
        mutants={
            "30c40e23f639": "the stream of a response does not depend on the number of values",
            "cd9b4f7d6c7c": "the stream of a response does not depend on the ratio",
            "c77b7ae007a5": "the stream of a response does not depend on the kind of design",
        },
        proof="The inputs of the stream are the digest of the survey, which covers the design of each question: the "
        "name of the question determines all three.",
    ),
    Proof(
        mutants={"87e3cc85909f": "another name of the step of responses"},
        proof="A respondent's key is used by this step only; what it is called makes no two streams equal.",
    ),
    Proof(
        mutants={
            "1502c4fc52c6": "another name of the step that keeps some records of each person",
            "232ee40904c2": "another name of the step that splits",
            "a3c3d40fe1f8": "another name of the step that draws numbers within bins",
        },
        proof="Each of the three names its step at this one place. No step has the other name, so no stream of another "
        "step becomes equal to one of these.",
    ),
    Proof(
        mutants={"09d963c9d6f6": "the search for the threshold goes up while the tail >= probability"},
        proof="The second loop goes down as long as the tail of the number below is at most the probability: from "
        "wherever the first one stopped, it ends at the smallest such number.",
    ),
    Proof(
        mutants={"0e7c054317d4": "a search that has ended is recognised by a difference below 1"},
        proof="The two differ where high = low + 1. There, the middle is low, and `enough` is false: the lower end "
        "becomes low in both cases.",
    ),
    Proof(
        mutants={
            "080bbef54c15": "twice as many rows before integers of any size are used",
            "08a1e97d9ff5": "integers of any size at exactly 2^30 rows",
        },
        proof="For n <= 2^31 rows, products are at most n^2 = 2^62, and the sum of absolute values is below 2 n^2 = "
        "2^63: 64-bit integers are exact, and give what integers of any size give.",
    ),
    Proof(
        mutants={
            "060e7e01948c": "63 spare words are looked at",
            "0aeaef82708f": "63 spare words are looked at by inversion",
        },
        proof="Words are only looked at; those that were used are skipped. How many are looked at decides how many are "
        "drawn from them at a time, not which word serves which record.",
    ),
    Proof(
        mutants={"ac83f21b10e8": "seeds of attributes of one value are drawn, too"},
        proof="The only value is drawn with certainty. Words for it are used up: other draws have later words of the "
        "same stream, which are as uniform and independent.",
    ),
    Proof(
        mutants={"0174792a0baf": "the sentinel before the first probability is 2"},
        proof="It only keeps the loop going at the first turn, for which any number but 0 serves, and is left out of "
        "the result.",
    ),
    Proof(
        mutants={"0a3e7ef5c6c4": "tied pairs in the order in which they were measured"},
        proof="What is made of them, `values_within`, is sorted.",
    ),
    Proof(
        mutants={"032d565fbf6f": "the scale of no table is 0"},
        proof="The degree is below the number of attributes of several values: there is a table if there is one such "
        "attribute. If there is none, no noise is drawn, and there is no event: the scale is not used.",
    ),
    Proof(
        mutants={"00cd7b50ef45": "curves of equal means are computed, too"},
        proof="The curve of two equal means is max(0, 1 - e^epsilon), with which both envelopes begin.",
    ),
    Proof(
        mutants={"01b8acd4fdbb": "the curve for removing a row is not looked at where no row has the prefix"},
        proof="Let G be the Gaussian curve, H = 1 - G, e the epsilon, and b the mean with the row. Adding it costs "
        "e^-b G(e + b) + 1 - e^-b = 1 - e^-b H(e + b), and removing it G(e - b) = 1 - e^(e - b) H(b - e), as H(-t) = "
        "e^-t H(t). The former is no smaller if H(b + e) <= e^e H(b - e), that is if K(b + e) <= K(b - e) for K(t) = "
        "e^(-t / 2) H(t). K(t) is the mean of e^(-|L - t| / 2) for a normal L with mean 0, up to a factor. A "
        "convolution of two even functions that fall with the distance from 0 is such a function, and |b - e| <= b + "
        "e: the maximum of the two is always the former.",
    ),
    Proof(
        mutants={"0fb423027dd6": "measured tables in the order of a set"},
        proof="The order of a set of tuples of integers is a function of its members, which are public: candidates "
        "depend on what was released before, as they do in any order.",
    ),
    Proof(
        mutants={"0426c99e22f5": "the margin of a logarithm is 1e-59"},
        proof="The logarithm has 80 digits, so that with any margin from 1e-78 on the result is an upper bound. It is "
        "rounded up to 20 decimals, and differs only if the next 39 digits are all 0 or all 9.",
    ),
    Proof(
        mutants={"048f0cd20711": "a plan of degree 1"},
        proof="A network is made of the tables that are given; the degree of its plan is not read.",
    ),
    Proof(
        mutants={"090425d03fe3": "the sum of a tail goes on where its last ratios are equal"},
        proof="There the last term is below 1e-18 of the sum, and each later one is below half of the one before: all "
        "of them together are below half a unit of the last digit of the sum.",
    ),
    Proof(
        mutants={"0a51fcf9ea85": "a draw that ends at word 0 has not ended"},
        proof="A draw that is finished has used at least two words and ends behind them; one that is not ends at a "
        "negative number. None ends at 0.",
    ),
    Proof(
        mutants={"0c4cf225776f": "a tail is rounded up by two units"},
        proof="A unit is below 2^-128 of the largest term and, with the digits that the exponent adds, below 2^-127 of "
        "the tail: the bound still exceeds it by less than a part in 10^30, as it says.",
    ),
    Proof(
        mutants={"0b7b2ca35cfc": "one more value of Gaussian noise"},
        proof="The value is beyond the reach, from which on all values together have a probability that is below the "
        "last digit of the sum of the others.",
    ),
    Proof(
        mutants={"24d360233b3c": "no number of rows is small enough for 64 bits"},
        proof="All sums are then of Python's integers, which have any size: they are the same.",
    ),
    Proof(
        mutants={"30f506743c66": "each attribute has two parts of the budget"},
        proof="The whole has twice as many parts: each attribute has the same share.",
    ),
    Proof(
        mutants={"82a964c9052b": "keys are tables of a network of at most two cells"},
        proof="A network is made of the tables that are given; the largest size of a candidate is not read.",
    ),
    Proof(
        mutants={"e8db291f185b": "keys of the attributes before each one, and of itself"},
        proof="The order of an attribute names the others alone: it is refused otherwise.",
    ),
    Proof(
        mutants={
            "811495347c10": "public workers in the order of the spec",
            "3788de3a4122": "destinations of domain sampling in the order of the spec",
            "c9a41bc4ea3f": "origins of domain sampling in the order of the spec",
        },
        proof="The order is that of a public spec. Two specs that say the same in another order then open different "
        "streams; none that say different things come to share one.",
    ),
    Proof(
        mutants={"10998794ffbe": "two rows of -2 words"},
        proof="NumPy takes any negative size as the one that follows from the others.",
    ),
    Proof(
        mutants={"140f3bb4ff16": "more spare words after progress, and not without"},
        proof="Words are only looked at; those that were used are skipped. 64 spare words are 32 further draws, each "
        "of which is redrawn with a probability below 2^-11: they end, by either rule, with the same words.",
    ),
    Proof(
        mutants={"09df359617e9": "the product and the sum of logarithms in each other's place"},
        proof="Both are exp(start) times the sum. Where the first term is below e^-700 and the sum finite, the bound "
        "is far above the mean, and the tail below 1e-300 by either; or far below it, and the sum is above e^700, "
        "which leaves exp(start) a normal number. Elsewhere, rounding differs by a part in 10^12, and the bound has a "
        "margin of a part in 10^6.",
    ),
    Proof(
        mutants={"542e26917a1b": "the streams of all urns are those of chunk 1"},
        proof="All urns are opened so, and distinguished by their numbers: no two draws come to share a stream.",
    ),
    Proof(
        mutants={"40952eb3aa18": "the logarithm of an empty share is that of 2"},
        proof="It is multiplied by the share, which is 0.",
    ),
    Proof(
        mutants={"32a30ad361ad": "draws without any guarantee are two outputs"},
        proof="Their deltas together are at most 1, with which one output is charged already.",
    ),
    Proof(
        mutants={"ed17ae6bc72a": "values without seed weights have weight 2 each"},
        proof="Each value has the same part of the words: their probabilities are those of weight 1 each, and no data "
        "are involved.",
    ),
    Proof(
        mutants={"31f8b41dadf1": "rho is rounded in the direction -2"},
        proof="Rounding looks at the sign of the direction alone: down in both cases.",
    ),
    Proof(
        mutants={"380c3616dfb9": "the variance of no table is 2"},
        proof="Without an attribute of several values nothing is measured: no noise of that variance is drawn, and no "
        "event names it.",
    ),
    Proof(
        mutants={"4909814ee8ce": "one more variance where events are missing"},
        proof="Of the variances, as many are read as there are tables, from the first on.",
    ),
    Proof(
        mutants={"919e8643dfb8": "the stream of the model's records does not name their number"},
        proof="The number is a constant of the code: no two draws differ in it.",
    ),
    Proof(
        mutants={"25662fcd1de0": "one more value of the noise of a certificate"},
        proof="The value is 40 standard deviations away: it is below the last digit of the sum of the others.",
    ),
    Proof(
        mutants={"182ed19fcc80": "the search for the excess begins at 1"},
        proof="The second loop goes down as long as the tail of the number below is at most the probability, to 0 if "
        "need be.",
    ),
    Proof(
        mutants={
            "ed5da9e55429": "the threshold has noise only if k is above 0",
            "0c831f9e73ac": "the threshold has noise only if the sum of k is above 0",
            "882d7579db1c": "the threshold of the kernel has noise only if k is above 0",
        },
        proof="A test with k below 1 is refused: k is above 0.",
    ),
    Proof(
        mutants={"0571f41bcd9b": "eps0 is checked together with k = 2"},
        proof="The check refuses k below 1, which neither number is, and looks at eps0 by itself.",
    ),
    Proof(
        mutants={"0430e3135e78": "a quotient at exactly the distance from a bound is worked out in fractions"},
        proof="Fractions find the bucket by its definition. At that distance, the logarithm finds the same one.",
    ),
    Proof(
        mutants={"661698dbbdd9": "the numbers of copied values in the order of the spec"},
        proof="The order is that of a public spec. Two specs that say the same in another order then open different "
        "streams; none that say different things come to share one.",
    ),
    Proof(
        mutants={"04292376240b": "a law that takes exactly the most steps is refused"},
        proof="The limit is on the time of a computation: what is refused is neither charged nor drawn.",
    ),
    Proof(
        mutants={"09aa8e855e3d": "a curve is bounded at one point less"},
        proof="The points between two are bounded by the line through their bounds, which lies above the curve however "
        "far the two are apart.",
    ),
    Proof(
        mutants={"02e6cc73f9f6": "numbers up to 8 deviations, and 45, beyond the mean bound a law that is sought"},
        proof="The bound guides the search for a law. What the law that is found costs is then computed at every "
        "count, rounded up.",
    ),
    Proof(
        mutants={
            "07f2a512f70f": "the search for a law ends where the logarithms of shares are exactly so narrow",
            "086c04ed976b": "the search for a shift goes on where its ends are exactly so near",
        },
        proof="The search ends one step sooner or later, with an end that was found to be good: its cost is within the "
        "budget in both cases.",
    ),
    Proof(
        mutants={"067ba3bc9748": "the best number is sought up to one below the largest"},
        proof="Its neighbours are tried as well, among them the largest: all that was tried from one above it, and one "
        "number more. A maximum over more numbers bounds the curve, too.",
    ),
    Proof(
        mutants={
            "f8d2a5363b9c": "the curve counts only if what is left out is above 0",
            "ac2909795433": "the curve counts twice if what is left out is at least 1",
        },
        proof="What is left out is a constant, 1e-35: it is above 0, and below 1.",
    ),
    Proof(
        mutants={"7ce445826f61": "a baseline without noise needs both `noise: none` and no budget"},
        proof="A spec has a budget for counts exactly if they have noise: it is refused otherwise.",
    ),
)

_BY_NAME = {name: proof.proof for proof in PROOFS for name in proof.mutants}


def equivalent(mutant: Generated) -> str | None:
    """The proof that a mutant changes nothing, if there is one."""
    return _BY_NAME.get(mutant.name)
