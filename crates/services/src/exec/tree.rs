//! A program with all that it started, so that all of it can be ended.
//!
//! Three things tell who belongs to it: the process group, descent, and a variable that every descendant inherits. The last
//! finds those that made a session of their own and whose parents have gone; one that also clears its environment cannot
//! be told from a stranger and is left alone.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
    /// Nothing is left to kill.
    over: AtomicBool,
    #[cfg(target_os = "linux")]
    mark: String,
    /// When the leader was born. Nobody born before belongs to the tree.
    #[cfg(target_os = "linux")]
    born: u64,
}

impl Tree {
    #[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "only Linux tells who descends from whom"))]
    pub(super) fn new(leader: Option<u32>, mark: String) -> Self {
        let leader = leader.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self {
            leader,
            over: AtomicBool::new(false),
            #[cfg(target_os = "linux")]
            mark,
            #[cfg(target_os = "linux")]
            born: leader.map_or(0, linux::born),
        }
    }

    /// Sends a signal to the program: to its whole group, or past the keeper where the keeper would take it for its own.
    pub(super) fn signal(&self, signal: Signal, has_keeper: bool) {
        let Some(leader) = self.leader else { return };
        let for_all = !has_keeper || [Signal::TERM, Signal::INT, Signal::HUP, Signal::KILL].contains(&signal);
        if for_all {
            // One that has ended meanwhile needs no signal.
            let _ = rustix::process::kill_process_group(leader, signal);
        } else {
            #[cfg(target_os = "linux")]
            linux::signal_children(leader, signal);
        }
    }

    /// The program has ended by itself: what it left in its group goes too.
    pub(super) fn end_group(&self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(leader) = self.leader {
            kill_group(leader);
        }
    }

    /// The tree, for whoever kills it.
    pub(super) fn take(&self) -> Self {
        let over = AtomicBool::new(self.over.swap(true, Ordering::Relaxed));
        Self {
            leader: self.leader,
            over,
            #[cfg(target_os = "linux")]
            mark: self.mark.clone(),
            #[cfg(target_os = "linux")]
            born: self.born,
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let Some(leader) = self.leader.filter(|_| !self.over.load(Ordering::Relaxed)) else { return };
        #[cfg(target_os = "linux")]
        linux::kill_all(leader, self.born, &format!("{MARK}={}", self.mark));
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
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal};

    /// How long the hunt goes on while new members keep coming.
    const HUNT_TIMEOUT: Duration = Duration::from_secs(10);
    /// How many looks in a row must find nobody: a process may be born behind the back of one look.
    const EMPTY_LOOKS_NEEDED: usize = 20;
    /// The pause after a look that found nobody, so that two looks do not fall into the same blind moment of a process.
    const EMPTY_LOOK_PAUSE: Duration = Duration::from_micros(500);

    #[derive(Debug, Clone, Copy)]
    struct Process {
        parent: i32,
        group: i32,
        /// Distinguishes a process from a later one of the same number.
        started: u64,
        dead: bool,
    }

    /// When a process was born, in the kernel's ticks.
    pub(super) fn born(id: Pid) -> u64 {
        process(id.as_raw_pid()).map_or(0, |process| process.started)
    }

    /// Stops every member as soon as it is seen, so that it begets no further ones, and kills them once all stand still.
    pub(super) fn kill_all(leader: Pid, born: u64, mark: &str) {
        let mut hunt =
            Hunt { leader: leader.as_raw_pid(), born, mark, found: BTreeMap::new(), strangers: BTreeSet::new() };
        let end = Instant::now() + HUNT_TIMEOUT;
        let mut quiet = 0;
        while quiet < EMPTY_LOOKS_NEEDED && Instant::now() < end {
            match hunt.look() {
                LookResult::New => quiet = 0,
                LookResult::Known => {
                    quiet = 0;
                    hunt.kill();
                    std::thread::yield_now();
                }
                LookResult::Nobody => {
                    quiet += 1;
                    std::thread::sleep(EMPTY_LOOK_PAUSE);
                }
            }
        }
        hunt.kill();
    }

    /// Signals whoever descends directly from `parent`.
    pub(super) fn signal_children(parent: Pid, what: Signal) {
        for id in newest_first() {
            if process(id).is_some_and(|process| process.parent == parent.as_raw_pid()) {
                signal(id, what);
            }
        }
    }

    enum LookResult {
        New,
        Known,
        Nobody,
    }

    struct Hunt<'m> {
        leader: i32,
        born: u64,
        mark: &'m str,
        /// The members, with the moment each was born.
        found: BTreeMap<i32, u64>,
        /// Those who were there before the leader.
        strangers: BTreeSet<i32>,
    }

    impl Hunt<'_> {
        fn look(&mut self) -> LookResult {
            let (mut new, mut known) = (false, false);
            let mut others: Vec<(i32, Process)> = Vec::new();
            for id in newest_first() {
                if self.strangers.contains(&id) {
                    continue;
                }
                let Some(process) = process(id) else { continue };
                if process.started < self.born {
                    self.strangers.insert(id);
                } else if self.found.get(&id) == Some(&process.started) {
                    known |= !process.dead;
                } else if !process.dead && self.is_member(id, &process) {
                    self.take(id, &process);
                    new = true;
                } else if !process.dead {
                    others.push((id, process));
                }
            }
            // Who has cleared the environment and left the group is still somebody's child.
            while let Some(at) = others.iter().position(|(_, process)| self.found.contains_key(&process.parent)) {
                let (id, process) = others.swap_remove(at);
                self.take(id, &process);
                new = true;
            }
            match (new, known) {
                (true, _) => LookResult::New,
                (false, true) => LookResult::Known,
                (false, false) => LookResult::Nobody,
            }
        }

        fn is_member(&self, id: i32, process: &Process) -> bool {
            id == self.leader
                || process.group == self.leader
                || process.parent == self.leader
                || self.found.contains_key(&process.parent)
                || is_marked(id, self.mark)
        }

        fn take(&mut self, id: i32, process: &Process) {
            signal(id, Signal::STOP);
            self.found.insert(id, process.started);
        }

        fn kill(&self) {
            for (id, started) in &self.found {
                if process(*id).is_some_and(|process| process.started == *started) {
                    signal(*id, Signal::KILL);
                }
            }
        }
    }

    /// Numbers grow, so the one who was born last, and would be gone first, is looked at first.
    fn newest_first() -> Vec<i32> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        let mut ids: Vec<i32> =
            entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids
    }

    fn process(id: i32) -> Option<Process> {
        parse(&String::from_utf8_lossy(&std::fs::read(format!("/proc/{id}/stat")).ok()?))
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
        // The host is nobody's prey, whatever its environment holds.
        let spared = id <= 1 || u32::try_from(id) == Ok(std::process::id());
        if let Some(pid) = Pid::from_raw(id).filter(|_| !spared) {
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
