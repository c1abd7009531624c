"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import Parameter
from deniable.foundation.spec_values import (
    LARGEST_DELTA,
    AttributeName,
    Count,
    Epsilon,
    Exact,
    Positive,
    Strict,
    ValueText,
    domain_known_to,
)
from deniable.learners.entry import LearnerEntry
from deniable.learners.origin_destination.plan import KEPT_UNIT, require_attributes, totals_in_order
from deniable.roles import Role

_MOST_WEIGHT = 10**9
_Total = Annotated[int, Field(ge=0)]
_Kept = Annotated[Positive, Field(le=1)]
_MOST_STEPS = 100
_Latitude = Annotated[Exact, Field(ge=-90, le=90)]
_Longitude = Annotated[Exact, Field(ge=-180, le=180)]


class SamplingByDistance(Strict):
    """The probability f with which an origin without workers stays, as a function of its distance from a destination.

    With `within`, f is a public histogram, such as one of commute distances: the probability of the first step that
    reaches the origin. With `decay_miles`, f = exp(-miles / decay_miles). It is never below `sampling` of the entry,
    which is charged and holds for all that is further away.

    Attributes:
        within: miles and probability of each step, from the nearest on.
        decay_miles: the distance over which f falls to 1/e.
        places: latitude and longitude of all destinations and origins, in degrees; public.

    Source: the paper, algorithm 2 (f_d).
    """

    within: tuple[tuple[Positive, _Kept], ...] = Field(default=(), max_length=_MOST_STEPS)
    decay_miles: Positive | None = None
    places: dict[ValueText, tuple[_Latitude, _Longitude]]

    @field_validator("within")
    @classmethod
    def _ascend(cls, steps: tuple[tuple[Fraction, Fraction], ...]) -> tuple[tuple[Fraction, Fraction], ...]:
        if any(after[0] <= before[0] for before, after in pairwise(steps)):
            raise ValueError("must have steps of ascending distances")
        return steps

    @model_validator(mode="after")
    def _is_one_function(self) -> Self:
        if bool(self.within) == (self.decay_miles is not None):
            raise ValueError("must have either within or decay_miles")
        return self

    @property
    def parameter(self) -> list[Parameter]:
        """The function and the digest of the places, as a parameter of draws."""
        said = "\n".join(
            f"{name!r} {latitude} {longitude}" for name, (latitude, longitude) in sorted(self.places.items())
        )
        return [[list(step) for step in self.within], self.decay_miles or 0, sha256(said.encode()).hexdigest()]


class Entry(LearnerEntry):
    """Origins of workers given their destination.

    Attributes:
        destination: the attribute of destinations; with public totals, a worker's destination is not protected.
        origin: the attribute of origins, which are drawn.
        privacy: `pure`, or `pdp`: with probability delta, draws may exceed epsilon.
        epsilon: budget of the draws.
        delta: delta of the draws, for `pdp`.
        bound: the theorem that determines prior weights, for `pdp`.
        coarsen: whether to draw first an area, a bucket of the origin in the schema, and then an origin in it by
            public weights.
        population: public weights of origins within their areas; 1 by default.
        totals: public number of workers of each destination, which is also the number of draws; None if measured.
        totals_epsilon: budget of measuring the totals, if they are not public.
        prior_workers: public numbers of workers by origin, added to the counts of each destination, so that prior
            weights differ between origins; only for `pure`.
        sampling: probability with which an origin without workers stays in the domain of a destination, for `pdp`.
        sampling_of: for destinations, origins that stay with a probability other than `sampling`, such as one from a
            public histogram of commute distances; at least `sampling`, which is charged. Origins are not coarsened.
        sampling_by_distance: the same for all pairs, as a function of their distance, in place of `sampling_of`.
        sampling_bound: the theorem on what `sampling` adds to epsilon: `theorem_D`, or `theorem_5_2` of the paper.
        accept_reject: whether draws too far from the counts are redrawn, for `pdp`.
    """

    reads_buckets: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ("parameters",)
    steps: ClassVar[Mapping[str, str]] = {
        Role.STRUCTURE: "Lists the urns of all destinations: how much is drawn from each, and the prior weights.",
        Role.PARAMETERS: "Measures how many workers each destination has, if that is not public.",
    }
    is_drawn_from_counts: ClassVar[bool] = True
    holds_rules: ClassVar[bool] = False
    takes_many_values: ClassVar[bool] = True

    kind: Literal["origin_destination"]
    destination: AttributeName
    origin: AttributeName
    privacy: Literal["pure", "pdp"] = "pure"
    epsilon: Epsilon = Field(default=Fraction(46, 10), validate_default=True)
    delta: Annotated[Exact, Field(ge=0, le=LARGEST_DELTA)] = Fraction(0)
    bound: Literal["theorem_O", "theorem_4_4"] = "theorem_O"
    coarsen: bool = True
    population: dict[ValueText, Annotated[Count, Field(le=_MOST_WEIGHT)]] = Field(
        default_factory=dict, validate_default=True
    )
    totals: dict[ValueText, _Total] | None = Field(default=None, validate_default=True)
    totals_epsilon: Epsilon | None = None
    prior_workers: dict[ValueText, Annotated[Count, Field(le=_MOST_WEIGHT)]] = Field(
        default_factory=dict, validate_default=True, exclude_if=lambda workers: not workers
    )
    sampling: Annotated[Positive, Field(le=1)] | None = None
    sampling_of: dict[ValueText, dict[ValueText, Annotated[Positive, Field(le=1)]]] = Field(
        default_factory=dict, validate_default=True, exclude_if=lambda those: not those
    )
    sampling_by_distance: SamplingByDistance | None = Field(
        default=None, validate_default=True, exclude_if=lambda function: function is None
    )
    sampling_bound: Literal["theorem_D", "theorem_5_2"] | None = Field(
        default=None, validate_default=True, exclude_if=lambda bound: bound is None
    )
    accept_reject: bool = False

    @classmethod
    def recorded(cls, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Earlier versions charged domain sampling by theorem 5.2."""
        is_earlier = document.get("sampling") is not None and "sampling_bound" not in document
        return {**document, "sampling_bound": "theorem_5_2"} if is_earlier else document

    @property
    def reads(self) -> tuple[str, ...]:
        """Totals are counted unless they are public."""
        return self.parts if self.totals is None else ()

    @field_validator("origin")
    @classmethod
    def _is_a_table_of_two(cls, origin: str, info: ValidationInfo) -> str:
        domain = domain_known_to(info)
        if domain is not None:
            try:
                require_attributes(info.data.get("destination", ""), origin, domain)
            except InvalidInput as error:
                raise ValueError(str(error).rstrip(".")) from None
        return origin

    @field_validator("population", "prior_workers")
    @classmethod
    def _are_of_origins(cls, weights: dict[str, int], info: ValidationInfo) -> dict[str, int]:
        domain, origin = domain_known_to(info), info.data.get("origin")
        if domain is not None and origin in domain.names:
            known = set(map(str, domain.attributes[domain.index(origin)].values))
            if unknown := sorted(set(weights) - known):
                raise ValueError(f"must be of origins, got {unknown[0]}")
        return weights

    @field_validator("sampling_bound")
    @classmethod
    def _is_of_sampling(cls, bound: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("sampling") is None:
            if bound is not None:
                raise ValueError("must be left out without sampling, to whose cost it applies")
            return None
        return bound or "theorem_D"

    @field_validator("sampling_of")
    @classmethod
    def _are_of_pairs(
        cls, those: dict[str, dict[str, Fraction]], info: ValidationInfo
    ) -> dict[str, dict[str, Fraction]]:
        domain, names = domain_known_to(info), [info.data.get("destination"), info.data.get("origin")]
        if domain is None or not {*names} <= {*domain.names}:
            return those
        known = [{*map(str, domain.attributes[domain.index(name or "")].values)} for name in names]
        if unknown := sorted(set(those) - known[0]):
            raise ValueError(f"must be of destinations, got {unknown[0]}")
        if unknown := sorted({origin for each in those.values() for origin in each} - known[1]):
            raise ValueError(f"must be of origins, got {unknown[0]}")
        return those

    @field_validator("sampling_by_distance")
    @classmethod
    def _has_all_places(cls, function: SamplingByDistance | None, info: ValidationInfo) -> SamplingByDistance | None:
        domain = domain_known_to(info)
        if function is not None and domain is not None:
            values = {str(value) for attribute in domain.attributes for value in attribute.values}
            if values != set(function.places):
                raise ValueError(
                    f"must have places of all destinations and origins and no others, got "
                    f"{len(values - set(function.places)):,} missing and {len(set(function.places) - values):,} unknown"
                )
        return function

    @field_validator("totals")
    @classmethod
    def _are_of_all_destinations(cls, totals: dict[str, int] | None, info: ValidationInfo) -> dict[str, int] | None:
        domain, destination = domain_known_to(info), info.data.get("destination")
        if totals is not None and domain is not None and destination in domain.names:
            try:
                totals_in_order(totals, domain.attributes[domain.index(destination)].values)
            except InvalidInput as error:
                raise ValueError(str(error).rstrip(".")) from None
        return totals

    @model_validator(mode="after")
    def _fit_each_other(self) -> Self:
        if (self.totals is None) != (self.totals_epsilon is not None):
            raise ValueError("must have totals, if they are public, or else totals_epsilon, to measure them")
        if (self.privacy == "pdp") != (self.delta > 0):
            raise ValueError("must have a delta above 0 if and only if privacy is pdp")
        if self.privacy == "pure" and (self.sampling is not None or self.accept_reject):
            raise ValueError("must have privacy pdp for sampling and accept_reject")
        if self.privacy == "pdp" and self.totals is None:
            raise ValueError("must have public totals for pdp: its bounds hold for a known number of workers")
        if self.sampling is not None and self.accept_reject:
            raise ValueError("must not have both sampling and accept_reject: no theorem covers them together")
        if self.bound == "theorem_4_4" and (self.sampling is not None or self.accept_reject):
            raise ValueError("must have the bound theorem_O for sampling and accept_reject")
        if self.sampling is not None and self.sampling * KEPT_UNIT < 1:
            raise ValueError("must have a sampling of 2^-32 or more")
        return self

    @model_validator(mode="after")
    def _differ_between_origins_where_that_is_proved(self) -> Self:
        if self.prior_workers and self.privacy != "pure":
            raise ValueError(
                "must have privacy pure for prior_workers: the bounds for pdp are proved for equal prior weights alone"
            )
        if self.sampling_of and (self.sampling is None or self.coarsen):
            raise ValueError("must have a sampling, which is charged, and coarsen: false for sampling_of")
        if self.sampling_by_distance and (self.sampling is None or self.coarsen or self.sampling_of):
            raise ValueError(
                "must have a sampling, which is charged, coarsen: false and no sampling_of for sampling_by_distance"
            )
        if self.sampling_by_distance and any(
            kept < (self.sampling or 0) for _, kept in self.sampling_by_distance.within
        ):
            raise ValueError("must have no probability below sampling in sampling_by_distance, for sampling is charged")
        if self.sampling is not None and any(
            kept < self.sampling for each in self.sampling_of.values() for kept in each.values()
        ):
            raise ValueError("must have no probability below sampling in sampling_of, for sampling is what is charged")
        return self
