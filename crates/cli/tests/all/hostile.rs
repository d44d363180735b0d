//! What bad input gets, proved through the built binary: every weakness that is known of other hosts is tried on this one.

mod answers;
mod calls;
mod crowd;
mod failures;
mod floods;
mod guards;
mod projects;
mod secrets;
mod starts;
mod support;
mod terminal;
mod trees;
