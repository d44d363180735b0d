//! What an engine does next. One task per tick; between ticks everything that was promised has run.
//!
//! Sources take turns: the timers that are due, the messages that came, the immediates. Timers of one deadline run in the
//! order in which they were made. With the same messages at the same times the order is always the same; a [`Clock`] under test's control makes
//! the times so.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use crate::messages::ToJs;

/// What time it is, in microseconds since the start.
#[derive(Debug)]
pub(crate) enum Clock {
    /// The system's.
    Real(Instant),
    /// One that jumps to the next timer whenever there is nothing else to do.
    Test(u64),
}

impl Clock {
    pub(crate) fn now(&self) -> u64 {
        match self {
            Self::Real(start) => start.elapsed().as_micros() as u64,
            Self::Test(now) => *now,
        }
    }
}

/// One thing to do.
#[derive(Debug)]
pub(crate) enum Task {
    /// A timer or immediate is due.
    Timer(u64),
    /// A message came.
    Mail(ToJs),
    /// Nobody can send anything any more.
    Closed,
    /// Nothing is left to do, and the clock is a test's.
    Idle,
}

/// Timers, immediates and messages of one engine.
#[derive(Debug)]
pub(crate) struct EventLoop {
    mail: Receiver<ToJs>,
    clock: Clock,
    timers: BinaryHeap<Reverse<(u64, u64)>>,
    dropped: HashSet<u64>,
    immediates: VecDeque<u64>,
    deferred: VecDeque<ToJs>,
    next: u64,
    phase: Phase,
}

/// The round goes through these, as Node's does. What is added to a phase while it lasts waits for the next round, so none
/// can keep the others from their turn.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Timers that were due then.
    Timers { now: u64 },
    /// So many messages.
    Mail { left: usize },
    /// So many immediates.
    Immediates { left: usize },
}

impl EventLoop {
    pub(crate) fn new(mail: Receiver<ToJs>, clock: Clock) -> Self {
        Self {
            phase: Phase::Timers { now: clock.now() },
            mail,
            clock,
            timers: BinaryHeap::new(),
            dropped: HashSet::new(),
            immediates: VecDeque::new(),
            deferred: VecDeque::new(),
            next: 1,
        }
    }

    /// A number that was not used before.
    pub(crate) fn number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// Due in `ms` milliseconds.
    pub(crate) fn add_timer(&mut self, ms: f64) -> u64 {
        let id = self.number();
        let after = if ms.is_finite() && ms > 0.0 { (ms * 1000.0) as u64 } else { 0 };
        self.timers.push(Reverse((self.clock.now().saturating_add(after), id)));
        id
    }

    /// Due as soon as the others had their turn.
    pub(crate) fn add_immediate(&mut self) -> u64 {
        let id = self.number();
        self.immediates.push_back(id);
        id
    }

    /// Not wanted any more.
    pub(crate) fn drop_timer(&mut self, id: u64) {
        self.dropped.insert(id);
    }

    /// A message that came while another was waited for; it has its turn later.
    pub(crate) fn defer(&mut self, mail: ToJs) {
        self.deferred.push_back(mail);
    }

    /// Waits for the next message, whatever else is due.
    pub(crate) fn receive(&self) -> Option<ToJs> {
        self.mail.recv().ok()
    }

    /// The next thing to do; waits until there is one.
    pub(crate) fn next_task(&mut self) -> Task {
        loop {
            match self.phase {
                Phase::Timers { now } => {
                    if let Some(id) = self.due_timer(now) {
                        return Task::Timer(id);
                    }
                    let closed = self.gather();
                    if closed && self.deferred.is_empty() {
                        return Task::Closed;
                    }
                    self.phase = Phase::Mail { left: self.deferred.len() };
                }
                Phase::Mail { left } => match left.checked_sub(1) {
                    Some(left) => {
                        self.phase = Phase::Mail { left };
                        if let Some(mail) = self.deferred.pop_front() {
                            return Task::Mail(mail);
                        }
                    }
                    None => self.phase = Phase::Immediates { left: self.immediates.len() },
                },
                Phase::Immediates { left } => match left.checked_sub(1) {
                    Some(left) => {
                        self.phase = Phase::Immediates { left };
                        if let Some(id) = self.immediates.pop_front()
                            && !self.dropped.remove(&id)
                        {
                            return Task::Timer(id);
                        }
                    }
                    None => {
                        if let Some(end) = self.wait() {
                            return end;
                        }
                    }
                },
            }
        }
    }

    /// Takes what has come; whether nothing can come any more.
    fn gather(&mut self) -> bool {
        loop {
            match self.mail.try_recv() {
                Ok(mail) => self.deferred.push_back(mail),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => return matches!(self.clock, Clock::Real(_)),
            }
        }
    }

    /// Begins the next round as soon as there is something to do; or says that there never will be.
    fn wait(&mut self) -> Option<Task> {
        let now = self.clock.now();
        self.phase = Phase::Timers { now };
        if !self.deferred.is_empty() || !self.immediates.is_empty() {
            return None;
        }
        let due = self.next_due();
        match (&mut self.clock, due) {
            (_, Some(at)) if at <= now => {}
            (Clock::Test(_), due) => {
                // A message that is there already comes before time goes on.
                self.gather();
                if !self.deferred.is_empty() {
                    return None;
                }
                let Some(at) = due else { return Some(Task::Idle) };
                self.clock = Clock::Test(at);
                self.phase = Phase::Timers { now: at };
            }
            (Clock::Real(_), due) => {
                let came = match due {
                    Some(at) => self.mail.recv_timeout(Duration::from_micros(at - now)),
                    None => self.mail.recv().map_err(|_| RecvTimeoutError::Disconnected),
                };
                match came {
                    Ok(mail) => {
                        self.deferred.push_back(mail);
                        self.gather();
                        self.phase = Phase::Mail { left: self.deferred.len() };
                    }
                    Err(RecvTimeoutError::Timeout) => self.phase = Phase::Timers { now: self.clock.now() },
                    Err(RecvTimeoutError::Disconnected) => return Some(Task::Closed),
                }
            }
        }
        None
    }

    /// When the next timer is due that is still wanted.
    fn next_due(&mut self) -> Option<u64> {
        while let Some(Reverse((at, id))) = self.timers.peek().copied() {
            if !self.dropped.remove(&id) {
                return Some(at);
            }
            self.timers.pop();
        }
        None
    }

    fn due_timer(&mut self, now: u64) -> Option<u64> {
        self.next_due().filter(|at| *at <= now)?;
        self.timers.pop().map(|Reverse((_, id))| id)
    }
}
