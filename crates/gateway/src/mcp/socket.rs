//! Clients of a host that runs: `jackfield mcp` attaches to the socket of `jackfield serve` and only passes bytes on, so
//! that ten agents share one host.
//!
//! The first line says who attaches: `{"jackfield":"mcp","expose":[…]}`. MCP begins with the second one.

use std::path::{Path, PathBuf};

use jackfield_host::Home;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{McpFace, wire};

/// What the first line says.
#[derive(Debug, Serialize, Deserialize)]
struct Hello {
    jackfield: String,
    #[serde(default)]
    expose: Vec<String>,
}

/// What became of an attempt to attach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attached {
    /// Nobody is there.
    Nobody,
    /// There was a host, and it or the client has ended the talk.
    Over,
}

/// Where the host of a home and a project listens for MCP clients.
pub fn socket_path(home: &Home, project: &Path) -> PathBuf {
    let name: String = wire::digest(&[&project.to_string_lossy()]).chars().take(16).collect();
    home.run().join(format!("mcp-{name}.sock"))
}

/// Where clients of a host attach, for the owner of the home only. They may from the moment that it is there, and wait until
/// they are served. The file goes with it.
#[cfg(unix)]
#[derive(Debug)]
pub struct McpSocket {
    listener: tokio::net::UnixListener,
    path: PathBuf,
}

#[cfg(unix)]
impl McpSocket {
    /// # Errors
    /// The socket cannot be made, or another host listens there.
    pub async fn bind(path: PathBuf) -> std::io::Result<Self> {
        use std::os::unix::fs::PermissionsExt;
        if tokio::net::UnixStream::connect(&path).await.is_ok() {
            return Err(std::io::Error::new(
                std::io::ErrorKind::AddrInUse,
                format!("another host serves this project already, at {}", path.display()),
            ));
        }
        // Left behind by a host that was killed.
        std::fs::remove_file(&path).ok();
        let named = |error: std::io::Error| std::io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let listener = tokio::net::UnixListener::bind(&path).map_err(named)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(named)?;
        Ok(Self { listener, path })
    }

    /// Serves clients until `over` is cancelled.
    pub async fn serve(self, face: McpFace, over: CancellationToken) {
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = over.cancelled() => return,
            };
            let Ok((stream, _)) = accepted else { continue };
            let (face, over) = (face.clone(), over.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = welcome(face, stream) => {}
                    () = over.cancelled() => {}
                }
            });
        }
    }
}

#[cfg(unix)]
impl Drop for McpSocket {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
    }
}

#[cfg(unix)]
async fn welcome(face: McpFace, stream: tokio::net::UnixStream) {
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
    let (input, output) = stream.into_split();
    let mut input = BufReader::new(input);
    let mut line = String::new();
    if (&mut input).take(64 * 1024).read_line(&mut line).await.is_err() {
        return;
    }
    let Ok(hello) = serde_json::from_str::<Hello>(&line) else { return };
    let words = hello.expose.iter().map(String::as_str);
    let expose = (!hello.expose.is_empty()).then(|| super::Expose::parse(words));
    super::serve(face, expose, input, output).await;
}

/// Passes bytes between a client and the host that listens at `path`, if one does.
#[cfg(unix)]
pub async fn attach(
    path: &Path,
    expose: &[String],
    mut input: impl tokio::io::AsyncRead + Unpin,
    mut output: impl tokio::io::AsyncWrite + Unpin,
) -> Attached {
    use tokio::io::AsyncWriteExt;
    let Ok(stream) = tokio::net::UnixStream::connect(path).await else { return Attached::Nobody };
    let (mut from_host, mut to_host) = stream.into_split();
    let hello = Hello { jackfield: "mcp".to_owned(), expose: expose.to_vec() };
    let mut hello = serde_json::to_string(&hello).unwrap_or_default();
    hello.push('\n');
    if to_host.write_all(hello.as_bytes()).await.is_err() {
        return Attached::Nobody;
    }
    let there = async {
        tokio::io::copy(&mut input, &mut to_host).await.ok();
        to_host.shutdown().await.ok();
    };
    let back = pump(&mut from_host, &mut output);
    tokio::pin!(there, back);
    // The client may go first; what the host still owes is passed on. When the host goes, so do we.
    tokio::select! {
        () = &mut back => {}
        () = &mut there => back.await,
    }
    Attached::Over
}

/// Copies, and hands over what there is at once.
#[cfg(unix)]
async fn pump(from: &mut (impl tokio::io::AsyncRead + Unpin), to: &mut (impl tokio::io::AsyncWrite + Unpin)) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = match from.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(read) => read,
        };
        let bytes = buffer.get(..read).unwrap_or_default();
        if to.write_all(bytes).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

/// Without Unix sockets every client has a host of its own.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct McpSocket;

#[cfg(not(unix))]
impl McpSocket {
    /// # Errors
    /// None.
    pub async fn bind(_path: PathBuf) -> std::io::Result<Self> {
        Ok(Self)
    }

    /// Waits until `over` is cancelled.
    pub async fn serve(self, _face: McpFace, over: CancellationToken) {
        over.cancelled().await;
    }
}

/// Without Unix sockets nobody is there.
#[cfg(not(unix))]
pub async fn attach(
    _path: &Path,
    _expose: &[String],
    _input: impl tokio::io::AsyncRead + Unpin,
    _output: impl tokio::io::AsyncWrite + Unpin,
) -> Attached {
    Attached::Nobody
}
