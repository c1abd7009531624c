-- The roles and databases of the stack, created when PostgreSQL starts for the first time. The program uses the ledger
-- as deniable_ledger, who may read and append; its tables belong to deniable_ledger_owner (flows ledger prepare).
\getenv ledger DENIABLE_LEDGER_PASSWORD
\getenv ledger_owner DENIABLE_LEDGER_OWNER_PASSWORD
\getenv servers DENIABLE_SERVERS_PASSWORD
CREATE ROLE deniable_ledger LOGIN PASSWORD :'ledger';
CREATE ROLE deniable_ledger_owner LOGIN PASSWORD :'ledger_owner';
CREATE ROLE deniable_servers LOGIN PASSWORD :'servers';
CREATE DATABASE ledger OWNER deniable_ledger_owner;
CREATE DATABASE mlflow OWNER deniable_servers;
CREATE DATABASE mlflow_users OWNER deniable_servers;
CREATE DATABASE prefect OWNER deniable_servers;
REVOKE CONNECT ON DATABASE ledger, mlflow, mlflow_users, prefect FROM PUBLIC;
\connect prefect
CREATE EXTENSION IF NOT EXISTS pg_trgm;
