//! What a name in the code means: something of a module, a global, or the extension's own; and what a text says.

use std::collections::HashMap;

use oxc::ast::ast::{
    Argument, BindingPattern, CallExpression, ChainElement, Expression, IdentifierReference, PropertyKey,
    TemplateLiteral,
};
use oxc::semantic::{Scoping, SymbolId};

use super::packages;

/// How many steps are followed to find out; code that needs more hides on purpose.
const MAX_STEPS: usize = 24;

/// Where a thing comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Base {
    /// A module, Node's without the prefix.
    Module(String),
    /// The global object.
    Global,
    /// A variable of the code; its name comes first in the path.
    Own,
}

/// A thing and the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Thing {
    pub(super) base: Base,
    pub(super) path: Vec<String>,
}

impl Thing {
    pub(super) fn module(specifier: &str) -> Self {
        let name = packages::node_module(specifier).unwrap_or(specifier);
        Self { base: Base::Module(name.to_owned()), path: Vec::new() }
    }

    /// One step further. `default` is the module itself, and `fs.promises` is a module of its own.
    pub(super) fn step(mut self, name: &str) -> Self {
        match &self.base {
            Base::Module(_) if self.path.is_empty() && name == "default" => {}
            Base::Module(module) if self.path.is_empty() && name == "promises" => {
                if matches!(module.as_str(), "fs" | "dns" | "stream" | "timers" | "readline") {
                    return Self { base: Base::Module(format!("{module}/promises")), path: Vec::new() };
                }
                self.path.push(name.to_owned());
            }
            Base::Global if self.path.is_empty() && matches!(name, "globalThis" | "global") => {}
            _ => self.path.push(name.to_owned()),
        }
        self
    }

    /// The module and the one name in it, as of `fs.readFile`.
    pub(super) fn of_module(&self) -> Option<(&str, &str)> {
        match (&self.base, self.path.as_slice()) {
            (Base::Module(module), [name]) => Some((module, name)),
            _ => None,
        }
    }

    /// As people write it.
    pub(super) fn shown(&self) -> String {
        let path = self.path.join(".");
        match &self.base {
            Base::Module(module) if path.is_empty() => module.clone(),
            Base::Module(module) => format!("{module}.{path}"),
            Base::Global | Base::Own => path,
        }
    }
}

/// What a text in the code says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Text {
    Whole(String),
    /// How it begins.
    Start(String),
}

impl Text {
    pub(super) fn whole(self) -> Option<String> {
        match self {
            Self::Whole(text) => Some(text),
            Self::Start(_) => None,
        }
    }

    pub(super) fn start(&self) -> &str {
        let (Self::Whole(text) | Self::Start(text)) = self;
        text
    }
}

/// What the names of a file stand for.
pub(super) struct Things<'a> {
    scoping: &'a Scoping,
    aliases: HashMap<SymbolId, Thing>,
    texts: HashMap<SymbolId, String>,
}

impl<'a> Things<'a> {
    pub(super) fn new(scoping: &'a Scoping) -> Self {
        Self { scoping, aliases: HashMap::new(), texts: HashMap::new() }
    }

    /// Whether some value of the code is called so, and not only a type.
    pub(super) fn is_used(&self, symbol: SymbolId) -> bool {
        self.scoping.get_resolved_references(symbol).any(|reference| reference.is_value())
    }

    pub(super) fn alias(&mut self, symbol: SymbolId, thing: Thing) {
        self.aliases.insert(symbol, thing);
    }

    /// Learns what the variables of `pattern` stand for when they get `init`.
    pub(super) fn bind(&mut self, pattern: &BindingPattern<'_>, init: &Expression<'_>, steps: usize) {
        if let BindingPattern::BindingIdentifier(name) = pattern
            && let Some(symbol) = name.symbol_id.get()
            && let Some(Text::Whole(text)) = self.text(init, steps)
            && !self.scoping.symbol_is_mutated(symbol)
        {
            self.texts.insert(symbol, text);
            return;
        }
        if let Some(thing) = self.thing(init, steps) {
            self.bind_thing(pattern, &thing, steps);
        }
    }

    fn bind_thing(&mut self, pattern: &BindingPattern<'_>, thing: &Thing, steps: usize) {
        let steps = steps + 1;
        match pattern {
            _ if steps > MAX_STEPS => {}
            BindingPattern::BindingIdentifier(name) => {
                if let Some(symbol) = name.symbol_id.get() {
                    self.alias(symbol, thing.clone());
                }
            }
            BindingPattern::ObjectPattern(object) => {
                for property in &object.properties {
                    if let Some(key) = key(&property.key) {
                        self.bind_thing(&property.value, &thing.clone().step(&key), steps);
                    }
                }
            }
            BindingPattern::AssignmentPattern(with_default) => self.bind_thing(&with_default.left, thing, steps),
            BindingPattern::ArrayPattern(_) => {}
        }
    }

    /// Whether nothing in the file is called so.
    pub(super) fn is_global(&self, name: &IdentifierReference<'_>) -> bool {
        name.reference_id.get().is_none_or(|reference| self.scoping.get_reference(reference).symbol_id().is_none())
    }

    fn identifier(&self, name: &IdentifierReference<'_>) -> Thing {
        let symbol = name.reference_id.get().and_then(|reference| self.scoping.get_reference(reference).symbol_id());
        match symbol {
            None => Thing { base: Base::Global, path: Vec::new() }.step(name.name.as_str()),
            Some(symbol) => self
                .aliases
                .get(&symbol)
                .cloned()
                .unwrap_or_else(|| Thing { base: Base::Own, path: vec![name.name.to_string()] }),
        }
    }

    /// What an expression means, as far as it can be seen.
    pub(super) fn thing(&self, expression: &Expression<'_>, steps: usize) -> Option<Thing> {
        let steps = steps + 1;
        if steps > MAX_STEPS {
            return None;
        }
        match expression.get_inner_expression() {
            Expression::Identifier(name) => Some(self.identifier(name)),
            Expression::ThisExpression(_) => Some(Thing { base: Base::Own, path: vec!["this".to_owned()] }),
            Expression::StaticMemberExpression(member) => {
                Some(self.thing(&member.object, steps)?.step(member.property.name.as_str()))
            }
            Expression::ComputedMemberExpression(member) => {
                let name = self.text(&member.expression, steps)?.whole()?;
                Some(self.thing(&member.object, steps)?.step(&name))
            }
            Expression::PrivateFieldExpression(member) => {
                Some(self.thing(&member.object, steps)?.step(member.field.name.as_str()))
            }
            Expression::ChainExpression(chain) => match &chain.expression {
                ChainElement::CallExpression(call) => self.called(call, steps),
                ChainElement::StaticMemberExpression(member) => {
                    Some(self.thing(&member.object, steps)?.step(member.property.name.as_str()))
                }
                _ => None,
            },
            Expression::AwaitExpression(awaited) => self.thing(&awaited.argument, steps),
            Expression::ImportExpression(import) => Some(Thing::module(&self.text(&import.source, steps)?.whole()?)),
            Expression::CallExpression(call) => self.called(call, steps),
            Expression::LogicalExpression(either) => self.thing(&either.left, steps),
            _ => None,
        }
    }

    /// What a call gives, where that is known: a module, or the same function in another form.
    fn called(&self, call: &CallExpression<'_>, steps: usize) -> Option<Thing> {
        let callee = self.thing(&call.callee, steps)?;
        let first = call.arguments.first()?.as_expression()?;
        if self.is_require(&callee) {
            return Some(Thing::module(&self.text(first, steps)?.whole()?));
        }
        if callee.of_module() == Some(("util", "promisify")) {
            return self.thing(first, steps);
        }
        None
    }

    /// `require` itself, one made by `createRequire`, or the door of the process to modules.
    pub(super) fn is_require(&self, callee: &Thing) -> bool {
        match (&callee.base, callee.path.as_slice()) {
            (Base::Global, [name]) => name == "require",
            (Base::Global, [first, second]) => {
                (first == "process" && second == "getBuiltinModule") || (first == "module" && second == "require")
            }
            // By convention: `const require = createRequire(import.meta.url)`.
            (Base::Own, [name]) => name == "require",
            _ => false,
        }
    }

    /// What an expression says, if it is a text that can be seen.
    pub(super) fn text(&self, expression: &Expression<'_>, steps: usize) -> Option<Text> {
        let steps = steps + 1;
        if steps > MAX_STEPS {
            return None;
        }
        match expression.get_inner_expression() {
            Expression::StringLiteral(literal) => Some(Text::Whole(literal.value.to_string())),
            Expression::TemplateLiteral(template) => self.template(template, steps),
            Expression::Identifier(name) => {
                let reference = name.reference_id.get()?;
                let symbol = self.scoping.get_reference(reference).symbol_id()?;
                self.texts.get(&symbol).cloned().map(Text::Whole)
            }
            Expression::BinaryExpression(sum) if sum.operator.as_str() == "+" => match self.text(&sum.left, steps)? {
                Text::Whole(left) => Some(match self.text(&sum.right, steps) {
                    Some(Text::Whole(right)) => Text::Whole(left + &right),
                    Some(Text::Start(right)) => Text::Start(left + &right),
                    None => Text::Start(left),
                }),
                start => Some(start),
            },
            Expression::NewExpression(new) => {
                let made = self.thing(&new.callee, steps)?;
                let is_url = made.path.last().is_some_and(|name| name == "URL");
                // With a base, the first argument alone does not say where it leads.
                let only = new.arguments.first().filter(|_| new.arguments.len() == 1)?.as_expression()?;
                if is_url { self.text(only, steps) } else { None }
            }
            Expression::CallExpression(call) => self.joined(call, steps),
            _ => None,
        }
    }

    fn template(&self, template: &TemplateLiteral<'_>, steps: usize) -> Option<Text> {
        let mut said = String::new();
        let mut holes = template.expressions.iter();
        for part in &template.quasis {
            said.push_str(part.value.cooked.as_ref()?.as_str());
            let Some(hole) = holes.next() else { break };
            match self.text(hole, steps) {
                Some(Text::Whole(text)) => said.push_str(&text),
                Some(Text::Start(text)) => return Some(Text::Start(said + &text)),
                None => return Some(Text::Start(said)),
            }
        }
        Some(Text::Whole(said))
    }

    /// `path.join("a", "b")`.
    fn joined(&self, call: &CallExpression<'_>, steps: usize) -> Option<Text> {
        let callee = self.thing(&call.callee, steps)?;
        if !matches!(callee.of_module(), Some(("path" | "path/posix", "join" | "resolve"))) {
            return None;
        }
        let part = |argument: &Argument<'_>| self.text(argument.as_expression()?, steps)?.whole();
        let parts: Option<Vec<String>> = call.arguments.iter().map(part).collect();
        Some(Text::Whole(parts?.join("/")))
    }
}

/// The name of a property, where it is written down.
pub(super) fn key(key: &PropertyKey<'_>) -> Option<String> {
    key.static_name().map(|name| name.to_string())
}
