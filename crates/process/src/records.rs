//! Log records that extensions write through the protocol.

use jackfield_protocol::{Correlation, Level, LogRecord, Source, redact_value};
use serde_json::{Map, Value};

use crate::core::Core;

/// A record of `core`'s extension, without control sequences and secrets.
pub(crate) fn from_extension(core: &Core, level: &str, message: &str, data: Map<String, Value>) -> LogRecord {
    let mut data = Value::Object(data);
    redact_value(&mut data, &core.spec.secrets.now());
    let data = match data {
        Value::Object(data) => data,
        _ => Map::new(),
    };
    LogRecord {
        schema: LogRecord::SCHEMA.to_owned(),
        ts: jiff::Timestamp::now().to_string(),
        level: parse_level(level),
        event: "extension.log".to_owned(),
        message: core.log.clean(message),
        correlation: Correlation {
            extension_id: core.id.as_str().to_owned(),
            scenario_id: "runtime".to_owned(),
            ..Correlation::default()
        },
        source: Some(Source { component: "extension".to_owned(), host: None, pid: Some(core.child.pid) }),
        data,
    }
}

fn parse_level(level: &str) -> Level {
    match level {
        "debug" | "trace" => Level::Debug,
        "warn" | "warning" => Level::Warn,
        "error" | "fatal" => Level::Error,
        _ => Level::Info,
    }
}
