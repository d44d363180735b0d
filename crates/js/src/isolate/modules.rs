//! The text of a module, compiled.

use std::path::Path;
use std::rc::Rc;

use rquickjs::{Ctx, Object, Result, Value as Js};
use serde_json::Value;

use super::{State, throw, throw_syntax};
use crate::code::{Code, Facts};
use crate::library::is_library;
use crate::messages::Outcome;
use crate::transform::Kind;
use crate::{raw, transform};

impl State {
    pub(super) fn load<'js>(self: &Rc<Self>, cx: &Ctx<'js>, path: &str) -> Result<Js<'js>> {
        let unit = Object::new(cx.clone())?;
        let text = match self.read(path) {
            Ok(text) => text,
            Err((message, code)) => return Err(throw(cx, &message, code)),
        };
        if path.ends_with(".json") {
            unit.set("kind", "json")?;
            unit.set("text", text)?;
            return Ok(unit.into_value());
        }
        let made = self.cache.get(path, &text, || {
            let unit = transform::transform(Path::new(path), &text).map_err(|message| throw_syntax(cx, &message))?;
            let bytecode = raw::compile(cx, path, &unit.script, !is_library(path))?;
            let facts = Facts { kind: unit.kind, is_async: unit.is_async, deps: unit.deps, map: unit.map };
            Ok::<_, rquickjs::Error>(Code { facts, bytecode })
        });
        let code = made?;
        unit.set("kind", if code.facts.kind == Kind::Esm { "esm" } else { "cjs" })?;
        unit.set("async", code.facts.is_async)?;
        unit.set("deps", code.facts.deps.clone())?;
        unit.set("make", raw::run(cx, &code.bytecode)?)?;
        self.maps.borrow_mut().insert(path.to_owned(), code);
        Ok(unit.into_value())
    }

    /// The text of a module. What is not the extension's own is asked for like any other file.
    fn read(&self, path: &str) -> std::result::Result<String, (String, &'static str)> {
        if is_library(path) {
            let text = self.library.text(path).ok_or((format!("Cannot find module '{path}'"), "MODULE_NOT_FOUND"))?;
            return Ok(text.into_owned());
        }
        if path.ends_with(".node") {
            let package = path.rsplit("node_modules/").next().unwrap_or(path);
            return Err((
                format!(
                    "{package} is a native addon of Node, which cannot run here; run this extension under Node instead"
                ),
                "ERR_DLOPEN_FAILED",
            ));
        }
        if [".md", ".html", ".txt", ".css", ".wasm"].iter().any(|ending| path.ends_with(ending)) {
            return Err((
                format!("Unknown file extension of {path}: only scripts and JSON can be imported"),
                "ERR_UNKNOWN_FILE_EXTENSION",
            ));
        }
        // A link that was put in place after the name was resolved leads nowhere else.
        let real = std::fs::canonicalize(path);
        let is_own = |path: &Path| self.resolution.borrow().is_own(path);
        if !is_own(Path::new(path)) || real.is_ok_and(|real| !is_own(&real)) {
            let asked = self
                .call_and_wait("fs".to_owned(), serde_json::json!({ "op": "read", "path": path, "encoding": "utf8" }));
            return match asked {
                Outcome::Value(value) => {
                    Ok(value.get("content").and_then(Value::as_str).unwrap_or_default().to_owned())
                }
                Outcome::Error(error) => Err((format!("{path} cannot be loaded: {}", error.message), "EACCES")),
            };
        }
        match std::fs::read(path) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
            }
            Err(error) => Err((format!("{path} cannot be read: {error}"), "ENOENT")),
        }
    }
}
