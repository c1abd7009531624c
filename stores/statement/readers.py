"""Who may read which parts of a release, in sentences for its pages: each audience, and the key that undoes the noise.

The custody of keys belongs to stores.vault.custody; each producer of a file decides on its audience.
"""

_KEYS = {
    "file": "the account that runs releases, and root on its machine. The key is in the vault.",
    "prefect_secret": "anyone who has the password of Prefect's server. The key is in a secret block there, encrypted; "
    "the database alone does not reveal it.",
    "environment": "anyone who sets the variable {variable}, the account that runs releases, and root on its machine. "
    "The key is derived from the agency's secret and is not stored anywhere.",
    "destroyed": "no one, unless a copy is left in a backup or on the disk. The key was deleted after publication; "
    "without such a copy the release cannot be run again.",
}


def readers(custodian: str, variable: str | None) -> dict[str, str]:
    """Who may read each kind of material, by kind.

    Args:
        custodian: keeper of the release key, as named in the spec.
        variable: name of the environment variable, if the custodian is the environment.
    """
    return {
        "Public": "everyone: the release folder, and everything named public in MLflow.",
        "Internal": "cleared staff, that is anyone who may read this release in MLflow (on a server with users, "
        "engineers and auditors), and the account that runs releases: figures measured on real records without noise.",
        "Restricted": "the account that runs releases, and root on its machine: records and parts of them, in the "
        "vault. They are files that no other account may open, and they are not encrypted. MLflow has only their names "
        "and keyed digests.",
        "Release key, which undoes the noise": _KEYS[custodian].format(variable=variable),
    }
