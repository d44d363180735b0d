//! Standard input and output without a thread in between, where they are pipes or sockets, as agents make them: a thread
//! costs two wake-ups a message.

use tokio::io::{AsyncRead, AsyncWrite};

/// What can be read from.
pub(super) type Input = Box<dyn AsyncRead + Unpin + Send>;
/// What can be written to.
pub(super) type Output = Box<dyn AsyncWrite + Unpin + Send>;

/// Standard input.
pub(super) fn input() -> Input {
    #[cfg(unix)]
    if let Some(input) = unix::input() {
        return input;
    }
    Box::new(tokio::io::stdin())
}

/// Standard output.
pub(super) fn output() -> Output {
    #[cfg(unix)]
    if let Some(output) = unix::output() {
        return output;
    }
    Box::new(tokio::io::stdout())
}

#[cfg(unix)]
mod unix {
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::net::UnixStream as StdStream;

    use rustix::fs::{FileType, fstat};
    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    use super::{Input, Output};

    fn open(stream: impl AsFd) -> Option<(FileType, OwnedFd)> {
        let own = stream.as_fd().try_clone_to_owned().ok()?;
        let kind = FileType::from_raw_mode(fstat(&own).ok()?.st_mode);
        Some((kind, own))
    }

    fn socket(own: OwnedFd) -> Option<UnixStream> {
        let stream = StdStream::from(own);
        // Something else than a Unix socket answers this with an error.
        stream.local_addr().ok()?;
        stream.set_nonblocking(true).ok()?;
        UnixStream::from_std(stream).ok()
    }

    pub(super) fn input() -> Option<Input> {
        match open(std::io::stdin())? {
            (FileType::Fifo, own) => Some(Box::new(pipe::Receiver::from_owned_fd(own).ok()?)),
            (FileType::Socket, own) => Some(Box::new(socket(own)?)),
            _ => None,
        }
    }

    pub(super) fn output() -> Option<Output> {
        match open(std::io::stdout())? {
            (FileType::Fifo, own) => Some(Box::new(pipe::Sender::from_owned_fd(own).ok()?)),
            (FileType::Socket, own) => Some(Box::new(socket(own)?)),
            _ => None,
        }
    }
}
