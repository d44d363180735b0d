//! What the command line accepts.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use jackfield_host::Mode;

use crate::connect::Agent;
use crate::verbs::{ImportArgs, McpVerb, SecretVerb};

/// One extension host for every agent.
///
/// Runs extensions of several agents, each in the runtime that fits it, under one policy, one ledger and one supervisor.
#[derive(Debug, Parser)]
#[command(name = "jackfield", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const EXIT_CODES: &str = "Exit codes: 0 fine, 1 the tool answered with an error, 2 usage, 3 not found, 4 denied, \
5 timeout, 6 the extension did not start or died, 7 invalid manifest or configuration.";

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Global {
    /// Where jackfield keeps its files [default: the platform's place for application state]
    #[arg(long, global = true, env = "JACKFIELD_HOME", value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// The project to work on [default: the current directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Load this extension for one run; wins over installed ones (repeatable)
    #[arg(short = 'e', long = "ext", global = true, value_name = "PATH")]
    pub(crate) ext: Vec<PathBuf>,
    /// strict, prompt or permissive [default: config.toml, else prompt]
    #[arg(long, global = true, value_name = "MODE")]
    pub(crate) policy: Option<Mode>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say yes to every question of this run
    #[arg(long, global = true)]
    pub(crate) yes: bool,
    /// Say on stderr what is done; JACKFIELD_LOG chooses more exactly (debug, or jackfield_mcp=trace,info)
    #[arg(long, global = true)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// List extensions: where they are, whether they run, what is wrong
    List,
    /// List the tools of all extensions
    Tools,
    /// Call a tool: key=value pairs, or --args with JSON
    Call {
        /// Public or qualified name
        tool: String,
        /// key=value; a value that is JSON is read as JSON, and key:=text is always text
        #[arg(value_name = "KEY=VALUE | JSON")]
        pairs: Vec<String>,
        /// The arguments as JSON, @FILE or - for standard input
        #[arg(long, value_name = "JSON|@FILE|-", conflicts_with = "pairs")]
        args: Option<String>,
        /// Give up after this many milliseconds
        #[arg(long, value_name = "MS")]
        timeout_ms: Option<u64>,
    },
    /// Run a slash command of an extension
    Run {
        /// With or without the slash
        command: String,
        /// What follows it; words that look like flags go after `--`
        #[arg(allow_negative_numbers = true)]
        args: Vec<String>,
    },
    /// Start one extension and show all that it registers
    Inspect {
        /// Its directory, manifest, script or Python file, or npm:NAME
        path: PathBuf,
        /// Which extension of a package that has several [default: the first]
        #[arg(long, value_name = "N")]
        entry: Option<usize>,
    },
    /// Check an extension's manifest, requirements and code without running it
    Check {
        /// Its directory, manifest or script, or npm:NAME
        path: PathBuf,
        /// Which extension of a package that has several [default: the first]
        #[arg(long, value_name = "N")]
        entry: Option<usize>,
    },
    /// Compile an extension ahead, without running it, so that its first start is as quick as its second
    Build {
        /// Its directory, manifest or script, or npm:NAME
        path: PathBuf,
        /// Which extension of a package that has several [default: the first]
        #[arg(long, value_name = "N")]
        entry: Option<usize>,
        /// Where to put extension.artifact and artifact.json [default: the home, where every start looks]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Begin an extension: a directory with a tool, its manifest and how to build it
    #[command(subcommand)]
    New(NewVerb),
    /// See what jackfield does in two seconds: components, a permission question, a trap, the ledger. Needs nothing
    Demo,
    /// Install, remove, enable, disable extensions and read their logs
    #[command(subcommand)]
    Ext(ExtVerb),
    /// Look for problems; with --runtime start every extension too
    Doctor {
        /// Start every extension and time its handshake
        #[arg(long)]
        runtime: bool,
    },
    /// The evidence of what was asked and answered
    #[command(subcommand)]
    Ledger(LedgerVerb),
    /// List what extensions have been granted
    Grants,
    /// Grant an extension a capability
    Grant(GrantArgs),
    /// Take grants back
    Revoke {
        /// A grant's id, or an extension
        what: String,
        /// Only this power
        power: Option<String>,
    },
    /// Keep passwords and tokens for extensions; values are never shown
    #[command(subcommand)]
    Secret(SecretVerb),
    /// Why a tool may run or a call was decided as it was
    Why {
        /// A tool's name or a call's id
        what: String,
        /// Of a tool: every rule in the order in which it is asked
        #[arg(long)]
        all: bool,
    },
    /// Load changed extensions anew, also in hosts that run
    Reload {
        /// Only this extension, changed or not
        name: Option<String>,
    },
    /// Trust the extensions of a project directory
    Trust {
        /// The project [default: --project, else the current directory]
        dir: Option<PathBuf>,
        /// Take the trust back
        #[arg(long)]
        revoke: bool,
    },
    /// Work on extensions: watch them, reload what is saved, show what they log, and try calls as TOOL KEY=VALUE
    Dev {
        /// An extension, or a directory with tools/ and channels/, besides the installed ones
        path: Option<PathBuf>,
    },
    /// Channels: let people reach a responder through a chat service
    #[command(subcommand)]
    Channel(ChannelVerb),
    /// Write an extension for pi that offers every tool, and say where it is
    Bridge {
        /// Where to put it [default: the home]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// For the extension itself: serve one pi, say where on standard output, and end with standard input
        #[arg(long, hide = true, conflicts_with = "out")]
        serve: bool,
    },
    /// Start your own pi with every tool of jackfield in it
    Pi {
        /// Which pi [default: the one on the PATH]
        #[arg(long, value_name = "PATH")]
        pi: Option<PathBuf>,
        /// What pi gets, after `--`
        #[arg(last = true, value_name = "ARGS", allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Tell another agent to use jackfield: shows the difference first, keeps a backup, and --undo takes it back
    Connect {
        /// Which agent
        agent: Agent,
        /// Put its configuration back as it was
        #[arg(long)]
        undo: bool,
        /// Only show the difference
        #[arg(long)]
        dry_run: bool,
        /// Its configuration for this project instead of the one for you
        #[arg(long)]
        in_project: bool,
    },
    /// Take over the MCP servers that are set up in other agents
    Import(ImportArgs),
    /// Offer every tool over HTTP on this machine, and stay (see docs/gateway.md)
    ///
    /// Prints the address and a token, which is shown this once. SIGINT and SIGTERM finish the calls under way; a second one
    /// does not wait. There is one for a home and a project.
    Serve(ServeArgs),
    /// Offer every tool, prompt and resource to an agent over MCP, on standard input and output or over HTTP
    ///
    /// Attaches to `jackfield serve` where that runs for this home and project, so that several agents share one host.
    Mcp(McpArgs),
    /// Speak JSON lines on standard input and output, and stay
    Rpc {
        /// Reload extensions when their files change
        #[arg(long)]
        watch: bool,
        /// Keep the session's entries in this file, and go on with those that it holds
        #[arg(long, value_name = "FILE")]
        session: Option<PathBuf>,
        /// Answer what extensions ask of an agent with {}, and tell it as an event
        #[arg(long)]
        record_agent: bool,
        /// Answer from this file instead: a JSON object, by operation a list whose last answer stays
        #[arg(long, value_name = "FILE", requires = "record_agent")]
        agent_answers: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExtVerb {
    /// List extensions
    List,
    /// Install from a directory, a script, a git URL, the npm registry or a package's tarball
    Install {
        /// A directory, a manifest file, a script, a git URL, npm:NAME[@VERSION] or a .tgz file
        source: String,
        /// Link to the directory instead of copying it
        #[arg(long, conflicts_with = "update")]
        link: bool,
        /// Put it in place of the installed version
        #[arg(long)]
        update: bool,
    },
    /// Delete an installed extension
    #[command(alias = "rm")]
    Remove {
        /// Its id, name or directory name
        name: String,
    },
    /// Compare what is installed with the lock file
    Verify {
        /// Only this one: its id, name or directory name
        name: Option<String>,
    },
    /// Accept an installed extension as it is now, after looking at what changed
    Accept {
        /// Its id, name or directory name
        name: String,
    },
    /// Switch an extension on
    Enable {
        /// Its id, name or directory name
        name: String,
    },
    /// Switch an extension off without removing it
    Disable {
        /// Its id, name or directory name
        name: String,
    },
    /// Show what an extension wrote to stderr
    Logs {
        /// Its id or name
        name: String,
        /// Go on as more is written
        #[arg(short, long)]
        follow: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChannelVerb {
    /// List channels: who offers them, who may speak, who asked to, and what waits
    List,
    /// Run a channel and answer its messages until this is interrupted
    ///
    /// Whoever is not known is not answered but gets a pairing code; let them in with `jackfield channel pair CODE`. A message
    /// is kept on disk until its answer was sent. SIGINT and SIGTERM finish the messages in hand; a second one does not wait.
    Run {
        /// Its name (see `jackfield channel list`)
        name: String,
        /// Who answers: echo, or command:PROGRAM ARGS… (the message on its standard input, the answer on its output)
        #[arg(long, value_name = "RESPONDER")]
        respond: String,
        /// Give up a command after this many milliseconds
        #[arg(long, value_name = "MS", default_value_t = 120_000)]
        timeout_ms: u64,
        /// The first pause before something is tried again, in milliseconds; pauses double
        #[arg(long, value_name = "MS", default_value_t = 250)]
        retry_ms: u64,
        /// Keep what is said in each session, for a command to read (JACKFIELD_HISTORY); nothing is kept otherwise
        #[arg(long)]
        history: bool,
        /// How many messages and answers /compact leaves
        #[arg(long, value_name = "N", default_value_t = 50, requires = "history")]
        history_keep: usize,
        /// Reload extensions when their files change
        #[arg(long)]
        watch: bool,
    },
    /// Let somebody speak on a channel; '*' stands for everybody who is not denied
    Allow {
        /// The channel
        name: String,
        /// The sender, as the channel names them
        #[arg(allow_negative_numbers = true)]
        sender: String,
    },
    /// Keep somebody out; '*' stands for strangers, who get no pairing code from then on
    Deny {
        /// The channel
        name: String,
        /// The sender, as the channel names them
        #[arg(allow_negative_numbers = true)]
        sender: String,
    },
    /// Let in whoever was given this pairing code
    Pair {
        /// The code
        code: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum LedgerVerb {
    /// The last records
    Tail {
        /// How many
        #[arg(short = 'n', long, default_value_t = 20)]
        lines: usize,
        /// Only this extension's
        #[arg(long, value_name = "ID")]
        extension: Option<String>,
    },
    /// All records of one call
    Show {
        /// The call's id
        call_id: String,
    },
    /// Check the hash chain from the first record to the last
    Verify,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ServeArgs {
    /// Where to listen; port 0 takes any that is free
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: std::net::SocketAddr,
    /// Listen where other machines can connect, too; it speaks plain HTTP
    #[arg(long)]
    pub(crate) allow_remote: bool,
    /// Reload extensions when their files change
    #[arg(long)]
    pub(crate) watch: bool,
    /// Which tools clients of /mcp see: all, search, or globs (see `jackfield mcp --help`)
    #[arg(long, value_name = "all|search|GLOB", value_delimiter = ',')]
    pub(crate) expose: Vec<String>,
    /// Requests a second and token, twice as many at once; 0 for no limit
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(crate) rate_limit: u32,
    /// The largest body of a request, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1024 * 1024)]
    pub(crate) body_limit: usize,
    /// How long the headers of a request may take, and a connection be idle, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    pub(crate) header_timeout_ms: u64,
    /// How long a permission question waits for an answer at /api/approvals, in milliseconds; then it is no
    #[arg(long, value_name = "MS", default_value_t = 120_000)]
    pub(crate) approval_timeout_ms: u64,
    /// How long calls under way are waited for at the end, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 30_000)]
    pub(crate) drain_ms: u64,
}

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<McpVerb>,
    /// Which tools the agent sees: all, search (three that find, describe and call the others), or globs; with search,
    /// globs name favourites that stay in sight (repeatable, or separated by commas)
    #[arg(long, value_name = "all|search|GLOB", value_delimiter = ',')]
    pub(crate) expose: Vec<String>,
    /// A host of its own, even where one serves already
    #[arg(long)]
    pub(crate) alone: bool,
    /// Reload extensions when their files change
    #[arg(long)]
    pub(crate) watch: bool,
    /// Listen on this address instead, and print it: an address of this machine alone, port 0 for a free one
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) http: Option<std::net::SocketAddr>,
    /// What clients must give as `Authorization: Bearer TOKEN` [default: one is made and printed]
    #[arg(long, env = "JACKFIELD_MCP_TOKEN", hide_env_values = true, value_name = "TOKEN", requires = "http")]
    pub(crate) token: Option<String>,
    /// Let every program of this machine in without a token
    #[arg(long, requires = "http", conflicts_with = "token")]
    pub(crate) no_token: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GrantArgs {
    /// The extension
    pub(crate) extension: String,
    /// read, write, exec, http, listen, env, tool, session, ui, agent, events or log
    pub(crate) power: String,
    /// Only these paths (globs relative to the project, or absolute ones for what lies outside)
    #[arg(long, value_name = "GLOB")]
    pub(crate) path: Vec<String>,
    /// Only these hosts
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<String>,
    /// Only these variables
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
    /// Only these tools
    #[arg(long, value_name = "GLOB")]
    pub(crate) tool: Vec<String>,
    /// Only these programs
    #[arg(long, value_name = "GLOB")]
    pub(crate) program: Vec<String>,
    /// Only in this project
    #[arg(long)]
    pub(crate) here: bool,
    /// Forbid it instead
    #[arg(long)]
    pub(crate) deny: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NewVerb {
    /// An extension with one tool
    Tool {
        /// Lower-case letters, digits and -; also the directory, unless --dir says otherwise
        name: String,
        /// The language
        #[arg(long, value_enum, value_name = "LANG")]
        lang: Language,
        /// As a WASM component, which reaches only what it imports, instead of a program or a script
        #[arg(long)]
        wasm: bool,
        /// Where to put it
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// A language in which `new` begins an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// With the SDK; the same source builds as a program and as a component
    Rust,
    /// A component; without --wasm a script in TypeScript, which needs no build
    #[value(alias = "ts", alias = "javascript", alias = "typescript")]
    Js,
    /// A component, or a program
    #[value(alias = "py")]
    Python,
    /// A component
    C,
}
