//! The environment of a child: what it needs, without what looks like a secret unless its manifest names it.

use std::collections::BTreeMap;
use std::path::Path;

use jackfield_protocol::jsonrpc::AGENT_VERSION;
use jackfield_protocol::{Format, Manifest, is_secret_name};

const SECRET_ENDINGS: [&str; 15] = [
    "_TOKEN",
    "_KEY",
    "_KEYS",
    "_SECRET",
    "_PASSWORD",
    "_PASSWD",
    "_PWD",
    "_CREDENTIAL",
    "_CREDENTIALS",
    "_PAT",
    "_AUTH",
    "_APIKEY",
    "_BEARER",
    "_SESSION",
    "_DSN",
];
const SECRET_PARTS: [&str; 7] = ["PASSWORD", "SECRET", "CREDENTIAL", "PRIVATE_KEY", "TOKEN", "APIKEY", "ACCESS_KEY"];
const SECRET_NAMES: [&str; 6] = ["TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "SSH_AUTH_SOCK"];

/// The whole environment of a child, sorted by name: the host's variables without those that look secret (by name, or by a
/// value with a password in a URL) unless `requires.env` names them, and the host's word on who the child is.
pub fn child_env(
    manifest: &Manifest,
    host_env: &BTreeMap<String, String>,
    dir: &Path,
    data_dir: &Path,
) -> Vec<(String, String)> {
    let mut env: BTreeMap<String, String> = host_env
        .iter()
        .filter(|(name, value)| manifest.requires.env.contains(name) || !is_secret(name, value))
        .filter(|(name, value)| !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0'))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    // Byte code written beside the sources would look like a changed extension.
    env.entry("PYTHONDONTWRITEBYTECODE".to_owned()).or_insert_with(|| "1".to_owned());
    if env.contains_key("PWD") {
        env.insert("PWD".to_owned(), dir.to_string_lossy().into_owned());
    }
    let id = manifest.id.as_str();
    let data = data_dir.to_string_lossy().into_owned();
    let mut own = vec![
        ("AGENT_VERSION", AGENT_VERSION.to_owned()),
        ("AGENT_EXTENSION_ID", id.to_owned()),
        ("JACKFIELD", "1".to_owned()),
        ("JACKFIELD_EXTENSION_ID", id.to_owned()),
        ("JACKFIELD_DATA_DIR", data.clone()),
    ];
    if manifest.format == Format::Nexo {
        own.push(("NEXO_EXTENSION_STATE_ROOT", data));
    }
    env.extend(own.into_iter().map(|(name, value)| (name.to_owned(), value)));
    env.into_iter().collect()
}

/// Values of the host's environment that must not appear in any log, longest first.
pub fn known_secrets(host_env: &BTreeMap<String, String>) -> Vec<String> {
    let mut secrets = Vec::new();
    for (name, value) in host_env {
        let upper = name.to_ascii_uppercase();
        // Kept from children, but ordinary words that logs may well contain.
        let is_ordinary = matches!(upper.as_str(), "SSH_AUTH_SOCK" | "DESKTOP_SESSION")
            || (upper.starts_with("AWS_") && !is_secret_by_name(&upper))
            || upper.ends_with("_FILE");
        if is_secret_by_name(&upper) && !is_ordinary {
            secrets.push(value.as_str());
        }
        secrets.extend(url_password(value));
    }
    secrets.retain(|secret| secret.chars().count() >= 8);
    secrets.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    secrets.dedup();
    secrets.into_iter().map(str::to_owned).collect()
}

fn is_secret(name: &str, value: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    upper.starts_with("AWS_") || is_secret_by_name(&upper) || url_password(value).is_some()
}

fn is_secret_by_name(upper: &str) -> bool {
    SECRET_NAMES.contains(&upper)
        || SECRET_ENDINGS.iter().any(|ending| upper.ends_with(ending))
        || SECRET_PARTS.iter().any(|part| upper.contains(part))
        || is_secret_name(upper)
}

/// The `pass` of the first `://user:pass@` in `value`.
fn url_password(value: &str) -> Option<&str> {
    value.match_indices("://").find_map(|(at, separator)| {
        let rest = value.get(at + separator.len()..)?;
        let authority = rest.split(['/', '?', '#', ' ', '\n', '"', '\'']).next()?;
        let (userinfo, _) = authority.rsplit_once('@')?;
        let (_, password) = userinfo.split_once(':')?;
        (!password.is_empty()).then_some(password)
    })
}

#[cfg(test)]
mod tests;
