//! What files of the library export, in a form that costs nothing until it is used.
//!
//! The module runner's own form is a getter for every name, made anew in every engine: a function, a description and a
//! property each. The library's exports do not change once a file has run, so they are put into the exports as they are;
//! and names that a file only passes on stay one text until somebody asks for one.

use std::collections::HashMap;
use std::fmt::Write as _;

use oxc::allocator::{Allocator, TakeIn};
use oxc::ast::ast::{
    Declaration, ExportSpecifier, ImportDeclarationSpecifier, Program, Statement, VariableDeclarationKind,
};

/// The exports of a file that its text says plainly.
#[derive(Debug, Default)]
pub(super) struct Exports {
    /// Functions, which are there before the first line runs: exported and local names.
    early: Vec<(String, String)>,
    /// What is there after the last line.
    late: Vec<(String, String)>,
    /// What other files have: their name, and what is passed on under which name.
    passed: Vec<(String, Vec<(String, String)>)>,
}

/// What a name at top level stands for.
enum Binding {
    Function,
    Constant,
    /// A name of another file.
    Imported(String, String),
}

impl Exports {
    /// Takes out of a file what can be exported plainly; all else stays as it is.
    pub(super) fn take<'a>(allocator: &'a Allocator, program: &mut Program<'a>) -> Self {
        let bindings = bindings(program);
        let mut exports = Self::default();
        let mut kept = Vec::with_capacity(program.body.len());
        for statement in &mut program.body {
            let mut is_kept = true;
            match statement {
                Statement::ExportFromDeclaration(export) => {
                    let source = export.source.value.to_string();
                    for name in &export.specifiers {
                        exports.pass(&source, name.local.name().as_str(), name.exported.name().as_str());
                    }
                    is_kept = false;
                }
                Statement::ExportNamedDeclaration(export) => {
                    export.specifiers.retain(|name| !exports.has_taken(name, &bindings));
                    is_kept = !export.specifiers.is_empty();
                }
                Statement::ExportDeclaration(export) if exports.declares(&export.declaration) => {
                    *statement = Statement::from(export.declaration.take_in(&allocator));
                }
                _ => {}
            }
            kept.push(is_kept);
        }
        let mut kept = kept.into_iter();
        program.body.retain(|_| kept.next().unwrap_or(true));
        exports
    }

    /// What is imported only to be passed on.
    pub(super) fn sources(&self) -> impl Iterator<Item = &str> {
        self.passed.iter().map(|(source, _)| source.as_str())
    }

    /// The body of the file with its exports around it.
    pub(super) fn around(&self, body: &str) -> String {
        let mut text = String::with_capacity(body.len() + 64 * (self.early.len() + self.late.len()));
        for (source, names) in &self.passed {
            let names: String = names.iter().map(|(name, exported)| format!("{name}:{exported},")).collect();
            let _ = write!(text, "__vite_ssr_exportAll__({source:?},\",{names}\");");
        }
        assign(&mut text, &self.early);
        text.push_str(body);
        assign(&mut text, &self.late);
        text
    }

    fn pass(&mut self, source: &str, name: &str, exported: &str) {
        let named = (name.to_owned(), exported.to_owned());
        match self.passed.iter_mut().find(|(known, _)| known == source) {
            Some((_, names)) => names.push(named),
            None => self.passed.push((source.to_owned(), vec![named])),
        }
    }

    fn has_taken(&mut self, name: &ExportSpecifier<'_>, bindings: &HashMap<String, Binding>) -> bool {
        let (local, exported) = (name.local.name().to_string(), name.exported.name().to_string());
        match bindings.get(&local) {
            Some(Binding::Function) => self.early.push((exported, local)),
            Some(Binding::Constant) => self.late.push((exported, local)),
            Some(Binding::Imported(source, name)) => self.pass(source, name, &exported),
            None => return false,
        }
        true
    }

    fn declares(&mut self, declaration: &Declaration<'_>) -> bool {
        let Some(names) = declared(declaration) else { return false };
        let is_early = matches!(declaration, Declaration::FunctionDeclaration(_));
        let list = if is_early { &mut self.early } else { &mut self.late };
        list.extend(names.into_iter().map(|name| (name.clone(), name)));
        true
    }
}

fn assign(text: &mut String, names: &[(String, String)]) {
    for (exported, local) in names {
        let _ = write!(text, "__vite_ssr_exports__.{exported}={local};");
    }
}

/// The names that a declaration makes once and for all.
fn declared(declaration: &Declaration<'_>) -> Option<Vec<String>> {
    match declaration {
        Declaration::FunctionDeclaration(function) => Some(vec![function.id.as_ref()?.name.to_string()]),
        Declaration::ClassDeclaration(class) => Some(vec![class.id.as_ref()?.name.to_string()]),
        Declaration::VariableDeclaration(variables) if variables.kind == VariableDeclarationKind::Const => {
            let name = |pattern: &oxc::ast::ast::BindingPattern<'_>| {
                pattern.get_binding_identifiers().iter().map(|name| name.name.to_string()).collect::<Vec<_>>()
            };
            Some(variables.declarations.iter().flat_map(|one| name(&one.id)).collect())
        }
        _ => None,
    }
}

fn bindings(program: &Program<'_>) -> HashMap<String, Binding> {
    let mut bindings = HashMap::new();
    let mut declare = |declaration: &Declaration<'_>| {
        let is_function = matches!(declaration, Declaration::FunctionDeclaration(_));
        for name in declared(declaration).into_iter().flatten() {
            bindings.insert(name, if is_function { Binding::Function } else { Binding::Constant });
        }
    };
    for statement in &program.body {
        match statement {
            Statement::ExportDeclaration(export) => declare(&export.declaration),
            other => {
                if let Some(declaration) = other.as_declaration() {
                    declare(declaration);
                }
            }
        }
    }
    for statement in &program.body {
        let Statement::ImportDeclaration(import) = statement else { continue };
        for name in import.specifiers.iter().flatten() {
            let imported = match name {
                ImportDeclarationSpecifier::ImportSpecifier(name) => name.imported.name().to_string(),
                ImportDeclarationSpecifier::ImportDefaultSpecifier(_) => "default".to_owned(),
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(_) => continue,
            };
            bindings
                .insert(name.local().name.to_string(), Binding::Imported(import.source.value.to_string(), imported));
        }
    }
    bindings
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::transform::transform;

    #[test]
    fn files_of_the_library_export_without_getters() {
        let source = "import { a, z } from 'jackfield:y';\nexport { b as c, d } from 'jackfield:z';\nexport { a, k as l };\n\
                      export function f() { return z; }\nexport class K {}\nexport const k = f();\nexport let n = 1;\n";
        let unit = transform(Path::new("jackfield:x"), source).expect("it is valid");
        let at = |text: &str| unit.script.find(text).unwrap_or_else(|| panic!("no {text} in {}", unit.script));
        let first = at("const __vite_ssr_import_0__");
        for early in [r#"("jackfield:z",",b:c,d:d,");"#, r#"("jackfield:y",",a:a,");"#, "__vite_ssr_exports__.f=f;"] {
            assert!(at(early) < first, "{early}: {}", unit.script);
        }
        for late in ["__vite_ssr_exports__.k=k;", "__vite_ssr_exports__.l=k;", "__vite_ssr_exports__.K=K;"] {
            assert!(at(late) > at("const k = "), "{late}: {}", unit.script);
        }
        assert_eq!(unit.script.matches("defineProperty").count(), 1, "what changes has a getter: {}", unit.script);
        assert_eq!(unit.deps, ["jackfield:y", "jackfield:z"]);
    }

    #[test]
    fn files_of_extensions_keep_theirs() {
        let unit =
            transform(Path::new("a.ts"), "export const a = 1;\nexport { b } from './b.js';\n").expect("it is valid");
        assert!(!unit.script.contains("__vite_ssr_exports__.a="), "{}", unit.script);
        assert_eq!(unit.deps, ["./b.js"]);
    }
}
