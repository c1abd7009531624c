-- The databases of the stack, made when PostgreSQL starts for the first time.
CREATE DATABASE ledger;
CREATE DATABASE mlflow;
CREATE DATABASE mlflow_users;
CREATE DATABASE prefect;
\connect prefect
CREATE EXTENSION IF NOT EXISTS pg_trgm;
