//! The engine server, seen from the host: one child process that has evaluated the library and forks an engine for each
//! extension.
//!
//! Host and server speak over a Unix socket in frames of fixed size. A request to fork carries the engine's standard input,
//! output and error (`SCM_RIGHTS`). The server answers requests in order, and tells of every engine that has ended.
//! It ends when the socket closes, and its engines end with it; so nothing outlives the host, however the host ends.

mod frames;
mod serve;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};

use self::frames::{Event, Request};
pub use self::serve::child;
use crate::Library;

/// Standard input, output and error of an engine.
pub(crate) type Pipes = [OwnedFd; 3];

/// What a server has to know before its first fork.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServerConfig {
    pub(crate) library: Library,
    pub(crate) cache: Option<PathBuf>,
}

/// Starts the engine server when an engine is wanted, and again when it has died.
#[derive(Debug)]
pub(crate) struct Servers {
    /// The program and its arguments that run [`child`].
    command: Vec<String>,
    config: ServerConfig,
    current: Mutex<Option<Server>>,
}

/// A handle to a server that runs. The server ends when the last handle is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Server(mpsc::UnboundedSender<Command>);

#[derive(Debug)]
enum Command {
    Fork { pipes: Pipes, forked: oneshot::Sender<Result<Forked, String>> },
    Kill(i32),
}

/// An engine's process that was forked.
#[derive(Debug)]
pub(crate) struct Forked {
    pub(crate) pid: u32,
    /// How it ended. The sender is dropped when the server ended, and the engine with it.
    pub(crate) ended: oneshot::Receiver<ExitStatus>,
}

impl Servers {
    pub(crate) fn new(command: Vec<String>, config: ServerConfig) -> Self {
        Self { command, config, current: Mutex::new(None) }
    }

    /// The server that runs, or a new one.
    ///
    /// # Errors
    /// The program cannot be started.
    pub(crate) fn get(&self) -> io::Result<Server> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = current.as_ref().filter(|server| !server.has_ended()) {
            return Ok(server.clone());
        }
        let server = Server::start(&self.command, &self.config)?;
        *current = Some(server.clone());
        Ok(server)
    }
}

impl Server {
    fn start(words: &[String], config: &ServerConfig) -> io::Result<Self> {
        let (program, args) = words.split_first().ok_or_else(|| io::Error::other("no program is named"))?;
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let socket = UnixStream::from_std(ours)?;
        let config = serde_json::to_vec(config)?;
        let child = tokio::process::Command::new(program)
            .args(args)
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (commands, inbox) = mpsc::unbounded_channel();
        let link = Link { socket, waiting: VecDeque::new(), running: HashMap::new(), read: Vec::new() };
        tokio::spawn(drive(link, child, config, inbox));
        Ok(Self(commands))
    }

    fn has_ended(&self) -> bool {
        self.0.is_closed()
    }

    /// Forks an engine with these pipes.
    ///
    /// # Errors
    /// The server has ended, or cannot fork.
    pub(crate) async fn fork(&self, pipes: Pipes) -> Result<Forked, String> {
        let (forked, answer) = oneshot::channel();
        let ended = || "the engine server has ended".to_owned();
        self.0.send(Command::Fork { pipes, forked }).map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }

    /// Kills an engine that this server forked. The server reaps its children, so the number is never another process's.
    pub(crate) fn kill(&self, pid: u32) {
        // A server that has ended took its engines with it.
        self.0.send(Command::Kill(pid.cast_signed())).ok();
    }
}

/// The host's end of the socket.
#[derive(Debug)]
struct Link {
    socket: UnixStream,
    /// Those who asked for a fork and have no answer yet.
    waiting: VecDeque<oneshot::Sender<Result<Forked, String>>>,
    running: HashMap<i32, oneshot::Sender<ExitStatus>>,
    /// Bytes of a frame that has not come whole.
    read: Vec<u8>,
}

/// Serves one server's socket until it closes or no handle is left.
async fn drive(
    mut link: Link,
    mut child: tokio::process::Child,
    config: Vec<u8>,
    mut commands: mpsc::UnboundedReceiver<Command>,
) {
    let end = link.serve(&config, &mut commands).await;
    // From here on the host starts another server.
    commands.close();
    let Link { socket, waiting, running, .. } = link;
    drop(socket);
    // Left to itself when it was not at fault: it kills its engines on the way out.
    if end.is_err() {
        child.start_kill().ok();
    }
    let mut stderr = Vec::new();
    if let Some(mut said) = child.stderr.take() {
        said.read_to_end(&mut stderr).await.ok();
    }
    let status = child.wait().await;
    let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
    let why = format!("the engine server ended ({status}) {}", String::from_utf8_lossy(&stderr).trim());
    for forked in waiting {
        forked.send(Err(why.trim_end().to_owned())).ok();
    }
    while let Some(Command::Fork { forked, .. }) = commands.recv().await {
        forked.send(Err(why.trim_end().to_owned())).ok();
    }
    drop(running);
}

impl Link {
    async fn serve(&mut self, config: &[u8], commands: &mut mpsc::UnboundedReceiver<Command>) -> io::Result<()> {
        self.socket.write_all(&frames::length(config)?).await?;
        self.socket.write_all(config).await?;
        loop {
            tokio::select! {
                command = commands.recv() => match command {
                    None => return Ok(()),
                    Some(Command::Fork { pipes, forked }) => {
                        self.waiting.push_back(forked);
                        self.send(&Request::Fork, &pipes).await?;
                    }
                    Some(Command::Kill(pid)) if self.running.contains_key(&pid) => {
                        self.send(&Request::Kill(pid), &[]).await?;
                    }
                    Some(Command::Kill(_)) => {}
                },
                ready = self.socket.readable() => {
                    ready?;
                    self.receive()?;
                }
            }
        }
    }

    async fn send(&self, request: &Request, pipes: &[OwnedFd]) -> io::Result<()> {
        loop {
            self.socket.writable().await?;
            match self.socket.try_io(Interest::WRITABLE, || frames::send(&self.socket, request, pipes)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                sent => return sent,
            }
        }
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut buffer = [0; 1024];
        let count = match self.socket.try_read(&mut buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        self.read.extend_from_slice(buffer.get(..count).unwrap_or_default());
        while let Some((frame, rest)) = self.read.split_first_chunk() {
            let event = Event::from_bytes(*frame)?;
            self.read = rest.to_vec();
            self.take(event);
        }
        Ok(())
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Forked(pid) => {
                let Some(forked) = self.waiting.pop_front() else { return };
                let (sender, ended) = oneshot::channel();
                self.running.insert(pid, sender);
                forked.send(Ok(Forked { pid: pid.cast_unsigned(), ended })).ok();
            }
            Event::Refused(errno) => {
                let Some(forked) = self.waiting.pop_front() else { return };
                let error = io::Error::from_raw_os_error(errno);
                forked.send(Err(format!("the engine server cannot fork: {error}"))).ok();
            }
            Event::Ended(pid, status) => {
                if let Some(ended) = self.running.remove(&pid) {
                    ended.send(ExitStatus::from_raw(status)).ok();
                }
            }
        }
    }
}
