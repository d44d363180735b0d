//! What the operating system said, in a form that programs can tell apart.

use jackfield_protocol::{CallError, ErrorCode};
use rustix::io::Errno;
use serde_json::json;

/// The error of something that the operating system refused: `io`, with the system's own name for the reason in
/// `details.errno`.
pub(super) fn refusal(what: &str, error: Errno) -> CallError {
    let why = match error {
        Errno::NOENT => "it does not exist".to_owned(),
        other => std::io::Error::from(other).to_string(),
    };
    with_errno(CallError::new(ErrorCode::Io, format!("{what}: {why}")), name(error))
}

/// The same for an error of the standard library.
pub(super) fn failure(what: &str, error: &std::io::Error) -> CallError {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(errno) => refusal(what, errno),
        None => {
            let plain = CallError::new(ErrorCode::Io, format!("{what}: {error}"));
            match by_kind(error.kind()) {
                Some(errno) => with_errno(plain, errno),
                None => plain,
            }
        }
    }
}

/// An error of our own that means what the system means by `errno`.
pub(super) fn as_errno(errno: &'static str, message: String) -> CallError {
    with_errno(CallError::new(ErrorCode::Io, message), errno)
}

fn with_errno(error: CallError, errno: &str) -> CallError {
    error.with_details(json!({ "errno": errno }))
}

fn by_kind(kind: std::io::ErrorKind) -> Option<&'static str> {
    use std::io::ErrorKind as Kind;
    Some(match kind {
        Kind::NotFound => "ENOENT",
        Kind::PermissionDenied => "EACCES",
        Kind::ConnectionRefused => "ECONNREFUSED",
        Kind::ConnectionReset => "ECONNRESET",
        Kind::ConnectionAborted => "ECONNABORTED",
        Kind::NotConnected => "ENOTCONN",
        Kind::AddrInUse => "EADDRINUSE",
        Kind::AddrNotAvailable => "EADDRNOTAVAIL",
        Kind::BrokenPipe => "EPIPE",
        Kind::AlreadyExists => "EEXIST",
        Kind::TimedOut => "ETIMEDOUT",
        Kind::InvalidInput => "EINVAL",
        _ => return None,
    })
}

/// The system's name for it.
pub(super) fn name(error: Errno) -> &'static str {
    match error {
        Errno::ACCESS => "EACCES",
        Errno::ADDRINUSE => "EADDRINUSE",
        Errno::ADDRNOTAVAIL => "EADDRNOTAVAIL",
        Errno::AGAIN => "EAGAIN",
        Errno::BADF => "EBADF",
        Errno::BUSY => "EBUSY",
        Errno::CONNABORTED => "ECONNABORTED",
        Errno::CONNREFUSED => "ECONNREFUSED",
        Errno::CONNRESET => "ECONNRESET",
        Errno::DQUOT => "EDQUOT",
        Errno::EXIST => "EEXIST",
        Errno::FBIG => "EFBIG",
        Errno::HOSTUNREACH => "EHOSTUNREACH",
        Errno::INVAL => "EINVAL",
        Errno::IO => "EIO",
        Errno::ISDIR => "EISDIR",
        Errno::LOOP => "ELOOP",
        Errno::MFILE => "EMFILE",
        Errno::MLINK => "EMLINK",
        Errno::NAMETOOLONG => "ENAMETOOLONG",
        Errno::NETUNREACH => "ENETUNREACH",
        Errno::NFILE => "ENFILE",
        Errno::NODEV => "ENODEV",
        Errno::NOENT => "ENOENT",
        Errno::NOEXEC => "ENOEXEC",
        Errno::NOMEM => "ENOMEM",
        Errno::NOSPC => "ENOSPC",
        Errno::NOTCONN => "ENOTCONN",
        Errno::NOTDIR => "ENOTDIR",
        Errno::NOTEMPTY => "ENOTEMPTY",
        Errno::NOTSUP => "ENOTSUP",
        Errno::NXIO => "ENXIO",
        Errno::PERM => "EPERM",
        Errno::PIPE => "EPIPE",
        Errno::ROFS => "EROFS",
        Errno::SPIPE => "ESPIPE",
        Errno::TIMEDOUT => "ETIMEDOUT",
        Errno::TXTBSY => "ETXTBSY",
        Errno::XDEV => "EXDEV",
        _ => "EUNKNOWN",
    }
}
