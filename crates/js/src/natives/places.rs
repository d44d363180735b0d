//! URLs, glob patterns, and JSON against schemas.

use serde_json::{Value, json};
use url::Url;

use super::args::Args;
use super::{Native, NativeValue};

/// Answers if `name` is one of these.
pub(super) fn call(name: &str, args: &Args<'_, '_>) -> Native {
    Some(Ok(NativeValue::Json(match name {
        "url_parse" => parse(&args.text(0), args.maybe_text(1).as_deref()).map_or(Value::Null, |url| parts(&url)),
        "url_set" => match Url::parse(&args.text(0)) {
            Ok(url) => set(url, &args.text(1), &args.text(2)).map_or(Value::Null, |url| parts(&url)),
            Err(_) => Value::Null,
        },
        "domain_to_ascii" => {
            let host = Url::parse(&format!("http://{}", args.text(0))).ok();
            json!(host.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default())
        }
        "validate" => validate(&args.json(0), &args.json(1)),
        _ => return None,
    })))
}

fn parse(text: &str, base: Option<&str>) -> Option<Url> {
    match base {
        Some(base) => Url::parse(base).ok()?.join(text).ok(),
        None => Url::parse(text).ok(),
    }
}

fn parts(url: &Url) -> Value {
    use url::quirks;
    json!({
        "href": quirks::href(url), "protocol": quirks::protocol(url), "username": quirks::username(url),
        "password": quirks::password(url), "hostname": quirks::hostname(url), "port": quirks::port(url),
        "pathname": quirks::pathname(url), "search": quirks::search(url), "hash": quirks::hash(url),
        "origin": quirks::origin(url),
    })
}

fn set(mut url: Url, field: &str, value: &str) -> Option<Url> {
    use url::quirks;
    // What the setters refuse leaves the URL as it is, as the standard says; only a bad href is an error.
    match field {
        "href" => return Url::parse(value).ok(),
        "protocol" => quirks::set_protocol(&mut url, value).ok(),
        "username" => quirks::set_username(&mut url, value).ok(),
        "password" => quirks::set_password(&mut url, value).ok(),
        "host" => quirks::set_host(&mut url, value).ok(),
        "hostname" => quirks::set_hostname(&mut url, value).ok(),
        "port" => quirks::set_port(&mut url, value).ok(),
        "pathname" => {
            quirks::set_pathname(&mut url, value);
            None
        }
        "search" => {
            quirks::set_search(&mut url, value);
            None
        }
        "hash" => {
            quirks::set_hash(&mut url, value);
            None
        }
        _ => None,
    };
    Some(url)
}

fn validate(schema: &Value, value: &Value) -> Value {
    let validator = match jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(schema) {
        Ok(validator) => validator,
        Err(error) => {
            let message = format!("the schema is not valid: {error}");
            return json!({ "ok": false, "errors": [{ "path": "", "keyword": "schema", "message": message, "params": {} }] });
        }
    };
    let errors: Vec<Value> = validator
        .iter_errors(value)
        .take(50)
        .map(|error| {
            let keyword = error.schema_path().to_string().rsplit('/').next().unwrap_or_default().to_owned();
            json!({
                "path": error.instance_path().to_string(), "keyword": keyword, "message": error.to_string(), "params": {},
                "schemaPath": error.schema_path().to_string(),
            })
        })
        .collect();
    json!({ "ok": errors.is_empty(), "errors": errors })
}
