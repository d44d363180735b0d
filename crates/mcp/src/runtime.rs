//! Starting a server: the address to it, its era, its lists.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jackfield_files::{WriteOptions, write_atomic};
use jackfield_process::ProcessOptions;
use jackfield_protocol::{CallError, ErrorCode, Launch, Manifest, McpEra, McpServer, McpTransport, RuntimeKind};
use jackfield_runtime::{BoxFuture, HostApi, Runtime, StartError, StartSpec, Started, Traits};
use serde_json::{Value, json};
use tracing::Instrument as _;

use crate::changes;
use crate::handshake::{self, Discovered, HandshakeResult, Refused};
use crate::http;
use crate::instance::McpInstance;
use crate::oauth::{ClientSetup, Consent, Store};
use crate::offers;
use crate::params::Era;
use crate::server_handle::Connection;
use crate::session::{Session, lock};
use crate::stdio::{self, LaunchPlan};
use crate::vars::{Elsewhere, Vars};

/// The longest message of a server.
const LONGEST_MESSAGE: usize = 16 * 1024 * 1024;
/// Where it is remembered which era a server speaks, below its data directory.
const ERA_FILE: &str = "mcp-era.json";

/// What the composition root decides about MCP servers.
#[derive(Debug, Clone)]
pub struct McpOptions {
    /// How those that are child processes are kept.
    pub process: ProcessOptions,
    /// The environment of the host; variables in the settings of a server are filled in from it.
    pub env: Arc<BTreeMap<String, String>>,
    /// Where variables are looked for that are not in it.
    pub elsewhere: Elsewhere,
    /// How servers are logged in to.
    pub logins: Logins,
}

/// How servers are logged in to.
#[derive(Clone, Default)]
pub struct Logins {
    /// Where credentials are kept; without it they last as long as the process.
    pub store: Option<Store>,
    /// Who we are to issuers.
    pub setup: ClientSetup,
    /// Who is asked; without anybody, a server that wants a login is refused with the next step.
    pub consent: Option<Arc<dyn Consent>>,
}

impl std::fmt::Debug for Logins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Logins({:?})", self.store)
    }
}

/// Runs MCP servers. Starts nothing by itself and restarts nothing.
pub struct McpRuntime {
    options: McpOptions,
    /// The eras of servers that were met.
    eras: Mutex<HashMap<String, Era>>,
}

impl McpRuntime {
    /// A runtime with these options.
    pub fn new(mut options: McpOptions) -> Self {
        options.process.max_line = LONGEST_MESSAGE;
        // A message to a server may be as large as one from it.
        options.process.outbox_bytes = 2 * LONGEST_MESSAGE;
        Self { options, eras: Mutex::default() }
    }

    async fn begin(&self, spec: StartSpec, host: Arc<dyn HostApi>) -> Result<Started, StartError> {
        let Launch::Mcp(server) = &spec.manifest.launch else {
            return Err(StartError::Unsupported(format!("extension {} is no MCP server", spec.manifest.id)));
        };
        let server = server.clone();
        let address = self.address(&server, &spec)?;
        let era = ProtocolVersions {
            runtime: self,
            key: fingerprint(&server),
            file: spec.data_dir.join(ERA_FILE),
            wish: server.era,
        };
        let deadline = Instant::now() + spec.start_timeout;
        let mut wanted = era.known();
        // What was remembered may be about an older version of the server.
        let mut recalled = wanted.is_some() && server.era == McpEra::Auto;
        loop {
            let Connection { transport, incoming, server, warnings } = address.connect(&self.options, &host)?;
            let session = Session::new(spec.manifest.id.clone(), transport, server, Arc::clone(&host));
            // From here on dropping this ends the server, also when the caller drops this very future.
            let instance = McpInstance::new(Arc::clone(&session));
            session.tasks.spawn(Arc::clone(&session).listen(incoming));
            let met = match meet(&session, wanted, deadline).await {
                Ok(met) => met,
                Err(HandshakeFailure::StartAnew) => {
                    session.server.kill().await;
                    wanted = Some(Era::Legacy);
                    continue;
                }
                Err(HandshakeFailure::Refused(_)) if recalled => {
                    era.forget();
                    session.server.kill().await;
                    (wanted, recalled) = (None, false);
                    continue;
                }
                Err(HandshakeFailure::Failed { error, awaited }) => {
                    era.forget();
                    return Err(failed(&session, error, awaited, &spec).await);
                }
                Err(HandshakeFailure::Refused(reason)) => {
                    era.forget();
                    session.server.kill().await;
                    return Err(StartError::BadHandshake { reason, stderr: session.server.tail() });
                }
            };
            era.remember(met.era);
            let modern = met.era == Era::Modern;
            // Set once, here.
            let met = session.met.get_or_init(|| met).clone();
            let most = deadline.saturating_duration_since(Instant::now());
            let offers = match offers::fetch_all(&session, most).await {
                Ok(offers) => offers,
                Err(reason) if session.over.is_cancelled() => {
                    let error = CallError::new(ErrorCode::Unavailable, reason);
                    return Err(failed(&session, error, "answer to tools/list", &spec).await);
                }
                Err(reason) => {
                    session.server.kill().await;
                    return Err(StartError::BadHandshake { reason, stderr: session.server.tail() });
                }
            };
            session.server.settled();
            let contributions = offers.contributions(&met, &warnings);
            session.tasks.spawn(changes::follow(Arc::clone(&session), offers, warnings));
            if modern {
                session.tasks.spawn(changes::subscribe(Arc::clone(&session)));
            }
            return Ok(Started { instance: Arc::new(instance), contributions });
        }
    }

    fn address(&self, server: &McpServer, spec: &StartSpec) -> Result<ServerAddress, StartError> {
        let vars =
            Vars { env: &self.options.env, elsewhere: &self.options.elsewhere, project: &spec.project, dir: &spec.dir };
        match &server.transport {
            McpTransport::Stdio { command, args, env, cwd } => {
                LaunchPlan::of(spec.clone(), &vars, command, args, env, cwd.as_deref()).map(ServerAddress::Stdio)
            }
            McpTransport::Http { url, headers } => {
                http::HttpTarget::of(spec, &vars, url, headers, &self.options.logins).map(ServerAddress::Http)
            }
        }
    }
}

/// A address to a server, which may have to be taken twice.
enum ServerAddress {
    Stdio(LaunchPlan),
    Http(http::HttpTarget),
}

impl ServerAddress {
    fn connect(&self, options: &McpOptions, host: &Arc<dyn HostApi>) -> Result<Connection, StartError> {
        match self {
            Self::Stdio(plan) => stdio::connect(&options.process, plan, Arc::clone(host)),
            Self::Http(target) => http::connect(target),
        }
    }
}

impl Runtime for McpRuntime {
    fn kind(&self) -> RuntimeKind {
        RuntimeKind::Mcp
    }

    fn traits(&self, _manifest: &Manifest) -> Traits {
        Traits::default()
    }

    fn start(&self, spec: StartSpec, host: Arc<dyn HostApi>) -> BoxFuture<'_, Result<Started, StartError>> {
        let span = tracing::debug_span!("start", runtime = "mcp", extension = %spec.manifest.id);
        Box::pin(self.begin(spec, host).instrument(span))
    }
}

/// Why no acquaintance was made.
enum HandshakeFailure {
    /// The question of the newer era upset it.
    StartAnew,
    /// It did not come to an answer.
    Failed { error: CallError, awaited: &'static str },
    /// It answered that it will not.
    Refused(String),
}

/// Makes acquaintance: in the era that is known, or else by asking.
async fn meet(session: &Arc<Session>, era: Option<Era>, until: Instant) -> Result<HandshakeResult, HandshakeFailure> {
    if era != Some(Era::Legacy) {
        match handshake::discover(session, until).await {
            Discovered::Modern(met) => return Ok(met),
            Discovered::Failed(error) => {
                return Err(HandshakeFailure::Failed { error, awaited: "answer to server/discover" });
            }
            Discovered::Legacy | Discovered::Upset if era == Some(Era::Modern) => {
                let reason = "it does not speak MCP 2026-07-28; let `protocol` be \"auto\"".to_owned();
                return Err(HandshakeFailure::Refused(reason));
            }
            Discovered::Legacy => {}
            Discovered::Upset => return Err(HandshakeFailure::StartAnew),
        }
    }
    handshake::initialize(session, until).await.map_err(|refused| match refused {
        Refused::ByServer(error) => HandshakeFailure::Refused(session.refusal("initialize", &error).message),
        Refused::Odd(reason) => HandshakeFailure::Refused(format!("its answer to initialize cannot be used: {reason}")),
        Refused::Unanswered(error) => HandshakeFailure::Failed { error, awaited: "answer to initialize" },
    })
}

/// A start that did not come to an answer: the server is gone, or too slow. Nothing of it is left.
async fn failed(session: &Arc<Session>, error: CallError, awaited: &str, spec: &StartSpec) -> StartError {
    let awaited = awaited.to_owned();
    if error.code == ErrorCode::Timeout {
        session.server.kill().await;
        return StartError::HandshakeTimeout { awaited, after: spec.start_timeout, stderr: session.server.tail() };
    }
    // Only a process can have gone.
    if error.code != ErrorCode::Unavailable || session.server.pid().is_none() {
        session.server.kill().await;
        return StartError::BadHandshake { reason: error.message, stderr: session.server.tail() };
    }
    let gone = tokio::time::timeout(Duration::from_secs(3), session.server.exited()).await;
    session.server.kill().await;
    let exit = gone.unwrap_or_default();
    StartError::EarlyExit { awaited, exit, stderr: session.server.tail() }
}

/// What one remembers a server's era by: another command or address may be another server.
fn fingerprint(server: &McpServer) -> String {
    match &server.transport {
        McpTransport::Stdio { command, args, cwd, .. } => json!([command, args, cwd]).to_string(),
        McpTransport::Http { url, .. } => json!([url]).to_string(),
    }
}

/// Which era a server speaks, as far as is known.
struct ProtocolVersions<'a> {
    runtime: &'a McpRuntime,
    key: String,
    file: PathBuf,
    wish: McpEra,
}

impl ProtocolVersions<'_> {
    fn known(&self) -> Option<Era> {
        match self.wish {
            McpEra::Legacy => Some(Era::Legacy),
            McpEra::Modern => Some(Era::Modern),
            // Who speaks the newer one is asked anyway, and who spoke it once may have been replaced.
            McpEra::Auto => {
                let known = lock(&self.runtime.eras).get(&self.key).copied().or_else(|| self.on_disk());
                known.filter(|era| *era == Era::Legacy)
            }
        }
    }

    fn on_disk(&self) -> Option<Era> {
        let text = read_small(&self.file)?;
        let kept: Value = serde_json::from_str(&text).ok()?;
        let ours = kept.get("server").and_then(Value::as_str) == Some(&self.key);
        (ours && kept.get("era").and_then(Value::as_str) == Some("legacy")).then_some(Era::Legacy)
    }

    /// A decision that cannot be kept costs a question the next time.
    fn remember(&self, era: Era) {
        if self.wish != McpEra::Auto || lock(&self.runtime.eras).insert(self.key.clone(), era) == Some(era) {
            return;
        }
        if self.on_disk() == Some(era) {
            return;
        }
        let word = if era == Era::Legacy { "legacy" } else { "modern" };
        let text = json!({ "server": self.key, "era": word }).to_string();
        write_atomic(&self.file, text.as_bytes(), WriteOptions::PRIVATE).ok();
    }

    /// It did not work out: ask anew the next time.
    fn forget(&self) {
        lock(&self.runtime.eras).remove(&self.key);
        std::fs::remove_file(&self.file).ok();
    }
}

fn read_small(file: &Path) -> Option<String> {
    let known = std::fs::symlink_metadata(file).ok()?;
    (known.is_file() && known.len() < 64 * 1024).then(|| std::fs::read_to_string(file).ok()).flatten()
}
