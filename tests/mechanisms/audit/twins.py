"""Small faults, by mechanism: each must be found by the parts of the audit that are named."""

from dataclasses import dataclass

from tests.mutants.mutant import Replacement


@dataclass(frozen=True, kw_only=True)
class Twin(Replacement):
    """A mechanism with a fault.

    Attributes:
        breaks: the fault, in words.
        subject: what is audited, by its name.
        parts: the parts of the audit that must find it.
    """

    breaks: str
    subject: str
    parts: tuple[str, ...]

    @property
    def takes_long(self) -> bool:
        """Whether it is tried at night alone: rounds are learnt from every table again."""
        return self.subject == "learner aim" and self.parts != ("streams",)


def twins(file: str, subject: str, *rows: tuple[str, str, str, str]) -> tuple[Twin, ...]:
    """Return twins of one file.

    Args:
        file: path from the checkout's root.
        subject: what is audited.
        rows: text that stands once in the file, what is put in its place, the fault, and the parts that find it,
            separated by spaces.
    """
    return tuple(
        Twin(file=file, subject=subject, before=before, after=after, breaks=breaks, parts=tuple(parts.split()))
        for before, after, breaks, parts in rows
    )


_HISTOGRAMS = "deniable/learners/independent/histograms.py"
_TABLES = "deniable/learners/pegs_noisy/steps.py"
_ADDED = "return table + law.sample(stream, table.size).reshape(table.shape)"

TWINS: tuple[Twin, ...] = (
    *twins(
        _TABLES,
        "learner pegs_noisy",
        (
            "table + noise.reshape(table.shape)",
            "table + 0 * noise.reshape(table.shape)",
            "the table and no noise: `table + 0 * noise`",
            "noise replay",
        ),
        (
            "table + noise.reshape(table.shape)",
            "table + noise.reshape(table.shape) * (table > 0)",
            "noise masked by counts",
            "noise replay",
        ),
        (
            "table + noise.reshape(table.shape)",
            "table + noise.reshape(table.shape) * (table.sum() > 0)",
            "no noise for a table without records",
            "noise replay",
        ),
        (
            (
                '            "attribute": domain.names[family.child],\n'
                '            "key": [domain.names[other] for other in family.parents],\n'
            ),
            "",
            "tables of all keys have one stream",
            "streams",
        ),
        ('            "scale": law.scale,\n', "", "tables under two budgets have one stream", "streams"),
        ('            "domain": domain.digest,\n', "", "tables under two schemas have one stream", "streams"),
        (
            "table + noise.reshape(table.shape)",
            "2 * table + noise.reshape(table.shape)",
            "records counted twice",
            "charge",
        ),
    ),
    *twins(
        _HISTOGRAMS,
        "learner independent",
        (
            "probabilities_of((counted + noise)[None, :])",
            "probabilities_of((counted + noise * (counted > 0))[None, :])",
            "empty bins have no noise",
            "noise replay",
        ),
        (
            '                "attribute": attribute.name,\n                "bins": own.tolist(),\n',
            "",
            "histograms of all attributes have one stream",
            "streams independence",
        ),
        ('                "attribute": attribute.name,\n', "", "equal histograms have one stream", "streams"),
        (
            "law = DiscreteLaplace(self.scale)",
            "law = DiscreteLaplace(self.scale / 2)",
            "half the noise that is charged",
            "charge",
        ),
        (
            'return count_events(noised_tables(self.domain), "laplace", self.scale)',
            'return count_events(noised_tables(self.domain) - 1, "laplace", self.scale)',
            "one charge fewer than there are histograms",
            "charge",
        ),
        (
            'open_stream(mechanism="histogram", parameters=parameters), len(counted))',
            'open_stream(mechanism="histogram", parameters=parameters), 1)',
            "one number of noise for all bins",
            "noise laws",
        ),
        (
            "probabilities_of((counted + noise)[None, :])",
            "probabilities_of(np.where(counted > 99, counted, counted + noise)[None, :])",
            "large counts are released as they are",
            "replay",
        ),
    ),
    *twins(
        "deniable/learners/privbayes/structure.py",
        "learner privbayes",
        (
            "                sensitivity=SENSITIVITY,\n                epsilon=self.plan.choice_epsilon,",
            "                sensitivity=SENSITIVITY,\n                epsilon=2 * self.plan.choice_epsilon,",
            "choices at twice their epsilon",
            "choices charge",
        ),
        (
            "sensitivity=SENSITIVITY,",
            "sensitivity=1,",
            "choices with less than the sensitivity of their scores",
            "choices",
        ),
        (
            "            chosen.append(candidates[picked])",
            "            chosen.append(sorted(candidates, key=lambda each: -scores[each])[picked])",
            "candidates in the order of exact scores",
            "replay",
        ),
        (
            '            stream = self.open_stream(\n                mechanism="choice",',
            (
                "            least = min(scores.values())\n"
                "            candidates = [own for own in candidates if scores[own] > least] or candidates\n"
                '            stream = self.open_stream(\n                mechanism="choice",'
            ),
            "candidates that exact scores filter",
            "replay",
        ),
        (
            '                    "turn": len(chosen),\n                    "candidates": len(candidates),\n',
            "",
            "choices of all rounds have one stream",
            "streams",
        ),
    ),
    *twins(
        "deniable/learners/privbayes/conditionals.py",
        "learner privbayes",
        (_ADDED, "return table", "tables without noise", "replay"),
        (
            (
                '                "attribute": domain.names[family.child],\n'
                '                "parents": [domain.names[parent] for parent in family.parents],\n'
            ),
            "",
            "tables of all families have one stream",
            "streams",
        ),
    ),
    *twins(
        "deniable/learners/mst/learning.py",
        "learner mst",
        (
            "        return queries.choose([scores[pair] for pair in those], those)\n",
            (
                "        own = [scores[pair] for pair in those]\n"
                "        picked = queries.choose(own, those)\n"
                "        ahead = sorted(own)[-1] > 2 * sorted(own)[-2] if len(own) > 1 else False\n"
                "        return own.index(max(own)) if ahead else picked\n"
            ),
            "the exact best pair where it is far ahead",
            "replay",
        ),
        (
            "        return queries.choose([scores[pair] for pair in those], those)\n",
            (
                "        held = [pair for pair in those if scores[pair] > 99] or those\n"
                "        return those.index(held[queries.choose([scores[pair] for pair in held], held)])\n"
            ),
            "pairs are offered if their exact scores are high",
            "replay",
        ),
        (
            "        return queries.choose([scores[pair] for pair in those], those)\n",
            (
                "        held = sorted(those, key=lambda pair: -scores[pair])\n"
                "        return those.index(held[queries.choose([scores[pair] for pair in held], held)])\n"
            ),
            "pairs are offered in the order of their exact scores",
            "replay",
        ),
    ),
    *twins(
        "deniable/learners/mst/measuring.py",
        "learner mst",
        (
            "picked = choose(scores, sensitivity=1, epsilon=self.plan.choice_epsilon, stream=stream)",
            "picked = scores.index(max(scores))",
            "pairs by exact scores",
            "replay",
        ),
        (
            "noise = DiscreteGaussian(law.amount)",
            "noise = DiscreteGaussian(law.amount / 2 if len(attributes) > 1 else law.amount)",
            "pairs with half the variance",
            "charge",
        ),
    ),
    *twins(
        "deniable/learners/mst/measuring.py",
        "learner nist_mst",
        (
            "noise = DiscreteGaussian(law.amount)",
            "noise = DiscreteGaussian(law.amount if self.plan.layout.choices else law.amount / 2)",
            "half the variance where the selection is public",
            "charge",
        ),
    ),
    *twins(
        "deniable/learners/mst/selection.py",
        "learner mst",
        (
            "return int(np.abs(counts - expected).sum())",
            "return int(np.square(counts - expected).sum())",
            "a score that a record moves by more than it says",
            "choices",
        ),
    ),
    *twins(
        "deniable/learners/aim/queries.py",
        "learner aim",
        (
            '            "turn": self._turn,\n            "candidates": len(scores),\n',
            '            "candidates": len(scores),\n',
            "choices of all rounds have one stream",
            "streams",
        ),
        (
            (
                '            "turn": self._turn,\n'
                '            "attributes": [self.plan.domain.names[i] for i in attributes],\n'
            ),
            "",
            "tables of all rounds have one stream",
            "streams",
        ),
        ("self.spent += rho", "self.spent += rho / 2", "half of what a query costs is counted", "charge"),
        (
            "counts + DiscreteGaussian(variance)",
            "counts + (counts != 0) * DiscreteGaussian(variance)",
            "empty cells have no noise",
            "noise replay",
        ),
    ),
    *twins(
        "deniable/learners/loglinear/measurements.py",
        "learner loglinear",
        (
            "noise.sum(axis=0)",
            "noise.sum(axis=0) * (counts != 0)",
            "empty cells have no noise",
            "noise replay",
        ),
    ),
    *twins(
        "deniable/learners/cfs/entropies.py",
        "learner cfs",
        (
            "unit = grid_sensitivity(rows_low)",
            "unit = grid_sensitivity(counts.rows)",
            "noise in proportion to the exact number of records",
            "replay",
        ),
        (
            "if rows_low < MIN_ROWS:",
            "if counts.rows < MIN_ROWS:",
            "a refusal by the exact number of records",
            "replay",
        ),
    ),
    *twins(
        "deniable/learners/cfs/parameters.py",
        "learner marginals",
        (
            '                "attribute": attribute.name,\n',
            "",
            "counts of all attributes have one stream",
            "streams",
        ),
        (
            "noisy = nearest_with_noisy_totals(table + noise.reshape(table.shape))",
            "noisy = np.maximum(nearest_with_noisy_totals(table + noise.reshape(table.shape)), table > 0)",
            "no value that occurs has a count of 0",
            "replay",
        ),
    ),
    *twins(
        "deniable/learners/pegs/orders.py",
        "sampler per_draw",
        (
            '{"scale": law.scale, "attributes": names, "domain": domain.digest}',
            '{"scale": law.scale, "domain": domain.digest}',
            "tables of all pairs have one stream",
            "streams",
        ),
    ),
    *twins(
        "deniable/learners/pegs/draws.py",
        "learner pegs",
        (
            'open_stream(mechanism="urns", parameters=parameters, chunk=chunk)',
            'open_stream(mechanism="urns", parameters=parameters, chunk=0)',
            "chunks of records are copies of each other",
            "chunks",
        ),
    ),
    *twins(
        "deniable/learners/pegs/steps.py",
        "learner pegs",
        (
            "    if entry.seed_file is None:\n        return _made(entry, domain, keys)\n",
            "",
            "seeds are records of the table",
            "replay",
        ),
    ),
    *twins(
        "deniable/learners/certified.py",
        "learner pegs_noisy with a certificate",
        (
            'counted = own.count(partial(SmallTables, partition, workload.pairs), "certificate").tables',
            (
                'counted = own.count(partial(SmallTables, partition, workload.pairs), "certificate").tables\n'
                "        held = [place for place, table in enumerate(counted) if table.all()] or range(len(counted))\n"
                "        counted = [counted[place] for place in held]\n"
                "        model = tuple(model[place] for place in held)"
            ),
            "a certificate of pairs that exact counts choose",
            "replay",
        ),
        (
            "largest_error(tables, model) + drawn",
            (
                "largest_error(*zip(*([each for each in zip(tables, model) if each[0].all()] or zip(tables, model))))"
                " + drawn"
            ),
            "a certificate of the tables without an empty cell",
            "charge",
        ),
        (
            "largest_error(tables, model) + drawn",
            "largest_error(tables, model) + 0 * drawn",
            "a certificate without noise",
            "noise replay",
        ),
    ),
    *twins(
        "deniable/samplers/histogram_seeds/noisy_histogram.py",
        "sampler histogram_seeds",
        (
            "noisy = counts.counts + noise",
            "noisy = counts.counts + noise * (counts.counts < 1000)",
            "counts of many have no noise",
            "noise replay",
        ),
        (
            "kept = noisy >= self.threshold",
            "kept = (noisy >= self.threshold) & (counts.counts >= self.threshold // 2)",
            "prefixes of few records are left out by exact counts",
            "replay",
        ),
    ),
    *twins(
        "deniable/learners/origin_destination/steps.py",
        "learner origin_destination",
        (
            'noisy = counts + law.sample(open_stream(mechanism="totals", parameters=parameters), len(counts))',
            'noisy = counts + 0 * law.sample(open_stream(mechanism="totals", parameters=parameters), len(counts))',
            "totals without noise",
            "noise replay",
        ),
    ),
    *twins(
        "deniable/discovery/answering.py",
        "discovery",
        (
            '        "column": question.column,\n        "epsilon": plan.epsilon_per_column,\n',
            '        "epsilon": plan.epsilon_per_column,\n',
            "columns of values have one stream",
            "streams",
        ),
        (
            '            "column": question.column,\n            "scale": law.scale,\n',
            '            "scale": law.scale,\n',
            "columns of numbers have one stream",
            "streams",
        ),
        (
            "if (place := place_of(text)) is not None:",
            "if (place := place_of(text)) is not None and len(counts) > 1:",
            "a number that all records have is not counted",
            "charge",
        ),
        (
            "tuple(each for each in found if each[1] >= plan.threshold)",
            "tuple(each for each in found if each[1] >= plan.threshold and counts[each[0]] > 2)",
            "values of few are left out by exact counts",
            "replay",
        ),
        (
            "return tuple((exact + noise).tolist())",
            "return tuple((exact + noise * (exact > 0)).tolist())",
            "buckets without a number have no noise",
            "noise replay",
        ),
        (
            "law = DiscreteLaplace(1 / plan.epsilon_per_column)",
            "law = DiscreteLaplace(1 / (2 * plan.epsilon_per_column))",
            "half the noise that is charged",
            "charge",
        ),
    ),
    *twins(
        "tasks/discovery/answer_questions.py",
        "discovery",
        (
            "kept_in_chunks(people, words)",
            "kept_in_chunks(people, words, person.most_records)",
            "several records of a person count, with noise for one",
            "charge",
        ),
        (
            "kept = None if person is None else _one_of_each(workspace, snapshot, person)",
            "kept = None",
            "all records of a person count",
            "charge",
        ),
    ),
    *twins(
        "deniable/local/responding.py",
        "survey",
        ('"question": question.name, ', "", "questions with the same answer have one stream", "streams"),
        (', "answer": answer}', "}", "answers to one question have one stream", "streams"),
        (
            'parameters={"question": question.name, "values": design.values, "ratio": design.ratio, "answer": answer},',
            "parameters={},",
            "all questions have one stream",
            "streams",
        ),
    ),
)
