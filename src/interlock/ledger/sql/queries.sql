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
INSERT INTO task (id, root, parent, run, owner) VALUES (?, ?, ?, ?, ?);

-- name: move_owner
UPDATE task SET owner = ?, epoch = ?, pending = ? WHERE id = ?;

-- name: acknowledge
UPDATE task SET pending = NULL WHERE id = ?;

-- name: close_task
UPDATE task SET state = ?, pending = NULL WHERE id = ?;

-- name: owner_is
-- A guard: somebody still owns an open task, by the epoch that the ownership began with.
UPDATE task SET epoch = epoch WHERE id = ? AND epoch = ? AND state = 'open';

-- name: hand_off_is_pending
-- A guard: a hand-off is neither acknowledged nor overdue.
UPDATE task SET epoch = epoch WHERE id = ? AND pending = ? AND state = 'open';

-- name: task_by_id
SELECT id, root, parent, run, owner, epoch, pending, state FROM task WHERE id = ?;

-- name: tasks_of_root
SELECT id, root, parent, run, owner, epoch, pending, state FROM task WHERE root = ? ORDER BY id;

-- name: tasks_starting_with
SELECT id, root FROM task WHERE id >= ? AND id < ? ORDER BY id LIMIT 2;

-- name: tasks_of_people
-- The open tasks that are in the human queue or that a person has taken.
SELECT id, root, parent, run, owner, epoch, pending, state FROM task
WHERE state = 'open' AND owner GLOB 'pe*' AND (owner GLOB 'people@*' OR owner GLOB 'person:*') AND id > ?
ORDER BY id LIMIT ?;

-- name: insert_message
INSERT INTO message (id, root, task, place, type, sender, recipient, run, run_to, reply_to)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: take_message
UPDATE message SET state = 'taken', taken_by = ? WHERE id = ?;

-- name: bury_message
UPDATE message SET state = 'dead' WHERE id = ?;

-- name: message_is_unread
-- A guard: nobody has taken a message yet.
UPDATE message SET state = state WHERE id = ? AND state = 'unread';

-- name: message_by_id
SELECT id, root, task, place, type, sender, recipient, run, run_to, reply_to, taken_by, state
FROM message WHERE id = ?;

-- name: messages_dead
SELECT id, root, type, sender, recipient FROM message WHERE state = 'dead' AND id > ? ORDER BY id LIMIT ?;

-- name: unread_of_root
-- What was sent to agents, not as a reply, and read by none.
SELECT id FROM message WHERE root = ? AND state = 'unread' AND run_to IS NULL AND recipient NOT GLOB 'pe*'
ORDER BY place;

-- name: reply_of
SELECT id, place, type, sender, run FROM message WHERE reply_to = ?;

-- name: insert_question
INSERT INTO question (id, root, task, run, call, kind, scope, form, due_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: answer_question
UPDATE question SET outcome = ?, by = ?, said = ? WHERE id = ?;

-- name: question_waits
-- A guard: nobody has answered a question yet.
UPDATE question SET outcome = outcome WHERE id = ? AND outcome IS NULL;

-- name: question_by_id
SELECT id, root, task, run, call, kind, scope, form, due_at, outcome, by, said FROM question WHERE id = ?;

-- name: questions_starting_with
SELECT id FROM question WHERE id >= ? AND id < ? ORDER BY id LIMIT 2;

-- name: questions_of_call
SELECT id, root, task, run, call, kind, scope, form, due_at, outcome, by, said FROM question
WHERE run = ? AND call = ? ORDER BY id;

-- name: questions_of_run
SELECT id, root, task, run, call, kind, scope, form, due_at, outcome, by, said FROM question
WHERE run = ? AND outcome IS NULL ORDER BY id;

-- name: questions_waiting
SELECT id, root, task, run, call, kind, scope, form, due_at, outcome, by, said FROM question
WHERE outcome IS NULL AND id > ? ORDER BY id LIMIT ?;

-- name: insert_decision
INSERT INTO decision (root, topic, id, revision, decision, run, labels) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: decisions_of_root
SELECT topic, id, revision, decision, run, labels FROM decision WHERE root = ? ORDER BY revision;

-- name: claim_action
INSERT INTO action (id, tool, state, key, identity, arguments, task, run, call, attempt, deadline)
VALUES (?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?, ?);

-- name: claim_action_anew
UPDATE action SET state = 'claimed', identity = ?, arguments = ?, task = ?, run = ?, call = ?, attempt = ?, deadline = ?
WHERE id = ?;

-- name: settle_action
UPDATE action SET state = ?, result = ?, labels = ? WHERE id = ?;

-- name: action_stands
-- A guard: an action is where it was seen to be.
UPDATE action SET state = state WHERE id = ? AND state = ? AND attempt = ?;

-- name: action_by_id
SELECT id, tool, state, key, identity, arguments, task, run, call, attempt, deadline, result, labels
FROM action WHERE id = ?;

-- name: actions_under_way
-- What a run claimed and nobody settled, on a root task.
SELECT id, tool, state, key, identity, arguments, task, run, call, attempt, deadline, result, labels
FROM action WHERE task = ? AND run = ? AND state = 'claimed' ORDER BY id;

-- name: actions_of_task
SELECT id, tool, state, key, identity, arguments, task, run, call, attempt, deadline, result, labels
FROM action WHERE task = ? ORDER BY id;

-- name: meet_actor
INSERT INTO actor (perspective, id, name) VALUES (?, ?, ?);

-- name: insert_identity
INSERT INTO identity (perspective, connector, external, actor) VALUES (?, ?, ?, ?);

-- name: set_identity_link
INSERT INTO identity_link (perspective, one, other, evidence, by, state) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (perspective, one, other) DO UPDATE
SET evidence = excluded.evidence, by = excluded.by, state = excluded.state;

-- name: open_conversation
INSERT INTO conversation (perspective, id, connector, thread) VALUES (?, ?, ?, ?);

-- name: join_conversation
INSERT INTO participant (perspective, conversation, actor) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- name: leave_conversation
DELETE FROM participant WHERE perspective = ? AND conversation = ? AND actor = ?;

-- name: insert_message_event
INSERT INTO message_event
  (perspective, conversation, place, id, actor, way, external, content, labels, at, run, root_run, hop)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: move_conversation
UPDATE conversation SET place = ? WHERE perspective = ? AND id = ?;

-- name: take_turn
UPDATE conversation SET turned = ?, run = ? WHERE perspective = ? AND id = ?;

-- name: conversation_stands
-- A guard: nothing was observed in a conversation since it was looked at, and no other run took a turn.
UPDATE conversation SET place = place WHERE perspective = ? AND id = ? AND place = ? AND turned = ?;

-- name: run_is_open
-- A guard: a run is not closed.
UPDATE run SET status = status WHERE id = ? AND status = 'open';

-- name: insert_said
INSERT INTO said (id, agent, conversation, run, content, thread)
SELECT ?, perspective, id, ?, ?, thread FROM conversation WHERE perspective = ? AND id = ?;

-- name: name_said
UPDATE said SET external = ? WHERE id = ?;

-- name: settle_said
UPDATE said SET state = ? WHERE id = ?;

-- name: said_undelivered
SELECT id, agent, conversation, run, state FROM said
WHERE state IN ('dead', 'in_doubt') AND id > ? ORDER BY id LIMIT ?;

-- name: said_is_undelivered
-- A guard: what an agent said did not arrive, or nobody knows, and no person has decided on it yet.
UPDATE said SET state = state WHERE id = ? AND state IN ('dead', 'in_doubt');

-- name: said_unnamed
-- What agents said into a thread with just this content, and the outside may have under a name that it has not told; the
-- last first, and whether it is being sent now.
SELECT said.id, said.agent, said.conversation, said.run, coalesce(outgoing.claimed, 0)
FROM said LEFT JOIN outgoing ON outgoing.id = said.id
WHERE said.thread = ? AND said.content = ? AND said.external IS NULL
  AND (said.state IN ('delivered', 'in_doubt') OR outgoing.claimed = 1 OR outgoing.doubtful = 1)
ORDER BY said.id DESC LIMIT 100;

-- name: said_is_unnamed
-- A guard: nobody has found out what the outside calls it.
UPDATE said SET state = state WHERE id = ? AND external IS NULL;

-- name: said_by_id
SELECT id, agent, conversation, run, state FROM said WHERE id = ?;

-- name: said_as
SELECT id, agent, conversation, run, state FROM said WHERE external = ?;

-- name: insert_memory
INSERT INTO memory (perspective, id, revision, subject, run, message, conversation, labels, content, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: insert_foreign_artifact
INSERT INTO foreign_artifact (perspective, run, call, ref, digest, labels) VALUES (?, ?, ?, ?, ?, ?);

-- name: name_audience
INSERT INTO audience (label, member) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: members_of_audience
SELECT member FROM audience WHERE label = ? ORDER BY member;

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

-- name: lease_is_held
-- A guard: somebody still holds a run, by the claim it was taken with.
UPDATE lease SET until = until WHERE run = ? AND fence = ? AND worker IS NOT NULL;

-- name: release_lease
UPDATE lease SET worker = NULL, until = 0 WHERE run = ? AND fence = ?;

-- name: park_lease
-- A run that waits: held by nobody and free at a time far ahead, unless somebody had something to say meanwhile.
UPDATE lease SET worker = NULL, until = ? WHERE run = ? AND fence = ?
AND NOT EXISTS (SELECT 1 FROM signal WHERE signal.run = lease.run);

-- name: wake_run
UPDATE lease SET until = 0 WHERE run = ? AND worker IS NULL;

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

-- name: signal_open_runs
-- Tell a message to the open runs of its recipient on the same root task; a node of a work graph hears none.
INSERT INTO signal (run, id, kind, body)
SELECT run.id, ?, ?, ? FROM run WHERE run.root_task = ? AND run.agent = ? AND run.status = 'open'
AND (run.cause IS NULL OR run.cause NOT GLOB 'work:*');

-- name: signal_root
-- Tell something to all open runs of a root task but one.
INSERT INTO signal (run, id, kind, body)
SELECT run.id, ?, ?, ? FROM run WHERE run.root_task = ? AND run.status = 'open' AND run.id <> ?
AND (run.cause IS NULL OR run.cause NOT GLOB 'work:*');

-- name: signal_run
-- Tell something to a run that is open.
INSERT INTO signal (run, id, kind, body)
SELECT run.id, ?, ?, ? FROM run WHERE run.id = ? AND run.status = 'open' ON CONFLICT DO NOTHING;

-- name: signal_unread
-- Tell a run what its agent has not read yet on the same root task.
INSERT INTO signal (run, id, kind, body)
SELECT ?, id, 'message', '' FROM message
WHERE root = ? AND recipient = ? AND state = 'unread' AND run_to IS NULL;

-- name: open_runs_of_root
SELECT id, agent FROM run WHERE root_task = ? AND status = 'open' ORDER BY id;

-- name: runs_of_root
SELECT id, agent, version, scope, task, root_task, root_run, hop, source_run, cause, status FROM run
WHERE id >= ? AND root_task = ? ORDER BY id;

-- name: signals_of_run
SELECT id, kind, body FROM signal WHERE run = ? ORDER BY id;

-- name: end_signals
DELETE FROM signal WHERE run = ?;

-- name: take_signal
DELETE FROM signal WHERE run = ? AND id = ?;

-- name: insert_timer
INSERT INTO timer (id, due_at, kind, root, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: end_timer
DELETE FROM timer WHERE id = ?;

-- name: timers_due
SELECT id, due_at, kind, root, body FROM timer WHERE due_at <= ? ORDER BY due_at, id LIMIT ?;

-- name: insert_outgoing
INSERT INTO outgoing (id, agent, conversation, connector, content, thread, in_reply_to, due_at, doubtful)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: outgoing_connectors
-- Which connectors have something to send; each is looked up, whatever waits.
SELECT connector FROM (
  WITH RECURSIVE found (connector) AS (
    SELECT min(connector) FROM outgoing
    UNION ALL
    SELECT (SELECT min(connector) FROM outgoing WHERE connector > found.connector) FROM found
    WHERE found.connector IS NOT NULL
  )
  SELECT connector FROM found
) WHERE connector IS NOT NULL;

-- name: outgoing_due
-- What a connector is to send now. What was said earlier in a conversation goes first.
SELECT id, agent, conversation, content, thread, in_reply_to, attempts, claimed, doubtful FROM outgoing
WHERE connector = ? AND due_at <= ? AND NOT EXISTS (
  SELECT 1 FROM outgoing AS earlier
  WHERE earlier.conversation = outgoing.conversation AND earlier.id < outgoing.id)
ORDER BY due_at, id LIMIT ?;

-- name: outgoing_waiting
-- How many wait at a connector, as far as it is worth counting.
SELECT count(*) FROM (SELECT 1 FROM outgoing WHERE connector = ? LIMIT 100000);

-- name: claim_outgoing
-- A guard: nobody else sends it.
UPDATE outgoing
SET due_at = ?, attempts = attempts + 1, doubtful = max(doubtful, claimed), claimed = 1
WHERE id = ? AND attempts = ?;

-- name: postpone_outgoing
-- A guard: nobody else sends it.
UPDATE outgoing SET due_at = ?, claimed = 0, doubtful = ? WHERE id = ? AND attempts = ?;

-- name: end_outgoing
-- A guard: nobody else sends it.
DELETE FROM outgoing WHERE id = ? AND attempts = ?;

-- name: drop_outgoing
-- What came back needs no sending, unless somebody is at it.
DELETE FROM outgoing WHERE id = ? AND claimed = 0;

-- name: insert_received
INSERT INTO received (connector, id, content, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: received_by_id
SELECT content, done FROM received WHERE connector = ? AND id = ?;

-- name: settle_received
UPDATE received SET done = 1 WHERE connector = ? AND id = ?;

-- name: forget_received
DELETE FROM received WHERE at < ?;

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

-- name: post_recall_words
-- The first statement of those that index a memory; each does nothing when the memory is indexed already.
INSERT INTO recall_word (rowid, tokens)
SELECT (SELECT coalesce(max(number), 0) + 1 FROM recall_entry), ?
WHERE NOT EXISTS (SELECT 1 FROM recall_entry WHERE perspective = ? AND id = ?);

-- name: grow_recall_list
INSERT INTO recall_list (list, count, length, last)
SELECT ?, 1, ?, (SELECT coalesce(max(number), 0) + 1 FROM recall_entry)
WHERE NOT EXISTS (SELECT 1 FROM recall_entry WHERE perspective = ? AND id = ?)
ON CONFLICT (list) DO UPDATE SET count = count + 1, length = length + excluded.length, last = excluded.last;

-- name: insert_recall_audience
INSERT INTO recall_audience (perspective, list, member, since)
SELECT ?1, ?2, value, (SELECT coalesce(max(number), 0) + 1 FROM recall_entry) FROM json_each(?3)
WHERE NOT EXISTS (SELECT 1 FROM recall_audience WHERE perspective = ?1 AND list = ?2);

-- name: insert_recall_entry
-- The last one. Its place is the one after the last of its list in the conversation.
INSERT INTO recall_entry (perspective, id, list, subject, conversation, place, at, length, asks, words)
SELECT ?1, ?2, ?3, ?4, ?5, CASE WHEN ?5 IS NOT NULL THEN
  (SELECT coalesce(max(place), 0) + 1 FROM recall_entry WHERE list = ?3 AND conversation = ?5) END, ?6, ?7, ?8, ?9
WHERE NOT EXISTS (SELECT 1 FROM recall_entry WHERE perspective = ?1 AND id = ?2);

-- name: recall_entry_by_id
SELECT number, list, subject, length, words FROM recall_entry WHERE perspective = ? AND id = ?;

-- name: unpost_recall_words
INSERT INTO recall_word (recall_word, rowid, tokens)
SELECT 'delete', number, ?1 FROM recall_entry WHERE perspective = ?2 AND id = ?3 AND number = ?4;

-- name: shrink_recall_list
UPDATE recall_list SET count = count - 1, length = length - ? WHERE list = ?
AND EXISTS (SELECT 1 FROM recall_entry WHERE perspective = ? AND id = ? AND number = ?);

-- name: remove_recall_entry
DELETE FROM recall_entry WHERE perspective = ? AND id = ? AND number = ?;

-- name: end_recall_list
DELETE FROM recall_list WHERE list = ? AND count <= 0;

-- name: end_recall_audience
DELETE FROM recall_audience WHERE perspective = ? AND list = ?
AND NOT EXISTS (SELECT 1 FROM recall_list WHERE list = ?);

-- name: clear_recall_words
INSERT INTO recall_word (recall_word) VALUES ('delete-all');

-- name: clear_recall_entries
DELETE FROM recall_entry;

-- name: clear_recall_lists
DELETE FROM recall_list;

-- name: clear_recall_audiences
DELETE FROM recall_audience;

-- name: recall_rarest_member
-- Who of a room is in the fewest audiences, as far as it is worth counting.
SELECT value, (SELECT count(*) FROM
  (SELECT 1 FROM recall_audience WHERE perspective = ? AND member = value LIMIT 256)) AS audiences
FROM json_each(?) ORDER BY audiences, value LIMIT 1;

-- name: recall_lists_of_room
-- The lists whose audience has everybody of a room, those used last first.
SELECT l.list, l.count, l.length FROM
  (SELECT list FROM recall_audience WHERE perspective = ?1 AND member = ?2 ORDER BY since DESC LIMIT 4096) AS own
JOIN recall_list AS l ON l.list = own.list
WHERE NOT EXISTS (SELECT 1 FROM json_each(?3) AS of_room WHERE NOT EXISTS
  (SELECT 1 FROM recall_audience AS a WHERE a.perspective = ?1 AND a.list = own.list AND a.member = of_room.value))
ORDER BY l.last DESC LIMIT ?4;

-- name: recall_lists_by_name
SELECT list, count, length FROM json_each(?) CROSS JOIN recall_list ON list = value;

-- name: recall_newest
SELECT rowid FROM recall_word WHERE recall_word MATCH ? ORDER BY rowid DESC LIMIT ?;

-- name: recall_oldest
SELECT rowid FROM recall_word WHERE recall_word MATCH ? ORDER BY rowid LIMIT ?;

-- name: recall_places
SELECT number, list, conversation, place, at FROM json_each(?) CROSS JOIN recall_entry ON number = value
WHERE perspective = ?;

-- name: recall_posted
SELECT number, e.id, list, subject, conversation, place, at, length, asks, words
FROM json_each(?) CROSS JOIN recall_entry AS e ON number = value WHERE perspective = ?;

-- name: recall_between
SELECT number, e.id, list, subject, conversation, place, at, length, asks, words
FROM json_each(?) AS stretch CROSS JOIN recall_entry AS e
ON list = stretch.value ->> 0 AND conversation = stretch.value ->> 1
AND place BETWEEN stretch.value ->> 2 AND stretch.value ->> 3
WHERE perspective = ?;
