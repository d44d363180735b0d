//! What using a thing means here: nothing, a power, or a word to the person who reads the report.

use jackfield_protocol::Power;

use super::Level;
use super::things::{Base, Thing};

/// What an API of Node or the web does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Reads the path in the first argument.
    Reads,
    /// Writes the path in the first argument.
    Writes,
    /// Reads the first and writes the second.
    Copies,
    /// Writes the paths in the first two arguments.
    Moves,
    /// Runs the program in the first argument.
    Runs,
    /// Runs a command line in a shell.
    RunsShell,
    /// Would run a script in another Node.
    Forks,
    /// Speaks to the address in the first argument.
    Speaks,
    /// Waits for others to speak to it.
    Listens,
}

const READS: [&str; 20] = [
    "access",
    "createReadStream",
    "exists",
    "existsSync",
    "fstat",
    "glob",
    "lstat",
    "open",
    "openAsBlob",
    "opendir",
    "read",
    "readFile",
    "readdir",
    "readlink",
    "readv",
    "realpath",
    "stat",
    "statfs",
    "watch",
    "watchFile",
];
const WRITES: [&str; 21] = [
    "appendFile",
    "chmod",
    "chown",
    "createWriteStream",
    "fchmod",
    "ftruncate",
    "futimes",
    "lchown",
    "lutimes",
    "mkdir",
    "mkdtemp",
    "rm",
    "rmdir",
    "truncate",
    "unlink",
    "utimes",
    "write",
    "writeFile",
    "writev",
    "symlink",
    "link",
];

/// What calling `thing` does, if it reaches out.
pub(super) fn effect(thing: &Thing) -> Option<Effect> {
    if let (Base::Global, [name]) = (&thing.base, thing.path.as_slice()) {
        return matches!(name.as_str(), "fetch" | "WebSocket" | "EventSource").then_some(Effect::Speaks);
    }
    let (module, name) = thing.of_module()?;
    let plain = name.strip_suffix("Sync").unwrap_or(name);
    match module {
        "fs" | "fs/promises" | "fs-extra" | "graceful-fs" => match plain {
            "copyFile" | "cp" => Some(Effect::Copies),
            "rename" => Some(Effect::Moves),
            _ if READS.contains(&plain) => Some(Effect::Reads),
            _ if WRITES.contains(&plain) => Some(Effect::Writes),
            _ => None,
        },
        "child_process" => match plain {
            "spawn" | "execFile" => Some(Effect::Runs),
            "exec" => Some(Effect::RunsShell),
            "fork" => Some(Effect::Forks),
            _ => None,
        },
        "http" | "https" => match name {
            "request" | "get" | "connect" => Some(Effect::Speaks),
            "createServer" => Some(Effect::Listens),
            _ => None,
        },
        "net" | "tls" => match name {
            "connect" | "createConnection" | "Socket" => Some(Effect::Speaks),
            "createServer" | "Server" => Some(Effect::Listens),
            _ => None,
        },
        "dns" | "dns/promises" => Some(Effect::Speaks),
        "undici" | "node-fetch" | "axios" | "got" | "ws" => match name {
            "fetch" | "request" | "get" | "post" | "put" | "stream" | "WebSocket" => Some(Effect::Speaks),
            _ => None,
        },
        _ => None,
    }
}

/// A word about using `thing`, whether it is called, made or only mentioned.
pub(super) fn word(thing: &Thing) -> Option<(Level, &'static str)> {
    let path: Vec<&str> = thing.path.iter().map(String::as_str).collect();
    match (&thing.base, path.as_slice()) {
        (Base::Global, ["eval"]) => Some((Level::Warning, "works, but nobody can see beforehand what the code does")),
        (Base::Global, ["Function"]) => {
            Some((Level::Warning, "works, but nobody can see beforehand what the code does"))
        }
        (Base::Global, ["WebAssembly", ..]) => {
            Some((Level::Warning, "the engine has no WebAssembly; the name is not defined"))
        }
        (Base::Global, ["Worker" | "SharedWorker"]) | (Base::Module(_), ["Worker"]) if is_worker(thing) => {
            Some((Level::Warning, "workers are refused: making one throws"))
        }
        (Base::Global, ["SharedArrayBuffer"]) => Some((Level::Note, "there are no other threads to share it with")),
        (Base::Global, ["Intl", "Segmenter", ..]) => None,
        (Base::Global, ["Intl", _, ..]) => Some((
            Level::Note,
            "words are English in every language; numbers and numeric dates follow the common locales",
        )),
        (Base::Global, ["Bun" | "Deno", ..]) => Some((Level::Warning, "not defined: this is neither Bun nor Deno")),
        (Base::Global, ["process", rest @ ..]) | (Base::Module(_), rest) if is_process(thing) => process(rest),
        (Base::Module(module), [_, ..]) if module == "vm" => {
            Some((Level::Warning, "throws: code runs in one context only; `eval` and `new Function` work"))
        }
        (Base::Module(module), ["register" | "registerHooks"]) if module == "module" => {
            Some((Level::Warning, "throws: modules are loaded by the host, without hooks"))
        }
        _ => None,
    }
}

fn is_worker(thing: &Thing) -> bool {
    match &thing.base {
        Base::Global => true,
        Base::Module(module) => module == "worker_threads",
        Base::Own => false,
    }
}

fn is_process(thing: &Thing) -> bool {
    match &thing.base {
        Base::Global => true,
        Base::Module(module) => module == "process",
        Base::Own => false,
    }
}

fn process(path: &[&str]) -> Option<(Level, &'static str)> {
    match path {
        ["exit" | "reallyExit" | "abort"] => {
            Some((Level::Warning, "ends this extension only; the host and the others go on"))
        }
        ["exitCode"] => Some((Level::Note, "has no effect: the extension is no process of its own")),
        ["kill"] => Some((Level::Warning, "throws EPERM; end children with their own `kill()`")),
        ["chdir" | "umask"] => {
            Some((Level::Note, "counts for this extension's own paths only; a program that it starts has its own"))
        }
        ["setuid" | "setgid" | "seteuid" | "setegid" | "setgroups" | "initgroups"] => {
            Some((Level::Warning, "refused: the process belongs to the host"))
        }
        ["dlopen" | "binding" | "_linkedBinding"] => {
            Some((Level::Warning, "refused: there is no native code to reach"))
        }
        ["execPath" | "argv0" | "execArgv"] => {
            Some((Level::Note, "names no program: there is no Node that could run a script"))
        }
        ["stdin", "setRawMode", ..] => {
            Some((Level::Warning, "has no effect: there is no terminal, and input has ended before it began"))
        }
        ["on" | "once" | "addListener"] => {
            Some((Level::Note, "only what concerns this extension is heard: no signals, no other process's end"))
        }
        _ => None,
    }
}

/// Events that are no more, and what is heard instead.
const REMOVED_EVENTS: [(&str, &str); 4] = [
    ("session_switch", "`session_start` with reason `new` or `resume`"),
    ("session_fork", "`session_start` with reason `fork`"),
    ("session_branch", "`session_start` with reason `fork`"),
    ("session_directory", "nothing: the project decides"),
];

/// Events that only an agent with a model has.
const AGENT_EVENTS: [&str; 6] = [
    "before_provider_request",
    "before_provider_headers",
    "after_provider_response",
    "provider_stream_event",
    "cache_warming_decision",
    "session_before_compact",
];

/// A word about listening to an event of pi.
pub(super) fn event(name: &str) -> Option<(Level, String)> {
    if let Some((_, instead)) = REMOVED_EVENTS.iter().find(|(removed, _)| *removed == name) {
        return Some((Level::Warning, format!("the event exists no more; it is heard from {instead}")));
    }
    AGENT_EVENTS.contains(&name).then(|| (Level::Note, "is heard only in a host with an agent".to_owned()))
}

/// What using something of `ctx.ui` comes to without a terminal.
pub(super) fn ui(name: &str, takes_function: bool) -> Option<(Level, &'static str)> {
    match name {
        "custom" => Some((Level::Warning, "without a terminal it answers undefined at once, as in pi's RPC mode")),
        "setFooter" | "setHeader" | "setEditorComponent" | "addAutocompleteProvider" => {
            Some((Level::Note, "has no effect without a terminal, as in pi's RPC mode"))
        }
        "onTerminalInput" => Some((Level::Warning, "is never called without a terminal, as in pi's RPC mode")),
        "setWidget" if takes_function => {
            Some((Level::Note, "a component is not shown without a terminal; lines of text are"))
        }
        "setTheme" | "getTheme" | "getAllThemes" => Some((Level::Note, "there are no themes without a terminal")),
        _ => None,
    }
}

/// The powers that a method of `pi` needs. What makes an agent act is left to the session where it can be.
pub(super) fn pi_powers(name: &str) -> &'static [Power] {
    match name {
        "sendMessage" => &[Power::Agent, Power::Session],
        "sendUserMessage" | "setModel" | "setThinkingLevel" => &[Power::Agent],
        "appendEntry" | "setSessionName" | "getSessionName" | "setLabel" | "setActiveTools" | "getActiveTools"
        | "getAllTools" | "getCommands" | "getSettings" | "getThinkingLevel" => &[Power::Session],
        _ => &[],
    }
}

/// The power that a method of `ctx` needs.
pub(super) fn ctx_power(name: &str) -> Option<Power> {
    match name {
        "abort" | "compact" | "fork" | "navigateTree" | "newSession" | "reload" | "shutdown" | "switchSession" => {
            Some(Power::Agent)
        }
        "waitForIdle" | "getContextUsage" | "getSystemPrompt" => Some(Power::Session),
        _ => None,
    }
}
