//! Slash commands that the host answers itself, before anybody else sees them.

/// What a sender can ask of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    New,
    Compact,
    Info,
    Help,
}

impl Command {
    const ALL: [(&'static str, Self, &'static str); 4] = [
        ("/new", Self::New, "begin a new conversation"),
        ("/compact", Self::Compact, "make the history of this conversation shorter"),
        ("/info", Self::Info, "say what this conversation is"),
        ("/help", Self::Help, "list these commands"),
    ];

    /// The command that a message is, and nothing else but white space; others are the responder's.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find_map(|(word, command, _)| (text.trim() == word).then_some(command))
    }

    /// What `/help` says.
    pub(crate) fn help() -> String {
        let lines: Vec<String> = Self::ALL.iter().map(|(word, _, what)| format!("{word}  {what}")).collect();
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_word_is_a_command() {
        assert_eq!(Command::parse(" /new\n"), Some(Command::New));
        for text in ["/New", "/new now", "new", "//new", "/news", "", "/"] {
            assert_eq!(Command::parse(text), None, "{text}");
        }
        assert!(Command::help().contains("/compact"));
    }
}
