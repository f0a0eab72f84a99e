-- Reads of one perspective. They run behind the wall, which puts the perspective before every row: no query names one,
-- and none could read another.

-- name: conversation_of_thread
SELECT id, place, turned, run FROM conversation WHERE connector = ? AND thread = ?;

-- name: conversation_by_id
SELECT id, connector, thread, place, turned, run FROM conversation WHERE id = ?;

-- name: conversations_after
SELECT id, connector, thread, place, turned, run FROM conversation WHERE id > ? ORDER BY id LIMIT ?;

-- name: actor_of_identity
SELECT actor FROM identity WHERE connector = ? AND external = ?;

-- name: identities_of_actor
SELECT connector, external FROM identity WHERE actor = ? ORDER BY connector, external;

-- name: actor_by_id
SELECT id, name FROM actor WHERE id = ?;

-- name: actors_after
SELECT id, name FROM actor WHERE id > ? ORDER BY id LIMIT ?;

-- name: linked_to
-- Not UNION, for which SQLite would read all links of the perspective in their order.
SELECT other FROM identity_link WHERE one = ? AND state = 'linked'
UNION ALL SELECT one FROM identity_link WHERE other = ? AND state = 'linked';

-- name: participants_of
SELECT actor FROM participant WHERE conversation = ? ORDER BY actor;

-- name: event_observed
SELECT id, place FROM message_event WHERE conversation = ? AND external = ?;

-- name: external_of_event
SELECT external FROM message_event WHERE id = ?;

-- name: event_by_id
SELECT place, id, actor, way, content, labels, at, run, root_run, hop FROM message_event WHERE id = ?;

-- name: events_before
-- What was said up to a place, the last first.
SELECT place, id, actor, way, content, labels, at, run, root_run, hop FROM message_event
WHERE conversation = ? AND place <= ? ORDER BY place DESC LIMIT ?;

-- name: events_after
SELECT place, id, actor, way, content, labels, at, run, root_run, hop FROM message_event
WHERE conversation = ? AND place > ? ORDER BY place LIMIT ?;

-- name: events_of_actor
-- What an actor said to the agent anywhere, the last first.
SELECT conversation, place, id, way, content, labels, at FROM message_event
WHERE actor = ? AND at < ? ORDER BY at DESC LIMIT ?;

-- name: has_spoken
SELECT 1 FROM message_event WHERE conversation = ? AND actor = ? AND root_run IS NULL LIMIT 1;

-- name: memory_by_id
SELECT id, revision, subject, run, message, conversation, labels, content, at FROM memory
WHERE id = ? ORDER BY revision DESC LIMIT 1;

-- name: revisions_of_memory
SELECT id, revision, subject, run, message, conversation, labels, content, at FROM memory WHERE id = ? ORDER BY revision;

-- name: memories_after
-- The latest revision of each.
SELECT id, revision, subject, run, message, conversation, labels, content, at FROM memory
WHERE id > ? AND NOT EXISTS (SELECT 1 FROM memory AS later WHERE later.id = memory.id AND later.revision > memory.revision)
ORDER BY id LIMIT ?;

-- name: foreign_artifacts_of_run
SELECT call, ref, digest, labels FROM foreign_artifact WHERE run = ? ORDER BY call;
