//! Walking through one file.

use jackfield_protocol::Power;
use oxc::ast::ast::{
    ArrowFunctionExpression, AssignmentExpression, CallExpression, ExportAllDeclaration, ExportDefaultDeclaration,
    ExportDefaultDeclarationKind, ExportFromDeclaration, ExportNamedDeclaration, Expression, FormalParameters,
    Function, IdentifierReference, ImportDeclaration, ImportDeclarationSpecifier, ImportExpression, NewExpression,
    ObjectProperty, Program, StaticMemberExpression, StringLiteral, TryStatement, VariableDeclarator,
};
use oxc::ast_visit::{Visit, walk};
use oxc::semantic::{ScopeFlags, Scoping};
use oxc::span::{GetSpan, Span};

use super::Level;
use super::file::{Facts, Import, Lines, Use};
use super::rules;
use super::things::{Base, Text, Thing, Things, key};
use super::uses::argument;

/// A text this long that could be code in disguise.
const LONG_TEXT: usize = 2_000;
/// So many names of this look are not written by hand.
const MANY_MANGLED_NAMES: usize = 20;

/// Variables that every extension has.
const PLAIN_VARIABLES: [&str; 12] = [
    "HOME",
    "PATH",
    "PWD",
    "TMPDIR",
    "TERM",
    "COLORTERM",
    "LANG",
    "LC_ALL",
    "USER",
    "SHELL",
    "NODE_ENV",
    "USERPROFILE",
];

/// Everything that is seen in a program.
pub(super) fn facts(program: &Program<'_>, scoping: &Scoping, lines: &Lines<'_>, is_typed: bool) -> Facts {
    let mut things = Things::new(scoping);
    // Names first: what is used may be bound further down.
    let mut names = Names { things: &mut things };
    names.visit_program(program);
    names.visit_program(program);
    let mut seen = Seen {
        things: &things,
        lines,
        is_typed,
        facts: Facts::default(),
        functions: 0,
        tries: 0,
        evaluates: None,
        disguised: None,
        mangled: scoping.symbol_names().filter(|name| is_mangled(name)).count(),
    };
    seen.visit_program(program);
    seen.hints();
    seen.facts
}

fn is_mangled(name: &str) -> bool {
    name.strip_prefix("_0x").is_some_and(|rest| rest.len() >= 4 && rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

struct Names<'a, 'b> {
    things: &'a mut Things<'b>,
}

impl<'a> Visit<'a> for Names<'_, '_> {
    fn visit_import_declaration(&mut self, import: &ImportDeclaration<'a>) {
        let module = Thing::module(import.source.value.as_str());
        for specifier in import.specifiers.iter().flatten() {
            let (local, thing) = match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(named) => {
                    (&named.local, module.clone().step(named.imported.name().as_str()))
                }
                ImportDeclarationSpecifier::ImportDefaultSpecifier(default) => (&default.local, module.clone()),
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(all) => (&all.local, module.clone()),
            };
            if let Some(symbol) = local.symbol_id.get() {
                self.things.alias(symbol, thing);
            }
        }
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        if let Some(init) = &declarator.init {
            self.things.bind(&declarator.id, init, 0);
        }
        walk::walk_variable_declarator(self, declarator);
    }
}

/// What is seen on the way.
pub(super) struct Seen<'a, 'b> {
    pub(super) things: &'a Things<'b>,
    lines: &'a Lines<'a>,
    is_typed: bool,
    facts: Facts,
    functions: usize,
    tries: usize,
    evaluates: Option<Span>,
    disguised: Option<Span>,
    mangled: usize,
}

impl Seen<'_, '_> {
    pub(super) fn say(&mut self, level: Level, span: Span, api: &str, message: impl Into<String>) {
        self.facts.findings.push((level, self.lines.place(span.start), api.to_owned(), message.into()));
    }

    pub(super) fn need(&mut self, power: Power, value: Option<String>, span: Span) {
        self.facts.needs.push(Use { power, value, place: self.lines.place(span.start) });
    }

    fn import(&mut self, specifier: &str, span: Span, at_load: bool) {
        let import = Import { specifier: specifier.to_owned(), place: self.lines.place(span.start), at_load };
        self.facts.imports.push(import);
    }

    /// What happens here happens when the file is loaded, and nothing catches it.
    fn is_at_load(&self) -> bool {
        self.functions == 0 && self.tries == 0
    }

    fn hints(&mut self) {
        if let (Some(_), Some(text)) = (self.evaluates, self.disguised) {
            let message = "a long encoded text beside code that is made when it runs: the extension hides what it does";
            self.say(Level::Warning, text, "hidden code", message);
        }
        if self.mangled > MANY_MANGLED_NAMES {
            let message = "names are mangled on purpose: the extension hides what it does";
            self.say(Level::Warning, Span::new(0, 0), "hidden code", message);
        }
    }

    fn mentioned(&mut self, thing: &Thing, span: Span) {
        if let Some((level, message)) = rules::word(thing) {
            if matches!(thing.path.as_slice(), [name] if name == "eval" || name == "Function") {
                self.evaluates.get_or_insert(span);
            }
            self.say(level, span, &thing.shown(), message);
        }
    }

    fn variable(&mut self, name: Option<String>, span: Span) {
        if !name.as_deref().is_some_and(|name| PLAIN_VARIABLES.contains(&name)) {
            self.need(Power::Env, name, span);
        }
    }

    /// Whether these are the parameters of a tool's `execute` as they were before pi 0.51.
    fn is_old_order(parameters: &FormalParameters<'_>) -> bool {
        parameters.items.get(2).is_some_and(|third| {
            third
                .pattern
                .get_binding_identifier()
                .is_some_and(|name| matches!(name.name.as_str().trim_start_matches('_'), "onUpdate" | "update"))
        })
    }

    fn note_old_order(&mut self, parameters: &FormalParameters<'_>, span: Span) {
        if Self::is_old_order(parameters) {
            let message = "its parameters have the order from before pi 0.51; it is recognised by their names";
            self.say(Level::Note, span, "execute", message);
        }
    }
}

impl<'a> Visit<'a> for Seen<'_, '_> {
    fn visit_import_declaration(&mut self, import: &ImportDeclaration<'a>) {
        let mut specifiers = import.specifiers.iter().flatten().peekable();
        let only_effects = specifiers.peek().is_none();
        // What is used as a type alone is gone before the file is loaded.
        let is_needed = specifiers.any(|specifier| {
            let (local, is_type) = match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(named) => (&named.local, named.import_kind.is_type()),
                ImportDeclarationSpecifier::ImportDefaultSpecifier(default) => (&default.local, false),
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(all) => (&all.local, false),
            };
            !is_type && (!self.is_typed || local.symbol_id.get().is_none_or(|symbol| self.things.is_used(symbol)))
        });
        if !import.import_kind.is_type() && (only_effects || is_needed) {
            self.import(import.source.value.as_str(), import.span, true);
        }
    }

    fn visit_export_all_declaration(&mut self, export: &ExportAllDeclaration<'a>) {
        if !export.export_kind.is_type() {
            self.import(export.source.value.as_str(), export.span, true);
        }
    }

    fn visit_export_from_declaration(&mut self, export: &ExportFromDeclaration<'a>) {
        if !export.export_kind.is_type() && export.specifiers.iter().any(|one| !one.export_kind.is_type()) {
            self.import(export.source.value.as_str(), export.span, true);
            self.facts.has_factory |= export.specifiers.iter().any(|one| one.exported.name() == "default");
        }
    }

    fn visit_export_named_declaration(&mut self, export: &ExportNamedDeclaration<'a>) {
        self.facts.has_factory |= export.specifiers.iter().any(|one| one.exported.name() == "default");
        walk::walk_export_named_declaration(self, export);
    }

    fn visit_export_default_declaration(&mut self, export: &ExportDefaultDeclaration<'a>) {
        // A value of another kind is told apart only when the file runs, except where it is written out.
        let is_none = matches!(
            &export.declaration,
            ExportDefaultDeclarationKind::ObjectExpression(_)
                | ExportDefaultDeclarationKind::StringLiteral(_)
                | ExportDefaultDeclarationKind::NumericLiteral(_)
                | ExportDefaultDeclarationKind::ArrayExpression(_)
                | ExportDefaultDeclarationKind::TSInterfaceDeclaration(_)
        );
        self.facts.has_factory |= !is_none;
        walk::walk_export_default_declaration(self, export);
    }

    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        let target = assignment.left.as_simple_assignment_target().and_then(|target| target.as_member_expression());
        if let Some(member) = target {
            let name = member.static_property_name().unwrap_or_default();
            let object = self.things.thing(member.object(), 0).map(|thing| thing.shown()).unwrap_or_default();
            self.facts.has_factory |= (object == "module" && name == "exports")
                || ((object == "exports" || object == "module.exports") && name == "default");
        }
        walk::walk_assignment_expression(self, assignment);
    }

    fn visit_import_expression(&mut self, import: &ImportExpression<'a>) {
        match self.things.text(&import.source, 0).and_then(Text::whole) {
            Some(specifier) => {
                let at_load = self.is_at_load();
                self.import(&specifier, import.span, at_load);
            }
            None => {
                let message = "what it loads is only known when it runs";
                self.say(Level::Warning, import.span, "import()", message);
            }
        }
        walk::walk_import_expression(self, import);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if let Some(thing) = self.things.thing(&call.callee, 0) {
            if self.things.is_require(&thing) {
                match argument(&call.arguments, 0).and_then(|name| self.things.text(name, 0)) {
                    Some(Text::Whole(specifier)) => {
                        let at_load = self.is_at_load();
                        self.import(&specifier, call.span, at_load);
                    }
                    _ if call.arguments.is_empty() => {}
                    _ => {
                        let message = "what it loads is only known when it runs";
                        self.say(Level::Warning, call.span, &thing.shown(), message);
                    }
                }
            } else {
                self.used(&thing, &call.arguments, call.span);
            }
            // Members are mentioned where they stand; a name that an import gave is mentioned here.
            if !matches!(call.callee.get_inner_expression(), Expression::StaticMemberExpression(_))
                && thing.base != Base::Global
            {
                self.mentioned(&thing, call.span);
            }
        }
        walk::walk_call_expression(self, call);
    }

    fn visit_new_expression(&mut self, new: &NewExpression<'a>) {
        if let Some(thing) = self.things.thing(&new.callee, 0) {
            self.used(&thing, &new.arguments, new.span);
            if thing.base != Base::Global
                && !matches!(new.callee.get_inner_expression(), Expression::StaticMemberExpression(_))
            {
                self.mentioned(&thing, new.span);
            }
        }
        walk::walk_new_expression(self, new);
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        if let Some(object) = self.things.thing(&member.object, 0) {
            let name = member.property.name.as_str();
            if is_environment(&object) {
                self.variable(Some(name.to_owned()), member.span);
                return;
            }
            let thing = object.step(name);
            if !is_environment(&thing) {
                self.mentioned(&thing, member.span);
            }
        }
        // A global that is mentioned with what is taken from it is not mentioned again alone.
        if !matches!(&member.object, Expression::Identifier(name) if is_telling(name)) {
            walk::walk_static_member_expression(self, member);
        }
    }

    fn visit_computed_member_expression(&mut self, member: &oxc::ast::ast::ComputedMemberExpression<'a>) {
        if self.things.thing(&member.object, 0).is_some_and(|object| is_environment(&object)) {
            let name = self.things.text(&member.expression, 0).and_then(Text::whole);
            self.variable(name, member.span);
            self.visit_expression(&member.expression);
            return;
        }
        walk::walk_computed_member_expression(self, member);
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        use oxc::ast::ast::BindingPattern;
        if let (BindingPattern::ObjectPattern(object), Some(init)) = (&declarator.id, &declarator.init)
            && self.things.thing(init, 0).is_some_and(|thing| is_environment(&thing))
        {
            for property in &object.properties {
                self.variable(key(&property.key), property.span);
            }
            if object.rest.is_some() {
                self.variable(None, object.span);
            }
            return;
        }
        walk::walk_variable_declarator(self, declarator);
    }

    fn visit_identifier_reference(&mut self, name: &IdentifierReference<'a>) {
        if is_telling(name) && self.things.is_global(name) {
            let thing = Thing { base: Base::Global, path: vec![name.name.to_string()] };
            self.mentioned(&thing, name.span);
        }
    }

    fn visit_string_literal(&mut self, literal: &StringLiteral<'a>) {
        let text = literal.value.as_str();
        let is_encoded = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
        if text.len() >= LONG_TEXT && text.bytes().all(is_encoded) {
            self.disguised.get_or_insert(literal.span);
        }
    }

    fn visit_object_property(&mut self, property: &ObjectProperty<'a>) {
        if key(&property.key).as_deref() == Some("execute") {
            match property.value.get_inner_expression() {
                Expression::ArrowFunctionExpression(function) => self.note_old_order(&function.params, property.span),
                Expression::FunctionExpression(function) => self.note_old_order(&function.params, property.span),
                _ => {}
            }
        }
        walk::walk_object_property(self, property);
    }

    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        self.functions += 1;
        walk::walk_function(self, function, flags);
        self.functions -= 1;
    }

    fn visit_arrow_function_expression(&mut self, function: &ArrowFunctionExpression<'a>) {
        self.functions += 1;
        walk::walk_arrow_function_expression(self, function);
        self.functions -= 1;
    }

    fn visit_try_statement(&mut self, tried: &TryStatement<'a>) {
        self.tries += 1;
        walk::walk_try_statement(self, tried);
        self.tries -= 1;
    }

    fn visit_spread_element(&mut self, spread: &oxc::ast::ast::SpreadElement<'a>) {
        if self.things.thing(&spread.argument, 0).is_some_and(|thing| is_environment(&thing)) {
            self.variable(None, spread.argument.span());
        }
        walk::walk_spread_element(self, spread);
    }
}

/// Globals that say something by being used at all.
fn is_telling(name: &IdentifierReference<'_>) -> bool {
    matches!(name.name.as_str(), "eval" | "Function" | "WebAssembly" | "Worker" | "SharedArrayBuffer" | "Bun" | "Deno")
}

/// `process.env`.
fn is_environment(thing: &Thing) -> bool {
    match (&thing.base, thing.path.as_slice()) {
        (Base::Global, [process, env]) => process == "process" && env == "env",
        (Base::Module(module), [env]) => module == "process" && env == "env",
        _ => false,
    }
}
