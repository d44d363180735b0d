//! `http` and `net`: other machines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::lenient::{is_false, null_default, whole};
use crate::{Power, Resource};

/// Request headers, as an object or as a list of pairs in which a name may stand more than once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Headers {
    /// By name.
    Named(BTreeMap<String, String>),
    /// In order.
    Listed(Vec<(String, String)>),
}

impl Default for Headers {
    fn default() -> Self {
        Self::Named(BTreeMap::new())
    }
}

impl Headers {
    /// Each name with a value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let (named, listed) = match self {
            Self::Named(named) => (Some(named), None),
            Self::Listed(listed) => (None, Some(listed)),
        };
        let named = named.into_iter().flatten().map(|(name, value)| (name.as_str(), value.as_str()));
        named.chain(listed.into_iter().flatten().map(|(name, value)| (name.as_str(), value.as_str())))
    }
}

/// What becomes of an answer that sends elsewhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Redirect {
    /// It is followed, each further host judged.
    #[default]
    Follow,
    /// It is the answer.
    Manual,
    /// It is an error.
    Error,
}

/// `http`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HttpParams {
    /// `http` or `https`.
    pub url: String,
    /// Defaults to `GET`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Request headers.
    #[serde(default, deserialize_with = "null_default")]
    pub headers: Headers,
    /// Request body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// How the body stands here: `utf8` (default) or `base64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// What becomes of an answer that sends elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<Redirect>,
    /// The most it may take.
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The answer's headers as a list of pairs, and its body always as base64.
    #[serde(default, deserialize_with = "null_default", skip_serializing_if = "is_false")]
    pub raw: bool,
}

impl HttpParams {
    /// `host:port` of the URL; the whole URL where it has none, so that no scope covers it by accident.
    pub fn host(&self) -> String {
        host_of(&self.url)
    }
}

fn host_of(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    if host.is_empty() {
        return url.to_owned();
    }
    let after_address = host.rsplit(']').next().unwrap_or_default();
    if after_address.contains(':') {
        return host;
    }
    let port = if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 };
    format!("{host}:{port}")
}

/// `net`, by `op`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum NetOp {
    /// Connects to a host and port, or to a socket in the file system. Only as a stream.
    Connect {
        /// The host; this machine without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// Its port.
        #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
        /// A socket in the file system, instead of host and port.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Speaks TLS.
        #[serde(default, deserialize_with = "null_default", skip_serializing_if = "is_false")]
        tls: bool,
        /// The name that the other side must prove; the host without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server_name: Option<String>,
    },
    /// Waits for others to connect. Only as a stream.
    Listen {
        /// The address; `127.0.0.1` without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// The port; 0 or none means any that is free.
        #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
        /// A socket in the file system, instead of address and port.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// The addresses of a host.
    Lookup {
        /// Its name.
        host: String,
        /// 4 or 6; both without it.
        #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
        family: Option<u8>,
    },
}

impl NetOp {
    /// The socket in the file system that it uses, for the gate, which puts the resolved path in its place.
    pub fn path_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Connect { path, .. } | Self::Listen { path, .. } => path.as_mut(),
            Self::Lookup { .. } => None,
        }
    }

    pub(crate) fn need(&self) -> (Power, Resource) {
        match self {
            // Whoever may write to a socket may speak to whoever listens there.
            Self::Connect { path: Some(path), .. } | Self::Listen { path: Some(path), .. } => {
                (Power::Write, Resource::Path(path.clone()))
            }
            Self::Connect { host, port, .. } => {
                let host = host.as_deref().unwrap_or("localhost");
                (Power::Http, Resource::Host(host_port(host, port.unwrap_or_default())))
            }
            Self::Listen { host, port, .. } => {
                let host = host.as_deref().unwrap_or("127.0.0.1");
                (Power::Listen, Resource::Host(host_port(host, port.unwrap_or_default())))
            }
            Self::Lookup { host, .. } => (Power::Http, Resource::Host(host.to_ascii_lowercase())),
        }
    }
}

/// `host:port` in the form in which policy judges it.
fn host_port(host: &str, port: u16) -> String {
    let host = host.to_ascii_lowercase();
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_cannot_hide_their_host() {
        let check = |url: &str, host: &str| assert_eq!(host_of(url), host, "{url}");
        check("http://a.org", "a.org:80");
        check("https://A.org:8443/x?y#z", "a.org:8443");
        check("https://good.org@evil.org/", "evil.org:443");
        check("https://evil.org\\@good.org/", "evil.org:443");
        check("https://evil.org?@good.org", "evil.org:443");
        check("http://[::1]:80/", "[::1]:80");
        check("http://[::1]/", "[::1]:80");
        check("nonsense", "nonsense");
        check("file:///etc/passwd", "file:///etc/passwd");
    }

    #[test]
    fn headers_come_in_two_forms() {
        let read = |text: &str| -> Vec<(String, String)> {
            let headers: Headers = serde_json::from_str(text).expect("headers");
            headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        assert_eq!(read(r#"{"a":"1"}"#), [("a".to_owned(), "1".to_owned())]);
        assert_eq!(read(r#"[["a","1"],["a","2"]]"#).len(), 2);
        assert!(serde_json::from_str::<Headers>("7").is_err());
    }
}
