//! What a call does: which power it needs, and what it comes to here.

use jackfield_protocol::Power;
use oxc::ast::ast::{Argument, Expression};
use oxc::span::Span;

use super::Level;
use super::rules::{self, Effect};
use super::things::{Base, Text, Thing, key};
use super::visit::Seen;

/// The argument at that place, unless a list is spread there.
pub(super) fn argument<'x, 'y>(arguments: &'x [Argument<'y>], at: usize) -> Option<&'x Expression<'y>> {
    arguments.get(at)?.as_expression()
}

impl Seen<'_, '_> {
    /// A call or the making of something.
    pub(super) fn used(&mut self, thing: &Thing, arguments: &[Argument<'_>], span: Span) {
        let text = |at: usize| argument(arguments, at).and_then(|argument| self.things.text(argument, 0));
        let path = |at: usize| text(at).and_then(Text::whole).map(|path| path.trim_start_matches("./").to_owned());
        let shown = thing.shown();
        match rules::effect(thing) {
            Some(Effect::Reads) => {
                let value = path(0);
                self.need(Power::Read, value, span);
            }
            Some(Effect::Writes) => {
                let value = path(0);
                self.need(Power::Write, value, span);
            }
            Some(Effect::Copies) => {
                let (from, to) = (path(0), path(1));
                self.need(Power::Read, from, span);
                self.need(Power::Write, to, span);
            }
            Some(Effect::Moves) => {
                let (from, to) = (path(0), path(1));
                self.need(Power::Write, from, span);
                self.need(Power::Write, to, span);
            }
            Some(Effect::Runs) => {
                let program = text(0).and_then(Text::whole);
                self.need(Power::Exec, program, span);
            }
            Some(Effect::RunsShell) => {
                let command = text(0);
                self.need(Power::Exec, Some("sh".to_owned()), span);
                let program = command.as_ref().and_then(|command| first_word(command.start()));
                self.need(Power::Exec, program, span);
            }
            Some(Effect::Forks) => {
                let message =
                    "throws: there is no Node to run a script in; start one with `spawn` where it is installed";
                self.say(Level::Warning, span, &shown, message);
            }
            Some(Effect::Speaks) => {
                let host = text(0)
                    .and_then(|address| host(&address))
                    .or_else(|| argument(arguments, 0).and_then(|options| self.host_option(options)));
                self.need(Power::Http, host, span);
            }
            Some(Effect::Listens) => {
                self.need(Power::Listen, None, span);
                self.say(Level::Note, span, &shown, "opens a port, for as long as the extension runs");
            }
            None => {}
        }
        self.used_of_pi(thing, arguments, span);
    }

    /// `hostname` or `host` among the options of a request.
    fn host_option(&self, options: &Expression<'_>) -> Option<String> {
        let Expression::ObjectExpression(object) = options.get_inner_expression() else { return None };
        object.properties.iter().find_map(|property| {
            let property = property.as_property()?;
            let name = key(&property.key)?;
            if matches!(name.as_str(), "hostname" | "host") {
                self.things.text(&property.value, 0)?.whole()
            } else {
                None
            }
        })
    }

    /// Methods of `pi` and `ctx`, known by how they are called: types are gone at run time, and names are a habit.
    fn used_of_pi(&mut self, thing: &Thing, arguments: &[Argument<'_>], span: Span) {
        if thing.base != Base::Own {
            return;
        }
        let names: Vec<&str> = thing.path.iter().map(String::as_str).collect();
        let text = |at: usize| argument(arguments, at).and_then(|argument| self.things.text(argument, 0));
        let shown = thing.shown();
        match names.as_slice() {
            [.., "pi" | "api" | "_pi", "exec"] => {
                let program = text(0).and_then(Text::whole);
                self.need(Power::Exec, program, span);
            }
            [.., "pi" | "api" | "_pi", "on"] => {
                let name = text(0).and_then(Text::whole);
                if let Some((level, message)) = name.as_deref().and_then(rules::event) {
                    let name = name.unwrap_or_default();
                    self.say(level, span, &format!("{shown}(\"{name}\")"), message);
                }
            }
            [.., "pi" | "api" | "_pi", "events", "emit" | "on"] => self.need(Power::Events, None, span),
            [.., "pi" | "api" | "_pi", method] => {
                for power in rules::pi_powers(method) {
                    self.need(*power, None, span);
                }
            }
            [.., "ui", method] => {
                self.need(Power::Ui, None, span);
                let takes_function = arguments.iter().any(|argument| {
                    argument.as_expression().is_some_and(|argument| {
                        matches!(
                            argument.get_inner_expression(),
                            Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_)
                        )
                    })
                });
                if let Some((level, message)) = rules::ui(method, takes_function) {
                    self.say(level, span, &shown, message);
                }
            }
            [.., "sessionManager", _] => self.need(Power::Session, None, span),
            [.., "ctx" | "context", "executeTool"] => {
                let tool = text(0).and_then(Text::whole);
                self.need(Power::Tool, tool, span);
            }
            [.., "ctx" | "context", method] => {
                if let Some(power) = rules::ctx_power(method) {
                    self.need(power, None, span);
                }
            }
            _ => {}
        }
    }
}

/// The program at the beginning of a command line, past the variables that are set for it.
fn first_word(command: &str) -> Option<String> {
    let word = command.split_whitespace().find(|word| !word.contains('='))?;
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "._-/+".contains(c));
    // Half a word at the end of what can be seen is none.
    let is_whole = command.trim_start().len() > word.len();
    (is_plain && (is_whole || command == word)).then(|| word.rsplit('/').next().unwrap_or(word).to_owned())
}

/// The host of an address whose beginning is known at least up to its end.
fn host(address: &Text) -> Option<String> {
    let (_, rest) = address.start().split_once("://")?;
    let end = rest.find(['/', '?', '#']);
    if end.is_none() && !matches!(address, Text::Whole(_)) {
        return None;
    }
    let authority = rest.get(..end.unwrap_or(rest.len()))?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}
