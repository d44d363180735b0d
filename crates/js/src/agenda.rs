//! What an engine does next. One task per tick; between ticks everything that was promised has run.
//!
//! Sources take turns: a timer that is due, a message, an immediate. Timers of one deadline run in the order in which they
//! were made. With the same messages at the same times the order is always the same; a [`Clock`] under test's control makes
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
pub(crate) struct Agenda {
    mail: Receiver<ToJs>,
    clock: Clock,
    timers: BinaryHeap<Reverse<(u64, u64)>>,
    dropped: HashSet<u64>,
    immediates: VecDeque<u64>,
    deferred: VecDeque<ToJs>,
    next: u64,
    turn: u8,
}

impl Agenda {
    pub(crate) fn new(mail: Receiver<ToJs>, clock: Clock) -> Self {
        Self {
            mail,
            clock,
            timers: BinaryHeap::new(),
            dropped: HashSet::new(),
            immediates: VecDeque::new(),
            deferred: VecDeque::new(),
            next: 1,
            turn: 0,
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
            let now = self.clock.now();
            for step in 0..3 {
                let turn = (self.turn + step) % 3;
                let task = match turn {
                    0 => self.due_timer(now).map(Task::Timer),
                    1 => match self.deferred.pop_front() {
                        Some(mail) => Some(Task::Mail(mail)),
                        None => match self.mail.try_recv() {
                            Ok(mail) => Some(Task::Mail(mail)),
                            Err(TryRecvError::Empty) => None,
                            Err(TryRecvError::Disconnected) if matches!(self.clock, Clock::Test(_)) => None,
                            Err(TryRecvError::Disconnected) => return Task::Closed,
                        },
                    },
                    _ => self.immediate().map(Task::Timer),
                };
                if let Some(task) = task {
                    self.turn = (turn + 1) % 3;
                    return task;
                }
            }
            let due = self.timers.peek().map(|Reverse((at, _))| *at);
            match (&mut self.clock, due) {
                (Clock::Test(now), Some(at)) => *now = at,
                (Clock::Test(_), None) => return Task::Idle,
                (Clock::Real(_), due) => {
                    let came = match due {
                        Some(at) => self.mail.recv_timeout(Duration::from_micros(at.saturating_sub(now))),
                        None => self.mail.recv().map_err(|_| RecvTimeoutError::Disconnected),
                    };
                    match came {
                        Ok(mail) => self.deferred.push_back(mail),
                        Err(RecvTimeoutError::Timeout) => {}
                        Err(RecvTimeoutError::Disconnected) => return Task::Closed,
                    }
                }
            }
        }
    }

    fn due_timer(&mut self, now: u64) -> Option<u64> {
        while let Some(Reverse((at, id))) = self.timers.peek().copied() {
            if self.dropped.remove(&id) {
                self.timers.pop();
                continue;
            }
            if at > now {
                return None;
            }
            self.timers.pop();
            return Some(id);
        }
        None
    }

    fn immediate(&mut self) -> Option<u64> {
        while let Some(id) = self.immediates.pop_front() {
            if !self.dropped.remove(&id) {
                return Some(id);
            }
        }
        None
    }
}
