//! What a new extension consists of, by language.

use super::NewFile;
use crate::args::Language;

/// The SDK as it is, so that an extension builds from its own directory.
const SDK: [(&str, &str); 7] = [
    ("src/lib.rs", include_str!("../../../../sdk/src/lib.rs")),
    ("src/answer.rs", include_str!("../../../../sdk/src/answer.rs")),
    ("src/define.rs", include_str!("../../../../sdk/src/define.rs")),
    ("src/host.rs", include_str!("../../../../sdk/src/host.rs")),
    ("src/native.rs", include_str!("../../../../sdk/src/native.rs")),
    ("src/native/pipe.rs", include_str!("../../../../sdk/src/native/pipe.rs")),
    ("src/wasm.rs", include_str!("../../../../sdk/src/wasm.rs")),
];

/// The world of components.
const WIT: [(&str, &str); 4] = [
    ("wit/types.wit", include_str!("../../../../../wit/types.wit")),
    ("wit/host.wit", include_str!("../../../../../wit/host.wit")),
    ("wit/guest.wit", include_str!("../../../../../wit/guest.wit")),
    ("wit/worlds.wit", include_str!("../../../../../wit/worlds.wit")),
];

/// The name of its tool: names of tools have no hyphens in many agents.
pub(crate) fn tool_name(name: &str) -> String {
    name.replace('-', "_")
}

/// All files of an extension called `name`.
pub(crate) fn of(name: &str, lang: Language, wasm: bool) -> Vec<NewFile> {
    let filled = |text: &str| {
        let text = text.replace("{{name}}", name).replace("{{tool}}", &tool_name(name));
        text.replace("{{version}}", env!("CARGO_PKG_VERSION"))
    };
    let file = |path: &str, text: &str| NewFile { path: path.to_owned(), text: filled(text), is_program: false };
    let program = |path: &str, text: &str| NewFile { is_program: true, ..file(path, text) };
    let manifest = |run: &str| {
        let text =
            format!("id = \"{name}\"\nversion = \"0.1.0\"\ndescription = \"Says a text loudly.\"\n\n[run]\n{run}\n");
        NewFile { path: "extension.toml".to_owned(), text, is_program: false }
    };
    let component = manifest(&format!("component = \"{name}.wasm\""));
    let mut files = match (lang, wasm) {
        (Language::Rust, _) => {
            let mut files = vec![
                file("Cargo.toml", include_str!("../../../templates/rust/Cargo.toml.txt")),
                file("src/main.rs", include_str!("../../../templates/rust/main.rs.txt")),
                file("vendor/jackfield-sdk/Cargo.toml", include_str!("../../../templates/rust/sdk.toml.txt")),
            ];
            if wasm {
                files.push(component);
                files.push(program("build.sh", include_str!("../../../templates/rust/build-wasm.sh")));
                files.push(file(".cargo/config.toml", include_str!("../../../templates/rust/cargo-config.toml.txt")));
            } else {
                files.push(manifest(&format!("command = \"./{name}\"")));
                files.push(program("build.sh", include_str!("../../../templates/rust/build.sh")));
            }
            files.push(file(".gitignore", &format!("/target\n/{name}\n/{name}.wasm\n")));
            for (path, text) in SDK {
                // The SDK's own tests stay with it.
                let text = text.replace("#[cfg(test)]\nmod tests;\n", "");
                files.push(NewFile { path: format!("vendor/jackfield-sdk/{path}"), text, is_program: false });
            }
            files
        }
        (Language::Js, true) => vec![
            component,
            file("tool.js", include_str!("../../../templates/js/tool.js.txt")),
            file("package.json", include_str!("../../../templates/js/package.json.txt")),
            program("build.sh", include_str!("../../../templates/js/build.sh")),
            file(".gitignore", &format!("/node_modules\n/{name}.wasm\n")),
        ],
        (Language::Js, false) => {
            vec![file("index.ts", include_str!("../../../templates/js/tool.ts.txt")), file("package.json", PACKAGE)]
        }
        (Language::Python, true) => vec![
            component,
            file("tool.py", include_str!("../../../templates/python/tool.py.txt")),
            program("build.sh", include_str!("../../../templates/python/build.sh")),
            file(".gitignore", &format!("__pycache__/\n/{name}.wasm\n")),
        ],
        (Language::Python, false) => vec![
            manifest("command = \"./tool.py\""),
            program("tool.py", include_str!("../../../templates/process/tool.py")),
        ],
        (Language::C, _) => vec![
            component,
            file("tool.c", include_str!("../../../templates/c/tool.c.txt")),
            program("build.sh", include_str!("../../../templates/c/build.sh")),
            file(".gitignore", &format!("/build\n/{name}.wasm\n")),
        ],
    };
    if wasm || lang == Language::Rust {
        files.extend(WIT.map(|(path, text)| NewFile {
            path: path.to_owned(),
            text: text.to_owned(),
            is_program: false,
        }));
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// A script is found by the package that lists it.
const PACKAGE: &str = "\
{
  \"name\": \"{{name}}\",
  \"version\": \"0.1.0\",
  \"private\": true,
  \"type\": \"module\",
  \"pi\": { \"extensions\": [\"./index.ts\"] }
}
";
