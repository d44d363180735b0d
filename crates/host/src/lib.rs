//! jackfield's host: finds extensions, starts them in the runtime that fits, watches over them, judges and records what
//! they ask for, and offers what they contribute to any face.
//!
//! The host runs no extension code and speaks no wire format: runtimes do. It opens no socket and draws nothing: faces do.
//! Start at [`Host`], then read `call.rs`: it is the whole path of a tool call.

mod approver;
mod call;
mod catalog;
mod discovery;
mod gate;
mod grants;
mod home;
mod hooks;
mod install;
mod ledger;
mod policy;
mod registry;
mod schema;
mod services;
mod supervisor;
mod trust;
mod watch;

pub use grants::{Effect, Grant, Grants, GrantsError, NewGrant};
pub use ledger::{
    Begin, Entry, Filter, Kind, Ledger, LedgerError, Outcome, Problem, RunIds, VerifyReport, params_hash,
    read as read_ledger, verify as verify_ledger,
};
pub use policy::{Caller, Decision, Mode, Policy, PolicyError, Request, Step, Subject, UnknownMode, Verdict};
pub use schema::{Schemas, Validator, coerce_object};
