-- metric_chunk holds the points that count alone, sorted by step; here are those that were reported and do not: a later
-- attempt trained their steps anew, or a later line has the same step (db/metrics_format.md).
CREATE TABLE metric_replaced (
  attempt INTEGER NOT NULL REFERENCES attempt (id),
  metric INTEGER NOT NULL REFERENCES metric_name (id),
  number INTEGER NOT NULL,
  points INTEGER NOT NULL,
  first_step INTEGER NOT NULL,  -- the smallest
  data TEXT NOT NULL,
  UNIQUE (attempt, metric, number)
);

-- Series that an earlier version wrote. The store sorts them when it is opened, and forgets them here.
CREATE TABLE metric_unsettled (
  sweep INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  metric INTEGER NOT NULL,
  PRIMARY KEY (sweep, trial, metric)
) WITHOUT ROWID;
INSERT INTO metric_unsettled SELECT sweep, trial, metric FROM metric_latest;

CREATE VIEW replaced_metrics AS
SELECT a.sweep AS sweep, a.trial AS trial, a.attempt AS attempt, n.name AS metric,
       json_extract(p.value, '$[0]') AS step, CAST(json_extract(p.value, '$[1]') AS REAL) AS value,
       (a.clock + json_extract(p.value, '$[2]')) / 1e6 AS time
FROM attempt AS a
JOIN metric_replaced AS c ON c.attempt = a.id
JOIN metric_name AS n ON n.id = c.metric
JOIN json_each(c.data) AS p;

-- A trial has diverged where its newest value is no finite number (jobspec/trial.h).
DROP VIEW latest_metrics;
CREATE VIEW latest_metrics AS
SELECT l.sweep AS sweep, l.trial AS trial, n.name AS metric, l.attempt AS attempt, l.step AS step, l.value AS value,
       l.time AS time, l.min AS min, l.max AS max, l.points AS points,
       l.value IS NULL OR abs(l.value) > 1.7976931348623157e308 AS diverged
FROM metric_latest AS l
JOIN metric_name AS n ON n.id = l.metric;
