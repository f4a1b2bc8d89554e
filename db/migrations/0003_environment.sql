-- What a sweep's attempts start with: a JSON list of NAME=value. No view shows it, since it may hold secrets.

CREATE TABLE sweep_environment (
  sweep INTEGER PRIMARY KEY REFERENCES sweep (id) ON DELETE CASCADE,
  entries TEXT NOT NULL
);
