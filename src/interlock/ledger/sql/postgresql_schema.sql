-- What one agent has seen and noted, in PostgreSQL: the tables of `sqlite_schema.sql` whose key a perspective leads, with
-- the same columns and keys, behind row-level security (PX-1). Loaded once, in one transaction, into an empty schema
-- that comes first in the search path, by the role that is to own it; no superuser need be.
--
-- Every policy asks `interlock_perspective()`, and that raises where none was entered in this very transaction: nothing
-- comes back but an error, since an empty answer would pass for "nothing was said". Owners are not excepted (FORCE);
-- superusers and roles with BYPASSRLS are, so nothing that serves agents connects as one of those.
--
-- A wall against mistakes of the product, not against SQL of an agent's own: whoever may send statements may also send
-- one that enters another perspective. Agents send none.

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'interlock_reader') THEN
    CREATE ROLE interlock_reader NOLOGIN;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'interlock_writer') THEN
    CREATE ROLE interlock_writer NOLOGIN;
  END IF;
END $$;

-- Enter a perspective until the end of the transaction. The mark beside it is the transaction's own, so that a setting
-- that outlives one, as by SET without LOCAL on a pooled connection, is refused in the next.
CREATE FUNCTION interlock_enter(entered text) RETURNS void
LANGUAGE sql VOLATILE AS $$
  SELECT pg_catalog.set_config('interlock.perspective', entered, true),
         pg_catalog.set_config('interlock.entered', extract(epoch FROM pg_catalog.transaction_timestamp())::text, true);
$$;

-- The perspective that was entered. STABLE, not IMMUTABLE: a plan that is kept must ask anew.
CREATE FUNCTION interlock_perspective() RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
  entered CONSTANT text := pg_catalog.current_setting('interlock.perspective', true);
BEGIN
  IF entered IS NULL OR entered = '' OR pg_catalog.current_setting('interlock.entered', true)
     IS DISTINCT FROM extract(epoch FROM pg_catalog.transaction_timestamp())::text THEN
    RAISE EXCEPTION 'no perspective was entered in this transaction' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN entered;
END $$;

CREATE TABLE actor (
  perspective text COLLATE "C" NOT NULL,
  id          text COLLATE "C" NOT NULL,
  name        text COLLATE "C" NOT NULL,
  PRIMARY KEY (perspective, id)
);

CREATE TABLE identity (
  perspective text COLLATE "C" NOT NULL,
  connector   text COLLATE "C" NOT NULL,
  external    text COLLATE "C" NOT NULL,
  actor       text COLLATE "C" NOT NULL,
  PRIMARY KEY (perspective, connector, external)
);
CREATE INDEX identity_of_actor ON identity (perspective, actor);

CREATE TABLE identity_link (
  perspective text COLLATE "C" NOT NULL,
  one         text COLLATE "C" NOT NULL,
  other       text COLLATE "C" NOT NULL,
  evidence    text COLLATE "C" NOT NULL,
  by          text COLLATE "C" NOT NULL,
  state       text COLLATE "C" NOT NULL CHECK (state IN ('linked', 'undone')),
  PRIMARY KEY (perspective, one, other)
);
CREATE INDEX identity_link_back ON identity_link (perspective, other, state);

CREATE TABLE conversation (
  perspective text COLLATE "C" NOT NULL,
  id          text COLLATE "C" NOT NULL,
  connector   text COLLATE "C" NOT NULL,
  thread      text COLLATE "C" NOT NULL,
  place       bigint NOT NULL DEFAULT 0,
  turned      bigint NOT NULL DEFAULT 0,
  run         text COLLATE "C",
  PRIMARY KEY (perspective, id)
);
CREATE UNIQUE INDEX conversation_of_thread ON conversation (perspective, connector, thread);

CREATE TABLE participant (
  perspective  text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  actor        text COLLATE "C" NOT NULL,
  PRIMARY KEY (perspective, conversation, actor)
);

CREATE TABLE message_event (
  perspective  text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  place        bigint NOT NULL,
  id           text COLLATE "C" NOT NULL,
  actor        text COLLATE "C" NOT NULL,
  way          text COLLATE "C" NOT NULL CHECK (way IN ('engage', 'observe', 'own')),
  external     text COLLATE "C" NOT NULL,
  content      text COLLATE "C" NOT NULL,
  labels       text COLLATE "C" NOT NULL,
  at           bigint NOT NULL,
  run          text COLLATE "C",
  root_run     text COLLATE "C",
  hop          bigint,
  PRIMARY KEY (perspective, conversation, place)
);
CREATE UNIQUE INDEX message_event_once ON message_event (perspective, conversation, external);
CREATE UNIQUE INDEX message_event_by_id ON message_event (perspective, id);
CREATE INDEX message_event_of_actor ON message_event (perspective, actor, at);

CREATE TABLE memory (
  perspective  text COLLATE "C" NOT NULL,
  id           text COLLATE "C" NOT NULL,
  revision     bigint NOT NULL,
  subject      text COLLATE "C",
  run          text COLLATE "C" NOT NULL,
  message      text COLLATE "C",
  conversation text COLLATE "C",
  labels       text COLLATE "C" NOT NULL,
  content      text COLLATE "C" NOT NULL,
  at           bigint NOT NULL,
  PRIMARY KEY (perspective, id, revision)
);
CREATE INDEX memory_of_subject ON memory (perspective, subject, at);

CREATE TABLE foreign_artifact (
  perspective text COLLATE "C" NOT NULL,
  run         text COLLATE "C" NOT NULL,
  call        text COLLATE "C" NOT NULL,
  ref         text COLLATE "C" NOT NULL,
  digest      text COLLATE "C" NOT NULL,
  labels      text COLLATE "C" NOT NULL,
  PRIMARY KEY (perspective, run, call)
);

-- The wall, for each of these tables. No statistics are kept of their columns: by the estimates of EXPLAIN they would tell
-- what others hold, and every query here goes by a key. TRUNCATE, which asks no policy, is granted to nobody.
REVOKE ALL ON FUNCTION interlock_enter(text), interlock_perspective() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION interlock_enter(text), interlock_perspective() TO interlock_reader, interlock_writer;

DO $$
DECLARE
  name text;
  part text;
BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA %I TO interlock_reader, interlock_writer', current_schema());
  FOREACH name IN ARRAY ARRAY['actor', 'identity', 'identity_link', 'conversation', 'participant', 'message_event',
                              'memory', 'foreign_artifact'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY one_perspective ON %I USING (perspective = interlock_perspective())'
                   ' WITH CHECK (perspective = interlock_perspective())', name);
    EXECUTE format('REVOKE ALL ON %I FROM PUBLIC', name);
    EXECUTE format('GRANT SELECT ON %I TO interlock_reader', name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO interlock_writer', name);
    FOR part IN SELECT attname FROM pg_attribute WHERE attrelid = name::regclass AND attnum > 0 LOOP
      EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET STATISTICS 0', name, part);
    END LOOP;
  END LOOP;
END $$;
