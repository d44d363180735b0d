//! Telegram's Bot API: one request, one answer. The token stands in the path of every URL, so no URL is ever shown.

use std::error::Error as _;
use std::future::Future;
use std::time::Duration;

use jackfield_protocol::{CallError, ErrorCode, REDACTED, plain_text};
use reqwest::Url;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::media::OutFile;
use crate::store;

/// The largest answer that is read.
const MAX_BODY: usize = 8 * 1024 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A bot's way to Telegram.
pub(crate) struct Api {
    client: reqwest::Client,
    base: Url,
    token: String,
}

#[derive(Deserialize)]
struct Answer {
    ok: bool,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    error_code: Option<i64>,
    #[serde(default)]
    parameters: Option<Parameters>,
}

#[derive(Deserialize)]
struct Parameters {
    #[serde(default)]
    retry_after: Option<f64>,
}

impl Api {
    /// Speaks to `base`, which must be `https` unless it is this machine: the token goes there.
    pub(crate) fn new(base: &str, token: String) -> Result<Self, CallError> {
        let invalid = |why: &str| CallError::new(ErrorCode::InvalidConfig, format!("channel telegram: {why}"));
        let letters = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        let is_token = token.split_once(':').is_some_and(|(bot, secret)| {
            !bot.is_empty() && bot.bytes().all(|b| b.is_ascii_digit()) && secret.len() >= 8 && letters(secret)
        });
        if !is_token {
            return Err(invalid("the token is not of the form that BotFather gives (123456:ABC…)"));
        }
        let base = Url::parse(base).map_err(|_| invalid("the base URL of the API is malformed"))?;
        let is_here = base.host_str().is_some_and(|host| matches!(host, "127.0.0.1" | "localhost" | "[::1]"));
        if base.scheme() != "https" && !(base.scheme() == "http" && is_here) {
            return Err(invalid("the base URL of the API must be https, or http on this machine"));
        }
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("jackfield/", env!("CARGO_PKG_VERSION")));
        let client = if is_here { client.no_proxy() } else { client };
        let client = client.build().map_err(|_| invalid("the http client cannot be set up"))?;
        Ok(Self { client, base, token })
    }

    /// Calls a method of the API.
    pub(crate) async fn call(&self, method: &str, params: &Value, within: Duration) -> Result<Value, CallError> {
        self.within(method, within, self.ask(method, "application/json".to_owned(), params.to_string().into())).await
    }

    /// Calls a method with a file.
    pub(crate) async fn upload(
        &self,
        method: &str,
        fields: Vec<(String, String)>,
        field: &str,
        file: OutFile,
        within: Duration,
    ) -> Result<Value, CallError> {
        let random = store::random::<16>().map_err(|error| CallError::new(ErrorCode::Io, error.to_string()))?;
        let boundary: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let body = form(&boundary, &fields, field, file);
        self.within(method, within, self.ask(method, format!("multipart/form-data; boundary={boundary}"), body)).await
    }

    async fn within(
        &self,
        method: &str,
        within: Duration,
        asked: impl Future<Output = Result<Value, CallError>>,
    ) -> Result<Value, CallError> {
        match tokio::time::timeout(within, asked).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let message = format!("Telegram did not answer {method} within {} s", within.as_secs());
                Err(CallError::new(ErrorCode::Timeout, message))
            }
        }
    }

    async fn ask(&self, method: &str, kind: String, body: Vec<u8>) -> Result<Value, CallError> {
        let mut url = self.base.clone();
        let path = format!("{}/bot{}/{method}", url.path().trim_end_matches('/'), self.token);
        url.set_path(&path);
        let request = self.client.post(url).header("content-type", kind).body(body);
        let mut response = request.send().await.map_err(|error| self.unreachable(method, error))?;
        let status = response.status();
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| self.unreachable(method, error))? {
            if body.len() + piece.len() > MAX_BODY {
                let message = format!("Telegram answered {method} with more than {MAX_BODY} bytes");
                return Err(CallError::new(ErrorCode::Protocol, message).with_details(json!({ "too_large": true })));
            }
            body.extend_from_slice(&piece);
        }
        match serde_json::from_slice::<Answer>(&body) {
            Ok(Answer { ok: true, result, .. }) => Ok(result),
            Ok(refusal) => Err(self.refused(method, status.as_u16(), refusal)),
            Err(_) => {
                let message =
                    format!("Telegram answered {method} with status {status} and something that is not its JSON");
                Err(CallError::new(ErrorCode::Protocol, message))
            }
        }
    }

    fn refused(&self, method: &str, status: u16, refusal: Answer) -> CallError {
        let code = refusal.error_code.unwrap_or_else(|| i64::from(status));
        let said = refusal.description.unwrap_or_else(|| "no reason given".to_owned());
        let said = self.without_token(&plain_text(&said));
        let (kind, advice) = match code {
            401 | 404 => (ErrorCode::Denied, "; the token is not (or no longer) one of Telegram's"),
            409 => (
                ErrorCode::Unavailable,
                "; another program receives for this bot, or it has a webhook: stop that first",
            ),
            429 => (ErrorCode::Unavailable, ""),
            400 | 403 => (ErrorCode::InvalidRequest, ""),
            _ => (ErrorCode::Io, ""),
        };
        let error = CallError::new(kind, format!("Telegram refused {method} ({code}): {said}{advice}"));
        match refusal.parameters.and_then(|parameters| parameters.retry_after) {
            Some(seconds) => error.with_details(json!({ "retry_after": seconds })),
            None => error,
        }
    }

    fn unreachable(&self, method: &str, error: reqwest::Error) -> CallError {
        let error = error.without_url();
        let mut why = error.to_string();
        let mut source = error.source();
        while let Some(inner) = source {
            why = format!("{why}: {inner}");
            source = inner.source();
        }
        CallError::new(ErrorCode::Io, format!("cannot reach Telegram for {method}: {}", self.without_token(&why)))
    }

    fn without_token(&self, text: &str) -> String {
        text.replace(&self.token, REDACTED)
    }
}

/// A form with a file in it. The boundary is random, so that nothing in the file can end it.
fn form(boundary: &str, fields: &[(String, String)], field: &str, file: OutFile) -> Vec<u8> {
    let mut body = Vec::with_capacity(file.bytes.len() + 1024);
    for (name, value) in fields {
        let part = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        body.extend_from_slice(part.as_bytes());
    }
    let plain = |c: char| if c.is_control() || matches!(c, '"' | '\\') { '_' } else { c };
    let name: String = file.name.chars().map(plain).collect();
    let head = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\nContent-Type: {}\r\n\r\n",
        file.mime
    );
    body.extend_from_slice(head.as_bytes());
    body.extend_from_slice(&file.bytes);
    body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_goes_nowhere_it_should_not() {
        let api = |base: &str, token: &str| Api::new(base, token.to_owned()).map(drop).map_err(|error| error.message);
        assert_eq!(api("https://api.telegram.org", "1:abcdefgh"), Ok(()));
        assert_eq!(api("http://127.0.0.1:8081", "1:abcdefgh"), Ok(()));
        assert!(api("http://api.telegram.org", "1:abcdefgh").is_err_and(|why| why.contains("https")));
        assert!(api("http://127.0.0.1.evil.org", "1:abcdefgh").is_err());
        for token in ["", "1:", ":abcdefgh", "1:abc/../x", "abc:abcdefgh", "1:abcdefgh\n"] {
            let why = api("https://api.telegram.org", token).expect_err(token);
            assert!(token.is_empty() || !why.contains(token), "{why}");
        }
    }
}
