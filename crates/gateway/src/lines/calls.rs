//! Calls under way.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Requests under way, so that they can be cancelled.
#[derive(Default)]
pub(super) struct Calls {
    tokens: Mutex<HashMap<String, CancellationToken>>,
}

impl Calls {
    pub(super) fn begin(&self, id: &Value) -> CancellationToken {
        let token = CancellationToken::new();
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|_, token| !token.is_cancelled());
        tokens.insert(id.to_string(), token.clone());
        token
    }

    pub(super) fn end(&self, id: &Value) {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).remove(&id.to_string());
    }

    pub(super) fn cancel(&self, id: &Value) -> bool {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.get(&id.to_string()).map(CancellationToken::cancel).is_some()
    }

    pub(super) fn cancel_all(&self) {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).values().for_each(CancellationToken::cancel);
    }
}
