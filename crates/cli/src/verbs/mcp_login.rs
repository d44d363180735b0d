//! `mcp login`, `mcp logout`.

use std::sync::Arc;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};
use jackfield::runtimes::{mcp_credentials, mcp_variables};
use jackfield_host::Found;
use jackfield_mcp::{ClientSetup, Loopback, Oauth, http_address};
use jackfield_protocol::{CallError, ErrorCode, Launch, plain_text};
use serde_json::json;

use super::reload;
use crate::args::Global;
use crate::compose::{self, Scope};
use crate::exit;
use crate::output::{self, note};

/// What can be done about one MCP server.
#[derive(Debug, Subcommand)]
pub(crate) enum McpVerb {
    /// Log in to an HTTP server with OAuth: opens the browser and waits for it to come back
    Login(LoginArgs),
    /// Give the credentials for a server back and forget them
    Logout {
        /// The server, as `jackfield list` names it
        name: String,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LoginArgs {
    /// The server, as `jackfield list` names it
    name: String,
    /// Ask for this besides what the server wants (repeatable, or separated by blanks)
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// The client id, where the authorization server does not let clients register themselves
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// The variable that holds the client secret, if there is one
    #[arg(long, value_name = "VARIABLE", requires = "client_id")]
    client_secret_env: Option<String>,
    /// The address of a document about this client, for authorization servers that take one instead of a registration
    #[arg(long, value_name = "URL")]
    client_metadata_url: Option<String>,
    /// The port of this machine that the browser comes back to [default: any that is free]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Only print the address
    #[arg(long)]
    no_browser: bool,
    /// Give up after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
}

pub(crate) async fn run(global: &Global, verb: McpVerb) -> anyhow::Result<u8> {
    match verb {
        McpVerb::Login(args) => login(global, args).await,
        McpVerb::Logout { name } => logout(global, &name).await,
    }
}

/// A server that is reached over HTTP.
struct Server {
    id: String,
    url: String,
    headers: std::collections::BTreeMap<String, String>,
    /// Where it is described.
    file: std::path::PathBuf,
}

fn server(global: &Global, name: &str) -> anyhow::Result<Server> {
    let host = compose::open(global, Scope::All)?;
    let report = host.report();
    let found = find(&report.extensions, name)?;
    let Launch::Mcp(server) = &found.manifest.launch else {
        return Err(refused(ErrorCode::InvalidRequest, format!("extension {name} is no MCP server")));
    };
    let project = compose::project(global)?;
    let address = http_address(
        server,
        &jackfield::environment(),
        &mcp_variables(&compose::home(global)?, &project),
        &project,
        &found.dir,
    )
    .map_err(|error| CallError::new(ErrorCode::InvalidConfig, format!("MCP server {name}: {error}")))?;
    let Some((url, headers)) = address else {
        let text = format!("MCP server {name} is a program on this machine, which needs no login");
        return Err(refused(ErrorCode::InvalidRequest, text));
    };
    Ok(Server { id: found.manifest.id.to_string(), url, headers, file: found.manifest_path.clone() })
}

fn find<'a>(all: &'a [Found], name: &str) -> anyhow::Result<&'a Found> {
    let named = |found: &&Found| found.manifest.id.as_str() == name || found.manifest.name == name;
    let found = all.iter().filter(|found| matches!(found.manifest.launch, Launch::Mcp(_))).find(named);
    match found {
        Some(found) if found.is_active() => Ok(found),
        Some(_) => {
            let text = format!("MCP server {name} does not take part; `jackfield list` says why");
            Err(refused(ErrorCode::Denied, text))
        }
        None => {
            let text = format!("no MCP server is called {name:?}; `jackfield list` shows those that there are");
            Err(refused(ErrorCode::NotFound, text))
        }
    }
}

fn refused(code: ErrorCode, text: String) -> anyhow::Error {
    CallError::new(code, text).into()
}

async fn login(global: &Global, args: LoginArgs) -> anyhow::Result<u8> {
    let Server { id, url, headers, file } = server(global, &args.name)?;
    if headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
        let file = file.display();
        let text = format!("{file} gives MCP server {id} an Authorization header; take it out to log in");
        return Err(refused(ErrorCode::InvalidConfig, text));
    }
    let client_secret = match &args.client_secret_env {
        Some(name) => Some(std::env::var(name).map_err(|_| {
            CallError::new(
                ErrorCode::InvalidRequest,
                format!("the variable {name} is not set; it has to hold the secret"),
            )
        })?),
        None => None,
    };
    let setup = ClientSetup {
        client_id: args.client_id.clone(),
        client_secret,
        issuer: None,
        metadata_url: args.client_metadata_url.clone(),
        scopes: args.scope.iter().flat_map(|scope| scope.split_whitespace()).map(str::to_owned).collect(),
    };
    let browser = !args.no_browser;
    let show = move |url: &str| {
        note!("log in here: {}", plain_text(url));
        if browser {
            open_browser(url);
        }
    };
    let door = Loopback::open(args.port, Duration::from_secs(args.timeout), show).await?;
    let home = compose::home(global)?;
    let oauth = Oauth::new(&id, &url, Some(mcp_credentials(&home)), setup, Some(Arc::new(door)))?;
    let Some(challenge) = oauth.knock(&headers).await? else {
        return said(global, &id, "wants_no_login", &format!("MCP server {id} wants no login"));
    };
    oauth.login(&challenge).await?;
    // It may have failed for want of this.
    if let Some(error) = reload::again(global, &id).await? {
        note!("warn: MCP server {id} does not start yet: {}", plain_text(&error));
    }
    said(global, &id, "logged_in", &format!("logged in to MCP server {id}"))
}

async fn logout(global: &Global, name: &str) -> anyhow::Result<u8> {
    let Server { id, url, .. } = server(global, name)?;
    let home = compose::home(global)?;
    let oauth = Oauth::new(&id, &url, Some(mcp_credentials(&home)), ClientSetup::default(), None)?;
    let (known, unrevoked) = oauth.logout().await?;
    if let Some(error) = unrevoked {
        note!("warn: {}", plain_text(&error.message));
    }
    match known {
        true => said(global, &id, "logged_out", &format!("logged out of MCP server {id}")),
        false => said(global, &id, "not_logged_in", &format!("nobody was logged in to MCP server {id}")),
    }
}

fn said(global: &Global, id: &str, state: &str, text: &str) -> anyhow::Result<u8> {
    if global.json {
        output::json(&json!({ "ok": true, "server": id, "state": state }))?;
    } else {
        output::plain(text)?;
    }
    Ok(exit::FINE)
}

/// Whoever has no browser here copies the address.
fn open_browser(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let (input, output) = (std::process::Stdio::null(), std::process::Stdio::null());
    let errors = std::process::Stdio::null();
    std::process::Command::new(program).arg(url).stdin(input).stdout(output).stderr(errors).spawn().ok();
}
