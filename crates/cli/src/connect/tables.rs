//! Codex's TOML: one table is put in or taken out, and every other byte stays.

use serde_json::Value;

/// The text with `[container.name]`, in place of what is there under that name.
pub(crate) fn put(text: &str, container: &str, name: &str, entry: &Value) -> Result<String, String> {
    let before = read(text)?;
    let entry_value = toml::Value::try_from(entry).map_err(|error| error.to_string())?;
    if before.get(container).and_then(|table| table.get(name)) == Some(&entry_value) {
        return Ok(text.to_owned());
    }
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let had = before.get(container).and_then(|table| table.get(name)).is_some();
    let base = if had { cut(text, container, name)? } else { text.to_owned() };
    let gap = if base.is_empty() || base.ends_with("\n\n") || base.ends_with("\r\n\r\n") {
        String::new()
    } else if base.ends_with('\n') {
        newline.to_owned()
    } else {
        newline.repeat(2)
    };
    let mut lines = vec![format!("[{container}.{name}]")];
    for (key, value) in entry.as_object().into_iter().flatten() {
        lines.push(format!("{key} = {}", toml_text(value)));
    }
    let made = format!("{base}{gap}{}{newline}", lines.join(newline));
    let mut wanted = before;
    let table = wanted.entry(container).or_insert_with(|| toml::Value::Table(toml::Table::new()));
    let Some(table) = table.as_table_mut() else { return Err(format!("{container:?} is no table")) };
    table.insert(name.to_owned(), entry_value);
    agreed(made, &wanted)
}

/// The text without `[container.name]`; nothing where it is not there.
pub(crate) fn remove(text: &str, container: &str, name: &str) -> Result<Option<String>, String> {
    let mut wanted = read(text)?;
    let Some(table) = wanted.get_mut(container).and_then(toml::Value::as_table_mut) else { return Ok(None) };
    if table.remove(name).is_none() {
        return Ok(None);
    }
    if table.is_empty() && !text.contains(&format!("[{container}]")) {
        wanted.remove(container);
    }
    agreed(cut(text, container, name)?, &wanted).map(Some)
}

/// A JSON string is a TOML string, and a list of them a list, but for one character that TOML does not take.
fn toml_text(value: &Value) -> String {
    value.to_string().replace('\u{7f}', "\\u007F")
}

fn read(text: &str) -> Result<toml::Table, String> {
    text.trim_start_matches('\u{feff}').parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
        format!("line {line}: {}", error.message())
    })
}

/// Without the lines from the header of the table, or of one below it, to the next one of another table.
fn cut(text: &str, container: &str, name: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let (mut is_in, mut found) = (false, false);
    for line in text.split_inclusive('\n') {
        let head = line.trim();
        if head.starts_with('[') {
            let path: Option<toml::Table> = head.parse().ok();
            is_in = path.is_some_and(|path| path.get(container).is_some_and(|table| table.get(name).is_some()));
            found |= is_in;
        }
        if !is_in {
            out.push_str(line);
        }
    }
    if found { Ok(out) } else { Err(format!("{container}.{name} is written in a form that cannot be edited safely")) }
}

fn agreed(text: String, wanted: &toml::Table) -> Result<String, String> {
    match read(&text) {
        Ok(read) if read == *wanted => Ok(text),
        _ => Err("its form is one that cannot be edited safely".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::json;

    use super::*;

    fn entry() -> Value {
        json!({ "command": "/opt/it's \"ours\"/jackfield", "args": ["--home", "/h\u{7f}", "mcp"] })
    }

    const ADDED: &str = "[mcp_servers.jackfield]\ncommand = \"/opt/it's \\\"ours\\\"/jackfield\"\nargs = [\"--home\",\"/h\\u007F\",\"mcp\"]\n";

    #[test]
    fn comments_and_forms_stay() {
        let text = "# mine\nmodel = \"x\" # really\n\n[mcp_servers.docs]\ncommand=\"npx\"; # no\n".replace(';', "");
        for (text, gap) in [(text.as_str(), "\n"), ("", ""), ("a = 1", "\n\n"), ("a = 1\n\n", "")] {
            let made = put(text, "mcp_servers", "jackfield", &entry()).unwrap();
            assert_eq!(made, format!("{text}{gap}{ADDED}"));
            assert_eq!(put(&made, "mcp_servers", "jackfield", &entry()).unwrap(), made, "twice is once");
            let back = remove(&made, "mcp_servers", "jackfield").unwrap().unwrap();
            assert_eq!(back, format!("{text}{gap}"));
        }
        assert_eq!(remove("a = 1", "mcp_servers", "jackfield").unwrap(), None);
    }

    #[test]
    fn an_old_entry_gives_way() {
        let text = "[mcp_servers.jackfield]\ncommand = \"old\"\n[mcp_servers.jackfield.tools.x]\na = 1\n\n[z]\nb = 2\n";
        let made = put(text, "mcp_servers", "jackfield", &entry()).unwrap();
        assert_eq!(made, format!("[z]\nb = 2\n\n{ADDED}"));
    }

    #[test]
    fn what_cannot_be_edited_is_left_alone() {
        for (text, why) in [
            ("a = \nb = 1", "line 1"),
            ("mcp_servers = { a = { command = \"x\" } }", "cannot be edited safely"),
            ("mcp_servers = 7", "is no table"),
            ("[mcp_servers]\njackfield = { command = \"old\" }", "cannot be edited safely"),
            ("mcp_servers.jackfield.command = \"x\"", "cannot be edited safely"),
        ] {
            let error = put(text, "mcp_servers", "jackfield", &entry()).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        // A header within a string is none.
        let text = "[mcp_servers.jackfield]\ncommand = \"\"\"\n[other]\n\"\"\"\n";
        assert!(put(text, "mcp_servers", "jackfield", &entry()).is_err());
    }

    /// A configuration: keys, tables of servers and of others, with comments and values of every form.
    fn config() -> impl Strategy<Value = String> {
        let values =
            ["1", "-0.5e3", "\"x # [y]\"", "'''\n[other]\n'''", "[1,\n [2], # two\n]", "{ a = 1 }", "2026-08-01"];
        let line = prop_oneof![
            4 => select(values.to_vec()).prop_map(|value| format!("KEY = {value}")),
            1 => Just("[TABLE]".to_owned()),
            2 => Just("[mcp_servers.TABLE]".to_owned()),
            1 => Just("[[LIST]]".to_owned()),
            1 => "#[ -~é]{0,12}",
            1 => "[ \t]{0,2}",
        ];
        (vec(line, 0..12), select(vec!["\n", "\r\n"]), any::<bool>()).prop_map(|(lines, newline, is_ended)| {
            let named = lines.iter().enumerate().map(|(number, line)| {
                let line = line.replacen("KEY", &format!("k{number}"), 1).replacen("TABLE", &format!("t{number}"), 1);
                line.replacen("LIST", &format!("l{number}"), 1).replace('\n', newline)
            });
            let text = named.collect::<Vec<_>>().join(newline);
            if is_ended { text + newline } else { text }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The line that keeps the table apart stays; `--undo` itself gives back the file that was kept.
        #[test]
        fn an_edit_and_its_undo_touch_nothing_else(text in config()) {
            let before = read(&text).unwrap();
            let made = put(&text, "mcp_servers", "jackfield", &entry()).unwrap();
            prop_assert!(made.starts_with(&text), "every byte stays");
            let mut rest = read(&made).unwrap();
            let servers = rest.get_mut("mcp_servers").and_then(toml::Value::as_table_mut).unwrap();
            prop_assert_eq!(servers.remove("jackfield"), Some(toml::Value::try_from(entry()).unwrap()));
            if servers.is_empty() {
                rest.remove("mcp_servers");
            }
            prop_assert_eq!(&rest, &before);
            prop_assert_eq!(put(&made, "mcp_servers", "jackfield", &entry()), Ok(made.clone()), "twice is once");

            let back = remove(&made, "mcp_servers", "jackfield").unwrap().unwrap();
            let gap = back.strip_prefix(&text).map(|gap| gap.trim_matches(['\r', '\n']));
            prop_assert_eq!(gap, Some(""), "the same bytes");
            let again = put(&back, "mcp_servers", "jackfield", &entry()).unwrap();
            prop_assert_eq!(remove(&again, "mcp_servers", "jackfield"), Ok(Some(back)), "it does not grow");
        }

        #[test]
        fn any_text_is_edited_or_refused(text in any::<String>(), inside in "[\\[\\]{}=.\"'a1 \n]{0,24}") {
            for text in [text, format!("[mcp_servers.jackfield]\n{inside}"), inside] {
                if let Ok(made) = put(&text, "mcp_servers", "jackfield", &entry()) {
                    prop_assert!(remove(&made, "mcp_servers", "jackfield").unwrap().is_some());
                }
                remove(&text, "mcp_servers", "jackfield").ok();
            }
        }
    }
}
