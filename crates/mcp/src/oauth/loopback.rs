//! Where a browser comes back to: a door on this machine that opens for one answer.

use std::time::Duration;

use jackfield_protocol::{CallError, ErrorCode};
use jackfield_runtime::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::Consent;

/// Shows a person where to log in and waits for their browser to come back.
pub struct Loopback {
    listener: TcpListener,
    port: u16,
    show: Box<dyn Fn(&str) + Send + Sync>,
    patience: Duration,
}

const LONGEST_REQUEST: usize = 16 * 1024;
const SLOWEST_REQUEST: Duration = Duration::from_secs(10);
const PAGE: &str = "<!doctype html><meta charset=utf-8><title>jackfield</title>\
<p>Thank you. You can close this window and go back to the terminal.";

impl Loopback {
    /// Opens the door on a port, or on any that is free for 0. `show` gets the address that the person has to visit.
    ///
    /// # Errors
    /// The port is taken.
    pub async fn open(
        port: u16,
        patience: Duration,
        show: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, CallError> {
        let taken = |error: std::io::Error| {
            let text = format!("cannot listen on port {port} of this machine for the browser to come back: {error}");
            CallError::new(ErrorCode::Io, text)
        };
        let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(taken)?;
        let port = listener.local_addr().map_err(taken)?.port();
        Ok(Self { listener, port, show: Box::new(show), patience })
    }

    async fn wait(&self) -> Result<String, CallError> {
        // Anybody on this machine can knock and say nothing; each knock is dealt with on its own.
        let (found, mut answers) = mpsc::channel(1);
        loop {
            tokio::select! {
                Some(path) = answers.recv() => return Ok(format!("http://127.0.0.1:{}{path}", self.port)),
                accepted = self.listener.accept() => {
                    let Ok((stream, _)) = accepted else {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        continue;
                    };
                    let found = found.clone();
                    tokio::spawn(async move {
                        if let Ok(Some(path)) = tokio::time::timeout(SLOWEST_REQUEST, answer(stream)).await {
                            found.send(path).await.ok();
                        }
                    });
                }
            }
        }
    }
}

impl Consent for Loopback {
    fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}/callback", self.port)
    }

    fn ask<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<String, CallError>> {
        Box::pin(async move {
            (self.show)(url);
            match tokio::time::timeout(self.patience, self.wait()).await {
                Ok(back) => back,
                Err(_) => {
                    let text = format!("nobody logged in within {} s", self.patience.as_secs());
                    Err(CallError::new(ErrorCode::Timeout, text))
                }
            }
        })
    }
}

/// Answers one request; gives its path if that is what is waited for.
async fn answer(mut stream: TcpStream) -> Option<String> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut chunk = [0; 2048];
        let got = stream.read(&mut chunk).await.ok().filter(|got| *got > 0)?;
        request.extend_from_slice(chunk.get(..got)?);
        if request.len() > LONGEST_REQUEST {
            return None;
        }
    }
    let text = String::from_utf8_lossy(&request);
    let mut words = text.lines().next()?.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    let ours = method == "GET" && path.starts_with("/callback?");
    let (status, page) = if ours { ("200 OK", PAGE) } else { ("404 Not Found", "") };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
         referrer-policy: no-referrer\r\nconnection: close\r\n\r\n{page}",
        page.len()
    );
    stream.write_all(head.as_bytes()).await.ok();
    stream.shutdown().await.ok();
    ours.then(|| path.to_owned())
}
