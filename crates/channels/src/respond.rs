//! Who answers the messages of a channel.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use jackfield_host::Host;
use jackfield_protocol::{CallError, ChannelMessage, ErrorCode, ExecParams};
use jackfield_runtime::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// The longest answer of a program, in bytes.
const LONGEST_ANSWER: u64 = 1024 * 1024;
/// The largest message that a program gets in a variable; the operating system takes no more than this, all told.
const LARGEST_VARIABLE: usize = 96 * 1024;
/// Variables of the host that no program gets.
const KEPT_BACK: [&str; 1] = [crate::telegram::TOKEN];

/// A message and the session that it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The channel's name.
    pub channel: String,
    /// The session of this sender on this channel.
    pub session: String,
    /// What came in.
    pub message: ChannelMessage,
    /// The file with what was said before in the session, where that is kept: a line of JSON each, with `ts`, `role` (`user` or
    /// `assistant`) and `text`.
    pub history: Option<PathBuf>,
}

/// Answers messages. Asked about one message of a sender at a time, and about several senders at once.
pub trait Responder: Send + Sync {
    /// What it is, for `/info` and the log.
    fn describe(&self) -> String;

    /// The answer; nothing, or only white space, means that none is sent. May be asked again after a failure.
    fn respond<'a>(
        &'a self,
        exchange: &'a Exchange,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Option<String>, CallError>>;

    /// Makes the history of a session shorter and says what came of it.
    fn compact<'a>(&'a self, _session: &'a str) -> BoxFuture<'a, Result<String, CallError>> {
        Box::pin(async { Ok("there is nothing to compact: no history is kept".to_owned()) })
    }

    /// A session is over: its sender has begun another.
    fn forget(&self, _session: &str) {}
}

/// Says what it hears.
#[derive(Debug, Clone, Copy, Default)]
pub struct Echo;

impl Responder for Echo {
    fn describe(&self) -> String {
        "echo".to_owned()
    }

    fn respond<'a>(
        &'a self,
        exchange: &'a Exchange,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Option<String>, CallError>> {
        Box::pin(async { Ok(Some(exchange.message.text.clone())) })
    }
}

/// A program of the owner's, run once per message: the text on its standard input, the answer on its standard output.
pub struct Program {
    host: Host,
    command: String,
    args: Vec<String>,
    timeout: Duration,
}

impl Program {
    /// The program that this line names; quotes group words, and no shell reads it.
    ///
    /// # Errors
    /// When the line names none.
    pub fn new(host: &Host, line: &str, timeout: Duration) -> Result<Self, CallError> {
        let unreadable =
            |why: &str| CallError::new(ErrorCode::InvalidRequest, format!("cannot run {line:?} for a channel: {why}"));
        let mut words = words(line).ok_or_else(|| unreadable("a quote is not closed"))?.into_iter();
        let command = words.next().filter(|word| !word.is_empty()).ok_or_else(|| unreadable("it names no program"))?;
        Ok(Self { host: host.clone(), command, args: words.collect(), timeout })
    }

    fn environment(&self, exchange: &Exchange) -> BTreeMap<String, String> {
        let fits = |(name, value): &(&String, &String)| {
            !name.is_empty()
                && !name.contains(['=', '\0'])
                && !value.contains('\0')
                && !KEPT_BACK.contains(&name.as_str())
        };
        let mut env: BTreeMap<String, String> =
            self.host.env().iter().filter(fits).map(|(name, value)| (name.clone(), value.clone())).collect();
        let mut message = json!(exchange.message).to_string();
        if message.len() > LARGEST_VARIABLE {
            let ChannelMessage { sender, channel, .. } = &exchange.message;
            message = json!({ "sender": sender, "channel": channel }).to_string();
        }
        let own = [
            ("JACKFIELD_CHANNEL", &exchange.channel),
            ("JACKFIELD_SENDER", &exchange.message.sender),
            ("JACKFIELD_SESSION", &exchange.session),
            ("JACKFIELD_MESSAGE", &message),
        ];
        env.extend(own.map(|(name, value)| (name.to_owned(), value.replace('\0', "\u{fffd}"))));
        for name in ["JACKFIELD_HISTORY", "JACKFIELD_SOUL"] {
            env.remove(name);
        }
        let history = exchange.history.as_ref().and_then(|file| file.to_str());
        env.extend(history.map(|file| ("JACKFIELD_HISTORY".to_owned(), file.to_owned())));
        env.extend(self.host.soul().map(|soul| ("JACKFIELD_SOUL".to_owned(), soul.replace('\0', "\u{fffd}"))));
        env
    }
}

impl Responder for Program {
    fn describe(&self) -> String {
        format!("command {}", self.command)
    }

    fn respond<'a>(
        &'a self,
        exchange: &'a Exchange,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Option<String>, CallError>> {
        Box::pin(async move {
            let params = ExecParams {
                command: self.command.clone(),
                args: self.args.clone(),
                stdin: Some(exchange.message.text.clone()),
                env: self.environment(exchange),
                clear_env: true,
                max_output: Some(LONGEST_ANSWER),
                ..ExecParams::default()
            };
            let ran = self.host.run_program(params, self.timeout, cancel).await?;
            let failed = |why: String| CallError::new(ErrorCode::Io, format!("program {:?} {why}", self.command));
            if ran.truncated {
                return Err(failed(format!("said more than {LONGEST_ANSWER} bytes; an answer may not be longer")));
            }
            if ran.code != Some(0) {
                let code = ran.code.map_or_else(|| "no code".to_owned(), |code| format!("code {code}"));
                let mut why: String = ran.stderr.trim().chars().rev().take(500).collect();
                why = why.chars().rev().collect();
                return Err(failed(match why.is_empty() {
                    true => format!("ended with {code}"),
                    false => format!("ended with {code}: {why}"),
                }));
            }
            Ok(Some(ran.stdout.trim_end().to_owned()).filter(|answer| !answer.trim().is_empty()))
        })
    }
}

/// The words of a line; `None` when a quote is not closed.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (letter, Some(open)) if letter == open => quote = None,
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(letters.next()),
            (letter, None) if letter.is_whitespace() => words.extend(word.take()),
            (letter, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_words() {
        let check = |line: &str, expected: &[&str]| {
            assert_eq!(words(line), Some(expected.iter().map(|word| (*word).to_owned()).collect()), "{line}");
        };
        check("cat", &["cat"]);
        check("  python3   -c  'print(1)  # x' ", &["python3", "-c", "print(1)  # x"]);
        check(r#"a "b \" c" d\ e ''"#, &["a", "b \" c", "d e", ""]);
        check(r"'a\b'", &[r"a\b"]);
        check(" ", &[]);
        assert_eq!(words("a 'b"), None);
    }
}
