"""The analyses that a spec declares: what data users will do with the table, one line each.

What an analysis is, and how it is estimated, is in `deniable.evaluation.analyses`.
"""

from fractions import Fraction
from typing import Annotated, Self, TypeAlias

from pydantic import Field, ValidationInfo, model_validator

from deniable.evaluation.analyses.declared import Analysis, means, quantile, regression
from deniable.foundation.errors import InvalidInput
from deniable.foundation.spec_values import OpenProbability, Strict, domain_known_to
from schemas.plain_text import Line

_MOST = 40


class DeclaredAnalysis(Strict):
    """One analysis: exactly one of a regression, means and a quantile.

    Attributes:
        regress: a linear regression: `income ~ age + sex`, or of the share with a value: `employed=yes ~ age`.
        mean: a number whose means are estimated, or a value whose shares are: `hours`, `employed=yes`.
        quantile: a number whose quantile is estimated.
        at: the share of records up to the quantile; the median by default.
        by: the attribute whose values are the groups of means and quantiles; all records together by default.
    """

    regress: Line | None = Field(default=None, exclude_if=lambda value: value is None)
    mean: Line | None = Field(default=None, exclude_if=lambda value: value is None)
    quantile: Line | None = Field(default=None, exclude_if=lambda value: value is None)
    at: OpenProbability | None = Field(default=None, exclude_if=lambda value: value is None)
    by: Line | None = Field(default=None, exclude_if=lambda value: value is None)

    @model_validator(mode="after")
    def _is_one_that_the_table_allows(self, info: ValidationInfo) -> Self:
        given = [name for name in ("regress", "mean", "quantile") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"must have exactly one of regress, mean and quantile, got {' and '.join(given) or 'none'}; write each "
                "analysis as an entry of its own"
            )
        if self.at is not None and self.quantile is None:
            raise ValueError("must have at with a quantile only; leave it out")
        if self.by is not None and self.regress is not None:
            raise ValueError("must have by with a mean or a quantile only; add the attribute to the regression")
        try:
            analysis, domain = self.analysis, domain_known_to(info)
            if domain is not None:
                analysis.require_in(domain)
        except InvalidInput as error:
            raise ValueError(f"is no analysis of the table: {str(error).rstrip('.')}") from None
        return self

    @property
    def analysis(self) -> Analysis:
        """What is estimated."""
        if self.regress is not None:
            return regression(self.regress)
        if self.mean is not None:
            return means(self.mean, self.by)
        return quantile(self.quantile or "", float(Fraction(1, 2) if self.at is None else self.at), self.by)


Analyses: TypeAlias = Annotated[tuple[DeclaredAnalysis, ...], Field(min_length=1, max_length=_MOST)]
