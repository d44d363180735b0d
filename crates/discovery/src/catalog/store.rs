//! The catalogue's file: an SQLite database that several hosts use at the same time.
//!
//! No error leaves this module. A database that cannot be used is replaced once; if that does not help, the host works
//! without one.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jackfield_files as files;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior, params};
use sha2::{Digest, Sha256};

/// The form of the database. Another number, or another version of the host, makes another catalogue.
const FORM: &str = concat!("jackfield.catalog.1 ", env!("CARGO_PKG_VERSION"));

/// How long a write waits for other hosts.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How many rows of a table the last writes may have left behind.
const MOST_ROWS: i64 = 20_000;

const TABLES: &str = "
    CREATE TABLE extension (
        name TEXT PRIMARY KEY,
        content TEXT NOT NULL,
        seal BLOB NOT NULL
    );
    CREATE TABLE tree (
        place BLOB PRIMARY KEY,
        stamp BLOB NOT NULL,
        hash TEXT NOT NULL,
        seal BLOB NOT NULL
    );
";

/// The database in one folder, with the files that SQLite keeps beside it.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    connection: Mutex<Handle>,
}

#[derive(Debug)]
enum Handle {
    /// Nobody has used it yet.
    Closed {
        replaced: bool,
    },
    Open {
        connection: Connection,
        replaced: bool,
    },
    /// It cannot be used in this run.
    Unusable,
}

/// Why the database cannot be used as it is.
#[derive(Debug, thiserror::Error)]
enum Unfit {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("it has another form")]
    OtherForm,
}

impl Store {
    /// The database in `folder`; nothing is opened or made yet.
    pub(super) fn at(folder: PathBuf) -> Self {
        Self { folder, connection: Mutex::new(Handle::Closed { replaced: false }) }
    }

    /// The content of an extension's row.
    pub(super) fn extension(&self, name: &str) -> Option<String> {
        let row: Option<(String, Vec<u8>)> = self.with(|db| {
            let mut select = db.prepare_cached("SELECT content, seal FROM extension WHERE name = ?1")?;
            select.query_row([name], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })?;
        row.filter(|(content, sealed)| *sealed == seal(&[name.as_bytes(), content.as_bytes()]))
            .map(|(content, _)| content)
    }

    /// Writes an extension's row.
    pub(super) fn put_extension(&self, name: &str, content: &str) {
        let seal = seal(&[name.as_bytes(), content.as_bytes()]);
        self.with(|db| {
            db.prepare_cached("INSERT OR REPLACE INTO extension (name, content, seal) VALUES (?1, ?2, ?3)")?
                .execute(params![name, content, seal])?;
            prune(db, "DELETE FROM extension WHERE rowid <= ?1")
        });
    }

    /// The hash of a tree, if it was taken with this stamp.
    pub(super) fn tree(&self, place: &[u8], stamp: &[u8]) -> Option<String> {
        let row: Option<(String, Vec<u8>)> = self.with(|db| {
            let mut select = db.prepare_cached("SELECT hash, seal FROM tree WHERE place = ?1 AND stamp = ?2")?;
            select.query_row(params![place, stamp], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })?;
        row.filter(|(hash, sealed)| *sealed == seal(&[place, stamp, hash.as_bytes()])).map(|(hash, _)| hash)
    }

    /// Writes a tree's row.
    pub(super) fn put_tree(&self, place: &[u8], stamp: &[u8], hash: &str) {
        let seal = seal(&[place, stamp, hash.as_bytes()]);
        self.with(|db| {
            db.prepare_cached("INSERT OR REPLACE INTO tree (place, stamp, hash, seal) VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![place, stamp, hash, seal])?;
            prune(db, "DELETE FROM tree WHERE rowid <= ?1")
        });
    }

    /// Removes a tree's row.
    pub(super) fn remove_tree(&self, place: &[u8]) {
        self.with(|db| db.prepare_cached("DELETE FROM tree WHERE place = ?1")?.execute([place]));
    }

    /// Does `work` with the database. One that cannot be used is replaced by an empty one, once in a run.
    fn with<T>(&self, work: impl Fn(&Connection) -> rusqlite::Result<T>) -> Option<T> {
        let mut handle = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let replaced = match &*handle {
                Handle::Unusable => return None,
                Handle::Open { connection, replaced } => match work(connection) {
                    Ok(done) => return Some(done),
                    Err(_) => *replaced,
                },
                Handle::Closed { replaced } => {
                    let replaced = *replaced;
                    if let Ok(connection) = open(&self.folder) {
                        *handle = Handle::Open { connection, replaced };
                        continue;
                    }
                    replaced
                }
            };
            // Closed before the files go.
            *handle = Handle::Unusable;
            if !replaced && discard(&self.folder) {
                *handle = Handle::Closed { replaced: true };
            }
        }
    }
}

/// Opens the database, or makes it.
fn open(folder: &Path) -> Result<Connection, Unfit> {
    files::private_folder(folder)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(folder.join("catalog.sqlite"), flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    use_wal(&connection)?;
    // A power failure may lose the last writes. No write waits for the disk.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // The host that ends last would otherwise spend its end on tidying up.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let form = form_number();
    if version(&connection)? == form {
        return Ok(connection);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match version(&transaction)? {
        // Another host was quicker.
        found if found == form => {}
        0 => {
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "user_version", form)?;
        }
        _ => return Err(Unfit::OtherForm),
    }
    transaction.commit()?;
    Ok(connection)
}

/// Switches to the write-ahead log. Two hosts that make the database at the same time get in each other's way here, and
/// SQLite does not wait by itself.
fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// [`FORM`] as the number that SQLite keeps in a database; never 0, which stands in an empty one.
fn form_number() -> i32 {
    let digest = Sha256::digest(FORM);
    let bytes = digest.first_chunk::<4>().copied().unwrap_or_default();
    i32::from_le_bytes(bytes) | 1
}

/// Moves the folder away as a whole and deletes it. SQLite keeps several files, and a mixture of old and new ones would be
/// damaged again. A host that still uses the old database goes on with it.
fn discard(folder: &Path) -> bool {
    let Some(parent) = folder.parent() else { return false };
    let away = parent.join(files::temporary_name());
    if std::fs::rename(folder, &away).is_err() {
        // Another host may have moved it.
        return !folder.exists();
    }
    // What cannot be deleted is only untidy. A plain file may stand in the folder's place.
    std::fs::remove_dir_all(&away).or_else(|_| std::fs::remove_file(&away)).ok();
    true
}

/// Removes rows that were not among the last writes: every write gets a number of its own.
fn prune(connection: &Connection, delete: &str) -> rusqlite::Result<()> {
    let oldest = connection.last_insert_rowid() - MOST_ROWS;
    if oldest > 0 {
        connection.prepare_cached(delete)?.execute([oldest])?;
    }
    Ok(())
}

/// A hash over a row, key and all. SQLite notices a damaged page only where its structure is broken.
fn seal(fields: &[&[u8]]) -> Vec<u8> {
    let mut hasher = Sha256::new();
    for field in fields {
        hasher.update((field.len() as u64).to_le_bytes());
        hasher.update(field);
    }
    hasher.finalize().to_vec()
}
