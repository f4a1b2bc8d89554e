-- Attempts of an elastic trial (resources.nodes as a range) differ in their nodes: why this one has others than the one before.
ALTER TABLE attempt ADD COLUMN size_reason TEXT NOT NULL DEFAULT '';

DROP VIEW attempts;
CREATE VIEW attempts AS
SELECT a.sweep || '.' || a.trial || '.' || a.attempt AS id, a.sweep AS sweep, a.trial AS trial, a.attempt AS attempt,
       a.state AS state, a.backend AS backend, a.handle AS handle, a.folder AS folder,
       a.launched AS launched, a.started AS started, a.ended AS ended, a.ended - a.started AS seconds,
       a.nodes * (a.ended - a.started) AS node_seconds,
       a.nodes AS nodes, a.ranks AS ranks, a.node_list AS node_list, a.reason AS reason, a.exit_code AS exit_code,
       a.failed_rank AS failed_rank, a.failed_node AS failed_node,
       a.nodes * ifnull(json_extract(t.resources, '$.gpus_per_node'), 0) * (a.ended - a.started) AS gpu_seconds,
       a.started - a.launched AS queued_seconds, a.eligible AS eligible,
       a.size_reason AS size_reason
FROM attempt AS a JOIN trial AS t ON t.sweep = a.sweep AND t.trial = a.trial;
