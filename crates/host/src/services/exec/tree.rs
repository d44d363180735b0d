//! A program with all that it started, so that all of it can be ended.
//!
//! Three things tell who belongs to it: the process group, descent, and a variable that every descendant inherits. The last
//! finds those that made a session of their own and whose parents have gone; one that also clears its environment cannot
//! be told from a stranger and is left alone.

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, Signal};

/// The variable that marks the descendants of one call.
pub(super) const MARK: &str = "JACKFIELD_EXEC";

/// A value of [`MARK`] that no other call has.
pub(super) fn new_mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let started = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    format!("{}-{}-{started}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Kills the whole tree when it is dropped.
pub(super) struct Tree {
    leader: Option<Pid>,
    mark: String,
}

impl Tree {
    pub(super) fn new(leader: Option<u32>, mark: String) -> Self {
        let leader = leader.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self { leader, mark }
    }

    /// The program has ended by itself: what it left in its group goes too.
    pub(super) fn end_group(mut self) {
        if let Some(leader) = self.leader.take() {
            kill_group(leader);
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let Some(leader) = self.leader.take() else { return };
        #[cfg(target_os = "linux")]
        linux::kill_all(leader, &format!("{MARK}={}", self.mark));
        kill_group(leader);
    }
}

fn kill_group(leader: Pid) {
    // An empty group is what is wanted; one that may not be killed is not ours any more.
    let _ = rustix::process::kill_process_group(leader, Signal::KILL);
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{BTreeMap, BTreeSet};

    use rustix::process::{Pid, Signal};

    /// Rounds of looking and killing. Every round stops what it finds, so that even a fork bomb stands still after a few.
    const ROUNDS: usize = 100;

    #[derive(Debug, Clone, Copy)]
    struct Process {
        parent: i32,
        group: i32,
        /// Distinguishes a process from a later one of the same number.
        started: u64,
        dead: bool,
    }

    pub(super) fn kill_all(leader: Pid, mark: &str) {
        let leader = leader.as_raw_pid();
        let mut found: BTreeMap<i32, u64> = BTreeMap::new();
        for _ in 0..ROUNDS {
            let all = processes();
            let members = members(&all, leader, mark, &found);
            let new: Vec<i32> = members.keys().filter(|id| !found.contains_key(id)).copied().collect();
            if members.is_empty() {
                return;
            }
            found.extend(members.iter());
            if new.is_empty() {
                // All stand still: nothing can be born while they are killed.
                members.keys().for_each(|id| signal(*id, Signal::KILL));
                std::thread::yield_now();
            } else {
                new.iter().for_each(|id| signal(*id, Signal::STOP));
            }
        }
        found.keys().for_each(|id| signal(*id, Signal::KILL));
    }

    /// The living members of the tree, with the moment each was born.
    fn members(
        all: &BTreeMap<i32, Process>,
        leader: i32,
        mark: &str,
        found: &BTreeMap<i32, u64>,
    ) -> BTreeMap<i32, u64> {
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        let mut inside: BTreeSet<i32> = BTreeSet::from([leader]);
        for (id, process) in all {
            let known = found.get(id).is_some_and(|started| *started == process.started);
            if known || process.group == leader || (!process.dead && is_marked(*id, mark)) {
                inside.insert(*id);
            }
        }
        // Numbers do not grow with descent, so this goes on until nobody joins.
        loop {
            let before = inside.len();
            for (id, process) in all {
                if inside.contains(&process.parent) {
                    inside.insert(*id);
                }
            }
            if inside.len() == before {
                break;
            }
        }
        inside.remove(&own);
        all.iter().filter(|(id, p)| !p.dead && inside.contains(id)).map(|(id, p)| (*id, p.started)).collect()
    }

    fn processes() -> BTreeMap<i32, Process> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return BTreeMap::new() };
        entries
            .flatten()
            .filter_map(|entry| {
                let id = entry.file_name().to_str()?.parse().ok()?;
                let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
                Some((id, parse(&stat)?))
            })
            .collect()
    }

    /// `pid (name) state parent group …`, where the name may hold anything.
    fn parse(stat: &str) -> Option<Process> {
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        Some(Process {
            dead: matches!(*fields.first()?, "Z" | "X" | "x"),
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }

    fn is_marked(id: i32, mark: &str) -> bool {
        let Ok(environment) = std::fs::read(format!("/proc/{id}/environ")) else { return false };
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    }

    fn signal(id: i32, signal: Signal) {
        if let Some(pid) = Pid::from_raw(id).filter(|pid| pid.as_raw_pid() > 1) {
            // Gone already is what is wanted.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    #[cfg(test)]
    mod tests {
        use super::parse;

        #[test]
        fn names_cannot_confuse_the_parser() {
            let stat = "42 (a) Z 1 (b) S 7 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 1";
            let process = parse(stat).unwrap();
            assert_eq!((process.parent, process.group, process.started, process.dead), (7, 42, 12345, false));
            assert!(parse("nonsense").is_none());
        }
    }
}
