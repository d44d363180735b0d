//! `serve`: a host that stays and is spoken to over HTTP.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_gateway::lines::{self, RunningGateway};
use jackfield_gateway::{Approvals, Expose, Gateway, GatewayOptions, socket_path};
use jackfield_host::{Approver, Home, NoAgent, NoFace, YesToAll};
use jackfield_protocol::{CallError, ErrorCode, plain_text};
use serde_json::{Value, json};

use super::{LEARN_TIMEOUT, mcp};
use crate::args::{Global, ServeArgs};
use crate::compose::{self, Frontend, Scope};
use crate::exit;
use crate::output::{self, note};
use crate::signals::Signals;

pub(crate) async fn serve(global: &Global, args: ServeArgs) -> anyhow::Result<u8> {
    let approvals = Approvals::new(Duration::from_millis(args.approval_timeout_ms));
    let approver: Arc<dyn Approver> = match global.yes {
        true => Arc::new(YesToAll),
        false => Arc::clone(&approvals) as _,
    };
    let frontend =
        Frontend { face: Arc::new(NoFace), agent: Arc::new(NoAgent), session_file: None, approver: Some(approver) };
    let mut alone = Alone::of(&compose::home(global)?, &compose::project(global)?)?;
    let host = compose::open_for(global, Scope::All, frontend)?;
    let settings = host.report().settings.clone();
    let watching = if args.watch || settings.watch.enabled {
        let debounce = Duration::from_millis(settings.watch.debounce_ms);
        Some(host.watch(debounce).map_err(|error| anyhow::anyhow!("cannot watch for changes: {error}"))?)
    } else {
        None
    };
    let options = GatewayOptions {
        listen: args.listen,
        allow_remote: args.allow_remote,
        body_limit: args.body_limit,
        rate: args.rate_limit,
        header_timeout: Duration::from_millis(args.header_timeout_ms.max(1)),
        drain: Duration::from_millis(args.drain_ms),
        learn: LEARN_TIMEOUT,
        expose: Expose::parse(args.expose.iter().map(String::as_str)),
        mcp_socket: Some(socket_path(host.home(), host.project())),
    };
    let (gateway, token) = Gateway::open(host.clone(), Arc::clone(&approvals), options).await?;
    if let Some(error) = gateway.unattached() {
        mcp::unattached(error);
    }
    let address = format!("http://{}", gateway.address());
    alone.note(&json!({ "pid": std::process::id(), "address": address, "project": host.project() }))?;
    let signals = Signals::listen();
    let (stop, hurry) = (signals.stop.clone(), signals.hurry.clone());
    let running = RunningGateway { address: address.clone(), tokens: gateway.tokens() };
    let attended = lines::attend(&host, LEARN_TIMEOUT, stop.clone(), Some(running));
    let asking = tokio::spawn(mention(Arc::clone(&approvals), address.clone()));
    if global.json {
        output::json(&json!({
            "event": "listening", "address": address, "token": token, "session": "main",
            "pid": std::process::id(), "project": host.project(),
        }))?;
    } else {
        output::line(&format!("listening on {address}"))?;
        output::line(&format!("token {token}"))?;
        note!("the token is shown this once; send it as `Authorization: Bearer TOKEN`");
    }
    drop(token);
    gateway.run(stop, hurry).await;
    drop(signals);
    asking.abort();
    drop(watching);
    drop(attended);
    host.shutdown().await;
    Ok(exit::FINE)
}

/// Says that somebody is asked, because nobody may be looking.
async fn mention(approvals: Arc<Approvals>, address: String) {
    let mut news = approvals.news();
    while let Ok((what, data)) = news.recv().await {
        if what == "approval_requested" {
            let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (id, question) = (text("id"), plain_text(&text("question")));
            note!("{question}; answer question {id} at {address}/api/approvals");
        }
    }
}

/// The note in the home that keeps a second gateway away from the same project.
struct Alone {
    file: File,
    path: PathBuf,
}

impl Alone {
    fn of(home: &Home, project: &std::path::Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(home.run())?;
        let path = home.run().join(format!("serve-{}.json", short_hash(project)));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file, path }),
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // What the other one wrote about itself only makes the message better.
                file.read_to_string(&mut text).ok();
                let other: Value = serde_json::from_str(&text).unwrap_or_default();
                let pid = other.get("pid").and_then(Value::as_u64).unwrap_or_default();
                let address =
                    other.get("address").and_then(Value::as_str).unwrap_or("an address that it has yet to note");
                let message = format!(
                    "a gateway for {} runs already, at {address} (process {pid}); use it, or end it first",
                    project.display()
                );
                Err(CallError::new(ErrorCode::Unavailable, message).into())
            }
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    fn note(&mut self, about: &Value) -> std::io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(about.to_string().as_bytes())
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
    }
}

/// Tells projects apart in the names of files.
fn short_hash(path: &std::path::Path) -> String {
    let digest = jackfield_host::params_hash("serve", &json!(path));
    digest.chars().filter(char::is_ascii_hexdigit).rev().take(16).collect()
}
