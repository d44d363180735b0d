//! The verbs: one file each.

mod bridge;
mod build;
mod call;
mod channel;
mod check;
mod component;
mod connect;
mod demo;
mod dev;
mod doctor;
mod evidence;
mod ext;
mod grants;
mod import;
mod inspect;
mod list;
mod mcp;
mod mcp_login;
mod new;
mod pi;
mod reload;
mod rpc;
mod run;
mod scan;
mod secret;
mod serve;
mod trust;
mod why;

use std::time::Duration;

use crate::args::{Args, McpArgs, Verb};

pub(crate) use import::ImportArgs;
pub(crate) use mcp_login::McpVerb;
pub(crate) use secret::SecretVerb;

/// How long a listing waits for extensions that it has never seen.
pub(crate) const LEARN_TIMEOUT: Duration = Duration::from_secs(12);

/// How long the list of all tools waits: MCP servers may have to be fetched first, and each start has a limit of its own.
pub(crate) const LEARN_ALL_TIMEOUT: Duration = Duration::from_secs(40);

/// Runs the verb and gives the exit code.
pub(crate) async fn run(args: Args) -> anyhow::Result<u8> {
    let global = &args.global;
    match args.verb {
        Verb::List => list::list(global),
        Verb::Tools => list::tools(global).await,
        Verb::Call { tool, pairs, args, timeout_ms } => call::call(global, tool, pairs, args, timeout_ms).await,
        Verb::Run { command, args } => run::run(global, &command, &args.join(" ")).await,
        Verb::Import(args) => import::import(global, args),
        Verb::Inspect { path, entry } => inspect::inspect(global, path, entry).await,
        Verb::Check { path, entry } => check::check(global, &path, entry).await,
        Verb::Build { path, entry, out } => build::build(global, &path, entry, out),
        Verb::New(verb) => new::new(global, verb),
        Verb::Demo => demo::demo(global).await,
        Verb::Ext(verb) => ext::ext(global, verb).await,
        Verb::Doctor { runtime } => doctor::doctor(global, runtime).await,
        Verb::Ledger(verb) => evidence::ledger(global, verb),
        Verb::Grants => grants::list(global),
        Verb::Grant(args) => grants::grant(global, args),
        Verb::Revoke { what, power } => grants::revoke(global, &what, power.as_deref()),
        Verb::Secret(verb) => secret::secret(global, verb),
        Verb::Why { what, all } => {
            why::why(global, &what, if all { why::Detail::All } else { why::Detail::Decision }).await
        }
        Verb::Reload { name } => reload::reload(global, name).await,
        Verb::Trust { dir, revoke } => trust::trust(global, dir, revoke),
        Verb::Dev { path } => dev::dev(global, path).await,
        Verb::Channel(verb) => channel::channel(global, verb).await,
        Verb::Bridge { serve: true, .. } => bridge::serve(global).await,
        Verb::Bridge { out, serve: false } => bridge::bridge(global, out).await,
        Verb::Pi { pi, args } => pi::pi(global, pi, args).await,
        Verb::Connect { agent, undo, dry_run, in_project } => {
            connect::connect(global, agent, connect::Wish { undo, dry_run, in_project }).await
        }
        Verb::Serve(args) => serve::serve(global, args).await,
        Verb::Mcp(McpArgs { verb: Some(verb), .. }) => mcp_login::run(global, verb).await,
        Verb::Mcp(args) => mcp::mcp(global, args).await,
        Verb::Rpc { watch, session, record_agent, agent_answers } => {
            rpc::rpc(global, rpc::Stay { watch, session, record_agent, agent_answers }).await
        }
    }
}
