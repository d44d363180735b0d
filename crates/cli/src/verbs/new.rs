//! `new`: the start of an extension in a directory of its own.

mod files;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jackfield_protocol::{CallError, ErrorCode, ExtensionId};
use serde_json::json;

use crate::args::{Global, Language, NewVerb};
use crate::exit;
use crate::output;

/// A file of a new extension.
pub(crate) struct NewFile {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) is_program: bool,
}

pub(crate) fn new(global: &Global, verb: NewVerb) -> anyhow::Result<u8> {
    let NewVerb::Tool { name, lang, wasm, dir } = verb;
    let refused = |message: String| CallError::new(ErrorCode::InvalidRequest, message);
    let fits = ExtensionId::sanitized(&name).is_some_and(|id| id.as_str() == name)
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if !fits {
        let message =
            format!("{name:?} is no name for an extension; take lower-case letters, digits and -, as in my-tool");
        return Err(refused(message).into());
    }
    if lang == Language::C && !wasm {
        return Err(refused("an extension in C is a component; say --wasm".to_owned()).into());
    }
    let dir = dir.unwrap_or_else(|| PathBuf::from(&name));
    if fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_some()) || dir.is_file() {
        let message = format!("{} is there already; name another place with --dir", dir.display());
        return Err(refused(message).into());
    }
    let files = files::of(&name, lang, wasm);
    for file in &files {
        write(&dir, file)?;
    }
    let shown = dir.display().to_string();
    let tool = files::tool_name(&name);
    let mut next = Vec::new();
    if files.iter().any(|file| file.path == "build.sh") {
        next.push(format!("{shown}/build.sh"));
    }
    next.push(format!("jackfield check {shown}"));
    next.push(format!("jackfield -e {shown} call {tool} text='it works'"));
    if global.json {
        let files: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        output::json(&json!({ "ok": true, "name": name, "path": dir, "tool": tool, "files": files, "next": next }))?;
    } else {
        output::plain(&format!("made {shown} with {} files; next:", files.len()))?;
        for command in next {
            output::plain(&format!("  {command}"))?;
        }
    }
    Ok(exit::FINE)
}

fn write(dir: &Path, file: &NewFile) -> anyhow::Result<()> {
    let path = dir.join(&file.path);
    let folder = path.parent().unwrap_or(dir);
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if file.is_program { 0o755 } else { 0o644 });
    let written = options.open(&path).and_then(|mut out| std::io::Write::write_all(&mut out, file.text.as_bytes()));
    written.map_err(|error| {
        let code = if error.kind() == ErrorKind::AlreadyExists { ErrorCode::InvalidRequest } else { ErrorCode::Io };
        CallError::new(code, format!("cannot write {}: {error}", path.display())).into()
    })
}
