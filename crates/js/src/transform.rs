//! From TypeScript or JavaScript to a script that the engine runs: types removed, `import` and `export` made into calls of
//! the module runner (`lib/boot.js`).
//!
//! Missing names are `undefined` and not link errors, as extensions are used to. An import is a plain call and not awaited:
//! the runner has evaluated what a file imports before the file runs, so a file without `await` of its own at top level runs
//! in one go and can be required.

mod exports;

use std::cell::Cell;
use std::fmt::Write as _;
use std::path::Path;

use oxc::allocator::{Allocator, CloneIn, TakeIn};
use oxc::ast::ast::{
    Argument, ArrowFunctionExpression, AwaitExpression, CallExpression, Expression, ForOfStatement, Function,
    ImportDeclarationSpecifier, ImportExpression, Program, Statement,
};
use oxc::ast_visit::Visit;
use oxc::codegen::{Codegen, CodegenOptions, CommentOptions};
use oxc::parser::{ParseOptions, Parser};
use oxc::semantic::SemanticBuilder;
use oxc::span::SourceType;
use oxc::syntax::scope::ScopeFlags;
use oxc::transformer::{TransformOptions, Transformer};
use oxc_transformer_plugins::ModuleRunnerTransform;

use self::exports::Exports;
use crate::deep_stack::{is_kept, with_room};
use crate::library::is_library;
use crate::resolve::Ask;

/// How a file takes part in the module graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// `import` and `export`.
    Esm,
    /// `require` and `module.exports`.
    Cjs,
}

/// A file, ready to be compiled.
#[derive(Debug)]
pub(crate) struct Unit {
    /// An expression: a function that takes what a module can name and returns the body as a function.
    pub(crate) script: String,
    pub(crate) kind: Kind,
    /// The body awaits at top level.
    pub(crate) is_async: bool,
    /// What it imports, in order, once each.
    pub(crate) deps: Vec<String>,
}

/// What a body can name beside the globals. The order is that of `lib/boot.js`. It begins with a number and not with a bracket:
/// the engine reads what a bracket holds twice, to see whether an arrow follows.
const HEAD: &str = "0,function(exports,require,module,__filename,__dirname,__vite_ssr_exports__,__vite_ssr_import__,\
                    __vite_ssr_dynamic_import__,__vite_ssr_import_meta__,__vite_ssr_exportAll__){return ";

/// Names the transform in cache keys: what is cached under another version is not used.
pub(crate) const VERSION: &str = "4";

/// How far the first line of a body is moved to the right.
pub(crate) fn shift(kind: Kind, is_async: bool) -> u32 {
    wrap("", kind, is_async).split('\n').next().map_or(0, str::len) as u32
}

/// Makes a script of a file.
///
/// # Errors
/// The syntax error, with file, line and column.
pub(crate) fn transform(path: &Path, source: &str) -> Result<Unit, String> {
    guarded(path, source, |path, source| std::panic::catch_unwind(|| make(path, source, false))).map(|(unit, _)| unit)
}

/// Leads from the script of a file back to the file, where they differ. Made when it is wanted, which is when something is
/// thrown: to make one for every file costs a fifth of its transform.
pub(crate) fn map_of(path: &Path, source: &str) -> Option<String> {
    guarded(path, source, |path, source| std::panic::catch_unwind(|| make(path, source, true))).ok()?.1
}

/// The script of a file, and its map if it was asked for.
type Made = Result<(Unit, Option<String>), String>;

/// A fault of the compiler must not take the engine with it.
fn guarded(path: &Path, source: &str, make: fn(&Path, &str) -> std::thread::Result<Made>) -> Made {
    let made =
        if path.to_str().is_some_and(is_library) { Ok(make(path, source)) } else { with_room(path, source, make) };
    let refused = |why: &str| Err(format!("{}: {why}", path.display()));
    match made {
        Ok(Ok(made)) => made,
        Ok(Err(_)) => refused("the compiler cannot handle this file"),
        Err(why) => refused(why),
    }
}

/// The text of a file as it is compiled.
pub(crate) fn text_of(bytes: Vec<u8>) -> String {
    let text = String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

/// What a file asks for, as plain text, in `import()` and `require()`.
pub(crate) fn named(path: &Path, source: &str) -> Vec<(String, Ask)> {
    #[derive(Default)]
    struct Asks(Vec<(String, Ask)>);
    impl<'a> Visit<'a> for Asks {
        fn visit_import_expression(&mut self, import: &ImportExpression<'a>) {
            if let Expression::StringLiteral(specifier) = &import.source {
                self.0.push((specifier.value.to_string(), Ask::Import));
            }
            oxc::ast_visit::walk::walk_import_expression(self, import);
        }
        fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
            if let (Expression::Identifier(name), [Argument::StringLiteral(specifier)]) =
                (&call.callee, call.arguments.as_slice())
                && name.name == "require"
            {
                self.0.push((specifier.value.to_string(), Ask::Require));
            }
            oxc::ast_visit::walk::walk_call_expression(self, call);
        }
    }
    if !source.contains("require") && !source.contains("import") {
        return Vec::new();
    }
    let looked = |path: &Path, source: &str| {
        let (allocator, mut asks) = (Allocator::default(), Asks::default());
        let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
        asks.visit_program(&Parser::new(&allocator, source, source_type(path)).with_options(options).parse().program);
        asks.0
    };
    with_room(path, source, looked).unwrap_or_default()
}

fn source_type(path: &Path) -> SourceType {
    match path.extension().and_then(|extension| extension.to_str()).unwrap_or_default() {
        "mts" => SourceType::ts().with_module(true),
        "cts" => SourceType::ts().with_script(true),
        "ts" => SourceType::ts().with_unambiguous(true),
        "tsx" => SourceType::tsx().with_unambiguous(true),
        "mjs" => SourceType::mjs(),
        "cjs" => SourceType::cjs(),
        "jsx" => SourceType::jsx().with_unambiguous(true),
        _ => SourceType::unambiguous(),
    }
}

/// Bytes of memory that are kept for the next file.
const MAX_KEPT_MEMORY: usize = 4 << 20;

/// Transforms a file in memory that was used before, where there is some.
fn make(path: &Path, source: &str, wants_map: bool) -> Made {
    thread_local! {
        static ROOM: Cell<Option<Allocator>> = const { Cell::new(None) };
    }
    let mut allocator = ROOM.take().unwrap_or_default();
    let made = make_in(&allocator, path, source, wants_map);
    if is_kept() && allocator.capacity() <= MAX_KEPT_MEMORY {
        allocator.reset();
        ROOM.set(Some(allocator));
    }
    made
}

fn make_in(allocator: &Allocator, path: &Path, source: &str, wants_map: bool) -> Made {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let source_type = source_type(path);
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let parsed = Parser::new(allocator, source, source_type).with_options(options).parse();
    if let Some(error) = parsed.diagnostics.iter().find(|error| error.severity == oxc::diagnostics::Severity::Error) {
        return Err(syntax_error(path, source, error));
    }
    let typescript = source_type.is_typescript();
    let has_module_syntax = parsed.module_record.has_module_syntax;
    let mut program = parsed.program;
    let kind = match extension {
        "mjs" | "mts" => Kind::Esm,
        "cjs" | "cts" => Kind::Cjs,
        // A file that only awaits at top level is a module as well.
        _ if has_module_syntax || awaits(&program) => Kind::Esm,
        _ => Kind::Cjs,
    };
    if kind == Kind::Cjs && !typescript && !source.contains("import") && extension != "jsx" {
        // Nothing to change: lines and columns stay what they are.
        let body = source.strip_prefix("#!").map_or_else(|| source.to_owned(), |rest| format!("//{rest}"));
        return Ok((Unit { script: wrap(&body, kind, false), kind, is_async: false, deps: Vec::new() }, None));
    }
    let scoping =
        SemanticBuilder::new().with_excess_capacity(2.0).with_enum_eval(true).build(&program).semantic.into_scoping();
    let mut settings = TransformOptions::default();
    settings.decorator.legacy = true;
    settings.typescript.allow_namespaces = true;
    let done = Transformer::new(allocator, path, &settings).build_with_scoping(scoping, &mut program);
    if let Some(error) = done.diagnostics.iter().find(|error| error.severity == oxc::diagnostics::Severity::Error) {
        return Err(syntax_error(path, source, error));
    }
    split_imports(allocator, &mut program);
    let is_library = path.to_str().is_some_and(is_library);
    let exports = is_library.then(|| Exports::take(allocator, &mut program));
    // The transformer leaves stale references behind where it removed types; the next pass needs true ones.
    let scoping = SemanticBuilder::new().build(&program).semantic.into_scoping();
    ModuleRunnerTransform::new().transform(allocator, &mut program, scoping);
    let mut deps = settle_imports(allocator, &mut program);
    for source in exports.iter().flat_map(Exports::sources) {
        if !deps.iter().any(|dep| dep == source) {
            deps.push(source.to_owned());
        }
    }
    let is_async = kind == Kind::Esm && awaits(&program);
    let printed = Codegen::new()
        .with_options(CodegenOptions {
            comments: CommentOptions::disabled(),
            source_map_path: wants_map.then(|| path.to_path_buf()),
            ..CodegenOptions::default()
        })
        .with_source_text(source)
        .build(&program);
    let body = match &exports {
        Some(exports) => exports.around(&printed.code),
        None => printed.code.strip_prefix("#!").map_or_else(|| printed.code.clone(), |rest| format!("//{rest}")),
    };
    let map = printed.map.map(|mut map| {
        // Places are all that is asked of it; the text lies beside it.
        map.set_source_contents(Vec::new());
        map.to_json_string()
    });
    Ok((Unit { script: wrap(&body, kind, is_async), kind, is_async, deps }, map))
}

/// The body goes into a function of its own, so that a file may declare `require` or `__dirname` itself, and starts on the
/// first line, so that lines are those of the printed code.
fn wrap(body: &str, kind: Kind, is_async: bool) -> String {
    let mut script = String::with_capacity(body.len() + HEAD.len() + 64);
    let strict = if kind == Kind::Esm { "\"use strict\";" } else { "" };
    let is_async = if is_async { "async " } else { "" };
    let _ = write!(script, "{HEAD}{is_async}function(){{{strict}{body}\n}}}}");
    script
}

/// `import a, * as b from "c"` becomes two imports, because the module runner's transform forgets `a`.
fn split_imports<'a>(allocator: &'a Allocator, program: &mut Program<'a>) {
    let mut at = 0;
    while let Some(statement) = program.body.get_mut(at) {
        at += 1;
        let Statement::ImportDeclaration(import) = statement else { continue };
        let Some(names) = &import.specifiers else { continue };
        if names.len() < 2 || !matches!(names.last(), Some(ImportDeclarationSpecifier::ImportNamespaceSpecifier(_))) {
            continue;
        }
        let mut space = import.clone_in(allocator);
        if let Some(names) = &mut import.specifiers {
            names.pop();
        }
        if let Some(names) = &mut space.specifiers {
            names.remove(0);
        }
        program.body.insert(at, Statement::ImportDeclaration(space));
        at += 1;
    }
}

/// Takes the `await` off every import and returns what is imported, in order.
fn settle_imports<'a>(allocator: &'a Allocator, program: &mut Program<'a>) -> Vec<String> {
    let mut deps: Vec<String> = Vec::new();
    for statement in &mut program.body {
        let Statement::VariableDeclaration(declaration) = statement else { continue };
        for declarator in &mut declaration.declarations {
            let Some(Expression::AwaitExpression(awaited)) = &mut declarator.init else { continue };
            let Expression::CallExpression(call) = &mut awaited.argument else { continue };
            if !matches!(&call.callee, Expression::Identifier(name) if name.name == "__vite_ssr_import__") {
                continue;
            }
            call.arguments.truncate(1);
            if let Some(Argument::StringLiteral(specifier)) = call.arguments.first()
                && !deps.iter().any(|dep| dep == specifier.value.as_str())
            {
                deps.push(specifier.value.to_string());
            }
            let call = awaited.argument.take_in(&allocator);
            declarator.init = Some(call);
        }
    }
    deps
}

fn awaits(program: &Program<'_>) -> bool {
    #[derive(Default)]
    struct TopLevel(bool);
    impl<'a> Visit<'a> for TopLevel {
        fn visit_await_expression(&mut self, _: &AwaitExpression<'a>) {
            self.0 = true;
        }
        fn visit_for_of_statement(&mut self, statement: &ForOfStatement<'a>) {
            self.0 |= statement.r#await;
            oxc::ast_visit::walk::walk_for_of_statement(self, statement);
        }
        fn visit_function(&mut self, _: &Function<'a>, _: ScopeFlags) {}
        fn visit_arrow_function_expression(&mut self, _: &ArrowFunctionExpression<'a>) {}
    }
    let mut top = TopLevel::default();
    top.visit_program(program);
    top.0
}

fn syntax_error(path: &Path, source: &str, error: &oxc::diagnostics::OxcDiagnostic) -> String {
    let offset = error.labels.first().map_or(0, |label| label.offset());
    let before = source.get(..offset as usize).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |text| text.chars().count()) + 1;
    format!("{}:{line}:{column}: {}", path.display(), error.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(name: &str, source: &str) -> Unit {
        transform(Path::new(name), source).expect("it is valid")
    }

    #[test]
    fn types_go_and_imports_become_calls_in_order() {
        let text = "import type { T } from 'types';\nimport { b } from './b.js';\nimport c from 'c';\nexport const x: number = b(c) as T;\n";
        let unit = unit("a.ts", text);
        assert_eq!((unit.kind, unit.is_async), (Kind::Esm, false));
        assert_eq!(unit.deps, ["./b.js", "c"]);
        let map = map_of(Path::new("a.ts"), text).expect("there are lines to be found again");
        assert!(!map.contains("const x"), "a map has places, not text: {map}");
        assert!(!unit.script.contains("await"), "{}", unit.script);
        assert!(unit.script.contains("__vite_ssr_import__(\"./b.js\")"), "{}", unit.script);
    }

    #[test]
    fn a_default_beside_a_namespace_is_bound() {
        let unit = unit("a.js", "import a, * as b from 'c';\nexport default [a, b.x, b];\n");
        assert_eq!(unit.deps, ["c"]);
        assert!(unit.script.contains(".default,"), "{}", unit.script);
    }

    #[test]
    fn what_a_file_is_shows_in_its_syntax() {
        assert_eq!(unit("a.js", "module.exports = 08;").kind, Kind::Cjs);
        assert_eq!(unit("a.js", "export default 1").kind, Kind::Esm);
        assert_eq!(unit("a.ts", "const x: number = 1; module.exports = x").kind, Kind::Cjs);
        let awaiting = unit("a.mjs", "const x = await import('./y.js')");
        assert!(awaiting.is_async);
        assert!(!unit("a.ts", "export const f = async () => { await 1 }").is_async);
    }

    #[test]
    fn old_constructs_of_typescript_are_lowered() {
        let source = "export enum E { A = 1, B }\nexport namespace N { export const z = E.B }\n\
                      export class C { constructor(public a: string, private readonly b = 2) {} declare c: number }";
        let unit = unit("a.ts", source);
        assert!(unit.script.contains("this.a = a"), "{}", unit.script);
    }

    #[test]
    fn depth_is_no_danger() {
        let deep = |open: &str, close: &str, times: usize| {
            format!("export const x = {}1{};", open.repeat(times), close.repeat(times))
        };
        for text in [deep("a=>", "", 50_000), deep("!", "", 50_000), deep("a+", "", 50_000), deep("(", ")", 5_000)] {
            transform(Path::new("a.ts"), &text).expect("it is valid");
        }
        let error = transform(Path::new("a.ts"), &deep("[", "]", 200_000)).expect_err("refused");
        assert_eq!(error, "a.ts: brackets are nested too deep");
        named(Path::new("a.ts"), &format!("require('x');{}", deep("(", ")", 200_000)));
    }

    #[test]
    fn syntax_errors_name_file_and_line() {
        let error = transform(Path::new("dir/bad.ts"), "const a = 1;\nconst b = ;\n").expect_err("refused");
        assert!(error.starts_with("dir/bad.ts:2:11: "), "{error}");
    }
}
