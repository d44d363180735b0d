//! Other agents' configurations: where they are, what an entry looks like, and how they were before.

pub(crate) mod difference;
mod jsonc;
pub(crate) mod kept;
mod tables;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};

/// An agent whose configuration can be told of jackfield.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Agent {
    /// Claude Code: ~/.claude.json, or .mcp.json of the project
    Claude,
    /// Codex: ~/.codex/config.toml, or .codex/config.toml of the project
    Codex,
    /// Gemini CLI: ~/.gemini/settings.json, or .gemini/settings.json of the project
    Gemini,
    /// pi: an extension in ~/.pi/agent/extensions, or .pi/extensions of the project
    Pi,
    /// VS Code: the user's mcp.json, or .vscode/mcp.json of the project
    #[value(name = "vscode", alias = "code")]
    VsCode,
    /// Cursor: ~/.cursor/mcp.json, or .cursor/mcp.json of the project
    Cursor,
}

/// The name of our entry in every configuration.
pub(crate) const ENTRY: &str = "jackfield";

impl Agent {
    /// As it is typed.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Pi => "pi",
            Self::VsCode => "vscode",
            Self::Cursor => "cursor",
        }
    }

    /// As people call it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Pi => "pi",
            Self::VsCode => "VS Code",
            Self::Cursor => "Cursor",
        }
    }

    /// What the person does next.
    pub(crate) fn next_step(self) -> &'static str {
        match self {
            Self::VsCode => "start the server `jackfield` in the file, or with \"MCP: List Servers\"",
            Self::Pi => "start pi anew, or type /reload",
            _ => "start it anew",
        }
    }

    /// Its file for this user, given what variables say.
    pub(crate) fn user_file(self, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
        let home = || variable("HOME").or_else(|| variable("USERPROFILE"));
        let below = |name: &str, rest: &str, default: &str| match variable(name) {
            Some(dir) => Some(dir.join(rest)),
            None => Some(home()?.join(default)),
        };
        match self {
            Self::Claude => below("CLAUDE_CONFIG_DIR", ".claude.json", ".claude.json"),
            Self::Codex => below("CODEX_HOME", "config.toml", ".codex/config.toml"),
            Self::Gemini => Some(home()?.join(".gemini/settings.json")),
            Self::Pi => below("PI_CODING_AGENT_DIR", "extensions/jackfield.ts", ".pi/agent/extensions/jackfield.ts"),
            Self::VsCode if cfg!(target_os = "macos") => {
                Some(home()?.join("Library/Application Support/Code/User/mcp.json"))
            }
            Self::VsCode => below("XDG_CONFIG_HOME", "Code/User/mcp.json", ".config/Code/User/mcp.json"),
            Self::Cursor => Some(home()?.join(".cursor/mcp.json")),
        }
    }

    /// Its file in a project.
    pub(crate) fn project_file(self, project: &Path) -> PathBuf {
        project.join(match self {
            Self::Claude => ".mcp.json",
            Self::Codex => ".codex/config.toml",
            Self::Gemini => ".gemini/settings.json",
            Self::Pi => ".pi/extensions/jackfield.ts",
            Self::VsCode => ".vscode/mcp.json",
            Self::Cursor => ".cursor/mcp.json",
        })
    }

    /// Under which key its servers stand.
    fn container(self) -> &'static str {
        match self {
            Self::Codex => "mcp_servers",
            Self::VsCode => "servers",
            _ => "mcpServers",
        }
    }

    /// The text of its configuration with our entry, which runs this command.
    pub(crate) fn put(self, text: &str, command: &[String]) -> Result<String, String> {
        let (program, args) = command.split_first().map_or(("", [].as_slice()), |(first, rest)| (first.as_str(), rest));
        let entry: Value = match self {
            Self::VsCode | Self::Claude => json!({ "type": "stdio", "command": program, "args": args }),
            _ => json!({ "command": program, "args": args }),
        };
        match self {
            Self::Codex => tables::put(text, self.container(), ENTRY, &entry),
            _ => jsonc::put(text, self.container(), ENTRY, &entry),
        }
    }

    /// The text of its configuration without our entry; nothing where it has none.
    pub(crate) fn remove(self, text: &str) -> Result<Option<String>, String> {
        match self {
            Self::Codex => tables::remove(text, self.container(), ENTRY),
            // The whole file is ours.
            Self::Pi => Ok(None),
            _ => jsonc::remove(text, self.container(), ENTRY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_where_the_agents_look() {
        let plain = |name: &str| (name == "HOME").then(|| PathBuf::from("/u"));
        let file = |agent: Agent| agent.user_file(&plain).unwrap().display().to_string();
        assert_eq!(file(Agent::Claude), "/u/.claude.json");
        assert_eq!(file(Agent::Codex), "/u/.codex/config.toml");
        assert_eq!(file(Agent::Pi), "/u/.pi/agent/extensions/jackfield.ts");
        let moved = |name: &str| Some(PathBuf::from(format!("/{name}")));
        assert_eq!(Agent::Codex.user_file(&moved).unwrap(), Path::new("/CODEX_HOME/config.toml"));
        assert_eq!(Agent::Claude.user_file(&moved).unwrap(), Path::new("/CLAUDE_CONFIG_DIR/.claude.json"));
        assert_eq!(Agent::Gemini.user_file(&|_| None), None);
    }
}
