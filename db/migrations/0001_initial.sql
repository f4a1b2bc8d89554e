-- Tables are singular and private to this room; the views below (plural) are the documented interface, see db/views.md.
-- Times are Unix seconds, NULL while they have not come.

CREATE TABLE sweep (
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- ids are printed in job names: never use one twice
  name TEXT NOT NULL,
  owner TEXT NOT NULL,
  backend TEXT NOT NULL,
  file_name TEXT NOT NULL,
  text TEXT NOT NULL,
  metric TEXT NOT NULL,
  goal TEXT NOT NULL,
  target REAL,
  state TEXT NOT NULL,
  submitted REAL,
  ended REAL,
  notes TEXT NOT NULL
);

CREATE TABLE trial (
  sweep INTEGER NOT NULL REFERENCES sweep (id),
  trial INTEGER NOT NULL,
  configuration INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  hash TEXT NOT NULL,
  state TEXT NOT NULL,
  train TEXT NOT NULL,
  parameters TEXT NOT NULL,
  resources TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  ended REAL,
  reason TEXT NOT NULL,
  UNIQUE (sweep, trial)
);

-- The same configuration with the same seed is never trained twice in a sweep.
CREATE UNIQUE INDEX trial_once ON trial (sweep, hash, seed) WHERE hash <> '';

CREATE TABLE attempt (
  id INTEGER PRIMARY KEY,
  sweep INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  token TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL,
  backend TEXT NOT NULL,
  handle TEXT NOT NULL,
  folder TEXT NOT NULL,
  launched REAL,
  started REAL,
  ended REAL,
  nodes INTEGER NOT NULL,
  ranks INTEGER NOT NULL,
  node_list TEXT NOT NULL,
  reason TEXT NOT NULL,
  exit_code INTEGER,
  failed_rank INTEGER,
  failed_node TEXT NOT NULL,
  journal_lines INTEGER NOT NULL,
  clock INTEGER,  -- microseconds; the zero of the times in this attempt's metric chunks
  UNIQUE (sweep, trial, attempt),
  FOREIGN KEY (sweep, trial) REFERENCES trial (sweep, trial)
);

CREATE TABLE event (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  time REAL NOT NULL,
  kind TEXT NOT NULL,
  sweep INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  data TEXT NOT NULL
);

CREATE INDEX event_of ON event (sweep, trial, attempt);

CREATE TABLE metric_name (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);

-- About 1,000 points a row; db/metrics_format.md. A rowid table: rows this long would leave WITHOUT ROWID four cells a page.
CREATE TABLE metric_chunk (
  attempt INTEGER NOT NULL REFERENCES attempt (id),
  metric INTEGER NOT NULL REFERENCES metric_name (id),
  number INTEGER NOT NULL,
  points INTEGER NOT NULL,
  first_step INTEGER NOT NULL,
  last_step INTEGER NOT NULL,
  min REAL,
  max REAL,
  data TEXT NOT NULL,
  UNIQUE (attempt, metric, number)
);

-- The newest point of every series of a trial, so that lists of trials never read curves.
CREATE TABLE metric_latest (
  sweep INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  metric INTEGER NOT NULL REFERENCES metric_name (id),
  attempt INTEGER NOT NULL,
  step INTEGER NOT NULL,
  value REAL,
  time REAL NOT NULL,
  min REAL,
  max REAL,
  points INTEGER NOT NULL,
  PRIMARY KEY (sweep, trial, metric),
  FOREIGN KEY (sweep, trial) REFERENCES trial (sweep, trial)
) WITHOUT ROWID;

CREATE VIEW sweeps AS
SELECT id AS sweep, name, owner, backend, file_name, metric, goal, target, state, submitted, ended, notes, text
FROM sweep;

CREATE VIEW trials AS
SELECT sweep || '.' || trial AS id, sweep, trial, configuration, seed, state, attempts, ended, reason,
       json_extract(resources, '$.nodes') AS nodes, parameters, train, resources
FROM trial;

CREATE VIEW attempts AS
SELECT sweep || '.' || trial || '.' || attempt AS id, sweep, trial, attempt, state, backend, handle, folder,
       launched, started, ended, ended - started AS seconds, nodes * (ended - started) AS node_seconds,
       nodes, ranks, node_list, reason, exit_code, failed_rank, failed_node
FROM attempt;

-- Computed from the trial's JSON, so that it cannot disagree with it. Lists are one value, as JSON text.
CREATE VIEW hyperparameters AS
SELECT t.sweep AS sweep, t.trial AS trial, p.key AS name, p.value AS value, 1 AS varied
FROM trial AS t, json_each(t.parameters) AS p
UNION ALL
SELECT t.sweep, t.trial, replace(substr(p.fullkey, 3), '"', ''), p.value, 0
FROM trial AS t, json_tree(t.train) AS p
WHERE p.type <> 'object' AND instr(p.fullkey, '[') = 0
  AND NOT EXISTS (SELECT 1 FROM json_each(t.parameters) AS v
                  WHERE v.key = replace(substr(p.fullkey, 3), '"', ''));

CREATE VIEW metrics AS
SELECT a.sweep AS sweep, a.trial AS trial, a.attempt AS attempt, n.name AS metric,
       json_extract(p.value, '$[0]') AS step, CAST(json_extract(p.value, '$[1]') AS REAL) AS value,
       (a.clock + json_extract(p.value, '$[2]')) / 1e6 AS time
FROM attempt AS a
JOIN metric_chunk AS c ON c.attempt = a.id
JOIN metric_name AS n ON n.id = c.metric
JOIN json_each(c.data) AS p;

CREATE VIEW latest_metrics AS
SELECT l.sweep AS sweep, l.trial AS trial, n.name AS metric, l.attempt AS attempt, l.step AS step, l.value AS value,
       l.time AS time, l.min AS min, l.max AS max, l.points AS points
FROM metric_latest AS l
JOIN metric_name AS n ON n.id = l.metric;

CREATE VIEW events AS
SELECT number, time, kind, sweep, trial, attempt, data
FROM event;
