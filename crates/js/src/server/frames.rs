//! What the host and the engine server say to each other: frames of fixed size on a Unix socket.

use std::io::{self, IoSlice, IoSliceMut, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};

use super::Pipes;

/// To the server: a kind and a process.
const REQUEST_BYTES: usize = 5;
/// From the server: a kind, a process and a status.
const EVENT_BYTES: usize = 9;

/// To the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    /// Fork an engine; three file descriptors come with it.
    Fork,
    /// Kill this engine.
    Kill(i32),
}

/// From the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// The oldest request to fork has made this process.
    Forked(i32),
    /// The oldest request to fork failed with this error of the system.
    Refused(i32),
    /// This engine ended, with the status that `wait` gave.
    Ended(i32, i32),
}

impl Event {
    pub(super) fn to_bytes(self) -> [u8; EVENT_BYTES] {
        let (kind, pid, status) = match self {
            Self::Forked(pid) => (0, pid, 0),
            Self::Refused(errno) => (1, 0, errno),
            Self::Ended(pid, status) => (2, pid, status),
        };
        let ([a, b, c, d], [e, f, g, h]) = (pid.to_le_bytes(), status.to_le_bytes());
        [kind, a, b, c, d, e, f, g, h]
    }

    pub(super) fn from_bytes([kind, a, b, c, d, e, f, g, h]: [u8; EVENT_BYTES]) -> io::Result<Self> {
        let (pid, status) = (i32::from_le_bytes([a, b, c, d]), i32::from_le_bytes([e, f, g, h]));
        match kind {
            0 => Ok(Self::Forked(pid)),
            1 => Ok(Self::Refused(status)),
            2 => Ok(Self::Ended(pid, status)),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// The length of a configuration, as it stands before it.
pub(super) fn length(config: &[u8]) -> io::Result<[u8; 4]> {
    u32::try_from(config.len()).map(u32::to_le_bytes).map_err(io::Error::other)
}

/// Reads the configuration, which comes before all frames.
pub(super) fn read_config(mut socket: &UnixStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    socket.read_exact(&mut length)?;
    let mut config = vec![0; u32::from_le_bytes(length) as usize];
    socket.read_exact(&mut config)?;
    Ok(config)
}

/// Sends a request with its file descriptors.
pub(super) fn send(socket: impl AsFd, request: &Request, pipes: &[OwnedFd]) -> io::Result<()> {
    let (kind, pid) = match request {
        Request::Fork => (0, 0),
        Request::Kill(pid) => (1, *pid),
    };
    let [a, b, c, d] = pid.to_le_bytes();
    let fds: Vec<_> = pipes.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let frame = [kind, a, b, c, d];
    let sent = rustix::net::sendmsg(socket, &[IoSlice::new(&frame)], &mut control, SendFlags::NOSIGNAL)?;
    // The kernel takes so small a message whole or not at all.
    if sent == REQUEST_BYTES { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Receives a request and its file descriptors; nothing when the host has gone.
pub(super) fn receive(socket: &UnixStream) -> io::Result<Option<(Request, Option<Pipes>)>> {
    let mut frame = [0; REQUEST_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let count =
        rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut frame)], &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
    if count == 0 {
        return Ok(None);
    }
    if let Some(rest) = frame.get_mut(count..).filter(|rest| !rest.is_empty()) {
        let mut socket = socket;
        socket.read_exact(rest)?;
    }
    let mut fds: Vec<OwnedFd> = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    let [kind, a, b, c, d] = frame;
    let request = match kind {
        0 => Request::Fork,
        1 => Request::Kill(i32::from_le_bytes([a, b, c, d])),
        _ => return Err(io::ErrorKind::InvalidData.into()),
    };
    Ok(Some((request, fds.try_into().ok())))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn requests_and_their_file_descriptors_arrive() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let (mut kept, end) = UnixStream::pair().expect("a pair");
        let copy = || OwnedFd::from(end.try_clone().expect("a copy"));
        send(&ours, &Request::Fork, &[copy(), copy(), copy()]).expect("sent");
        send(&ours, &Request::Kill(7), &[]).expect("sent");
        drop((ours, end));
        let (request, pipes) = receive(&theirs).expect("received").expect("there");
        let [first, ..] = pipes.expect("three");
        assert_eq!(request, Request::Fork);
        kept.write_all(b"hello").expect("written");
        let mut said = [0; 5];
        UnixStream::from(first).read_exact(&mut said).expect("read");
        assert_eq!(&said, b"hello");
        let (request, pipes) = receive(&theirs).expect("received").expect("there");
        assert!(request == Request::Kill(7) && pipes.is_none());
        assert!(receive(&theirs).expect("the end").is_none());
    }

    #[test]
    fn events_are_read_as_they_were_written() {
        for event in [Event::Forked(12), Event::Refused(11), Event::Ended(i32::MAX, 9)] {
            assert_eq!(Event::from_bytes(event.to_bytes()).expect("an event"), event);
        }
        assert!(Event::from_bytes([9; EVENT_BYTES]).is_err());
    }
}
