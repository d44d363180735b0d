//! What a scan of a script says, for `check`.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use jackfield_host::{Found, Mode};
use jackfield_js::scan::{Report, Verdict, scan};
use jackfield_protocol::{CapabilityManifest, Launch};
use serde_json::{Value, json};

use crate::output;

/// The largest file that is read for a scan.
const MAX_FILE: u64 = 16 << 20;

/// Scans an extension that is a script; other kinds have no code that can be read.
pub(crate) fn of(found: &Found) -> Option<Report> {
    matches!(found.manifest.launch, Launch::Js { .. }).then(|| scan(&found.place(), &read))
}

/// Reads a regular file of a stranger: never a pipe or a device, never without end.
fn read(path: &Path) -> io::Result<String> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
    }
    if metadata.len() > MAX_FILE {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {} MiB", MAX_FILE >> 20)));
    }
    let mut text = String::new();
    fs::File::open(path)?.take(MAX_FILE).read_to_string(&mut text)?;
    Ok(text)
}

/// Whether the verdict stands against running it: in strict mode a warning does.
pub(crate) fn is_refused(report: &Report, mode: Option<Mode>) -> bool {
    match report.verdict {
        Verdict::Compatible => false,
        Verdict::Warning => mode == Some(Mode::Strict),
        Verdict::Blocked => true,
    }
}

/// The report, and a manifest that asks for what the code seems to need.
pub(crate) fn json(report: &Report, found: &Found) -> Value {
    let mut value = json!(report);
    let Launch::Js { entry } = &found.manifest.launch else { return value };
    let suggested = json!({
        "schema": "pi.ext.manifest.v1",
        "id": found.manifest.id,
        "name": found.manifest.name,
        "version": found.manifest.version,
        "entry": entry,
        "capability_manifest": { "schema": CapabilityManifest::SCHEMA, "capabilities": report.capabilities },
    });
    if let Some(object) = value.as_object_mut() {
        object.insert("suggested_manifest".to_owned(), suggested);
    }
    value
}

/// The same for people.
pub(crate) fn show(report: &Report, found: &Found) -> anyhow::Result<()> {
    let files = report.files.len();
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    output::plain(&format!("scan: {} ({files})", report.verdict))?;
    for finding in &report.findings {
        let file = finding.file.strip_prefix(&found.dir).unwrap_or(&finding.file).display();
        let (line, column) = (finding.line, finding.column);
        output::plain(&format!(
            "{:<7}  {file}:{line}:{column}  {}: {}",
            finding.level.as_str(),
            finding.api,
            finding.message
        ))?;
    }
    for capability in &report.capabilities {
        let reason = capability.reason.as_deref().map(|reason| format!("  ({reason})")).unwrap_or_default();
        output::plain(&format!("seems to need {capability}{reason}"))?;
    }
    Ok(())
}
