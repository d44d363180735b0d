//! Making acquaintance with a server, in either era, and finding out which.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_protocol::{CallError, ErrorCode};
use jackfield_runtime::CallCx;
use serde_json::{Map, Value, json};

use crate::envelope::{self, RpcError};
use crate::params::{self, CAPABILITIES, Era, LEGACY_VERSION, LEGACY_VERSIONS, MODERN_VERSION, client_info};
use crate::session::{Ask, Session};
use crate::table::RpcAnswer;
use crate::transport::Outgoing;

/// How long a server that has read the question of the newer era may stay silent.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(2);
/// How often it is looked at meanwhile.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Who a server is.
#[derive(Debug, Clone)]
pub(crate) struct HandshakeResult {
    pub(crate) era: Era,
    pub(crate) version: String,
    pub(crate) info: Value,
    pub(crate) capabilities: Value,
    pub(crate) instructions: Option<String>,
}

impl HandshakeResult {
    fn of(era: Era, version: &str, said: &Value) -> Self {
        let part = |key: &str| said.get(key).cloned().unwrap_or(Value::Null);
        let info = match part("serverInfo") {
            Value::Null => said.pointer("/_meta/io.modelcontextprotocol~1serverInfo").cloned().unwrap_or(Value::Null),
            info => info,
        };
        Self {
            era,
            version: version.to_owned(),
            info,
            capabilities: part("capabilities"),
            instructions: said.get("instructions").and_then(Value::as_str).map(str::to_owned),
        }
    }

    /// Whether the server says that it has this.
    pub(crate) fn can(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some_and(|value| !value.is_null() && *value != json!(false))
    }

    /// Whether it says that it will tell of changes of this list.
    pub(crate) fn tells_of_changes(&self, capability: &str) -> bool {
        self.capabilities.get(capability).and_then(|value| value.get("listChanged")) == Some(&json!(true))
    }

    /// The version of the server itself.
    pub(crate) fn server_version(&self) -> Option<String> {
        self.info.get("version").and_then(Value::as_str).map(str::to_owned)
    }
}

/// What came of asking in the newer era.
pub(crate) enum Discovered {
    /// It speaks it.
    Modern(HandshakeResult),
    /// It answered, and does not.
    Legacy,
    /// It read the question and says nothing, or went because of it. It has to be started anew.
    Upset,
    /// It is gone, or the time is, and the question is not the reason.
    Failed(CallError),
}

/// No such version of the protocol.
const UNSUPPORTED_VERSION: i64 = -32022;

/// Asks a server whether it speaks the newer era. Once only, unless it names our version in its refusal: some refuse to go
/// back after they were asked.
pub(crate) async fn discover(session: &Arc<Session>, until: Instant) -> Discovered {
    let Some(mut answer) = ask_once(session, until).await else { return Discovered::Upset };
    if let Ok(Err(error)) = &answer
        && error.code == UNSUPPORTED_VERSION
        && error
            .data
            .as_ref()
            .and_then(|data| data.get("supported")?.as_array())
            .is_some_and(|versions| versions.iter().any(|version| version == MODERN_VERSION))
    {
        match ask_once(session, until).await {
            Some(second) => answer = second,
            None => return Discovered::Upset,
        }
    }
    match answer {
        Ok(Ok(wire)) => {
            let Ok(said) = serde_json::from_str::<Value>(wire.as_str()) else { return Discovered::Legacy };
            let versions = said.get("supportedVersions").and_then(Value::as_array);
            let speaks = versions.is_some_and(|versions| versions.iter().any(|version| version == MODERN_VERSION));
            if speaks {
                Discovered::Modern(HandshakeResult::of(Era::Modern, MODERN_VERSION, &said))
            } else {
                Discovered::Legacy
            }
        }
        Ok(Err(_)) => Discovered::Legacy,
        Err(error) if error.code == ErrorCode::Unavailable && !error.is_undelivered() => Discovered::Upset,
        Err(error) => Discovered::Failed(error),
    }
}

/// Puts the question; nothing where it was read and stays unanswered.
async fn ask_once(session: &Arc<Session>, until: Instant) -> Option<RpcAnswer> {
    const METHOD: &str = "server/discover";
    let meta = params::meta(Era::Modern, &Map::new(), None, None).unwrap_or_default();
    let cx = CallCx { deadline: until, cancel: tokio_util::sync::CancellationToken::new() };
    let asking = session.request(Ask::own(METHOD), |_| format!("{{\"_meta\":{meta}}}"), &cx);
    tokio::pin!(asking);
    // The time runs from when the question was read: to start may take many times longer than to answer.
    let mut read: Option<Instant> = None;
    loop {
        tokio::select! {
            biased;
            answer = &mut asking => return Some(answer),
            () = tokio::time::sleep(POLL_INTERVAL) => {
                if read.is_none() && session.server.has_read_all() != Some(false) {
                    read = Some(Instant::now());
                }
                if read.is_some_and(|read| read.elapsed() >= SILENCE_TIMEOUT) {
                    return None;
                }
            }
        }
    }
}

/// Why a handshake failed.
pub(crate) enum Refused {
    /// What the server said.
    ByServer(RpcError),
    /// What is wrong with its answer.
    Odd(String),
    /// It did not come to an answer.
    Unanswered(CallError),
}

/// Makes acquaintance in the older era.
pub(crate) async fn initialize(session: &Arc<Session>, until: Instant) -> Result<HandshakeResult, Refused> {
    let cx = CallCx { deadline: until, cancel: tokio_util::sync::CancellationToken::new() };
    let info = client_info();
    let params =
        format!("{{\"protocolVersion\":\"{LEGACY_VERSION}\",\"capabilities\":{CAPABILITIES},\"clientInfo\":{info}}}");
    let wire = match session.request(Ask::own("initialize"), |_| params, &cx).await {
        Ok(Ok(wire)) => wire,
        Ok(Err(error)) => return Err(Refused::ByServer(error)),
        Err(error) => return Err(Refused::Unanswered(error)),
    };
    let said: Value = serde_json::from_str(wire.as_str()).map_err(|error| Refused::Odd(error.to_string()))?;
    let version = said.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    if !LEGACY_VERSIONS.contains(&version) {
        let known = LEGACY_VERSIONS.join(", ");
        return Err(Refused::Odd(format!("it speaks MCP {version:?}, and jackfield {known} and {MODERN_VERSION}")));
    }
    let met = HandshakeResult::of(Era::Legacy, version, &said);
    const METHOD: &str = "notifications/initialized";
    let text = envelope::notification(METHOD, None);
    let message = Outgoing { text, request: None, method: Some(METHOD.to_owned()), subject: None };
    session.transport.send(message).await.map_err(Refused::Unanswered)?;
    Ok(met)
}
