//! `rpc`: a host that stays and speaks JSON lines on standard input and output.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_gateway::lines::{self, Listeners};
use jackfield_host::{Agent, NoAgent};
use jackfield_protocol::plain_text;
use tokio::io::BufReader;

use super::LEARN_TIMEOUT;
use crate::args::Global;
use crate::compose::{self, Frontend, Scope};
use crate::exit;
use crate::output::note;

/// How a host that stays is to be.
pub(crate) struct Stay {
    pub(crate) watch: bool,
    pub(crate) session: Option<PathBuf>,
    pub(crate) record_agent: bool,
    pub(crate) agent_answers: Option<PathBuf>,
}

pub(crate) async fn rpc(global: &Global, stay: Stay) -> anyhow::Result<u8> {
    let Stay { watch, session, record_agent, agent_answers } = stay;
    let listeners = Listeners::default();
    let agent: Arc<dyn Agent> = match record_agent {
        true => listeners.recording_agent(agent_answers.as_deref())?,
        false => Arc::new(NoAgent),
    };
    let frontend = Frontend { face: listeners.face(), agent, session_file: session, approver: None };
    let host = compose::open_for(global, Scope::All, frontend)?;
    let settings = host.report().settings.clone();
    let watching = if watch || settings.watch.enabled {
        let debounce = Duration::from_millis(settings.watch.debounce_ms);
        let watching = host.watch(debounce).map_err(|error| anyhow::anyhow!("cannot watch for changes: {error}"))?;
        for (path, why) in watching.unwatched() {
            let place = plain_text(&path.to_string_lossy());
            note!("warn: changes in {place} are not noticed, reload by hand: {}", plain_text(&why));
        }
        Some(watching)
    } else {
        None
    };
    let streams = (BufReader::new(tokio::io::stdin()), tokio::io::stdout());
    lines::serve(&host, listeners, LEARN_TIMEOUT, streams, crate::signals::ended()).await;
    drop(watching);
    host.shutdown().await;
    Ok(exit::FINE)
}
