//! An engine in a process of its own, forked by the engine server: the same messages, as lines of JSON on its pipes.
//!
//! The process ends itself when its input ends, so it does not outlive the host, whatever its script does.

use std::io::Write as _;
use std::rc::Rc;
use std::sync::mpsc::Sender;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use jackfield_runtime::{HostApi, LogFile, StartError, StartSpec};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

use crate::engine_client::EngineClient;
use crate::guard::Guard;
use crate::instance::{Engine, Killer};
use crate::isolate::{self, Prepared, START, Setup};
use crate::messages::{ToHost, ToJs};
use crate::server::{Forked, Pipes, Server, Servers};

/// The first line that an engine's process reads.
#[derive(Debug, Serialize, Deserialize)]
struct EngineConfig {
    setup: Setup,
    slice_ms: u64,
}

/// Kills the process of an engine.
#[derive(Debug, Clone)]
pub(crate) struct Kill(CancellationToken);

impl Kill {
    pub(crate) fn now(&self) {
        self.0.cancel();
    }
}

/// The host's ends of an engine's pipes.
struct HostEnds {
    input: pipe::Sender,
    output: pipe::Receiver,
    errors: pipe::Receiver,
}

fn pipes() -> std::io::Result<(HostEnds, Pipes)> {
    let pair = || pipe_with(PipeFlags::CLOEXEC);
    let ((stdin, input), (output, stdout), (errors, stderr)) = (pair()?, pair()?, pair()?);
    let host = HostEnds {
        input: pipe::Sender::from_owned_fd(input)?,
        output: pipe::Receiver::from_owned_fd(output)?,
        errors: pipe::Receiver::from_owned_fd(errors)?,
    };
    Ok((host, [stdin, stdout, stderr]))
}

/// Forks an engine. A server that ends meanwhile is replaced once.
async fn fork(servers: &Servers) -> Result<(Server, HostEnds, Forked), String> {
    let mut again = true;
    loop {
        let (host, engine) = pipes().map_err(|error| format!("no pipes for its engine: {error}"))?;
        let server = servers.get().map_err(|error| format!("the engine server cannot be started: {error}"))?;
        match server.fork(engine).await {
            Ok(forked) => return Ok((server, host, forked)),
            Err(_) if std::mem::take(&mut again) => {}
            Err(why) => return Err(why),
        }
    }
}

/// Starts an engine in a process.
pub(crate) async fn start(
    servers: &Servers,
    setup: &Setup,
    slice: Duration,
    spec: &StartSpec,
    host: Arc<dyn HostApi>,
    log: LogFile,
) -> Result<Engine, StartError> {
    let refused = |text: String| StartError::NotRunnable(format!("extension {}: {text}", spec.manifest.id));
    let config = EngineConfig { setup: setup.clone(), slice_ms: u64::try_from(slice.as_millis()).unwrap_or(u64::MAX) };
    let mut first =
        serde_json::to_vec(&config).map_err(|error| refused(format!("its config cannot be written: {error}")))?;
    first.push(b'\n');
    let forked = tokio::time::timeout(spec.start_timeout, fork(servers)).await;
    let late = |_| refused(format!("the engine server did not answer within {:?}", spec.start_timeout));
    let (server, HostEnds { mut input, output, errors }, Forked { pid, ended }) =
        forked.map_err(late)?.map_err(refused)?;
    let (sender, mut outbound) = tokio::sync::mpsc::unbounded_channel::<ToJs>();
    let client = EngineClient::new(spec.manifest.id.clone(), host, log, move |message| sender.send(message).is_ok());
    let started = client.expect(START);
    let kill = Kill(CancellationToken::new());
    tokio::spawn(async move {
        if input.write_all(&first).await.is_err() {
            return;
        }
        while let Some(message) = outbound.recv().await {
            let Ok(mut line) = serde_json::to_vec(&message) else { continue };
            line.push(b'\n');
            if input.write_all(&line).await.is_err() {
                return;
            }
        }
    });
    let (reader, wanted) = (Arc::clone(&client), kill.clone());
    tokio::spawn(async move {
        let said = listen(&reader, &wanted, output).await;
        server.kill(pid);
        let status = ended.await;
        let mut tail = Vec::new();
        let mut errors = errors;
        errors.read_to_end(&mut tail).await.ok();
        reader.log.said("error", &String::from_utf8_lossy(&tail));
        let reason = match (said, wanted.0.is_cancelled(), status) {
            (Some(reason), _, _) => reason,
            (None, true, _) => "killed by the host".to_owned(),
            (None, false, Ok(status)) => format!("its engine's process went: {status}"),
            (None, false, Err(_)) => "its engine's process went: the engine server ended".to_owned(),
        };
        reader.gone(&reason, false);
    });
    Ok(Engine { client, killer: Killer::Process(kill), pid: Some(pid), started })
}

/// Takes what an engine says until it ends or is not wanted any more. Returns why it ended, if it said so.
async fn listen(client: &Arc<EngineClient>, wanted: &Kill, output: pipe::Receiver) -> Option<String> {
    let mut lines = tokio::io::BufReader::with_capacity(64 * 1024, output);
    let mut line = Vec::new();
    let mut said = None;
    loop {
        line.clear();
        let read = tokio::select! {
            read = lines.read_until(b'\n', &mut line) => read,
            () = wanted.0.cancelled() => return said,
        };
        match read {
            Ok(0) | Err(_) => return said,
            // Only our own binary writes here; what it did not write whole is of no use.
            Ok(_) => match serde_json::from_slice::<ToHost>(&line) {
                Ok(ToHost::Gone { reason }) => said = Some(reason),
                Ok(message) => client.take(message),
                Err(_) => continue,
            },
        }
    }
}

/// What a forked engine does: reads its config from these pipes, runs its extension, and ends the process.
pub(crate) fn engine(prepared: Prepared, [stdin, stdout, stderr]: &Pipes) -> ! {
    let placed = rustix::stdio::dup2_stdin(stdin)
        .and_then(|()| rustix::stdio::dup2_stdout(stdout))
        .and_then(|()| rustix::stdio::dup2_stderr(stderr));
    let mut input = Input::default();
    let config = input.line().and_then(|line| serde_json::from_slice::<EngineConfig>(&line).ok());
    let (Ok(()), Some(config)) = (placed, config) else { std::process::exit(1) };
    let guard = Arc::new(Guard::new(Duration::from_millis(config.slice_ms)));
    let (sender, mail) = mpsc::channel();
    let watched = Arc::clone(&guard);
    let attend = move || attend(input, &watched, &sender);
    if std::thread::Builder::new().name("js input".to_owned()).spawn(attend).is_err() {
        say(&ToHost::Gone { reason: "its engine's process has no thread for its input".to_owned() });
        std::process::exit(1);
    }
    isolate::run(prepared, &config.setup, guard, mail, Rc::new(|message| say(&message)), |reason| {
        say(&ToHost::Gone { reason });
        // The memory goes with the process.
        std::process::exit(0);
    });
    std::process::exit(0);
}

/// Passes messages on to the engine, and ends the process when the host has gone or script is stuck.
fn attend(mut input: Input, guard: &Guard, mail: &Sender<ToJs>) {
    loop {
        while let Some(line) = input.next() {
            if let Ok(message) = serde_json::from_slice::<ToJs>(&line) {
                // An engine that has ended says so itself.
                mail.send(message).ok();
            }
        }
        let came = input.wait(guard.look_every());
        if guard.is_stuck() {
            say(&ToHost::Gone { reason: guard.stuck() });
            std::process::exit(0);
        }
        if came && !input.read() {
            // The host has gone.
            std::process::exit(0);
        }
    }
}

/// Standard input, by lines.
#[derive(Default)]
struct Input {
    bytes: Vec<u8>,
    /// Where the next line begins.
    begin: usize,
    /// Up to where no line ends.
    seen: usize,
}

impl Input {
    /// The next line; waits for it. Nothing when the input has ended.
    fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(line) = self.next() {
                return Some(line);
            }
            if !self.read() {
                return None;
            }
        }
    }

    /// The next line, if it is here.
    fn next(&mut self) -> Option<Vec<u8>> {
        let at = self.bytes.get(self.seen..)?.iter().position(|byte| *byte == b'\n');
        let Some(at) = at else {
            self.bytes.drain(..self.begin);
            (self.begin, self.seen) = (0, self.bytes.len());
            return None;
        };
        let line = self.bytes.get(self.begin..self.seen + at).map(<[u8]>::to_vec);
        self.seen += at + 1;
        self.begin = self.seen;
        line
    }

    /// Waits for more, but not longer than this. Whether there is some, or the end.
    fn wait(&self, most: Duration) -> bool {
        let stdin = rustix::stdio::stdin();
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        let most = Timespec::try_from(most).ok();
        poll(&mut fds, most.as_ref()).is_ok_and(|count| count > 0)
    }

    /// Reads more; waits for it. Whether there was any before the end.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 16 * 1024];
        loop {
            match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(count) if count > 0 => {
                    self.bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
                    return true;
                }
                _ => return false,
            }
        }
    }
}

/// Writes a message to the host.
fn say(message: &ToHost) {
    let Ok(mut line) = serde_json::to_vec(message) else { return };
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line).and_then(|()| out.flush()).ok();
}
