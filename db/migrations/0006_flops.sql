-- What a training step computes for a sample, beside the other numbers of the start record.
DROP VIEW starts;
CREATE VIEW starts AS
SELECT a.sweep || '.' || a.trial || '.' || a.attempt AS id, a.sweep AS sweep, a.trial AS trial,
       a.attempt AS attempt, json_extract(s.record, '$.version') AS version,
       json_extract(s.record, '$.device') AS device, json_extract(s.record, '$.device_name') AS device_name,
       json_extract(s.record, '$.ranks') AS ranks, json_extract(s.record, '$.threads') AS threads,
       json_extract(s.record, '$.shards') AS shards, json_extract(s.record, '$.parameters') AS parameters,
       json_extract(s.record, '$.flops_per_sample') AS flops_per_sample,
       json_extract(s.record, '$.steps') AS steps, json_extract(s.record, '$.resumed_step') AS resumed_step,
       json_extract(s.record, '$.libraries') AS libraries, json_extract(s.record, '$.config') AS config
FROM attempt_start AS s JOIN attempt AS a ON a.id = s.attempt;
