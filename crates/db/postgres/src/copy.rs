//! Copies of a database for `reset = "restore"`: the server makes them itself, by CREATE DATABASE … TEMPLATE.
//!
//! Beside database `x` are `perbuck_keep_x`, the copy, into which no session is let; `perbuck_new_x`, made from the copy, before it gets the
//! name; and `perbuck_old_x`, which had the name before, until it is dropped. The server makes a database whole or not at all, and both get
//! their names in one transaction. So a perbuck that is killed leaves the old data or the restored ones, and beside them what the next one drops.

use std::collections::BTreeSet;
use std::time::Duration;

use perbuck_event::{now, sleep};
use perbuck_load::driver::Session as _;
use perbuck_load::error::{Cause, DriverError, ErrorClass, ErrorCode};
use perbuck_load::preflight::HostProblem;
use perbuck_load::query::Query;
use perbuck_load::values::Rows;
use perbuck_net::reach::on_a_session;

use crate::{Family, PostgresDriver, PostgresSession, PostgresTarget};

/// The database whose sessions make and drop others: the server lets none drop its own.
const ELSEWHERE: &str = "postgres";
/// Databases that belong to the server.
const OF_SERVERS: [&str; 3] = [ELSEWHERE, "template0", "template1"];
/// Bytes of a name, without what is put before it.
const NAME_MAX: usize = 63 - "perbuck_keep_".len();
/// How long the server may take to see that sessions of perbuck have ended. Its own statements wait as long.
const LEAVING: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(100);
/// `object_in_use`: a session is in the database.
const IN_USE: ErrorCode = ErrorCode::State("sqlstate", *b"55006");
const WAY_OUT: &str = "or write `reset = \"per-block\"`";

/// The database and those beside it.
struct Names {
    data: String,
    keep: String,
    new: String,
    old: String,
}

/// Saves a copy. The data then become one of it, so that all blocks begin alike: none with pages of the load in `shared_buffers`, or with rows
/// of it for autovacuum.
pub(crate) async fn save(driver: &PostgresDriver) -> Result<(), DriverError> {
    elsewhere(driver, async |session, names| {
        remove_all(session, [&names.new, &names.old, &names.keep]).await?;
        let as_copy = format!("{} ALLOW_CONNECTIONS false", strategy(session).await?);
        used_alone(session, &names.data, &create((&names.keep, &names.data), &as_copy)).await?;
        swap_in(driver, session, names, &[]).await
    })
    .await
}

/// Restores the data from the copy, with these notes in them.
pub(crate) async fn restore(driver: &PostgresDriver, notes: &[Query]) -> Result<(), DriverError> {
    elsewhere(driver, async |session, names| {
        remove_all(session, [&names.new, &names.old]).await?;
        swap_in(driver, session, names, notes).await
    })
    .await
}

/// Whether there is a copy. A DROP that was interrupted leaves a database with this limit.
pub(crate) async fn is_there(driver: &PostgresDriver) -> Result<bool, DriverError> {
    elsewhere(driver, async |session, names| {
        let asked = format!("SELECT datname FROM pg_database WHERE datname = {} AND datconnlimit <> -2", text(&names.keep));
        Ok(!texts(session, &asked).await?.is_empty())
    })
    .await
}

/// Removes the copy and what a killed perbuck left.
pub(crate) async fn remove(driver: &PostgresDriver) -> Result<(), DriverError> {
    elsewhere(driver, async |session, names| remove_all(session, [&names.new, &names.old, &names.keep]).await).await
}

/// What keeps copies from being saved and restored: names, rights, sessions of others, and what a new database would not have.
pub(crate) async fn problems(driver: &PostgresDriver) -> Result<Vec<HostProblem>, DriverError> {
    let data = &driver.access.target.database;
    let problem = |message: String, help: String| HostProblem { message: format!("`reset = \"restore\"`: {message}"), help };
    if OF_SERVERS.contains(&data.as_str()) {
        let help = format!("name another database in the target, {WAY_OUT}");
        return Ok(vec![problem(format!("database `{data}` belongs to the server, and is not dropped"), help)]);
    }
    if data.len() > NAME_MAX {
        let message = format!("the name of database `{data}` is longer than {NAME_MAX} bytes, so its copy can have none");
        return Ok(vec![problem(message, format!("give it a shorter name, {WAY_OUT}"))]);
    }
    let looked = elsewhere(driver, async |session, names| {
        let mut found = Rows::default();
        session.query(&rights(data), &mut found).await?;
        let each = (0..found.len() as usize).map(|row| Ok((found.display(row, 0)?, found.display(row, 1)?)));
        let missing = each.collect::<Result<Vec<_>, DriverError>>()?;
        if missing.is_empty() {
            is_alone(session, data).await?;
            tried(session, names).await?;
        }
        Ok(missing)
    });
    match looked.await {
        Ok(missing) => Ok(missing.into_iter().map(|(why, help)| problem(why, format!("{help}, {WAY_OUT}"))).collect()),
        Err(error) if error.cause == Some(Cause::Stopped) => Err(error),
        Err(error) => {
            let help = match error.code {
                ErrorCode::Word("client", "sessions") => "end these sessions; perbuck ends none of others",
                _ => "let the user log in to database `postgres`, and drop and make databases there",
            };
            Ok(vec![problem(error.message.clone(), format!("{help}; {WAY_OUT}"))])
        }
    }
}

/// Does something in a session of another database. A killed perbuck's statement may still run on the server; the lock ends with it.
async fn elsewhere<T>(
    driver: &PostgresDriver,
    work: impl AsyncFnOnce(&mut PostgresSession, &Names) -> Result<T, DriverError>,
) -> Result<T, DriverError> {
    let data = &driver.access.target.database;
    let [keep, new, old] = ["keep", "new", "old"].map(|word| format!("perbuck_{word}_{data}"));
    let names = Names { data: data.clone(), keep, new, old };
    on_a_session(&in_database(driver, ELSEWHERE)?, async |session| {
        session.lift_timeout();
        execute(session, &format!("SELECT pg_advisory_lock(hashtext({}))", text(&names.keep))).await?;
        work(session, &names).await
    })
    .await
}

/// The same server with another database.
fn in_database(driver: &PostgresDriver, name: &str) -> Result<PostgresDriver, DriverError> {
    let mut server = driver.access.target.clone();
    (server.database, server.settings) = (name.to_owned(), Vec::new());
    PostgresDriver::new(PostgresTarget { dialect: &Family::Postgres, server }, driver.access.password.clone())
}

/// Makes a database from the copy, and gives it the name of the data.
async fn swap_in(
    driver: &PostgresDriver,
    session: &mut PostgresSession,
    names: &Names,
    notes: &[Query],
) -> Result<(), DriverError> {
    let Names { data, keep, new, old } = names;
    // Before what takes long.
    is_alone(session, data).await?;
    let like = format!("{}{}", owned(session, data).await?, strategy(session).await?);
    execute(session, &create((new, keep), &like)).await?;
    let made = async {
        has_all(session, names).await?;
        if !notes.is_empty() {
            on_a_session(&in_database(driver, new)?, async |own| {
                for note in notes {
                    note.ask(own, &mut Rows::default()).await?;
                }
                Ok(())
            })
            .await?;
        }
        let rename = |from: &str, to: &str| format!("ALTER DATABASE {} RENAME TO {}", name(from), name(to));
        // Statements of one message are one transaction.
        used_alone(session, data, &format!("{}; {}", rename(data, old), rename(new, data))).await
    };
    let swapped = made.await;
    let left = remove_all(session, [if swapped.is_ok() { old } else { new }]).await;
    swapped.and(left)
}

/// Makes an empty database as a restored one would be, and drops it.
async fn tried(session: &mut PostgresSession, names: &Names) -> Result<(), DriverError> {
    remove_all(session, [&names.new, &names.old]).await?;
    let like = owned(session, &names.data).await?;
    execute(session, &create((&names.new, "template0"), &like)).await?;
    let had = has_all(session, names).await;
    let left = remove_all(session, [&names.new]).await;
    had.and(left)
}

/// Gives the new database what belongs to a database and is not in its files.
async fn has_all(session: &mut PostgresSession, Names { data, new, .. }: &Names) -> Result<(), DriverError> {
    for statement in texts(session, &settings_of(data, new)).await? {
        execute(session, &statement).await?;
    }
    let [has, should] = [new, data].map(|name| about(name));
    let has: BTreeSet<String> = texts(session, &has).await?.into_iter().collect();
    let should: BTreeSet<String> = texts(session, &should).await?.into_iter().collect();
    let lost: Vec<&str> = should.symmetric_difference(&has).map(String::as_str).collect();
    if lost.is_empty() {
        return Ok(());
    }
    let message = format!("a database that this user makes would not have what `{data}` has: {}", lost.join("; "));
    Err(DriverError::client(ErrorClass::Refused, "copy", message))
}

/// The owner of a database, as an option of CREATE DATABASE.
async fn owned(session: &mut PostgresSession, database: &str) -> Result<String, DriverError> {
    let asked = format!("SELECT quote_ident(pg_get_userbyid(datdba)) FROM pg_database WHERE datname = {}", text(database));
    Ok(texts(session, &asked).await?.first().map(|owner| format!(" OWNER {owner}")).unwrap_or_default())
}

/// The option by which files are copied, as all servers before 15 do it. The other way writes every page to the log, too.
async fn strategy(session: &mut PostgresSession) -> Result<&'static str, DriverError> {
    let asked = "SELECT 1 WHERE CAST(current_setting('server_version_num') AS INTEGER) >= 150000";
    Ok(if texts(session, asked).await?.is_empty() { "" } else { " STRATEGY FILE_COPY" })
}

fn create((new, from): (&str, &str), options: &str) -> String {
    format!("CREATE DATABASE {} TEMPLATE {}{options}", name(new), name(from))
}

async fn remove_all<const N: usize>(session: &mut PostgresSession, names: [&String; N]) -> Result<(), DriverError> {
    for database in names {
        used_alone(session, database, &format!("DROP DATABASE IF EXISTS {}", name(database))).await?;
    }
    Ok(())
}

/// Executes a statement for which no session may be in a database.
async fn used_alone(session: &mut PostgresSession, database: &str, statement: &str) -> Result<(), DriverError> {
    is_alone(session, database).await?;
    match execute(session, statement).await {
        // One that came in between.
        Err(error) if error.code == IN_USE => is_alone(session, database).await.and(Err(error)),
        done => done,
    }
}

/// Waits until no session is in a database; perbuck's own ends a moment after it was closed.
async fn is_alone(session: &mut PostgresSession, database: &str) -> Result<(), DriverError> {
    let until = now() + LEAVING;
    loop {
        let others = texts(session, &sessions(database)).await?;
        if others.is_empty() {
            return Ok(());
        }
        if now() >= until {
            let message =
                format!("others use database `{database}`, which is copied and replaced as a whole: {}", others.join("; "));
            return Err(DriverError::client(ErrorClass::Refused, "sessions", message));
        }
        sleep(LOOK).await;
    }
}

async fn texts(session: &mut PostgresSession, sql: &str) -> Result<Vec<String>, DriverError> {
    let mut rows = Rows::default();
    session.query(sql, &mut rows).await?;
    (0..rows.len() as usize).map(|row| rows.display(row, 0)).collect()
}

async fn execute(session: &mut PostgresSession, sql: &str) -> Result<(), DriverError> {
    session.query(sql, &mut Rows::default()).await.map(drop)
}

fn name(database: &str) -> String {
    format!("\"{}\"", database.replace('"', "\"\""))
}

fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

/// Sessions in a database and transactions that wait for their second step, a text each. Autovacuum has no user, and gives way.
fn sessions(database: &str) -> String {
    let database = text(database);
    format!(
        "SELECT 'session ' || pid || ' of ' || usename || coalesce(' (' || nullif(application_name, '') || ')', '') \
         || coalesce(' from ' || host(client_addr), '') || coalesce(', ' || state, '') \
         FROM pg_stat_activity WHERE datname = {database} AND usename IS NOT NULL AND pid <> pg_backend_pid() \
         UNION ALL SELECT 'prepared transaction ' || gid || ' of ' || owner FROM pg_prepared_xacts WHERE database = {database}"
    )
}

/// The rights that the user lacks, each with the statement that grants it.
fn rights(database: &str) -> String {
    let database = text(database);
    format!(
        "SELECT 'user ' || rolname || ' may not make databases', 'grant it: ALTER ROLE ' || quote_ident(rolname) || ' CREATEDB' \
         FROM pg_roles WHERE rolname = current_user AND NOT rolsuper AND NOT rolcreatedb \
         UNION ALL SELECT 'database ' || datname || ' belongs to ' || pg_get_userbyid(datdba) || ', so user ' || current_user \
         || ' may not replace it', 'give it away: ALTER DATABASE ' || quote_ident(datname) || ' OWNER TO ' || quote_ident(current_user) \
         FROM pg_database WHERE datname = {database} AND NOT pg_has_role(datdba, 'USAGE') \
         UNION ALL SELECT 'database ' || datname || ' is a template of others', \
         'change that: ALTER DATABASE ' || quote_ident(datname) || ' IS_TEMPLATE false' \
         FROM pg_database WHERE datname = {database} AND datistemplate"
    )
}

/// Statements that give a database what another one has: variables, the limit of connections, privileges, and the comment. Variables that are
/// lists of names are stored with their quotes.
fn settings_of(from: &str, to: &str) -> String {
    let (from, to) = (text(from), text(to));
    format!(
        "SELECT CASE WHEN lower(n) IN ('local_preload_libraries', 'search_path', 'session_preload_libraries', 'temp_tablespaces') \
         THEN format('ALTER DATABASE %I SET %I TO ', {to}, n) || v ELSE format('ALTER DATABASE %I SET %I TO %L', {to}, n, v) END FROM \
         (SELECT split_part(s, '=', 1) AS n, substr(s, strpos(s, '=') + 1) AS v FROM pg_database d \
         JOIN pg_db_role_setting r ON r.setdatabase = d.oid AND r.setrole = 0, unnest(r.setconfig) AS s WHERE datname = {from}) AS v \
         UNION ALL SELECT format('ALTER DATABASE %I CONNECTION LIMIT %s', {to}, datconnlimit) \
         FROM pg_database WHERE datname = {from} AND datconnlimit <> -1 \
         UNION ALL SELECT format('COMMENT ON DATABASE %I IS %L', {to}, shobj_description(oid, 'pg_database')) \
         FROM pg_database WHERE datname = {from} AND shobj_description(oid, 'pg_database') IS NOT NULL \
         UNION ALL SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC, %I', {to}, pg_get_userbyid(datdba)) \
         || coalesce(string_agg(format('; GRANT %s ON DATABASE %I TO %s', a.privilege_type, {to}, \
         CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END \
         || CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END), ''), '') \
         FROM pg_database LEFT JOIN LATERAL aclexplode(datacl) AS a ON true \
         WHERE datname = {from} AND datacl IS NOT NULL GROUP BY datdba"
    )
}

/// What belongs to a database and is not in its files, a text each.
fn about(database: &str) -> String {
    let database = text(database);
    format!(
        "SELECT 'owner ' || pg_get_userbyid(datdba) FROM pg_database WHERE datname = {database} \
         UNION ALL SELECT 'connection limit ' || datconnlimit FROM pg_database WHERE datname = {database} \
         UNION ALL SELECT 'privilege ' || p FROM pg_database, unnest(datacl) AS p WHERE datname = {database} \
         UNION ALL SELECT 'setting ' || coalesce('of ' || rolname || ': ', '') || s FROM pg_database d \
         JOIN pg_db_role_setting r ON r.setdatabase = d.oid LEFT JOIN pg_roles ON pg_roles.oid = r.setrole, unnest(r.setconfig) AS s \
         WHERE datname = {database} \
         UNION ALL SELECT 'comment ' || shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = {database} \
         AND shobj_description(oid, 'pg_database') IS NOT NULL"
    )
}
