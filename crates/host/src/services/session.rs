//! `session`: what the session is, and what each extension keeps in it. Kept in memory: it ends with the host.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use jackfield_protocol::{CallError, ErrorCode, ExtensionId, SessionOp};
use serde_json::{Value, json};

use super::SessionInfo;

/// The most bytes of one value, as JSON.
const MAX_VALUE: usize = 64 * 1024;
/// The most bytes of a key.
const MAX_KEY: usize = 256;
/// The most keys of one extension.
const MAX_KEYS: usize = 256;

/// The session with the values of every extension. No extension sees those of another.
#[derive(Debug)]
pub(super) struct Session {
    info: SessionInfo,
    values: Mutex<HashMap<ExtensionId, BTreeMap<String, Value>>>,
}

impl Session {
    pub(super) fn new(info: SessionInfo) -> Self {
        Self { info, values: Mutex::default() }
    }

    /// Serves one operation for `extension`.
    pub(super) fn perform(&self, extension: &ExtensionId, op: &SessionOp) -> Result<Value, CallError> {
        match op {
            SessionOp::Info => Ok(json!({
                "id": self.info.id,
                "cwd": self.info.cwd.to_string_lossy(),
                "provider": self.info.provider,
                "model": self.info.model,
            })),
            SessionOp::Get { key } => {
                // A panic while the lock was held cannot leave a map half changed in a way that matters here.
                let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(json!({ "value": values.get(extension).and_then(|own| own.get(key)) }))
            }
            SessionOp::Set { key, value } => self.set(extension, key, value),
            other => Err(CallError::new(ErrorCode::Unsupported, format!("session {other:?} is not kept here"))),
        }
    }

    fn set(&self, extension: &ExtensionId, key: &str, value: &Value) -> Result<Value, CallError> {
        let refuse = |why: String| {
            Err(CallError::new(ErrorCode::InvalidRequest, format!("session set of {extension}: {why}")).of(extension))
        };
        if key.is_empty() || key.len() > MAX_KEY {
            return refuse(format!("a key has 1 to {MAX_KEY} bytes, this one {}", key.len()));
        }
        let size = value.to_string().len();
        if size > MAX_VALUE {
            return refuse(format!("the value of {key:?} has {size} bytes, at most {MAX_VALUE} are kept; use a file"));
        }
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let own = values.entry(extension.clone()).or_default();
        if value.is_null() {
            own.remove(key);
        } else if own.len() >= MAX_KEYS && !own.contains_key(key) {
            return refuse(format!("{MAX_KEYS} keys are kept already; set one of them to null first"));
        } else {
            own.insert(key.to_owned(), value.clone());
        }
        Ok(json!({ "ok": true }))
    }
}
