"""All mutants."""

from tests.mutants import (
    accounts,
    aim,
    approvals,
    budgets,
    candidates,
    discovery,
    flows,
    inference,
    learners,
    local,
    loglinear,
    measurements,
    mst,
    randomness,
    rules,
    urns,
)
from tests.mutants.mutant import Equivalent, Mutant

MUTANTS: tuple[Mutant, ...] = (
    *randomness.MUTANTS,
    *learners.MUTANTS,
    *loglinear.MUTANTS,
    *measurements.MUTANTS,
    *aim.MUTANTS,
    *mst.MUTANTS,
    *local.MUTANTS,
    *flows.MUTANTS,
    *candidates.MUTANTS,
    *discovery.MUTANTS,
    *accounts.MUTANTS,
    *approvals.MUTANTS,
    *budgets.MUTANTS,
    *urns.MUTANTS,
    *rules.MUTANTS,
    *inference.MUTANTS,
)

EQUIVALENT: tuple[Equivalent, ...] = (
    Equivalent(
        file="deniable/learners/loglinear/exponential_mechanism.py",
        before="_DEEPEST = 256",
        after="_DEEPEST = 64",
        proof="A candidate is proposed with weight 2^-l and accepted with probability 2^l exp(-x), with the same l, so "
        "that the weights cancel: Pr[i] is proportional to exp(-x_i) for every l with 2^-l >= exp(-x_i). The cap only "
        "makes l smaller, which keeps that inequality.",
    ),
    Equivalent(
        file="deniable/foundation/noise.py",
        before="            return uniform < threshold",
        after="            return uniform <= threshold",
        proof="The line is reached only where the two differ.",
    ),
    Equivalent(
        file="deniable/foundation/exact_probabilities.py",
        before="_tail_sums(linear, quadratic, bits + guard_bits, cut_off)",
        after="_tail_sums(linear, quadratic, guard_bits, cut_off)",
        proof="A digit is given only where a lower and an upper bound agree on it; until they do, all is done again "
        "with twice the guard bits. Fewer bits at first mean more rounds and the same digits.",
    ),
    Equivalent(
        file="deniable/plausible_deniability/privacy_tests.py",
        before="while exact * base**found > 1:",
        after="while exact * base**found >= 1:",
        proof="At a bound the number becomes one too small, and the next loop, which goes on while the product with "
        "one more power is at most 1, makes it larger by one again.",
    ),
    Equivalent(
        file="deniable/ledger/budget.py",
        before="if charge.part != ALL_ROWS else",
        after="if True else",
        proof="Charges to all rows have probability 1 and no split: those under one key come to their sum, and so do "
        "those under several keys, whether they are added up at once or key by key.",
    ),
    Equivalent(
        file="deniable/privacy/composition.py",
        before="    kept = min(kept, 1.0)",
        after="    kept = kept",
        proof="Delta may come out larger, by a part in 10^12 at most, and never smaller: the bound still holds.",
    ),
)
