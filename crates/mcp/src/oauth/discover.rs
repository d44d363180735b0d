//! Who issues credentials for a server, and how: the metadata of the resource and of the authorization server.

use std::time::Duration;

use jackfield_protocol::{CallError, ErrorCode};
use reqwest::header::{ACCEPT, LOCATION};
use reqwest::{RequestBuilder, StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::http::{brief, described};

/// The longest document that is read.
const MAX_DOCUMENT_BYTES: usize = 1024 * 1024;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
const MOST_REDIRECTS: usize = 3;

/// What a server says about itself (RFC 9728).
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct ResourceMetadata {
    #[serde(default)]
    pub(crate) resource: String,
    #[serde(default)]
    pub(crate) authorization_servers: Vec<String>,
    #[serde(default)]
    pub(crate) scopes_supported: Option<Vec<String>>,
}

/// What an authorization server says about itself (RFC 8414, OpenID Connect Discovery).
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct IssuerMetadata {
    #[serde(default)]
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: String,
    pub(crate) token_endpoint: String,
    #[serde(default)]
    pub(crate) registration_endpoint: Option<String>,
    #[serde(default)]
    pub(crate) revocation_endpoint: Option<String>,
    #[serde(default)]
    pub(crate) scopes_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) code_challenge_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) client_id_metadata_document_supported: bool,
    #[serde(default)]
    pub(crate) authorization_response_iss_parameter_supported: bool,
}

/// Looks things up on behalf of one server.
pub(crate) struct Finder<'a> {
    pub(crate) name: &'a str,
    pub(crate) server: &'a Url,
    pub(crate) http: &'a reqwest::Client,
}

/// What discovery found.
pub(crate) struct Found {
    /// What credentials are asked for.
    pub(crate) resource: String,
    /// What the resource lists, if it lists anything.
    pub(crate) scopes: Option<Vec<String>>,
    /// Who issues them.
    pub(crate) issuer: IssuerMetadata,
}

impl Finder<'_> {
    pub(crate) fn error(&self, why: impl std::fmt::Display) -> CallError {
        CallError::new(ErrorCode::Unavailable, format!("cannot log in to MCP server {}: {why}", self.name))
    }

    /// Finds the resource's metadata and then its issuer's. `known` is the issuer of credentials that there are already.
    pub(crate) async fn find(&self, hint: Option<&str>, known: Option<&str>) -> Result<Found, CallError> {
        let Some(resource) = self.resource(hint).await? else {
            // Before 2025-06-18 the server was its own authorization server.
            let origin = self.server.origin().ascii_serialization();
            let issuer = match self.issuer(&origin).await {
                Ok(issuer) => issuer,
                Err(Missing::Wrong(error)) => return Err(error),
                Err(Missing::None) => IssuerMetadata {
                    issuer: origin.clone(),
                    authorization_endpoint: format!("{origin}/authorize"),
                    token_endpoint: format!("{origin}/token"),
                    registration_endpoint: Some(format!("{origin}/register")),
                    code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
                    ..IssuerMetadata::default()
                },
            };
            return Ok(Found { resource: canonical(self.server), scopes: None, issuer });
        };
        self.belongs(&resource.resource)?;
        let servers = &resource.authorization_servers;
        let chosen = servers.iter().find(|server| Some(server.as_str()) == known).or(servers.first());
        let Some(chosen) = chosen else {
            return Err(self.error("its metadata names no authorization server"));
        };
        let issuer = self.issuer(chosen).await.map_err(|missing| match missing {
            Missing::Wrong(error) => error,
            Missing::None => self.error(format!("its authorization server {chosen} publishes no metadata")),
        })?;
        let challenges = issuer.code_challenge_methods_supported.as_deref().unwrap_or_default();
        if !challenges.iter().any(|method| method == "S256") {
            return Err(self.error(format!("its authorization server {chosen} does not offer PKCE with S256")));
        }
        let name = if resource.resource.is_empty() { canonical(self.server) } else { resource.resource };
        Ok(Found { resource: name, scopes: resource.scopes_supported, issuer })
    }

    /// A server may only name itself, or what it is a part of.
    fn belongs(&self, resource: &str) -> Result<(), CallError> {
        if resource.is_empty() {
            return Ok(());
        }
        let covers = Url::parse(resource).is_ok_and(|url| {
            let (whole, part) = (url.path().trim_end_matches('/'), self.server.path());
            let rest = part.strip_prefix(whole);
            url.origin() == self.server.origin() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        if covers {
            return Ok(());
        }
        Err(self.error(format!("its metadata is for another resource, {resource:?}; nothing was sent there")))
    }

    /// Whether the server says who issues credentials for it.
    pub(crate) async fn has_metadata(&self) -> Result<bool, CallError> {
        Ok(self.resource(None).await?.is_some_and(|found| !found.authorization_servers.is_empty()))
    }

    async fn resource(&self, hint: Option<&str>) -> Result<Option<ResourceMetadata>, CallError> {
        if let Some(hint) = hint {
            let url = self.allowed(hint)?;
            return match self.document(url).await? {
                Some(found) => Ok(Some(found)),
                None => Err(self.error(format!("there is no metadata where the server says it is ({})", brief(hint)))),
            };
        }
        let path = self.server.path().trim_end_matches('/');
        let mut places = vec![format!("/.well-known/oauth-protected-resource{path}")];
        places.push("/.well-known/oauth-protected-resource".to_owned());
        places.dedup();
        for place in places {
            let mut url = self.server.clone();
            url.set_path(&place);
            url.set_query(None);
            if let Some(found) = self.document(url).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    async fn issuer(&self, issuer: &str) -> Result<IssuerMetadata, Missing> {
        let base = self.allowed(issuer).map_err(Missing::Wrong)?;
        let path = base.path().trim_end_matches('/').to_owned();
        let mut places = vec![
            format!("/.well-known/oauth-authorization-server{path}"),
            format!("/.well-known/openid-configuration{path}"),
        ];
        if !path.is_empty() {
            places.push(format!("{path}/.well-known/openid-configuration"));
        }
        for place in places {
            let mut url = base.clone();
            url.set_path(&place);
            url.set_query(None);
            let Some(found) = self.document::<IssuerMetadata>(url).await.map_err(Missing::Wrong)? else { continue };
            // A slash at the end is written or left out at will; anything else is somebody else.
            if found.issuer.trim_end_matches('/') != issuer.trim_end_matches('/') {
                let other = brief(&found.issuer);
                let text = format!("the metadata of authorization server {issuer} is that of another one, {other:?}");
                return Err(Missing::Wrong(self.error(text)));
            }
            let endpoints = [Some(&found.authorization_endpoint), Some(&found.token_endpoint)];
            let others = [found.registration_endpoint.as_ref(), found.revocation_endpoint.as_ref()];
            for endpoint in endpoints.into_iter().chain(others).flatten() {
                self.allowed(endpoint).map_err(Missing::Wrong)?;
            }
            return Ok(found);
        }
        Err(Missing::None)
    }

    /// An address that credentials may travel to: over TLS, or on this machine if the server is here too.
    pub(crate) fn allowed(&self, address: &str) -> Result<Url, CallError> {
        let url = Url::parse(address).map_err(|_| self.error(format!("{:?} is no address", brief(address))))?;
        match url.scheme() {
            "https" => Ok(url),
            "http" if is_here(&url) && is_here(self.server) => Ok(url),
            _ => Err(self.error(format!("{} is not safe: it does not begin with https://", brief(address)))),
        }
    }

    /// A JSON document; nothing where there is none.
    async fn document<T: DeserializeOwned>(&self, mut url: Url) -> Result<Option<T>, CallError> {
        let origin = url.origin();
        for _ in 0..=MOST_REDIRECTS {
            let request = self.http.get(url.clone()).header(ACCEPT, "application/json");
            let (status, location, body) = self.fetch(request, url.as_str()).await?;
            if status.is_redirection() {
                match location.and_then(|to| url.join(&to).ok()).filter(|to| to.origin() == origin) {
                    Some(to) => url = to,
                    None => return Ok(None),
                }
                continue;
            }
            if !status.is_success() {
                return match status.is_server_error() {
                    true => Err(self.error(format!("{url} answered {status}"))),
                    false => Ok(None),
                };
            }
            // Some servers answer everything with a page.
            return Ok(serde_json::from_str(&body).ok());
        }
        Ok(None)
    }

    /// Sends a request and reads a small answer.
    pub(crate) async fn fetch(
        &self,
        request: RequestBuilder,
        place: &str,
    ) -> Result<(StatusCode, Option<String>, String), CallError> {
        let failed = |error: reqwest::Error| self.error(format!("{place}: {}", described(&error)));
        let mut response = request.timeout(REQUEST_TIMEOUT).send().await.map_err(failed)?;
        let status = response.status();
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > MAX_DOCUMENT_BYTES {
                return Err(self.error(format!("{place} answered with more than {} MiB", MAX_DOCUMENT_BYTES >> 20)));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((status, location, String::from_utf8_lossy(&body).into_owned()))
    }
}

enum Missing {
    None,
    Wrong(CallError),
}

/// Whether an address is on this machine.
pub(crate) fn is_here(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}

/// A server's address as the name of a resource: without fragment, and without a slash that stands for nothing.
pub(crate) fn canonical(server: &Url) -> String {
    let mut url = server.clone();
    url.set_fragment(None);
    let text = url.to_string();
    if url.path() == "/" && url.query().is_none() { text.trim_end_matches('/').to_owned() } else { text }
}
