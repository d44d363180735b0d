//! The verbs: one file each.

mod build;
mod call;
mod channel;
mod check;
mod component;
mod control;
mod demo;
mod dev;
mod doctor;
mod evidence;
mod ext;
mod grants;
mod inspect;
mod list;
mod mcp;
mod new;
mod reload;
mod rpc;
mod run;
mod scan;
mod serve;
mod trust;
mod why;

use std::time::Duration;

use crate::args::{Args, Verb};

/// How long a listing waits for extensions that it has never seen.
pub(crate) const LEARN: Duration = Duration::from_secs(12);

/// Runs the verb and gives the exit code.
pub(crate) async fn run(args: Args) -> anyhow::Result<u8> {
    let global = &args.global;
    match args.verb {
        Verb::List => list::list(global),
        Verb::Tools => list::tools(global).await,
        Verb::Call { tool, pairs, args, timeout_ms } => call::call(global, tool, pairs, args, timeout_ms).await,
        Verb::Run { command, args } => run::run(global, &command, &args.join(" ")).await,
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
        Verb::Why { what } => why::why(global, &what).await,
        Verb::Reload { name } => reload::reload(global, name).await,
        Verb::Trust { dir, revoke } => trust::trust(global, dir, revoke),
        Verb::Dev { path } => dev::dev(global, path).await,
        Verb::Channel(verb) => channel::channel(global, verb).await,
        Verb::Serve(args) => serve::serve(global, args).await,
        Verb::Mcp(args) => mcp::mcp(global, args).await,
        Verb::Rpc { watch, session, record_agent, agent_answers } => {
            rpc::rpc(global, rpc::Stay { watch, session, record_agent, agent_answers }).await
        }
    }
}
