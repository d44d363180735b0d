//! What an extension asks of the host and tells its faces, in frames.

use std::sync::Arc;

use jackfield_protocol::frames::{Chunk, FromExtension, HostCallFrame, ToExtension};
use jackfield_protocol::{
    CallId, Content, HostCall, HostError, Notice, NoticeLevel, Panel, ToolParams, ToolResult, plain_text,
};
use serde_json::{Value, json};

use crate::core::{Core, to_line};
use crate::host_calls::{Demand, Part, serve};
use crate::pending::read_id;
use crate::{content, records};

/// Frames that are neither registrations nor answers.
pub(crate) fn demand(core: &Arc<Core>, frame: FromExtension) {
    match frame {
        FromExtension::Notify { level, message } => {
            core.host.tell(Notice::Notify { level: NoticeLevel::parse(&level), message: plain_text(&message) })
        }
        FromExtension::PanelRender { panel_id, title, lines, footer } => {
            core.host.tell(Notice::RenderPanel { panel: plain_panel(Panel { id: panel_id, title, lines, footer }) });
        }
        FromExtension::PanelClose { panel_id } => core.host.tell(Notice::ClosePanel { id: panel_id }),
        FromExtension::OpenPanel { panel } => core.host.tell(Notice::OpenPanel { panel: plain_panel(panel) }),
        FromExtension::Submit { text } => core.host.tell(Notice::Submit { text }),
        FromExtension::SubmitSlash { text } if text.starts_with('/') => core.host.tell(Notice::SubmitSlash { text }),
        FromExtension::SubmitSlash { .. } => core.log.note("submit_slash was ignored: its text does not start with /"),
        FromExtension::ClearNotes => core.host.tell(Notice::ClearNotes),
        FromExtension::Progress { id, message } => match under_way(core, &id) {
            Some(call_id) => {
                let call_id = call_id.as_str().to_owned();
                core.host.tell(Notice::Progress { call_id, message: plain_text(&message) });
            }
            None => core.stray("progress of a call"),
        },
        FromExtension::Log { level, message, data } => {
            core.host.log(records::from_extension(core, &level, &message, data));
        }
        FromExtension::CallTool { id, name, args, parent_id } => call_tool(core, id, name, args, parent_id),
        FromExtension::CallToolCancel { id } => core.host_calls.cancel(&format!("call_tool {id}")),
        FromExtension::HostCall(frame) => host_call(core, *frame),
        FromExtension::HostCancel { id } => core.host_calls.cancel(&format!("host_call {id}")),
        FromExtension::Hello { .. }
        | FromExtension::CannotStart { .. }
        | FromExtension::RegisterCommand { .. }
        | FromExtension::RegisterTool(_)
        | FromExtension::RegisterChannel { .. }
        | FromExtension::Subscribe { .. }
        | FromExtension::Ready
        | FromExtension::ToolResult(_)
        | FromExtension::ChannelResult(_)
        | FromExtension::CommandResponse(_)
        | FromExtension::EventInterceptResponse { .. }
        | FromExtension::ShutdownAck => {}
    }
}

fn under_way(core: &Core, id: &str) -> Option<CallId> {
    core.pending.call_id(read_id(id)?)
}

fn plain_panel(panel: Panel) -> Panel {
    let lines = panel.lines.iter().map(|line| plain_text(line)).collect();
    Panel { id: panel.id, title: plain_text(&panel.title), lines, footer: plain_text(&panel.footer) }
}

fn call_tool(core: &Arc<Core>, id: String, name: String, args: Value, parent_id: Option<String>) {
    let input = if args.is_null() { json!({}) } else { args };
    let demand = Demand {
        key: format!("call_tool {id}"),
        call: Ok(HostCall::Tool(ToolParams { name: name.clone(), input })),
        within: parent_id.and_then(|parent| under_way(core, &parent)),
        claimed: None,
        timeout_ms: None,
    };
    serve(core, demand, move |part| {
        let outcome = match part {
            Part::End { outcome, .. } => outcome,
            Part::Piece { value, .. } => Ok(value),
        };
        let result = match outcome {
            Ok(value) => serde_json::from_value::<ToolResult>(value.clone())
                .ok()
                .filter(|result| !result.content.is_empty())
                .unwrap_or_else(|| ToolResult {
                    content: vec![Content::text(value.to_string())],
                    ..ToolResult::default()
                }),
            Err(error) => ToolResult::error(error.message),
        };
        let (content, truncated) = content::cut(result.content);
        let (id, name) = (id.clone(), name.clone());
        to_line(&ToExtension::ToolResult { id, name, content, is_error: result.is_error, truncated })
    });
}

fn host_call(core: &Arc<Core>, frame: HostCallFrame) {
    let HostCallFrame { id, method, params, capability, timeout_ms, within } = frame;
    let demand = Demand {
        key: format!("host_call {id}"),
        call: HostCall::parse(&method, params),
        within: within.and_then(|within| under_way(core, &within)),
        claimed: capability,
        timeout_ms,
    };
    serve(core, demand, move |part| {
        let (output, error, chunk) = parts(part);
        to_line(&ToExtension::HostResult { id: id.clone(), output, is_error: error.is_some(), error, chunk })
    });
}

/// The fields of a `host_result`.
pub(crate) fn parts(part: Part) -> (Value, Option<HostError>, Option<Chunk>) {
    match part {
        Part::Piece { index, value } => (value, None, Some(Chunk { index, is_last: false })),
        Part::End { outcome, index } => {
            let chunk = index.map(|index| Chunk { index, is_last: true });
            match outcome {
                Ok(output) => (output, None, chunk),
                Err(error) => (Value::Null, Some(error.into()), chunk),
            }
        }
    }
}
