//! `fs`.

use jackfield_protocol::{FsOp, HostCall, WriteFlag};
use serde_json::{Value, json};

use super::{ImportResult, data_of, in_json, invalid, number, options, text};
use crate::bindings::jackfield::extension::fs::{Entry, Host, Info};
use crate::bindings::jackfield::extension::types::{Data, Error};
use crate::state::State;

/// The options of a call together with what the call itself says.
fn operation(op: &str, path: String, mut options: serde_json::Map<String, Value>) -> Result<HostCall, Error> {
    options.insert("op".to_owned(), json!(op));
    options.insert("path".to_owned(), json!(path));
    HostCall::parse("fs", Value::Object(options)).map_err(super::refused)
}

fn reading(path: String, text: &str) -> Result<(HostCall, bool), Error> {
    let mut options = options("options of fs.read", text, &["offset", "length", "as"])?;
    let form = options.remove("as").unwrap_or_default();
    let is_bytes = match form.as_str() {
        None if form.is_null() => false,
        Some("text") => {
            options.insert("encoding".to_owned(), json!("utf8"));
            false
        }
        Some("bytes") => true,
        _ => return Err(invalid("`as` of fs.read is \"text\" or \"bytes\"")),
    };
    if is_bytes {
        options.insert("encoding".to_owned(), json!("base64"));
    }
    Ok((operation("read", path, options)?, is_bytes))
}

impl Host for State {
    async fn read(&mut self, path: String, options: String) -> ImportResult<Data> {
        let (call, is_bytes) = match reading(path, &options) {
            Ok(reading) => reading,
            Err(error) => return Ok(Err(error)),
        };
        Ok(self.ask(call).await?.map(|value| match data_of(&value, "content") {
            Data::Text(text) if is_bytes => Data::Bytes(text.into_bytes()),
            data => data,
        }))
    }

    async fn write(&mut self, path: String, content: Data, text: String) -> ImportResult<()> {
        let mut options = match options("options of fs.write", &text, &["flag", "mode", "offset"]) {
            Ok(options) => options,
            Err(error) => return Ok(Err(error)),
        };
        let (content, encoding) = in_json(content);
        options.insert("content".to_owned(), json!(content));
        options.insert("encoding".to_owned(), json!(encoding));
        match operation("write", path, options) {
            Ok(call) => Ok(self.ask(call).await?.map(drop)),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn append(&mut self, path: String, content: Data) -> ImportResult<()> {
        let (content, encoding) = in_json(content);
        let flag = Some(WriteFlag::Append);
        let op = FsOp::Write { path, content, encoding, mode: None, flag, offset: None };
        Ok(self.ask(HostCall::Fs(op)).await?.map(drop))
    }

    async fn stat(&mut self, path: String) -> ImportResult<Info> {
        let answer = self.ask(HostCall::Fs(FsOp::Stat { path, follow: None })).await?;
        Ok(answer.map(|value| Info {
            kind: text(&value, "kind"),
            size: number(&value, "size"),
            modified_ms: number(&value, "modified_ms"),
        }))
    }

    async fn read_dir(&mut self, path: String) -> ImportResult<Vec<Entry>> {
        let answer = self.ask(HostCall::Fs(FsOp::List { path })).await?;
        Ok(answer.map(|value| {
            let entries = value.get("entries").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            entries
                .iter()
                .map(|entry| Entry {
                    name: text(entry, "name"),
                    kind: text(entry, "kind"),
                    size: number(entry, "size"),
                })
                .collect()
        }))
    }

    async fn make_dir(&mut self, path: String) -> ImportResult<()> {
        Ok(self.ask(HostCall::Fs(FsOp::Mkdir { path, recursive: None, mode: None })).await?.map(drop))
    }

    async fn remove(&mut self, path: String, text: String) -> ImportResult<()> {
        let call = options("options of fs.remove", &text, &["recursive", "force"])
            .and_then(|options| operation("remove", path, options));
        match call {
            Ok(call) => Ok(self.ask(call).await?.map(drop)),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn rename(&mut self, path: String, to: String) -> ImportResult<()> {
        Ok(self.ask(HostCall::Fs(FsOp::Rename { path, to })).await?.map(drop))
    }
}
