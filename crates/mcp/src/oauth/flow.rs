//! The steps of a login: making ourselves known, sending a person to the issuer, and exchanging what comes back.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jackfield_protocol::CallError;
use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::discover::{Finder, Found, IssuerMetadata};
use super::store::{Client, Method, Origin, Record};
use super::{ClientSetup, Consent};
use crate::http::brief;

#[derive(Deserialize)]
struct Registered {
    client_id: String,
    #[serde(default)]
    client_secret: Option<String>,
    #[serde(default)]
    token_endpoint_auth_method: Option<String>,
}

#[derive(Deserialize)]
struct Issued {
    access_token: String,
    #[serde(default)]
    token_type: Option<String>,
    #[serde(default)]
    refresh_token: Option<String>,
    #[serde(default)]
    expires_in: Option<f64>,
    #[serde(default)]
    scope: Option<String>,
}

#[derive(Deserialize)]
struct Complaint {
    error: String,
    #[serde(default)]
    error_description: Option<String>,
}

/// Why no token came.
pub(crate) enum NotIssued {
    /// The issuer does not accept what it was shown.
    Refused(CallError),
    /// Something else went wrong.
    Failed(CallError),
}

impl NotIssued {
    pub(crate) fn into_error(self) -> CallError {
        match self {
            Self::Refused(error) | Self::Failed(error) => error,
        }
    }
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn random(finder: &Finder<'_>) -> Result<String, CallError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| finder.error(format!("there are no random bytes: {error}")))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Key and value pairs as a form.
fn form(pairs: &[(&str, &str)]) -> String {
    let mut url = Url::parse("http://x/").ok();
    if let Some(url) = &mut url {
        url.query_pairs_mut().extend_pairs(pairs);
    }
    url.and_then(|url| url.query().map(str::to_owned)).unwrap_or_default()
}

/// How to name ourselves at a token endpoint, given what we have.
fn method(supported: Option<&[String]>, secret: bool, registered: Option<&str>) -> Method {
    let all = [Method::Basic, Method::Post];
    match (secret, registered) {
        (false, _) => Method::None,
        (true, Some("none")) => Method::None,
        (true, Some(name)) if all.iter().any(|one| one.as_str() == name) => {
            if name == "client_secret_post" {
                Method::Post
            } else {
                Method::Basic
            }
        }
        // Without a list it is the first.
        _ => match supported {
            Some(list) if !list.is_empty() => {
                let listed = |one: &&Method| list.iter().any(|name| name == one.as_str());
                all.iter().find(listed).copied().unwrap_or(Method::Post)
            }
            _ => Method::Basic,
        },
    }
}

impl Finder<'_> {
    /// Who we are to an issuer: as a person registered us, as before, by a document about us, or by registering.
    pub(crate) async fn client(
        &self,
        issuer: &IssuerMetadata,
        setup: &ClientSetup,
        before: Option<&Record>,
        redirect_uri: &str,
        scope: &str,
    ) -> Result<Client, CallError> {
        let supported = issuer.token_endpoint_auth_methods_supported.as_deref();
        let redirect_uri = redirect_uri.to_owned();
        // What was given or registered for one issuer is nothing to another.
        let before = before.filter(|before| before.issuer == issuer.issuer).map(|before| &before.client);
        if let Some(id) = &setup.client_id {
            if setup.issuer.as_ref().is_some_and(|wanted| *wanted != issuer.issuer) {
                return Err(
                    self.error(format!("the client id is for another authorization server than {}", issuer.issuer))
                );
            }
            let secret = setup.client_secret.clone();
            let method = method(supported, secret.is_some(), None);
            return Ok(Client { id: id.clone(), secret, method, origin: Origin::Given, redirect_uri });
        }
        if let Some(before) = before {
            if before.origin == Origin::Given {
                return Ok(Client { redirect_uri, ..before.clone() });
            }
            if before.redirect_uri == redirect_uri && before.origin == Origin::Registered {
                return Ok(before.clone());
            }
        }
        if let Some(document) = setup.metadata_url.as_ref().filter(|_| issuer.client_id_metadata_document_supported) {
            let (id, origin) = (document.clone(), Origin::Document);
            return Ok(Client { id, secret: None, method: Method::None, origin, redirect_uri });
        }
        let Some(endpoint) = &issuer.registration_endpoint else {
            return Err(self.error(format!(
                "its authorization server {} does not let clients register themselves; register one there with the \
                 redirect address {redirect_uri} and run `jackfield mcp login {} --client-id ID`",
                issuer.issuer, self.name
            )));
        };
        self.register(endpoint, supported, redirect_uri, scope).await
    }

    async fn register(
        &self,
        endpoint: &str,
        supported: Option<&[String]>,
        redirect_uri: String,
        scope: &str,
    ) -> Result<Client, CallError> {
        let listed = |name: &str| supported.is_some_and(|list| list.iter().any(|one| one == name));
        // A program on somebody's machine keeps no secrets, so that it asks for none where it may.
        let wanted = match supported {
            None => Method::None,
            Some(_) if listed("none") => Method::None,
            Some(_) if listed("client_secret_basic") => Method::Basic,
            Some(_) => Method::Post,
        };
        let mut body = json!({
            "client_name": "jackfield",
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": wanted.as_str(),
            "application_type": "native",
        });
        if let Some(body) = body.as_object_mut()
            && !scope.is_empty()
        {
            body.insert("scope".to_owned(), Value::from(scope));
        }
        let url = self.allowed(endpoint)?;
        let request = self.http.post(url).header(CONTENT_TYPE, "application/json").header(ACCEPT, "application/json");
        let (status, _, answer) = self.fetch(request.body(body.to_string()), endpoint).await?;
        let registered = serde_json::from_str::<Registered>(&answer).ok().filter(|_| status.is_success());
        let Some(registered) = registered else {
            let said = complaint(&answer);
            return Err(self.error(format!(
                "registering with {endpoint} failed ({status}{said}); register a client by hand and run \
                 `jackfield mcp login {} --client-id ID`",
                self.name
            )));
        };
        let Registered { client_id: id, client_secret: secret, token_endpoint_auth_method: said } = registered;
        let method = method(
            supported,
            secret.is_some(),
            said.as_deref()
                .or(Some(wanted.as_str()))
                .filter(|name| *name != "none" || supported.is_none() || listed("none")),
        );
        Ok(Client { id, secret, method, origin: Origin::Registered, redirect_uri })
    }

    /// Sends a person to the issuer and exchanges what comes back.
    pub(crate) async fn authorize(
        &self,
        found: &Found,
        client: Client,
        scopes: Vec<String>,
        consent: &dyn Consent,
    ) -> Result<Record, CallError> {
        let issuer = &found.issuer;
        let (state, verifier) = (random(self)?, random(self)?);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let mut url = self.allowed(&issuer.authorization_endpoint)?;
        let scope = scopes.join(" ");
        {
            let mut query = url.query_pairs_mut();
            query.append_pair("response_type", "code").append_pair("client_id", &client.id);
            query.append_pair("redirect_uri", &client.redirect_uri).append_pair("state", &state);
            query.append_pair("code_challenge", &challenge).append_pair("code_challenge_method", "S256");
            query.append_pair("resource", &found.resource);
            if !scope.is_empty() {
                query.append_pair("scope", &scope);
            }
            if scopes.iter().any(|one| one == "offline_access") {
                query.append_pair("prompt", "consent");
            }
        }
        let back = consent.ask(url.as_str()).await?;
        let code = self.code(&back, &state, issuer)?;
        let mut record = Record {
            server: super::key(self.server),
            resource: found.resource.clone(),
            issuer: issuer.issuer.clone(),
            token_endpoint: issuer.token_endpoint.clone(),
            revocation_endpoint: issuer.revocation_endpoint.clone(),
            client,
            scopes,
            access_token: None,
            refresh_token: None,
            expires_at: None,
        };
        let redirect_uri = record.client.redirect_uri.clone();
        let pairs = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &redirect_uri),
            ("code_verifier", &verifier),
            ("resource", &found.resource),
        ];
        self.token(&mut record, &pairs).await.map_err(NotIssued::into_error)?;
        Ok(record)
    }

    /// Reads what the issuer sent back with the person.
    fn code(&self, back: &str, state: &str, issuer: &IssuerMetadata) -> Result<String, CallError> {
        let url = Url::parse(back).map_err(|_| self.error("the browser came back to no address"))?;
        let get = |key: &str| url.query_pairs().find(|(name, _)| name == key).map(|(_, value)| value.into_owned());
        if get("state").as_deref() != Some(state) {
            return Err(self.error("the browser came back from another login (its state differs); try again"));
        }
        // The exact text counts: an issuer that looks alike is another one.
        match get("iss") {
            Some(iss) if iss != issuer.issuer => {
                let text =
                    format!("the answer came from {:?}, not from {}; it was not used", brief(&iss), issuer.issuer);
                return Err(self.error(text));
            }
            None if issuer.authorization_response_iss_parameter_supported => {
                let text = format!("the answer does not say that it came from {}; it was not used", issuer.issuer);
                return Err(self.error(text));
            }
            _ => {}
        }
        if let Some(error) = get("error") {
            let more = get("error_description").map(|more| format!(": {}", brief(&more))).unwrap_or_default();
            return Err(self.error(format!("{} said {:?}{more}", issuer.issuer, brief(&error))));
        }
        get("code").ok_or_else(|| self.error("the browser came back without a code"))
    }

    /// Renews credentials.
    pub(crate) async fn refresh(&self, record: &mut Record) -> Result<(), NotIssued> {
        let Some(token) = record.refresh_token.clone() else {
            return Err(NotIssued::Refused(self.error("there is nothing to renew the login with")));
        };
        let resource = record.resource.clone();
        let pairs = [("grant_type", "refresh_token"), ("refresh_token", token.as_str()), ("resource", &resource)];
        self.token(record, &pairs).await
    }

    /// Asks for a token and writes it into the record.
    async fn token(&self, record: &mut Record, pairs: &[(&str, &str)]) -> Result<(), NotIssued> {
        let endpoint = record.token_endpoint.clone();
        let url = self.allowed(&endpoint).map_err(NotIssued::Failed)?;
        let request = self.post_as(&record.client, url, pairs);
        let (status, _, answer) = self.fetch(request, &endpoint).await.map_err(NotIssued::Failed)?;
        if !status.is_success() {
            let error = self.error(format!("{endpoint} gave no token ({status}{})", complaint(&answer)));
            let refused = status.is_client_error() && status.as_u16() != 429;
            return Err(if refused { NotIssued::Refused(error) } else { NotIssued::Failed(error) });
        }
        let odd = |what: &str| NotIssued::Failed(self.error(format!("{endpoint} answered with {what}")));
        let issued: Issued = serde_json::from_str(&answer).map_err(|_| odd("no token"))?;
        if issued.token_type.as_deref().is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
            return Err(odd("a kind of token that is not supported; only Bearer is"));
        }
        if !issued.access_token.bytes().all(|byte| (0x21..=0x7E).contains(&byte)) || issued.access_token.is_empty() {
            return Err(odd("a token that cannot be sent"));
        }
        if let Some(scope) = issued.scope.filter(|scope| !scope.trim().is_empty()) {
            record.scopes = scope.split_whitespace().map(str::to_owned).collect();
        }
        record.access_token = Some(issued.access_token);
        if issued.refresh_token.is_some() {
            record.refresh_token = issued.refresh_token;
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates, as it should")]
        let seconds = issued.expires_in.map(|seconds| seconds as u64);
        record.expires_at = seconds.map(|seconds| now().saturating_add(seconds));
        Ok(())
    }

    /// Gives tokens back, so that nobody can use them any more.
    pub(crate) async fn revoke(&self, record: &Record) -> Result<(), CallError> {
        let Some(endpoint) = &record.revocation_endpoint else { return Ok(()) };
        let url = self.allowed(endpoint)?;
        let tokens = [("refresh_token", &record.refresh_token), ("access_token", &record.access_token)];
        for (kind, token) in tokens {
            let Some(token) = token else { continue };
            let request = self.post_as(&record.client, url.clone(), &[("token", token), ("token_type_hint", kind)]);
            let (status, _, answer) = self.fetch(request, endpoint).await?;
            if !status.is_success() {
                return Err(
                    self.error(format!("{endpoint} did not take the token back ({status}{})", complaint(&answer)))
                );
            }
        }
        Ok(())
    }

    fn post_as(&self, client: &Client, url: Url, pairs: &[(&str, &str)]) -> reqwest::RequestBuilder {
        let mut pairs = pairs.to_vec();
        let mut request = self.http.post(url).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        request = request.header(ACCEPT, "application/json");
        let secret = client.secret.as_deref().unwrap_or_default();
        match client.method {
            Method::Basic => {
                let encode = |text: &str| form(&[("", text)]).trim_start_matches('=').to_owned();
                let both = STANDARD.encode(format!("{}:{}", encode(&client.id), encode(secret)));
                request = request.header(AUTHORIZATION, format!("Basic {both}"));
            }
            Method::Post => pairs.extend([("client_id", client.id.as_str()), ("client_secret", secret)]),
            Method::None => pairs.push(("client_id", &client.id)),
        }
        request.body(form(&pairs))
    }
}

/// What an endpoint said about a failure.
fn complaint(answer: &str) -> String {
    match serde_json::from_str::<Complaint>(answer) {
        Ok(Complaint { error, error_description: Some(more) }) => format!(", {}: {}", brief(&error), brief(&more)),
        Ok(Complaint { error, .. }) => format!(", {}", brief(&error)),
        Err(_) => String::new(),
    }
}
