//! What a server says when it refuses: the `WWW-Authenticate` header.

use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};

/// A refusal, and what the server wants instead.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Challenge {
    /// 401 or 403.
    pub(crate) status: u16,
    /// Where the metadata of the resource is.
    pub(crate) metadata: Option<String>,
    /// What has to be granted.
    pub(crate) scope: Option<String>,
    /// `invalid_token`, `insufficient_scope`, …
    pub(crate) error: Option<String>,
}

impl Challenge {
    /// Reads the headers of a refusal.
    pub fn of(status: u16, headers: &HeaderMap) -> Self {
        let mut challenge = Self { status, ..Self::default() };
        for header in headers.get_all(WWW_AUTHENTICATE) {
            if let Ok(text) = header.to_str() {
                challenge.read(text);
            }
        }
        challenge
    }

    /// Whether the server says that more has to be granted.
    pub(crate) fn wants_more(&self) -> bool {
        self.status == 403 && (self.scope.is_some() || self.error.as_deref() == Some("insufficient_scope"))
    }

    fn read(&mut self, text: &str) {
        let mut bearer = false;
        for part in parts(text) {
            // `Bearer a=b` begins a challenge, `c=d` goes on with it.
            let (scheme, pair) = match part.split_once(char::is_whitespace) {
                Some((scheme, pair)) if !scheme.contains('=') => (Some(scheme), pair.trim()),
                _ if !part.contains('=') => (Some(part.as_str()), ""),
                _ => (None, part.as_str()),
            };
            if let Some(scheme) = scheme {
                bearer = scheme.eq_ignore_ascii_case("bearer");
            }
            let Some((key, value)) = pair.split_once('=').filter(|_| bearer) else { continue };
            let value = unquoted(value.trim());
            let place = match key.trim().to_ascii_lowercase().as_str() {
                "resource_metadata" => &mut self.metadata,
                "scope" => &mut self.scope,
                "error" => &mut self.error,
                _ => continue,
            };
            place.get_or_insert(value);
        }
        self.scope = self.scope.take().filter(|scope| !scope.trim().is_empty());
    }
}

/// Splits at commas that are not quoted.
fn parts(text: &str) -> Vec<String> {
    let (mut parts, mut part, mut quoted, mut escaped) = (Vec::new(), String::new(), false, false);
    for char in text.chars() {
        match char {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ',' if !quoted => {
                parts.push(std::mem::take(&mut part).trim().to_owned());
                continue;
            }
            _ => {}
        }
        part.push(char);
    }
    parts.push(part.trim().to_owned());
    parts.retain(|part| !part.is_empty());
    parts
}

fn unquoted(text: &str) -> String {
    let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else { return text.to_owned() };
    let mut plain = String::new();
    let mut escaped = false;
    for char in inner.chars() {
        if char == '\\' && !escaped {
            escaped = true;
        } else {
            escaped = false;
            plain.push(char);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn read(texts: &[&'static str]) -> Challenge {
        let mut headers = HeaderMap::new();
        for text in texts {
            headers.append(WWW_AUTHENTICATE, HeaderValue::from_static(text));
        }
        Challenge::of(403, &headers)
    }

    #[test]
    fn challenges_are_read_wherever_they_stand() {
        let wanted = Challenge {
            status: 403,
            metadata: Some("https://a/b".to_owned()),
            scope: Some("x, \"y\" z".to_owned()),
            error: Some("insufficient_scope".to_owned()),
        };
        for texts in [
            &[r#"Bearer error="insufficient_scope", scope="x, \"y\" z",resource_metadata="https://a/b""#][..],
            &[
                r#"Basic realm="a, b", scope="no", bearer scope="x, \"y\" z" , error=insufficient_scope"#,
                r#"Bearer resource_metadata=https://a/b"#,
            ][..],
        ] {
            assert_eq!(read(texts), wanted, "{texts:?}");
        }
        assert!(wanted.wants_more());
        for text in ["", "Bearer", "Basic scope=x", "Bearer scope=\"\"", ",,,=\"", "Bearer ="] {
            assert_eq!(read(&[text]), Challenge { status: 403, ..Challenge::default() }, "{text}");
        }
    }
}
