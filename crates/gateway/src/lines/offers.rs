//! Tools that a listener offers while it is there.

use jackfield_host::Host;
use jackfield_protocol::CallError;
use serde_json::{Value, json};

use super::outgoing::Outgoing;
use super::request::Request;
use crate::clients::Client;

/// What one listener offers. Goes with it.
pub(super) struct Offers {
    host: Host,
    out: Outgoing,
    client: Option<Client>,
}

impl Offers {
    pub(super) fn new(host: Host, out: Outgoing) -> Self {
        Self { host, out, client: None }
    }

    /// Serves a request about them; gives back any other.
    pub(super) fn take(&mut self, request: Request) -> Result<Result<Option<Value>, CallError>, Box<Request>> {
        let done = match request {
            Request::RegisterTool { tool } => self.client().register(tool).map(|name| Some(json!({ "name": name }))),
            Request::UnregisterTool { name } => self.client().unregister(&name).map(|()| Some(json!({}))),
            Request::ToolCallResponse(response) => self.client().respond(response).map(|()| None),
            Request::ToolCallProgress { id, message } => {
                self.client().progress(&id, &message);
                Ok(None)
            }
            other => return Err(Box::new(other)),
        };
        Ok(done)
    }

    fn client(&mut self) -> &Client {
        let (host, out) = (&self.host, &self.out);
        self.client.get_or_insert_with(|| {
            let out = out.clone();
            Client::new(host.clone(), "rpc", Box::new(move |message: Value| out.mention(message.to_string())))
        })
    }
}
