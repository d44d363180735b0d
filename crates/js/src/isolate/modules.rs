//! The text of a module, compiled.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use jackfield_runtime::read_plain;
use rquickjs::{Ctx, Object, Result, Value as Js};
use serde_json::Value;

use super::State;
use super::thrown::{throw, throw_syntax};
use crate::code::{Code, Facts};
use crate::library::is_library;
use crate::messages::Outcome;
use crate::resolve::Resolution;
use crate::stack::Source;
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
            unit.set("text", text.as_ref())?;
            return Ok(unit.into_value());
        }
        let mut compiled = None;
        let code = self.code(cx, path, &text, &mut compiled)?;
        unit.set("kind", if code.facts.kind == Kind::Esm { "esm" } else { "cjs" })?;
        unit.set("async", code.facts.is_async)?;
        unit.set("deps", code.facts.deps.as_slice())?;
        let made = match compiled {
            Some(compiled) => compiled.run(cx),
            None => raw::run(cx, code.bytecode()),
        };
        unit.set("make", made?)?;
        let source = Source::new(code.facts.kind, code.facts.is_async, text);
        self.sources.borrow_mut().insert(path.to_owned(), source);
        Ok(unit.into_value())
    }

    /// The function of a file of the library; nobody asks for more about it.
    pub(super) fn load_library<'js>(&self, cx: &Ctx<'js>, path: &str) -> Result<Js<'js>> {
        let Some(text) = self.library.text(path) else {
            return Err(throw(cx, &format!("Cannot find module '{path}'"), "MODULE_NOT_FOUND"));
        };
        // Always from its bytecode, so that errors look the same whether or not it was compiled just now.
        let code = self.code(cx, path, &text, &mut None)?;
        raw::run(cx, code.bytecode())
    }

    /// The compiled form of a module: made ahead, or known from an earlier start, or made now. What is made now can be run
    /// as it is.
    #[allow(clippy::ptr_arg, reason = "whether the text is part of the binary is what counts")]
    fn code<'js>(
        &self,
        cx: &Ctx<'js>,
        path: &str,
        text: &Cow<'static, str>,
        made: &mut Option<raw::Compiled<'js>>,
    ) -> Result<Arc<Code>> {
        let compile = || {
            let unit = transform::transform(Path::new(path), text).map_err(|message| throw_syntax(cx, &message))?;
            // Nobody who uses the library needs its lines; who works on it has it in a folder.
            let keep_facts = !is_library(path) || matches!(text, Cow::Owned(_));
            let (bytecode, compiled) = raw::compile(cx, path, &unit.script, keep_facts)?;
            *made = Some(compiled);
            let facts = Facts { kind: unit.kind, is_async: unit.is_async, deps: unit.deps };
            Ok::<_, rquickjs::Error>(Code::new(facts, &bytecode)?)
        };
        let (code, compiled) = if is_library(path) {
            self.cache.library(path, text, compile)?
        } else {
            match self.artifact.as_ref().map_or(Ok(None), |artifact| artifact.code(path, text)) {
                Ok(Some(code)) => (Arc::new(code), false),
                Ok(None) => self.cache.get(path, text, compile)?,
                Err(()) => {
                    let note = format!("{path} has changed since `jackfield build`; the source is used");
                    self.loaded.borrow_mut().notes.push(note);
                    self.cache.get(path, text, compile)?
                }
            }
        };
        self.loaded.borrow_mut().count(compiled);
        Ok(code)
    }

    /// The text of a module. What is not the extension's own is asked for like any other file.
    fn read(&self, path: &str) -> std::result::Result<Cow<'static, str>, (String, &'static str)> {
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
        let Some(text) = own_text(&self.resolution.borrow(), Path::new(path)) else {
            let asked = self
                .call_and_wait("fs".to_owned(), serde_json::json!({ "op": "read", "path": path, "encoding": "utf8" }));
            return match asked {
                Outcome::Value(value) => {
                    Ok(Cow::Owned(value.get("content").and_then(Value::as_str).unwrap_or_default().to_owned()))
                }
                Outcome::Error(error) => Err((format!("{path} cannot be loaded: {}", error.message), "EACCES")),
            };
        };
        text.map(Cow::Owned).map_err(|error| (format!("{path} cannot be read: {error}"), "ENOENT"))
    }
}

/// The text of a file that an extension may load without asking; nothing for any other.
fn own_text(resolution: &Resolution, path: &Path) -> Option<io::Result<String>> {
    if !resolution.is_own(path) {
        return None;
    }
    // A link that was put in place after the name was resolved leads nowhere else.
    let bytes = match read_plain(path) {
        Ok(bytes) => Ok(bytes),
        Err(_) if std::fs::canonicalize(path).is_ok_and(|real| !resolution.is_own(&real)) => return None,
        Err(_) => std::fs::read(path),
    };
    Some(bytes.map(transform::text_of))
}
