-- Where each rank's time went (the engine's newest "ranks" line, engine/attempt/journal.md), by what ranks reach each other,
-- what machines they are on, and from which commit the engine was built.
ALTER TABLE attempt_start ADD COLUMN ranks TEXT;

CREATE VIEW ranks AS
SELECT a.sweep || '.' || a.trial || '.' || a.attempt AS id, a.sweep AS sweep, a.trial AS trial,
       a.attempt AS attempt, c.key AS rank, json_extract(s.record, '$.node_list[' || c.key || ']') AS node,
       json_extract(s.ranks, '$.step') AS step,
       json_extract(s.ranks, '$.data_ms[' || c.key || ']') AS data_ms, c.value AS compute_ms,
       json_extract(s.ranks, '$.comm_exposed_ms[' || c.key || ']') AS comm_exposed_ms,
       json_extract(s.ranks, '$.skew_ms[' || c.key || ']') AS skew_ms,
       json_extract(s.ranks, '$.optimizer_ms[' || c.key || ']') AS optimizer_ms
FROM attempt_start AS s JOIN attempt AS a ON a.id = s.attempt
JOIN json_each(json_extract(s.ranks, '$.compute_ms')) AS c;

DROP VIEW starts;
CREATE VIEW starts AS
SELECT a.sweep || '.' || a.trial || '.' || a.attempt AS id, a.sweep AS sweep, a.trial AS trial,
       a.attempt AS attempt, json_extract(s.record, '$.version') AS version,
       json_extract(s.record, '$.device') AS device, json_extract(s.record, '$.device_name') AS device_name,
       json_extract(s.record, '$.ranks') AS ranks, json_extract(s.record, '$.threads') AS threads,
       json_extract(s.record, '$.shards') AS shards, json_extract(s.record, '$.parameters') AS parameters,
       json_extract(s.record, '$.flops_per_sample') AS flops_per_sample,
       json_extract(s.record, '$.steps') AS steps, json_extract(s.record, '$.resumed_step') AS resumed_step,
       json_extract(s.record, '$.libraries') AS libraries, json_extract(s.record, '$.config') AS config,
       json_extract(s.record, '$.commit') AS commit_id, json_extract(s.record, '$.transport') AS transport,
       json_extract(s.record, '$.machines') AS machines
FROM attempt_start AS s JOIN attempt AS a ON a.id = s.attempt;

DROP VIEW attempts;
CREATE VIEW attempts AS
SELECT a.sweep || '.' || a.trial || '.' || a.attempt AS id, a.sweep AS sweep, a.trial AS trial, a.attempt AS attempt,
       a.state AS state, a.backend AS backend, a.handle AS handle, a.folder AS folder,
       a.launched AS launched, a.started AS started, a.ended AS ended, a.ended - a.started AS seconds,
       a.nodes * (a.ended - a.started) AS node_seconds,
       a.nodes AS nodes, a.ranks AS ranks, a.node_list AS node_list, a.reason AS reason, a.exit_code AS exit_code,
       a.failed_rank AS failed_rank, a.failed_node AS failed_node,
       a.nodes * ifnull(json_extract(t.resources, '$.gpus_per_node'), 0) * (a.ended - a.started) AS gpu_seconds,
       a.started - a.launched AS queued_seconds
FROM attempt AS a JOIN trial AS t ON t.sweep = a.sweep AND t.trial = a.trial;
