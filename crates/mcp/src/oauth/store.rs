//! Where credentials are kept: one file per server, for its owner alone.

use jackfield_files::{WriteOptions, private_folder, write_atomic};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What is known of one server. It belongs to the issuer that is named in it and to no other.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The server that the credentials are for.
    pub(crate) server: String,
    /// The resource that they were issued for.
    pub(crate) resource: String,
    /// Who issued them.
    pub(crate) issuer: String,
    /// Where they are renewed.
    pub(crate) token_endpoint: String,
    /// Where they are given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revocation_endpoint: Option<String>,
    /// Who we are to the issuer.
    pub(crate) client: Client,
    /// What was granted, or asked for where the issuer does not say.
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// What is sent to the server; nothing after it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) access_token: Option<String>,
    /// What is sent to the issuer for a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<String>,
    /// In seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<u64>,
}

/// Who we are to an issuer.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Client {
    pub(crate) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<String>,
    /// How we say so at the token endpoint.
    pub(crate) method: Method,
    /// How we came to be known.
    pub(crate) origin: Origin,
    /// Where the issuer sends people back to.
    pub(crate) redirect_uri: String,
}

/// How a client names itself at a token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Method {
    #[serde(rename = "client_secret_basic")]
    Basic,
    #[serde(rename = "client_secret_post")]
    Post,
    #[serde(rename = "none")]
    None,
}

impl Method {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
            Self::None => "none",
        }
    }
}

/// How a client came to be known to an issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Origin {
    /// A person registered it.
    Given,
    /// Its id is the address of a document about it.
    Document,
    /// It registered itself.
    Registered,
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Record({} by {})", self.server, self.issuer)
    }
}

/// A folder of records.
#[derive(Debug, Clone)]
pub struct Store {
    pub(super) folder: PathBuf,
}

/// How long another process may take to renew credentials.
const LOCK_WAIT: Duration = Duration::from_secs(40);

impl Store {
    /// Keeps records in `folder`, which is made when the first one is written.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The file is named after the server's address, so that nobody who takes over a name gets what was for another address.
    fn file(&self, server: &str) -> PathBuf {
        let hash = Sha256::digest(server.as_bytes());
        let name: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{name}.json"))
    }

    /// What is known of a server. A file that cannot be read counts as none: a new login writes it anew.
    pub(crate) fn load(&self, server: &str) -> Option<Record> {
        let text = fs::read_to_string(self.file(server)).ok()?;
        let record: Record = serde_json::from_str(&text).ok()?;
        (record.server == server).then_some(record)
    }

    pub(crate) fn save(&self, record: &Record) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(record)?;
        text.push(b'\n');
        write_atomic(&self.file(&record.server), &text, WriteOptions::PRIVATE).map(drop)
    }

    /// Forgets a server. Whether anything was known.
    pub(crate) fn remove(&self, server: &str) -> io::Result<bool> {
        match fs::remove_file(self.file(server)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Keeps other processes from renewing the same credentials meanwhile; an issuer may accept each refresh token only once.
    pub(crate) async fn lock(&self, server: &str) -> io::Result<fs::File> {
        private_folder(&self.folder)?;
        let file = self.file(server).with_extension("lock");
        let mut options = fs::OpenOptions::new();
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let held = options.open(file)?;
        let deadline = Instant::now() + LOCK_WAIT;
        loop {
            match held.try_lock() {
                Ok(()) => return Ok(held),
                Err(fs::TryLockError::WouldBlock) if Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }
}
