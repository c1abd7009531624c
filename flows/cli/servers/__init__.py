"""Commands that start and stop servers, schedule releases, and make backups; `deniable servers --help`.

pages: shows the pages of servers. reaching: reaches Prefect's server. watching: keeps servers and runs going.
"""
