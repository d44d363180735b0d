//! Figures in the text form of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jackfield_host::Host;

/// The upper bounds of the buckets, in seconds.
const BUCKETS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// How many tools have a row of their own. Names come from extensions that come and go.
const MAX_TOOL_ROWS: usize = 2000;

/// The label of the row for tools that have no row of their own.
const OTHER_TOOLS: &str = "(other)";

#[derive(Default)]
struct OfTool {
    outcomes: BTreeMap<&'static str, u64>,
    buckets: [u64; BUCKETS.len()],
    seconds: f64,
    count: u64,
}

/// What the gateway counts.
#[derive(Default)]
pub(crate) struct Metrics {
    tools: Mutex<BTreeMap<String, OfTool>>,
    requests: Mutex<BTreeMap<u16, u64>>,
    pub(crate) in_flight: AtomicU64,
    pub(crate) connections: AtomicU64,
}

impl Metrics {
    /// A call is over. `tool` is a name of the registry; those that nobody offers share one row.
    pub(crate) fn called(&self, tool: Option<&str>, outcome: &'static str, took: Duration) {
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let name = tool.filter(|tool| tools.len() < MAX_TOOL_ROWS || tools.contains_key(*tool)).unwrap_or(OTHER_TOOLS);
        let row = tools.entry(name.to_owned()).or_default();
        *row.outcomes.entry(outcome).or_default() += 1;
        let seconds = took.as_secs_f64();
        for (bound, count) in BUCKETS.iter().zip(&mut row.buckets) {
            *count += u64::from(seconds <= *bound);
        }
        row.seconds += seconds;
        row.count += 1;
    }

    /// A request was answered.
    pub(crate) fn answered(&self, status: u16) {
        *self.requests.lock().unwrap_or_else(PoisonError::into_inner).entry(status).or_default() += 1;
    }

    /// All of it as text.
    pub(crate) fn text(&self, host: &Host) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        self.write(&mut text, host).ok();
        text
    }

    fn write(&self, out: &mut String, host: &Host) -> std::fmt::Result {
        head(out, "jackfield_tool_calls_total", "counter", "Tool calls through the gateway, by how they ended.")?;
        let tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        for (tool, row) in tools.iter() {
            for (outcome, count) in &row.outcomes {
                writeln!(out, "jackfield_tool_calls_total{{tool={},outcome=\"{outcome}\"}} {count}", label(tool))?;
            }
        }
        head(out, "jackfield_tool_call_seconds", "histogram", "How long tool calls took.")?;
        for (tool, row) in tools.iter() {
            let tool = label(tool);
            for (bound, count) in BUCKETS.iter().zip(&row.buckets) {
                writeln!(out, "jackfield_tool_call_seconds_bucket{{tool={tool},le=\"{bound}\"}} {count}")?;
            }
            writeln!(out, "jackfield_tool_call_seconds_bucket{{tool={tool},le=\"+Inf\"}} {}", row.count)?;
            writeln!(out, "jackfield_tool_call_seconds_sum{{tool={tool}}} {}", row.seconds)?;
            writeln!(out, "jackfield_tool_call_seconds_count{{tool={tool}}} {}", row.count)?;
        }
        drop(tools);
        head(out, "jackfield_http_requests_total", "counter", "Requests that were answered, by status.")?;
        for (status, count) in self.requests.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            writeln!(out, "jackfield_http_requests_total{{status=\"{status}\"}} {count}")?;
        }
        head(out, "jackfield_tool_calls_in_flight", "gauge", "Tool calls under way.")?;
        writeln!(out, "jackfield_tool_calls_in_flight {}", self.in_flight.load(Ordering::Relaxed))?;
        head(out, "jackfield_http_connections", "gauge", "Connections that are open.")?;
        writeln!(out, "jackfield_http_connections {}", self.connections.load(Ordering::Relaxed))?;
        head(out, "jackfield_extensions", "gauge", "Extensions by state.")?;
        let mut states: BTreeMap<&str, u64> = BTreeMap::new();
        for extension in super::extensions::rows(host) {
            *states.entry(extension.state).or_default() += 1;
        }
        for (state, count) in states {
            writeln!(out, "jackfield_extensions{{state=\"{state}\"}} {count}")?;
        }
        head(out, "jackfield_tools", "gauge", "Tools that are offered.")?;
        writeln!(out, "jackfield_tools {}", host.snapshot().tools().count())
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) -> std::fmt::Result {
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}")
}

/// A label's value in quotes.
fn label(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_quoted_and_rows_are_bounded() {
        assert_eq!(label("a\"b\\c\nd"), r#""a\"b\\c\nd""#);
        let metrics = Metrics::default();
        for number in 0..MAX_TOOL_ROWS + 10 {
            metrics.called(Some(&format!("t{number}")), "ok", Duration::from_millis(2));
        }
        metrics.called(None, "not_found", Duration::ZERO);
        let tools = metrics.tools.lock().expect("not poisoned");
        assert_eq!(tools.len(), MAX_TOOL_ROWS + 1);
        assert_eq!(tools[OTHER_TOOLS].count, 11);
        assert_eq!(tools["t0"].buckets[..4], [0, 0, 1, 1]);
    }
}
