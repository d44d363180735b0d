//! `/openapi.json`, made of the types that the routes read and write.

use std::sync::OnceLock;

use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::call::{CallAnswer, CallBody};
use super::catalog::{ToolChanges, ToolList};
use super::error::Refusal;
use super::extensions::ExtensionList;
use super::guard::Sender;
use super::routes::{ApprovalAnswer, ApprovalList, Done, Health, LONGEST_POLL, LONGEST_REVISION, TokenList};
use super::tokens::{NewToken, TokenMade};

pub(crate) async fn document(Extension(sender): Extension<Sender>) -> Response {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    match sender.anyone() {
        Ok(_) => Json(DOCUMENT.get_or_init(build)).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

/// What stands behind each status that is not an answer.
const REFUSALS: [(u16, &str); 14] = [
    (400, "The request cannot be read."),
    (401, "No token, or one that is not valid."),
    (403, "Not with this token, or policy, a person or a guard said no."),
    (404, "There is no such thing."),
    (408, "The body did not arrive in time."),
    (413, "The body is too large."),
    (415, "The body is not JSON."),
    (422, "The arguments do not fit the tool; `path` says where."),
    (429, "Too many requests; wait as long as `Retry-After` says."),
    (500, "A fault of the host."),
    (501, "This host cannot run this tool."),
    (502, "The extension broke its protocol."),
    (503, "The extension does not run, or the gateway is shutting down."),
    (504, "The tool took too long."),
];

struct Operations {
    generator: SchemaGenerator,
    paths: Map<String, Value>,
}

/// One operation.
struct Operation<'a> {
    path: &'a str,
    method: &'a str,
    about: &'a str,
    parameters: Value,
    body: Option<Value>,
    success: (u16, &'a str, Value),
    refusals: &'a [u16],
}

impl Operations {
    fn json<T: JsonSchema>(&mut self) -> Value {
        json!({ "application/json": { "schema": self.generator.subschema_for::<T>() } })
    }

    fn add(&mut self, operation: Operation<'_>) {
        let Operation { path, method, about, parameters, body, success, refusals } = operation;
        let mut responses = Map::new();
        let (status, words, content) = success;
        responses.insert(status.to_string(), json!({ "description": words, "content": content }));
        let refusal = self.json::<Refusal>();
        for (status, words) in REFUSALS.iter().filter(|(status, _)| refusals.contains(status)) {
            responses.insert(status.to_string(), json!({ "description": words, "content": refusal }));
        }
        let mut described = json!({ "summary": about, "operationId": format!("{method}{}", path.replace(['/', '.', '{', '}'], "_")), "responses": responses });
        if let Some(described) = described.as_object_mut() {
            if parameters.as_array().is_some_and(|parameters| !parameters.is_empty()) {
                described.insert("parameters".to_owned(), parameters);
            }
            if let Some(content) = body {
                described.insert("requestBody".to_owned(), json!({ "required": true, "content": content }));
            }
            if path == "/health" {
                described.insert("security".to_owned(), json!([]));
            }
        }
        let entry = self.paths.entry(path.to_owned()).or_insert_with(|| json!({}));
        if let Some(entry) = entry.as_object_mut() {
            entry.insert(method.to_owned(), described);
        }
    }

    fn get<T: JsonSchema>(&mut self, path: &str, about: &str, parameters: Value, refusals: &[u16]) {
        let content = self.json::<T>();
        let success = (200, "The answer.", content);
        self.add(Operation { path, method: "get", about, parameters, body: None, success, refusals });
    }

    fn post<B: JsonSchema, T: JsonSchema>(&mut self, path: &str, about: &str, status: u16, refusals: &[u16]) {
        let (body, content) = (Some(self.json::<B>()), self.json::<T>());
        let success = (status, "The answer.", content);
        self.add(Operation { path, method: "post", about, parameters: json!([]), body, success, refusals });
    }
}

fn build() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut all = Operations { generator: settings.into_generator(), paths: Map::new() };
    let none = || json!([]);
    let text = || json!({ "text/plain": { "schema": { "type": "string" } } });
    all.get::<Health>("/health", "Whether the gateway runs; needs no token.", none(), &[403]);
    let success = (200, "Figures in the text form of Prometheus.", text());
    let refusals = &[401, 403, 429][..];
    let about = "Figures for Prometheus. For the owner's token.";
    let metrics =
        Operation { path: "/metrics", method: "get", about, parameters: none(), body: None, success, refusals };
    all.add(metrics);
    all.get::<Value>("/openapi.json", "This document.", none(), refusals);
    all.get::<ToolList>("/api/tools", "All tools by extension.", none(), refusals);
    let since = json!({ "type": "integer", "minimum": 0, "maximum": LONGEST_REVISION });
    let timeout = json!({ "type": "integer", "minimum": 0, "maximum": LONGEST_POLL });
    let parameters = json!([
        { "name": "since", "in": "query", "required": true, "schema": since,
          "description": "The revision that is known; the answer waits until there is another." },
        { "name": "timeoutMs", "in": "query", "required": false, "schema": timeout,
          "description": "How long it waits; 25000 without it." },
    ]);
    let about = "Waits for the tools to change.";
    all.get::<ToolChanges>("/api/tools/changes", about, parameters, &[400, 401, 403, 429, 503]);
    let refusals = [400, 401, 403, 404, 408, 413, 415, 422, 429, 500, 501, 502, 503, 504];
    let mut content = all.json::<CallAnswer>();
    if let Some(content) = content.as_object_mut() {
        // Given to those who accept it: `progress` and `notification`, then one `result` or `error`.
        content.insert("text/event-stream".to_owned(), json!({ "schema": { "type": "string" } }));
    }
    let call = Operation {
        path: "/api/tools/call",
        method: "post",
        about: "Calls a tool. With `Accept: text/event-stream` progress is told meanwhile.",
        parameters: none(),
        body: Some(all.json::<CallBody>()),
        success: (200, "The tool's answer, also if it says that it failed.", content),
        refusals: &refusals,
    };
    all.add(call);
    all.get::<ExtensionList>("/api/extensions", "All extensions and how they stand.", none(), &[401, 403, 429]);
    let stream = json!({ "text/event-stream": { "schema": { "type": "string" } } });
    let events = Operation {
        path: "/api/events",
        method: "get",
        about: "What happens, for as long as the connection is open. For the owner's token.",
        parameters: none(),
        body: None,
        success: (200, "Server-sent events.", stream),
        refusals: &[401, 403, 429],
    };
    all.add(events);
    let about = "Permission questions that wait. For the owner's token.";
    all.get::<ApprovalList>("/api/approvals", about, none(), &[401, 403, 429]);
    let bodies = [400, 401, 403, 404, 408, 413, 415, 429];
    let about = "Answers a permission question. For the owner's token.";
    all.post::<ApprovalAnswer, Done>("/api/approvals", about, 200, &bodies);
    all.get::<TokenList>("/api/tokens", "The tokens that are valid. For the owner's token.", none(), &[401, 403, 429]);
    let about = "Makes a token for one caller, bound to one session. For the owner's token.";
    all.post::<NewToken, TokenMade>("/api/tokens", about, 201, &bodies);
    let id = json!([{ "name": "id", "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 } }]);
    let revoke = Operation {
        path: "/api/tokens/{id}",
        method: "delete",
        about: "Takes a token back. For the owner's token.",
        parameters: id,
        body: None,
        success: (200, "It is not valid any more.", all.json::<Done>()),
        refusals: &[401, 403, 404, 429],
    };
    all.add(revoke);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "jackfield",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "One extension host for every agent. Beside these routes there is a WebSocket, /ws; see docs/gateway.md.",
        },
        "paths": all.paths,
        "components": {
            "schemas": all.generator.take_definitions(true),
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
        },
        "security": [{ "bearer": [] }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_somewhere() {
        let document = build();
        let text = document.to_string();
        let schemas = document["components"]["schemas"].as_object().expect("schemas");
        let references: Vec<&str> = text
            .match_indices("#/components/schemas/")
            .map(|(at, found)| {
                let rest = &text[at + found.len()..];
                rest.split('"').next().unwrap_or_default()
            })
            .collect();
        assert!(references.len() > 10, "{references:?}");
        for name in references {
            assert!(schemas.contains_key(name), "{name}");
        }
        assert!(!text.contains("#/$defs"), "definitions stand in components");
        assert_eq!(document["paths"].as_object().map(Map::len), Some(11));
    }
}
