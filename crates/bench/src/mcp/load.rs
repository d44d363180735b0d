//! Ten thousand calls with 64 under way at a time, over one pipe and over 64 connections, against the same load on the server
//! itself.

use std::collections::HashMap;
use std::process::Command;
use std::time::{Duration, Instant};

use super::http::Http;
use super::pipe::Pipe;
use super::{OVER_HTTP, Place, pingpong};
use crate::numbers::{Samples, ratio, show};

const CALLS: usize = 10_000;
const AT_A_TIME: usize = 64;

/// What a load took.
struct Load {
    each: Samples,
    whole: Duration,
}

impl Load {
    fn show(&self, what: &str) {
        println!("  {what:<28} {:>7.0} calls/s, each {}", CALLS as f64 / self.whole.as_secs_f64(), self.each.line());
    }
}

pub(super) fn measure(place: &Place) -> anyhow::Result<()> {
    println!("{CALLS} calls, {AT_A_TIME} at a time:");
    let raw = over_pipe(&mut pingpong("--mcp")?)?;
    let ours = over_pipe(&mut place.jackfield(&["mcp"])?)?;
    compare("pipe", &raw, &ours);
    let raw = over_http(&mut pingpong("--http")?)?;
    let ours = over_http(&mut place.jackfield(&OVER_HTTP)?)?;
    compare("HTTP", &raw, &ours);
    Ok(())
}

fn compare(way: &str, raw: &Load, ours: &Load) {
    raw.show(&format!("{way}, the server itself"));
    ours.show(&format!("{way}, through jackfield"));
    let (raw, ours) = (raw.whole / CALLS as u32, ours.whole / CALLS as u32);
    let times = ratio(ours, raw);
    println!("  {way}: {} a call instead of {}, {times:.1} times the raw limit; none lost", show(ours), show(raw));
}

/// All over one pipe, the next one as soon as one is answered.
fn over_pipe(command: &mut Command) -> anyhow::Result<Load> {
    let mut pipe = Pipe::start(command)?;
    // Not the first calls, which start the server.
    pipe.call()?;
    let (mut each, mut sent) = (Samples::default(), HashMap::new());
    let begun = Instant::now();
    for _ in 0..AT_A_TIME {
        sent.insert(pipe.send()?, Instant::now());
    }
    for answered in 1..=CALLS {
        let id = pipe.receive()?;
        let since = sent.remove(&id);
        each.add(since.ok_or_else(|| anyhow::anyhow!("call {id} was answered twice"))?.elapsed());
        if answered + AT_A_TIME <= CALLS {
            sent.insert(pipe.send()?, Instant::now());
        }
    }
    anyhow::ensure!(sent.is_empty(), "{} calls were lost", sent.len());
    Ok(Load { each, whole: begun.elapsed() })
}

/// One at a time on each of the connections, answers taken in their order.
fn over_http(command: &mut Command) -> anyhow::Result<Load> {
    let http = Http::start(command)?;
    let mut connections = (0..AT_A_TIME).map(|_| http.another()).collect::<anyhow::Result<Vec<_>>>()?;
    for connection in &mut connections {
        connection.call()?;
    }
    let mut each = Samples::default();
    let begun = Instant::now();
    let mut sent = vec![begun; AT_A_TIME];
    for connection in &mut connections {
        connection.send_call()?;
    }
    let mut answered = 0;
    while answered < CALLS {
        for (connection, since) in connections.iter_mut().zip(&mut sent) {
            if answered == CALLS {
                break;
            }
            connection.receive()?;
            answered += 1;
            each.add(since.elapsed());
            if answered + AT_A_TIME <= CALLS {
                *since = Instant::now();
                connection.send_call()?;
            }
        }
    }
    Ok(Load { each, whole: begun.elapsed() })
}
