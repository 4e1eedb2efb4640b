//! Which sessions of a server block those of perbuck.

/// Sessions that hold a lock for which a session of the same user from the same host waits. MySQL keeps this list unless it was
/// switched off; MariaDB keeps it only where `performance_schema` is on.
const METADATA_LOCKS: &str = "\
SELECT DISTINCT CONCAT('blocked by session ', g.PROCESSLIST_ID, ' of ', g.PROCESSLIST_USER, '@', g.PROCESSLIST_HOST, ', which holds a ', \
  held.LOCK_TYPE, ' lock (', LOWER(held.OBJECT_TYPE), IFNULL(CONCAT(' ', held.OBJECT_NAME), ''), ')', \
  IFNULL(CONCAT(' and runs ', LEFT(g.PROCESSLIST_INFO, 60)), ' and is idle'), ' for ', g.PROCESSLIST_TIME, ' s') \
FROM performance_schema.metadata_locks wanted \
JOIN performance_schema.metadata_locks held ON held.OBJECT_TYPE = wanted.OBJECT_TYPE \
  AND held.OBJECT_SCHEMA <=> wanted.OBJECT_SCHEMA AND held.OBJECT_NAME <=> wanted.OBJECT_NAME \
  AND held.OWNER_THREAD_ID <> wanted.OWNER_THREAD_ID \
JOIN performance_schema.threads w ON w.THREAD_ID = wanted.OWNER_THREAD_ID \
JOIN performance_schema.threads g ON g.THREAD_ID = held.OWNER_THREAD_ID \
WHERE wanted.LOCK_STATUS = 'PENDING' AND held.LOCK_STATUS = 'GRANTED' \
  AND CONCAT(w.PROCESSLIST_USER, '@', w.PROCESSLIST_HOST) = USER() \
  AND g.PROCESSLIST_ID NOT IN (SELECT p.PROCESSLIST_ID FROM performance_schema.metadata_locks m \
    JOIN performance_schema.threads p ON p.THREAD_ID = m.OWNER_THREAD_ID WHERE m.LOCK_STATUS = 'PENDING') \
LIMIT 3";

/// The same by MariaDB's plugin `metadata_lock_info`, which lists only locks that are held. A session that itself waits is left out.
const METADATA_LOCK_INFO: &str = "\
SELECT DISTINCT CONCAT('blocked by session ', p.ID, ' of ', p.USER, '@', p.HOST, ', which holds a lock (', LOWER(m.LOCK_TYPE), \
  IF(m.TABLE_NAME = '', '', CONCAT(' ', m.TABLE_NAME)), ') for ', p.TIME, ' s') \
FROM information_schema.METADATA_LOCK_INFO m JOIN information_schema.PROCESSLIST p ON p.ID = m.THREAD_ID \
WHERE IFNULL(p.STATE, '') NOT LIKE 'Waiting for%' AND p.ID <> CONNECTION_ID() \
  AND EXISTS (SELECT 1 FROM information_schema.PROCESSLIST w WHERE w.STATE LIKE 'Waiting for%' \
    AND CONCAT(w.USER, '@', SUBSTRING_INDEX(w.HOST, ':', 1)) = USER()) \
LIMIT 3";

/// Where no list of locks is kept: what the session waits for, and the other sessions that have changed nothing for the longest time; those of the
/// same database come first.
const PROCESSES: &str = "\
SELECT CONCAT('the server says: ', MIN(w.STATE), '; one of these sessions may hold it: ', \
  (SELECT GROUP_CONCAT(o.words SEPARATOR ', ') FROM (SELECT CONCAT(ID, ' of ', USER, '@', HOST, ' (', LOWER(COMMAND), ' for ', TIME, ' s)') \
    AS words FROM information_schema.PROCESSLIST WHERE IFNULL(STATE, '') NOT LIKE 'Waiting for%' AND ID <> CONNECTION_ID() \
    AND COMMAND NOT IN ('Daemon', 'Binlog Dump') AND USER NOT IN ('system user', 'event_scheduler') \
    ORDER BY DB <=> (SELECT MIN(v.DB) FROM information_schema.PROCESSLIST v WHERE v.STATE LIKE 'Waiting for%' \
      AND CONCAT(v.USER, '@', SUBSTRING_INDEX(v.HOST, ':', 1)) = USER()) DESC, TIME DESC LIMIT 5) o)) \
FROM information_schema.PROCESSLIST w \
WHERE w.STATE LIKE 'Waiting for%' AND CONCAT(w.USER, '@', SUBSTRING_INDEX(w.HOST, ':', 1)) = USER() \
HAVING COUNT(*) > 0";

/// The queries, the most exact one first.
pub(crate) const BLOCKERS: &[&str] = &[METADATA_LOCKS, METADATA_LOCK_INFO, PROCESSES];
