-- Counts what adds trials or changes their configurations, so that a reader knows when what it keeps of them is old.
ALTER TABLE sweep ADD COLUMN configurations_version INTEGER NOT NULL DEFAULT 0;

-- A trial's row may be large by its parameters; who only asks how trials stand need not read them.
CREATE INDEX trial_state ON trial (sweep, trial, state, configuration, seed);
