//! The leanest peer there is, for benchmarks: an extension in the frames dialect that answers every tool call with
//! `pong` (its tool is `ping`, or what follows `--tool`), with `--mcp` an MCP server that does, with `--http` the same over HTTP,
//! with `--relay` a program that passes lines on to such a server and back, or with `--raw` one that sends each line back as it
//! came. It parses no JSON and makes one write per line, so that what a benchmark measures is the host.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

/// What it says first; the tool's name stands where `NAME` does.
const START: &str = concat!(
    r#"{"type":"hello","name":"pingpong","version":"1.0.0","capabilities":["tools"]}"#,
    "\n",
    r#"{"type":"register_tool","name":"NAME","description":"Answers pong.","#,
    r#""schema":{"type":"object","properties":{"text":{"type":"string"},"count":{"type":"integer"}}}}"#,
    "\n",
    r#"{"type":"ready"}"#,
    "\n",
);

fn main() -> io::Result<()> {
    let raw = std::env::args().any(|arg| arg == "--raw");
    let tool = std::env::args().skip_while(|arg| arg != "--tool").nth(1).unwrap_or_else(|| "ping".to_owned());
    // Files of our own instead of std's handles: no line buffering and no lock on the way out.
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut input = BufReader::with_capacity(1 << 16, File::from(io::stdin().as_fd().try_clone_to_owned()?));
    match std::env::args().nth(1).as_deref() {
        Some("--mcp") => return serve_mcp(&mut input, &mut output),
        Some("--http") => return serve_http(&mut output),
        Some("--relay") => return relay(&mut input, &mut output),
        _ => {}
    }
    if !raw {
        output.write_all(START.replace("NAME", &tool).as_bytes())?;
    }
    let (mut line, mut answer) = (Vec::new(), Vec::new());
    while input.read_until(b'\n', &mut line)? > 0 {
        if raw {
            output.write_all(&line)?;
        } else if line.starts_with(br#"{"type":"tool_call""#) {
            if let Some(id) = id_of(&line) {
                pong(&mut answer, id);
                output.write_all(&answer)?;
            }
        } else if line.starts_with(br#"{"type":"shutdown""#) {
            return output.write_all(b"{\"type\":\"shutdown_ack\"}\n");
        }
        line.clear();
    }
    Ok(())
}

/// Answers the requests of an MCP client that has to be answered before a tool is called, and calls.
fn serve_mcp(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        if let Some(mut answer) = answer_mcp(&line) {
            answer.push(b'\n');
            output.write_all(&answer)?;
        }
        line.clear();
    }
    Ok(())
}

/// The answer of an MCP server to a message; none if it wants none.
fn answer_mcp(message: &[u8]) -> Option<Vec<u8>> {
    const KEY: &[u8] = br#""id":"#;
    let has = |word: &[u8]| message.windows(word.len()).any(|window| window == word);
    let result: &[u8] = if has(br#""method":"tools/call""#) {
        br#""result":{"content":[{"type":"text","text":"pong"}]}"#
    } else if has(br#""method":"initialize""#) {
        br#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"pingpong","version":"1"}}"#
    } else if has(br#""method":"tools/list""#) {
        br#""result":{"tools":[{"name":"ping","description":"Answers pong.","inputSchema":{"type":"object"}}]}"#
    } else {
        br#""error":{"code":-32601,"message":"no such method"}"#
    };
    let start = message.windows(KEY.len()).position(|window| window == KEY)? + KEY.len();
    let id = message.get(start..)?.split(|byte| *byte == b',').next()?;
    Some([br#"{"jsonrpc":"2.0","id":"#, id, b",", result, b"}"].concat())
}

/// Says where it listens and answers on every connection, each with a thread of its own.
fn serve_http(output: &mut impl Write) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    writeln!(output, "{{\"url\":\"http://{}/mcp\"}}", listener.local_addr()?)?;
    for stream in listener.incoming() {
        let stream = stream?;
        // Whoever hangs up has heard enough.
        std::thread::spawn(move || converse(stream).ok());
    }
    Ok(())
}

fn converse(stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            if stream.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        let answer = answer_mcp(&body).unwrap_or_default();
        let head = format!("HTTP/1.1 200 OK\r\nmcp-session-id: one\r\ncontent-length: {}\r\n\r\n", answer.len());
        stream.get_mut().write_all(&[head.as_bytes(), &answer].concat())?;
    }
}

/// Passes lines on to an MCP server, and its answers back.
fn relay(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut server = Command::new(std::env::current_exe()?);
    let mut server = server.arg("--mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(mut there), Some(back)) = (server.stdin.take(), server.stdout.take()) else { return Ok(()) };
    let mut back = BufReader::with_capacity(1 << 16, back);
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        there.write_all(&line)?;
        if id_follows(&line) {
            line.clear();
            back.read_until(b'\n', &mut line)?;
            output.write_all(&line)?;
        }
        line.clear();
    }
    drop(there);
    server.wait().map(|_| ())
}

/// Whether a message wants an answer.
fn id_follows(message: &[u8]) -> bool {
    message.windows(5).any(|window| window == br#""id":"#)
}

/// The id as it stands in the line. The host writes it before anything that could contain the same key.
fn id_of(line: &[u8]) -> Option<&[u8]> {
    const KEY: &[u8] = br#""id":""#;
    let start = line.windows(KEY.len()).position(|window| window == KEY)? + KEY.len();
    line.get(start..)?.split(|byte| *byte == b'"').next()
}

fn pong(answer: &mut Vec<u8>, id: &[u8]) {
    answer.clear();
    answer.extend_from_slice(br#"{"type":"tool_result","id":""#);
    answer.extend_from_slice(id);
    answer.extend_from_slice(br#"","content":[{"type":"text","text":"pong"}]}"#);
    answer.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_answered_under_its_id() {
        let mut answer = b"left over".to_vec();
        let call = br#"{"type":"tool_call","id":"42","name":"ping","args":{"id":"7"}}"#;
        pong(&mut answer, id_of(call).expect("an id"));
        let line = String::from_utf8(answer).expect("UTF-8");
        assert_eq!(
            line,
            "{\"type\":\"tool_result\",\"id\":\"42\",\"content\":[{\"type\":\"text\",\"text\":\"pong\"}]}\n"
        );
        assert_eq!(id_of(b"{}"), None);
    }
}
