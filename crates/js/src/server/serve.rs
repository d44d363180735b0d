//! The engine server itself: prepares one engine, and forks a process from it for each extension.
//!
//! The server has one thread and runs no extension, so an extension can neither block it nor break it.

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Resource, Signal, WaitOptions};

use super::frames::{self, Event, Request};
use super::{Pipes, ServerConfig};
use crate::fork::{Side, fork};
use crate::isolate::Prepared;
use crate::{CodeCache, STACK, process};

/// What the binary does for the engine server's word. Standard input is the socket to the host. Returns when the host has
/// gone; in a forked engine it does not return.
pub fn child() {
    let Ok(socket) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map(UnixStream::from) else { return };
    let Ok(config) = frames::read_config(&socket) else { return };
    let Ok(config) = serde_json::from_slice::<ServerConfig>(&config) else { return };
    // Without a terminal of its own: what a person types there is for the host.
    if let Err(error) = rustix::process::setsid() {
        writeln!(std::io::stderr(), "the engine server cannot begin a session: {error}").ok();
        return;
    }
    // Engines run on the main thread, whose stack grows up to this limit.
    let mut limit = rustix::process::getrlimit(Resource::Stack);
    if limit.current.is_some_and(|current| current < STACK as u64) {
        limit.current = Some(limit.maximum.map_or(STACK as u64, |most| most.min(STACK as u64)));
        // A smaller stack serves all but the deepest scripts.
        rustix::process::setrlimit(Resource::Stack, limit).ok();
    }
    let cache = Arc::new(config.cache.as_deref().map(CodeCache::at).unwrap_or_default());
    let prepared = match Prepared::new(&config.library, cache) {
        Ok(prepared) => prepared,
        Err(why) => {
            // The host reads it and tells whoever wanted an engine.
            std::io::stderr().write_all(why.as_bytes()).ok();
            return;
        }
    };
    if let Some(pipes) = serve(socket) {
        process::engine(prepared, &pipes);
    }
}

/// An engine that runs.
struct Running {
    pid: Pid,
    /// Reads as closed when the engine has ended: it alone holds the other end.
    alive: OwnedFd,
}

/// Serves the host until it has gone. Returns the pipes of a forked engine in that engine's process.
fn serve(socket: UnixStream) -> Option<Pipes> {
    let mut running: Vec<Running> = Vec::new();
    loop {
        let mut fds = vec![PollFd::new(&socket, PollFlags::IN)];
        fds.extend(running.iter().map(|engine| PollFd::new(&engine.alive, PollFlags::IN)));
        if poll(&mut fds, None).is_err_and(|error| error != rustix::io::Errno::INTR) {
            return None;
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        let mut ended = ready.iter().skip(1);
        running.retain(|engine| match ended.next() {
            Some(true) => !reap(&socket, engine.pid),
            _ => true,
        });
        if ready.first() != Some(&true) {
            continue;
        }
        match frames::receive(&socket) {
            Ok(Some((Request::Fork, Some(pipes)))) => match begin(&socket) {
                Ok(Some(engine)) => running.push(engine),
                Ok(None) => return Some(pipes),
                Err(error) => tell(&socket, Event::Refused(error.raw_os_error().unwrap_or_default())),
            },
            // The descriptors were lost on the way, as when this process may open no more.
            Ok(Some((Request::Fork, None))) => tell(&socket, Event::Refused(rustix::io::Errno::MFILE.raw_os_error())),
            Ok(Some((Request::Kill(pid), _))) => {
                if let Some(engine) = running.iter().find(|engine| engine.pid.as_raw_nonzero().get() == pid) {
                    // One that has just ended is still ours until it is reaped.
                    rustix::process::kill_process(engine.pid, Signal::KILL).ok();
                }
            }
            Ok(None) | Err(_) => return None,
        }
    }
}

/// Forks. Gives the engine in the server, and nothing in the engine.
fn begin(socket: &UnixStream) -> std::io::Result<Option<Running>> {
    let (alive, held) = pipe_with(PipeFlags::CLOEXEC)?;
    let server = rustix::process::getpid();
    match fork()? {
        Side::Parent(pid) => {
            tell(socket, Event::Forked(pid.as_raw_nonzero().get()));
            Ok(Some(Running { pid, alive }))
        }
        Side::Child => {
            // Held until this process ends.
            std::mem::forget(held);
            end_with(server);
            Ok(None)
        }
    }
}

/// Has the kernel kill this process when the server ends. An engine also ends when its input does.
fn end_with(server: Pid) {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).ok();
    if rustix::process::getppid() != Some(server) {
        std::process::exit(0);
    }
}

/// Tells the host how an engine ended. Whether it has.
fn reap(socket: &UnixStream, pid: Pid) -> bool {
    match rustix::process::waitpid(Some(pid), WaitOptions::empty()) {
        Ok(Some((_, status))) => {
            tell(socket, Event::Ended(pid.as_raw_nonzero().get(), status.as_raw()));
            true
        }
        Err(rustix::io::Errno::INTR) | Ok(None) => false,
        Err(_) => true,
    }
}

/// A host that has gone needs no answer.
fn tell(mut socket: &UnixStream, event: Event) {
    socket.write_all(&event.to_bytes()).ok();
}
