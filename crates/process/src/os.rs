//! What differs between operating systems: groups, signals, process tables. Nothing else in this crate asks where it runs.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod table;
#[cfg(unix)]
mod unix;
mod vitals;

#[cfg(not(unix))]
pub(crate) use other::{
    alive, boot_id, in_pipe, is_executable, kill_group, kill_keeper, kill_orphans, kill_tree, leftover_group,
    own_group, private_file, session_of, start_time, status_text, terminate_group, unread,
};
#[cfg(unix)]
pub(crate) use table::{alive, boot_id, leftover_group, session_of, start_time};
#[cfg(target_os = "linux")]
pub(crate) use unix::{SweepScope, sweep};
#[cfg(unix)]
pub(crate) use unix::{
    in_pipe, is_executable, kill_group, kill_keeper, kill_orphans, kill_tree, own_group, private_file, status_text,
    terminate_group, unread,
};
pub(crate) use vitals::Vitals;
