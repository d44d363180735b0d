//! The agents, where their files are, and where in them servers stand.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Map, Value};

/// An agent whose servers can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agent {
    /// Claude Desktop.
    Claude,
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// VS Code.
    Vscode,
    /// Cursor.
    Cursor,
    /// Gemini CLI.
    Gemini,
    /// Copilot CLI.
    Copilot,
    /// goose.
    Goose,
    /// Windsurf.
    Windsurf,
    /// Zed.
    Zed,
    /// opencode.
    Opencode,
}

/// Where agents keep their files.
#[derive(Debug, Clone)]
pub struct Places {
    /// The person's own directory.
    pub user: PathBuf,
    /// Where settings of programs are, usually `.config` in it.
    pub config: PathBuf,
    /// Where applications of a Mac keep theirs.
    pub application_support: Option<PathBuf>,
    /// Codex's own directory, if it is elsewhere.
    pub codex: Option<PathBuf>,
    /// The project.
    pub project: PathBuf,
}

impl Agent {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Claude,
        Self::ClaudeCode,
        Self::Codex,
        Self::Vscode,
        Self::Cursor,
        Self::Gemini,
        Self::Copilot,
        Self::Goose,
        Self::Windsurf,
        Self::Zed,
        Self::Opencode,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Vscode => "vscode",
            Self::Cursor => "cursor",
            Self::Gemini => "gemini",
            Self::Copilot => "copilot",
            Self::Goose => "goose",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
            Self::Opencode => "opencode",
        }
    }

    /// The files to look at: the person's, then the project's.
    pub(super) fn files(self, places: &Places) -> Vec<PathBuf> {
        let Places { user, config, application_support, codex, project } = places;
        let application = application_support.as_ref().unwrap_or(config);
        match self {
            Self::Claude => vec![application.join("Claude/claude_desktop_config.json")],
            // The project's .mcp.json is read by the host itself.
            Self::ClaudeCode => vec![user.join(".claude.json")],
            Self::Codex => vec![
                codex.clone().unwrap_or_else(|| user.join(".codex")).join("config.toml"),
                project.join(".codex/config.toml"),
            ],
            Self::Vscode => vec![
                application.join("Code/User/mcp.json"),
                application.join("Code/User/settings.json"),
                project.join(".vscode/mcp.json"),
            ],
            Self::Cursor => vec![user.join(".cursor/mcp.json"), project.join(".cursor/mcp.json")],
            Self::Gemini => vec![user.join(".gemini/settings.json"), project.join(".gemini/settings.json")],
            Self::Copilot => vec![user.join(".copilot/mcp-config.json")],
            Self::Goose => vec![config.join("goose/config.yaml")],
            Self::Windsurf => vec![user.join(".codeium/windsurf/mcp_config.json")],
            Self::Zed => vec![config.join("zed/settings.json"), project.join(".zed/settings.json")],
            Self::Opencode => vec![
                config.join("opencode/opencode.json"),
                config.join("opencode/opencode.jsonc"),
                project.join("opencode.json"),
                project.join("opencode.jsonc"),
            ],
        }
    }

    /// The servers in a file, as they stand there.
    pub(super) fn servers(self, whole: &Map<String, Value>, places: &Places) -> Result<Vec<(String, Value)>, String> {
        let mut tables = Vec::new();
        match self {
            Self::Claude | Self::Cursor | Self::Gemini | Self::Copilot | Self::Windsurf => {
                tables.push(("mcpServers", whole.get("mcpServers")));
            }
            Self::ClaudeCode => {
                tables.push(("mcpServers", whole.get("mcpServers")));
                let project = places.project.to_string_lossy();
                let own = whole.get("projects").and_then(|projects| projects.get(project.as_ref()));
                tables.push(("projects.….mcpServers", own.and_then(|own| own.get("mcpServers"))));
            }
            Self::Codex => tables.push(("mcp_servers", whole.get("mcp_servers"))),
            Self::Vscode => {
                tables.push(("servers", whole.get("servers")));
                tables.push(("mcp.servers", whole.get("mcp").and_then(|mcp| mcp.get("servers"))));
            }
            Self::Goose => tables.push(("extensions", whole.get("extensions"))),
            Self::Zed => tables.push(("context_servers", whole.get("context_servers"))),
            Self::Opencode => tables.push(("mcp", whole.get("mcp"))),
        }
        let mut servers = Vec::new();
        for (key, table) in tables {
            match table {
                None | Some(Value::Null) => {}
                Some(Value::Object(table)) => {
                    servers.extend(table.iter().map(|(name, value)| (name.clone(), value.clone())));
                }
                Some(_) => return Err(format!("`{key}` is not a table of servers")),
            }
        }
        Ok(servers)
    }
}

impl std::str::FromStr for Agent {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|agent| agent.as_str() == word).ok_or_else(|| {
            let all: Vec<&str> = Self::ALL.iter().map(|agent| agent.as_str()).collect();
            format!("{word:?} is no agent whose servers can be imported; there are {}", all.join(", "))
        })
    }
}
