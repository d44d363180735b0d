//! Computation that script is better off asking for: text, hashes, URLs. None of it reaches anything outside the engine.

use rquickjs::{Ctx, Result, Value as Js};

use crate::isolate::throw;

mod text;

/// The natives of one engine, with what they keep between calls.
#[derive(Default)]
pub(crate) struct Natives {}

impl Natives {
    /// Calls a native by its name.
    pub(crate) fn call<'js>(&mut self, cx: &Ctx<'js>, name: &str, args: &[Js<'js>]) -> Result<Js<'js>> {
        if let Some(result) = text::call(cx, name, args) {
            return result;
        }
        Err(throw(cx, &format!("the host has no native `{name}`"), "ERR_JACKFIELD_UNSUPPORTED"))
    }
}
