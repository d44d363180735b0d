//! `bridge`: writes the extension with which pi reaches a host, and serves one that has no gateway yet.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use jackfield_gateway::bridge::{self, BridgeTool, Written};
use jackfield_gateway::{Approvals, Gateway, GatewayOptions, NewToken, TokenMade};
use jackfield_host::{Approver, Host, NoAgent, NoApprover, NoFace, Watching, YesToAll};
use jackfield_protocol::{CallError, ErrorCode, plain_text};
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio_util::sync::CancellationToken;

use super::LEARN_TIMEOUT;
use crate::args::Global;
use crate::compose::{self, Frontend, Scope};
use crate::exit;
use crate::output::{self, note};

pub(crate) async fn bridge(global: &Global, out: Option<PathBuf>) -> anyhow::Result<u8> {
    let host = compose::open(global, Scope::All)?;
    host.learn(LEARN_TIMEOUT).await;
    let written = write(global, &host, out.as_deref());
    host.shutdown().await;
    let (written, tools) = written?;
    let file = std::path::absolute(&written.path)?;
    if global.json {
        let tools: Vec<_> = tools.iter().map(|tool| json!({ "name": tool.name, "pi_name": tool.pi_name() })).collect();
        output::json(&json!({
            "ok": true, "path": file, "hash": written.hash, "stale": written.stale, "tools": tools,
        }))?;
    } else {
        output::plain(&file.display().to_string())?;
        note!("{} tools; load it with: pi --extension {}", tools.len(), plain_text(&file.display().to_string()));
        if let Some(why) = &written.stale {
            note!(
                "warn: this is the last good one; one of the tools as they are now cannot be written: {}",
                plain_text(why)
            );
        }
    }
    Ok(exit::FINE)
}

/// Writes the extension for the tools of a host as they are now.
pub(crate) fn write(global: &Global, host: &Host, out: Option<&Path>) -> anyhow::Result<(Written, Vec<BridgeTool>)> {
    let tools = bridge::tools(&host.snapshot());
    let text = bridge::source(&tools, &start(global)?);
    let written = match out {
        Some(folder) => bridge::write_to(folder, &text, &check)?,
        None => bridge::write(&host.home().bridge(), &text, &check)?,
    };
    Ok((written, tools))
}

/// The text of the extension, for a place of pi's own.
pub(crate) async fn text(global: &Global) -> anyhow::Result<String> {
    let host = compose::open(global, Scope::All)?;
    host.learn(LEARN_TIMEOUT).await;
    let text = bridge::source(&bridge::tools(&host.snapshot()), &start(global)?);
    host.shutdown().await;
    check(&text)
        .map_err(|why| CallError::new(ErrorCode::Internal, format!("the extension for pi is broken: {why}")))?;
    Ok(text)
}

fn check(text: &str) -> Result<(), String> {
    jackfield_js::check_syntax(Path::new("jackfield-bridge.ts"), text)
}

/// The command with which the extension starts a gateway of its own.
fn start(global: &Global) -> anyhow::Result<Vec<String>> {
    let mut command = ourselves(global)?;
    command.extend(["bridge".to_owned(), "--serve".to_owned()]);
    Ok(command)
}

/// This program, with what this run was told about the home, the policy and further extensions.
pub(crate) fn ourselves(global: &Global) -> anyhow::Result<Vec<String>> {
    let text =
        |path: PathBuf| path.into_os_string().into_string().ok().context("a path that is not UTF-8 cannot be written");
    let mut command = vec![text(std::env::current_exe().context("cannot find out where this program is")?)?];
    if let Some(home) = &global.home {
        command.extend(["--home".to_owned(), text(std::path::absolute(home)?)?]);
    }
    for ext in &global.ext {
        command.extend(["--ext".to_owned(), text(std::path::absolute(ext)?)?]);
    }
    if let Some(policy) = global.policy {
        command.extend(["--policy".to_owned(), policy.to_string()]);
    }
    Ok(command)
}

/// A host and a gateway for one pi.
pub(crate) struct Serving {
    pub(crate) host: Host,
    pub(crate) url: String,
    pub(crate) token: TokenMade,
    stop: CancellationToken,
    running: tokio::task::JoinHandle<()>,
    watching: Option<Watching>,
}

impl Serving {
    /// Opens both. pi has the terminal, so nobody is asked for permission: what is not granted is refused, and says how to
    /// grant it.
    pub(crate) async fn open(global: &Global) -> anyhow::Result<Self> {
        let approver: Arc<dyn Approver> = if global.yes { Arc::new(YesToAll) } else { Arc::new(NoApprover) };
        let frontend =
            Frontend { face: Arc::new(NoFace), agent: Arc::new(NoAgent), session_file: None, approver: Some(approver) };
        let host = compose::open_for(global, Scope::All, frontend)?;
        let debounce = Duration::from_millis(host.report().settings.watch.debounce_ms);
        // Without it tools come and go by `jackfield reload` alone.
        let watching = host.watch(debounce).ok();
        let options = GatewayOptions { drain: Duration::from_secs(2), ..GatewayOptions::default() };
        let approvals = Approvals::new(Duration::ZERO);
        let (gateway, _) = Gateway::open(host.clone(), approvals, options).await?;
        let wish = NewToken { name: Some("pi".to_owned()), ..NewToken::default() };
        let token = gateway.tokens().make(wish)?;
        let url = format!("http://{}", gateway.address());
        let stop = CancellationToken::new();
        let running = tokio::spawn(gateway.run(stop.clone(), CancellationToken::new()));
        Ok(Self { host, url, token, stop, running, watching })
    }

    /// Stops the gateway, and then the host.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.running.await.ok();
        drop(self.watching);
        self.host.shutdown().await;
    }
}

/// Serves one pi: says where on standard output, and ends when standard input does.
pub(crate) async fn serve(global: &Global) -> anyhow::Result<u8> {
    if std::io::stdout().is_terminal() {
        let message =
            "`bridge --serve` hands a token to the extension that starts it; for yourself run `jackfield serve`";
        return Err(CallError::new(ErrorCode::InvalidRequest, message).into());
    }
    let serving = Serving::open(global).await?;
    output::line(&json!({ "url": serving.url, "token": serving.token.token }).to_string())?;
    let input_ends = async {
        let mut input = tokio::io::stdin();
        let mut piece = [0_u8; 256];
        while input.read(&mut piece).await.is_ok_and(|count| count > 0) {}
    };
    tokio::select! {
        () = input_ends => {}
        () = crate::signals::ended() => {}
    }
    serving.end().await;
    Ok(exit::FINE)
}
