//! As much of HTTP as the servers of tests need.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;

/// A request that came to a server of a test.
#[derive(Debug)]
pub struct HttpRequest {
    /// For instance `POST`.
    pub method: String,
    /// With its query.
    pub path: String,
    /// By their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// As it came.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// Reads one; nothing if whoever connected went away or does not speak HTTP.
    pub fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut words = line.split_whitespace();
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            match line.trim_end().split_once(": ") {
                Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.to_owned()),
                None => break,
            };
        }
        let length: usize = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Self { method, path, headers, body })
    }
}
