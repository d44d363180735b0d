//! Code that is made to hurt whoever reads it.

use super::{scanned, *};

fn scanned_text(text: &str) -> Report {
    scanned(&[("index.ts", text)])
}

#[test]
fn nested_brackets_are_refused_or_read() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{", "}")] {
        let deep = format!("export default () => {}0{}", open.repeat(100_000), close.repeat(100_000));
        let report = scanned_text(&deep);
        assert_eq!((report.verdict, report.findings[0].api.as_str()), (Verdict::Blocked, "syntax"), "{open}");
    }
    // Hidden from a count that does not understand strings.
    for part in ["[\")\",", "[/]/,", "[`]`,", "f(\")\",", "{a:\"}\",b:"] {
        let text = format!("export default () => {{}};\nx = {}", part.repeat(300_000 / part.len()));
        let report = scanned_text(&text);
        assert_ne!(report.verdict, Verdict::Compatible, "{part}");
    }
}

#[test]
fn long_chains_are_read() {
    for (part, end) in [
        ("!", "x"),
        ("-", "x"),
        ("~", "x"),
        ("x+", "x"),
        ("\"a\"+", "x"),
        ("a=", "x"),
        ("a=>", "x"),
        ("a?b:", "x"),
        ("if(a)", "x"),
        ("new ", "x"),
        ("await ", "x"),
        ("x.", "x"),
        ("x??", "x"),
        ("x,", "x"),
        ("a:", "x"),
        ("else_ if(x);else ", "x"),
        ("`${", "x"),
        ("<a>", "x"),
    ] {
        let text = format!("export default async () => {{}};\n{}{end};", part.repeat(300_000 / part.len()));
        // Whatever it is, it ends.
        scanned_text(&text);
    }
}

#[test]
fn great_and_many_files_end() {
    let text = format!("export default () => {{}};\n{}", "// x\n".repeat(600_000));
    let report = scanned_text(&text);
    assert_eq!((report.verdict, report.findings[0].api.as_str()), (Verdict::Warning, "size"));
    let names: Vec<(String, String)> = (0..1_500)
        .map(|at| {
            let name = if at == 0 { "index.ts".to_owned() } else { format!("f{at}.ts") };
            (name, format!("import './f{}.ts';\nexport default () => {{}};", at + 1))
        })
        .collect();
    let files: Vec<(&str, &str)> = names.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let report = scanned(&files);
    assert_eq!((report.files.len(), report.verdict), (MAX_FILES, Verdict::Warning));
    // Circles end, too.
    let report = scanned(&[
        ("index.ts", "import './a.ts'; export default () => {};"),
        ("a.ts", "import './index.ts'; import './a.ts';"),
    ]);
    assert_eq!(report.files.len(), 2);
}

#[test]
fn bytes_that_are_no_code_are_refused() {
    for text in [
        "\u{0}\u{1}\u{2}",
        "\u{feff}",
        "#!/usr/bin/env node\nexport default () => {}",
        "<html></html>",
        "é\u{301}\u{200d}",
    ] {
        scanned_text(text);
    }
    assert_eq!(scanned_text("#!/usr/bin/env node\nexport default () => {}").verdict, Verdict::Compatible);
}
