-- Every value of the metric that counts as got there, as a JSON list; `target` is the hardest of them.
ALTER TABLE sweep ADD COLUMN targets TEXT NOT NULL DEFAULT '[]';
UPDATE sweep SET targets = json_array(target) WHERE target IS NOT NULL;

DROP VIEW sweeps;
CREATE VIEW sweeps AS
SELECT id AS sweep, name, owner, backend, file_name, metric, goal, target, state, submitted, ended, notes, text,
       targets
FROM sweep;
