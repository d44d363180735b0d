//! Arguments of natives. Script may pass anything; what is missing or of another kind reads as empty.

use rquickjs::{Ctx, Value as Js};
use serde_json::Value;

use crate::values;

pub(super) struct Args<'a, 'js> {
    pub(super) cx: &'a Ctx<'js>,
    pub(super) args: &'a [Js<'js>],
}

impl Args<'_, '_> {
    pub(super) fn text(&self, at: usize) -> String {
        self.args.get(at).and_then(|value| value.as_string()).and_then(|text| text.to_string().ok()).unwrap_or_default()
    }

    pub(super) fn maybe_text(&self, at: usize) -> Option<String> {
        self.args.get(at).and_then(|value| value.as_string()).and_then(|text| text.to_string().ok())
    }

    pub(super) fn bytes(&self, at: usize) -> Vec<u8> {
        self.maybe_bytes(at).unwrap_or_default()
    }

    pub(super) fn maybe_bytes(&self, at: usize) -> Option<Vec<u8>> {
        self.args.get(at).and_then(values::bytes_of)
    }

    pub(super) fn number(&self, at: usize) -> f64 {
        self.args.get(at).and_then(|value| value.as_number()).unwrap_or_default()
    }

    pub(super) fn count(&self, at: usize) -> usize {
        self.number(at).max(0.0) as usize
    }

    pub(super) fn flag(&self, at: usize) -> bool {
        self.args.get(at).and_then(|value| value.as_bool()).unwrap_or_default()
    }

    pub(super) fn json(&self, at: usize) -> Value {
        let value = self.args.get(at).cloned();
        value.and_then(|value| values::to_json(self.cx, value).ok()).unwrap_or_default()
    }
}
