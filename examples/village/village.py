"""The adults of a village."""

from schemas.table import nominal, numeric, table


def adults(people):
    """Persons of 16 years and more."""
    return people["age"] >= 16


schema = table(
    {
        "age": numeric(16, 99, width=10, label="age in years"),
        "sex": nominal(["F", "M"], label="sex"),
        "hamlet": nominal(["mill", "church", "hill"], label="where the person lives"),
        "trade": nominal(["farmer", "miller", "smith", "weaver"], missing=["?"], label="what the person does"),
        "land": nominal(["no", "yes"], label="owns land"),
    },
    target="land",
    universe=adults,
)
