-- Facts: the ledger itself. Nothing here is ever changed or removed; the triggers below refuse it.
-- Steps lie in the order in which they were written, with the key beside them: many runs grow at once, and a
-- tree sorted by stream would split its pages half full and touch one for each run.

CREATE TABLE step (
  stream   TEXT    NOT NULL,
  seq      INTEGER NOT NULL CHECK (seq > 0),
  kind     TEXT    NOT NULL,
  at       INTEGER NOT NULL,
  fence    INTEGER NOT NULL,
  body     TEXT    NOT NULL,
  previous BLOB    NOT NULL CHECK (length(previous) = 32),
  digest   BLOB    NOT NULL CHECK (length(digest) = 32),
  PRIMARY KEY (stream, seq)
) STRICT;

CREATE TRIGGER step_is_never_changed BEFORE UPDATE ON step
BEGIN SELECT RAISE(ABORT, 'append_only'); END;

CREATE TRIGGER step_is_never_removed BEFORE DELETE ON step
BEGIN SELECT RAISE(ABORT, 'append_only'); END;

-- A step continues its stream: the place is free, and the step before it is the one it names. BEFORE INSERT
-- runs ahead of any REPLACE, so no connection can replace a step, whatever its settings.
CREATE TRIGGER step_continues_its_stream BEFORE INSERT ON step
BEGIN
  SELECT RAISE(ABORT, 'conflict')
  WHERE EXISTS (SELECT 1 FROM step WHERE stream = NEW.stream AND seq = NEW.seq)
     OR NEW.previous IS NOT iif(
          NEW.seq = 1,
          zeroblob(32),
          (SELECT digest FROM step WHERE stream = NEW.stream AND seq = NEW.seq - 1));
END;

-- After its opening, only the holder of a run's lease writes its trail. A lease that was given back, or freed
-- from a dead worker, has no holder until somebody claims the run.
CREATE TRIGGER step_of_a_run_is_fenced BEFORE INSERT ON step
WHEN NEW.seq > 1 AND substr(NEW.stream, 1, 4) = 'run_'
BEGIN
  SELECT RAISE(ABORT, 'fenced')
  WHERE NOT EXISTS (SELECT 1 FROM lease WHERE run = NEW.stream AND fence = NEW.fence AND worker IS NOT NULL);
END;

-- Content by its keyed digest. `form`: 0 as it is, 1 compressed (zlib), 2 in the object store.
CREATE TABLE content (
  digest  BLOB    NOT NULL UNIQUE CHECK (length(digest) = 32),
  company TEXT    NOT NULL,
  size    INTEGER NOT NULL,
  form    INTEGER NOT NULL,
  body    BLOB    NOT NULL
) STRICT;

-- Projections: written with the steps they come from, rebuilt from them by `verify`.

CREATE TABLE stream (
  id     TEXT    NOT NULL PRIMARY KEY,
  seq    INTEGER NOT NULL,
  digest BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE run (
  id         TEXT    NOT NULL PRIMARY KEY,
  agent      TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  scope      TEXT    NOT NULL,
  task       TEXT    NOT NULL,
  root_task  TEXT    NOT NULL,
  root_run   TEXT,
  hop        INTEGER,
  source_run TEXT,
  cause      TEXT    UNIQUE,
  status     TEXT    NOT NULL DEFAULT 'open'
             CHECK (status IN ('open', 'finished', 'failed', 'refused', 'cancelled', 'exhausted'))
) STRICT, WITHOUT ROWID;
CREATE INDEX run_open_of_root ON run (root_task, agent) WHERE status = 'open';


-- A task and who owns it. `pending` is a hand-off that its receiver has not acknowledged; `state` is 'open', or how
-- the task ended.
CREATE TABLE task (
  id      TEXT    NOT NULL PRIMARY KEY,
  root    TEXT    NOT NULL,
  parent  TEXT,
  run     TEXT    NOT NULL,
  owner   TEXT    NOT NULL,
  epoch   INTEGER NOT NULL DEFAULT 1,
  pending TEXT,
  state   TEXT    NOT NULL DEFAULT 'open'
) STRICT, WITHOUT ROWID;
CREATE INDEX task_of_people ON task (owner, id) WHERE state = 'open' AND owner GLOB 'pe*';
CREATE INDEX task_by_root ON task (root, id);

-- A message, from when it is sent. `place` is its number in the exchange; a request has one reply.
CREATE TABLE message (
  id        TEXT    NOT NULL PRIMARY KEY,
  root      TEXT    NOT NULL,
  task      TEXT    NOT NULL,
  place     INTEGER NOT NULL,
  type      TEXT    NOT NULL,
  sender    TEXT    NOT NULL,
  recipient TEXT    NOT NULL,
  run       TEXT,
  run_to    TEXT,
  reply_to  TEXT    UNIQUE,
  taken_by  TEXT,
  state     TEXT    NOT NULL DEFAULT 'unread' CHECK (state IN ('unread', 'taken', 'dead'))
) STRICT, WITHOUT ROWID;
CREATE INDEX message_unread ON message (root, recipient, place) WHERE state = 'unread';
CREATE INDEX message_dead ON message (id) WHERE state = 'dead';

-- A question to a person. `outcome` is NULL as long as it waits.
CREATE TABLE question (
  id      TEXT    NOT NULL PRIMARY KEY,
  root    TEXT    NOT NULL,
  task    TEXT    NOT NULL,
  run     TEXT    NOT NULL,
  call    TEXT    NOT NULL,
  kind    TEXT    NOT NULL CHECK (kind IN ('approval', 'question', 'action', 'conflict')),
  scope   TEXT    NOT NULL,
  form    TEXT    NOT NULL,
  due_at  INTEGER NOT NULL,
  outcome TEXT,
  by      TEXT,
  said    TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX question_waiting ON question (id) WHERE outcome IS NULL;
CREATE INDEX question_of_run ON question (run, call);

-- A decision of a root task; `topic` is a keyed digest. The first one of a topic wins.
CREATE TABLE decision (
  root     TEXT    NOT NULL,
  topic    TEXT    NOT NULL,
  id       TEXT    NOT NULL,
  revision INTEGER NOT NULL,
  decision TEXT    NOT NULL,
  run      TEXT    NOT NULL,
  labels   TEXT    NOT NULL,
  PRIMARY KEY (root, topic)
) STRICT, WITHOUT ROWID;

-- An action, by the keyed digest of its key. `identity` says which arguments make it the same action.
CREATE TABLE action (
  id        TEXT    NOT NULL PRIMARY KEY,
  tool      TEXT    NOT NULL,
  state     TEXT    NOT NULL CHECK (state IN ('claimed', 'done', 'failed', 'in_doubt')),
  key       TEXT    NOT NULL,
  identity  TEXT    NOT NULL,
  arguments TEXT    NOT NULL,
  task      TEXT    NOT NULL,
  run       TEXT    NOT NULL,
  call      TEXT    NOT NULL,
  attempt   INTEGER NOT NULL,
  deadline  INTEGER NOT NULL,
  result    TEXT,
  labels    TEXT    NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX action_of_task ON action (task, id);

CREATE TABLE artifact (
  run    TEXT    NOT NULL,
  name   TEXT    NOT NULL,
  digest TEXT    NOT NULL,
  size   INTEGER NOT NULL,
  media  TEXT    NOT NULL,
  labels TEXT    NOT NULL,
  PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE agent (
  address TEXT    NOT NULL PRIMARY KEY,
  scope   TEXT    NOT NULL,
  version INTEGER NOT NULL DEFAULT 0,
  state   TEXT    NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'retired')),
  wiring  TEXT    NOT NULL DEFAULT '{}'
) STRICT, WITHOUT ROWID;

CREATE TABLE version (
  agent  TEXT    NOT NULL,
  number INTEGER NOT NULL,
  digest TEXT    NOT NULL,
  spec   TEXT    NOT NULL,
  author TEXT    NOT NULL,
  at     INTEGER NOT NULL,
  PRIMARY KEY (agent, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE listening (
  event TEXT NOT NULL,
  agent TEXT NOT NULL,
  PRIMARY KEY (event, agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE stopped (
  scope TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- What one agent has seen and noted: its perspective, whose address leads every key (PX-1). These tables are read
-- through `interlock.ledger.wall` alone, which shows one perspective and refuses the rest.

-- Somebody the agent knows. `name` is content.
CREATE TABLE actor (
  perspective TEXT NOT NULL,
  id          TEXT NOT NULL,
  name        TEXT NOT NULL,
  PRIMARY KEY (perspective, id)
) STRICT, WITHOUT ROWID;

-- What an actor is called at a connector: `external` is a keyed digest.
CREATE TABLE identity (
  perspective TEXT NOT NULL,
  connector   TEXT NOT NULL,
  external    TEXT NOT NULL,
  actor       TEXT NOT NULL,
  PRIMARY KEY (perspective, connector, external)
) STRICT, WITHOUT ROWID;
CREATE INDEX identity_of_actor ON identity (perspective, actor);

-- That two actors are one person, with the evidence; `state` says whether it still counts.
CREATE TABLE identity_link (
  perspective TEXT NOT NULL,
  one         TEXT NOT NULL,
  other       TEXT NOT NULL,
  evidence    TEXT NOT NULL,
  by          TEXT NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('linked', 'undone')),
  PRIMARY KEY (perspective, one, other)
) STRICT, WITHOUT ROWID;
CREATE INDEX identity_link_back ON identity_link (perspective, other, state);

-- A thread as the agent sees it. `turned` is the place of the last message event that a turn took in, by `run`.
CREATE TABLE conversation (
  perspective TEXT    NOT NULL,
  id          TEXT    NOT NULL,
  connector   TEXT    NOT NULL,
  thread      TEXT    NOT NULL,
  place       INTEGER NOT NULL DEFAULT 0,
  turned      INTEGER NOT NULL DEFAULT 0,
  run         TEXT,
  PRIMARY KEY (perspective, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX conversation_of_thread ON conversation (perspective, connector, thread);

-- Who is in a conversation now.
CREATE TABLE participant (
  perspective  TEXT NOT NULL,
  conversation TEXT NOT NULL,
  actor        TEXT NOT NULL,
  PRIMARY KEY (perspective, conversation, actor)
) STRICT, WITHOUT ROWID;

-- A message as the agent observed it, or sent it (`way` is 'own'; then `run` said it). `external` is the keyed digest
-- of what the outside calls it. `root_run` and `hop` say where on its chain a run stands that this starts, where an agent
-- said it.
CREATE TABLE message_event (
  perspective  TEXT    NOT NULL,
  conversation TEXT    NOT NULL,
  place        INTEGER NOT NULL,
  id           TEXT    NOT NULL,
  actor        TEXT    NOT NULL,
  way          TEXT    NOT NULL CHECK (way IN ('engage', 'observe', 'own')),
  external     TEXT    NOT NULL,
  content      TEXT    NOT NULL,
  labels       TEXT    NOT NULL,
  at           INTEGER NOT NULL,
  run          TEXT,
  root_run     TEXT,
  hop          INTEGER,
  PRIMARY KEY (perspective, conversation, place)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX message_event_once ON message_event (perspective, conversation, external);
CREATE UNIQUE INDEX message_event_by_id ON message_event (perspective, id);
CREATE INDEX message_event_of_actor ON message_event (perspective, actor, at);

-- A memory in each of its revisions (ME-1, ME-5).
CREATE TABLE memory (
  perspective  TEXT    NOT NULL,
  id           TEXT    NOT NULL,
  revision     INTEGER NOT NULL,
  subject      TEXT,
  run          TEXT    NOT NULL,
  message      TEXT,
  conversation TEXT,
  labels       TEXT    NOT NULL,
  content      TEXT    NOT NULL,
  at           INTEGER NOT NULL,
  PRIMARY KEY (perspective, id, revision)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_of_subject ON memory (perspective, subject, at);

-- An artifact of somebody else that the agent read: from then on a row of its own (PX-3).
CREATE TABLE foreign_artifact (
  perspective TEXT NOT NULL,
  run         TEXT NOT NULL,
  call        TEXT NOT NULL,
  ref         TEXT NOT NULL,
  digest      TEXT NOT NULL,
  labels      TEXT NOT NULL,
  PRIMARY KEY (perspective, run, call)
) STRICT, WITHOUT ROWID;

-- What an agent said outside, so that it is known when it comes back; `external` is the keyed digest of what the outside
-- calls it, as soon as that is known. `thread` and `content` are keyed digests. `state` is 'dead' when the outside would
-- not take it, 'in_doubt' when nobody knows whether it did, 'closed' when a person put either away.
CREATE TABLE said (
  id           TEXT NOT NULL PRIMARY KEY,
  agent        TEXT NOT NULL,
  conversation TEXT NOT NULL,
  run          TEXT NOT NULL,
  external     TEXT,
  thread       TEXT NOT NULL,
  content      TEXT NOT NULL,
  state        TEXT NOT NULL DEFAULT 'waiting'
    CHECK (state IN ('waiting', 'delivered', 'dead', 'in_doubt', 'closed'))
) STRICT, WITHOUT ROWID;
CREATE INDEX said_as ON said (external) WHERE external IS NOT NULL;
CREATE INDEX said_unnamed ON said (thread, content, id) WHERE external IS NULL;
CREATE INDEX said_undelivered ON said (id) WHERE state IN ('dead', 'in_doubt');

-- Who an audience is, by its label: identities, a connector's name and a keyed digest. It says who may have data, and is
-- never itself shown.
CREATE TABLE audience (
  label  TEXT NOT NULL,
  member TEXT NOT NULL,
  PRIMARY KEY (label, member)
) STRICT, WITHOUT ROWID;

-- Working rows: never folded. Each one says how it is recovered.

-- Who holds a run that is not closed. A row whose time is over, or whose worker is dead, is free to claim. A run
-- that waits for others is held by nobody and its time is far ahead, until what it waits for sets that to nought.
CREATE TABLE lease (
  run    TEXT    NOT NULL PRIMARY KEY,
  worker TEXT,
  fence  INTEGER NOT NULL DEFAULT 0,
  until  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX lease_by_end ON lease (until, run);
CREATE INDEX lease_by_worker ON lease (worker) WHERE worker IS NOT NULL;

-- The outbox: finished runs whose events are still owed. A row is removed when all of them have gone out.
-- `list` is the content that says who is to be opened; NULL until somebody has decided it.
CREATE TABLE owed (
  run  TEXT NOT NULL PRIMARY KEY,
  list TEXT
) STRICT, WITHOUT ROWID;

-- What others have to say to a run; it stays until the run has taken it in by a step.
CREATE TABLE signal (
  run  TEXT NOT NULL,
  id   TEXT NOT NULL,
  kind TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

-- What is to happen when its time has come, unless something else came first. After a crash a timer is still there;
-- whoever removes its row has fired it.
CREATE TABLE timer (
  id     TEXT    NOT NULL PRIMARY KEY,
  due_at INTEGER NOT NULL,
  kind   TEXT    NOT NULL,
  root   TEXT    NOT NULL,
  body   TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX timer_by_due ON timer (due_at, id);

-- What an agent said in a conversation and the outside has not taken yet. Who sends it claims it, which moves `due_at`
-- beyond the time that this takes; a claim that is over tells of a crash, after which nobody knows whether it arrived.
-- `doubtful` says that an earlier attempt ended so. `thread` and `in_reply_to` are the keyed digests of what the outside
-- calls them, and content.
CREATE TABLE outgoing (
  id           TEXT    NOT NULL PRIMARY KEY,
  agent        TEXT    NOT NULL,
  conversation TEXT    NOT NULL,
  connector    TEXT    NOT NULL,
  content      TEXT    NOT NULL,
  thread       TEXT    NOT NULL,
  in_reply_to  TEXT,
  due_at       INTEGER NOT NULL,
  attempts     INTEGER NOT NULL DEFAULT 0,
  claimed      INTEGER NOT NULL DEFAULT 0,
  doubtful     INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX outgoing_by_due ON outgoing (connector, due_at, id);
CREATE INDEX outgoing_of_conversation ON outgoing (conversation, id);

-- What a connector received, by the keyed digest of the sender's id for it, so that the same is not taken twice and
-- nothing else under its id. After a crash a row that is not `done` lets the sender bring it again. Rows go with time.
CREATE TABLE received (
  connector TEXT    NOT NULL,
  id        TEXT    NOT NULL,
  content   TEXT    NOT NULL,
  at        INTEGER NOT NULL,
  done      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (connector, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX received_by_time ON received (at);

-- What is left of a shared budget: a root task's, or a scope's for a day. After a crash what a run drew stays
-- drawn until that run closes. NULL means that nobody set a limit.
CREATE TABLE budget (
  subject    TEXT NOT NULL PRIMARY KEY,
  tool_calls INTEGER CONSTRAINT over_budget CHECK (tool_calls >= 0),
  tokens     INTEGER CONSTRAINT over_budget CHECK (tokens >= 0),
  money      INTEGER CONSTRAINT over_budget CHECK (money >= 0),
  wall_ms    INTEGER CONSTRAINT over_budget CHECK (wall_ms >= 0)
) STRICT, WITHOUT ROWID;

-- What recall finds memories by (interlock.ledger.search_index). All of it follows from the memories; after
-- damage it is cleared and made anew. Lists and words are digests.

CREATE TABLE recall_entry (
  number       INTEGER PRIMARY KEY,
  perspective  TEXT    NOT NULL,
  id           TEXT    NOT NULL,
  list         TEXT    NOT NULL,
  subject      TEXT,
  conversation TEXT,
  place        INTEGER,
  at           INTEGER NOT NULL,
  length       INTEGER NOT NULL,
  asks         INTEGER NOT NULL,
  words        BLOB    NOT NULL,
  UNIQUE (perspective, id)
) STRICT;
CREATE UNIQUE INDEX recall_entry_by_place ON recall_entry (list, conversation, place)
WHERE conversation IS NOT NULL;

-- How many memories a list has, and the number of the one that was added last.
CREATE TABLE recall_list (
  list   TEXT    NOT NULL PRIMARY KEY,
  count  INTEGER NOT NULL,
  length INTEGER NOT NULL,
  last   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Who is in the audience that a list stands for. `since` is the number of the memory that came first.
CREATE TABLE recall_audience (
  perspective TEXT    NOT NULL,
  member      TEXT    NOT NULL,
  since       INTEGER NOT NULL,
  list        TEXT    NOT NULL,
  PRIMARY KEY (perspective, member, since, list)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX recall_audience_by_list ON recall_audience (perspective, list, member);

-- Which memories hold a word: `tokens` is list and word in one. Erasing takes the bytes out of it at once.
CREATE VIRTUAL TABLE recall_word USING fts5 (
  tokens, content = '', detail = none, columnsize = 0, tokenize = 'ascii'
);
INSERT INTO recall_word (recall_word, rank) VALUES ('secure-delete', 1);
