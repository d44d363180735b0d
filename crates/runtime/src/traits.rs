//! What the host must know of a runtime to treat its extensions rightly. The host asks for a trait, never which runtime it is.

/// How a runtime treats one extension. See [`crate::Runtime::traits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traits {
    /// How far an extension that misbehaves can reach. The host makes the folders of an ambient one before it starts; the
    /// gate makes those of a sandboxed one when they are first used.
    pub confinement: Confinement,
    /// The settings that limit its memory and its computing time.
    pub limits: Limits,
    /// The runtime validates the arguments of tools itself, by rules of its own. The host then does not.
    pub validates_arguments: bool,
    /// A slash command may put questions to the person, and may therefore take long.
    pub asks_person: bool,
    /// It answers [`crate::ExtensionCall::Ask`]. One that does not is told the event instead.
    pub takes_questions: bool,
    /// Programs and web requests answer it with what the system said, without the host's additions.
    pub wants_raw_results: bool,
    /// It serves calls and nothing else: it misses nothing while it does not run.
    pub only_serves_calls: bool,
    /// The host ends it when it was not called for a while. Only for one that serves calls and nothing else.
    pub rests_when_idle: bool,
    /// [`crate::Runtime::describe`] can tell what it contributes.
    pub is_described: bool,
}

impl Default for Traits {
    /// A program of the user's that takes questions and promises nothing else.
    fn default() -> Self {
        Self {
            confinement: Confinement::Ambient,
            limits: Limits::None,
            validates_arguments: false,
            asks_person: false,
            takes_questions: true,
            wants_raw_results: false,
            only_serves_calls: false,
            rests_when_idle: false,
            is_described: false,
        }
    }
}

/// What a runtime can promise about an extension that misbehaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confinement {
    /// Reaches nothing but the host calls it imports.
    Sandboxed,
    /// Runs with the user's own powers; only its host calls are judged.
    Ambient,
}

/// Which settings limit an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limits {
    /// None of its own; the policy's limit of memory still holds.
    None,
    /// Those of scripts, which also say how a script is isolated.
    Scripts,
    /// Those of WASM components.
    Components,
}
