//! The host's own tools, in the shapes that agents know. They use the services that extensions use.

mod search;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jackfield_protocol::{CallError, Content, ErrorCode, ExecParams, ToolParams, ToolResult, ToolSpec};
use jackfield_runtime::HostCallCx;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::exec::{self, End};
use super::fs::{self, Kind, Root};
use super::{Authorize, Services, Stop, Until, blocking};

/// The tools that [`perform`] knows.
pub(super) const NAMES: [&str; 7] = ["read", "write", "edit", "ls", "find", "grep", "bash"];
/// Those that the gate serves itself, because a person has a part in them.
pub(super) const SECRETS: [&str; 2] = ["store_secret", "list_secrets"];

/// Lines that `read` gives unless it is asked for fewer.
const READ_LINES: usize = 2_000;
/// Bytes that `read` gives at most.
const READ_BYTES: usize = 64 * 1024;
/// Entries that `ls` gives at most.
const LS_ENTRIES: usize = 1_000;

/// Whether the tool's `path` argument names a file.
pub(super) fn takes_path(name: &str) -> bool {
    NAMES.contains(&name) && name != "bash"
}

/// The error for a `path` that is no text.
pub(super) fn bad_path(name: &str) -> CallError {
    CallError::new(ErrorCode::InvalidRequest, format!("tool {name}: path must be a string"))
}

#[derive(Deserialize)]
struct ReadArgs {
    path: String,
    #[serde(default)]
    offset: Option<usize>,
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Deserialize)]
struct WriteArgs {
    path: String,
    content: String,
}

#[derive(Deserialize)]
struct EditArgs {
    path: String,
    #[serde(alias = "oldText")]
    old_text: String,
    #[serde(alias = "newText")]
    new_text: String,
}

#[derive(Deserialize)]
struct LsArgs {
    #[serde(default)]
    path: Option<String>,
}

#[derive(Deserialize)]
struct FindArgs {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
}

#[derive(Deserialize)]
struct GrepArgs {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default, alias = "ignoreCase")]
    ignore_case: bool,
    #[serde(default)]
    regex: bool,
}

#[derive(Deserialize)]
struct BashArgs {
    command: String,
    #[serde(default)]
    timeout_ms: Option<u64>,
}

/// A tool with its arguments.
enum Call {
    Read(ReadArgs),
    Write(WriteArgs),
    Edit(EditArgs),
    Ls(LsArgs),
    Find(FindArgs),
    Grep(GrepArgs),
    Bash(BashArgs),
}

impl Call {
    fn parse(tool: &ToolParams) -> Result<Self, CallError> {
        match tool.name.as_str() {
            "read" => arguments(tool).map(Self::Read),
            "write" => arguments(tool).map(Self::Write),
            "edit" => arguments(tool).map(Self::Edit),
            "ls" => arguments(tool).map(Self::Ls),
            "find" => arguments(tool).map(Self::Find),
            "grep" => arguments(tool).map(Self::Grep),
            "bash" => arguments(tool).map(Self::Bash),
            other => Err(CallError::new(ErrorCode::NotFound, format!("the host has no tool {other:?}"))),
        }
    }
}

fn arguments<T: DeserializeOwned>(tool: &ToolParams) -> Result<T, CallError> {
    let input = if tool.input.is_null() { json!({}) } else { tool.input.clone() };
    // `needs` reads a path that is no text as the project itself; such a call must not go on as something else.
    if input.get("path").is_some_and(|path| !path.is_string()) {
        return Err(bad_path(&tool.name));
    }
    serde_json::from_value(input).map_err(|error| {
        CallError::new(ErrorCode::InvalidRequest, format!("tool {}: the arguments do not fit: {error}", tool.name))
    })
}

/// Runs a built-in tool. What goes wrong with the file or the program is the tool's answer; what goes wrong with the call
/// is an error.
///
/// The permit is for the tool's path. What `ls`, `find` and `grep` meet below it is judged entry by entry.
pub(super) async fn perform(
    services: &Services,
    tool: &ToolParams,
    authorize: &dyn Authorize,
    cx: &HostCallCx,
) -> Result<Value, CallError> {
    let (root, max, until) = (services.root.clone(), services.limits.max_file, services.until(cx, None));
    let work = Work { root: &root, authorize, until: &until, what: &format!("tool {}", tool.name) };
    let result = match Call::parse(tool)? {
        Call::Bash(args) => bash(services, args, cx).await,
        Call::Ls(args) => work.ls(folder(args.path)).await,
        Call::Find(args) => work.find(folder(args.path), args.pattern).await,
        Call::Grep(args) => work.grep(args).await,
        Call::Read(args) => {
            work.blocking(move |root, _| {
                let path = fs::checked(&args.path)?;
                Ok(read(path, root.read(path, max)?, args.offset, args.limit))
            })
            .await
        }
        Call::Write(args) => {
            work.blocking(move |root, stop| {
                let path = fs::checked(&args.path)?;
                root.write(path, args.content.as_bytes(), None, max, stop)?;
                Ok(ToolResult::text(format!("wrote {} bytes to {}", args.content.len(), args.path)))
            })
            .await
        }
        Call::Edit(args) => work.blocking(move |root, stop| edit(root, &args, max, stop)).await,
    };
    let result = match result {
        Err(error) if matches!(error.code, ErrorCode::Io | ErrorCode::NotFound) => ToolResult::error(error.message),
        other => other?,
    };
    serde_json::to_value(result).map_err(|error| {
        CallError::new(ErrorCode::Internal, format!("tool {}: its result is no JSON: {error}", tool.name))
    })
}

fn folder(path: Option<String>) -> String {
    path.unwrap_or_else(|| ".".to_owned())
}

/// The conditions of one call of a tool on files.
struct Work<'a> {
    root: &'a Root,
    authorize: &'a dyn Authorize,
    until: &'a Until,
    what: &'a str,
}

impl Work<'_> {
    async fn blocking<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Root, &Stop) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let root = self.root.clone();
        blocking(self.until, self.what, move |stop| job(&root, stop)).await
    }

    async fn ls(&self, path: String) -> Result<ToolResult, CallError> {
        let listed = path.clone();
        let (entries, truncated) =
            self.blocking(move |root, stop| root.list(fs::checked(&listed)?, LS_ENTRIES, stop)).await?;
        let entries =
            fs::without_denied(self.authorize, "tool", entries, |entry| fs::join(&path, &entry.name.to_string_lossy()))
                .await;
        Ok(ls(&entries, truncated))
    }

    async fn find(&self, path: String, pattern: String) -> Result<ToolResult, CallError> {
        let start = path.clone();
        let mut walked = self.blocking(move |root, stop| search::walk(root, fs::checked(&start)?, stop)).await?;
        walked.entries = fs::without_denied(self.authorize, "tool", walked.entries, |(path, _)| path.clone()).await;
        self.blocking(move |_, _| Ok(search::find(&walked, Path::new(&path), &pattern))).await
    }

    async fn grep(&self, args: GrepArgs) -> Result<ToolResult, CallError> {
        if args.regex {
            return Ok(ToolResult::error("grep searches for literal text; call it without regex"));
        }
        if args.pattern.is_empty() {
            return Ok(ToolResult::error("the pattern is empty; give the text to look for"));
        }
        let path = folder(args.path);
        let start = path.clone();
        let mut walked = self.blocking(move |root, stop| search::walk(root, fs::checked(&start)?, stop)).await?;
        walked.entries.retain(|(_, kind)| *kind == Kind::File);
        walked.entries = fs::readable(self.authorize, "tool", &path, walked.entries, |(path, _)| path).await?;
        self.blocking(move |root, stop| search::grep(root, &walked, &args.pattern, args.ignore_case, stop)).await
    }
}

fn read(path: &Path, bytes: Vec<u8>, offset: Option<usize>, limit: Option<usize>) -> ToolResult {
    if let Some(mime_type) = image_type(&bytes) {
        let data = BASE64.encode(&bytes);
        return ToolResult {
            content: vec![Content::Image { mime_type: mime_type.to_owned(), data }],
            ..ToolResult::default()
        };
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return ToolResult::error(format!("{} is not text", path.display()));
    };
    let total = text.lines().count();
    let first = offset.unwrap_or(1).max(1);
    if first > total.max(1) {
        return ToolResult::error(format!("offset {first} is beyond the end: {} has {total} lines", path.display()));
    }
    let mut shown = String::new();
    let mut lines = 0;
    let mut cut = false;
    for line in text.split_inclusive('\n').skip(first - 1).take(limit.unwrap_or(READ_LINES)) {
        if shown.len() + line.len() > READ_BYTES {
            if lines == 0 {
                // A single line that is too long is shown as far as it goes: the next call could do no better.
                shown.push_str(line.get(..line.floor_char_boundary(READ_BYTES)).unwrap_or_default());
                lines = 1;
                cut = true;
            }
            break;
        }
        shown.push_str(line);
        lines += 1;
    }
    let next = first + lines;
    if cut {
        // Writing to a string cannot fail.
        let _ = write!(shown, "\n[line {first} is longer than {READ_BYTES} bytes and was cut]");
    }
    if next <= total {
        if !shown.ends_with('\n') {
            shown.push('\n');
        }
        let _ = write!(shown, "[lines {first} to {} of {total}; go on with offset {next}]", next - 1);
    }
    ToolResult::text(shown)
}

fn image_type(bytes: &[u8]) -> Option<&'static str> {
    let is = |start: &[u8]| bytes.starts_with(start);
    match () {
        () if is(b"\x89PNG\r\n\x1a\n") => Some("image/png"),
        () if is(b"\xff\xd8\xff") => Some("image/jpeg"),
        () if is(b"GIF87a") || is(b"GIF89a") => Some("image/gif"),
        () if is(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") => Some("image/webp"),
        () => None,
    }
}

fn edit(root: &Root, args: &EditArgs, max_file: usize, stop: &Stop) -> Result<ToolResult, CallError> {
    let path = fs::checked(&args.path)?;
    let Ok(text) = String::from_utf8(root.read(path, max_file)?) else {
        return Ok(ToolResult::error(format!("{} is not text", args.path)));
    };
    if args.old_text.is_empty() {
        return Ok(ToolResult::error("old_text is empty; use write to fill a file"));
    }
    let first = text.find(&args.old_text);
    // Looked for from both ends, so that two places that overlap count as two.
    if first != text.rfind(&args.old_text) {
        return Ok(ToolResult::error(format!(
            "old_text stands more than once in {}; give more of its surroundings so that it matches exactly one place",
            args.path
        )));
    }
    let Some((before, after)) = first.and_then(|at| Some((text.get(..at)?, text.get(at + args.old_text.len()..)?)))
    else {
        return Ok(ToolResult::error(format!(
            "old_text does not stand in {}; read the file and give the text exactly, white space included",
            args.path
        )));
    };
    let line = before.lines().count().max(1);
    let edited = [before, &args.new_text, after].concat();
    root.write(path, edited.as_bytes(), None, max_file, stop)?;
    Ok(ToolResult::text(format!("edited {} at line {line}", args.path)))
}

fn ls(entries: &[fs::Entry], truncated: bool) -> ToolResult {
    if entries.is_empty() {
        return ToolResult::text("(empty)");
    }
    let mut lines: Vec<String> = entries
        .iter()
        .map(|entry| {
            let mark = match entry.kind {
                Kind::Folder => "/",
                Kind::Link => "@",
                Kind::File | Kind::Other => "",
            };
            format!("{}{mark}", entry.name.to_string_lossy())
        })
        .collect();
    if truncated {
        lines.push(format!("[only {LS_ENTRIES} entries are shown]"));
    }
    ToolResult::text(lines.join("\n"))
}

async fn bash(services: &Services, args: BashArgs, cx: &HostCallCx) -> Result<ToolResult, CallError> {
    let shell = if exec::is_installed(&services.root, &services.env, "bash") { "bash" } else { "sh" };
    let params =
        ExecParams { command: shell.to_owned(), args: vec!["-c".to_owned(), args.command], ..ExecParams::default() };
    let until = services.until(cx, args.timeout_ms.map(Duration::from_millis));
    let ran = exec::run(services.ground(), &params, &until, exec::Wires::default()).await?;
    let (mut text, errors) = (ran.stdout.text(), ran.stderr.text());
    if !errors.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&errors);
    }
    let truncated = ran.stdout.truncated || ran.stderr.truncated;
    if truncated {
        text.push_str("\n[the output was longer and was cut]");
    }
    let code = ran.code(false);
    if let End::Cut(cut) = ran.end {
        let details = json!({ "output": text, "truncated": truncated, "killed": true });
        return Err(until.error("tool bash", cut).with_details(details));
    }
    if code != Some(0) {
        let _ = write!(text, "\n[exit code {}]", code.unwrap_or(-1));
    }
    let text = if text.is_empty() { "(no output)".to_owned() } else { text };
    Ok(ToolResult {
        content: vec![Content::text(text.trim_start_matches('\n'))],
        is_error: code != Some(0),
        details: Some(json!({ "code": code, "truncated": truncated })),
        wire: None,
    })
}

/// What the tools take and give, for faces.
pub(super) fn specs() -> Vec<ToolSpec> {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let number = |about: &str| json!({ "type": "integer", "minimum": 1, "description": about });
    let path = || text("relative to the project");
    let place = || text("file or folder to look in, relative to the project; the whole project without it");
    let spec = |name: &str, about: &str, properties: Value, required: &[&str]| ToolSpec {
        description: about.to_owned(),
        parameters: json!({ "type": "object", "properties": properties, "required": required }),
        ..ToolSpec::open(name)
    };
    vec![
        spec(
            "read",
            "Reads a text file or picture of the project. Long files come in parts: go on with offset.",
            json!({ "path": path(), "offset": number("first line, from 1"), "limit": number("how many lines") }),
            &["path"],
        ),
        spec(
            "write",
            "Writes a file of the project, replacing what is there. The folder must exist.",
            json!({ "path": path(), "content": text("the whole content") }),
            &["path", "content"],
        ),
        spec(
            "edit",
            "Replaces one piece of text in a file. old_text must stand in the file exactly once.",
            json!({ "path": path(), "old_text": text("what stands there now"), "new_text": text("what shall stand there") }),
            &["path", "old_text", "new_text"],
        ),
        spec(
            "ls",
            "Lists a folder of the project; folders end in /, links in @.",
            json!({ "path": text("the folder, relative to the project; the project itself without it") }),
            &[],
        ),
        spec(
            "find",
            "Finds files by a pattern: * within a name, ** across folders. A pattern without / is matched against the \
             name alone. Skips .git, node_modules and target.",
            json!({ "pattern": text("for instance *.rs or src/**/test_*.py"), "path": place() }),
            &["pattern"],
        ),
        spec(
            "grep",
            "Finds lines that hold a text, literally: regular expressions are not supported. Skips binary files, files \
             over 1 MiB, .git, node_modules and target.",
            json!({
                "pattern": text("the text"),
                "path": place(),
                "ignore_case": { "type": "boolean", "description": "take A for a" },
            }),
            &["pattern"],
        ),
        spec(
            "bash",
            "Runs a shell command in the project and gives its output and exit code. What it leaves running is ended.",
            json!({ "command": text("the command"), "timeout_ms": number("how long it may take") }),
            &["command"],
        ),
        spec(
            "store_secret",
            "Asks the person for a secret and keeps it under this name. Nobody is told the value.",
            json!({ "name": text("letters, digits and _"), "timeout_ms": number("how long the person may take") }),
            &["name"],
        ),
        spec("list_secrets", "Lists the names of the secrets that are kept, never their values.", json!({}), &[]),
    ]
}
