"""Who may read what of a release, in sentences for its pages: each audience, and the key that undoes the noise.

Who keeps a key is for stores.vault.custody, which audience a thing has for whoever makes it.
"""

_KEYS = {
    "file": "the account that runs releases, and root of its machine: it lies in the vault.",
    "prefect_secret": "anyone who has the password of Prefect's server: it is in a secret block there, encrypted, and "
    "the database alone does not give it away.",
    "environment": "anyone who sets the variable {variable}, the account that runs releases, and root of its machine: "
    "it is derived from the agency's secret, and stored nowhere.",
    "destroyed": "nobody: it was destroyed after publication, and nobody can run the release again.",
}


def readers(custodian: str, variable: str | None) -> dict[str, str]:
    """Who may read what, by what it is.

    Args:
        custodian: who keeps the release key, as the spec has it.
        variable: name of the variable, where the environment keeps it.
    """
    return {
        "Public": "everybody: the release folder, and what is named public in MLflow.",
        "Internal": "cleared staff, that is anyone who may read this release in MLflow (on a server with users, "
        "engineers and auditors), and the account that runs releases: what was measured on real records without noise.",
        "Restricted": "the account that runs releases, and root of its machine: records and parts of them, in the "
        "vault. They are files that nobody else may open, and they are not encrypted; in MLflow they have a name and a "
        "keyed digest alone.",
        "Release key, which undoes the noise": _KEYS[custodian].format(variable=variable),
    }
