-- name: insert_step
-- One step; the triggers refuse whatever does not continue its stream.
INSERT INTO step (stream, seq, kind, at, fence, body, previous, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: move_head
INSERT INTO stream (id, seq, digest) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, digest = excluded.digest;

-- name: head
SELECT seq, digest FROM step WHERE stream = ? ORDER BY seq DESC LIMIT 1;

-- name: steps_after
SELECT stream, seq, kind, at, fence, body, previous, digest FROM step
WHERE stream = ? AND seq > ? ORDER BY seq LIMIT ?;

-- name: streams_after
SELECT id, seq, digest FROM stream WHERE id > ? ORDER BY id LIMIT ?;

-- name: stream_by_id
SELECT seq, digest FROM stream WHERE id = ?;

-- name: insert_content
INSERT INTO content (digest, company, size, form, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: content_by_digest
SELECT company, size, form, body FROM content WHERE digest = ?;

-- name: content_after
SELECT rowid, digest FROM content WHERE rowid > ? ORDER BY rowid LIMIT ?;

-- name: insert_run
INSERT INTO run (id, agent, version, scope, task, root_task, root_run, hop, source_run, cause)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: close_run
UPDATE run SET status = ? WHERE id = ?;

-- name: run_by_id
SELECT id, agent, version, scope, task, root_task, root_run, hop, source_run, cause, status FROM run WHERE id = ?;

-- name: run_by_cause
SELECT id FROM run WHERE cause = ?;

-- name: runs_before
-- The newest runs first, from an id downwards.
SELECT id, agent, version, scope, task, root_task, root_run, hop, source_run, cause, status FROM run
WHERE id < ? ORDER BY id DESC LIMIT ?;

-- name: runs_of_agent_before
-- The newest runs of an agent first, from an id downwards.
SELECT id, agent, version, scope, task, root_task, root_run, hop, source_run, cause, status FROM run
WHERE agent = ? AND id < ? ORDER BY id DESC LIMIT ?;

-- name: runs_of_agent
SELECT id, status FROM run WHERE agent = ? ORDER BY id;

-- name: runs_caused_by
-- The runs that events of a run opened, by their causes (interlock.event.event.cause_key).
SELECT id, agent, status FROM run WHERE cause >= 'event:' || ? || ':' AND cause < 'event:' || ? || ';' ORDER BY cause;

-- name: runs_starting_with
SELECT id FROM run WHERE id >= ? AND id < ? ORDER BY id LIMIT 2;

-- name: insert_task
INSERT INTO task (id, root, parent, owner, run) VALUES (?, ?, ?, ?, ?);

-- name: insert_artifact
INSERT INTO artifact (run, name, digest, size, media, labels) VALUES (?, ?, ?, ?, ?, ?);

-- name: artifact_of_run
SELECT name, digest, size, media, labels FROM artifact WHERE run = ? AND name = ?;

-- name: artifacts_of_run
SELECT name, digest, size, media, labels FROM artifact WHERE run = ? ORDER BY name;

-- name: publish_agent
INSERT INTO agent (address, scope, version, wiring) VALUES (?, ?, ?, ?)
ON CONFLICT (address) DO UPDATE SET version = excluded.version, wiring = excluded.wiring;

-- name: set_agent_state
UPDATE agent SET state = ? WHERE address = ?;

-- name: agent_by_address
SELECT address, scope, version, state, wiring FROM agent WHERE address = ?;

-- name: agents_after
SELECT address, scope, version, state, wiring FROM agent WHERE address > ? ORDER BY address LIMIT ?;

-- name: insert_version
INSERT INTO version (agent, number, digest, spec, author, at) VALUES (?, ?, ?, ?, ?, ?);

-- name: version_of_agent
SELECT number, digest, spec, author, at FROM version WHERE agent = ? AND number = ?;

-- name: versions_of_agent
SELECT number, digest, spec, author, at FROM version WHERE agent = ? ORDER BY number;

-- name: forget_listening
DELETE FROM listening WHERE agent = ?;

-- name: insert_listening
INSERT INTO listening (event, agent) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: listeners_of_event
SELECT agent.address, agent.scope, agent.version, agent.state, agent.wiring
FROM listening JOIN agent ON agent.address = listening.agent
WHERE listening.event = ? ORDER BY listening.agent;

-- name: stop_scope
INSERT INTO stopped (scope) VALUES (?) ON CONFLICT DO NOTHING;

-- name: resume_scope
DELETE FROM stopped WHERE scope = ?;

-- name: stopped_scopes
SELECT scope FROM stopped ORDER BY scope;

-- name: insert_lease
INSERT INTO lease (run, worker, fence, until) VALUES (?, ?, ?, ?);

-- name: take_lease
UPDATE lease SET worker = ?, fence = ?, until = ? WHERE run = ?;

-- name: renew_leases
UPDATE lease SET until = ? WHERE worker = ?;

-- name: release_lease
UPDATE lease SET worker = NULL, until = 0 WHERE run = ? AND fence = ?;

-- name: end_lease
DELETE FROM lease WHERE run = ? AND fence = ?;

-- name: lease_of_run
-- Who holds a run, for people and tests who look.
SELECT worker, fence, until FROM lease WHERE run = ?;

-- name: free_leases
-- Runs whose time is over, the longest over first.
SELECT run, fence, worker FROM lease WHERE until <= ? ORDER BY until, run LIMIT ?;

-- name: working_workers
SELECT DISTINCT worker FROM lease WHERE worker IS NOT NULL;

-- name: free_leases_of_worker
-- For a worker that is known to be dead: its runs need not wait for the end of their leases.
UPDATE lease SET worker = NULL, until = 0 WHERE worker = ?;

-- name: insert_owed
INSERT INTO owed (run, list) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: list_owed
-- The first dispatcher to decide who is to be opened writes the list; the others find it written.
UPDATE owed SET list = ? WHERE run = ? AND list IS NULL;

-- name: owed_runs
SELECT run, list FROM owed WHERE run > ? ORDER BY run LIMIT ?;

-- name: owed_of_run
SELECT list FROM owed WHERE run = ?;

-- name: settle_owed
DELETE FROM owed WHERE run = ?;

-- name: insert_signal
INSERT INTO signal (run, id, kind, body) VALUES (?, ?, ?, ?);

-- name: signals_of_run
SELECT id, kind, body FROM signal WHERE run = ? ORDER BY id;

-- name: end_signals
DELETE FROM signal WHERE run = ?;

-- name: take_signal
DELETE FROM signal WHERE run = ? AND id = ?;

-- name: insert_budget
INSERT INTO budget (subject, tool_calls, tokens, money, wall_ms) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: draw_budget
-- Takes from what is left (or gives back, with negative amounts); the checks refuse to go below nought.
UPDATE budget SET tool_calls = tool_calls - ?, tokens = tokens - ?, money = money - ?, wall_ms = wall_ms - ?
WHERE subject = ?;

-- name: charge_budget
-- Takes what was used already: it may be more than is left, and then nothing is left.
UPDATE budget SET tool_calls = MAX(0, tool_calls - ?), tokens = MAX(0, tokens - ?), money = MAX(0, money - ?),
  wall_ms = MAX(0, wall_ms - ?)
WHERE subject = ?;

-- name: budget_of
SELECT tool_calls, tokens, money, wall_ms FROM budget WHERE subject = ?;
