-- What people say of a sweep after it was submitted: tags as a JSON list, a comment; and when it was archived.
ALTER TABLE sweep ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
ALTER TABLE sweep ADD COLUMN comment TEXT NOT NULL DEFAULT '';
ALTER TABLE sweep ADD COLUMN archived REAL;

DROP VIEW sweeps;
CREATE VIEW sweeps AS
SELECT id AS sweep, name, owner, backend, file_name, metric, goal, target, state, submitted, ended, notes, text,
       targets, tags, comment, archived
FROM sweep;
