//! A report kept between runs, used as long as nothing that it depends on looks different.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use jackfield_files as files;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::fingerprint::hex;
use super::looked::Looked;
use super::{DiscoveryInput, Report, discover_noting};

/// Belongs to the shape of what is written; a file of another shape is not read.
const SHAPE: &str = concat!("jackfield.discovery.4 ", env!("CARGO_PKG_VERSION"));

/// A cache larger than this is not ours.
const MAX_CACHE: u64 = 256 << 20;

#[derive(Serialize)]
struct Written<'a> {
    key: &'a str,
    looked: &'a Looked,
    report: &'a Report,
}

#[derive(Deserialize)]
struct Read {
    key: String,
    looked: Looked,
    report: Report,
}

/// As [`super::discover`], but answers from `cache_file` when everything that the kept report depends on still looks the
/// same: search directories, manifests, settings, trust, programs and variables that were asked for. A file that is
/// missing, damaged or of other input is ignored and rewritten.
pub fn discover_cached(input: &DiscoveryInput, cache_file: &Path) -> Report {
    discover_cached_at(input, cache_file, SystemTime::now())
}

fn discover_cached_at(input: &DiscoveryInput, cache_file: &Path, now: SystemTime) -> Report {
    let key = key(input);
    if let Some(report) = kept(input, cache_file, &key) {
        return report;
    }
    let mut looked = Looked::default();
    let report = discover_noting(input, &mut looked);
    let looked = looked.finish();
    // What changed a moment ago may change again without looking different; a later run will keep the report.
    if !looked.is_racy(now) {
        keep(cache_file, &Written { key: &key, looked: &looked, report: &report });
    }
    report
}

fn kept(input: &DiscoveryInput, cache_file: &Path, key: &str) -> Option<Report> {
    let text = files::read_text(cache_file, MAX_CACHE).ok()?;
    let read: Read = serde_json::from_str(&text).ok()?;
    (read.key == key && read.looked.still_holds(input)).then_some(read.report)
}

/// Without a kept report the next run is only slower, so a failure to write is no failure.
fn keep(cache_file: &Path, written: &Written<'_>) {
    if let Ok(bytes) = serde_json::to_vec(written) {
        if let Some(parent) = cache_file.parent() {
            let _ = fs::create_dir_all(parent);
        }
        let _ = files::write_atomic(cache_file, &bytes, files::WriteOptions::PRIVATE);
    }
}

/// What makes two inputs the same.
pub(crate) fn key(input: &DiscoveryInput) -> String {
    let mut hasher = Sha256::new();
    let mut field = |bytes: &[u8]| {
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    field(SHAPE.as_bytes());
    // Relative paths mean something else elsewhere.
    field(std::env::current_dir().unwrap_or_default().as_os_str().as_encoded_bytes());
    field(input.home.root().as_os_str().as_encoded_bytes());
    field(input.project.as_os_str().as_encoded_bytes());
    for name in ["ZOT_HOME", "PI_CODING_AGENT_DIR", "HOME", "USERPROFILE"] {
        field(input.env.get(name).map_or("", String::as_str).as_bytes());
    }
    field(input.path_env.as_deref().unwrap_or_default().as_encoded_bytes());
    for path in &input.ext {
        field(path.as_os_str().as_encoded_bytes());
    }
    hex(&hasher.finalize())
}

#[cfg(test)]
mod tests;
