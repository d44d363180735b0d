//! `mcp`: a host as an MCP server, on standard input and output or over HTTP.

use std::sync::Arc;
use std::time::Duration;

use jackfield_gateway::{Attached, Expose, McpFace, McpOptions, attach, serve, socket_path};
use jackfield_host::{Host, NoAgent, NoFace, Watching};
use jackfield_protocol::plain_text;
use tokio::io::BufReader;
use tokio_util::sync::CancellationToken;

use super::{LEARN, rpc};
use crate::approve::approver;
use crate::args::{Global, McpArgs};
use crate::compose::{self, Company, Reach};
use crate::exit;
use crate::output::note;

pub(crate) async fn mcp(global: &Global, args: McpArgs) -> anyhow::Result<u8> {
    // What is said for this run alone is not said to a host that others use, too.
    let shares = global.ext.is_empty() && global.policy.is_none() && !global.yes && !args.alone && !args.watch;
    if shares && args.http.is_none() {
        let path = socket_path(&compose::home(global)?, &compose::project(global)?);
        if attach(&path, &args.expose, tokio::io::stdin(), tokio::io::stdout()).await == Attached::Over {
            return Ok(exit::FINE);
        }
    }
    let company = Company {
        face: Arc::new(NoFace),
        agent: Arc::new(NoAgent),
        session_file: None,
        // Standard input belongs to the client, so nobody can be asked there.
        approver: Some(approver(global.yes)),
    };
    let host = compose::open_for(global, Reach::All, company)?;
    let watching = watch(&host, args.watch)?;
    let met = CancellationToken::new();
    let expose = Expose::parse(args.expose.iter().map(String::as_str));
    let face = McpFace::new(host.clone(), McpOptions { expose, met: met.clone(), ..McpOptions::default() });
    let starting = tokio::spawn({
        let host = host.clone();
        async move {
            host.learn(LEARN).await;
            met.cancel();
            host.start_listeners(LEARN).await;
        }
    });
    let talking = serve(face, None, BufReader::new(tokio::io::stdin()), tokio::io::stdout());
    tokio::select! {
        () = talking => {}
        () = rpc::ended() => {}
    }
    starting.abort();
    drop(watching);
    host.keep_lookup();
    host.shutdown().await;
    Ok(exit::FINE)
}

fn watch(host: &Host, wanted: bool) -> anyhow::Result<Option<Watching>> {
    let settings = host.report().settings.clone();
    if !wanted && !settings.watch.enabled {
        return Ok(None);
    }
    let debounce = Duration::from_millis(settings.watch.debounce_ms);
    let watching = host.watch(debounce).map_err(|error| anyhow::anyhow!("cannot watch for changes: {error}"))?;
    for (path, why) in watching.unwatched() {
        let place = plain_text(&path.to_string_lossy());
        note!("warn: changes in {place} are not noticed, reload by hand: {}", plain_text(&why));
    }
    Ok(Some(watching))
}
