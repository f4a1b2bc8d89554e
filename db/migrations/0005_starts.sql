-- What each attempt really ran with: the engine's start record (engine/attempt/journal.md), the newest
-- where it started more than once.
CREATE TABLE attempt_start (
  attempt INTEGER PRIMARY KEY REFERENCES attempt (id) ON DELETE CASCADE,
  record TEXT NOT NULL
);

CREATE VIEW starts AS
SELECT a.sweep || '.' || a.trial || '.' || a.attempt AS id, a.sweep AS sweep, a.trial AS trial,
       a.attempt AS attempt, json_extract(s.record, '$.version') AS version,
       json_extract(s.record, '$.device') AS device, json_extract(s.record, '$.device_name') AS device_name,
       json_extract(s.record, '$.ranks') AS ranks, json_extract(s.record, '$.threads') AS threads,
       json_extract(s.record, '$.shards') AS shards, json_extract(s.record, '$.parameters') AS parameters,
       json_extract(s.record, '$.steps') AS steps, json_extract(s.record, '$.resumed_step') AS resumed_step,
       json_extract(s.record, '$.libraries') AS libraries, json_extract(s.record, '$.config') AS config
FROM attempt_start AS s JOIN attempt AS a ON a.id = s.attempt;

-- `value` is what was written, `resolved` what the newest attempt took for it: defaults, and what `auto`
-- stood for. Without common table expressions: who reads a view may read what stands in it, and no more.
DROP VIEW hyperparameters;
CREATE VIEW hyperparameters AS
SELECT t.sweep AS sweep, t.trial AS trial, p.key AS name, p.value AS value, 1 AS varied,
       ifnull(json_extract(t.config, '$."' || replace(p.key, '.', '"."') || '"'), p.value) AS resolved
FROM (SELECT t.sweep AS sweep, t.trial AS trial, t.parameters AS parameters, t.train AS train,
             (SELECT json_extract(s.record, '$.config')
              FROM attempt AS a JOIN attempt_start AS s ON s.attempt = a.id
              WHERE a.sweep = t.sweep AND a.trial = t.trial ORDER BY a.attempt DESC LIMIT 1) AS config
      FROM trial AS t) AS t
JOIN json_each(t.parameters) AS p
UNION ALL
SELECT t.sweep, t.trial, replace(substr(p.fullkey, 3), '"', ''), p.value, 0,
       ifnull(json_extract(t.config, p.fullkey), p.value)
FROM (SELECT t.sweep AS sweep, t.trial AS trial, t.parameters AS parameters, t.train AS train,
             (SELECT json_extract(s.record, '$.config')
              FROM attempt AS a JOIN attempt_start AS s ON s.attempt = a.id
              WHERE a.sweep = t.sweep AND a.trial = t.trial ORDER BY a.attempt DESC LIMIT 1) AS config
      FROM trial AS t) AS t
JOIN json_tree(t.train) AS p
WHERE p.type <> 'object' AND instr(p.fullkey, '[') = 0
  AND NOT EXISTS (SELECT 1 FROM json_each(t.parameters) AS v
                  WHERE v.key = replace(substr(p.fullkey, 3), '"', ''))
UNION ALL
SELECT t.sweep, t.trial, replace(substr(p.fullkey, 3), '"', ''), NULL, 0, p.value
FROM (SELECT t.sweep AS sweep, t.trial AS trial, t.parameters AS parameters, t.train AS train,
             (SELECT json_extract(s.record, '$.config')
              FROM attempt AS a JOIN attempt_start AS s ON s.attempt = a.id
              WHERE a.sweep = t.sweep AND a.trial = t.trial ORDER BY a.attempt DESC LIMIT 1) AS config
      FROM trial AS t) AS t
JOIN json_tree(t.config) AS p
WHERE p.type NOT IN ('object', 'null') AND instr(p.fullkey, '[') = 0
  AND json_type(t.train, p.fullkey) IS NULL
  AND NOT EXISTS (SELECT 1 FROM json_each(t.parameters) AS v
                  WHERE v.key = replace(substr(p.fullkey, 3), '"', ''));

DROP VIEW attempts;
CREATE VIEW attempts AS
SELECT a.sweep || '.' || a.trial || '.' || a.attempt AS id, a.sweep AS sweep, a.trial AS trial, a.attempt AS attempt,
       a.state AS state, a.backend AS backend, a.handle AS handle, a.folder AS folder,
       a.launched AS launched, a.started AS started, a.ended AS ended, a.ended - a.started AS seconds,
       a.nodes * (a.ended - a.started) AS node_seconds,
       a.nodes AS nodes, a.ranks AS ranks, a.node_list AS node_list, a.reason AS reason, a.exit_code AS exit_code,
       a.failed_rank AS failed_rank, a.failed_node AS failed_node,
       a.nodes * ifnull(json_extract(t.resources, '$.gpus_per_node'), 0) * (a.ended - a.started) AS gpu_seconds
FROM attempt AS a JOIN trial AS t ON t.sweep = a.sweep AND t.trial = a.trial;
