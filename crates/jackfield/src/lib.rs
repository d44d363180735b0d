//! jackfield as a library: an agent opens one [`Host`], and has the tools, commands and hooks of every extension that
//! the host finds, whichever runtime the extension needs.
//!
//! This crate composes and re-exports; it decides nothing about a call. It installs no extension, opens no socket and asks
//! no person: the agent hands in an [`Approver`], and everything that it does not hand in is refused.
//!
//! A whole agent, without its model:
//!
//! ```standalone_crate
//! use jackfield::{Answer, Content, Host, ToolCall};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // Extensions run in child processes, and the children are this program. Only `main` comes before this line.
//!     jackfield::child_main();
//!     tokio::runtime::Runtime::new()?.block_on(run())
//! }
//!
//! async fn run() -> Result<(), Box<dyn std::error::Error>> {
//!     # let home = tempfile::tempdir()?;
//!     # let home = home.path();
//!     let host = Host::builder()
//!         .home(home)
//!         .extension("../../examples/hello-sh")
//!         .approve_with(async |question| {
//!             println!("{question}");
//!             Answer::Once
//!         })
//!         .open()?;
//!     // For the listing alone: a call waits by itself for the extensions that matter to it.
//!     host.learn(std::time::Duration::from_secs(10)).await;
//!     for tool in host.snapshot().tools() {
//!         println!("{}: {}", tool.name, tool.spec.description);
//!     }
//!     let call = ToolCall::by_agent("shout", serde_json::json!({ "text": "hello" }));
//!     let answer = host.call_tool(call).await.result?;
//!     assert_eq!(answer.content, [Content::text("HELLO")]);
//!     host.shutdown().await;
//!     Ok(())
//! }
//! ```
//!
//! Read [`HostBuilder`] for the choices, [`jackfield_host::Host`] for what a host does, [`child_main`] for the child
//! processes, and [`runtimes`] to change one runtime's options. Each runtime is a cargo feature. The guide is
//! `docs/embedding.md` in the repository, and `examples/embed-rs` is a program that runs.
//!
//! Types that will grow are `#[non_exhaustive]`. The types of the wire protocol are exhaustive, because runtimes must
//! translate every variant.

mod builder;
mod child;
mod error;
mod host;
mod places;
pub mod runtimes;

pub use builder::HostBuilder;
pub use child::{Children, child_main};
pub use error::OpenError;
pub use host::Host;
pub use places::{default_home, environment, project_dir};

#[cfg(feature = "channels")]
pub use jackfield_channels as channels;
pub use jackfield_host::{
    Agent, AgentCall, Answer, Approver, Attached, Caller, ChannelEntry, CommandEntry, CommandOutcome, Decision,
    Diagnostic, DiagnosticLevel, Dialog, DialogAnswer, DialogAsk, Effect, Face, Found, Grant, Granted, Grants,
    GrantsError, Home, HookOutcome, HostEvent, LedgerError, LogLine, Mode, NewGrant, NoAgent, NoApprover, NoFace,
    Origin, Peer, Policy, Question, Reloaded, Report, Snapshot, Standing, State, ToolCall, ToolEntry, ToolOutcome,
    Trust, TrustError, TrustState, Verdict, Watching, WeakHost, Which, Why, YesToAll,
};
/// Every type of the protocol. The common ones are in this crate's root.
pub use jackfield_protocol as protocol;
pub use jackfield_protocol::{
    Asked, CallError, CallId, Capability, CommandAction, CommandReply, Content, Contributions, ErrorCode, ExtensionId,
    HookCall, HookPoint, HookVerdict, Level, Need, Notice, Power, Resource, RuntimeKind, ToolResult, ToolSpec,
};
/// The contract of a runtime, for agents that bring their own or attach an instance.
pub use jackfield_runtime as runtime;
pub use jackfield_runtime::{BoxFuture, CallInput, Instance, Runtime};
